//! The program of PID 1, carried inside this one.

use std::io;
use std::os::fd::OwnedFd;

use confine::init::clone::program_in_memory;

/// The static `entrypoint`, built together with this library.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/entrypoint"));

/// Returns the program itself.
pub(crate) fn bytes() -> &'static [u8] {
    PROGRAM
}

/// Copies the program to a file in memory. It has no path, so nobody can replace it.
pub(crate) fn in_memory() -> io::Result<OwnedFd> {
    program_in_memory(PROGRAM)
}
