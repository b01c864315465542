//! Standard streams: replaced by others at the same numbers.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::process::terminal;
use crate::sys;

/// Replaces the standard streams by these.
pub(crate) fn replace(streams: &[OwnedFd]) -> Result<(), Errno> {
    streams.iter().zip(0..).try_for_each(|(stream, number)| sys::duplicate_onto(stream.as_fd(), number))
}

/// Replaces the standard streams by these, and makes the one that is a terminal the controlling terminal of this session.
pub fn replace_with_terminal(streams: &[OwnedFd], terminal: Option<u8>) -> Result<(), Errno> {
    replace(streams)?;
    match terminal.and_then(|number| streams.get(usize::from(number))) {
        Some(stream) => terminal::set_controlling(stream.as_fd()),
        None => Ok(()),
    }
}

/// Replaces the standard streams by `/dev/null`.
pub(crate) fn replace_by_null() -> Result<(), Errno> {
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    (0..3).try_for_each(|number| sys::duplicate_onto(null.as_fd(), number))
}
