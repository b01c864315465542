//! Flags that hold for many sandboxes: those of one, without its name.

use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments `T`, among which is `--name`. It is there to be refused in words of its own.
#[derive(Debug)]
pub(crate) struct Unnamed<T>(pub(crate) T);

impl<T: Args> Args for Unnamed<T> {
    fn augment_args(command: Command) -> Command {
        const HELP: &str = "Refused: each sandbox has a name of its own, which is made";
        T::augment_args(command).mut_arg("name", |name| name.hide(true).help(HELP))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Unnamed<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
