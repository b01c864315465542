//! Runs a command in a terminal of its own, relayed to the caller's: `relay COMMAND [ARGUMENT…]`.
//!
//! A sandbox without the sandbox. The tests drive it through terminals as a person would.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use sandbox::host::identity::Identity;
use sandbox::host::terminal::{Ends, Relay, Signals, StreamKind, check_stream};

/// How long output that nobody reads is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() -> io::Result<ExitCode> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let is_terminal = |stream: rustix::fd::BorrowedFd<'_>| {
        check_stream(stream).map(|kind| kind == StreamKind::Terminal).map_err(io::Error::other)
    };
    let terminals = [is_terminal(stdin.as_fd())?, is_terminal(stdout.as_fd())?, is_terminal(stderr.as_fd())?];
    let output = match terminals {
        [_, true, _] => stdout.as_fd(),
        [_, false, true] => stderr.as_fd(),
        _ => stdin.as_fd(),
    };

    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    let input = terminals[0].then(|| stdin.as_fd());
    let mut relay = Relay::new(master, Ends { input, output, caller: Identity::own() })?;
    // The command starts before signals are blocked, so that it does not inherit the mask.
    let stream = |terminal: bool| -> io::Result<Stdio> {
        Ok(if terminal { slave.try_clone()?.into() } else { Stdio::inherit() })
    };
    // Where standard input is a pipe, setsid cannot make the terminal the controlling one.
    let controlling: &[&str] = if terminals[0] { &["--ctty"] } else { &[] };
    let mut child = Command::new("setsid")
        .args(controlling)
        .arg("--wait")
        .args(std::env::args_os().skip(1))
        .stdin(stream(terminals[0])?)
        .stdout(stream(terminals[1])?)
        .stderr(stream(terminals[2])?)
        .spawn()?;
    let process = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let signals = Signals::block()?;
    loop {
        let waiting = relay.fds();
        let mut fds = vec![PollFd::new(&process, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        fds.extend(waiting.iter().map(|(_, fd, events)| PollFd::from_borrowed_fd(*fd, *events)));
        let timeout =
            relay.tick().map(|tick| Timespec::try_from(tick).map_err(io::Error::other)).transpose()?;
        if poll(&mut fds, timeout.as_ref())? == 0 {
            relay.on_tick()?;
            continue;
        }
        let ended = !fds[0].revents().is_empty();
        let ready: Vec<_> = waiting
            .iter()
            .zip(&fds[2..])
            .map(|((source, ..), fd)| (*source, fd.revents()))
            .filter(|(_, events)| !events.is_empty())
            .collect();
        for (source, events) in ready {
            relay.on_ready(source, events)?;
        }
        while let Some(signal) = signals.read()? {
            match signal {
                Signal::SIGTERM | Signal::SIGHUP | Signal::SIGINT | Signal::SIGQUIT => {
                    relay.restore()?;
                    child.kill()?;
                }
                other => relay.on_signal(other)?,
            }
        }
        if ended {
            break;
        }
    }
    drop(slave);
    relay.finish(PATIENCE)?;
    let code = child.wait()?.code().unwrap_or(128);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(255)))
}
