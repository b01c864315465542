//! Secret values: read at the start, held as short as can be, and shown to nobody.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use confine::landlock;
use policy::plan::{Secret, SecretSource};
use policy::rules::limits::Bytes;
use policy::text::escape;
use rustix::io::Errno;
use zeroize::Zeroizing;

use crate::host::capture::Excess;
use crate::host::child::{Group, Running, Stop};
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::host::programs::Programs;
use crate::state::writable::Unsafe;

/// The longest value. A variable with its name must fit into the 128 KiB that execve(2) takes.
const MAX_SIZE: usize = 64 << 10;

/// How much of a command's messages is passed on.
const MAX_LOG: usize = 16 << 10;

/// How long a command may take. It may ask a person to unlock something.
const DEADLINE: Duration = Duration::from_secs(30);

/// The value of a secret.
///
/// It cannot be printed, compared or copied by accident. Its bytes are cleared when it is dropped. What that
/// cannot reach: the caller's own environment where the value came from there, pages the kernel has swapped out
/// or copied for a fork, and whatever a reader of [`SecretValue::as_bytes`] makes of it.
pub struct SecretValue(Zeroizing<Vec<u8>>);

/// Reads the values of a plan's credentials in their order (`Plan::credentials`), each by the variable that it, or a token for it, becomes.
pub type SecretReader<'a> = dyn FnMut() -> Result<Vec<(String, SecretValue)>, SecretError> + 'a;

/// What a secret may be read from, gathered by the caller.
pub struct SourceContext<'a> {
    pub env: &'a BTreeMap<OsString, OsString>,
    /// How commands are run. No secret is read from where a sandbox may write.
    pub programs: &'a Programs,
    /// The user who asks.
    pub caller: Identity,
    /// The process that everything is to end with: no command goes on when it has ended. It can be read from then.
    pub parent: Option<BorrowedFd<'a>>,
    /// Gets what a command says on its standard error, with every occurrence of the value taken out.
    pub log: &'a mut dyn FnMut(&str),
}

/// Why a secret cannot be passed on. Never holds a value.
#[derive(Debug, thiserror::Error)]
#[error("secret `{name}` from {origin}: {reason}")]
pub struct SecretError {
    /// The secret's name in the configuration.
    pub name: String,
    /// Its source, as it is configured.
    pub origin: String,
    #[source]
    pub reason: SecretFailure,
}

/// What is wrong with a source or with what it gave.
#[derive(Debug, thiserror::Error)]
pub enum SecretFailure {
    #[error("the variable is not set; set it, or name another source")]
    NotSet,
    #[error("the value is empty")]
    Empty,
    #[error("the value has a NUL byte, which no variable can hold")]
    Nul,
    #[error("the value is longer than {} bytes", MAX_SIZE)]
    TooLong,
    #[error("{0}")]
    Read(#[source] io::Error),
    /// It is no file, or one that the agent could have written or chosen.
    #[error(transparent)]
    Unsafe(#[from] Unsafe),
    #[error("the file belongs to uid {0}; it must belong to you or to root")]
    Owner(u32),
    #[error("others may read or change the file (mode {0:04o}); run `chmod 600` on it")]
    Permissions(u32),
    #[error("the command cannot be kept out of what the sandbox may write to: {0}; use `env:` or `file:`")]
    Unconfined(#[source] io::Error),
    #[error("the command could not be started: {0}")]
    Start(#[source] io::Error),
    #[error("the command failed: {0}")]
    Failed(std::process::ExitStatus),
    #[error("the command took longer than {} s and was killed", .0.as_secs())]
    TimedOut(Duration),
    #[error("the process that started this one has ended, and the command was killed")]
    Deserted,
}

/// Reads the value of a secret. Neither arguments nor errors nor logs ever hold it.
pub fn read(secret: &Secret, surroundings: &mut SourceContext<'_>) -> Result<SecretValue, SecretError> {
    let (origin, value) = match &secret.source {
        SecretSource::Env(variable) => (format!("env:{variable}"), from_env(variable, surroundings)),
        SecretSource::File(path) => (format!("file:{}", escape::path(path)), from_file(path, surroundings)),
        SecretSource::Command(line) => {
            (format!("command:{line}"), from_command(line, DEADLINE, surroundings))
        }
    };
    value.and_then(SecretValue::checked).map_err(|reason| SecretError {
        name: secret.name.clone(),
        origin,
        reason,
    })
}

impl From<Vec<u8>> for SecretValue {
    fn from(value: Vec<u8>) -> Self {
        Self(value.into())
    }
}

impl From<Zeroizing<Vec<u8>>> for SecretValue {
    fn from(value: Zeroizing<Vec<u8>>) -> Self {
        Self(value)
    }
}

impl SecretValue {
    /// Returns the bytes, for the one place that passes them on.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads a file, up to one byte more than is allowed with a newline. Its room is there before, so that it never moves and
    /// leaves a copy.
    fn read_from(file: impl AsFd) -> Result<Self, Errno> {
        let mut value = Self(vec![0; MAX_SIZE + 2].into());
        let mut filled = 0;
        while filled < value.0.len() {
            match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut value.0[filled..]))? {
                0 => break,
                length => filled += length,
            }
        }
        value.0.truncate(filled);
        Ok(value)
    }

    fn without_newline(mut self) -> Self {
        if self.0.last() == Some(&b'\n') {
            self.0.pop();
        }
        self
    }

    fn checked(self) -> Result<Self, SecretFailure> {
        if self.0.is_empty() {
            Err(SecretFailure::Empty)
        } else if self.0.len() > MAX_SIZE {
            Err(SecretFailure::TooLong)
        } else if self.0.contains(&0) {
            Err(SecretFailure::Nul)
        } else {
            Ok(self)
        }
    }
}

fn from_env(variable: &str, surroundings: &SourceContext<'_>) -> Result<SecretValue, SecretFailure> {
    let value = surroundings.env.get(OsStr::new(variable)).ok_or(SecretFailure::NotSet)?;
    Ok(SecretValue(value.as_bytes().to_vec().into()))
}

fn from_file(path: &Path, surroundings: &SourceContext<'_>) -> Result<SecretValue, SecretFailure> {
    let file = surroundings.programs.writable().open(path, surroundings.caller)?;
    let metadata = file.metadata().map_err(SecretFailure::Read)?;
    let owner = metadata.uid();
    if owner != surroundings.caller.uid && owner != 0 {
        return Err(SecretFailure::Owner(owner));
    }
    // A file of root's that the caller may read is one that root shares on purpose, as engines mount secrets
    // with mode 0444. One of the caller's own has no reason to be open.
    let forbidden = if owner == surroundings.caller.uid { 0o077 } else { 0o022 };
    if metadata.mode() & forbidden != 0 {
        return Err(SecretFailure::Permissions(metadata.mode() & 0o7777));
    }
    let value = SecretValue::read_from(&file).map_err(|errno| SecretFailure::Read(errno.into()))?;
    Ok(value.without_newline())
}

fn from_command(
    line: &str,
    deadline: Duration,
    surroundings: &mut SourceContext<'_>,
) -> Result<SecretValue, SecretFailure> {
    let until = Deadline::after(deadline);
    let programs = surroundings.programs;
    // What the kernel refuses below is said in better words where the text shows it.
    if let Some(boundary) = programs.mentioned(OsStr::new(line)) {
        return Err(Unsafe::Writable(boundary.into()).into());
    }
    let writable = programs.writable().open_all().map_err(SecretFailure::Unconfined)?;
    let mut command = programs.command(Path::new("/bin/sh"));
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Whatever it starts ends with it when it takes too long, or when we end. The guard itself is not kept out of anything.
    let group = Group::guarded(None).map_err(SecretFailure::Start)?;
    // Under sudo it is the user's command.
    let mut running = spawn_kept_out(surroundings.caller, command, group, &writable)?;
    let mut run = || {
        // One newline is not part of the value.
        let value = running.stdout(Bytes(MAX_SIZE as u64 + 1), Excess::Refused)?;
        let mut outputs = [value, running.stderr(Bytes(MAX_LOG as u64), Excess::Dropped)?];
        let (stop, _) = running.finish(until, surroundings.parent, &mut outputs)?;
        Ok((stop, outputs.map(|stream| SecretValue(stream.finish().bytes.into()))))
    };
    let (stop, [value, log]) = run().map_err(SecretFailure::Read)?;
    let value = value.without_newline();
    if !log.0.is_empty() {
        (surroundings.log)(&redacted(&log.0, &value.0));
    }
    match stop {
        Stop::Ended(status) if !status.success() => Err(SecretFailure::Failed(status)),
        Stop::Ended(_) => Ok(value),
        Stop::TooMuch => Err(SecretFailure::TooLong),
        Stop::TimedOut => Err(SecretFailure::TimedOut(deadline)),
        Stop::Deserted => Err(SecretFailure::Deserted),
    }
}

/// Starts a command that can neither read nor execute what lies in these directories, and nor can whatever it starts.
fn spawn_kept_out(
    user: Identity,
    mut command: Command,
    group: Group,
    writable: &[OwnedFd],
) -> Result<Running, SecretFailure> {
    if writable.is_empty() {
        return Running::spawn_as(user, &mut command, group).map_err(SecretFailure::Start);
    }
    // Landlock holds for a thread and what it gives birth to, so a thread of its own gives birth to the command.
    let spawn = || {
        landlock::keep_out_of(writable)
            .map_err(|error| SecretFailure::Unconfined(io::Error::other(error)))?;
        Running::spawn_as(user, &mut command, group).map_err(SecretFailure::Start)
    };
    std::thread::scope(|scope| {
        let panicked = |_| SecretFailure::Start(io::Error::other("the thread that starts it panicked"));
        std::thread::Builder::new()
            .spawn_scoped(scope, spawn)
            .map_err(SecretFailure::Start)?
            .join()
            .map_err(panicked)?
    })
}

/// Returns what a command printed, as text, without the value.
fn redacted(log: &[u8], value: &[u8]) -> String {
    if value.is_empty() {
        return String::from_utf8_lossy(log).into_owned();
    }
    let mut clean = Vec::with_capacity(log.len());
    let mut rest = log;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(value) {
            clean.extend_from_slice(b"[secret]");
            rest = after;
        } else {
            clean.push(rest[0]);
            rest = &rest[1..];
        }
    }
    String::from_utf8_lossy(&clean).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::path::PathBuf;
    use std::time::Instant;

    use rustix::process::{Pid, Signal};

    use super::*;
    use crate::state::writable::Writable;

    struct World {
        env: BTreeMap<OsString, OsString>,
        writable: Vec<PathBuf>,
        caller: Identity,
        log: String,
    }

    impl World {
        fn new() -> Self {
            let env = [("PATH", "/usr/bin:/bin"), ("TOKEN", "from-env"), ("EMPTY", "")];
            Self {
                env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
                writable: vec![],
                caller: Identity::own(),
                log: String::new(),
            }
        }

        fn ask<T>(&mut self, ask: impl FnOnce(&mut SourceContext<'_>) -> T) -> T {
            ask(&mut SourceContext {
                env: &self.env,
                programs: &Programs::new(&self.env, Writable::only(self.writable.clone()), Identity::own()),
                caller: self.caller,
                parent: None,
                log: &mut |text| self.log.push_str(text),
            })
        }

        fn read(&mut self, source: SecretSource) -> Result<String, String> {
            let secret = Secret { name: "github".into(), env_var: "T".into(), source };
            self.ask(|surroundings| read(&secret, surroundings))
                .map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap())
                .map_err(|error| error.to_string())
        }
    }

    fn file(content: &[u8], mode: u32) -> tempfile::TempPath {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
        file.into_temp_path()
    }

    fn command(line: &str) -> SecretSource {
        SecretSource::Command(line.into())
    }

    #[test]
    fn reads_a_variable_and_refuses_one_that_is_missing_or_empty() {
        let mut world = World::new();
        assert_eq!(world.read(SecretSource::Env("TOKEN".into())).unwrap(), "from-env");
        let error = world.read(SecretSource::Env("NOPE".into())).unwrap_err();
        assert_eq!(
            error,
            "secret `github` from env:NOPE: the variable is not set; set it, or name another source"
        );
        let error = world.read(SecretSource::Env("EMPTY".into())).unwrap_err();
        assert_eq!(error, "secret `github` from env:EMPTY: the value is empty");
    }

    #[test]
    fn one_trailing_newline_is_not_part_of_a_file() {
        let mut world = World::new();
        let path = file(b"v\n\n", 0o600);
        assert_eq!(world.read(SecretSource::File(path.to_path_buf())).unwrap(), "v\n");
        let path = file(b"v", 0o400);
        assert_eq!(world.read(SecretSource::File(path.to_path_buf())).unwrap(), "v");
    }

    #[test]
    fn refuses_nul_emptiness_and_what_does_not_fit() {
        let mut world = World::new();
        for (content, part) in [
            (b"a\0b".to_vec(), "NUL"),
            (b"\n".to_vec(), "empty"),
            (vec![b'x'; MAX_SIZE + 1], "longer"),
            (vec![b'x'; MAX_SIZE * 3], "longer"),
        ] {
            let path = file(&content, 0o600);
            let error = world.read(SecretSource::File(path.to_path_buf())).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let path = file(&[vec![b'x'; MAX_SIZE], b"\n".to_vec()].concat(), 0o600);
        assert_eq!(world.read(SecretSource::File(path.to_path_buf())).unwrap().len(), MAX_SIZE);
    }

    #[test]
    fn refuses_a_file_that_others_can_read_or_change() {
        let mut world = World::new();
        for mode in [0o644, 0o640, 0o602, 0o620] {
            let path = file(b"v", mode);
            let error = world.read(SecretSource::File(path.to_path_buf())).unwrap_err();
            assert!(error.contains(&format!("(mode {mode:04o}); run `chmod 600` on it")), "{error}");
        }
    }

    #[test]
    fn a_file_that_root_shares_is_fine_and_one_of_somebody_else_is_not() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let mut world = World { caller: Identity { uid: 1001, gid: 1001 }, ..World::new() };
        let path = file(b"v", 0o444);
        assert_eq!(world.read(SecretSource::File(path.to_path_buf())).unwrap(), "v");
        chown(&path, Some(1002), None).unwrap();
        let error = world.read(SecretSource::File(path.to_path_buf())).unwrap_err();
        assert!(error.contains("belongs to uid 1002"), "{error}");
    }

    #[test]
    fn refuses_a_file_that_the_agent_could_write_also_through_a_link() {
        let top = tempfile::tempdir().unwrap();
        let boundary = top.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&boundary).unwrap();
        fs::write(boundary.join("key"), "v").unwrap();
        std::os::unix::fs::symlink(boundary.join("key"), top.path().join("link")).unwrap();
        let mut world = World { writable: vec![boundary], ..World::new() };
        let error = world.read(SecretSource::File(top.path().join("link"))).unwrap_err();
        assert!(error.contains("which the sandbox may write to"), "{error}");
    }

    #[test]
    fn reads_what_a_command_prints_with_the_callers_environment() {
        let mut world = World::new();
        assert_eq!(world.read(command("printf '%s\\n' \"$TOKEN\"")).unwrap(), "from-env");
    }

    #[test]
    fn a_command_runs_where_no_agent_can_write() {
        let top = tempfile::tempdir().unwrap();
        let boundary = top.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&boundary).unwrap();
        let program = boundary.join("give");
        fs::write(&program, "#!/bin/sh\necho agent\n").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let mut world = World::new();
        let path = format!("{}:/usr/bin:/bin", boundary.display());
        world.env.insert("PATH".into(), path.into());
        assert_eq!(world.read(command("pwd; give")).unwrap(), "/\nagent", "the control");
        world.writable = vec![boundary];
        assert_eq!(world.read(command("pwd")).unwrap(), "/");
        assert!(world.read(command("give")).unwrap_err().contains("the command failed"));
        let by_path = world.read(command(&format!("cat <'{}'", program.display()))).unwrap_err();
        assert!(by_path.contains("which the sandbox may write to"), "{by_path}");
    }

    #[test]
    fn passes_on_what_a_command_says_but_never_the_value() {
        let mut world = World::new();
        let line = "printf hunter2; echo unlocking >&2; echo got hunter2! >&2";
        assert_eq!(world.read(command(line)).unwrap(), "hunter2");
        assert_eq!(world.log, "unlocking\ngot [secret]!\n");
    }

    #[test]
    fn a_command_that_fails_gives_no_value_and_its_output_stays_out_of_the_error() {
        let mut world = World::new();
        let error = world.read(command("printf hunter2; exit 3")).unwrap_err();
        assert!(error.ends_with("the command failed: exit status: 3"), "{error}");
        assert!(!error.replace("printf hunter2", "").contains("hunter2"), "{error}");
    }

    #[test]
    fn what_a_command_leaves_in_the_background_does_not_hold_us_up() {
        let mut world = World::new();
        let start = Instant::now();
        let pid: i32 = world.read(command("sleep 1000 & echo $!")).unwrap().parse().unwrap();
        assert!(start.elapsed() < Duration::from_secs(10));
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_all_it_started() {
        let mut world = World::new();
        let pids = tempfile::NamedTempFile::new().unwrap();
        let line = format!("sleep 1000 & echo $! > {}; wait", pids.path().display());
        let result = world.ask(|surroundings| from_command(&line, Duration::from_secs(3), surroundings));
        assert!(matches!(result, Err(SecretFailure::TimedOut(_))));
        let pid: i32 = fs::read_to_string(pids.path()).unwrap().trim().parse().unwrap();
        // Its parent is gone; as an orphan it may still wait to be reaped, but soon it does not run.
        let state = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().unwrap_or_default().chars().next()
        };
        let start = Instant::now();
        while !matches!(state(), None | Some('Z' | 'X')) {
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", state());
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_command_that_floods_both_streams_ends() {
        let mut world = World::new();
        let line = "head -c 1000000 /dev/zero >&2; echo value";
        assert_eq!(world.read(command(line)).unwrap(), "value");
        assert!(world.read(command("cat /dev/zero")).unwrap_err().contains("longer than"));
        assert!(world.log.len() <= MAX_LOG);
    }
}
