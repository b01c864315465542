//! Who keeps a record: a process, distinguished from every later one.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What this process needs for a record and does not get.
#[derive(Debug, thiserror::Error)]
#[error("read {what} of this process: {source}")]
pub struct ProcessError {
    /// What was to be read.
    pub what: &'static str,
    pub source: io::Error,
}

/// A process, distinguished from every later one that gets its number.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Client {
    pub pid: u32,
    /// When it started, in clock ticks since the machine did: field 22 of `/proc/<pid>/stat`, see proc(5).
    pub start_time: u64,
    /// The PID namespace in which the number means this process. A container may share its caller's state
    /// directory; from there nobody can see whether the process lives.
    pub pid_namespace: u64,
    /// The time namespace in which it started at that time. In another one it is read with another offset, see
    /// `time_namespaces(7)`.
    pub time_namespace: u64,
}

impl Client {
    /// Returns the calling process.
    pub fn this() -> Result<Self, ProcessError> {
        let pid = std::process::id();
        let failed = |what| move |source| ProcessError { what, source };
        let start_time = start_time(pid)
            .map_err(failed("the start time"))?
            .ok_or_else(|| ProcessError { what: "the start time", source: io::ErrorKind::NotFound.into() })?;
        let pid_namespace = namespace("pid").map_err(failed("the PID namespace"))?;
        Ok(Self { pid, start_time, pid_namespace, time_namespace: time_namespace() })
    }

    /// Returns whether it is known to have ended. In another PID or time namespace that cannot be known.
    pub(crate) fn is_dead(&self) -> bool {
        namespace("pid").is_ok_and(|own| own == self.pid_namespace)
            && time_namespace() == self.time_namespace
            && start_time(self.pid).is_ok_and(|found| found != Some(self.start_time))
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.pid, self.start_time, self.pid_namespace, self.time_namespace)
    }
}

impl FromStr for Client {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = "a process is named by four numbers";
        let mut numbers = text.split(':').map(|number| number.parse::<u64>().map_err(|_| malformed));
        let mut next = || numbers.next().unwrap_or(Err(malformed));
        let pid = u32::try_from(next()?).map_err(|_| malformed)?;
        let (start_time, pid_namespace, time_namespace) = (next()?, next()?, next()?);
        let all = Self { pid, start_time, pid_namespace, time_namespace };
        if numbers.next().is_some() { Err(malformed) } else { Ok(all) }
    }
}

/// Returns when a process started; `None` where there is no such process.
pub(super) fn start_time(pid: u32) -> io::Result<Option<u64>> {
    let stat = match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    // The second field is the command's name in parentheses, which may itself hold spaces and parentheses.
    let after_name = stat.iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 1);
    String::from_utf8_lossy(&stat[after_name..])
        .split_ascii_whitespace()
        .nth(19)
        .and_then(|field| field.parse().ok())
        .map(Some)
        .ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat has no field 22"))
        })
}

fn is_gone(error: &io::Error) -> bool {
    // ESRCH: the process died between the look-up and the read.
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(nix::libc::ESRCH)
}

fn namespace(kind: &str) -> io::Result<u64> {
    Ok(rustix::fs::stat(format!("/proc/self/ns/{kind}"))?.st_ino)
}

/// Returns the number of the time namespace; 0 on kernels before 5.6, which have one time for all.
fn time_namespace() -> u64 {
    namespace("time").unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    pub(crate) fn this() -> Client {
        Client::this().unwrap()
    }

    /// Returns the client of a process that has ended.
    pub(crate) fn dead_client() -> Client {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let client =
            Client { pid: child.id(), start_time: start_time(child.id()).unwrap().unwrap(), ..this() };
        child.kill().unwrap();
        child.wait().unwrap();
        client
    }

    #[test]
    fn a_client_is_read_as_it_is_written() {
        assert_eq!(this().to_string().parse(), Ok(this()));
        for bad in ["", "1", "1:2:3", "1:2:3:4:5", "a:2:3:4", "4294967296:2:3:4"] {
            assert!(bad.parse::<Client>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_started_elsewhere_is_never_known_to_be_dead() {
        assert!(!this().is_dead() && dead_client().is_dead());
        assert!(
            Client { start_time: this().start_time - 1, ..this() }.is_dead(),
            "a later one with its number"
        );
        assert!(!Client { pid_namespace: 1, ..dead_client() }.is_dead());
        assert!(!Client { time_namespace: 1, ..dead_client() }.is_dead());
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let top = tempfile::tempdir().unwrap();
        let program = top.path().join("a) S 1 (b");
        // By another process: what this one has open for writing, a child of another test may hold open, and then
        // nobody can execute it (ETXTBSY).
        assert!(Command::new("cp").arg("/bin/sleep").arg(&program).status().unwrap().success());
        let mut child = Command::new(&program).arg("1000").spawn().unwrap();
        let started = start_time(child.id()).unwrap().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(started >= this().start_time, "{started}");
    }
}
