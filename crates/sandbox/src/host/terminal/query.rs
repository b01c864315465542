//! Queries: what a terminal answers by itself, as if somebody had typed it.
//!
//! ECMA-48 and the control sequences of xterm: what is not known here to be answered counts as no question, and what may
//! be one counts as one.

/// How much of a sequence is kept until it is known whether it asks. What is longer is a picture or the like, and is not shown.
const LONGEST: usize = 64 << 10;

/// Watches what is shown for questions, wherever the pieces are cut.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    at: Place,
    /// The beginning of a sequence that is withheld until its end has come.
    begun: Vec<u8>,
}

/// Where in a text a terminal is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Place {
    /// Plain text.
    #[default]
    Text,
    /// After the first byte of a control character in UTF-8 (U+0080 to U+009F), or of another character.
    Lead,
    /// After ESC.
    Escape,
    /// In a control sequence (CSI).
    Control,
    /// In a string for the terminal (DCS, OSC, APC), with whether it asks.
    String(bool),
    /// The same after the first byte of such a character.
    StringLead(bool),
}

impl Queries {
    /// Reads on; whether something in it asks.
    pub(crate) fn feed(&mut self, shown: &[u8]) -> bool {
        let mut asked = false;
        for &byte in shown {
            let (next, asks) = self.at.after(byte);
            self.at = next;
            asked |= asks;
        }
        asked
    }

    /// Reads on, and leaves out whatever asks: where nobody reads the answers, whoever reads from the terminal next takes them for
    /// typed.
    pub fn leave_out(&mut self, shown: &[u8]) -> Vec<u8> {
        let mut rest = Vec::with_capacity(shown.len());
        for &byte in shown {
            let (next, asks) = self.at.after(byte);
            let is_text = self.at == Place::Text && next == Place::Text;
            self.at = next;
            match (asks, is_text) {
                (true, _) => self.begun.clear(),
                (false, true) => rest.push(byte),
                (false, false) if self.begun.len() < LONGEST => self.begun.push(byte),
                (false, false) => {}
            }
            // What asks by a string is over, and the end of that follows.
            if asks && next == Place::Escape {
                self.begun.push(byte);
            }
            if next == Place::Text {
                let whole = std::mem::take(&mut self.begun);
                rest.extend(Some(whole).filter(|whole| whole.len() < LONGEST).into_iter().flatten());
            }
        }
        rest
    }

    /// Returns what was withheld.
    pub(crate) fn take_begun(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.begun)
    }
}

impl Place {
    /// Returns where the terminal is after a byte, and whether that has asked it something.
    fn after(self, byte: u8) -> (Self, bool) {
        match (self, byte) {
            // ENQ: the answerback.
            (_, 0x05) => (self, true),
            // A string ends with BEL, with ESC and a backslash, or with U+009C.
            (Self::String(asks), 0x07 | 0x1b) => (if byte == 0x1b { Self::Escape } else { Self::Text }, asks),
            (Self::StringLead(asks), 0x9c) => (Self::Text, asks),
            (Self::String(asks) | Self::StringLead(asks), 0xc2) => (Self::StringLead(asks), false),
            (Self::String(asks) | Self::StringLead(asks), byte) => {
                (Self::String(asks || byte == b'?'), false)
            }
            (_, 0x1b) => (Self::Escape, false),
            (_, 0xc2) => (Self::Lead, false),
            (Self::Escape, b']' | b'_') | (Self::Lead, 0x9d | 0x9f) => (Self::String(false), false),
            // DCS: requests of settings and of capabilities.
            (Self::Escape, b'P') | (Self::Lead, 0x90) => (Self::String(true), false),
            // Parameters and intermediate bytes.
            (Self::Escape, b'[') | (Self::Lead, 0x9b) | (Self::Control, b' '..=b'?') => {
                (Self::Control, false)
            }
            // DECID; DA, DSR and cursor, window and title, DECREQTPARM, DECRQM, keyboard, graphics.
            (Self::Escape, b'Z')
            | (Self::Lead, 0x9a)
            | (Self::Control, b'c' | b'n' | b't' | b'x' | b'p' | b'u' | b'S') => (Self::Text, true),
            (Self::Escape | Self::Control | Self::Lead | Self::Text, _) => (Self::Text, false),
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
            "\x1bP$qm\x1b\\", "\u{9b}6n", "\u{9a}", "\u{90}$qm\u{9c}", "\u{9d}11;?\u{9c}", "\x1b]11;?\x07",
            "\x1b]11;?\x1b\\", "text \x1b[1m bold \x1b[5n",
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
    fn what_asks_is_left_out_and_nothing_else() {
        for (shown, left) in [
            ("a\x1b[6nb", "ab"),
            ("\x1b[1;31mred\x1b[0m ?", "\x1b[1;31mred\x1b[0m ?"),
            ("\x1b]0;title\x07x", "\x1b]0;title\x07x"),
            ("\x1b]11;?\x07x", "x"),
            ("\x1b]11;?\x1b\\x", "\x1b\\x"),
            ("\x1bP$qm\x1b\\x", "\x1b\\x"),
            ("\u{9b}6nx\u{9b}1mé \u{a0}", "x\u{9b}1mé \u{a0}"),
            ("a\x05b\x1b[\x056n", "ab"),
            ("\x1b\x1b[6n\x1b[K", "\x1b[K"),
            ("line\r\n", "line\r\n"),
        ] {
            assert_eq!(
                String::from_utf8(Queries::default().leave_out(shown.as_bytes())).unwrap(),
                left,
                "{shown:?}"
            );
            // Wherever it is cut.
            let mut queries = Queries::default();
            let pieces = shown.bytes().flat_map(|byte| queries.leave_out(&[byte])).collect();
            assert_eq!(String::from_utf8(pieces).unwrap(), left, "{shown:?}");
            assert!(!Queries::default().feed(left.as_bytes()), "{shown:?}");
        }
        let picture = format!("\x1b]1337;File=:{}\x07after", "A".repeat(LONGEST));
        assert_eq!(Queries::default().leave_out(picture.as_bytes()), b"after");
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
