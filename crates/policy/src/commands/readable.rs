//! Which shell texts are given to the grammar.
//!
//! It is not trusted to end, or to read what a shell reads, on every input: what is too long or too deep for it is refused, and what shells
//! read in several ways.

use std::borrow::Cow;

use brush_parser::Token;

use super::literal;

/// The longest text that is taken apart, in bytes.
const MAX_TEXT: usize = 32 << 10;
/// How deep commands lie in each other at most.
const MAX_DEPTH: usize = 8;
/// How many brackets are open at once at most, in words too.
const MAX_BRACKETS: usize = 32;
/// How many expansions `${…}` lie in each other at most: each level takes the grammar twenty times as long.
const MAX_EXPANSIONS: usize = 2;
/// How many words a test `[[ … ]]` has at most.
const MAX_TEST: usize = 64;
/// How many substitutions lie in each other at most.
const MAX_LEVELS: usize = 8;

/// Why a text is not taken apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum ShellError {
    #[error("is longer than {MAX_TEXT} bytes, or its commands lie too deep in each other")]
    TooLarge,
    #[error("is no shell text that can be taken apart")]
    Syntax,
}

/// The shell that a text is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shell {
    Bash,
    /// Any other, which may read in another way what only bash has.
    Posix,
}

/// Returns the text as the grammar can read it.
///
/// # Errors
///
/// It is not given to the grammar. `levels` is the number of substitutions around it.
pub(super) fn check_text(text: &str, shell: Shell, levels: usize) -> Result<Cow<'_, str>, ShellError> {
    if text.len() > MAX_TEXT {
        return Err(ShellError::TooLarge);
    }
    // Bash stops at the first of these, or drops it. And some shells run what follows `${` and a space.
    let is_of_some = ["\0", "\r", "${ ", "${|", "${\t", "${\n"].iter().any(|only| text.contains(only));
    if is_of_some || (shell == Shell::Posix && is_of_bash(text)) {
        return Err(ShellError::Syntax);
    }
    let text = literal::without_documents(text);
    if levels > MAX_LEVELS || opened(&text) > MAX_BRACKETS || expansions(&text) > MAX_EXPANSIONS {
        return Err(ShellError::TooLarge);
    }
    Ok(text)
}

/// Refuses what the grammar would read in another way than bash: a second `(` behind the first may open a subshell or a number. And what
/// it would read for years: where nothing closes what was opened, it tries each way to read that again for each level.
pub(super) fn check_tokens(tokens: &[Token]) -> Result<(), ShellError> {
    let mut open: Vec<&str> = Vec::new();
    let mut begins = true;
    let mut tested = 0;
    for (position, token) in tokens.iter().enumerate() {
        let text = token.to_str();
        if is_operator(Some(token), "(") && is_operator(tokens.get(position + 1), "(") {
            return Err(ShellError::Syntax);
        }
        let is_word = matches!(token, Token::Word(..));
        let in_test = open.last() == Some(&"[[");
        tested = if in_test { tested + 1 } else { 0 };
        if tested > MAX_TEST {
            return Err(ShellError::TooLarge);
        }
        match text {
            "]]" if in_test => {
                open.pop();
            }
            _ if in_test => {}
            "(" if !is_word => open.push("("),
            // One that closes nothing ends a pattern of `case`.
            ")" if !is_word && open.last() == Some(&"case") => {}
            ")" if !is_word => closed(&mut open, &["("])?,
            "{" | "if" | "case" | "while" | "until" | "for" | "[[" if begins => open.push(text),
            "}" if begins => closed(&mut open, &["{"])?,
            "fi" if begins => closed(&mut open, &["if"])?,
            "esac" if begins => closed(&mut open, &["case"])?,
            "done" if begins => closed(&mut open, &["while", "until", "for"])?,
            _ => {}
        }
        if open.len() > MAX_DEPTH {
            return Err(ShellError::TooLarge);
        }
        // Where a command may begin.
        begins = match token {
            Token::Operator(operator, _) => !operator.contains(['<', '>']),
            Token::Word(word, _) => {
                let words = [
                    "{", "if", "then", "elif", "else", "while", "until", "do", "!", "time", "in", "}", "fi",
                    "done", "esac",
                ];
                words.contains(&word.as_str())
            }
        };
    }
    if open.is_empty() { Ok(()) } else { Err(ShellError::Syntax) }
}

fn is_operator(token: Option<&Token>, text: &str) -> bool {
    matches!(token, Some(Token::Operator(operator, _)) if operator == text)
}

/// Takes what a word closes off those that are open.
fn closed(open: &mut Vec<&str>, by: &[&str]) -> Result<(), ShellError> {
    let is_its = open.last().is_some_and(|last| by.contains(last));
    if !is_its {
        return Err(ShellError::Syntax);
    }
    open.pop();
    Ok(())
}

/// Returns whether a text for another shell than bash has what only bash has, or what shells read in several ways.
fn is_of_bash(text: &str) -> bool {
    let quoted = |expansion: &str| {
        let inner = expansion.split('}').next().unwrap_or(expansion);
        inner.contains(['\'', '"', '`'])
    };
    ["&>", "[[", "$'", "$\"", "<(", ">(", "|&", "((", "<<<"].iter().any(|only| text.contains(only))
        || text.split("${").skip(1).any(quoted)
}

/// Counts how many expansions are open at once at most, in quotes too.
fn expansions(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'{' if text[..position].ends_with('$') => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Counts how many brackets are open at once at most, in quotes too.
fn opened(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'{' => open += 1,
            b')' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}
