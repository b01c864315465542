//! A call of an engine's command line: what it says, and no longer than it may take.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{EngineError, Kind};
use crate::deadline::Deadline;

/// The most that is kept of what a call says on either stream. Who says more is not read any further.
const MOST: usize = 8 << 20;

/// Runs a call of an engine's command line to its end, or kills it when its time is over. What it prints is the answer;
/// what it says of a failure becomes the error.
pub(crate) fn output(kind: Kind, call: &mut Command, patience: Duration) -> Result<String, EngineError> {
    let failed = |source| EngineError::Call { kind, source };
    let child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let mut running = Running::new(child).map_err(failed)?;
    let (status, [stdout, stderr]) = running.hear(Deadline::after(patience)).map_err(failed)?;
    match status {
        Some(status) if status.success() => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        Some(_) => Err(EngineError::told(kind, &String::from_utf8_lossy(&stderr))),
        None => Err(EngineError::Timeout { kind, waited: patience }),
    }
}

/// A call of the command line that is under way. It ends with this at the latest.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) pidfd: OwnedFd,
}

impl Running {
    pub(crate) fn new(child: Child) -> io::Result<Self> {
        let pid =
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { pidfd: pidfd_open(pid, PidfdFlags::empty())?, child })
    }

    /// Waits for its end; `None` where the time is over before.
    pub(crate) fn wait(&mut self, until: Deadline) -> io::Result<Option<ExitStatus>> {
        Ok(self.hear(until)?.0)
    }

    /// Waits for its end, and keeps what it says on its pipes, if it has any: stdout and stderr. Whoever else holds them is
    /// not waited for: what a command leaves behind may hold them as long as it likes.
    pub(crate) fn hear(&mut self, until: Deadline) -> io::Result<(Option<ExitStatus>, [Vec<u8>; 2])> {
        let mut pipes: [Option<OwnedFd>; 2] =
            [self.child.stdout.take().map(Into::into), self.child.stderr.take().map(Into::into)];
        for pipe in pipes.iter().flatten() {
            ioctl_fionbio(pipe, true)?;
        }
        let mut said = [Vec::new(), Vec::new()];
        loop {
            // Before the pipes are read: what it has said until its end is in them then.
            let status = self.child.try_wait()?;
            for (pipe, said) in pipes.iter_mut().zip(&mut said) {
                if let Some(open) = pipe.take() {
                    *pipe = drain(&open, said)?.then_some(open);
                }
            }
            if status.is_some() || until.is_over() {
                return Ok((status, said));
            }
            let ended = PollFd::new(&self.pidfd, PollFlags::IN);
            let says = pipes.iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN));
            let mut ready: Vec<PollFd<'_>> = std::iter::once(ended).chain(says).collect();
            rustix::io::retry_on_intr(|| poll(&mut ready, until.left().as_ref()))?;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is still ours, so neither call can hit anybody else.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes what is in a pipe. False if no more will come, or be heard.
fn drain(pipe: &OwnedFd, said: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 16 << 10];
    while said.len() < MOST {
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => return Ok(false),
            Ok(length) => said.extend(&buffer[..length]),
            Err(Errno::AGAIN) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(script: &str, patience: Duration) -> Result<String, EngineError> {
        output(Kind::Docker, Command::new("sh").args(["-c", script]), patience)
    }

    #[test]
    fn a_call_says_what_it_says_and_takes_no_longer_than_it_may() {
        let long = Duration::from_secs(60);
        assert_eq!(said("echo out; echo err >&2", long).unwrap(), "out\n");
        assert!(
            matches!(said("echo why >&2; exit 3", long), Err(EngineError::Refused { message, .. }) if message == "why")
        );
        assert_eq!(said("head -c 1000000 /dev/zero", long).unwrap().len(), 1_000_000);
        // What stays behind holds its pipes.
        let behind = said("sleep 1000 & echo $!", long).unwrap();
        assert!(Command::new("kill").arg(behind.trim()).status().unwrap().success());
        let error = said("sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, EngineError::Timeout { .. }), "{error}");
        assert!(said("yes", Duration::from_secs(10)).is_err());
    }
}
