//! A call of buildx that takes its time: watched, read, and ended with us however we end.
//!
//! It runs in a process group that is guarded: when we are killed, the group ends, and what was on disk goes.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{ChildStderr, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use rustix::event::PollFlags;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use tracing::debug;

use super::command::Display;
use super::docker::Docker;
use super::error::BuildError;
use super::failure;
use crate::engine::error::EngineError;
use crate::engine::kind::EngineKind;
use crate::host::child::{Group, Running};
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::host::terminal::{Ends, Relay, RelaySource, Signals};

/// How many lines are kept of what is printed, to say why it failed.
const KEPT: usize = 400;

/// How long somebody may have stopped the output of a terminal before what was drawn last is given up.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Receives what a build reports.
pub struct BuildProgress<'a> {
    pub display: Display<'a>,
    /// This gets each line, without its end: which part of a build begins, and what buildx says where it draws nothing.
    pub on_line: &'a mut dyn FnMut(&str),
}

/// Runs buildx to its end. `scratch` is removed when we are killed.
pub(super) fn run(
    docker: &Docker,
    words: &[OsString],
    input: &[u8],
    epoch: Option<&str>,
    scratch: &Path,
    progress: &mut BuildProgress<'_>,
) -> Result<(), BuildError> {
    let kind = EngineKind::Docker;
    let failed = |source| BuildError::from(EngineError::Call { kind, source });
    // Before there is anything that a signal could leave behind.
    let signals = Signals::block().map_err(failed)?;
    let group = Group::guarded(Some(scratch)).map_err(failed)?;
    let mut command = docker.command();
    command
        .args(words)
        // It leaves directories of its own behind.
        .env("TMPDIR", scratch)
        .stdin(file_of(input).map_err(failed)?)
        .stdout(Stdio::null());
    if let Some(epoch) = epoch {
        command.env("SOURCE_DATE_EPOCH", epoch);
    }
    let screen = match progress.display {
        Display::Terminal(caller) => {
            let (relay, screen) = terminal(caller).map_err(failed)?;
            command.stderr(screen);
            Some(relay)
        }
        Display::Lines => {
            command.stderr(Stdio::piped());
            None
        }
    };
    let mut output = OutputLines { partial: Vec::new(), lines: VecDeque::new() };
    debug!(arguments = ?command.get_args(), "calls docker");
    let mut running = Running::spawn(&mut command, group).map_err(failed)?;
    // With it goes our end of the terminal, which would keep that open.
    drop(command);
    let mut stream = match screen {
        Some(relay) => ShownBuild::Terminal(Box::new(relay)),
        None => ShownBuild::Pipe(running.child.stderr.take()),
    };
    let (status, ended) =
        watch(&mut running, &signals, &mut stream, &mut output, progress).map_err(failed)?;
    if let ShownBuild::Terminal(relay) = stream {
        // A terminal that is gone is no reason for the image not to be there.
        let _ = relay.finish(DRAIN_TIMEOUT);
    }
    match ended {
        Some(signal) => Err(BuildError::Ended(signal as i32)),
        None if status.success() => Ok(()),
        None => Err(failure::from_output(output.lines.make_contiguous())),
    }
}

/// Opens a terminal for buildx to draw on, which is shown on the caller's: what it prints there at its end has to be
/// read, and a process in the background could be stopped by the caller's own.
fn terminal(caller: BorrowedFd<'_>) -> io::Result<(Relay, Stdio)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    let screen = ioctl_tiocgptpeer(&master, flags)?;
    let relay = Relay::new(master, Ends { input: None, output: caller, caller: Identity::own() })?;
    Ok((relay.listening(), screen.into()))
}

/// How buildx prints.
enum ShownBuild {
    /// Line by line; nothing once it has ended.
    Pipe(Option<ChildStderr>),
    /// By drawing.
    Terminal(Box<Relay>),
}

impl ShownBuild {
    /// Lists what to wait for, and for which events.
    fn fds(&self) -> Vec<(RelaySource, BorrowedFd<'_>, PollFlags)> {
        match self {
            Self::Pipe(pipe) => {
                pipe.iter().map(|pipe| (RelaySource::Master, pipe.as_fd(), PollFlags::IN)).collect()
            }
            Self::Terminal(relay) => relay.fds(),
        }
    }

    /// Reads what it prints now.
    fn read(&mut self, source: RelaySource, events: PollFlags) -> io::Result<Vec<u8>> {
        match self {
            Self::Pipe(pipe) => {
                let mut bytes = vec![0; 16 << 10];
                let length = pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut bytes))?;
                if length == 0 {
                    *pipe = None;
                }
                bytes.truncate(length);
                Ok(bytes)
            }
            Self::Terminal(relay) => {
                relay.on_ready(source, events)?;
                Ok(relay.output())
            }
        }
    }
}

/// Waits for the end, hands lines on, and passes signals on.
fn watch(
    running: &mut Running,
    signals: &Signals,
    stream: &mut ShownBuild,
    output: &mut OutputLines,
    progress: &mut BuildProgress<'_>,
) -> io::Result<(ExitStatus, Option<Signal>)> {
    let mut ended = None;
    loop {
        let sources = stream.fds();
        let streams = sources.iter().map(|(_, fd, events)| (*fd, *events));
        let wanted: Vec<_> = std::iter::once((signals.as_fd(), PollFlags::IN)).chain(streams).collect();
        let (is_over, ready) = running.poll(Deadline::NEVER, &wanted)?;
        let ready: Vec<_> = sources
            .iter()
            .zip(&ready[1..])
            .map(|((source, ..), events)| (*source, *events))
            .filter(|(_, events)| !events.is_empty())
            .collect();
        while let Some(signal) = signals.read()? {
            if let (Signal::SIGWINCH, ShownBuild::Terminal(relay)) = (signal, &mut *stream) {
                relay.on_signal(signal)?;
            }
            if matches!(signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT) {
                // Whoever asks twice does not want to wait for a clean end.
                running.send(match ended {
                    None => rustix::process::Signal::TERM,
                    Some(_) => rustix::process::Signal::KILL,
                });
                ended = Some(signal);
            }
        }
        for (source, events) in &ready {
            output.take(&stream.read(*source, *events)?, progress);
        }
        // What is still on its way when the process has ended is read first.
        if is_over && ready.is_empty() {
            return Ok((running.child.wait()?, ended));
        }
    }
}

/// What was said, line by line.
struct OutputLines {
    partial: Vec<u8>,
    lines: VecDeque<String>,
}

impl OutputLines {
    fn take(&mut self, bytes: &[u8], progress: &mut BuildProgress<'_>) {
        self.partial.extend(bytes);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let line = on_screen(&String::from_utf8_lossy(&line[..end]));
            if matches!(progress.display, Display::Lines) {
                (progress.on_line)(&line);
            }
            if self.lines.len() == KEPT {
                self.lines.pop_front();
            }
            self.lines.push_back(line);
        }
    }
}

/// Returns what of a line stays on a screen: the last that was written over what stood there before, without colours.
fn on_screen(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\x1b' {
            plain.push(character);
        } else if characters.next() == Some('[') {
            // ECMA-48, 5.4: the sequence ends with one of these.
            let _ = characters.find(|character| ('@'..='~').contains(character));
        }
    }
    plain.split('\r').rfind(|piece| !piece.is_empty()).unwrap_or_default().to_owned()
}

/// Creates a file in memory that holds this, to be read from its start.
fn file_of(input: &[u8]) -> io::Result<Stdio> {
    let mut file = std::fs::File::from(rustix::fs::memfd_create(c"input", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.as_fd().try_clone_to_owned()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relayed(display: Display<'_>, pieces: &[&[u8]]) -> (Vec<String>, Vec<String>) {
        let mut handed_on = Vec::new();
        let mut output = OutputLines { partial: Vec::new(), lines: VecDeque::new() };
        let mut on_line = |line: &str| handed_on.push(line.to_owned());
        let mut progress = BuildProgress { display, on_line: &mut on_line };
        for piece in pieces {
            output.take(piece, &mut progress);
        }
        (output.lines.into(), handed_on)
    }

    #[test]
    fn a_line_that_is_written_over_is_what_stands_there_at_last() {
        let pieces: &[&[u8]] =
            &[b"#7 1.2 Preparing ...\r\n#7 1.3 (Reading", b" 5%\r(Reading 100%\r\n\r\nplain\n"];
        let lines = ["#7 1.2 Preparing ...", "(Reading 100%", "", "plain"];
        let (kept, handed_on) = relayed(Display::Lines, pieces);
        assert_eq!(
            (kept.as_slice(), handed_on.as_slice()),
            (&lines.map(str::to_owned)[..], &lines.map(str::to_owned)[..])
        );
    }

    #[test]
    fn what_is_drawn_is_kept_without_colours_and_not_said_again() {
        let drawn =
            b"\x1b[1A\x1b[0G\x1b[?25l[+] Building 0.6s\r\n\x1b[0m\x1b[?25h------\r\n > [2/2] RUN false:\r\n";
        let stderr = io::stderr();
        let (kept, handed_on) = relayed(Display::Terminal(stderr.as_fd()), &[drawn]);
        assert_eq!(kept, ["[+] Building 0.6s", "------", " > [2/2] RUN false:"]);
        assert!(handed_on.is_empty(), "{handed_on:?}");
    }
}
