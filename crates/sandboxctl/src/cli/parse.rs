//! Parsing of a command line.
//!
//! Programs wait for `run` and `exec`, many times a second. To define all the other commands, with what is said of each, takes longer
//! than to parse such a line, so these two are tried alone first.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::{Cli, CliCommand, Deferred, ExecArgs, Global, RunArgs};

/// [`Cli`] with these commands alone. What it says of itself and hands down is the same, so that a line means the same to both.
#[derive(Debug, Parser)]
#[command(name = "sandboxctl", version, propagate_version = true, subcommand_required = true)]
struct FrequentCli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: FrequentCommand,
}

#[derive(Debug, Subcommand)]
enum FrequentCommand {
    Run(RunArgs),
    Exec(ExecArgs),
}

/// Parses a command line. What defines it is not taken apart again: each definition is many small blocks of memory.
pub(crate) fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(cli) = frequent(args) {
        return Ok(cli);
    }
    let mut command = ManuallyDrop::new(Cli::command());
    let mut matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Parses a command line of one of these two commands; `None` for every other one, and for one that is wrong or asks for help: what is
/// said then needs the whole definition.
fn frequent(args: &[OsString]) -> Option<Cli> {
    let name = args.iter().skip(1).find(|arg| !arg.as_encoded_bytes().starts_with(b"-"))?;
    if name != "run" && name != "exec" {
        return None;
    }
    let mut command = ManuallyDrop::new(FrequentCli::command());
    let mut matches = command.try_get_matches_from_mut(args).ok()?;
    let FrequentCli { global, command } = FrequentCli::from_arg_matches_mut(&mut matches).ok()?;
    let command = match command {
        FrequentCommand::Run(args) => CliCommand::Run(Deferred(args)),
        FrequentCommand::Exec(args) => CliCommand::Exec(Deferred(args)),
    };
    Some(Cli { global, command })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(line: &str) -> (Option<String>, Option<String>) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let whole = Cli::try_parse_from(&args).ok();
        (frequent(&args).map(|cli| format!("{cli:?}")), whole.map(|cli| format!("{cli:?}")))
    }

    #[test]
    fn a_line_means_the_same_as_to_the_whole_definition() {
        for line in [
            "sandboxctl run",
            "sandboxctl run true",
            "sandboxctl run -- true --version --help",
            "sandboxctl run true --version --quiet",
            "sandboxctl --quiet run --format json -e A=1 -v .:/x:ro --allow-host npm -- sh -c true",
            "sandboxctl -q --verbose run --name x --timeout 5m -d run exec",
            "sandboxctl exec x true",
            "sandboxctl exec -e A=1 -w /tmp --timeout 5m --detach x -- sh -c true",
            "sandboxctl exec --provider docker x",
        ] {
            let (frequent, whole) = both(line);
            assert!(frequent.is_some(), "{line}");
            assert_eq!(frequent, whole, "{line}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_whole_definition() {
        for line in [
            "sandboxctl", "sandboxctl ls", "sandboxctl --version", "sandboxctl help run",
            "sandboxctl run --help", "sandboxctl run --version", "sandboxctl run --no-such-flag",
            "sandboxctl exec", "sandboxctl plan run", "sandboxctl --no-such-flag run",
            "sandboxctl create --name run",
        ] {
            assert_eq!(both(line).0, None, "{line}");
        }
    }
}
