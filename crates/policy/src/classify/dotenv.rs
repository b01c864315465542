//! Variables that a `.env` hands to whoever loads it, agents among them: which of them run a program, or say where prompts and keys go.

use std::collections::{BTreeMap, BTreeSet};

use super::reason::Reason;
use super::value::is_unclear;
use crate::protect::table::content::FileFormat;
use crate::variables::{VariableKind, kind};

mod grammar;
mod mentions;
mod names;
mod shell;
mod text;
mod value;
mod varlock;
mod words;

pub(super) use self::names::is_unloaded;
use self::text::{Assignment, Commands, Ends, Reading, name_in, readings, statements};
use self::words::{LONGEST, may_be_space};

/// How much of a name is shown.
const SHOWN: usize = 100;

/// How many variables are told from one another, and to how many one may refer. No project has as many that matter.
const MOST: usize = 1000;
const MOST_REFERENCES: usize = 50;

/// Classifies a file: by the variables that matter.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    if is_unreadable(content) {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    }
    let mut names: Vec<String> = Vec::new();
    for (name, _) in parts(content) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then_some(Reason::Variables { names })
}

/// Lists what matters of a file, each with the name of its variable: a change of anything else is none. Of a file that cannot be read
/// the list is empty.
pub(super) fn parts(content: &[u8]) -> Vec<(String, Vec<u8>)> {
    if is_unreadable(content) {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for reading in readings(content) {
        let known: BTreeSet<_> = parts.iter().cloned().collect();
        parts.extend(parts_of(&reading).into_iter().filter(|part| !known.contains(part)));
    }
    parts
}

/// Returns whether readers differ about every word of a file: shells leave NUL out, and others do not; what ends a line for some is white
/// space for others, or a letter (`str.splitlines` and `str.strip` of Python, `String.prototype.trim` of JavaScript); and white space that is
/// not of ASCII is letters to shells and to Ruby, where it is beside anything but words. In a comment that no reader takes for anything else it
/// is text.
fn is_unreadable(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    if text.contains(|letter: char| letter != '\r' && is_unclear(letter)) {
        return true;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // As long as no quotes may have begun that go on, a line that begins with this is a comment.
    let mut is_outside = true;
    text.split('\n').any(|line| {
        let is_comment = is_outside && line.starts_with('#') && !line.contains('\r');
        is_outside &= is_comment || closes_its_quotes(line);
        !is_comment && has_space_apart(line)
    })
}

/// Returns whether every reader is outside of quotes after a line, if it is before.
fn closes_its_quotes(line: &str) -> bool {
    let mut quotes = line.matches(['"', '\'', '`', '\\']);
    let first = quotes.next();
    first.is_none_or(|first| {
        first != "\\" && quotes.clone().all(|quote| quote == first) && quotes.count() % 2 == 1
    })
}

/// Returns whether white space that is not of ASCII is beside anything but a word in a line.
fn has_space_apart(line: &str) -> bool {
    let is_of_text = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || ".,!?%€«»–—".contains(letter))
    };
    let mut before = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_other_space = !letter.is_ascii() && may_be_space(letter);
        if is_other_space && !(is_of_text(before) && is_of_text(letters.peek().copied())) {
            return true;
        }
        before = Some(letter);
    }
    false
}

fn parts_of(Reading { text, ends, commands: commands_are }: &Reading) -> Vec<(String, Vec<u8>)> {
    let found = statements(text);
    let mut by_name: BTreeMap<&str, Vec<Assignment<'_>>> = BTreeMap::new();
    for one in &found.assignments {
        by_name.entry(one.name).or_default().push(*one);
    }
    let kinds: BTreeMap<&str, VariableKind> =
        by_name.keys().filter_map(|name| Some((*name, kind(&name.to_ascii_uppercase())?))).collect();
    let matters = found
        .assignments
        .iter()
        .filter(|one| kinds.get(one.name).is_some_and(|kind| matters(one, *kind, *ends)));
    let matters = matters.map(|one| (one.name, one.written()));
    // A shell that reads the file runs these.
    let found_commands = found.commands.iter().filter(|_| *commands_are == Commands::Found);
    let commands = found_commands.map(|line| (name_in(line).unwrap_or("$(…)"), Some(line.trim())));
    let found_mentions = found.mentions.iter().filter(|_| *commands_are == Commands::Found);
    let mentions = found_mentions
        .map(|(name, reach)| (name.as_str(), Some(reach.trim()).filter(|reach| reach.len() <= LONGEST)));
    let mut parts = Vec::new();
    let mut seen = BTreeSet::new();
    let mut unclear = None;
    for (at, (name, written)) in matters.chain(commands).chain(mentions).take(MOST + 1).enumerate() {
        match written.filter(|_| at < MOST).and_then(|written| with_references(name, written, &by_name)) {
            Some(part) if seen.insert(part.clone()) => parts.push((shown(name), part.into_bytes())),
            Some(_) => {}
            None => unclear = unclear.or_else(|| Some(shown(name))),
        }
    }
    // Of what is too much to be told apart, everything matters.
    parts.extend(unclear.map(|name| (name, text.clone().into_bytes())));
    parts
}

/// Returns whether the value of a variable of this kind may run something, or say where something goes.
fn matters(one: &Assignment<'_>, kind: VariableKind, ends: Ends) -> bool {
    let value = if kind.is_of_lines() { one.written() } else { one.value() };
    // A carriage return is the name of a file, too.
    let is_nothing = |value: &str| value.is_empty() && !(ends == Ends::Returns && kind.may_be_of_file());
    value.is_none_or(|value| !is_nothing(value) && !value::is_harmless(kind, value))
        || kind != VariableKind::Key
            && one.with_comment().is_some_and(|value| !value::is_harmless(kind, value))
}

/// Writes an assignment with those of the variables to which its value refers; `None` if one of them is too long to tell.
fn with_references(
    name: &str,
    written: &str,
    by_name: &BTreeMap<&str, Vec<Assignment<'_>>>,
) -> Option<String> {
    let mut lines = vec![format!("{name}={written}")];
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = Assignment::references(written).collect();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        for one in by_name.get(name).into_iter().flatten() {
            let written = one.written()?;
            if lines.len() > MOST_REFERENCES {
                return None;
            }
            lines.push(format!("{name}={written}"));
            open.extend(Assignment::references(written));
        }
    }
    lines[1..].sort_unstable();
    Some(lines.join("\n"))
}

fn shown(name: &str) -> String {
    name.chars().take(SHOWN).collect()
}
