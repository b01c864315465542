//! The settings: what the environment and the arguments request, read without reading anything else.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use confine::account::RootPolicy;
use policy::rules::env::{
    AGENT_ALLOW_EMULATION, AGENT_ALLOW_ROOT, AGENT_ARGS, AGENT_COMMAND, AGENT_INIT, AGENT_USER, AGENT_WORKDIR,
};
use policy::rules::user::UserSpec;
use policy::text::escape;

/// Directories and files that the agent may write to, as a JSON array of absolute paths.
pub(crate) const SANDBOX_WRITABLE: &str = "SANDBOX_WRITABLE";

/// The agent's umask, in octal.
pub(crate) const SANDBOX_UMASK: &str = "SANDBOX_UMASK";

/// Everything that can be set.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Settings {
    /// The command with its arguments; never empty.
    pub(crate) argv: Vec<Vec<u8>>,
    /// The user that the agent runs as.
    pub(crate) user: Option<UserSpec>,
    pub(crate) root: RootPolicy,
    pub(crate) emulation: Emulation,
    /// Where it starts; absolute.
    pub(crate) workdir: Option<PathBuf>,
    /// Its umask, where that is not this process's.
    pub(crate) umask: Option<u32>,
    pub(crate) mode: Mode,
    /// What landlock lets the agent write; without it landlock is not used.
    pub(crate) writable: Option<Vec<PathBuf>>,
}

/// Whether the agent may run where an emulator takes the place of a processor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Emulation {
    /// Nothing is started.
    Refused,
    /// The agent is started, and what does not hold is noted.
    Allowed,
}

/// What becomes of this process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// The agent takes its place.
    Exec,
    /// It stays, reaps and forwards signals.
    Init,
}

/// Reads the settings. All problems are reported at once, each as a sentence.
pub(crate) fn read(
    arguments: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Settings, Vec<String>> {
    let mut problems = Vec::new();
    let mut note = |problem| problems.push(problem);

    let argv = command(arguments, environment).map_err(&mut note).unwrap_or_default();
    let user = text(environment, AGENT_USER)
        .and_then(|text| text.map(|text| text.parse().map_err(of(AGENT_USER))).transpose())
        .map_err(&mut note)
        .unwrap_or_default();
    let root = switch(environment, AGENT_ALLOW_ROOT).map_err(&mut note).unwrap_or_default();
    let emulation = switch(environment, AGENT_ALLOW_EMULATION).map_err(&mut note).unwrap_or_default();
    let init = switch(environment, AGENT_INIT).map_err(&mut note).unwrap_or_default();
    let workdir = value(environment, AGENT_WORKDIR)
        .and_then(|path| path.map(|path| absolute(AGENT_WORKDIR, Path::new(path))).transpose())
        .map_err(&mut note)
        .unwrap_or_default();
    let writable = list(environment, SANDBOX_WRITABLE)
        .and_then(|paths| {
            let each = |path: String| absolute(SANDBOX_WRITABLE, Path::new(&path));
            paths.map(|paths| paths.into_iter().map(each).collect()).transpose()
        })
        .map_err(&mut note)
        .unwrap_or_default();
    let umask = text(environment, SANDBOX_UMASK)
        .and_then(|text| text.map(umask).transpose())
        .map_err(&mut note)
        .unwrap_or_default();

    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Settings {
        argv,
        user,
        root: if root { RootPolicy::ByName } else { RootPolicy::Refused },
        emulation: if emulation { Emulation::Allowed } else { Emulation::Refused },
        workdir,
        umask,
        mode: if init { Mode::Init } else { Mode::Exec },
        writable,
    })
}

/// Reads the command: what follows `--`, or else `AGENT_COMMAND` with `AGENT_ARGS`, or else the arguments.
///
/// An engine passes an image's own command as arguments, so the variable replaces it; whoever writes `--` means
/// this very command, also where the container was made with another one in its environment.
fn command(arguments: &[OsString], environment: &[(OsString, OsString)]) -> Result<Vec<Vec<u8>>, String> {
    let bytes = |arguments: &[OsString]| arguments.iter().map(|one| one.as_bytes().to_vec()).collect();
    let argv: Vec<Vec<u8>> = match arguments.split_first() {
        Some((first, rest)) if first == "--" => {
            if rest.is_empty() {
                return Err("nothing follows `--`; expected a command with its arguments".to_owned());
            }
            bytes(rest)
        }
        Some((first, _)) if first.as_bytes().starts_with(b"-") => {
            return Err(format!(
                "{first:?} is not an option; the settings are variables ({AGENT_USER}, {AGENT_WORKDIR}, {AGENT_INIT}), \
                 and a command that begins with `-` follows `--`"
            ));
        }
        _ => match (value(environment, AGENT_COMMAND)?, list(environment, AGENT_ARGS)?) {
            (Some(command), rest) => {
                let rest = rest.unwrap_or_default().into_iter().map(String::into_bytes);
                std::iter::once(command.as_bytes().to_vec()).chain(rest).collect()
            }
            (None, Some(_)) => {
                return Err(format!(
                    "{AGENT_ARGS} is set and {AGENT_COMMAND} is not; set both, or pass the command as arguments"
                ));
            }
            (None, None) => bytes(arguments),
        },
    };
    match argv.first() {
        None => Err(format!(
            "there is no command; set {AGENT_COMMAND}, or pass the command as arguments: `entrypoint -- bash -l`"
        )),
        Some(program) if program.is_empty() => Err("the command is an empty string".to_owned()),
        Some(_) if argv.iter().any(|one| one.contains(&0)) => {
            Err(format!("{AGENT_ARGS} contains a NUL, which no argument can hold"))
        }
        Some(_) => Ok(argv),
    }
}

/// Reads a variable; one that is set twice or to nothing is refused.
fn value<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Result<Option<&'a OsStr>, String> {
    let mut values = environment.iter().filter(|(given, _)| given == name).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(_), Some(_)) => Err(format!("{name} is set more than once; keep one of them")),
        (Some(value), None) if value.is_empty() => {
            Err(format!("{name} is set to nothing; give it a value, or do not set it"))
        }
        (value, _) => Ok(value.map(OsString::as_os_str)),
    }
}

fn text<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Result<Option<&'a str>, String> {
    let Some(value) = value(environment, name)? else { return Ok(None) };
    value.to_str().map(Some).ok_or_else(|| format!("{name}: {value:?} is not UTF-8"))
}

fn switch(environment: &[(OsString, OsString)], name: &str) -> Result<bool, String> {
    match text(environment, name)? {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(format!("{name}: {other:?} is not a switch; expected 1 or 0")),
    }
}

fn list(environment: &[(OsString, OsString)], name: &str) -> Result<Option<Vec<String>>, String> {
    let Some(text) = text(environment, name)? else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|error| {
        format!(
            "{name} is not a JSON array of strings: {error}; expected such as [\"-c\", \"echo two words\"]"
        )
    })
}

fn absolute(name: &'static str, path: &Path) -> Result<PathBuf, String> {
    if path.is_absolute() && !path.as_os_str().as_bytes().contains(&0) {
        Ok(path.to_owned())
    } else {
        Err(format!(
            "{name}: `{}` is not an absolute path; expected such as `/workspace`",
            escape::path(path)
        ))
    }
}

fn umask(text: &str) -> Result<u32, String> {
    let umask = u32::from_str_radix(text, 8).ok().filter(|umask| *umask <= 0o777);
    umask.ok_or_else(|| {
        format!("{SANDBOX_UMASK}: {text:?} is not a umask; expected octal digits such as 0022")
    })
}

fn of<E: std::fmt::Display>(name: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{name}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        read(&arguments, &environment)
    }

    fn argv(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
        let argv = given(arguments, environment).unwrap().argv;
        argv.into_iter().map(|one| String::from_utf8(one).unwrap()).collect()
    }

    #[test]
    fn the_command_comes_from_one_place() {
        let variables = [("AGENT_COMMAND", "claude"), ("AGENT_ARGS", r#"["-p", "two words", ""]"#)];
        assert_eq!(argv(&["bash", "-l"], &[]), ["bash", "-l"]);
        assert_eq!(argv(&["bash", "-l"], &variables), ["claude", "-p", "two words", ""]);
        assert_eq!(argv(&["--", "bash", "-l"], &variables), ["bash", "-l"]);
        assert_eq!(argv(&["bash"], &[("AGENT_COMMAND", "claude")]), ["claude"]);
        assert_eq!(argv(&["bash", "--", "x"], &[]), ["bash", "--", "x"]);
    }

    #[test]
    fn settings_that_are_not_there_have_safe_values() {
        let settings = given(&["bash"], &[]).unwrap();
        assert_eq!((settings.root, settings.mode), (RootPolicy::Refused, Mode::Exec));
        assert_eq!(settings.emulation, Emulation::Refused);
        assert_eq!((settings.user, settings.workdir, settings.writable), (None, None, None));
        assert_eq!(settings.umask, None);
    }

    #[test]
    fn every_setting_is_read() {
        let settings = given(
            &["bash"],
            &[
                ("AGENT_USER", "1000:1000"),
                ("AGENT_WORKDIR", "/workspace"),
                ("AGENT_INIT", "1"),
                ("AGENT_ALLOW_ROOT", "1"),
                ("AGENT_ALLOW_EMULATION", "1"),
                ("SANDBOX_WRITABLE", r#"["/workspace", "/tmp"]"#),
                ("SANDBOX_UMASK", "0077"),
            ],
        );
        let settings = settings.unwrap();
        assert_eq!((settings.root, settings.mode), (RootPolicy::ByName, Mode::Init));
        assert_eq!(settings.emulation, Emulation::Allowed);
        assert_eq!(settings.user.unwrap().to_string(), "1000:1000");
        assert_eq!(settings.workdir.unwrap(), Path::new("/workspace"));
        assert_eq!(settings.writable.unwrap(), [Path::new("/workspace"), Path::new("/tmp")]);
        assert_eq!(settings.umask, Some(0o77));
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let problems = given(
            &[],
            &[
                ("AGENT_USER", "0day"),
                ("AGENT_WORKDIR", "workspace"),
                ("AGENT_INIT", "yes"),
                ("AGENT_ALLOW_ROOT", ""),
                ("AGENT_ALLOW_EMULATION", "true"),
                ("SANDBOX_WRITABLE", r#"["tmp"]"#),
                ("SANDBOX_UMASK", "0o22"),
            ],
        );
        let problems = problems.unwrap_err();
        assert_eq!(problems.len(), 8, "{problems:#?}");
    }

    #[test]
    fn a_setting_that_means_two_things_is_refused() {
        for environment in [
            &[("AGENT_USER", "agent"), ("AGENT_USER", "root")][..],
            &[("AGENT_USER", "")],
            &[("AGENT_COMMAND", "")],
            &[("AGENT_ARGS", "[]")],
            &[("AGENT_COMMAND", "a"), ("AGENT_ARGS", "-l -c")],
            &[("AGENT_COMMAND", "a"), ("AGENT_ARGS", "[1]")],
            &[("AGENT_COMMAND", "a"), ("AGENT_ARGS", r#"["\u0000"]"#)],
            &[("AGENT_COMMAND", "a"), ("AGENT_ARGS", r#"{"a":"b"}"#)],
        ] {
            assert_eq!(given(&["bash"], environment).unwrap_err().len(), 1, "{environment:?}");
        }
        for arguments in [&[][..], &["--"], &["-l"], &["--init", "bash"], &[""]] {
            assert_eq!(given(arguments, &[]).unwrap_err().len(), 1, "{arguments:?}");
        }
    }
}
