//! A command line that cannot be understood: clap's error, and what was meant.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;
use crate::error::{Code, CommandError};

/// Converts clap's refusal of a command line: its first paragraph is the message, what it suggests are hints.
pub(crate) fn error_of(error: &clap::Error, args: &[OsString]) -> CommandError {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => Some(argument.as_str()),
        _ => None,
    };
    let command = command_of(args, argument);
    let help = match command.as_deref() {
        Some(command) => format!("`{command} --help` says what it takes"),
        None => {
            "`sandboxctl --help` lists the commands, `sandboxctl COMMAND --help` what one takes".to_owned()
        }
    };
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return CommandError::message(Code::UsageInvalid, "a command is missing").hint(help);
    }
    // Only clap itself has the words. They are passed on, and decide nothing.
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    let message = text.split("\n\n").next().unwrap_or(text).trim_end();
    let unknown = argument.filter(|_| error.kind() == ErrorKind::UnknownArgument);
    let meant = unknown.and_then(|argument| about_unknown(command.as_deref(), argument));
    let hints = meant.map_or_else(|| suggestions(error), |hint| vec![hint]);
    hints.into_iter().fold(CommandError::message(Code::UsageInvalid, message), CommandError::hint).hint(help)
}
/// Lists what clap suggests.
fn suggestions(error: &clap::Error) -> Vec<String> {
    let similar = [
        (ContextKind::SuggestedSubcommand, "subcommand"),
        (ContextKind::SuggestedArg, "argument"),
        (ContextKind::SuggestedValue, "value"),
    ];
    let similar = similar.into_iter().filter_map(|(kind, what)| match error.get(kind)? {
        ContextValue::String(one) => Some(format!("a similar {what} exists: '{one}'")),
        ContextValue::Strings(words) => match words.as_slice() {
            [] => None,
            [one] => Some(format!("a similar {what} exists: '{one}'")),
            several => Some(format!("some similar {what}s exist: '{}'", several.join("', '"))),
        },
        _ => None,
    });
    let others = match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(others)) => others.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    similar.chain(others).collect()
}

/// Returns the command that a mistake is in, as `sandboxctl policy check`; `None` where it is not known which one was
/// meant.
fn command_of(args: &[OsString], mistake: Option<&str>) -> Option<String> {
    let mut command = &Cli::command();
    let mut words = vec!["sandboxctl"];
    for word in args.iter().skip(1).map_while(|word| word.to_str()) {
        if word == "--" || mistake.is_some_and(|mistake| word.starts_with(mistake)) {
            break;
        }
        if let Some(found) = command.find_subcommand(word) {
            command = found;
            words.push(found.get_name());
        }
    }
    (words.len() > 1).then(|| words.join(" "))
}

/// Explains what to write in place of an argument that does not exist.
fn about_unknown(command: Option<&str>, argument: &str) -> Option<String> {
    let hint = match (command?, argument) {
        // Habits from container engines.
        ("sandboxctl shell", "-i" | "-t" | "--interactive" | "--tty") => {
            "leave it out: a terminal is detected by itself".to_owned()
        }
        ("sandboxctl shell", "--rm") => {
            "leave it out: every sandbox is removed when its command has ended".to_owned()
        }
        (_, flag) if flag.starts_with('-') => return None,
        ("sandboxctl shell", stray) => {
            format!(
                "`shell` takes no command; `sandboxctl exec NAME -- {stray}` runs one in a persistent sandbox, \
                 `sandboxctl run -- {stray}` in a fresh one"
            )
        }
        ("sandboxctl man", _) => {
            "this prints one page about all of it; `--output-dir DIR` writes one for every command".to_owned()
        }
        _ => return None,
    };
    Some(hint)
}
