//! How shells read a `.env`: where they are in quotes or in a comment, and which lines have them run a command.
//!
//! sh(1), bash(1) and zsh(1) count together: what one of them runs is run.

use super::words::{LONGEST, is_of_name, is_space, may_be_space};

/// How a shell reads: where it is in quotes or in a comment.
#[derive(Debug)]
pub(super) struct Shell {
    quote: Option<char>,
    is_escaped: bool,
    is_in_comment: bool,
    last: char,
    /// Where the line begins in which a backtick has opened a command.
    backtick: Option<usize>,
    /// How many `${` have no `}` yet.
    braces: usize,
    /// How many of these are around the quotes.
    braces_around: usize,
    /// Whether shells differ about where the quotes end from here on.
    is_unclear: bool,
}

impl Default for Shell {
    fn default() -> Self {
        Self {
            quote: None,
            is_escaped: false,
            is_in_comment: false,
            last: '\n',
            backtick: None,
            braces: 0,
            braces_around: 0,
            is_unclear: false,
        }
    }
}

impl Shell {
    pub(super) fn begin_line(&mut self) {
        // A backslash joins two lines.
        if !self.is_escaped {
            self.last = '\n';
        }
        self.is_in_comment = false;
        self.is_escaped = false;
        self.is_unclear |= self.braces > 0;
    }

    /// Returns whether every shell is outside of quotes here.
    pub(super) fn is_surely_outside(&self) -> bool {
        self.quote.is_none() && self.braces == 0 && self.backtick.is_none() && !self.is_unclear
    }

    /// Returns whether a word may begin here that the shell does not read as text.
    pub(super) fn is_at_word(&self) -> bool {
        let is_before = may_be_space(self.last) || ";&|(){}!`".contains(self.last);
        self.quote.is_none() && !self.is_in_comment && !self.is_escaped && is_before
    }

    /// Takes the next letter. Returns where the line begins in which a command has begun that ends here, on another line.
    pub(super) fn take(&mut self, line: usize, letter: char) -> Option<usize> {
        if self.is_in_comment {
            return None;
        }
        // In braces that are in quotes, others are text, or not.
        let is_in_both = self.quote == Some('"') && self.braces > self.braces_around;
        self.is_unclear |= is_in_both && matches!(letter, '"' | '\'');
        let mut begun = None;
        match (self.quote, letter) {
            _ if self.is_escaped => self.is_escaped = false,
            (Some('\''), '\'') | (Some('"'), '"') => self.quote = None,
            (Some('\''), _) => {}
            (_, '\\') => self.is_escaped = true,
            (_, '`') => {
                begun = self.backtick.take();
                self.backtick = begun.is_none().then_some(line);
            }
            (None, '\'' | '"') => {
                // `$'…'` has backslashes in some shells alone.
                self.is_unclear |= letter == '\'' && self.last == '$';
                self.quote = Some(letter);
                self.braces_around = self.braces;
            }
            (_, '{') if self.last == '$' => self.braces += 1,
            (quote, '}') if quote.is_none() || is_in_both => self.braces = self.braces.saturating_sub(1),
            // In what `<<` begins, a quote is text, and in what `((` begins, or in braces, there is no comment.
            (None, '<' | '(') => self.is_unclear |= self.last == letter,
            (None, '#') if is_space(self.last) || "\n;&|()".contains(self.last) => {
                self.is_unclear |= self.braces > 0;
                self.is_in_comment = self.braces == 0;
            }
            _ => {}
        }
        self.last = letter;
        begun.filter(|begun| *begun != line)
    }
}

/// Returns whether a shell would run a command, as far as it is on this line and not in quotes, or a reader that looks for one only when
/// it has removed backslashes and put in what the value refers to (dotenv of Ruby).
pub(super) fn has_command(line: &str) -> bool {
    let begins = |rest: &str| rest.trim_start_matches('\\').starts_with('(');
    // What `$` refers to may end in one.
    let after_reference = |rest: &str| begins(behind_reference(rest));
    line.match_indices('$').any(|(at, _)| begins(&line[at + 1..]) || after_reference(&line[at + 1..]))
        // zsh runs what `=(` begins a word with.
        || line.match_indices("=(").any(|(at, _)| line[..at].chars().next_back().is_none_or(may_be_space))
        || EXPANDED_AGAIN.iter().any(|form| line.contains(form))
        || is_computed(line)
        // A shell joins what a backslash at the end of a line divides.
        || line.trim_end().ends_with("$\\")
        || line.matches('`').count() > 1
}

/// Returns what follows a reference that begins with this text, behind its `$`; nothing, where its braces do not end soon.
pub(super) fn behind_reference(rest: &str) -> &str {
    let Some(braced) = rest.strip_prefix('{') else { return rest.trim_start_matches(is_of_name) };
    let near = (LONGEST..LONGEST + 4).find_map(|end| braced.get(..end)).unwrap_or(braced);
    near.find('}').map_or("", |end| &braced[end + 1..])
}

/// Whether single quotes are quotes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SingleQuotes {
    Quote,
    Text,
}

/// Returns whether a shell runs a command for its process substitution in a line that begins outside of quotes.
pub(super) fn is_substituted(line: &str) -> bool {
    // In `$'…'` a backslash takes the meaning from a quote, to shells that know it.
    line.contains("$'")
        || [SingleQuotes::Quote, SingleQuotes::Text]
            .iter()
            .any(|single| begins_outside_of_quotes(line, *single))
}

/// Returns whether a process substitution begins outside of quotes.
fn begins_outside_of_quotes(line: &str, single: SingleQuotes) -> bool {
    let mut quote = None;
    let mut is_escaped = false;
    line.char_indices().any(|(at, letter)| {
        let was_escaped = std::mem::replace(&mut is_escaped, false);
        match letter {
            _ if was_escaped => {}
            '\\' => is_escaped = quote != Some('\''),
            '\'' if single == SingleQuotes::Text => {}
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            _ => {}
        }
        quote.is_none() && SUBSTITUTED.iter().any(|form| line[at..].starts_with(form))
    })
}

/// How process substitution begins, see bash(1) and zshexpn(1).
pub(super) const SUBSTITUTED: &[&str] = &["<(", ">(", "==("];

/// Returns whether a shell may run something for the value of an assignment that is an array: zsh for a qualifier of a pattern in it (`x(e:evil:)`)
/// and for what `=(` begins, see zshexpn(1), and bash for an index in which it computes what a variable holds (`[X]=1`). One that goes on in
/// the next line may hold anything.
pub(super) fn is_array_that_runs(value: &str) -> bool {
    let near = (LONGEST..LONGEST + 4).find_map(|end| value.get(..end)).unwrap_or(value);
    let Some(items) = near.strip_prefix('(') else { return false };
    let line = items.split('\n').next().unwrap_or_default();
    line.contains(['(', '[']) || !line.contains(')')
}

/// Returns whether a shell runs something later for an array of this name: what is typed, or when a prompt is shown or a word is completed, see
/// zshmodules(1), zshcompsys(1) and bash(1).
pub(super) fn is_obeyed(array: &str) -> bool {
    const KNOWN: [&str; 12] = [
        "BASH_ALIASES", "BASH_CMDS", "aliases", "commands", "dis_aliases", "dis_functions", "dis_galiases",
        "dis_saliases", "functions", "galiases", "options", "saliases",
    ];
    KNOWN.contains(&array) || array.starts_with('_') || array.ends_with("_functions")
}

/// What has a shell expand once more what a variable holds, which may be in single quotes: `${X@P}` and `${!X}` of bash, flags and `${~X}`
/// of zsh, and what both compute, see bash(1) and zshexpn(1).
const EXPANDED_AGAIN: &[&str] = &["@P}", "${!", "${(", "${~", "$~", "$["];

/// What a shell reads names of variables after, once it has put in others.
const DECLARING: [&str; 5] = ["export ", "declare ", "typeset ", "readonly ", "local "];

/// Returns whether a shell computes the name of a variable in a line, or a number, in which it expands what variables hold: an index
/// (`a[X]=1`), or where a part of a value begins (`${Y:X}`).
fn is_computed(line: &str) -> bool {
    let begins_part =
        |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_alphabetic() || "_ (".contains(letter));
    let mut braced = line.match_indices("${").map(|(at, _)| line[at + 2..].trim_start_matches(is_of_name));
    let name = line.trim_start().trim_start_matches("export ").trim_start();
    let after_name = name.trim_start_matches(is_of_name);
    // A variable that is put in may hold all of the assignment.
    let (names, _) = line.split_once('=').unwrap_or((line, ""));
    let is_declared = DECLARING.iter().any(|word| names.trim_start().starts_with(word));
    is_declared && names.contains('$')
        || braced.any(|rest| rest.strip_prefix(':').is_some_and(begins_part) || rest.starts_with('['))
        || after_name.len() < name.len() && after_name.starts_with('[')
}
