//! Inflates a zlib stream that a stranger wrote, piece by piece. What comes out is bounded.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// How much room there is at first, in bytes. It is doubled as often as needed, so a stream gets none that it does not fill.
const FIRST_ROOM: usize = 4096;

/// With its header, its checksum is compared too. All that came out stays in one buffer, so nothing can refer to what was before it.
const FLAGS: u32 =
    TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_HAS_MORE_INPUT | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;

/// A zlib stream of which a part has been read.
#[derive(Default)]
pub(super) struct Inflater {
    state: Box<DecompressorOxide>,
    /// What came out, and room for more.
    room: Vec<u8>,
    /// How much came out.
    length: usize,
    has_ended: bool,
}

impl Inflater {
    /// Inflates the next piece until `most` bytes have come out altogether, and returns how many bytes of it were needed. `None` if this is no
    /// zlib stream.
    pub(super) fn inflate(&mut self, piece: &[u8], most: usize) -> Option<usize> {
        let mut taken = 0;
        while self.wants_more(most) {
            if self.length == self.room.len() {
                let room = self.length.saturating_mul(2).max(FIRST_ROOM).min(most);
                self.room.resize(room, 0);
            }
            let rest = piece.get(taken..)?;
            let (status, read, written) =
                decompress(&mut self.state, rest, &mut self.room, self.length, FLAGS);
            taken += read;
            self.length += written;
            match status {
                TINFLStatus::Done => self.has_ended = true,
                TINFLStatus::NeedsMoreInput => break,
                TINFLStatus::HasMoreOutput if self.length == self.room.len() => {}
                _ => return None,
            }
        }
        Some(taken)
    }

    /// Returns whether the stream has not ended and fewer than `most` bytes have come out.
    pub(super) fn wants_more(&self, most: usize) -> bool {
        !self.has_ended && self.length < most
    }

    /// Returns what has come out so far.
    pub(super) fn inflated(&self) -> &[u8] {
        self.room.get(..self.length).unwrap_or_default()
    }

    /// Returns all of it, if the stream has ended and has this length.
    pub(super) fn whole(mut self, length: usize) -> Option<Vec<u8>> {
        if !self.has_ended || self.length != length {
            return None;
        }
        self.room.truncate(length);
        Some(self.room)
    }
}
