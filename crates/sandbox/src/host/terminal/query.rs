//! Queries: what a terminal answers by itself, as if somebody had typed it.
//!
//! ECMA-48, the control sequences of xterm, and those of others that programs use. What is not known here to be answered by nobody counts as
//! a question.

/// How much of a sequence is looked at. A longer one, such as a large picture, counts as a question.
const LONGEST: usize = 1 << 20;

/// Watches what is shown for questions, wherever the pieces are cut.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    at: Place,
    /// The sequence that has begun.
    begun: Vec<u8>,
    /// How much of it is shown already.
    shown: usize,
}

/// Where in a text a terminal is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Place {
    #[default]
    Text,
    /// After the first byte of a control character in UTF-8 (U+0080 to U+009F), or of another character.
    Lead,
    /// After ESC, and bytes that choose what follows.
    Escape,
    /// In a control sequence (CSI).
    Control,
    /// In a string for the terminal (DCS, OSC, APC, PM, SOS).
    String,
    /// The same after ESC, which ends it.
    StringEscape,
    /// The same after the first byte of a control character in UTF-8.
    StringLead,
}

/// What becomes of a byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    /// It is shown, whatever has begun.
    Show,
    /// Nobody gets it: terminals ignore it there, or answer it.
    Drop,
    /// It belongs to the sequence that has begun.
    Take,
    /// It ends that.
    End,
    /// It ends that without effect, and is looked at again.
    Abort,
}

impl Queries {
    /// Reads on what is shown in any case; whether something in it asks.
    pub(crate) fn feed(&mut self, shown: &[u8]) -> bool {
        let mut asked = false;
        self.read(shown, &mut |_, has_asked| asked |= has_asked);
        self.shown = self.begun.len();
        asked
    }

    /// Reads on, and leaves out whatever asks: where nobody reads the answers, whoever reads from the terminal next takes them for
    /// typed.
    pub fn leave_out(&mut self, shown: &[u8]) -> Vec<u8> {
        let mut rest = Vec::with_capacity(shown.len());
        self.read(shown, &mut |bytes, has_asked| {
            if !has_asked {
                rest.extend_from_slice(bytes);
            }
        });
        rest
    }

    /// Returns what was withheld.
    pub(crate) fn take_withheld(&mut self) -> Vec<u8> {
        let withheld = self.begun.get(self.shown..).unwrap_or_default().to_vec();
        self.shown = self.begun.len();
        withheld
    }

    /// Reads on. Gives each piece that is over, with whether it asks.
    fn read(&mut self, shown: &[u8], piece: &mut dyn FnMut(&[u8], bool)) {
        for &byte in shown {
            let (next, step) = self.at.after(byte);
            self.at = next;
            match step {
                Step::Show => piece(&[byte], false),
                Step::Drop if byte == ENQ => piece(&[byte], true),
                Step::Drop => {}
                Step::Take => self.begin(byte),
                Step::End => {
                    self.begin(byte);
                    self.end(piece);
                }
                Step::Abort => {
                    self.abort(piece);
                    if self.at == Place::Escape {
                        self.begin(ESC);
                    }
                    let (next, step) = self.at.after(byte);
                    self.at = next;
                    match step {
                        Step::Take => self.begin(byte),
                        Step::Show => piece(&[byte], false),
                        Step::End => {
                            self.begin(byte);
                            self.end(piece);
                        }
                        // It aborts that again, or is nothing.
                        Step::Abort => self.abort(piece),
                        Step::Drop => {}
                    }
                }
            }
        }
    }

    fn begin(&mut self, byte: u8) {
        if self.begun.len() < LONGEST {
            self.begun.push(byte);
        }
    }

    fn end(&mut self, piece: &mut dyn FnMut(&[u8], bool)) {
        let begun = std::mem::take(&mut self.begun);
        let shown = std::mem::take(&mut self.shown);
        let asks = begun.len() == LONGEST || !is_silent(&begun);
        piece(&begun[shown..], asks);
        if asks && shown > 0 {
            // What is shown of it is taken back.
            piece(&[CAN], false);
        }
    }

    /// Forgets what has begun: no terminal does anything about it.
    fn abort(&mut self, piece: &mut dyn FnMut(&[u8], bool)) {
        let (begun, shown) = (std::mem::take(&mut self.begun), std::mem::take(&mut self.shown));
        piece(&begun[shown..], true);
        if shown > 0 {
            piece(&[CAN], false);
        }
    }
}

const ENQ: u8 = 0x05;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;
const DEL: u8 = 0x7f;
/// The first byte of U+0080 to U+00BF.
const LEAD: u8 = 0xc2;

impl Place {
    /// Returns where the terminal is after a byte, and what becomes of that.
    #[expect(clippy::match_same_arms, reason = "a table, one place after the other")]
    fn after(self, byte: u8) -> (Self, Step) {
        match (self, byte) {
            // The answerback.
            (_, ENQ) => (self, Step::Drop),
            (Self::Text, ESC) => (Self::Escape, Step::Take),
            (Self::Text, LEAD) => (Self::Lead, Step::Take),
            (Self::Text, _) => (Self::Text, Step::Show),

            (Self::Lead, 0x9b) => (Self::Control, Step::Take),
            (Self::Lead, 0x90 | 0x98 | 0x9d | 0x9e | 0x9f) => (Self::String, Step::Take),
            (Self::Lead, 0x80..=0xbf) => (Self::Text, Step::End),
            (Self::Lead, _) => (Self::Text, Step::Abort),

            (Self::String | Self::StringEscape | Self::StringLead, CAN | SUB) => (Self::Text, Step::Abort),
            (Self::String, BEL) => (Self::Text, Step::End),
            (Self::String, ESC) => (Self::StringEscape, Step::Take),
            (Self::String | Self::StringLead, LEAD) => (Self::StringLead, Step::Take),
            (Self::StringLead, 0x9c) | (Self::StringEscape, b'\\') => (Self::Text, Step::End),
            (Self::StringLead, ESC) => (Self::StringEscape, Step::Take),
            (Self::StringLead, BEL) => (Self::Text, Step::End),
            // Another sequence ends it, too, and has begun already.
            (Self::StringEscape, _) => (Self::Escape, Step::Abort),
            (Self::String | Self::StringLead, _) => (Self::String, Step::Take),

            (Self::Escape | Self::Control, CAN | SUB | ESC | 0x80..) => (Self::Text, Step::Abort),
            // Terminals ignore these in a sequence, and obey other control characters at once.
            (Self::Escape | Self::Control, 0 | DEL) => (self, Step::Drop),
            (Self::Escape | Self::Control, 0..0x20) => (self, Step::Show),
            (Self::Escape, b'[') => (Self::Control, Step::Take),
            (Self::Escape, b'P' | b'X' | b']' | b'^' | b'_') => (Self::String, Step::Take),
            (Self::Escape, b' '..=b'/') | (Self::Control, b' '..=b'?') => (self, Step::Take),
            (Self::Escape | Self::Control, _) => (Self::Text, Step::End),
        }
    }
}

/// Returns whether no terminal answers a whole sequence.
fn is_silent(sequence: &[u8]) -> bool {
    // U+0090 and its like stand for ESC and a letter.
    let (kind, rest) = match sequence {
        [ESC, kind, rest @ ..] => (*kind, rest),
        [LEAD, control @ 0x80..=0x9f, rest @ ..] => (control - 0x40, rest),
        // Another character.
        _ => return true,
    };
    match kind {
        b'[' => is_silent_control(rest),
        b']' => is_silent_command(until_end(rest)),
        // A picture (sixel): numbers, and the letter that begins it.
        b'P' => {
            let begins = rest.iter().find(|byte| !matches!(byte, b'0'..=b'9' | b';'));
            begins == Some(&b'q')
        }
        // Graphics, and what is for others; DECID. And 8-bit controls would be another language.
        b'X' | b'^' | b'_' | b'Z' => false,
        b' ' => rest != b"G",
        _ => true,
    }
}

/// Returns whether nobody answers a control sequence, without its beginning.
fn is_silent_control(sequence: &[u8]) -> bool {
    let Some((last, before)) = sequence.split_last() else { return false };
    let at = before.iter().position(|byte| (b' '..=b'/').contains(byte)).unwrap_or(before.len());
    let (parameters, between) = before.split_at(at);
    let (private, numbers) = match parameters {
        [private @ b'<'..=b'?', numbers @ ..] => (Some(*private), numbers),
        numbers => (None, numbers),
    };
    let first = || std::str::from_utf8(numbers).ok()?.split([';', ':']).next()?.parse::<u32>().ok();
    match (private, between, *last) {
        // Reports on the window and its titles.
        (None, b"", b't') => first().is_some_and(|operation| !(11..=21).contains(&operation)),
        // All others without anything that asks for attributes, states and parameters, or prints.
        (None, b"", last) => {
            matches!(last, b'@'..=b'M' | b'P' | b'S' | b'T' | b'X' | b'Z' | b'`' | b'a' | b'b' | b'd'..=b'h' | b'l' | b'm' | b'q'..=b's' | b'u')
        }
        (Some(b'?'), b"", last) => matches!(last, b'h' | b'l' | b'J' | b'K' | b'r' | b's'),
        (Some(b'>'), b"", last) => matches!(last, b'm' | b'n' | b'p' | b's' | b't' | b'u'),
        (Some(b'<' | b'='), b"", last) => last == b'u',
        // Rectangles, pages and scrolling; the cursor; resets; protection; colours on a stack.
        (None, b"$", last) => matches!(last, b'r' | b't' | b'v' | b'x' | b'z' | b'{' | b'|' | b'}' | b'~'),
        (None, b" ", last) => matches!(last, b'@' | b'A' | b'q' | b't' | b'u'),
        (None, b"!", last) => last == b'p',
        (None, b"\"", last) => matches!(last, b'p' | b'q'),
        (None, b"*", last) => matches!(last, b'x' | b'|'),
        (None, b"#", last) => matches!(last, b'p' | b'q' | b'{' | b'}' | b'P' | b'Q'),
        _ => false,
    }
}

/// Returns whether nobody answers a command to the operating system (OSC).
fn is_silent_command(text: &[u8]) -> bool {
    let (number, text) = match text.iter().position(|byte| *byte == b';') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b""[..]),
    };
    let Ok(number) = std::str::from_utf8(number).unwrap_or_default().parse::<u32>() else { return false };
    match number {
        // Titles, directories, links, notifications and marks, in which a question mark is one.
        0..=2 | 7..=9 | 133 | 633 | 777 => true,
        // Colours, shapes, fonts and the clipboard, for which a question mark asks.
        4 | 5 | 10..=19 | 22 | 50 | 52 | 104 | 105 | 106 | 110..=119 => !text.contains(&b'?'),
        // Of iTerm2, of which others ask.
        1337 => {
            let settings: [&[u8]; 7] = [
                b"File=", b"SetMark", b"CurrentDir=", b"RemoteHost=", b"SetUserVar=", b"CursorShape=",
                b"ShellIntegrationVersion=",
            ];
            settings.iter().any(|setting| text.starts_with(setting))
        }
        _ => false,
    }
}

/// Returns a string without what ends it.
fn until_end(string: &[u8]) -> &[u8] {
    let ends: [&[u8]; 3] = [&[BEL], &[ESC, b'\\'], &[LEAD, 0x9c]];
    ends.iter().find_map(|end| string.strip_suffix(*end)).unwrap_or(string)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each terminal that knows it answers.
    const QUESTIONS: &[&str] = &[
        "\x1b[c", "\x1b[>0c", "\x1b[=c", "\x1b[6n", "\x1b[?6n", "\x1b[5n", "\x1b[21t", "\x1b[14;2t",
        "\x1b[t", "\x1b[?2026$p", "\x1b[20$p", "\x1b[?u", "\x1bZ", "\x05", "\x1b[x", "\x1b[>q", "\x1b[?4m",
        "\x1b[1$w", "\x1b[1;1;1;1;1;1*y", "\x1b[\"v", "\x1b['|", "\x1b[#R", "\x1b[#|", "\x1b[?2;1S",
        "\x1b[5i", "\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\u{9b}6n", "\u{9a}", "\u{90}$qm\u{9c}",
        "\u{9d}11;?\u{9c}", "\x1b]11;?\x07", "\x1b]11;?\x1b\\", "\x1b]52;c;?\x07", "\x1b]60\x07",
        "\x1b]1337;ReportCellSize\x07", "\x1b_Gi=1,a=q;AAAA\x1b\\", "\x1b]4;1;?\x07",
        // Other control characters are obeyed or ignored within.
        "\x1b\0[6n", "\x1b[\x7f6n", "\x1b\x7f[6n",
    ];

    /// What programs show that nobody answers.
    const SHOWN: &[&str] = &[
        "text?",
        "é \u{a0} 雛 \u{85}",
        "\x1b[1;31mred\x1b[0m",
        "\x1b]0;title?\x07",
        "\x1b]2;t\x1b\\",
        "\x1b[?2004h",
        "\x1b[2J\x1b[H",
        "c n t",
        "\x1b[u",
        "\x1b[s",
        "\x1b[3S",
        "\x1b[!p",
        "\x1b[22;0;0t",
        "\x1b[>1u",
        "\x1b[<u",
        "\x1b[4 q",
        "\x1b[1;1;5;5$x",
        "\x1b(B\x1b)0",
        "\x1b7\x1b8",
        "\x1b=",
        "\x1b>",
        "\x1bM",
        "\x1bc",
        "\x1b#8",
        "\x1b]8;;https://example.org/?a=b\x1b\\link\x1b]8;;\x1b\\",
        "\x1b]52;c;dGV4dA==\x07",
        "\x1b]133;A\x07",
        "\x1b]9;4;1;50\x07",
        "\x1bPq#0;2;0;0;0#0~~@@\x1b\\",
        "\x1b[38:2::1:2:3m",
        "\x1b[?25l",
        "\x1b[>4;2m",
        "\r\n\t\x08\x07",
        "\x1b]1337;File=inline=1:AAAA\x07",
    ];

    fn left(shown: &str) -> String {
        let whole = Queries::default().leave_out(shown.as_bytes());
        // Wherever it is cut.
        let mut queries = Queries::default();
        let pieces: Vec<u8> = shown.bytes().flat_map(|byte| queries.leave_out(&[byte])).collect();
        assert_eq!(whole, pieces, "{shown:?}");
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn questions_are_noticed_and_left_out() {
        for question in QUESTIONS {
            assert!(Queries::default().feed(question.as_bytes()), "{question:?}");
            let shown = format!("before {question}\x1b[1mafter");
            assert_eq!(left(&shown), "before \x1b[1mafter", "{question:?}");
        }
    }

    #[test]
    fn whatever_else_is_shown_stays() {
        for shown in SHOWN {
            assert!(!Queries::default().feed(shown.as_bytes()), "{shown:?}");
            assert_eq!(left(&format!("{shown}after")), format!("{shown}after"));
        }
    }

    #[test]
    fn no_piece_of_a_sequence_makes_another_one() {
        for (shown, rest) in [
            ("\x1b\x05x", "\x1bx"),
            ("\x1b[\x051m", "\x1b[1m"),
            ("\x1b[\r6nx", "\rx"),
            ("\x1b[6\n nx", "\nx"),
            ("\x1b]\x18\u{9b}6n\x07", "\x18\x07"),
            ("\x1b]0;a\x1a\x1b[6nb", "\x1ab"),
            ("\x1b\x1b[6n\x1b[K", "\x1b[K"),
            ("\x1b[\x1b[6n", ""),
            ("\x1b[\u{a0}6n", "\u{a0}6n"),
            ("\x1b]0;a\x1b[6nb", "b"),
        ] {
            assert_eq!(left(shown), rest, "{shown:?}");
        }
    }

    #[test]
    fn a_question_may_come_in_pieces_and_between_both_kinds_of_reading() {
        let mut queries = Queries::default();
        assert!(!queries.feed(b"\x1b"));
        assert!(!queries.feed(b"[>"));
        assert!(queries.feed(b"c"));
        assert!(!queries.feed(b"c"));
        assert_eq!(queries.leave_out(b"x\x1b[1"), b"x");
        assert_eq!(queries.take_withheld(), b"\x1b[1");
        assert!(!queries.feed(b"m"));
        assert!(!queries.feed(b"\x1b[6"));
        // What is shown of it already is taken back.
        assert_eq!(queries.leave_out(b"ny"), [CAN, b'y']);
    }

    #[test]
    fn a_sequence_has_an_end() {
        let picture = format!("\x1b]1337;File=:{}\x07after", "A".repeat(LONGEST));
        assert_eq!(Queries::default().leave_out(picture.as_bytes()), b"after");
    }
}
