//! A call of buildx that takes its time: watched, heard, and ended with us however we end.
//!
//! It runs in a process group of its own, together with a shell that waits for the end of a pipe which only we hold
//! open. When we are killed, the pipe ends, and the shell ends the group and removes what was on disk.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, kill_process_group};

use super::command::Display;
use super::docker::Docker;
use super::error::BuildError;
use super::failure;
use crate::engine::{EngineError, Kind, Running};
use crate::terminal::Signals;

/// How many lines are kept of what is printed, to say why it failed.
const KEPT: usize = 400;

/// Who hears what a build does.
pub enum Progress<'a> {
    /// The caller's terminal is stderr, and buildx draws on it by itself.
    Terminal,
    /// This gets each line, without its end.
    Lines(&'a mut dyn FnMut(&str)),
}

impl Progress<'_> {
    pub(super) fn display(&self) -> Display {
        match self {
            Self::Terminal => Display::Terminal,
            Self::Lines(_) => Display::Lines,
        }
    }
}

/// Runs buildx to its end. `scratch` is removed when we are killed.
pub(super) fn run(
    docker: &Docker,
    words: &[OsString],
    input: &[u8],
    epoch: Option<&str>,
    scratch: &Path,
    progress: &mut Progress<'_>,
) -> Result<(), BuildError> {
    let kind = Kind::Docker;
    let failed = |source| BuildError::from(EngineError::Call { kind, source });
    // Before there is anything that a signal could leave behind.
    let signals = Signals::block().map_err(failed)?;
    let group = Group::new(scratch).map_err(failed)?;
    let mut command = match progress {
        Progress::Terminal => docker.command_on_terminal(),
        Progress::Lines(_) => docker.command(),
    };
    command
        .args(words)
        .process_group(group.id.as_raw_nonzero().get())
        // It leaves directories of its own behind.
        .env("TMPDIR", scratch)
        .stdin(file_of(input).map_err(failed)?)
        .stdout(Stdio::null());
    if let Some(epoch) = epoch {
        command.env("SOURCE_DATE_EPOCH", epoch);
    }
    if let Progress::Lines(_) = progress {
        command.stderr(Stdio::piped());
    }
    let mut heard = Heard { partial: Vec::new(), lines: VecDeque::new() };
    let child = command.spawn().map_err(failed)?;
    let mut running = Running::new(child).map_err(failed)?;
    let mut stderr = running.child.stderr.take();
    let (status, ended) =
        watch(&mut running, &signals, &group, &mut stderr, &mut heard, progress).map_err(failed)?;
    match ended {
        Some(signal) => Err(BuildError::Ended(signal as i32)),
        None if status.success() => Ok(()),
        None => Err(failure::told(heard.lines.make_contiguous())),
    }
}

/// Waits for the end, hands lines on, and passes signals on.
fn watch(
    running: &mut Running,
    signals: &Signals,
    group: &Group,
    stderr: &mut Option<ChildStderr>,
    heard: &mut Heard,
    progress: &mut Progress<'_>,
) -> io::Result<(ExitStatus, Option<Signal>)> {
    let mut ended = None;
    loop {
        let mut wanted =
            vec![PollFd::new(&running.pidfd, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        wanted.extend(stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        rustix::io::retry_on_intr(|| poll(&mut wanted, None))?;
        let is_over = !wanted[0].revents().is_empty();
        let says = wanted.get(2).is_some_and(|pipe| !pipe.revents().is_empty());
        drop(wanted);
        while let Some(signal) = signals.read()? {
            if matches!(signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT) {
                // Whoever asks twice does not want to wait for a clean end.
                group.send(if ended.is_none() {
                    rustix::process::Signal::TERM
                } else {
                    rustix::process::Signal::KILL
                });
                ended = Some(signal);
            }
        }
        if let (true, Some(pipe)) = (says, stderr.as_mut()) {
            let mut bytes = [0; 16 << 10];
            match pipe.read(&mut bytes)? {
                0 => *stderr = None,
                length => heard.take(&bytes[..length], progress),
            }
            // What is still in the pipe when the process has ended is heard first.
            continue;
        }
        if is_over {
            return Ok((running.child.wait()?, ended));
        }
    }
}

/// What was said, line by line.
struct Heard {
    partial: Vec<u8>,
    lines: VecDeque<String>,
}

impl Heard {
    fn take(&mut self, bytes: &[u8], progress: &mut Progress<'_>) {
        self.partial.extend(bytes);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            if let Progress::Lines(hear) = progress {
                hear(&line);
            }
            if self.lines.len() == KEPT {
                self.lines.pop_front();
            }
            self.lines.push_back(line);
        }
    }
}

/// A process group that ends with us.
struct Group {
    /// Its leader, which waits for our end. Its stdin is the pipe.
    leader: Child,
    id: Pid,
}

impl Group {
    fn new(scratch: &Path) -> io::Result<Self> {
        // It must not end by its own signal before it has removed what is on disk.
        let script = "trap '' TERM; read -r _; kill -TERM 0; rm -rf -- \"$1\"";
        let leader = Command::new("/bin/sh")
            .args(["-c", script, "sh"])
            .arg(scratch)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let id =
            i32::try_from(leader.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { leader, id })
    }

    fn send(&self, signal: rustix::process::Signal) {
        // The leader is ours and not waited for, so the group cannot be anybody else's.
        let _ = kill_process_group(self.id, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.leader.kill();
        let _ = self.leader.wait();
    }
}

/// A file in memory that holds this, to be read from its start.
fn file_of(input: &[u8]) -> io::Result<Stdio> {
    let mut file = std::fs::File::from(rustix::fs::memfd_create(c"input", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.as_fd().try_clone_to_owned()?.into())
}
