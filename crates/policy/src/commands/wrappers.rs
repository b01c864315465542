//! Commands that run another one, which their arguments name.

use super::readable::Shell;
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

/// A program that runs another one: behind its options and operands stands the command.
struct Wrapper {
    name: &'static str,
    /// Options without a value. Of the others nothing is known, and so of the command neither.
    flags: &'static [&'static str],
    /// Options whose value is the next word.
    with_value: &'static [&'static str],
    /// How many operands stand before the command.
    operands: usize,
    /// Whether it does something of its own.
    does_more: bool,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    with_value: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { name, flags, with_value, operands, does_more: false }
}

const fn becoming(
    name: &'static str,
    flags: &'static [&'static str],
    with_value: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, flags, with_value, operands: 0, does_more: true }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", &[], &[], 0),
    wrapper("chrt", &["-b", "-f", "-i", "-o", "-r"], &[], 1),
    wrapper("command", &["-p"], &[], 0),
    wrapper("exec", &["-c", "-l"], &["-a"], 0),
    wrapper("ionice", &["-t"], &["-c", "-n"], 0),
    wrapper("nice", &[], &["-n", "--adjustment"], 0),
    wrapper("nohup", &[], &[], 0),
    wrapper("setsid", &["-c", "-f", "-w", "--fork", "--wait"], &[], 0),
    wrapper("stdbuf", &[], &["-i", "-o", "-e"], 0),
    wrapper("taskset", &["-a"], &[], 1),
    wrapper("time", &["-p", "-v", "-q"], &["-f"], 0),
    wrapper(
        "timeout",
        &["-v", "--verbose", "--foreground", "--preserve-status"],
        &["-k", "-s", "--kill-after", "--signal"],
        1,
    ),
    becoming("doas", &["-n"], &["-u", "-C"]),
    becoming(
        "sudo",
        &["-A", "-b", "-E", "-H", "-i", "-k", "-n", "-P", "-S"],
        &["-u", "--user", "-g", "--group", "-h", "-p", "-C", "-r", "-t", "-D", "-U", "-T", "-R"],
    ),
];

/// Shells, and whether each is bash. Others have a grammar of their own.
const SHELLS: &[(&str, Shell)] =
    &[("ash", Shell::Posix), ("bash", Shell::Bash), ("dash", Shell::Posix), ("sh", Shell::Posix)];

/// Returns what a command runs. `program` is its name without a directory.
pub(super) fn wrapped(program: &str, command: &SimpleCommand) -> Wrapped {
    let arguments = &command.words[1..];
    let unknown = || vec![SimpleCommand::unknown()];
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
        // Alone they do something of their own: `exec` redirects, `command -v` and `time` print.
        let is_asked =
            program == "command" && matches!(arguments.first().and_then(Word::known), Some("-v" | "-V"));
        if arguments.is_empty() || is_asked {
            return Wrapped::Nothing;
        }
        let inner = behind(arguments, wrapper).map_or_else(unknown, |inner| vec![inner]);
        return if wrapper.does_more { Wrapped::Also(inner) } else { Wrapped::Only(inner) };
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
                Wrapped::Only(vec![SimpleCommand { words, ..command.clone() }])
            }
            // With options that are not known it may be any subcommand.
            None if !arguments.is_empty() => {
                let words = vec![command.words[0].clone(), Word::Unknown];
                Wrapped::Also(vec![SimpleCommand { words, ..SimpleCommand::default() }])
            }
            Some(_) | None => Wrapped::Nothing,
        },
        _ => match SHELLS.iter().find(|(name, _)| *name == program) {
            Some((_, shell)) => of_shell(arguments, *shell),
            None => Wrapped::Nothing,
        },
    }
}

/// Returns the command behind the options of a wrapper and its operands. None if it is not known which words these are.
fn behind(words: &[Word], wrapper: &Wrapper) -> Option<SimpleCommand> {
    let mut rest = words;
    loop {
        let word = rest.first()?.known()?;
        let is_joined = |option: &&str| {
            let value = word.strip_prefix(*option);
            value.is_some_and(|value| {
                !value.is_empty() && (value.starts_with('=') || !option.starts_with("--"))
            })
        };
        rest = match word {
            "--" => {
                rest = &rest[1..];
                break;
            }
            _ if wrapper.flags.contains(&word) => &rest[1..],
            _ if wrapper.with_value.contains(&word) => rest.get(2..)?,
            _ if wrapper.with_value.iter().any(is_joined) => &rest[1..],
            // As `nice -5` takes it.
            _ if wrapper.name == "nice"
                && word.strip_prefix('-').is_some_and(|n| n.parse::<i8>().is_ok()) =>
            {
                &rest[1..]
            }
            _ if word.len() > 1 && word.starts_with('-') => return None,
            // What `sudo` sets for the command.
            _ if wrapper.does_more && word.contains('=') => return None,
            _ => break,
        };
    }
    let rest = rest.get(wrapper.operands..)?;
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
fn of_text(text: &str, shell: Shell) -> Vec<SimpleCommand> {
    shell::commands(text, shell).unwrap_or_else(|_| vec![SimpleCommand::unknown()])
}

fn evaluated(words: &[Word]) -> Vec<SimpleCommand> {
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    known.map_or_else(|| vec![SimpleCommand::unknown()], |words| of_text(&words.join(" "), Shell::Posix))
}

/// Returns what `sh -c TEXT` runs. A script, or a shell of which a person types the commands, is a program like any other.
fn of_shell(words: &[Word], shell: Shell) -> Wrapped {
    let unknown = || Wrapped::Also(vec![SimpleCommand::unknown()]);
    let mut rest = words;
    while let Some(first) = rest.first() {
        let Some(word) = first.known() else { return unknown() };
        rest = &rest[1..];
        match word {
            "-o" | "+o"
                if matches!(rest.first().and_then(Word::known), Some("pipefail" | "errexit" | "nounset")) =>
            {
                rest = &rest[1..];
            }
            "--norc" | "--noprofile" | "--login" | "--posix" => {}
            _ if !word.starts_with(['-', '+']) => return Wrapped::Nothing,
            _ if !word[1..].bytes().all(|letter| b"celux".contains(&letter)) || word.len() == 1 => {
                return unknown();
            }
            _ if word.contains('c') => {
                let mut rest = rest.iter().skip_while(|word| word.known() == Some("--"));
                return match rest.next().map(Word::known) {
                    Some(Some(text)) => Wrapped::Only(of_text(text, shell)),
                    Some(None) => unknown(),
                    None => Wrapped::Nothing,
                };
            }
            _ => {}
        }
    }
    Wrapped::Nothing
}

fn behind_xargs(words: &[Word]) -> Vec<SimpleCommand> {
    const XARGS: Wrapper = wrapper(
        "xargs",
        &["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-x"],
        &["-n", "--max-args", "-P", "--max-procs", "-L", "-d", "--delimiter", "-I"],
        0,
    );
    let Some(mut inner) = behind(words, &XARGS) else {
        // Alone it prints with `echo`.
        let is_alone = words.iter().all(|word| word.known().is_some_and(|word| XARGS.flags.contains(&word)));
        return if is_alone { Vec::new() } else { vec![SimpleCommand::unknown()] };
    };
    // What it puts in the place of such a text.
    let mut before = words.iter().map(Word::known);
    let replaced = before.find(|word| word.is_some_and(|word| word.starts_with("-I"))).flatten();
    let replaced = replaced.map(|option| match &option[2..] {
        "" => before.next().flatten().unwrap_or("{}").to_owned(),
        joined => joined.to_owned(),
    });
    if let Some(replaced) = replaced {
        for word in &mut inner.words {
            if word.known().is_some_and(|text| text.contains(&replaced)) {
                *word = Word::Unknown;
            }
        }
    }
    inner.words.push(Word::Unknown);
    vec![inner]
}

fn behind_find(words: &[Word]) -> Wrapped {
    let mut all = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        match word.known() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let mut inner = SimpleCommand::default();
                let mut after_files = false;
                for word in rest.by_ref() {
                    match word.known() {
                        Some(";") => break,
                        // Anywhere else it is an argument.
                        Some("+") if after_files => break,
                        Some(text) if text.contains("{}") => inner.words.push(Word::Unknown),
                        _ => inner.words.push(word.clone()),
                    }
                    after_files = word.known() == Some("{}");
                }
                all.push(inner);
            }
            Some("-delete" | "-fls" | "-fprint" | "-fprint0" | "-fprintf") => {
                all.push(SimpleCommand {
                    words: vec![Word::Known("rm".to_owned())],
                    ..SimpleCommand::default()
                });
            }
            Some(_) | None => {}
        }
    }
    if all.is_empty() { Wrapped::Nothing } else { Wrapped::Also(all) }
}
