//! The caller's terminal as a screen: raw while the relay has it, and as it was before whenever it has not.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::{getpgrp, tcgetpgrp};
use rustix::fs::{CWD, Mode, OFlags, makedev};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, QueueSelector, Termios, Winsize};

use crate::host::acting::ActingAs;
use crate::host::identity::Identity;

/// A terminal of the caller's, opened again.
///
/// Opened again because a descriptor that is shared with the caller's shell cannot be made non-blocking without
/// surprising it. Where that is not possible it is shared, and may block while somebody has stopped its output.
///
/// Opened with the rights of the caller: a descriptor may be all that they have of a terminal of somebody else's, to write to it and
/// not to read from it, or of one that has hung up since and is another user's now.
#[derive(Debug)]
pub(crate) struct Screen {
    descriptor: OwnedFd,
    /// The modes it had when this process had it first, while it is raw: in the background it had somebody else's.
    before: Option<Termios>,
}

impl Screen {
    pub(crate) fn open(terminal: BorrowedFd<'_>, caller: Identity) -> io::Result<Self> {
        Ok(Self { descriptor: reopen(terminal, caller)?, before: None })
    }

    /// Returns the modes it has.
    pub(crate) fn modes(&self) -> io::Result<Termios> {
        Ok(rustix::termios::tcgetattr(&self.descriptor)?)
    }

    pub(crate) fn size(&self) -> io::Result<Winsize> {
        Ok(rustix::termios::tcgetwinsize(&self.descriptor)?)
    }

    /// Returns whether this process may read from it. One that is not the caller's controlling terminal knows no
    /// foreground.
    pub(crate) fn in_foreground(&self) -> bool {
        in_foreground(&self.descriptor)
    }

    /// Makes it raw: every key goes to the agent, Ctrl-C and Ctrl-Z too. Also when it is raw already, because
    /// a shell may have changed it while this process was stopped.
    pub(crate) fn make_raw(&mut self) -> io::Result<()> {
        let before = self.before.clone().map_or_else(|| self.modes(), Ok)?;
        let mut raw = before.clone();
        raw.make_raw();
        // Now, and not when everything is written: somebody may have stopped the output.
        rustix::termios::tcsetattr(&self.descriptor, OptionalActions::Now, &raw)?;
        self.before = Some(before);
        Ok(())
    }

    /// Makes it what it was before, if it was made raw. What was typed and not read is dropped: a terminal may have typed it in
    /// answer to the agent, and whoever reads next would take it for a command of the caller's.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        let Some(before) = &self.before else { return Ok(()) };
        // Not `OptionalActions::Flush`, which waits until everything is written: somebody may have stopped the output.
        let drop_input = || {
            if in_foreground(&self.descriptor) {
                let _ = rustix::termios::tcflush(&self.descriptor, QueueSelector::IFlush);
            }
        };
        drop_input();
        rustix::termios::tcsetattr(&self.descriptor, OptionalActions::Now, before)?;
        drop_input();
        self.before = None;
        Ok(())
    }
}

impl AsFd for Screen {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nobody left to report it to.
        let _ = self.restore();
    }
}

/// Says whether this process is in the foreground of a terminal, or the terminal is not its own.
///
/// Both are 0 where their leader is in another pid namespace (`pid_namespaces(7)`), which rustix takes for impossible.
fn in_foreground(terminal: impl AsFd) -> bool {
    let Ok(foreground) = tcgetpgrp(terminal) else { return true };
    foreground == getpgrp()
}

/// Stops this process as the kernel would have, had the signal not been blocked; returns once it goes on.
///
/// By `SIGTSTP` itself: the kernel does not stop a process with it that nobody could continue.
pub(crate) fn stop_here() -> io::Result<()> {
    let set: SigSet = [Signal::SIGTSTP].into_iter().collect();
    nix::sys::signal::raise(Signal::SIGTSTP)?;
    let before = set.thread_swap_mask(SigmaskHow::SIG_UNBLOCK)?;
    before.thread_set_mask()?;
    Ok(())
}

/// Opens the same terminal through a description of our own, which does not block.
fn reopen(terminal: BorrowedFd<'_>, caller: Identity) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", terminal.as_raw_fd());
    let is_controlling = is_controlling(terminal);
    let _acting = ActingAs::user(caller)?;
    let opened = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        // That of this session is anybody's in it, by that name. The one that `sudo` makes belongs to root.
        Err(Errno::ACCESS) if is_controlling => rustix::fs::openat(CWD, "/dev/tty", flags, Mode::empty()),
        opened => opened,
    };
    match opened {
        Ok(own) => Ok(own),
        // Somebody else's terminal, as after `su`, or no /proc.
        Err(Errno::ACCESS | Errno::PERM | Errno::NOENT | Errno::NXIO | Errno::IO) => {
            Ok(rustix::io::fcntl_dupfd_cloexec(terminal, 3)?)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Says whether this is the controlling terminal of this process, by its device in `proc_pid_stat(5)`.
fn is_controlling(terminal: BorrowedFd<'_>) -> bool {
    let Ok(device) = rustix::fs::fstat(terminal).map(|stat| stat.st_rdev) else { return false };
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name in parentheses: state, parent, group, session, terminal.
    let number = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(4)?.parse().ok());
    number.is_some_and(|number: i64| {
        // It is printed with a sign.
        let number = u32::try_from(number & i64::from(u32::MAX)).unwrap_or_default();
        device == makedev(number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xf_ff00)
    })
}
