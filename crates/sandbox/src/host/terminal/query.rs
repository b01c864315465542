//! Queries: what a terminal answers by itself, as if somebody had typed it.
//!
//! ECMA-48 and the control sequences of xterm: what is not known here to be answered counts as no question, and what may
//! be one counts as one.

/// Watches what is shown for questions, wherever the pieces are cut.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Queries {
    /// Plain text.
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// In a control sequence (CSI).
    Control,
    /// In a string for the terminal (DCS, OSC, APC), with whether it asks.
    String(bool),
}

impl Queries {
    /// Reads on; whether something in it asks.
    pub(crate) fn feed(&mut self, shown: &[u8]) -> bool {
        let mut asked = false;
        for &byte in shown {
            let (next, asks) = self.after(byte);
            *self = next;
            asked |= asks;
        }
        asked
    }

    fn after(self, byte: u8) -> (Self, bool) {
        match (self, byte) {
            // ENQ: the answerback.
            (_, 0x05) => (self, true),
            // A string ends with BEL, or with ESC and a backslash.
            (Self::String(asks), 0x07 | 0x1b) => (if byte == 0x1b { Self::Escape } else { Self::Text }, asks),
            (Self::String(asks), byte) => (Self::String(asks || byte == b'?'), false),
            (_, 0x1b) => (Self::Escape, false),
            (Self::Escape, b']' | b'_') => (Self::String(false), false),
            // DCS: requests of settings and of capabilities.
            (Self::Escape, b'P') => (Self::String(true), false),
            // Parameters and intermediate bytes.
            (Self::Escape, b'[') | (Self::Control, b' '..=b'?') => (Self::Control, false),
            // DECID; DA, DSR and cursor, window and title, DECREQTPARM, DECRQM, keyboard, graphics.
            (Self::Escape, b'Z') | (Self::Control, b'c' | b'n' | b't' | b'x' | b'p' | b'u' | b'S') => {
                (Self::Text, true)
            }
            (Self::Escape | Self::Control | Self::Text, _) => (Self::Text, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_distinguished_from_colours_and_titles() {
        let asks = |text: &str| Queries::default().feed(text.as_bytes());
        for question in [
            "\x1b[c", "\x1b[>0c", "\x1b[6n", "\x1b[21t", "\x1b[?2026$p", "\x1b[?u", "\x1bZ", "\x05",
            "\x1bP$qm\x1b\\", "\x1b]11;?\x07", "\x1b]11;?\x1b\\", "text \x1b[1m bold \x1b[5n",
        ] {
            assert!(asks(question), "{question:?}");
        }
        for plain in
            ["text?", "\x1b[1;31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[?2004h", "\x1b[2J\x1b[H", "c n t"]
        {
            assert!(!asks(plain), "{plain:?}");
        }
    }

    #[test]
    fn a_question_may_come_in_pieces() {
        let mut queries = Queries::default();
        assert!(!queries.feed(b"\x1b"));
        assert!(!queries.feed(b"[>"));
        assert!(queries.feed(b"c"));
        assert!(!queries.feed(b"c"));
    }
}
