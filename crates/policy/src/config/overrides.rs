//! Overrides: the flags of a command line as the strongest layer of settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::config::document::Fault;
use crate::config::form::{Typed, accept};
use crate::config::key::Key;
use crate::config::problem::{Located, Location, Problem, ProblemCode};
use crate::config::{Config, PathBase, SharedDirTable, SocketTable, value};
use crate::plan::BoundaryMode;
use crate::rules::env::Name;
use crate::rules::guest::GuestPlace;
use crate::rules::path::normalise;
use crate::rules::socket::SocketSource;

/// Flags exactly as they were typed. The command line's parser fills this in; nothing is checked yet.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub name: Option<String>,
    pub platform: Option<String>,
    /// The flags of single keys, with what was typed each time.
    pub keys: Vec<(&'static Key, Vec<String>)>,
    /// `-v`, `--volume`, each time it was given: `HOST:GUEST` or `HOST:GUEST:OPTIONS`.
    pub volume: Vec<String>,
    /// `--socket`, each time it was given: `HOST` or `HOST:GUEST`.
    pub socket: Vec<String>,
    /// `-e`, `--env`, each time it was given: `NAME=VALUE` to set, `NAME` to pass.
    pub env: Vec<OsString>,
    pub unset_env: Vec<String>,
    /// `--env-file`, each time it was given. `-e` wins over it.
    pub env_file: Vec<EnvFile>,
    /// What follows `--`.
    pub command: Vec<OsString>,
}

/// A file of variables: a line `NAME=VALUE` sets, a line `NAME` passes, empty lines and `#` lines mean nothing.
/// Values are taken as they stand, without quotes or escapes, as engines do.
#[derive(Clone, Debug)]
pub struct EnvFile {
    /// How the person knows it.
    pub label: String,
    /// What it holds, or why it cannot be read.
    pub text: Result<Vec<u8>, String>,
    /// Whether a line `NAME` passes a variable of the caller's.
    pub bare_names: BareNames,
}

/// What a line without a value does in a file of variables.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BareNames {
    /// It passes the caller's variable.
    Pass,
    /// It is refused: the file does not speak for the caller, for this reason.
    Refused(String),
}

impl Overrides {
    /// Returns the layer that these flags make, and every problem in them. Relative paths are seen from `base`.
    pub fn read(&self, base: &PathBase) -> (Config, Vec<Problem>) {
        let mut flags = FlagReader { problems: Vec::new() };
        let mut config = Config {
            name: flags.text("--name", "name", self.name.as_deref(), value::sandbox_name),
            platform: flags.text("--platform", "platform", self.platform.as_deref(), value::platform),
            shared_dirs: flags.volumes(&self.volume, base),
            sockets: flags.sockets(&self.socket, base),
            ..Config::default()
        };
        for (key, texts) in &self.keys {
            let Some(flag) = key.flag else { continue };
            let location = &Location::Flag(format!("--{}", flag.long).into());
            config.set(&Typed { key, texts, location, base }, &mut flags.problems);
        }
        // An image that is named has to be run, as one of which a file has a table.
        config.has_image = config.image.name.as_ref().map(|name| name.location.clone());
        let command = || Located::new(self.command.clone(), Location::Flag("--".into()));
        config.agent.command = (!self.command.is_empty()).then(command);
        for file in &self.env_file {
            flags.env_file(&mut config, file);
        }
        for entry in &self.env {
            flags.variable(&mut config, &Location::Flag("--env".into()), entry.clone());
        }
        for name in &self.unset_env {
            let location = Location::Flag("--unset-env".into());
            let parsed = value::parsed::<Name>(name);
            if let Some(name) = accept(&mut flags.problems, &location, "env.unset", parsed) {
                config.env.unset.insert(name, location);
            }
        }
        (config, flags.problems)
    }
}

struct FlagReader {
    problems: Vec<Problem>,
}

impl FlagReader {
    fn text(
        &mut self,
        flag: &str,
        key: &str,
        text: Option<&str>,
        parse: impl Fn(&str) -> Result<String, Fault>,
    ) -> Option<Located<String>> {
        let location = Location::Flag(flag.into());
        let value = accept(&mut self.problems, &location, key, parse(text?))?;
        Some(Located::new(value, location))
    }

    fn volumes(&mut self, volumes: &[String], base: &PathBase) -> BTreeMap<String, Located<SharedDirTable>> {
        let location = Location::Flag("--volume".into());
        let mut all = BTreeMap::new();
        for text in volumes {
            let Some((name, dir)) =
                accept(&mut self.problems, &location, "shared_dirs", volume(text, base, &location))
            else {
                continue;
            };
            if all.insert(name, Located::new(dir, location.clone())).is_some() {
                let message = format!("{text:?} is in the same place as another volume");
                self.problems.push(Problem::new(&location, "shared_dirs", ProblemCode::Conflict, message));
            }
        }
        all
    }

    fn sockets(&mut self, sockets: &[String], base: &PathBase) -> BTreeMap<String, Located<SocketTable>> {
        let location = Location::Flag("--socket".into());
        let mut all = BTreeMap::new();
        for text in sockets {
            let read = socket(text, base, &location);
            let Some((name, socket)) = accept(&mut self.problems, &location, "sockets", read) else {
                continue;
            };
            if all.insert(name, Located::new(socket, location.clone())).is_some() {
                let message = format!("{text:?} names a socket a second time");
                self.problems.push(Problem::new(&location, "sockets", ProblemCode::Conflict, message));
            }
        }
        all
    }

    fn env_file(&mut self, config: &mut Config, file: &EnvFile) {
        let text = match &file.text {
            Ok(text) => text,
            Err(reason) => {
                let location = Location::Flag(format!("--env-file {}", file.label).into());
                self.problems.push(Problem::new(
                    &location,
                    "",
                    ProblemCode::Host,
                    format!("cannot be read: {reason}"),
                ));
                return;
            }
        };
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            // Files that a shell reads too.
            let line = line.strip_prefix(b"export ").unwrap_or(line);
            let location = Location::Flag(format!("--env-file {}:{number}", file.label).into());
            let entry = OsString::from_vec(line.to_vec());
            match &file.bare_names {
                BareNames::Refused(why) if crate::rules::env::split_entry(entry.clone()).is_none() => {
                    self.refuse_bare(&location, &entry, why);
                }
                BareNames::Pass | BareNames::Refused(_) => self.variable(config, &location, entry),
            }
        }
    }

    /// Refuses a line without a value, which would pass a variable of the caller's on.
    fn refuse_bare(&mut self, location: &Location, entry: &OsString, why: &str) {
        let given = entry.to_string_lossy();
        let Some(name) =
            accept(&mut self.problems, location, &format!("env.{given}"), value::parsed::<Name>(&given))
        else {
            return;
        };
        let message = format!("a name without a value would pass your own variable on, and {why}");
        self.problems.push(
            Problem::new(location, format!("env.{name}"), ProblemCode::Refused, message).hinting(format!(
                "`-e {name}` passes it; a file kept where no sandbox may write may name it, too"
            )),
        );
    }

    /// Takes `NAME=VALUE` to set and `NAME` to pass; the later of two wins. No message repeats a value.
    fn variable(&mut self, config: &mut Config, location: &Location, entry: OsString) {
        let (given, value) = match crate::rules::env::split_entry(entry.clone()) {
            Some((name, value)) => (name, Some(value)),
            None => (entry, None),
        };
        let given = given.to_string_lossy();
        let parsed = match &value {
            Some(value) if value.as_bytes().contains(&0) => Err(Fault::value("a NUL cannot be part of it")),
            _ => value::parsed::<Name>(&given),
        };
        let Some(name) = accept(&mut self.problems, location, &format!("env.{given}"), parsed) else {
            return;
        };
        if let Some(value) = value {
            config.env.also_pass.remove(&name);
            config.env.set.insert(name, Located::new(value, location.clone()));
        } else {
            config.env.set.remove(&name);
            config.env.also_pass.insert(name, location.clone());
        }
    }
}

/// Reads `HOST:GUEST[:OPTIONS]`, under a name made from the guest path.
fn volume(text: &str, base: &PathBase, location: &Location) -> Result<(String, SharedDirTable), Fault> {
    let malformed = || {
        Fault::value(format!(
            "{text:?} is not a volume; expected HOST:GUEST, HOST:GUEST:ro or HOST:GUEST:rw, or more options after a comma: noexec, \
             optional"
        ))
    };
    let options = text.rsplit_once(':').and_then(|(paths, words)| Some((paths, VolumeOptions::of(words)?)));
    let (paths, options) = options.unwrap_or((text, VolumeOptions::default()));
    let (host, guest) = paths.rsplit_once(':').ok_or_else(malformed)?;
    if host.is_empty() || !guest.starts_with('/') {
        return Err(malformed());
    }
    let guest: crate::rules::path::GuestPath = value::parsed(guest)?;
    let dir = SharedDirTable {
        host: Some(Located::new(value::host_path(host, base)?, location.clone())),
        guest: Some(Located::new(GuestPlace::At(guest.clone()), location.clone())),
        mode: Some(Located::new(options.mode.unwrap_or_default(), location.clone())),
        exec: options.no_exec.map(|()| Located::new(false, location.clone())),
        optional: options.optional.map(|()| Located::new(true, location.clone())),
        hide: None,
        suffixes: None,
        max_file_bytes: None,
    };
    Ok((name_of(&guest.to_string()), dir))
}

/// Reads `HOST[:GUEST]`, where `HOST` is a path or `env:NAME`, under a name made from `HOST`.
fn socket(text: &str, base: &PathBase, location: &Location) -> Result<(String, SocketTable), Fault> {
    let (host, guest) = match text.rsplit_once(':') {
        Some((host, guest)) if guest.starts_with('/') => (host, Some(value::parsed(guest)?)),
        _ => (text, None),
    };
    let host = value::socket(host, base)?;
    let name = match &host {
        SocketSource::Path(path) => name_of(&normalise(path).to_string_lossy()),
        SocketSource::Variable(name) => name_of(name),
    };
    let located = |guest| Located::new(guest, location.clone());
    let socket = SocketTable {
        host: Some(Located::new(host, location.clone())),
        guest: guest.map(located),
        env_var: None,
    };
    Ok((name, socket))
}

/// What stands behind the paths of a volume; each of them once.
#[derive(Default)]
struct VolumeOptions {
    mode: Option<BoundaryMode>,
    no_exec: Option<()>,
    optional: Option<()>,
}

impl VolumeOptions {
    fn of(words: &str) -> Option<Self> {
        let mut all = Self::default();
        for word in words.split(',') {
            let is_again = match word {
                "ro" => all.mode.replace(BoundaryMode::ReadOnly).is_some(),
                "rw" => all.mode.replace(BoundaryMode::ReadWrite).is_some(),
                "noexec" => all.no_exec.replace(()).is_some(),
                "optional" => all.optional.replace(()).is_some(),
                _ => return None,
            };
            if is_again {
                return None;
            }
        }
        Some(all)
    }
}

/// Makes a name for what no file has named: `/srv/My data` is `srv-my-data`.
fn name_of(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    text.chars().map(allowed).collect::<String>().trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::schema::KEYS;
    use crate::rules::limits::Bytes;

    fn base() -> PathBase {
        PathBase { directory: "/project".into(), home: Some("/home/me".into()) }
    }

    fn typed(flags: &[(&str, &str)]) -> Vec<(&'static Key, Vec<String>)> {
        let key = |long: &str| KEYS.iter().find(|key| key.flag.is_some_and(|flag| flag.long == long));
        flags.iter().map(|(long, text)| (key(long).unwrap(), vec![(*text).to_owned()])).collect()
    }

    fn read(overrides: &Overrides) -> (Config, Vec<String>) {
        let (config, problems) = overrides.read(&base());
        (config, problems.iter().map(ToString::to_string).collect())
    }

    /// Checks that none is accepted and does nothing: where a file chooses the names, no flag can set a key.
    #[test]
    fn every_flag_and_variable_of_the_table_sets_something() {
        let location = &Location::Flag("--example".into());
        for key in KEYS.iter().filter(|key| key.flag.is_some() || key.variable.is_some()) {
            let (mut config, mut problems) = (Config::default(), Vec::new());
            let texts = &[key.example.trim_matches(['[', ']', '"']).to_owned()];
            config.set(&Typed { key, texts, location, base: &base() }, &mut problems);
            assert!(config != Config::default() || !problems.is_empty(), "{}", key.path);
        }
    }

    #[test]
    fn reads_every_flag() {
        let (config, problems) = read(&Overrides {
            name: Some("one".to_owned()),
            keys: typed(&[
                ("provider", "native"),
                ("network", "none"),
                ("allow-host", "example.org"),
                ("memory", "512m"),
                ("cpus", "1.5"),
                ("pids-limit", "64"),
                ("timeout", "5m"),
                ("user", "agent"),
                ("workdir", "/data"),
                ("image", "box:1"),
                ("pull", "never"),
                ("runtime", "runsc"),
                ("host-path-prefix", "/host"),
            ]),
            volume: vec!["./data:/data:ro".to_owned()],
            socket: vec!["../s".to_owned(), "env:SSH_AUTH_SOCK:/run/agent".to_owned()],
            env: vec!["A=1".into(), "B".into()],
            env_file: vec![EnvFile {
                label: "vars".to_owned(),
                text: Ok(b"# note\n\nC=3=4\r\nA=2\nD".to_vec()),
                bare_names: BareNames::Pass,
            }],
            unset_env: vec!["LANG".to_owned()],
            platform: Some("linux/arm64".to_owned()),
            command: vec!["ls".into()],
        });
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(config.limits.memory.unwrap().value, Some(Bytes(512 << 20)));
        assert_eq!(config.limits.pids.unwrap().value, Some(64));
        assert_eq!(config.image.name.unwrap().value, "box:1");
        assert_eq!(config.has_image, Some(Location::Flag("--image".into())));
        let data = &config.shared_dirs["data"].value;
        assert_eq!(data.host.as_ref().unwrap().value, std::path::Path::new("/project/data"));
        assert_eq!(data.mode.as_ref().unwrap().value, BoundaryMode::ReadOnly);
        let ssh = &config.sockets["ssh_auth_sock"].value;
        assert_eq!(ssh.host.as_ref().unwrap().value, SocketSource::Variable("SSH_AUTH_SOCK".to_owned()));
        assert_eq!(ssh.guest.as_ref().unwrap().value.to_string(), "/run/agent");
        assert!(config.sockets["s"].value.guest.is_none());
        let set: Vec<_> = config.env.set.iter().map(|(name, value)| (name.as_str(), &value.value)).collect();
        assert_eq!(set, [("A", &OsString::from("1")), ("C", &OsString::from("3=4"))]);
        assert_eq!(config.env.set["C"].location, Location::Flag("--env-file vars:3".into()));
        assert_eq!(config.env.also_pass.keys().map(Name::as_str).collect::<Vec<_>>(), ["B", "D"]);
        assert_eq!(config.env.unset.keys().map(Name::as_str).collect::<Vec<_>>(), ["LANG"]);
        assert_eq!(config.agent.command.unwrap().value, [OsString::from("ls")]);
    }

    #[test]
    fn a_file_that_does_not_speak_for_the_caller_sets_variables_and_passes_none() {
        let file = |bare_names| EnvFile {
            label: "vars".to_owned(),
            text: Ok(b"A=1\nTOKEN\nexport B\n".to_vec()),
            bare_names,
        };
        let read = |bare_names| read(&Overrides { env_file: vec![file(bare_names)], ..Overrides::default() });
        let (config, problems) = read(BareNames::Refused("it is another's".to_owned()));
        assert!(config.env.also_pass.is_empty() && config.env.set.contains_key("A"));
        let start = |number: u32, name: &str| {
            format!(
                "--env-file vars:{number}: env.{name}: a name without a value would pass your own variable on, and it is another's"
            )
        };
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with(&start(2, "TOKEN")) && problems[1].starts_with(&start(3, "B")));
        // The control.
        let (config, problems) = read(BareNames::Pass);
        assert_eq!((config.env.also_pass.len(), problems), (2, Vec::new()));
    }

    #[test]
    fn a_value_that_is_not_utf_8_stays_as_it_is() {
        let value = OsString::from_vec(vec![0xff, 0xfe]);
        let mut entry = OsString::from("RAW=");
        entry.push(&value);
        let (config, _) = read(&Overrides { env: vec![entry], ..Overrides::default() });
        assert_eq!(config.env.set["RAW"].value, value);
    }

    #[test]
    fn the_later_of_two_variables_wins() {
        let env = ["A=1", "A", "B", "B=2"].map(OsString::from).to_vec();
        let (config, _) = read(&Overrides { env, ..Overrides::default() });
        assert_eq!(config.env.also_pass.keys().map(Name::as_str).collect::<Vec<_>>(), ["A"]);
        assert_eq!(config.env.set.keys().map(Name::as_str).collect::<Vec<_>>(), ["B"]);
    }

    #[test]
    fn reports_every_wrong_flag_at_once_and_no_value_of_a_variable() {
        let (_, problems) = read(&Overrides {
            keys: typed(&[("memory", "much"), ("pids-limit", "1.5"), ("network", "nothing")]),
            volume: vec!["/data".to_owned(), "a:b".to_owned(), "a:/x:z".to_owned()],
            env: vec!["SESSION_TOKEN=hunter2".into(), "1A=hunter2".into()],
            ..Overrides::default()
        });
        assert_eq!(problems.len(), 8, "{problems:#?}");
        assert!(problems.iter().any(|problem| problem.starts_with("--memory: limits.memory: `much`")));
        assert!(problems.iter().any(|problem| problem.starts_with("--pids-limit: limits.pids: ")));
        assert!(!problems.join("\n").contains("hunter2"));
    }

    #[test]
    fn a_volume_has_options_in_any_order_and_each_of_them_once() {
        let read = |options: &str| {
            let volume = vec![format!("a:/data:{options}")];
            read(&Overrides { volume, ..Overrides::default() })
        };
        let (config, problems) = read("noexec,ro,optional");
        assert_eq!(problems, Vec::<String>::new());
        let data = &config.shared_dirs["data"].value;
        assert_eq!(data.mode.as_ref().unwrap().value, BoundaryMode::ReadOnly);
        assert!(!data.exec.as_ref().unwrap().value && data.optional.as_ref().unwrap().value);
        assert!(read("rw").0.shared_dirs["data"].value.exec.is_none());
        for wrong in ["", "ro,", "ro,ro", "ro,rw", "exec", "ro,z", "noexec,noexec"] {
            assert_eq!(read(wrong).1.len(), 1, "{wrong}");
        }
    }

    #[test]
    fn two_volumes_in_one_place_are_a_conflict() {
        let volume = vec!["a:/data".to_owned(), "b:/data/".to_owned()];
        let (_, problems) = read(&Overrides { volume, ..Overrides::default() });
        assert_eq!(problems, ["--volume: shared_dirs: \"b:/data/\" is in the same place as another volume"]);
    }
}
