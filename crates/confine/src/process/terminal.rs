//! Terminals: the agent has one of its own, a pty of the devpts of whoever opens it. PID 1 opens one inside, so that its name means
//! something there; the client opens one outside, so that nobody inside has a name for it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both sides of a new pty.
#[derive(Debug)]
pub struct Pty {
    /// What the client reads and writes.
    pub master: OwnedFd,
    /// What the agent calls its terminal.
    pub slave: OwnedFd,
}

/// Opens a pty of the given rows and columns.
pub fn open((rows, columns): (u16, u16)) -> Result<Pty, Errno> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open(c"/dev/ptmx", flags, Mode::empty())?;
    unlockpt(&master)?;
    // By ioctl and not by name: what is opened is this master's slave, whatever /dev/pts holds (ioctl_tty(2)).
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    tcsetwinsize(slave.as_fd(), Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok(Pty { master, slave })
}
