//! Commands that run another one, which their arguments name.

use super::simple::{SimpleCommand, Word};
use super::{git, shell};

/// What a command runs besides itself.
#[derive(Debug)]
pub(super) enum Wrapped {
    /// It is no wrapper: what it is stands for itself.
    Nothing,
    /// It does what these commands do, and nothing else.
    Only(Vec<SimpleCommand>),
    /// It does these commands and something of its own.
    Also(Vec<SimpleCommand>),
}

/// Wrappers, and their options that have a value of their own. What follows the options, and as many operands, is the command.
const PLAIN: &[(&str, &[&str], usize)] = &[
    ("builtin", &[], 0),
    ("chrt", &[], 1),
    ("command", &[], 0),
    ("exec", &["-a"], 0),
    ("ionice", &["-c", "-n"], 0),
    ("nice", &["-n"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("time", &["-f", "-o"], 0),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
];

/// Wrappers that do more than that.
const OWN: &[(&str, &[&str], usize)] = &[
    ("doas", &["-u", "-C"], 0),
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-D", "-U", "-T", "-R"], 0),
];

const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Returns what a command runs. `program` is its name without a directory.
pub(super) fn wrapped(program: &str, command: &SimpleCommand) -> Wrapped {
    let arguments = &command.words[1..];
    let unknown = || vec![SimpleCommand::unknown()];
    if let Some((_, with_value, operands)) = PLAIN.iter().find(|(name, ..)| *name == program) {
        // Alone they do something of their own: `exec` redirects, `command -v` and `time` print.
        if arguments.is_empty() || matches!(arguments[0].known(), Some("-v" | "-V")) {
            return Wrapped::Nothing;
        }
        return Wrapped::Only(
            behind(arguments, with_value, *operands).map_or_else(unknown, |inner| vec![inner]),
        );
    }
    if let Some((_, with_value, operands)) = OWN.iter().find(|(name, ..)| *name == program) {
        return Wrapped::Also(
            behind(arguments, with_value, *operands).map_or_else(unknown, |inner| vec![inner]),
        );
    }
    match program {
        "env" => Wrapped::Only(behind_env(arguments)),
        "eval" => Wrapped::Only(evaluated(arguments)),
        "xargs" => Wrapped::Only(behind_xargs(arguments)),
        "find" => behind_find(arguments),
        "git" => match git::subcommand(arguments) {
            // A rule names `git push`, and `git -C directory push` is one.
            Some(rest) if rest.len() < arguments.len() => {
                let words = [&command.words[..1], rest].concat();
                Wrapped::Only(vec![SimpleCommand { words, classes: command.classes.clone() }])
            }
            _ => Wrapped::Nothing,
        },
        _ if SHELLS.contains(&program) => of_shell(arguments).map_or(Wrapped::Nothing, Wrapped::Only),
        _ => Wrapped::Nothing,
    }
}

/// Returns the command behind the options of a wrapper and its operands. None if it is not known which words these are.
fn behind(words: &[Word], with_value: &[&str], operands: usize) -> Option<SimpleCommand> {
    let mut rest = words;
    loop {
        let word = rest.first()?.known()?;
        rest = match word {
            "--" => {
                rest = &rest[1..];
                break;
            }
            _ if with_value.contains(&word) => rest.get(2..)?,
            _ if word.len() > 1 && word.starts_with('-') => &rest[1..],
            _ => break,
        };
    }
    let rest = rest.get(operands..)?;
    (!rest.is_empty()).then(|| SimpleCommand { words: rest.to_vec(), ..SimpleCommand::default() })
}

fn behind_env(words: &[Word]) -> Vec<SimpleCommand> {
    let mut command = SimpleCommand::default();
    let mut rest = words;
    while let Some(word) = rest.first() {
        match word.known() {
            Some("-u" | "--unset" | "-C" | "--chdir") => rest = rest.get(2..).unwrap_or_default(),
            Some("-i" | "-0" | "--ignore-environment" | "--null" | "-") => rest = &rest[1..],
            Some(word) if word.starts_with('-') => return vec![SimpleCommand::unknown()],
            Some(word) if word.contains('=') => {
                let name = word.split('=').next().unwrap_or(word);
                command.classes.extend(super::variables::of_variable(name));
                rest = &rest[1..];
            }
            _ => break,
        }
    }
    // Alone it prints.
    if rest.is_empty() {
        command.words = vec![Word::Known("printenv".to_owned())];
    } else {
        command.words = rest.to_vec();
    }
    vec![command]
}

/// Returns the commands of a text that a shell evaluates, or one of which nothing is known.
fn of_text(text: &str) -> Vec<SimpleCommand> {
    shell::commands(text).unwrap_or_else(|_| vec![SimpleCommand::unknown()])
}

fn evaluated(words: &[Word]) -> Vec<SimpleCommand> {
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    known.map_or_else(|| vec![SimpleCommand::unknown()], |words| of_text(&words.join(" ")))
}

/// Returns what `sh -c TEXT` runs; None for a script, or for a shell of which a person types the commands.
fn of_shell(words: &[Word]) -> Option<Vec<SimpleCommand>> {
    let mut rest = words;
    loop {
        let word = rest.first()?.known()?;
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        rest = &rest[1..];
        if !letters.bytes().all(|letter| b"celux".contains(&letter)) {
            return None;
        }
        if letters.contains('c') {
            return Some(rest.first()?.known().map_or_else(|| vec![SimpleCommand::unknown()], of_text));
        }
    }
}

fn behind_xargs(words: &[Word]) -> Vec<SimpleCommand> {
    const WITH_VALUE: &[&str] = &[
        "-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--replace",
        "--delimiter",
    ];
    let Some(mut inner) = behind(words, WITH_VALUE, 0) else {
        // Alone it prints with `echo`.
        let is_alone = words.iter().all(|word| word.known().is_some_and(|word| word.starts_with('-')));
        return if is_alone { Vec::new() } else { vec![SimpleCommand::unknown()] };
    };
    inner.words.push(Word::Unknown);
    vec![inner]
}

fn behind_find(words: &[Word]) -> Wrapped {
    let mut all = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let inner = rest.by_ref().take_while(|word| !matches!(word.known(), Some(";" | "+")));
                let inner = inner.map(|word| {
                    if word.known().is_some_and(|text| text.contains("{}")) {
                        Word::Unknown
                    } else {
                        word.clone()
                    }
                });
                all.push(SimpleCommand { words: inner.collect(), ..SimpleCommand::default() });
            }
            Some("-delete" | "-fls" | "-fprint" | "-fprint0" | "-fprintf") => {
                all.push(SimpleCommand {
                    words: vec![Word::Known("rm".to_owned())],
                    ..SimpleCommand::default()
                });
            }
            Some(_) => {}
            None => all.push(SimpleCommand::unknown()),
        }
    }
    if all.is_empty() { Wrapped::Nothing } else { Wrapped::Also(all) }
}
