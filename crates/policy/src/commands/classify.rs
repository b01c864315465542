//! What a command does, by its program, options and variables.

use std::collections::BTreeSet;

use super::class::CommandClass;
use super::git;
use super::programs::{ASSIGNING, EVALUATING, FETCHING, PROGRAMS, Program, READERS};
use super::shell::may_substitute;
use super::simple::{SimpleCommand, Word};
use super::variables::of_variable;

/// Directories in which nobody puts a program of another kind under a name that is known.
const OF_SYSTEM: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];

/// Returns the name of the program that a word stands for, if it is one that may be known: named by itself, or in a directory of the
/// system.
pub(super) fn program(word: &str) -> Option<&str> {
    match word.rsplit_once('/') {
        None => Some(word),
        Some((directory, name)) if OF_SYSTEM.contains(&directory) => Some(name),
        Some(_) => None,
    }
}

/// Returns what a command does itself. What it runs besides is for [`super::wrappers`].
pub(super) fn classes(command: &SimpleCommand) -> BTreeSet<CommandClass> {
    let mut classes = command.classes.clone();
    let Some((first, arguments)) = command.words.split_first() else {
        // It assigns or redirects.
        if classes.is_empty() {
            classes.insert(CommandClass::Read);
        }
        return classes;
    };
    let of_program = first.known().and_then(program).and_then(|name| of_program(name, arguments));
    classes.extend(of_program.unwrap_or_else(|| BTreeSet::from([CommandClass::Execute])));
    classes
}

fn of_program(name: &str, arguments: &[Word]) -> Option<BTreeSet<CommandClass>> {
    if READERS.contains(&name) {
        return Some(of_reader(name, arguments));
    }
    if let Some(program) = PROGRAMS.iter().find(|program| program.name == name) {
        return Some(of_options(program, arguments));
    }
    if let Some((_, subcommands)) = FETCHING.iter().find(|(program, _)| *program == name) {
        let mut classes = BTreeSet::from([CommandClass::Execute]);
        let is_plain = |word: &&Word| !word.known().is_some_and(|word| word.starts_with('-'));
        if arguments
            .iter()
            .find(is_plain)
            .is_some_and(|word| word.known().is_none_or(|word| subcommands.contains(&word)))
        {
            classes.insert(CommandClass::Network);
        }
        return Some(classes);
    }
    match name {
        "git" => Some(git::classes(arguments)),
        // A word that is not known may be `-delete` or `-exec`.
        "find" if arguments.iter().any(|word| word.known().is_none()) => {
            Some(BTreeSet::from([CommandClass::Execute]))
        }
        "find" => Some(BTreeSet::from([CommandClass::Read])),
        "sed" => Some(of_sed(arguments)),
        "awk" | "gawk" | "mawk" => Some(of_awk(arguments)),
        // Alone they print, and open or close nothing.
        "command" | "time" | "exec" | "xargs" | "hash"
            if arguments.iter().all(|word| matches!(word.known(), Some("-v" | "-V")))
                || name == "command" =>
        {
            Some(BTreeSet::from([CommandClass::Read]))
        }
        "set" if arguments.iter().all(|word| word.known().is_some_and(is_shell_option)) => {
            Some(BTreeSet::from([CommandClass::Read]))
        }
        _ => None,
    }
}

/// Returns whether a word is an option of the shell that changes none of what it runs.
fn is_shell_option(word: &str) -> bool {
    matches!(word, "-o" | "+o" | "pipefail" | "errexit" | "nounset" | "--")
        || word
            .strip_prefix(['-', '+'])
            .is_some_and(|letters| letters.bytes().all(|letter| b"eufvx".contains(&letter)))
        || word.strip_prefix('-').is_some_and(|letters| {
            letters.ends_with('o') && letters.bytes().all(|letter| b"eufvxo".contains(&letter))
        })
}

/// Returns whether an argument makes a built-in command evaluate names that others are given, or takes the place of one.
fn is_again(name: &str, word: &Word) -> bool {
    match (name, word.known()) {
        ("test" | "[" | "printf" | "wait", Some("-v" | "-p")) => {
            name != "[" && name != "test" || word.known() == Some("-v")
        }
        ("declare" | "typeset" | "local" | "export" | "readonly", Some(word)) => {
            word.starts_with('-') && word.contains(['n', 'i'])
        }
        ("declare" | "typeset" | "local" | "export" | "readonly" | "read" | "unset", None) => true,
        _ => false,
    }
}

fn of_reader(name: &str, arguments: &[Word]) -> BTreeSet<CommandClass> {
    let mut classes = BTreeSet::from([CommandClass::Read]);
    let is_evaluated = EVALUATING.contains(&name)
        && (arguments.iter().filter_map(Word::known).any(may_substitute)
            || arguments.iter().any(|word| is_again(name, word)));
    let assigned = |word: &str| of_variable(word.split('=').next().unwrap_or(word)).is_some();
    let names = arguments
        .iter()
        .filter_map(Word::known)
        .filter(|word| !word.starts_with('-') && (word.contains('=') || name != "export"));
    let is_assigned = ASSIGNING.contains(&name) && names.into_iter().any(assigned);
    if is_evaluated || is_assigned {
        classes.insert(CommandClass::Execute);
    }
    classes
}

fn of_options(program: &Program, arguments: &[Word]) -> BTreeSet<CommandClass> {
    let mut classes: BTreeSet<_> = program.classes.iter().copied().collect();
    let mut operands = 0;
    let mut are_over = false;
    for word in arguments {
        match word.known() {
            Some("--") if !are_over => are_over = true,
            Some(text) if !are_over && text.len() > 1 && text.starts_with('-') => {
                classes.extend(
                    program
                        .options
                        .iter()
                        .filter(|(option, _)| is_option(text, option))
                        .map(|(_, class)| *class),
                );
            }
            Some(_) => operands += 1,
            None => {
                operands += 1;
                // It may be any of its options.
                if !are_over {
                    classes.extend(program.options.iter().map(|(_, class)| *class));
                }
            }
        }
    }
    // One that is not known may be several.
    let is_unknown = arguments.iter().any(|word| word.known().is_none());
    if operands > program.operands || (is_unknown && program.operands != usize::MAX) {
        classes.insert(CommandClass::Write);
    }
    classes
}

/// Returns whether a word is an option, alone, with its value, shortened or among other letters.
fn is_option(word: &str, option: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        return option.strip_prefix("--").is_some_and(|option| option.starts_with(name));
    }
    let letters = &word[1..];
    option.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && letters.contains(letter))
}

/// Returns what sed does: a script of a kind that is known to print and nothing else, and no file edited in its place.
fn of_sed(arguments: &[Word]) -> BTreeSet<CommandClass> {
    let Some(words) = arguments.iter().map(Word::known).collect::<Option<Vec<_>>>() else {
        return BTreeSet::from([CommandClass::Execute]);
    };
    let mut classes = BTreeSet::from([CommandClass::Read]);
    let (mut scripts, mut operands): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-e" | "--expression" => scripts.extend(rest.next()),
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-nr" | "-En" | "-rn" => {}
            word if word.starts_with("-i") || word.starts_with("--in-place") => {
                classes.insert(CommandClass::Write);
            }
            word if word.len() > 1 && word.starts_with('-') => {
                return BTreeSet::from([CommandClass::Execute]);
            }
            _ => operands.push(word),
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    if !scripts.iter().all(|script| script.split([';', '\n']).all(|part| is_plain_sed(part.trim()))) {
        classes.insert(CommandClass::Execute);
    }
    classes
}

/// Returns whether a command of sed is one that prints, deletes or replaces lines, and neither writes nor runs anything.
fn is_plain_sed(script: &str) -> bool {
    if script.split('s').next().is_some_and(|address| address.contains('\\')) || script.starts_with('\\') {
        return false;
    }
    let address = |byte: char| byte.is_ascii_digit() || matches!(byte, ',' | '$' | '+' | '~' | '!' | ' ');
    let mut rest = script.trim_start_matches(address);
    // An address between slashes.
    while let Some(after) = rest.strip_prefix('/') {
        let Some((_, after)) = after.split_once('/') else { return false };
        rest = after.trim_start_matches(address);
    }
    if matches!(rest, "" | "p" | "d" | "q" | "=" | "N" | "D" | "P" | "n" | "h" | "H" | "g" | "G" | "x") {
        return true;
    }
    let Some(substitution) = rest.strip_prefix('s') else { return false };
    let Some(by) = substitution.chars().next().filter(|by| !by.is_alphanumeric() && *by != '\\') else {
        return false;
    };
    // An escaped separator, or one in brackets, would shift what the flags are.
    let parts: Vec<_> = substitution[by.len_utf8()..].split(by).collect();
    let [pattern, replacement, flags] = parts[..] else { return false };
    let is_whole = |part: &str| !part.ends_with('\\');
    is_whole(pattern) && is_whole(replacement) && flags.bytes().all(|flag| b"gpiI0123456789".contains(&flag))
}

/// Returns what awk does: its program may run others, write files and connect.
fn of_awk(arguments: &[Word]) -> BTreeSet<CommandClass> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some("-F" | "-v") => drop(rest.next()),
            Some(word) if word.starts_with("-F") => {}
            Some(word) if word.starts_with('-') => break,
            Some(script) => {
                let is_plain =
                    !["system", "|", ">", "getline", "@", "close"].iter().any(|part| script.contains(part));
                return BTreeSet::from([if is_plain { CommandClass::Read } else { CommandClass::Execute }]);
            }
            None => break,
        }
    }
    BTreeSet::from([CommandClass::Execute])
}
