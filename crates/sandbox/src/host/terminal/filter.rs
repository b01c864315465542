//! What of an agent's output a terminal gets to see: nothing that changes more than the screen, and nothing that the terminal answers
//! or that changes what is typed where it is not the agent who reads that.
//!
//! Terminals do not agree on what a sequence is. So each is withheld until it is over, and passed on only if all of them read it alike.

use std::os::fd::AsFd;

use rustix::termios::InputModes;

use super::display::Display;
use super::modes::Modes;
use super::sequence::{BEL, ESC, LEAD, Meaning, is_palette, meaning, narrowed};

/// How much of a sequence is looked at. A longer one, such as a very large picture, is left out.
const LONGEST: usize = 16 << 20;

/// Whether somebody reads what is typed, and what the terminal answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answers {
    /// The agent does.
    Read,
    /// Nobody does: whoever reads from the terminal next takes them for typed.
    Unread,
}

/// Leaves out of what is shown whatever is not for the screen, wherever the pieces are cut.
#[derive(Clone, Debug, Default)]
pub struct ScreenFilter {
    at: Place,
    /// The sequence or character that has begun.
    begun: Vec<u8>,
    /// How much was shown that asks.
    asked: u32,
    modes: Modes,
    display: Display,
    charset: Charset,
    kind: Kind,
}

/// What the terminal is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Kind {
    #[default]
    Emulator,
    /// The console of Linux.
    Console,
}

/// What a terminal reads.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Charset {
    #[default]
    Utf8,
    /// ISO 8859 or another of single bytes, in which 0x80 to 0x9F are control characters.
    Bytes,
}

/// Where in a text a terminal is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Place {
    /// Plain text.
    #[default]
    Text,
    /// In a character of UTF-8, of which so many bytes are missing.
    Character(u8),
    /// After the first byte of a control character in UTF-8 (U+0080 to U+009F), or of another character.
    Lead,
    /// After ESC.
    Escape,
    /// After ESC and bytes that choose what the next one does.
    Chosen,
    /// In a control sequence (CSI).
    Control,
    /// In a string for the terminal.
    String(Opener),
    /// The same after ESC, which ends it.
    StringEscape,
    /// The same after the first byte of a control character in UTF-8.
    StringLead(Opener),
}

/// What has opened a string.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Opener {
    /// OSC, which BEL ends.
    Command,
    /// DCS, APC, PM, SOS or a title of screen. Some terminals end these at BEL, and others do not.
    Other,
}

/// What becomes of a byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    /// It is shown, whatever has begun.
    Show,
    /// The same, and the terminal answers it.
    Ask,
    /// Nobody gets it: terminals ignore it there, or do not agree on it.
    Drop,
    /// It belongs to what has begun.
    Take,
    /// It ends that.
    End,
    /// It ends that without effect, and is looked at again.
    Abort,
}

impl ScreenFilter {
    /// Makes one for a terminal.
    pub fn of(terminal: impl AsFd) -> Self {
        let kind = if std::env::var_os("TERM").is_some_and(|name| name == "linux") {
            Kind::Console
        } else {
            Kind::Emulator
        };
        Self { charset: Charset::of(terminal), kind, ..Self::default() }
    }

    /// Reads on, and returns what is shown.
    pub fn show(&mut self, output: &[u8], answers: Answers) -> Vec<u8> {
        let mut shown = Vec::with_capacity(output.len());
        for &byte in output {
            if self.charset == Charset::Utf8 || !is_control(byte) {
                self.read(byte, answers, &mut shown);
            }
        }
        shown
    }

    /// Returns how much was shown since the last call that the terminal answers.
    pub(crate) fn take_asked(&mut self) -> u32 {
        std::mem::take(&mut self.asked)
    }

    /// Returns what switches off again whatever has the terminal type more than what is typed, and was switched on and shown.
    pub(crate) fn take_resets(&mut self) -> Vec<u8> {
        self.modes.take_resets()
    }

    /// Returns whether there is anything to be reset before what is written after the agent is shown.
    pub(crate) fn has_changed_display(&self) -> bool {
        self.display != Display::default()
    }

    /// Returns what has the terminal show again what is written after the agent, whatever was shown.
    pub(crate) fn take_display_resets(&mut self) -> Vec<u8> {
        self.display.take_resets()
    }

    fn read(&mut self, byte: u8, answers: Answers, shown: &mut Vec<u8>) {
        loop {
            let before = self.at;
            // No control character of UTF-8 can begin: its second byte is left out.
            if before == Place::Text && self.charset == Charset::Bytes && byte >= 0x80 {
                shown.push(byte);
                return;
            }
            let (next, step) = before.after(byte);
            self.at = next;
            match step {
                Step::Show => {
                    if byte == SO {
                        self.display.note_shift();
                    }
                    shown.push(byte);
                }
                Step::Ask => self.ask(&[byte], answers, shown),
                Step::Drop => {}
                Step::Take => {
                    self.begin(byte);
                    if self.begun.strip_prefix(b"\x1b]").is_some_and(is_palette) {
                        self.at = Place::Text;
                        let palette = std::mem::take(&mut self.begun);
                        // Others than the console would wait for an end, and swallow whatever is shown until then.
                        if self.kind == Kind::Console {
                            self.display.note_console();
                            shown.extend(palette);
                        }
                    }
                }
                Step::End => {
                    self.begin(byte);
                    self.end(answers, shown);
                }
                Step::Abort => {
                    let begun = std::mem::take(&mut self.begun);
                    match before {
                        Place::Character(_) | Place::Lead => shown.extend(without_controls(&begun)),
                        _ => {}
                    }
                    match next {
                        Place::Escape => self.begin(ESC),
                        Place::Lead => self.begin(LEAD),
                        _ => {}
                    }
                    continue;
                }
            }
            return;
        }
    }

    fn begin(&mut self, byte: u8) {
        if self.begun.len() < LONGEST {
            self.begun.push(byte);
        }
    }

    fn end(&mut self, answers: Answers, shown: &mut Vec<u8>) {
        let begun = std::mem::take(&mut self.begun);
        if begun.len() == LONGEST {
            return;
        }
        if begun[0] > LEAD && std::str::from_utf8(&begun).is_err() {
            shown.extend(without_controls(&begun));
            return;
        }
        let begun = narrowed(begun);
        match meaning(&begun) {
            // What is typed is somebody else's, who has switched modes for that.
            Meaning::Keys if answers == Answers::Unread => {}
            Meaning::Silent | Meaning::Keys => {
                self.note(&begun);
                shown.extend_from_slice(&begun);
            }
            Meaning::Asks => self.ask(&begun, answers, shown),
            Meaning::Steers => {}
        }
    }

    fn ask(&mut self, sequence: &[u8], answers: Answers, shown: &mut Vec<u8>) {
        if answers == Answers::Read {
            self.asked = self.asked.saturating_add(1);
            self.note(sequence);
            shown.extend_from_slice(sequence);
        }
    }

    /// Notes what a whole sequence that is shown leaves.
    fn note(&mut self, sequence: &[u8]) {
        self.modes.note(sequence);
        self.display.note(sequence);
    }
}

impl Charset {
    /// Returns that of a terminal: as the terminal says, or else the locale. Of what is no terminal, the locale says it.
    pub fn of(terminal: impl AsFd) -> Self {
        let modes = rustix::termios::tcgetattr(terminal).map(|modes| modes.input_modes);
        let is_utf8 = modes.is_ok_and(|modes| modes.contains(InputModes::IUTF8));
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        Self::said_by(is_utf8, locale.as_deref())
    }

    fn said_by(is_utf8: bool, locale: Option<&str>) -> Self {
        let names_utf8 = |locale: &str| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        };
        if is_utf8 || locale.is_none_or(names_utf8) { Self::Utf8 } else { Self::Bytes }
    }
}

const ENQ: u8 = 0x05;
const SO: u8 = 0x0e;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const DEL: u8 = 0x7f;

/// Returns whether a byte by itself is a control character of ISO 8859.
fn is_control(byte: u8) -> bool {
    (0x80..=0x9f).contains(&byte)
}

/// Returns what is no control character of what is no character.
fn without_controls(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    bytes.iter().copied().filter(|byte| !is_control(*byte))
}

impl Place {
    /// Returns where the terminal is after a byte, and what becomes of that.
    #[expect(clippy::match_same_arms, reason = "a table, one place after the other")]
    fn after(self, byte: u8) -> (Self, Step) {
        match (self, byte) {
            (Self::Text, ESC) => (Self::Escape, Step::Take),
            (Self::Text, LEAD) => (Self::Lead, Step::Take),
            (Self::Text, 0xc3..=0xdf) => (Self::Character(1), Step::Take),
            (Self::Text, 0xe0..=0xef) => (Self::Character(2), Step::Take),
            (Self::Text, 0xf0..=0xf4) => (Self::Character(3), Step::Take),
            // The answerback.
            (Self::Text | Self::Escape | Self::Chosen | Self::Control, ENQ) => (self, Step::Ask),
            // These only end a sequence, which was withheld. After them, some read the beginning of a file, or a command.
            (Self::Text, CAN | SUB) => (Self::Text, Step::Drop),
            (Self::Text, 0x80..=0x9f) => (Self::Text, Step::Drop),
            (Self::Text, _) => (Self::Text, Step::Show),

            (Self::Character(1), 0x80..=0xbf) => (Self::Text, Step::End),
            (Self::Character(left), 0x80..=0xbf) => (Self::Character(left - 1), Step::Take),
            (Self::Character(_), _) => (Self::Text, Step::Abort),

            (Self::Lead, 0x9b) => (Self::Control, Step::Take),
            (Self::Lead, 0x9d) => (Self::String(Opener::Command), Step::Take),
            (Self::Lead, 0x90 | 0x98 | 0x9e | 0x9f) => (Self::String(Opener::Other), Step::Take),
            (Self::Lead, 0x80..=0xbf) => (Self::Text, Step::End),
            (Self::Lead, _) => (Self::Text, Step::Abort),

            (Self::String(_) | Self::StringEscape | Self::StringLead(_), CAN | SUB) => {
                (Self::Text, Step::Abort)
            }
            (Self::String(Opener::Command) | Self::StringLead(Opener::Command), BEL) => {
                (Self::Text, Step::End)
            }
            (Self::String(_) | Self::StringLead(_), ESC) => (Self::StringEscape, Step::Take),
            (Self::String(opener) | Self::StringLead(opener), LEAD) => (Self::StringLead(opener), Step::Take),
            (Self::StringLead(_), 0x9c) | (Self::StringEscape, b'\\') => (Self::Text, Step::End),
            // Another sequence ends it, too, and has begun already.
            (Self::StringEscape, _) => (Self::Escape, Step::Abort),
            (Self::StringLead(_), 0x80..=0x9f) => (Self::Lead, Step::Abort),
            // Some answer it there, too.
            (Self::String(opener) | Self::StringLead(opener), ENQ) => (Self::String(opener), Step::Drop),
            (Self::String(opener) | Self::StringLead(opener), _) => (Self::String(opener), Step::Take),

            (Self::Escape | Self::Chosen | Self::Control, CAN | SUB | ESC | 0x80..) => {
                (Self::Text, Step::Abort)
            }
            // Terminals ignore these in a sequence, and obey other control characters at once.
            (Self::Escape | Self::Chosen | Self::Control, 0 | DEL) => (self, Step::Drop),
            (Self::Escape | Self::Chosen | Self::Control, 0..0x20) => (self, Step::Show),
            (Self::Escape, b'[') => (Self::Control, Step::Take),
            (Self::Escape, b']') => (Self::String(Opener::Command), Step::Take),
            (Self::Escape, b'P' | b'X' | b'^' | b'_' | b'k') => (Self::String(Opener::Other), Step::Take),
            // After these all letters are alike.
            (Self::Escape | Self::Chosen, b' '..=b'/') => (Self::Chosen, Step::Take),
            (Self::Control, b' '..=b'?') => (self, Step::Take),
            (Self::Escape | Self::Chosen | Self::Control, _) => (Self::Text, Step::End),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each terminal that knows it answers.
    const QUESTIONS: &[&str] = &[
        "\x1b[c", "\x1b[>0c", "\x1b[=c", "\x1b[6n", "\x1b[?6n", "\x1b[5n", "\x1b[13t", "\x1b[14;2t",
        "\x1b[18t", "\x1b[?2026$p", "\x1b[20$p", "\x1b[?u", "\x1bZ", "\x05", "\x1b[x", "\x1b[>q", "\x1b[?4m",
        "\x1b[1$w", "\x1b[1;1;1;1;1;1*y", "\x1b[\"v", "\x1b['|", "\x1b[#R", "\x1b[#|", "\x1b[?2;1S",
        "\x1b[?0c", "\x1b[> q", "\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\u{9b}6n", "\u{9a}",
        "\u{90}$qm\u{9c}", "\u{9d}11;?\u{9c}", "\x1b]11;?\x07", "\x1b]11;?\x1b\\", "\x1b]60\x07",
        "\x1b]99;i=a:p=?;\x1b\\", "\x1b]1337;ReportCellSize\x07", "\x1b_Gi=1,a=q;AAAA\x1b\\",
        "\x1b]4;1;?\x07",
        // The focus, the size, the colours and the mouse, also as they were saved.
        "\x1b[?1004h", "\x1b[?2048h", "\x1b[?2031h", "\x1b[?996n", "\x1b[?1003h", "\x1b[?25;1004h",
        "\x1b[?1004r", "\x1b%G", // Other control characters are obeyed or ignored within.
        "\x1b\0[6n", "\x1b[\x7f6n", "\x1b\x7f[6n",
    ];

    /// What changes more than the screen.
    const STEERING: &[&str] = &[
        "\x1b]7;file://host/workspace/a\x07",
        "\x1b]7;file://host/a\x1b\\",
        "\u{9d}7;file://host/a\u{9c}",
        "\x1b]007;file://host/a\x07",
        "\x1b]9;9;/a\x07",
        "\x1b]9;09;/a\x07",
        "\x1b]9;7;calc\x07",
        "\x1b]1337;CurrentDir=/a\x07",
        "\x1b]1337;RemoteHost=a@b\x07",
        "\x1b]1337;SetUserVar=a=Yg==\x07",
        "\x1b]1337;File=name=YQ==:AAAA\x07",
        "\x1b]1337;Copy=:AAAA\x07",
        "\x1b]633;P;Cwd=/a\x07",
        "\x1b]633;E;rm\x07",
        "\x1b]52;c;dGV4dA==\x07",
        "\x1b]52;c;?\x07",
        "\x1b]133;Aclick_events=1\x07",
        "\x1b]133;E;rm\x07",
        "\x1b]133\x07",
        "\x1b]99;i=a:p=alive;\x07",
        "\x1b]99;i=a:p=buttons;yes\x07",
        "\x1b]99;i=a;two\nlines\x07",
        "\x1b]6;file:///a\x07",
        "\x1b]46;/a\x07",
        "\x1b]51;A/a\x07",
        "\x1b]50;Command=sh\x07",
        "\x1b]777;preexec;a\x07",
        "\x1b]3008;start=a;cwd=/a\x07",
        "\x1b]l title\x1b\\",
        "\x1b]+0;title\x07",
        "\x1b]4294967296;title\x07",
        "\x1b]\x07",
        "\x1bP0;1|17/746f7563680a\x1b\\",
        "\x1bPtmux;a\x1b\\",
        "\x1bP1000p\x1b\\",
        "\x1bP@kitty-cmd{}\x1b\\",
        "\u{90}0;1|17/41\u{9c}",
        "\x1b_title\x1b\\",
        "\x1b^message\x1b\\",
        "\x1bXmessage\x1b\\",
        "\x1b_Gt=f,a=q;L2E=\x1b\\",
        "\x1b[5i",
        "\x1b[?5i",
        "\x1b[?38h",
        "\x1b%@",
        "\x1b%/G",
        // The Linux console reads CSI in the middle of a character of a title.
        "\x1b]0;\u{96db}6n\x07",
        // Others end a string at BEL, or obey a control character in it, or ignore it there.
        "\x1bPq\x07\x1b\\",
        "\x1b_Gi=1;\x07\x1b\\",
        "\x1bPq~\t~\x1b\\",
        "\x1bktitle\x07\x1b\\",
        "\x1bP0\nq~\x1b\\",
        "\x1b]9;\09;/a\x07",
        "\x1b]9;\x7f9;/a\x07",
        "\x1b]133;C;cmd\0line=rm\x07",
        "\x1b]0;one\ntwo\x07",
        "\x1b_Gt\r=f,a=q;L2E=\x1b\\",
        "\x1b]1337;File=inline=1\n:AAAA\x07",
        // Which of two values counts is not the same everywhere.
        "\x1b]1337;File=inline=1;inline=0:AAAA\x07",
        "\x1b]1337;File=inline=0;inline=1:AAAA\x07",
        "\x1b]1337;File=inline=1;Inline=0:AAAA\x07",
        "\x1b]1337;MultipartFile=inline=1;inline=0\x07",
        "\x1b]1337;File=inline=1;inline:AAAA\x07",
        "\x1b]1337;File=inline=10:AAAA\x07",
        // The console needs no end of these, and others do.
        "\x1b]R",
        "\x1b]P0123abc",
        // Screen takes the last byte for the beginning of a string or of a control sequence.
        "\x1b(]",
        "\x1b ]",
        "\x1b([",
        "\x1b(P",
        "\x1b#_",
        "\x1b(k",
        "\x1b!x",
        // Konsole begins to receive a file at CAN and `B00`, and Emacs reads a command of its own after SUB.
        "\x18",
        "\x1a",
        // Terminology begins a string for itself there, rxvt answers with a line, Emacs changes the directory, others swallow what comes next.
        "\x1b}",
        "\x1bG",
        "\u{87}",
        "\x1bA",
        "\x1bY",
        "\x1b@",
        "\u{80}",
        "\x1bN",
        "\u{8f}",
        "\x1b{",
        "\x1b~",
        "\x1b6",
        "\x1bl",
        "\x1b&a",
        "\x1b\"C",
        "\x1b#:",
        "\x1b L",
        "\x1b(%5",
        "\x1b$C",
        // VT52, no repetition of keys, a log, other keys for the same, the clipboard, the window at BEL.
        "\x1b[?2l",
        "\x1b[?25;2l",
        "\x1b[?2r",
        "\x1b[?8l",
        "\x1b[?46h",
        "\x1b[?46r",
        "\x1b[?67h",
        "\x1b[?67l",
        "\x1b[?1035l",
        "\x1b[?1036h",
        "\x1b[?1037h",
        "\x1b[?1039h",
        "\x1b[?1041h",
        "\x1b[?1043h",
        "\x1b[?1050h",
        "\x1b[?1051h",
        "\x1b[?1053h",
        "\x1b[?1060h",
        "\x1b[?1061h",
        "\x1b[?1061r",
        "\u{9b}?46h",
        // A locked keyboard, and whatever is typed shown by the terminal itself.
        "\x1b[2h",
        "\x1b[4;2h",
        // Alt as the eighth bit, 8-bit controls for keys, their format, a locator, and whatever is not known.
        "\x1b[?1034h",
        "\x1b[?1034r",
        "\x1b G",
        "\x1b[62\"p",
        "\x1b[>4;1f",
        "\x1b[1;2'z",
        "\x1b[?9999h",
        "\x1b[?9999l",
        "\x1b[?7786h",
        // Some terminals ignore these.
        "\x1b[?1003:0h",
        "\x1b[?1003:0l",
        "\x1b[?25:1003h",
        "\x1b[?;1003h",
        "\x1b[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1003l",
        "\x1b[?000001003l",
        "\u{9b}?1003l",
        "\u{9b}>8u",
        "\u{9b}20h",
        "\x1b[20:0l",
        "\x1b[4:20h",
        "\x1b[=0:2u",
        "\x1b[<99999999999u",
        "\x1b[>4:0m",
        "\x1b[>4;99999999999m",
        // Screen takes the sign for one wherever it stands.
        "\x1b[1003?h",
        "\x1b[1$1h",
        "\x1b[12l",
        // The console of Linux brings another console to the front, blanks the screen, and waits for a key's name.
        "\x1b[12;3]",
        "\x1b[15]",
        "\x1b[9;1]",
        "\x1b[[",
        // The window, and its title as an answer.
        "\x1b[2t",
        "\x1b[3;0;0t",
        "\x1b[8;10;10t",
        "\x1b[9;1t",
        "\x1b[48t",
        "\x1b[t",
        "\x1b[21t",
        "\x1b[22:8t",
        "\x1b[>0t",
        "\x1b[132$|",
        "\x1b[50*|",
        "\x1b[?3h",
        "\x1b[?40h",
        "\x1b[?40r",
        // The bell, and what no program uses.
        "\x1b[1 t",
        "\x1b[1$u",
        "\x1b[2;1y",
        "\x1b[5~",
        "\x1b[=1C",
    ];

    /// What changes the keys or the mouse, and nobody answers it.
    const KEYS: &[&str] = &[
        "\x1b[?2004h", "\x1b[?2004l", "\x1b[?1004l", "\x1b[?1h", "\x1b[?1l", "\x1b[?25;1h", "\x1b[?1r",
        "\x1b[?1006h", "\x1b[?1000;1002;1003;1005;1006;2004l", "\x1b[?7727h", "\x1b[20h", "\x1b[20l",
        "\x1b[>4;2m", "\x1b[>4;m", "\x1b[>1u", "\x1b[<u", "\x1b[=8u", "\x1b=", "\x1b>", "\x1bc", "\x1b[!p",
    ];

    /// What programs show that nobody answers.
    const SHOWN: &[&str] = &[
        "text?",
        "é \u{a0} 雛 \u{85} 😀",
        "\x1b[1;31mred\x1b[0m",
        "\x1b]0;title?\x07",
        "\x1b]2;✳ title\x1b\\",
        "\x1b[2J\x1b[H",
        "c n t",
        "\x1b[u",
        "\x1b[s",
        "\x1b[3S",
        "\x1b[22;0;0t\x1b[23;2t\x1b[2'}\x1b[1+T",
        "\x1b[4 q",
        "\x1b[1;1;5;5$x",
        "\x1b(B\x1b)0\x1b*B\x1b+B\x1b-A\x1b$B\x1b$)C",
        "\x1bD\x1bE\x1bH\x1bg\x1b F\x1b#6\x1b<\x1b\\\u{84}\u{8d}",
        "\x1b7\x1b8",
        "\x1bM",
        "\x1b#8",
        "\x1b]8;;https://example.org/?a=b\x1b\\link\x1b]8;;\x1b\\",
        "\x1b]4;1;#ffffff\x07\x1b]10;red\x07\x1b]11;red\x1b\\",
        "\x1b]133;A\x07",
        "\x1b]133;D;0\x07",
        "\u{9d}133;A;k=s;redraw=0\u{9c}",
        "\x1b]99;;text\x1b\\",
        "\x1b]99;i=a:d=0;title\x1b\\\x1b]99;i=a:d=1:a=focus:p=body;text\x07",
        "\x1b]9;4;1;50\x07",
        "\x1b]9;3 tests passed\x07",
        "\x1b]777;notify;title;text\x07",
        "\x1bPq#0;2;0;0;0#0~~@@\x1b\\",
        "\x1b[38:2::1:2:3m",
        "\x1b[?25l",
        "\x1b[?1049h",
        "\u{9b}?25h\u{9b}1m",
        "\r\n\t\x08\x07",
        "\x1b]1337;File=inline=1:AAAA\x07",
        "\x1b]1337;File=name=YQ==;inline=1;size=4:AA\r\nAA\x07",
        "\x1bPq#0;2;0;0;0\n#0~~@@\r\n-\x1b\\",
        "\x1bktitle\x1b\\",
        "\x1b[2l\x1b[4h\x1b[12h\x1b[?2h\x1b[?8h\x1b[?46l\x1b[?3l\x1b[?40l\x1b[?5W",
        "\x1b[?1045h\x1b[?1047h\x1b[?1048h\x1b[?1070h\x1b[?47h",
    ];

    /// Returns what is shown of an output, wherever it is cut, and how often it asks.
    fn shown(output: &[u8], answers: Answers) -> (Vec<u8>, u32) {
        let mut filter = ScreenFilter::default();
        let whole = filter.show(output, answers);
        let mut other = ScreenFilter::default();
        let pieces: Vec<u8> = output.iter().flat_map(|byte| other.show(&[*byte], answers)).collect();
        assert_eq!(whole, pieces, "{output:?}");
        let asked = filter.take_asked();
        assert_eq!(asked, other.take_asked(), "{output:?}");
        (whole, asked)
    }

    fn left(output: &[u8]) -> String {
        String::from_utf8(shown(output, Answers::Unread).0).unwrap()
    }

    #[test]
    fn questions_are_noticed_and_left_out_where_nobody_reads_the_answers() {
        for question in QUESTIONS {
            let (seen, asked) = shown(question.as_bytes(), Answers::Read);
            // Whatever is obeyed in the middle of a sequence or ignored there.
            let ignored = |byte: &u8| !matches!(byte, 0 | 0x7f);
            assert!(seen.iter().eq(question.as_bytes().iter().filter(|byte| ignored(byte))), "{question:?}");
            assert_eq!(asked, 1, "{question:?}");
            let output = format!("before {question}\x1b[1mafter");
            assert_eq!(left(output.as_bytes()), "before \x1b[1mafter", "{question:?}");
        }
    }

    #[test]
    fn what_changes_more_than_the_screen_is_left_out() {
        for steering in STEERING {
            let output = format!("before {steering}\x1b[1mafter");
            for answers in [Answers::Read, Answers::Unread] {
                let expected = (b"before \x1b[1mafter".to_vec(), 0);
                assert_eq!(shown(output.as_bytes(), answers), expected, "{steering:?}");
            }
        }
    }

    #[test]
    fn what_changes_the_keys_is_for_whoever_reads_them() {
        for keys in KEYS {
            let output = format!("before {keys}\x1b[1mafter");
            assert_eq!(left(output.as_bytes()), "before \x1b[1mafter", "{keys:?}");
            assert_eq!(shown(output.as_bytes(), Answers::Read), (output.clone().into_bytes(), 0));
            let mut filter = ScreenFilter::default();
            filter.show(output.as_bytes(), Answers::Unread);
            assert_eq!(filter.take_resets(), b"", "{keys:?}");
        }
    }

    #[test]
    fn whatever_else_is_shown_stays() {
        for output in SHOWN {
            let output = format!("{output}after");
            assert_eq!(left(output.as_bytes()), output);
            assert_eq!(shown(output.as_bytes(), Answers::Read), (output.clone().into_bytes(), 0));
        }
    }

    #[test]
    fn no_piece_of_a_sequence_makes_another_one() {
        for (output, rest) in [
            ("\x1b\x057", "\x1b7"),
            ("\x1b}qs\0\x1b(0x", "qs\0\x1b(0x"),
            ("\x1b\x1b}x", "x"),
            ("\x1b(\x1bGQ", "Q"),
            ("\x1b[\x051m", "\x1b[1m"),
            ("\x1b[\r6nx", "\rx"),
            ("\x1b[6\n nx", "\nx"),
            ("\x1b]\x18\u{9b}6n\x07", "\x07"),
            ("\x1b]0;a\x1a\x1b[6nb", "b"),
            ("\x1b\x1b[6n\x1b[K", "\x1b[K"),
            ("\x1b[\x1b[6n", ""),
            ("\x1b[\u{a0}6n", "\u{a0}6n"),
            ("\x1b]0;a\x1b[6nb", "b"),
            ("\x1bPtmux;\x1b\x1b]7;file:///a\x07\x1b\\", "\x1b\\"),
            // Some terminals leave a string at any control character of 0x80 to 0x9F, others at none.
            ("\x1b]0;a\u{9b}6n\x07b", "\x07b"),
            ("\x1b]8;;a\u{90}$qm\u{9c}b", "b"),
            ("\x1bPq#0\u{9b}6n\x1b\\b", "\x1b\\b"),
            ("\x1b]0;a\u{9d}7;file:///a\x07b", "b"),
            ("\x1b]0;a\u{85}b\x07c", "\u{85}b\x07c"),
            // Only a command ends at BEL.
            ("\x1bPq\x07a\x1b\\b", "b"),
            ("\x1b_Gi=1;\x07a\u{9c}b", "b"),
            ("\x1b]0;a\x07b", "\x1b]0;a\x07b"),
        ] {
            assert_eq!(left(output.as_bytes()), rest, "{output:?}");
        }
    }

    #[test]
    fn a_control_character_of_one_byte_is_shown_only_in_a_character() {
        for (output, rest) in [
            (&b"\x9b6n"[..], &b"6n"[..]),
            (b"\x90$qm\x9c", b"$qm"),
            (b"\xe9\x9b6n", b"\xe96n"),
            (b"\xe9\x9b\x9b6n", b"\xe9\x9b\x9b6n"),
            // Longer than it has to be: U+009B, and ESC.
            (b"\xe0\x82\x9b6n", b"\xe06n"),
            (b"\xc1\x9b\xc0\x9b[6n", b"\xc1\xc0[6n"),
            (b"\xf0\x80\x82\x9b6n", b"\xf06n"),
            (b"\xf4\x90\x80\x80", b"\xf4"),
            (b"caf\xe9 \xc2 \xfc", b"caf\xe9 \xc2 \xfc"),
            (b"\x1b]0;a\x9cb\x07c", b"c"),
            // No string has begun.
            (b"\x1b(]\x9b6n\x07", b"6n\x07"),
            (b"\x1b ]\x9b6n\x07", b"6n\x07"),
            (b"\x1b(B\x9b6n\x07", b"\x1b(B6n\x07"),
            (b"\x1b]0;caf\xe9\x07c", b"\x1b]0;caf\xe9\x07c"),
        ] {
            assert_eq!(shown(output, Answers::Unread).0, rest, "{output:?}");
            assert_eq!(shown(output, Answers::Read), (rest.to_vec(), 0), "{output:?}");
        }
    }

    #[test]
    fn a_terminal_of_single_bytes_gets_no_control_character_in_a_character_either() {
        let mut filter = ScreenFilter { charset: Charset::Bytes, ..ScreenFilter::default() };
        assert_eq!(filter.show("雛6n\u{9b}6né".as_bytes(), Answers::Read), b"\xe96n\xc26n\xc3\xa9");
        // None of its characters waits for the next byte.
        for (charset, shown) in [(Charset::Bytes, &b"\xe9"[..]), (Charset::Utf8, b"")] {
            let mut filter = ScreenFilter { charset, ..ScreenFilter::default() };
            assert_eq!(filter.show(b"\xe9", Answers::Read), shown, "{charset:?}");
        }
        let mut filter = ScreenFilter { charset: Charset::Bytes, ..ScreenFilter::default() };
        assert_eq!(filter.show(b"\xc2\x9b6n\x1b[\xc2\x9b\xff", Answers::Read), b"\xc26n\xc2\xff");
        for (is_utf8, locale, charset) in [
            (true, Some("C"), Charset::Utf8),
            (false, None, Charset::Utf8),
            (false, Some("de_DE.UTF-8"), Charset::Utf8),
            (false, Some("C.utf8"), Charset::Utf8),
            (false, Some("C"), Charset::Bytes),
            (false, Some("de_DE.ISO-8859-1"), Charset::Bytes),
        ] {
            assert_eq!(Charset::said_by(is_utf8, locale), charset, "{is_utf8} {locale:?}");
        }
    }

    #[test]
    fn a_sequence_may_come_in_pieces_and_between_both_kinds_of_reading() {
        let mut filter = ScreenFilter::default();
        assert_eq!(filter.show(b"x\x1b[", Answers::Read), b"x");
        assert_eq!(filter.show(b"1", Answers::Unread), b"");
        assert_eq!(filter.show(b"m", Answers::Read), b"\x1b[1m");
        assert_eq!(filter.show(b"\x1b[6", Answers::Read), b"");
        assert_eq!(filter.show(b"ny", Answers::Unread), b"y");
        assert_eq!(filter.take_asked(), 0);
    }

    #[test]
    fn the_console_gets_commands_without_an_end() {
        let output = b"\x1b]R\x1b]P0123abctext";
        let mut filter = ScreenFilter { kind: Kind::Console, ..ScreenFilter::default() };
        assert_eq!(filter.show(output, Answers::Unread), output);
        assert_eq!(ScreenFilter::default().show(output, Answers::Unread), b"text");
    }

    #[test]
    fn what_is_typed_at_a_click_or_at_any_later_time_is_left_out_of_a_command() {
        for (output, rest) in [
            ("\x1b]133;A;click_events=1\x07$ ", "\x1b]133;A\x07$ "),
            ("\x1b]133;A;cl=m;aid=3\x1b\\", "\x1b]133;A;aid=3\x1b\\"),
            ("\u{9d}0133;C;k=s;cmdline_url=rm\u{9c}", "\u{9d}0133;C;k=s\u{9c}"),
            ("\x1b]99;i=a:c=1:w=5000;ended\x1b\\", "\x1b]99;i=a:w=5000;ended\x1b\\"),
            ("\x1b]99;a=report;ended\x07", "\x1b]99;;ended\x07"),
        ] {
            for answers in [Answers::Read, Answers::Unread] {
                assert_eq!(shown(output.as_bytes(), answers), (rest.as_bytes().to_vec(), 0), "{output:?}");
            }
        }
    }

    #[test]
    fn each_question_is_counted() {
        for (output, asked) in [("\x1b[6n\x1b[6n\x05", 3), ("\x1b[6n\x1b[1m", 1), ("\x1b[1m", 0)] {
            assert_eq!(shown(output.as_bytes(), Answers::Read).1, asked, "{output:?}");
            assert_eq!(shown(output.as_bytes(), Answers::Unread).1, 0, "{output:?}");
        }
    }

    #[test]
    fn only_what_was_shown_is_switched_off() {
        let mut filter = ScreenFilter::default();
        filter.show(b"\x1b[?1003h\x1b[?2004h", Answers::Unread);
        assert_eq!(filter.take_resets(), b"");
        filter.show(b"\x1b[?1003h", Answers::Read);
        assert_eq!(filter.take_resets(), b"\x1b[?1003l");
    }

    #[test]
    fn a_sequence_has_an_end() {
        let picture = format!("\x1b]1337;File=inline=1:{}\x07after", "A".repeat(LONGEST));
        assert_eq!(ScreenFilter::default().show(picture.as_bytes(), Answers::Read), b"after");
    }
}
