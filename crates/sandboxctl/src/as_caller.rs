//! Streams that were opened by whoever calls, and are read by this process.

use std::io::{self, Read};

use sandbox::host::acting::ActingAs;
use sandbox::host::identity::Identity;

/// What is read with the rights of the caller: under sudo of the user behind it. Some files in `/proc` ask for the rights of whoever reads, and
/// not of whoever has opened them.
#[derive(Debug)]
pub(crate) struct AsCaller<R> {
    from: R,
    caller: Identity,
}

impl<R: Read> AsCaller<R> {
    pub(crate) fn new(from: R, caller: Identity) -> Self {
        Self { from, caller }
    }
}

impl<R: Read> Read for AsCaller<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let _acting = ActingAs::user(self.caller)?;
        self.from.read(buffer)
    }
}
