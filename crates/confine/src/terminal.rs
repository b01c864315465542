//! A terminal inside: a pty of the sandbox's own devpts, so that its name means something there.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both sides of a new pty.
pub(crate) struct Pair {
    /// What the client reads and writes.
    pub(crate) master: OwnedFd,
    /// What the agent calls its terminal.
    pub(crate) slave: OwnedFd,
}

/// Opens a pty of the given rows and columns.
pub(crate) fn open((rows, columns): (u16, u16)) -> Result<Pair, Errno> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open(c"/dev/ptmx", flags, Mode::empty())?;
    unlockpt(&master)?;
    // By ioctl and not by name: what is opened is this master's slave, whatever /dev/pts holds (ioctl_tty(2)).
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    tcsetwinsize(slave.as_fd(), Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok(Pair { master, slave })
}
