//! The `SANDBOXCTL_*` variables, as a layer of settings between the files and the flags.

use std::ffi::OsString;

use crate::config::{Config, Setting, value};
use crate::document::{Fault, Scalar};
use crate::overrides::{accept, scalar};
use crate::problem::{self, Code, Located, Place, Problem};
use crate::suggest::did_you_mean;

/// What every name of ours begins with.
pub const PREFIX: &str = "SANDBOXCTL_";

/// One variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The key that it sets; `None` for those that the command line reads itself.
    pub key: Option<&'static str>,
    /// What it is for, in a sentence.
    pub doc: &'static str,
    set: fn(&mut Config, &str, &Place) -> Result<(), Fault>,
}

/// Every variable there is.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "SANDBOXCTL_CONFIG",
        key: None,
        doc: "The configuration file, in place of the one that is found from the working directory upward.",
        set: |_, _, _| Ok(()),
    },
    Variable {
        name: "SANDBOXCTL_PROVIDER",
        key: Some("provider"),
        doc: "Who runs the sandbox.",
        set: |config, text, place| put(&mut config.general.provider, place, value::provider(text)?),
    },
    Variable {
        name: "SANDBOXCTL_HOST_DIR",
        key: Some("container.host_path_prefix"),
        doc: "What stands before a host path as the engine sees it, where sandboxctl runs in a container.",
        set: |config, text, place| put(&mut config.container.host_path_prefix, place, value::prefix(text)?),
    },
    Variable {
        name: "SANDBOXCTL_NETWORK",
        key: Some("network.mode"),
        doc: "How much of the network it sees.",
        set: |config, text, place| put(&mut config.network.mode, place, value::network_mode(text)?),
    },
    Variable {
        name: "SANDBOXCTL_MEMORY",
        key: Some("limits.memory"),
        doc: "Its memory.",
        set: |config, text, place| put(&mut config.limits.memory, place, limit(text, value::memory)?),
    },
    Variable {
        name: "SANDBOXCTL_CPUS",
        key: Some("limits.cpus"),
        doc: "Its processors.",
        set: |config, text, place| put(&mut config.limits.cpus, place, limit(text, value::cpus)?),
    },
    Variable {
        name: "SANDBOXCTL_PIDS",
        key: Some("limits.pids"),
        doc: "Its processes and threads.",
        set: |config, text, place| put(&mut config.limits.pids, place, limit(text, value::pids)?),
    },
    Variable {
        name: "SANDBOXCTL_TIMEOUT",
        key: Some("limits.timeout"),
        doc: "How long a command may run.",
        set: |config, text, place| put(&mut config.limits.timeout, place, limit(text, value::timeout)?),
    },
];

/// The layer that an environment makes, and every problem in it. Variables of other names mean nothing here.
pub fn read(environment: impl IntoIterator<Item = (OsString, OsString)>) -> (Config, Vec<Problem>) {
    let mut config = Config::default();
    let mut problems = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let place = Place::Environment(name.into());
        let Some(variable) = VARIABLES.iter().find(|variable| variable.name == name) else {
            let mut problem = Problem::new(&place, "", Code::UnknownKey, "unknown variable");
            problem.hint = did_you_mean(name, VARIABLES.iter().map(|variable| variable.name));
            problems.push(problem);
            continue;
        };
        let Some(key) = variable.key else { continue };
        let text = value.to_str().ok_or_else(|| Fault::value("it is not UTF-8"));
        let set = text.and_then(|text| (variable.set)(&mut config, text, &place));
        accept(&mut problems, &place, key, set);
    }
    problem::sort(&mut problems);
    (config, problems)
}

#[expect(clippy::unnecessary_wraps, reason = "what sets a variable may fail before it comes to this")]
fn put<T>(setting: &mut Setting<T>, place: &Place, value: T) -> Result<(), Fault> {
    *setting = Some(Located::new(value, place.clone()));
    Ok(())
}

fn limit<T>(text: &str, parse: impl Fn(Scalar<'_>) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
    value::or_unlimited(scalar(text), parse)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;
    use crate::config::ProviderChoice;
    use crate::plan::Provider;
    use crate::schema;

    fn given(pairs: &[(&str, &str)]) -> (Config, Vec<String>) {
        let (config, problems) = read(pairs.iter().map(|(name, value)| (name.into(), value.into())));
        (config, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn reads_every_variable_and_says_where_it_stands() {
        let (config, problems) = given(&[
            ("SANDBOXCTL_PROVIDER", "local"),
            ("SANDBOXCTL_NETWORK", "none"),
            ("SANDBOXCTL_MEMORY", "1g"),
            ("SANDBOXCTL_CPUS", "2"),
            ("SANDBOXCTL_PIDS", "unlimited"),
            ("SANDBOXCTL_TIMEOUT", "5m"),
            ("SANDBOXCTL_CONFIG", "/elsewhere.toml"),
            ("PATH", "/bin"),
        ]);
        assert_eq!(problems, Vec::<String>::new());
        let provider = config.general.provider.unwrap();
        assert_eq!(provider.value, ProviderChoice::Named(Provider::Local));
        assert_eq!(provider.place, Place::Environment("SANDBOXCTL_PROVIDER".into()));
        assert_eq!(config.limits.pids.unwrap().value, None);
        assert!(
            config.limits.cpus.is_some() && config.limits.memory.is_some() && config.limits.timeout.is_some()
        );
        assert!(config.network.mode.is_some());
    }

    #[test]
    fn reports_unknown_names_and_wrong_values_at_once() {
        let (_, problems) = given(&[("SANDBOXCTL_MEMROY", "1g"), ("SANDBOXCTL_PIDS", "many")]);
        assert_eq!(
            problems,
            [
                "SANDBOXCTL_MEMROY: unknown variable; did you mean \"SANDBOXCTL_MEMORY\"?",
                "SANDBOXCTL_PIDS: limits.pids: this cannot be its value; expected a whole number of processes, or \"unlimited\"",
            ]
        );
    }

    #[test]
    fn a_value_that_is_not_utf_8_is_a_problem() {
        let raw = OsString::from_vec(vec![0xff]);
        let (_, problems) = read([("SANDBOXCTL_MEMORY".into(), raw)]);
        assert_eq!(problems[0].to_string(), "SANDBOXCTL_MEMORY: limits.memory: it is not UTF-8");
    }

    #[test]
    fn every_variable_sets_a_key_that_there_is() {
        for key in VARIABLES.iter().filter_map(|variable| variable.key) {
            let (table, name) = schema::split(key);
            assert!(schema::find(table, name).is_some(), "{key}");
        }
    }
}
