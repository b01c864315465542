//! What of the display an agent has changed and left: what is written after it would not be seen, or not be read.
//!
//! What is undone without moving anything is undone whenever it was changed, whatever the agent has done about it since: a cursor that is
//! restored brings back what was saved with it.

use std::collections::BTreeSet;

use super::sequence::{Control, ESC, LEAD, first_field, number, until_end};

/// Private modes that are off at first: colours exchanged, the cursor within margins, national letters, margins at the sides, and nothing shown
/// before all is.
const OFF: [u32; 5] = [5, 6, 42, 69, 2026];

/// Private modes that are on at first: lines wrap, and the cursor is shown.
const ON: [u32; 3] = [7, 25, SCREENS];

/// There is another screen.
const SCREENS: u32 = 1046;

/// Private modes of which each shows the other screen.
const ALTERNATE: [u32; 3] = [47, 1047, 1049];

/// Modes that are off at first: control characters are shown, and text is moved by what is written before it.
const ORDINARY_OFF: [u32; 2] = [3, 4];

/// The cursor counts from the upper margin.
const ORIGIN: u32 = 6;

/// The first and the last of the colours that have a command each: those of text, background, cursor and selection.
const DYNAMIC: [u32; 2] = [10, 19];

/// What was changed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Display {
    changed: BTreeSet<Change>,
    private: BTreeSet<u32>,
    ordinary: BTreeSet<u32>,
    /// What shows the other screen, and was not switched off.
    alternate: BTreeSet<u32>,
    palette: BTreeSet<u32>,
    dynamic: BTreeSet<u32>,
}

/// What is changed or not.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Change {
    /// How text looks.
    Attributes,
    /// Which letters are shown.
    Letters,
    /// Which lines scroll.
    Lines,
    /// Text is a link.
    Link,
    /// What is written goes to a line of its own.
    StatusLine,
    /// A string said that nothing is to be shown before all is.
    Updating,
    /// Lines may have another size, or pictures hide text.
    Covered,
    /// Colours of bold text and the like.
    Special,
    /// Colours of a console of Linux.
    Console,
}

impl Display {
    /// Notes what a whole sequence that is shown changes.
    pub(super) fn note(&mut self, sequence: &[u8]) {
        // One character for ESC and another one is not known to all terminals: what it undoes may still be so.
        let undone = if sequence.first() == Some(&LEAD) { self.clone() } else { Self::default() };
        self.note_change(sequence);
        self.alternate.extend(undone.alternate);
        self.changed.extend(undone.changed);
    }

    fn note_change(&mut self, sequence: &[u8]) {
        match sequence {
            [ESC, b'(' | b'$', ..] => self.add(Change::Letters),
            // What was saved may be anything.
            [ESC, b'8'] => self.add(Change::Attributes),
            [ESC, b']', rest @ ..] | [LEAD, 0x9d, rest @ ..] => self.note_command(until_end(rest)),
            [ESC, b'P', b'=', ..] | [LEAD, 0x90, b'=', ..] => self.add(Change::Updating),
            [ESC, b'#' | b'_', ..] | [LEAD, 0x9f, ..] => self.add(Change::Covered),
            _ => {
                if let Some(control) = Control::of(sequence) {
                    self.note_control(control);
                }
            }
        }
    }

    /// Notes that another set of letters is used (SO).
    pub(super) fn note_shift(&mut self) {
        self.add(Change::Letters);
    }

    /// Notes that a colour of the console of Linux is another one.
    pub(super) fn note_console(&mut self) {
        self.add(Change::Console);
    }

    fn add(&mut self, change: Change) {
        self.changed.insert(change);
    }

    fn set(&mut self, change: Change, is_changed: bool) {
        if is_changed {
            self.changed.insert(change)
        } else {
            self.changed.remove(&change)
        };
    }

    fn note_control(&mut self, control: Control<'_>) {
        match (control.private, control.last) {
            _ if control.is_soft_reset() => _ = self.private.insert(7),
            (None, b'}' | b'~') if control.has_between(b"$") => self.add(Change::StatusLine),
            // What was pushed may be anything (XTPOPSGR).
            (None, b'}' | b'q') if control.has_between(b"#") => self.add(Change::Attributes),
            _ if !control.is_plain() => {}
            (Some(b'?'), b'h' | b'l' | b'r') => {
                for mode in control.numbers().flatten() {
                    self.note_private(mode, control.last);
                }
            }
            (None, b'h') => {
                self.ordinary.extend(control.numbers().flatten().filter(|mode| ORDINARY_OFF.contains(mode)));
            }
            (None, b'm') => {
                let is_reset = control.is_read_alike() && control.numbers().all(|one| one.unwrap_or(0) == 0);
                self.set(Change::Attributes, !is_reset);
            }
            (None, b'u') => self.add(Change::Attributes),
            (None, b'r') => self.add(Change::Lines),
            _ => {}
        }
    }

    fn note_private(&mut self, mode: u32, last: u8) {
        match (mode, last) {
            (1048, b'l' | b'r') => self.add(Change::Attributes),
            (1049, b'l') => {
                self.alternate.remove(&mode);
                self.add(Change::Attributes);
            }
            (mode, b'l') if ALTERNATE.contains(&mode) => _ = self.alternate.remove(&mode),
            (mode, _) if ALTERNATE.contains(&mode) => _ = self.alternate.insert(mode),
            (mode, b'h' | b'r') if OFF.contains(&mode) => _ = self.private.insert(mode),
            (mode, b'l' | b'r') if ON.contains(&mode) => _ = self.private.insert(mode),
            _ => {}
        }
    }

    fn note_command(&mut self, text: &[u8]) {
        let (command, text) = first_field(text, b';');
        let fields = || text.split(|byte| *byte == b';');
        match number(command) {
            Some(4) => {
                let fields: Vec<_> = fields().collect();
                let pairs = fields.chunks_exact(2).filter(|pair| pair[1] != b"?");
                let numbers = pairs.filter_map(|pair| number(pair[0]));
                let (palette, special): (Vec<_>, Vec<_>) = numbers.partition(|number| *number < 256);
                self.palette.extend(palette);
                if !special.is_empty() {
                    self.add(Change::Special);
                }
            }
            Some(5) => self.add(Change::Special),
            Some(8) => self.set(Change::Link, !first_field(text, b';').1.is_empty()),
            // Those of kitty, by name, and those that it had.
            Some(21 | 30101) if text.is_empty() || !fields().all(|field| field.ends_with(b"=?")) => {
                self.palette.extend(0..256);
                self.dynamic.extend([10, 11]);
            }
            // Each that follows is the next one's.
            Some(first) if (DYNAMIC[0]..=DYNAMIC[1]).contains(&first) => {
                let set = (first..=DYNAMIC[1]).zip(fields()).filter(|(_, colour)| *colour != b"?");
                self.dynamic.extend(set.map(|(number, _)| number));
            }
            _ => {}
        }
    }

    /// Returns what undoes it, so that what is written next is seen where the cursor is, or in the last line where that may hide it.
    pub(super) fn take_resets(&mut self) -> Vec<u8> {
        let left = std::mem::take(self);
        let of = |change, undoing| if left.changed.contains(&change) { undoing } else { "" };
        let mut resets = String::new();
        resets += of(Change::Updating, "\x1bP=2s\x1b\\");
        resets += of(Change::Link, "\x1b]8;;\x1b\\");
        resets += of(Change::StatusLine, "\x1b[0$}\x1b[0$~");
        // Without it, there is no way back from the other screen.
        resets += if left.private.contains(&SCREENS) { "\x1b[?1046h" } else { "" };
        // They bring back a cursor with all that was saved.
        resets.extend(left.alternate.iter().map(|mode| format!("\x1b[?{mode}l")));
        let is_on = |mode| if ON.contains(mode) { 'h' } else { 'l' };
        resets.extend(left.private.iter().map(|mode| format!("\x1b[?{mode}{}", is_on(mode))));
        resets.extend(left.ordinary.iter().map(|mode| format!("\x1b[{mode}l")));
        resets += of(Change::Letters, "\x0f\x1b(B");
        resets += if left.alternate.is_empty() { of(Change::Attributes, "\x1b[m") } else { "\x1b[m" };
        resets += if left.private.contains(&ORIGIN) || left.changed.contains(&Change::Covered) {
            "\x1b[r\x1b[9999;1H\r\n"
        } else {
            // It moves the cursor, too.
            of(Change::Lines, "\x1b7\x1b[r\x1b8")
        };
        // Not all terminals take several in one.
        resets.extend(left.palette.iter().map(|number| format!("\x1b]104;{number}\x1b\\")));
        resets += of(Change::Special, "\x1b]105\x1b\\");
        resets.extend(left.dynamic.iter().map(|number| format!("\x1b]{}\x1b\\", 100 + number)));
        resets += of(Change::Console, "\x1b]R");
        resets.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resets(sequences: &[&str]) -> String {
        let mut display = Display::default();
        for sequence in sequences {
            display.note(sequence.as_bytes());
        }
        let resets = String::from_utf8(display.take_resets()).unwrap();
        assert_eq!(display.take_resets(), b"", "{sequences:?}");
        resets
    }

    #[test]
    fn what_was_changed_is_undone() {
        for (sequences, expected) in [
            (&["\x1b[8m"][..], "\x1b[m"),
            (&["\x1b[8m", "\x1b[#{", "\x1b[m", "\x1b[#}"], "\x1b[m"),
            (&["\x1b[8m", "\x1b[#p", "\x1b[m", "\x1b[#q"], "\x1b[m"),
            (&["\x1b[1m", "\x1b[0;8m"], "\x1b[m"),
            (&["\x1b[8m", "\x1b[99999999999m"], "\x1b[m"),
            (&["\x1b[8m", "\u{9b}m"], "\x1b[m"),
            (&["\x1b[2;3r"], "\x1b7\x1b[r\x1b8"),
            (&["\u{9b}2;3r"], "\x1b7\x1b[r\x1b8"),
            (&["\x1b[?7l"], "\x1b[?7h"),
            (&["\x1b[?25;5r"], "\x1b[?5l\x1b[?25h"),
            (&["\x1b[!p"], "\x1b[?7h"),
            (&["\x1b[3;4h"], "\x1b[3l\x1b[4l"),
            (&["\x1b(0"], "\x0f\x1b(B"),
            (&["\x1b$B"], "\x0f\x1b(B"),
            (&["\x1b[?1049h"], "\x1b[?1049l\x1b[m"),
            // Not all terminals know these.
            (&["\x1b[?1049h", "\x1b[?47l"], "\x1b[?1049l\x1b[m"),
            (&["\x1b[?1046l"], "\x1b[?1046h\x1b[?1046h"),
            (&["\x1b[1$}", "\x1b[2$~"], "\x1b[0$}\x1b[0$~"),
            (&["\x1bP=1s\x1b\\"], "\x1bP=2s\x1b\\"),
            (&["\x1b[?2026h"], "\x1b[?2026l"),
            (&["\x1b]8;id=a;https://example.org\x1b\\"], "\x1b]8;;\x1b\\"),
            (&["\x1b]8;;https://example.org\x1b\\", "\u{9d}8;;\u{9c}"], "\x1b]8;;\x1b\\"),
            (&["\x1b]4;1;red;7;blue\x07"], "\x1b]104;1\x1b\\\x1b]104;7\x1b\\"),
            (&["\x1b]4;256;red\x07", "\x1b]5;0;red\x07"], "\x1b]105\x1b\\"),
            (&["\x1b]10;red;red\x1b\\"], "\x1b]110\x1b\\\x1b]111\x1b\\"),
            (&["\u{9d}11;red\u{9c}"], "\x1b]111\x1b\\"),
            (&["\x1b]19;a;b;c\x07"], "\x1b]119\x1b\\"),
        ] {
            assert_eq!(resets(sequences), expected, "{sequences:?}");
        }
    }

    #[test]
    fn what_may_hide_text_where_the_cursor_is_moves_it() {
        for (sequences, expected) in [
            (&["\x1b#3"][..], "\x1b[r\x1b[9999;1H\r\n"),
            (&["\x1b_Ga=T,z=1;AAAA\x1b\\"], "\x1b[r\x1b[9999;1H\r\n"),
            (&["\x1b[2;3r\x1b[?6h", "\x1b[?6h"], "\x1b[?6l\x1b[r\x1b[9999;1H\r\n"),
        ] {
            assert_eq!(resets(sequences), expected, "{sequences:?}");
        }
    }

    #[test]
    fn what_a_restored_cursor_may_bring_back_is_undone() {
        let saved = ["\x1b[8m", "\x1b(0", "\x1b[?7l", "\x1b7", "\x1b[m", "\x1b(B", "\x1b[?7h"];
        for restored in ["\x1b8", "\x1b[u", "\x1b[?1048l", "\x1b[?1049l"] {
            let sequences = [&saved[..], &[restored]].concat();
            assert_eq!(resets(&sequences), "\x1b[?7h\x0f\x1b(B\x1b[m", "{restored:?}");
        }
    }

    #[test]
    fn nothing_is_done_where_nothing_was_left() {
        for sequences in [
            &["\x1b[1;31m", "\x1b[0m"][..],
            &["\x1b[1m", "\x1b[m"],
            &["\x1b[2J", "\x1b[H", "\x1b[5;5H", "\x1b[K", "\x1b[3S", "\x1b7", "\x1b[s", "\x1bM"],
            &["\x1b[?25h", "\x1b[?7h", "\x1b[?5l", "\x1b[4l", "\x1b[?2026l", "\x1b[?1h", "\x1b[?2004h"],
            &["\x1b[?47h", "\x1b[?47l", "\x1b[?1047h", "\x1b[?1047l"],
            &["\x1b]0;title\x07", "\x1b]8;;https://example.org\x1b\\", "\x1b]8;;\x1b\\", "\x1b]104\x07"],
            &["é"],
            // Who asks changes nothing.
            &["\x1b]4;1;?;2;?\x07", "\x1b]10;?;?\x07", "\x1b]11;?\x1b\\", "\x1b]21;foreground=?\x1b\\"],
        ] {
            assert_eq!(resets(sequences), "", "{sequences:?}");
        }
    }
}
