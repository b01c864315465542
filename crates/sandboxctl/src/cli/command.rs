//! Flags of whatever runs a command: what it is passed, what it ends with, and those of engines that mean nothing here.

use std::io::{self, IsTerminal as _};

use clap::Args;

use crate::error::{Code, CommandError};

/// Flags that people are used to from container engines. What they ask for is so without them.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct EngineHabits {
    /// Accepted as engines do: standard input always reaches the command
    #[arg(short, long, hide = true)]
    interactive: bool,
    /// Accepted as engines do: a terminal is detected
    #[arg(short, long, hide = true)]
    tty: bool,
}

impl EngineHabits {
    /// Refuses what cannot be had: a terminal where the caller has none.
    pub(crate) fn check(self) -> Result<(), CommandError> {
        let has_terminal =
            io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
        if self.tty && !has_terminal {
            let message = "-t, --tty: there is no terminal here to run the command on";
            return Err(CommandError::message(Code::UsageInvalid, message).hint(
                "leave it out: a terminal is detected by itself, and without one streams are byte-exact",
            ));
        }
        Ok(())
    }
}

/// What a command has open, besides its standard streams.
#[derive(Args, Debug, Default)]
pub(crate) struct PassArgs {
    /// Pass an open descriptor to the command, at the same number: 3 or more
    ///
    /// Regular files, pipes, connected Unix stream sockets, /dev/null, /dev/zero and /dev/full can be passed, 16 at most. A pipe
    /// without a name is relayed, as standard streams are. Nothing else that is open here is open inside.
    #[arg(long = "pass-fd", value_name = "N")]
    pub(crate) numbers: Vec<u32>,
}

/// What a command ends with, besides this program.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct LifeArgs {
    /// Kill everything that was started when the process that started this one ends, however it ends
    ///
    /// Without it, a command goes on when its shell is killed, as for nohup(1), unless nobody is left to wait for it: standard
    /// input was a pipe that has closed, one of standard output and error was a pipe whose reader is gone, and the other
    /// is another such pipe or /dev/null. Then the command gets SIGHUP, and ten seconds later is killed.
    #[arg(long)]
    pub(crate) die_with_parent: bool,
}
