//! Arguments that are defined only for the command that was typed: definitions are most of what parsing costs.

use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches, Id};

/// The arguments `T` of a command.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(define::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }

    fn group_id() -> Option<Id> {
        T::group_id()
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Defines them. What is said about the command stands already; what is said about parts of its arguments is not about it.
fn define<T: Args>(command: Command) -> Command {
    let said = (command.get_about().cloned(), command.get_long_about().cloned());
    let command = T::augment_args(command);
    match said {
        (Some(about), Some(more)) => command.about(about).long_about(more),
        (Some(about), None) => command.about(about).long_about(None::<&str>),
        (None, _) => command,
    }
}
