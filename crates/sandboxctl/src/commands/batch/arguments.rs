//! The command line of the `run` that a task becomes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::task::BatchTask;
use crate::cli::{Answers, ConfigSource, PlanRequest, Trusted};

/// Returns what a task is run with: its own settings, and those of the batch where it has none.
pub(super) fn words(defaults: &PlanRequest, is_quiet: bool, task: &BatchTask) -> Vec<OsString> {
    // Each field is here by its name, so that a new flag of `run` is not forgotten.
    let PlanRequest {
        source: ConfigSource { config, trust, answers: Answers { yes, no_input: _ } },
        name: _,
        env,
        unset_env,
        env_file,
        volume,
        socket,
        keys,
        platform,
        create_dirs,
    } = defaults;
    let mut words: Vec<OsString> = ["run", "--format=json", "--die-with-parent"].map(Into::into).to_vec();
    let task_config = task.config.as_deref().map(OsStr::new);
    words.extend(flags("config", task_config.or(config.as_ref().map(|path| path.as_os_str()))));
    let own = [("provider", &task.provider), ("limits.timeout", &task.timeout)];
    let is_own = |path: &str| own.iter().any(|(own, value)| *own == path && value.is_some());
    for (key, values) in keys.0.iter().filter(|(key, _)| !is_own(key.path)) {
        words.extend(key.flag.into_iter().flat_map(|flag| flags(flag.long, values)));
    }
    words.extend(flags("provider", &task.provider));
    words.extend(flags("timeout", &task.timeout));
    words.extend(flags("platform", platform));
    // A variable has one value: that of the task.
    let is_free = |entry: &&OsString| {
        let name = entry.as_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
        !task.env.keys().any(|own| own.as_bytes() == name)
    };
    words.extend(flags("env", env.iter().filter(is_free)));
    words.extend(flags("env", task.env.iter().map(|(name, value)| format!("{name}={value}"))));
    words.extend(flags("unset-env", unset_env));
    words.extend(flags("env-file", env_file));
    words.extend(flags("volume", volume.iter().chain(&task.volumes)));
    words.extend(flags("socket", socket));
    match trust {
        Some(Trusted::Hash(hash)) => words.extend(flags("trust", [hash])),
        Some(Trusted::Any) => words.push("--trust".into()),
        None => {}
    }
    words.push(if *yes { "--yes" } else { "--no-input" }.into());
    words.extend(create_dirs.then(|| "--create-dirs".into()));
    words.extend(is_quiet.then(|| "--quiet".into()));
    words.push("--".into());
    words.extend(task.command.iter().map(OsString::from));
    words
}

/// Returns a flag with each of its values, in one word: a value may begin with a dash.
fn flags<V: AsRef<OsStr>>(name: &str, values: impl IntoIterator<Item = V>) -> impl Iterator<Item = OsString> {
    let start = OsString::from(format!("--{name}="));
    values.into_iter().map(move |value| {
        let mut word = start.clone();
        word.push(value);
        word
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, CliCommand, Deferred};

    fn of(defaults: &[&str], task: &BatchTask) -> String {
        let typed = ["sandboxctl", "batch"].iter().chain(defaults);
        let CliCommand::Batch(Deferred(args)) = Cli::try_parse_from(typed).unwrap().command else {
            panic!("another command")
        };
        let words = words(&args.defaults.0, false, task);
        // Whatever it is, `run` understands it.
        let line = std::iter::once(OsString::from("sandboxctl")).chain(words.iter().cloned());
        assert!(matches!(Cli::try_parse_from(line).unwrap().command, CliCommand::Run(_)));
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ").strip_prefix("run --format=json --die-with-parent ").unwrap().to_owned()
    }

    fn command(words: &[&str]) -> BatchTask {
        let command = words.iter().map(|word| (*word).to_owned()).collect();
        BatchTask { command, ..BatchTask::default() }
    }

    #[test]
    fn what_the_batch_was_called_with_is_passed_on() {
        let defaults =
            ["--config", "a.toml", "--timeout=5m", "-e", "A=1", "-m", "1g", "-v", "a:/a", "--trust", "-y"];
        assert_eq!(
            of(&defaults, &command(&["true"])),
            "--config=a.toml --memory=1g --timeout=5m --env=A=1 --volume=a:/a --trust --yes -- true"
        );
    }

    #[test]
    fn what_the_task_says_takes_its_place() {
        let text = |text: &str| Some(text.to_owned());
        let task = BatchTask {
            config: text("b.toml"),
            provider: text("native"),
            timeout: text("1s"),
            env: BTreeMap::from([("A".to_owned(), "2".to_owned())]),
            volumes: vec!["b:/b".to_owned()],
            ..command(&["sh", "-c", "--format"])
        };
        let defaults = [
            "--config", "a.toml", "--provider=docker", "--timeout=5m", "-e", "A=1", "-e", "AB=3", "-v",
            "a:/a",
        ];
        assert_eq!(
            of(&defaults, &task),
            "--config=b.toml --provider=native --timeout=1s --env=AB=3 --env=A=2 --volume=a:/a --volume=b:/b --no-input -- sh -c --format"
        );
    }
}
