//! Standard streams: replaced by others at the same numbers.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Replaces one standard stream, by its number.
pub(crate) fn replace_one(number: usize, stream: BorrowedFd<'_>) -> Result<(), Errno> {
    match number {
        0 => rustix::stdio::dup2_stdin(stream),
        1 => rustix::stdio::dup2_stdout(stream),
        2 => rustix::stdio::dup2_stderr(stream),
        _ => Err(Errno::BADF),
    }
}

/// Replaces the standard streams by these.
pub(crate) fn replace(streams: &[OwnedFd]) -> Result<(), Errno> {
    streams.iter().enumerate().try_for_each(|(number, stream)| replace_one(number, stream.as_fd()))
}

/// Replaces the standard streams by `/dev/null`.
pub(crate) fn replace_by_null() -> Result<(), Errno> {
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    (0..3).try_for_each(|number| replace_one(number, null.as_fd()))
}
