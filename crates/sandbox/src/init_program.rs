//! The program of PID 1, carried inside this one.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;

/// The static `entrypoint`, built together with this library.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/entrypoint"));

/// An empty file in memory that may be executed. It has no path, so nobody can replace it.
pub(crate) fn empty() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC;
    match memfd_create(c"entrypoint", flags | MemfdFlags::EXEC) {
        // Before Linux 6.3 every file in memory could be executed, and the flag is unknown.
        Err(Errno::INVAL) => Ok(memfd_create(c"entrypoint", flags)?),
        made => Ok(made?),
    }
}

/// Writes the program into it.
pub(crate) fn write(file: &OwnedFd) -> io::Result<()> {
    File::from(file.try_clone()?).write_all(PROGRAM)
}
