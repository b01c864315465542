//! The `SANDBOXCTL_*` variables, as a layer of settings between the files and the flags.

use std::ffi::OsString;

use crate::config::form::Typed;
use crate::config::problem::{self, Location, Problem, ProblemCode};
use crate::config::schema::KEYS;
use crate::config::{Config, PathBase};
use crate::text::suggest::did_you_mean;

/// What every name of ours begins with.
pub const PREFIX: &str = "SANDBOXCTL_";

/// The variable that names the configuration file. The client reads it when it searches for the file.
pub const CONFIG: &str = "SANDBOXCTL_CONFIG";

/// The variable that says what is logged. The program reads it, before it knows any setting.
pub const LOG: &str = "SANDBOXCTL_LOG";

/// Reads the layer that an environment makes, and every problem in it. Variables of other names mean nothing here.
pub fn read(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    base: &PathBase,
) -> (Config, Vec<Problem>) {
    let mut config = Config::default();
    let mut problems = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let location = Location::Environment(name.into());
        if [CONFIG, LOG].contains(&name) {
            continue;
        }
        let Some(key) = KEYS.iter().find(|key| key.variable == Some(name)) else {
            let known = KEYS.iter().filter_map(|key| key.variable).chain([CONFIG, LOG]);
            let problem = Problem::new(&location, "", ProblemCode::UnknownKey, "unknown variable");
            problems.push(Problem { hint: did_you_mean(name, known), ..problem });
            continue;
        };
        let Some(text) = value.to_str() else {
            problems.push(Problem::new(&location, key.path, ProblemCode::InvalidValue, "it is not UTF-8"));
            continue;
        };
        config.set(&Typed { key, texts: &[text.to_owned()], location: &location, base }, &mut problems);
    }
    problem::sort(&mut problems);
    (config, problems)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;
    use crate::config::ProviderChoice;
    use crate::plan::Provider;

    fn base() -> PathBase {
        PathBase { directory: "/".into(), home: None }
    }

    fn given(pairs: &[(&str, &str)]) -> (Config, Vec<String>) {
        let (config, problems) = read(pairs.iter().map(|(name, value)| (name.into(), value.into())), &base());
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
        assert_eq!(provider.location, Location::Environment("SANDBOXCTL_PROVIDER".into()));
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
        let (_, problems) = read([("SANDBOXCTL_MEMORY".into(), raw)], &base());
        assert_eq!(problems[0].to_string(), "SANDBOXCTL_MEMORY: limits.memory: it is not UTF-8");
    }
}
