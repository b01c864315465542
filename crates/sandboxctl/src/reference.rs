//! The command reference, docs/commands.md: made from the definition of the command line, and checked to be fresh.

use std::env;
use std::fs;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};

use crate::cli::Cli;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");

#[test]
fn the_command_reference_is_fresh() {
    let expected = reference();
    if env::var_os("GENERATE").is_some() {
        fs::create_dir_all(Path::new(FILE).parent().unwrap()).unwrap();
        fs::write(FILE, &expected).unwrap();
    }
    let found = fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        found == expected,
        "docs/commands.md is not what the command line is; `make generate` regenerates it"
    );
}

fn reference() -> String {
    let mut command = Cli::command();
    command.build();
    let head = "# Commands\n\n<!-- Made from the definition of the command line by `make generate`. -->\n";
    head.to_owned() + &section(&command, Level::Program)
}

/// Global flags stand once, with the program.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Level {
    Program,
    Command,
}

fn section(command: &Command, level: Level) -> String {
    let name = command.get_display_name().unwrap_or(command.get_name()).replace('-', " ");
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut parts = vec![format!("\n## {name}\n\n{about}\n\n```text\n{usage}\n```\n")];
    let rows: Vec<_> = command.get_arguments().filter(|arg| belongs(arg, level)).map(row).collect();
    if !rows.is_empty() {
        parts.push(format!("\n| argument | meaning |\n| --- | --- |\n{}", rows.concat()));
    }
    parts.extend(command.get_after_long_help().map(|after| format!("\n```text\n{after}\n```\n")));
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    parts.extend(commands.map(|command| section(command, Level::Command)));
    parts.concat()
}

fn belongs(arg: &Arg, level: Level) -> bool {
    let everywhere = ["help", "version"].contains(&arg.get_id().as_str());
    !everywhere && (level == Level::Program || !arg.is_global_set())
}

fn row(arg: &Arg) -> String {
    let long = arg.to_string();
    let spelling = match arg.get_short() {
        Some(short) => format!("-{short}, {long}"),
        None => long,
    };
    format!("| `{}` | {} |\n", spelling.replace('|', "\\|"), arg.get_help().unwrap_or_default())
}
