//! The process that a task runs in: a `run` of this same program, which nothing is shared with.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use policy::rules::limits::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use sandbox::batch::Attempt;
use sandbox::host::capture::{Capture, Captured};

/// How long a `run` may take to end after SIGTERM: it gives its command ten seconds, and clears up then.
const GRACE: Duration = Duration::from_secs(20);

/// How much is kept of what it says on standard error.
const MAX_STDERR: Bytes = Bytes(64 << 10);

/// How a `run` has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

/// A `run`, which has ended when this is gone.
pub(super) struct Running {
    process: Process,
    /// Closed at its other end when the attempt is cancelled.
    cancelled: UnixStream,
    stdout: Capture,
    stderr: Capture,
}

impl Running {
    /// Starts the `run` of a task.
    pub(super) fn start<T>(attempt: &Attempt<T>, words: &[OsString]) -> io::Result<Self> {
        let (cancelled, on_cancel) = UnixStream::pair()?;
        // How much it prints is bounded by what it keeps of the command's output.
        let (stdout, to_stdout) = Capture::open(Bytes(u64::MAX))?;
        let (stderr, to_stderr) = Capture::open(MAX_STDERR)?;
        let mut child = Command::new("/proc/self/exe")
            .arg0("sandboxctl")
            .args(words)
            // Nothing comes from standard input, but it is a pipe: a `run` whose three pipes have lost their other ends is ended,
            // even if its parent was gone before it could look for that.
            .stdin(Stdio::piped())
            .stdout(to_stdout)
            .stderr(to_stderr)
            // Ctrl-C is for the batch, which cancels its tasks one by one.
            .process_group(0)
            .spawn()?;
        drop(child.stdin.take());
        attempt.on_cancel(move || drop(on_cancel));
        Ok(Self { process: Process(child), cancelled, stdout, stderr })
    }

    /// Waits for its end, which comes soon where the attempt is cancelled.
    pub(super) fn finish(self) -> io::Result<Ended> {
        let Self { mut process, cancelled, mut stdout, mut stderr } = self;
        let pidfd = pidfd_open(Pid::from_child(&process.0), PidfdFlags::empty())?;
        let mut is_cancelled = false;
        let mut kill_at: Option<Instant> = None;
        loop {
            // Before the pipes are read: what it has said until its end is in them then.
            let status = process.0.try_wait()?;
            stdout.on_ready()?;
            stderr.on_ready()?;
            if let Some(status) = status {
                return Ok(Ended { status, stdout: stdout.finish(), stderr: stderr.finish() });
            }
            if kill_at.is_some_and(|at| at <= Instant::now()) {
                kill_at = None;
                // Its PID 1 sees that it is gone, and ends everything inside.
                process.0.kill()?;
            }
            let left = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let mut fds = vec![PollFd::new(&pidfd, PollFlags::IN)];
            fds.extend((!is_cancelled).then(|| PollFd::new(&cancelled, PollFlags::IN)));
            let pipes = [&stdout, &stderr].into_iter().filter_map(Capture::pipe);
            fds.extend(pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
            match poll(&mut fds, left.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if !is_cancelled && !fds[1].revents().is_empty() {
                is_cancelled = true;
                kill_at = Some(Instant::now() + GRACE);
                // It may have ended just now.
                let _ = pidfd_send_signal(&pidfd, Signal::TERM);
            }
        }
    }
}

/// A process of ours.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
