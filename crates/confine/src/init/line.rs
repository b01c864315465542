//! A short text for a file of the kernel, which a new process has in its own memory, where nothing may be allocated.

/// A line of at most 32 bytes.
#[derive(Clone, Copy)]
pub(super) struct Line {
    bytes: [u8; 32],
    length: usize,
}

impl Line {
    /// Takes a text, as much of it as there is room for: numbers of 32 bits leave some.
    pub(super) fn new(text: &str) -> Self {
        let mut bytes = [0; 32];
        let length = text.len().min(bytes.len());
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self { bytes, length }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
