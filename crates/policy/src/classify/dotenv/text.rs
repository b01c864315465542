//! The text of a `.env`: where a reader may find a variable in it, and how far its value goes.
//!
//! Readers differ about quotes, line ends, comments and what stands between a name and its value. What one of them takes for an assignment
//! is one, and a value that they take differently is not clear.

use std::collections::BTreeSet;

use super::shell::{
    SUBSTITUTED, Shell, behind_reference, has_command, is_array_that_runs, is_obeyed, is_substituted,
};
use super::words::{LONGEST, QUOTES, is_of_name, is_space, may_be_space};
use super::{grammar, mentions, varlock};
use crate::classify::value::is_plain;

/// The longest value that may be harmless.
const LONGEST_CLEAR: usize = 1024;

/// How many assignments to which others refer are told apart.
const MOST_REFERRED: usize = 200;

/// An assignment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    /// The text from its value on.
    rest: &'a str,
    separator: char,
}

/// What a file does.
#[derive(Debug, Default)]
pub(super) struct Statements<'a> {
    pub(super) assignments: Vec<Assignment<'a>>,
    /// Lines in which a shell would run a command, with those in which it began.
    pub(super) commands: Vec<&'a str>,
    /// What may set a listed variable, with its name, where readers differ.
    pub(super) mentions: Vec<(String, &'a str)>,
}

/// A text as some of its readers see it.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) text: String,
    pub(super) ends: Ends,
    pub(super) commands: Commands,
}

/// How the lines of a file end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ends {
    Newlines,
    /// Some with a carriage return, too, which a shell takes for the end of a value.
    Returns,
}

/// Whether commands are looked for in a reading.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Commands {
    Found,
    /// Its quotes are not where they were.
    Ignored,
}

/// Returns a text as its readers see it, of which all lines end alike: a carriage return ends a line for some, is left out by others, and a
/// letter to shells.
pub(super) fn readings(content: &[u8]) -> Vec<Reading> {
    const JOIN: &str = "\\\n";
    let content = String::from_utf8_lossy(content);
    let ends = if content.contains("\r\n") { Ends::Returns } else { Ends::Newlines };
    let text = content.replace("\r\n", "\n");
    let mut texts = if text.contains('\r') {
        vec![text.replace('\r', "\n"), text.replace('\r', ""), text.replace('\r', "\u{fffd}")]
    } else {
        vec![text]
    };
    // A shell joins lines within a name, too.
    let joined: Vec<_> = texts.iter().filter(|text| text.contains(JOIN)).collect();
    let joined: Vec<_> = joined.into_iter().map(|text| text.replace(JOIN, "")).collect();
    texts.extend(joined);
    // Some readers drop a backslash in a name.
    let bare: Vec<_> = texts.iter().filter(|text| text.contains('\\')).collect();
    let bare: Vec<_> = bare.into_iter().map(|text| text.replace('\\', "")).collect();
    let reading = |commands| move |text| Reading { text, ends, commands };
    let all = texts.into_iter().map(reading(Commands::Found));
    all.chain(bare.into_iter().map(reading(Commands::Ignored))).collect()
}

impl<'a> Assignment<'a> {
    /// Returns the value that all readers take; `None` if they differ.
    pub(super) fn value(&self) -> Option<&'a str> {
        let line = self.first_line()?;
        let (inner, after) = match line.chars().next().filter(|first| QUOTES.contains(first)) {
            None if line.is_empty() => return self.is_surely_empty().then_some(""),
            None => {
                let comment = line.find(" #").or_else(|| line.find("\t#"));
                let (value, after) = line.split_at(comment.unwrap_or(line.len()));
                // To some readers, the TAB is the value.
                if value.is_empty() && after.starts_with('\t') {
                    return None;
                }
                (value.trim_end_matches(' '), after)
            }
            Some(quote) => {
                let inner = &line[1..];
                let (inner, after) = inner.split_at(inner.find(quote)?);
                if after.contains(quote) && after[1..].contains(quote) {
                    return None;
                }
                (inner, &after[1..])
            }
        };
        let is_odd = |letter: char| {
            letter.is_control() || QUOTES.contains(&letter) || matches!(letter, '\\' | '$' | '#')
        };
        let is_over = after.trim_start().is_empty()
            || after.starts_with(is_space) && after.trim_start().starts_with('#');
        (is_over && !inner.contains(is_odd)).then_some(inner)
    }

    /// Returns the value with the comment behind it, which belongs to it for readers that know no comments there. Of plain words there is
    /// none: they name neither options nor files elsewhere.
    pub(super) fn with_comment(&self) -> Option<&'a str> {
        let line = self.first_line().filter(|line| !line.starts_with(QUOTES))?;
        let comment = &line[line.find(" #").or_else(|| line.find("\t#"))?..];
        (!comment.split(is_space).skip_while(|word| word.is_empty()).all(is_plain_of_comment)).then_some(line)
    }

    /// Returns the value with its quotes, as far as any reader takes it; `None` if it is too long to tell.
    pub(super) fn written(&self) -> Option<&'a str> {
        let text =
            if self.is_surely_empty() { self.rest } else { self.rest.trim_start_matches(may_be_space) };
        // Readers differ about a backslash in single quotes.
        let ends =
            [Escapes::Everywhere, Escapes::NotInSingleQuotes].map(|escapes| end_of_value(text, escapes));
        let end = ends.into_iter().try_fold(0, |longest, end| Some(longest.max(end?)))?;
        Some(text[..end].trim())
    }

    /// Returns whether there is no value for any reader, whatever is below: some take one from there that is in quotes, any after a colon,
    /// and any if white space follows the separator (`parseEnv` of Node.js).
    fn is_surely_empty(&self) -> bool {
        let below = self.rest.trim_start_matches(may_be_space);
        let behind = self.rest.trim_start_matches(' ');
        let has_blanks_alone = behind.is_empty() || behind.starts_with('\n');
        match below.chars().next() {
            None => has_blanks_alone,
            Some('#') => has_blanks_alone && self.separator == '=',
            Some(next) => self.rest.starts_with('\n') && self.separator == '=' && begins_name(next),
        }
    }

    /// Returns the names that a value refers to.
    pub(super) fn references(written: &str) -> impl Iterator<Item = &str> {
        written.split('$').skip(1).map(|rest| {
            let rest = rest.trim_start_matches(['{', '!', '#']);
            &rest[..rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len())]
        })
    }

    /// Returns the rest of its line without the blanks around it; `None` if that is long. To some readers, a TAB belongs to the value.
    fn first_line(&self) -> Option<&'a str> {
        let end = self.rest.bytes().take(LONGEST_CLEAR).position(|byte| byte == b'\n');
        let is_last = self.rest.len() <= LONGEST_CLEAR;
        Some(self.rest[..end.or_else(|| is_last.then_some(self.rest.len()))?].trim_matches(' '))
    }
}

fn begins_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

/// Returns whether a word of a comment can be neither an option nor a path or an address.
fn is_plain_of_comment(word: &str) -> bool {
    let word = word.trim_start_matches(['#', '(']).trim_end_matches([',', '.', ')', '!', '?', ';']);
    (word.is_empty() || word.starts_with(char::is_alphanumeric))
        && word.chars().all(|letter| letter.is_alphanumeric() || letter == '-')
}

/// Where a backslash takes the meaning from what follows it.
#[derive(Clone, Copy, Debug)]
enum Escapes {
    Everywhere,
    NotInSingleQuotes,
}

/// Returns where a value ends: with the first line that ends outside of quotes.
fn end_of_value(text: &str, escapes: Escapes) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if at > LONGEST => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = !(quote == Some('\'') && matches!(escapes, Escapes::NotInSingleQuotes)),
            '\n' if quote.is_none() => return Some(at),
            _ if quote == Some(letter) => quote = None,
            _ if quote.is_none() && QUOTES.contains(&letter) => quote = Some(letter),
            _ => {}
        }
    }
    Some(text.len())
}

/// Returns whether a line is a comment, if it begins outside of quotes.
fn is_comment(line: &str) -> bool {
    line.trim_start_matches(is_space).starts_with('#')
}

/// Finds what a file does, for any of its readers.
pub(super) fn statements(text: &str) -> Statements<'_> {
    let mut reader = Reader {
        text,
        shell: Shell::default(),
        open_until: 0,
        next: BTreeSet::new(),
        found: Statements::default(),
    };
    let mut start = 0;
    for line in text.split('\n') {
        reader.line(start, line);
        start += line.len() + 1;
    }
    let Statements { assignments, mut commands, .. } = reader.found;
    let unclear = grammar::unclear(text).into_iter();
    let mentions = unclear.filter_map(|one| Some((mentions::first_in(one.searched)?, one.reach))).collect();
    let parts = PartsOfCommands::of(text, &assignments);
    commands.extend(text.split('\n').filter(|line| !is_comment(line) && parts.make_command(line)));
    Statements { assignments, commands, mentions }
}

/// Variables that make a command for a reader that looks for one when it has put in what a value refers to.
#[derive(Default)]
struct PartsOfCommands<'a> {
    /// Their values hold a command, which may be in single quotes.
    whole: BTreeSet<&'a str>,
    /// Their values begin with a bracket.
    brackets: BTreeSet<&'a str>,
    /// Their values end with a `$`.
    dollars: BTreeSet<&'a str>,
}

impl<'a> PartsOfCommands<'a> {
    fn of(text: &'a str, assignments: &[Assignment<'a>]) -> Self {
        let referred: BTreeSet<&str> = Assignment::references(text).collect();
        let referred = assignments.iter().filter(|one| referred.contains(one.name));
        let mut parts = Self::default();
        for (count, one) in referred.enumerate() {
            // Of more than can be told apart, each counts as holding a command.
            let written = if count < MOST_REFERRED { one.written() } else { None };
            let Some(written) = written else {
                parts.whole.insert(one.name);
                continue;
            };
            let is_around = |letter: char| may_be_space(letter) || letter == '\\' || QUOTES.contains(&letter);
            let inner = written.trim_matches(is_around);
            let quoted = written.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(written);
            if inner.contains("$(") || inner.contains("$\\") || quoted.contains('`') {
                parts.whole.insert(one.name);
            }
            if inner.starts_with('(') {
                parts.brackets.insert(one.name);
            }
            if inner.ends_with('$') {
                parts.dollars.insert(one.name);
            }
        }
        parts
    }

    /// Returns whether what a line refers to makes a command there.
    fn make_command(&self, line: &str) -> bool {
        let mut end_of_last = None;
        line.match_indices('$').any(|(at, _)| {
            let rest = &line[at + 1..];
            let from = rest.trim_start_matches(['{', '!', '#']);
            let (name, behind) = from.split_at(from.find(|letter| !is_of_name(letter)).unwrap_or(from.len()));
            let after = if rest.starts_with('{') { behind_reference(rest) } else { behind };
            let is_behind = line[..at].ends_with(['$', '\\']) || end_of_last == Some(at);
            end_of_last = Some(line.len() - after.len());
            self.whole.contains(name)
                || self.brackets.contains(name) && is_behind
                || self.dollars.contains(name) && after.starts_with(['(', '\\', '$', '"', '\''])
        })
    }
}

struct Reader<'a> {
    text: &'a str,
    shell: Shell,
    /// Up to where some reader may still be in a value that began on a line above.
    open_until: usize,
    /// Where readers look for the next assignment, after a value in quotes.
    next: BTreeSet<usize>,
    found: Statements<'a>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, start: usize, line: &'a str) {
        let is_comment = is_comment(line);
        let is_over = start >= self.open_until && self.shell.is_surely_outside();
        if varlock::runs_or_loads(line) {
            self.runs(line);
        }
        if is_comment && is_over {
            return self.shell.begin_line();
        }
        if !is_comment {
            self.assignment(start, line, Separator::Any);
        }
        let has_substitution = SUBSTITUTED.iter().any(|form| line.contains(form));
        let runs = has_command(line) || has_substitution && (!is_over || is_substituted(line));
        if runs && !(is_over && is_quoted(line)) {
            self.runs(line);
        }
        // Each word to which a shell, or a reader that goes on after a value in quotes, comes outside of quotes.
        self.shell.begin_line();
        for (at, letter) in line.char_indices() {
            if self.shell.is_at_word() && is_of_name(letter) && at > 0 {
                self.assignment(start + at, &line[at..], Separator::OfShell);
            }
            if self.next.first().is_some_and(|next| *next <= start + at) {
                self.next = self.next.split_off(&(start + at + 1));
                self.assignment(start + at, &line[at..], Separator::Any);
            }
            if let Some(begun) = self.shell.take(start, letter) {
                self.runs(&self.text[begun..start + line.len()]);
            }
        }
    }

    /// Notes what would run a command, once for a line: one may do so a great many times.
    fn runs(&mut self, text: &'a str) {
        let is_of_same =
            |last: &&str| last.as_bytes().as_ptr_range().end == text.as_bytes().as_ptr_range().end;
        if !self.found.commands.last().is_some_and(is_of_same) {
            self.found.commands.push(text);
        }
    }

    /// Notes an assignment, if one begins here.
    fn assignment(&mut self, at: usize, beginning: &'a str, separator: Separator) {
        let is_blank = |letter: char| may_be_space(letter) || QUOTES.contains(&letter);
        let mut word = beginning.trim_start_matches(is_blank);
        if let Some(exported) = word.strip_prefix("export").filter(|rest| rest.starts_with(may_be_space)) {
            word = exported.trim_start_matches(is_blank);
        }
        // Some readers know names of other letters too, and go on behind their values.
        let other = word.trim_start_matches(|letter| is_of_name(letter) || matches!(letter, '.' | '-'));
        if other.starts_with(['=', ':']) {
            self.follow(&self.text[at + (beginning.len() - other.len()) + 1..]);
        }
        let (name, _) = word.split_at(word.find(|letter| !is_of_name(letter)).unwrap_or(word.len()));
        if name.is_empty() {
            return;
        }
        let end = at + (beginning.len() - word.len()) + name.len();
        let after = &self.text[end..];
        let (separators, value) = match separator {
            // `KEY = value`, `"KEY": value`; `BASH_FUNC_x%%=() {`.
            Separator::Any => {
                let is_between = |letter: char| is_blank(letter) || "+%()".contains(letter);
                (&['=', ':'][..], after.trim_start_matches(is_between))
            }
            Separator::OfShell => (&['='][..], after.strip_prefix('+').unwrap_or(after)),
        };
        let Some(separator) = value.chars().next().filter(|first| separators.contains(first)) else { return };
        let rest = &value[1..];
        // dotenvx runs commands in what it has decrypted. Whoever reads the file has the key to encrypt with.
        if rest.trim_start_matches(is_blank).starts_with("encrypted:") {
            self.runs(word.lines().next().unwrap_or_default());
        }
        if is_array_that_runs(rest) || rest.starts_with('(') && is_obeyed(name) {
            self.runs(word.lines().next().unwrap_or_default());
        }
        self.found.assignments.push(Assignment { name, rest, separator });
        self.follow(rest);
    }

    /// Notes how far a value in quotes goes, if it is in some.
    fn follow(&mut self, rest: &str) {
        let inner = rest.trim_start_matches(may_be_space);
        let Some(quote) = inner.chars().next().filter(|first| QUOTES.contains(first)) else { return };
        let start = self.text.len() - inner.len() + 1;
        let mut is_escaped = false;
        for (at, letter) in inner[1..].char_indices() {
            if letter == quote {
                self.next.insert(start + at + 1);
                // To some readers, a backslash takes nothing from it.
                if !is_escaped {
                    self.open_until = self.open_until.max(start + at);
                    return;
                }
            }
            is_escaped = letter == '\\' && !is_escaped;
        }
        self.open_until = self.text.len();
    }
}

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug)]
enum Separator {
    Any,
    OfShell,
}

/// Returns whether a line that begins outside of quotes is an assignment of a value that readers take for text, whatever is in it.
fn is_quoted(line: &str) -> bool {
    // To some readers, a colon ends a name.
    let Some((name, value)) = line.split_once(['=', ':']) else { return false };
    let value = value.trim();
    let is_name = name.chars().all(|letter| is_of_name(letter) || is_space(letter));
    let is_text =
        value.starts_with('\'') && value.len() > 1 && value[1..].find('\'') == Some(value.len() - 2);
    // Some readers take a backtick for a quote, and a shell runs what is in it.
    is_name && (is_text || value == "``")
}

/// Returns the name of the variable that a line sets, if it sets one.
pub(super) fn name_in(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    let name = name.trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    is_plain(name).then_some(name)
}
