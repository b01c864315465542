//! The flags that set a key of `sandbox.toml`, made from the table of keys.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use policy::config::key::{Key, ValueKind};
use policy::config::schema::KEYS;

/// What was typed of them: for each key, its value each time.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyFlags(pub(crate) Vec<(&'static Key, Vec<String>)>);

impl Args for KeyFlags {
    fn augment_args(command: Command) -> Command {
        command.args(KEYS.iter().filter_map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KeyFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |key: &'static Key| {
            key.flag?;
            Some((key, matches.get_many::<String>(key.path)?.cloned().collect()))
        };
        Ok(Self(KEYS.iter().filter_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn flag(key: &'static Key) -> Option<Arg> {
    let flag = key.flag?;
    let action = if matches!(key.kind, ValueKind::List(_)) { ArgAction::Append } else { ArgAction::Set };
    let arg = Arg::new(key.path).long(flag.long).value_name(flag.value).help(flag.help).action(action);
    Some(match flag.short {
        Some(letter) => arg.short(letter),
        None => arg,
    })
}
