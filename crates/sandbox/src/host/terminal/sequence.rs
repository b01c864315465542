//! What a whole control sequence of a terminal does: ECMA-48, the control sequences of xterm, and those of others that programs use.

use std::ops::RangeInclusive;

use super::fields;

/// What a terminal does about a sequence.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Meaning {
    /// It changes the screen, or nothing.
    Silent,
    /// It changes what keys are written as, or the mouse. That is for whoever reads them.
    Keys,
    /// The terminal answers as if somebody had typed it.
    Asks,
    /// It changes what is beyond the screen: the directory of the next tab, the clipboard, the keys, the printer, a program of the terminal's
    /// own. What is not known here to stay on the screen counts.
    Steers,
}

pub(super) const BEL: u8 = 0x07;
pub(super) const ESC: u8 = 0x1b;
/// The first byte of U+0080 to U+00BF.
pub(super) const LEAD: u8 = 0xc2;

/// Private modes of the screen.
const OF_SCREEN: &[RangeInclusive<u32>] = &[
    2..=8,
    10..=10,
    12..=14,
    18..=19,
    25..=25,
    30..=30,
    38..=38,
    40..=47,
    69..=69,
    80..=80,
    95..=95,
    1007..=1007,
    1010..=1011,
    1014..=1014,
    1040..=1040,
    1045..=1049,
    1070..=1070,
    2026..=2027,
    8452..=8452,
];

/// Private modes that change what keys, the mouse and pasted text are written as: cursor keys and a keypad for applications, coordinates,
/// brackets and quotes, Escape (mintty).
const OF_KEYS: &[RangeInclusive<u32>] =
    &[1..=1, 66..=66, 68..=68, 1005..=1006, 1015..=1016, 2004..=2006, 7727..=7728];

/// Private modes that have the terminal type by itself: the mouse, the focus, the size, the colours, what is pasted, and keys as Windows
/// writes them.
const REPORTING: &[RangeInclusive<u32>] =
    &[9..=9, 1000..=1004, 2001..=2003, 2031..=2031, 2048..=2048, 5522..=5522, 9001..=9001];

/// How long the parameters of what changes the keys may be: some terminals take 16 numbers, and others 63 bytes.
const MOST_PARAMETERS: usize = 32;

/// How long each of them may be.
const MOST_DIGITS: usize = 5;

/// Returns what a terminal does about a whole sequence.
pub(super) fn meaning(sequence: &[u8]) -> Meaning {
    // U+0090 and its like stand for ESC and a letter.
    let (kind, rest) = match sequence {
        [ESC, kind, rest @ ..] => (*kind, rest),
        [LEAD, control @ 0x80..=0x9f, rest @ ..] => (control - 0x40, rest),
        // A character.
        _ => return Meaning::Silent,
    };
    match kind {
        b'[' => control(rest, sequence[0] == ESC),
        b']' | b'P' | b'_' | b'k' if is_read_otherwise(kind, until_end(rest)) => Meaning::Steers,
        // Screen does not end at the last byte: it begins a string or a control sequence there, as after ESC alone.
        b' '..=b'/' if matches!(rest, [.., b'[' | b']' | b'P' | b'X' | b'^' | b'_' | b'k']) => {
            Meaning::Steers
        }
        b']' => command(until_end(rest)),
        b'P' => device_control(until_end(rest)),
        b'_' => application_command(rest),
        b'k' => Meaning::Silent,
        // Messages of screen, and what is for others.
        b'X' | b'^' => Meaning::Steers,
        _ => escape(kind, rest),
    }
}

/// Returns what ESC and what follows it does, where that begins nothing longer: what ECMA-35 and ECMA-48 have and programs use, and the
/// bell of screen. Others begin a string in one terminal (`ESC }` in Terminology, `ESC A` in Emacs), swallow what comes next in another,
/// and are answered by a third (`ESC G` in rxvt).
fn escape(kind: u8, rest: &[u8]) -> Meaning {
    match (kind, rest) {
        // All as it was at first (RIS), and the keypad.
        (b'c' | b'=' | b'>', []) => Meaning::Keys,
        // DECID. And UTF-8 may be another language.
        (b'Z', []) | (b'%', b"G") => Meaning::Asks,
        _ if is_of_screen(kind, rest) => Meaning::Silent,
        _ => Meaning::Steers,
    }
}

/// Returns whether ESC and what follows it changes the screen alone.
fn is_of_screen(kind: u8, rest: &[u8]) -> bool {
    let chooses_set = |byte: u8| matches!(byte, b'('..=b'+' | b'-'..=b'/');
    match (kind, rest) {
        // The cursor, lines, a tab stop, the end of a VT52 and of a string, and what flashes in screen.
        (_, []) => matches!(kind, b'7' | b'8' | b'D' | b'E' | b'M' | b'H' | b'<' | b'\\' | b'g'),
        // Controls of seven bits.
        (b' ', _) => rest == b"F",
        // The size of a line, and a screen full of `E`.
        (b'#', [size]) => matches!(size, b'3'..=b'6' | b'8'),
        // A set of characters of more bytes, and of one.
        (b'$', [set]) => matches!(set, b'@' | b'A' | b'B'),
        (b'$', [place, _]) => chooses_set(*place),
        (_, [_]) => chooses_set(kind),
        _ => false,
    }
}

/// Returns what is shown of a sequence in its place: a mark of a prompt, or a notification, has fields that are left out.
pub(super) fn narrowed(sequence: Vec<u8>) -> Vec<u8> {
    let text = until_end(&sequence);
    let ([ESC, b']', string @ ..] | [LEAD, 0x9d, string @ ..]) = text else { return sequence };
    let (first, fields) = first_field(string, b';');
    let kept = match number(first) {
        Some(MARK) => fields::mark(fields),
        Some(NOTIFICATION) => fields::notification(fields),
        _ => None,
    };
    match kept {
        Some(kept) if kept != fields && !is_read_otherwise(b']', string) => {
            let (before, end) = (text.len() - fields.len(), &sequence[text.len()..]);
            [&sequence[..before], &kept, end].concat()
        }
        _ => sequence,
    }
}

/// Returns whether some terminals find another sequence in a string, or another string: the Linux console reads CSI in the middle of a
/// character, and others the control characters of ISO 8859 where there is no character. Those of ASCII are ignored by some, and others
/// obey them, end the string there, or keep them; only between the lines of a picture all ignore them.
fn is_read_otherwise(kind: u8, string: &[u8]) -> bool {
    let has_controls = || string.iter().any(|byte| (0x80..=0x9f).contains(byte));
    if string.contains(&0x9b) || std::str::from_utf8(string).is_err() && has_controls() {
        return true;
    }
    let picture = match kind {
        b'P' => device_function(string),
        b']' if string.starts_with(b"1337;File=") => string.iter().position(|byte| *byte == b':'),
        _ => None,
    };
    let (command, picture) = string.split_at(picture.unwrap_or(string.len()));
    let without_lines = picture.iter().filter(|byte| !matches!(byte, b'\r' | b'\n'));
    command.iter().chain(without_lines).any(u8::is_ascii_control)
}

/// The parts of a control sequence, without its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control<'a> {
    pub(super) private: Option<u8>,
    numbers: &'a [u8],
    between: &'a [u8],
    pub(super) last: u8,
}

impl<'a> Control<'a> {
    /// Parses one, of a whole sequence.
    pub(super) fn of(sequence: &'a [u8]) -> Option<Self> {
        match sequence {
            [ESC, b'[', rest @ ..] | [LEAD, 0x9b, rest @ ..] => Self::parse(rest),
            _ => None,
        }
    }

    fn parse(rest: &'a [u8]) -> Option<Self> {
        let (last, before) = rest.split_last()?;
        let at = before.iter().position(|byte| (b' '..=b'/').contains(byte)).unwrap_or(before.len());
        let (parameters, between) = before.split_at(at);
        let (private, numbers) = match parameters {
            [private @ b'<'..=b'?', numbers @ ..] => (Some(*private), numbers),
            numbers => (None, numbers),
        };
        Some(Self { private, numbers, between, last: *last })
    }

    /// Lists its parameters; `None` for what is no number.
    pub(super) fn numbers(self) -> impl Iterator<Item = Option<u32>> + 'a {
        self.numbers.split(|byte| matches!(byte, b';' | b':')).map(number)
    }

    /// Returns whether nothing stands between the parameters and the last byte.
    pub(super) fn is_plain(self) -> bool {
        self.between.is_empty()
    }

    /// Returns whether this stands between the parameters and the last byte.
    pub(super) fn has_between(self, between: &[u8]) -> bool {
        self.between == between
    }

    /// Returns whether it makes much of a terminal as it was at first (DECSTR).
    pub(super) fn is_soft_reset(self) -> bool {
        self.between == b"!" && self.last == b'p'
    }

    /// Returns whether it has the form of a control sequence. GNU Screen takes a private one for such wherever its sign stands.
    fn is_well_formed(self) -> bool {
        self.numbers.iter().all(|byte| matches!(byte, b'0'..=b';'))
            && self.between.iter().all(|byte| (b' '..=b'/').contains(byte))
    }

    /// Returns whether all terminals that know it read the same numbers: some ignore those with a colon, or more than a few of them.
    pub(super) fn is_read_alike(self) -> bool {
        self.numbers.len() <= MOST_PARAMETERS
            && self
                .numbers
                .split(|byte| *byte == b';')
                .all(|number| number.len() <= MOST_DIGITS && number.iter().all(u8::is_ascii_digit))
    }

    /// Returns whether it changes what keys are written as, or the mouse.
    fn is_of_keys(self) -> bool {
        let mut numbers = self.numbers().flatten();
        match (self.private, self.last) {
            _ if !self.is_plain() => false,
            (Some(b'?'), b'h' | b'l' | b'r') => numbers.any(is_of_keys),
            // LNM.
            (None, b'h' | b'l') => numbers.any(|mode| mode == LNM),
            (Some(b'>'), b'm' | b'n' | b'u') | (Some(b'<' | b'='), b'u') => true,
            _ => false,
        }
    }
}

/// A mode that is not private: Enter types a line feed, too.
pub(super) const LNM: u32 = 20;

/// Returns whether a private mode changes what is typed, or has the terminal type.
pub(super) fn is_of_keys(mode: u32) -> bool {
    is_one(OF_KEYS, mode) || is_one(REPORTING, mode)
}

fn is_one(modes: &[RangeInclusive<u32>], mode: u32) -> bool {
    modes.iter().any(|modes| modes.contains(&mode))
}

/// Returns what a control sequence does, without its beginning: ESC and a bracket, or one character, which some terminals do not know.
fn control(sequence: &[u8], by_escape: bool) -> Meaning {
    let Some(control) = Control::parse(sequence) else { return Meaning::Steers };
    match (control.private, control.between, control.last) {
        _ if !control.is_well_formed() || switches_more(control) => Meaning::Steers,
        // What one terminal switches off has to be off in all of them.
        _ if control.is_of_keys() && !(by_escape && control.is_read_alike()) => Meaning::Steers,
        (None, b"", b't') => of_window(control),
        _ if is_question(control) => Meaning::Asks,
        // Among them are the printer, 8-bit controls for keys, the format of keys, the locator, and the consoles of Linux.
        _ if !is_silent(control) => Meaning::Steers,
        _ if control.is_of_keys() || control.is_soft_reset() => Meaning::Keys,
        _ => Meaning::Silent,
    }
}

/// Returns whether a control sequence switches something beyond the screen that is not switched off again at the end.
fn switches_more(control: Control<'_>) -> bool {
    control.numbers().any(|mode| match (control.private, mode) {
        // A locked keyboard.
        (None, Some(2)) => control.last == b'h',
        // The terminal itself shows what is typed.
        (None, Some(12)) => control.last == b'l',
        // A VT52, which reads other sequences, and keys that repeat nothing.
        (Some(b'?'), Some(2 | 8)) => matches!(control.last, b'l' | b'r'),
        // A window of another size, and whether it may get that; one of another kind, which reads other sequences (xterm's Tektronix);
        // and a log in a file.
        (Some(b'?'), Some(3 | 40 | 38 | 46)) => matches!(control.last, b'h' | b'r'),
        // What is not known, and what is no number: among them are backspace, Alt and other modifiers, other keyboards, the clipboard,
        // and the window at BEL.
        (Some(b'?'), mode) if control.is_plain() && matches!(control.last, b'h' | b'l' | b'r') => {
            !mode.is_some_and(|mode| is_one(OF_SCREEN, mode) || is_of_keys(mode))
        }
        _ => false,
    })
}

/// Returns what an operation on the window does: the last title comes back, and what programs ask is its state, place and size. Others
/// move it, change its size or hide it, and have it type its title, which may be any text.
fn of_window(control: Control<'_>) -> Meaning {
    match control.numbers().next().flatten() {
        _ if !control.is_read_alike() => Meaning::Steers,
        Some(22 | 23) => Meaning::Silent,
        Some(11 | 13..=16 | 18 | 19) => Meaning::Asks,
        _ => Meaning::Steers,
    }
}

/// Returns whether a control sequence is a question, or has the terminal type by itself.
fn is_question(control: Control<'_>) -> bool {
    match (control.private, control.between, control.last) {
        (Some(b'?'), b"", b'h' | b'r') => control.numbers().flatten().any(|mode| is_one(REPORTING, mode)),
        // What it is, its state, its parameters; keys, pictures and the keyboard. The console of Linux shows another cursor at `CSI ? c`.
        (None, b"", last) => matches!(last, b'c' | b'n' | b'x'),
        (Some(b'?'), b"", last) => matches!(last, b'c' | b'm' | b'n' | b'u' | b'S'),
        (Some(b'>'), b"", last) => matches!(last, b'c' | b'q'),
        (Some(b'='), b"", last) => last == b'c',
        // Modes, tab stops, what is displayed, the locator, a sum, colours, and more cursors (kitty).
        (None, b"$", last) => matches!(last, b'p' | b'w'),
        (Some(b'?'), b"$", last) => last == b'p',
        (None, b"\"", last) => last == b'v',
        (None, b"'", last) => last == b'|',
        (None, b"*", last) => last == b'y',
        (None, b"#", last) => matches!(last, b'R' | b'S' | b'|'),
        (Some(b'>'), b" ", last) => last == b'q',
        _ => false,
    }
}

/// Returns whether nobody answers a control sequence, which changes the screen alone, or the keys.
fn is_silent(control: Control<'_>) -> bool {
    match (control.private, control.between, control.last) {
        (None, b"", last) => {
            matches!(last, b'@'..=b'M' | b'P' | b'S' | b'T' | b'X' | b'Z' | b'`' | b'a' | b'b' | b'd'..=b'h' | b'l' | b'm' | b'q'..=b's' | b'u')
        }
        (Some(b'?'), b"", last) => matches!(last, b'J' | b'K' | b'W' | b'h' | b'l' | b'r' | b's'),
        (Some(b'>'), b"", last) => matches!(last, b'm' | b'n' | b'p' | b's' | b'u'),
        (Some(b'<' | b'='), b"", last) => last == b'u',
        // Rectangles, pages and scrolling; the cursor; columns; lines that come back (kitty); resets; protection; colours on a stack.
        (None, b"$", last) => matches!(last, b'r' | b't' | b'v' | b'x' | b'z' | b'{' | b'}' | b'~'),
        (None, b" ", last) => matches!(last, b'@' | b'A' | b'q'),
        (None, b"'", last) => matches!(last, b'}' | b'~'),
        (None, b"+", last) => last == b'T',
        (None, b"!", last) => last == b'p',
        (None, b"\"", last) => last == b'q',
        (None, b"*", last) => last == b'x',
        (None, b"#", last) => matches!(last, b'p' | b'q' | b'{' | b'}' | b'P' | b'Q'),
        _ => false,
    }
}

/// The number of a mark of a prompt.
const MARK: u32 = 133;

/// That of a notification of kitty's.
const NOTIFICATION: u32 = 99;

/// Returns what a command to the operating system (OSC) does.
fn command(text: &[u8]) -> Meaning {
    let (first, text) = first_field(text, b';');
    let Some(command) = number(first) else { return Meaning::Steers };
    let asks = |asks: bool| if asks { Meaning::Asks } else { Meaning::Silent };
    let steers = |steers: bool| if steers { Meaning::Steers } else { Meaning::Silent };
    match command {
        // Titles, links, sizes of text, colours on a stack; a question mark in them is one.
        0..=2 | 8 | 66 | 30001 | 30101 => Meaning::Silent,
        // Colours and the shape of the pointer, for which a question mark asks.
        4 | 5 | 10..=19 | 21 | 22 | 104 | 105 | 106 | 110..=119 => asks(text.contains(&b'?')),
        // A notification, or the progress. What else begins with a number is of ConEmu, and names directories and programs.
        9 => {
            let first = first_field(text, b';').0;
            steers(first != b"4" && !first.is_empty() && first.iter().all(u8::is_ascii_digit))
        }
        777 => steers(!text.starts_with(b"notify;")),
        60 | 61 => Meaning::Asks,
        NOTIFICATION if fields::notification(text).as_deref() == Some(text) => {
            asks(fields::is_question(text))
        }
        MARK => steers(fields::mark(text).as_deref() != Some(text)),
        50 if text.starts_with(b"?") => Meaning::Asks,
        50 => steers(!text.starts_with(b"CursorShape=")),
        1337 => of_iterm(text),
        // The directory (7, 633, 3008), a document (6), properties (3), a log (46), Emacs and Vim (51), the clipboard (52) …
        _ => Meaning::Steers,
    }
}

/// Returns what a command of iTerm2 does.
fn of_iterm(text: &[u8]) -> Meaning {
    let (name, value) = first_field(text, b'=');
    match name {
        // What is not shown is stored.
        b"File" | b"MultipartFile" => {
            let arguments = first_field(value, b':').0.split(|byte| *byte == b';');
            let is_of_place =
                |one: &&[u8]| first_field(one, b'=').0.trim_ascii().eq_ignore_ascii_case(b"inline");
            // Terminals do not agree on which of several counts.
            if arguments.filter(is_of_place).eq([b"inline=1"]) { Meaning::Silent } else { Meaning::Steers }
        }
        b"FilePart"
        | b"FileEnd"
        | b"SetMark"
        | b"CursorShape"
        | b"ClearScrollback"
        | b"HighlightCursorLine"
        | b"UnicodeVersion" => Meaning::Silent,
        b"ReportCellSize" | b"Capabilities" => Meaning::Asks,
        _ => Meaning::Steers,
    }
}

/// Returns what a string for the device (DCS) does: keys are programmed, multiplexers and other programs addressed in such, too.
fn device_control(text: &[u8]) -> Meaning {
    let begins = device_function(text).unwrap_or(text.len());
    match &text[begins..] {
        // A picture (sixel).
        [b'q', ..] => Meaning::Silent,
        // Updates at once.
        b"=1s" | b"=2s" if begins == 0 => Meaning::Silent,
        // Settings, and what the terminal can do.
        [b'$' | b'+', b'q', ..] => Meaning::Asks,
        _ => Meaning::Steers,
    }
}

/// Returns where in a string for the device its parameters end.
fn device_function(text: &[u8]) -> Option<usize> {
    text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'))
}

/// Returns what a command to a program (APC) does: one of kitty is a picture, unless that comes from a file.
fn application_command(string: &[u8]) -> Meaning {
    let Some(picture) = string.strip_prefix(b"G") else { return Meaning::Steers };
    let mut settings = first_field(until_end(picture), b';').0.split(|byte| *byte == b',');
    let is_from_elsewhere = |one: &[u8]| one.starts_with(b"t=") && one != b"t=d";
    if settings.any(is_from_elsewhere) { Meaning::Steers } else { Meaning::Asks }
}

/// Returns whether a command is one of the Linux console, which has no end: colours as before, or a colour.
pub(super) fn is_palette(text: &[u8]) -> bool {
    match text {
        b"R" => true,
        [b'P', colour @ ..] => colour.len() == 7 && colour.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    }
}

/// Returns whether there is a whole answer of a terminal in what was typed. What keys, the mouse, the focus or a new size may type is none.
pub(super) fn has_answer(typed: &[u8]) -> bool {
    typed.iter().enumerate().filter(|(_, byte)| **byte == ESC).any(|(at, _)| match &typed[at + 1..] {
        [b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| !(b' '..=b'?').contains(byte));
            end.and_then(|end| Control::parse(&rest[..=end])).is_some_and(is_answer)
        }
        [b']', rest @ ..] => rest.contains(&BEL) || rest.windows(2).any(|end| end == b"\x1b\\"),
        [b'P' | b'_', rest @ ..] => rest.windows(2).any(|end| end == b"\x1b\\"),
        _ => false,
    })
}

/// Returns whether only a terminal that was asked says this.
fn is_answer(control: Control<'_>) -> bool {
    let mut numbers = control.numbers();
    let (first, second) = (numbers.next().flatten(), numbers.next().flatten());
    match (control.private, control.last) {
        // The colours have changed, and nobody has asked now.
        (Some(b'?'), b'n') => first != Some(997),
        (Some(b'?'), b'c' | b'R' | b'S' | b'u' | b'y')
        | (Some(b'>' | b'='), b'c')
        | (None, b'c' | b'n' | b'x' | b'y') => true,
        // F3 with a modifier, or the cursor in the first line.
        (None, b'R') => first != Some(1) || second == Some(1) || second > Some(16),
        // The size has changed.
        (None, b't') => first != Some(48),
        _ => false,
    }
}

/// Returns a number of digits alone.
pub(super) fn number(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Splits a text at the first of these.
pub(super) fn first_field(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == separator) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

/// Returns a string without what ends it.
pub(super) fn until_end(string: &[u8]) -> &[u8] {
    let ends: [&[u8]; 3] = [&[BEL], &[ESC, b'\\'], &[LEAD, 0x9c]];
    ends.iter().find_map(|end| string.strip_suffix(*end)).unwrap_or(string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_from_keys() {
        for answer in [
            "\x1b[1;1R", "\x1b[24;5R", "\x1b[?1;1;1R", "\x1b[0n", "\x1b[?62;c", "\x1b[>0;276;0c",
            "\x1b[8;24;80t", "\x1b[?2026;2$y", "\x1b[?1u", "\x1bP1$r0m\x1b\\", "\x1b]11;rgb:0/0/0\x07",
            "\x1b]11;rgb:0/0/0\x1b\\", "\x1b_Gi=1;OK\x1b\\",
        ] {
            assert!(has_answer(answer.as_bytes()), "{answer:?}");
            assert!(has_answer(format!("x\x1b[A{answer}y").as_bytes()), "{answer:?}");
            let (begun, _) = answer.split_at(answer.len() - 1);
            assert!(!has_answer(begun.as_bytes()), "{begun:?}");
        }
        for typed in [
            "x", "\r", "\x1b", "\x1b[A", "\x1bOP", "\x1b[1;5A", "\x1b[1;2R", "\x1b[3~",
            "\x1b[200~R\x1b[201~", "\x1b[97;5u", "\x1b[I", "\x1b[<0;1;1M", "\x1b[<0;1;1m", "\x1b[M !!",
            "\x1b]", "\x1bP", "\x1b[48;24;80;0;0t", "\x1b[?997;1n", "\x1b[Z", "\x1b[1;2S",
        ] {
            assert!(!has_answer(typed.as_bytes()), "{typed:?}");
        }
    }
}
