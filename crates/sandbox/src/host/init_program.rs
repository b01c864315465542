//! The program of PID 1, carried inside this one.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;

/// The static `entrypoint`, built together with this library.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/entrypoint"));

/// The program itself.
pub(crate) fn bytes() -> &'static [u8] {
    PROGRAM
}

/// The program in a file in memory. It has no path, so nobody can replace it.
pub(crate) fn in_memory() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC;
    let made = match memfd_create(c"entrypoint", flags | MemfdFlags::EXEC) {
        // Before Linux 6.3 every file in memory could be executed, and the flag is unknown.
        Err(Errno::INVAL) => memfd_create(c"entrypoint", flags)?,
        made => made?,
    };
    let mut file = File::from(made);
    file.write_all(PROGRAM)?;
    Ok(file.into())
}
