//! Modes of a terminal that an agent has left on: what is typed afterwards, or done with the mouse, would reach the caller's shell as
//! sequences.

use std::collections::BTreeSet;

use super::sequence::Control;

/// The mouse, the focus, pasted text in brackets, changed colours and sizes, and keys as Windows and kitty write them.
const TYPING: [u32; 15] =
    [9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2031, 2048, 5522, 9001];

/// What is on.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes {
    /// Private modes of [`TYPING`].
    on: BTreeSet<u32>,
    /// How often the keyboard of kitty's protocol was pushed.
    pushed: u32,
    /// Whether that of the top was set.
    set: bool,
    /// Whether other keys are written as sequences, too (xterm's `modifyOtherKeys`).
    other_keys: bool,
}

impl Modes {
    /// Notes what a whole sequence that is shown switches.
    pub(super) fn note(&mut self, sequence: &[u8]) {
        // A terminal as it was at first.
        if sequence == b"\x1bc" {
            *self = Self::default();
        }
        let Some(control) = Control::of(sequence).filter(|control| control.is_plain()) else { return };
        let first = control.numbers().next().flatten();
        match (control.private, control.last) {
            (Some(b'?'), b'h' | b'r') => {
                self.on.extend(control.numbers().flatten().filter(|mode| TYPING.contains(mode)));
            }
            (Some(b'?'), b'l') => {
                for mode in control.numbers().flatten() {
                    self.on.remove(&mode);
                }
            }
            (Some(b'>'), b'u') => self.pushed = self.pushed.saturating_add(1),
            (Some(b'<'), b'u') => self.pushed = self.pushed.saturating_sub(first.unwrap_or(1).max(1)),
            (Some(b'='), b'u') => self.set = first != Some(0),
            (Some(b'>'), b'm') if first == Some(4) => {
                self.other_keys = control.numbers().nth(1).flatten().is_some_and(|level| level > 0);
            }
            (Some(b'>'), b'n') if first == Some(4) => self.other_keys = false,
            _ => {}
        }
    }

    /// Returns what switches all of them off.
    pub(super) fn take_resets(&mut self) -> Vec<u8> {
        let Self { on, pushed, set, other_keys } = std::mem::take(self);
        let mut resets: Vec<String> = on.iter().map(|mode| format!("\x1b[?{mode}l")).collect();
        if pushed > 0 {
            resets.push(format!("\x1b[<{pushed}u"));
        }
        if set {
            resets.push("\x1b[=0u".to_owned());
        }
        if other_keys {
            resets.push("\x1b[>4m".to_owned());
        }
        resets.concat().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resets(sequences: &[&str]) -> String {
        let mut modes = Modes::default();
        for sequence in sequences {
            modes.note(sequence.as_bytes());
        }
        String::from_utf8(modes.take_resets()).unwrap()
    }

    #[test]
    fn what_was_left_on_is_switched_off() {
        for (sequences, expected) in [
            (&["\x1b[?1000;1006h"][..], "\x1b[?1000l\x1b[?1006l"),
            (&["\u{9b}?2004h"], "\x1b[?2004l"),
            (&["\x1b[?1003h", "\x1b[?1003s", "\x1b[?1003l", "\x1b[?1003r"], "\x1b[?1003l"),
            (&["\x1b[>1u", "\x1b[>3u", "\x1b[<u"], "\x1b[<1u"),
            (&["\x1b[=5u"], "\x1b[=0u"),
            (&["\x1b[>4;2m"], "\x1b[>4m"),
        ] {
            assert_eq!(resets(sequences), expected, "{sequences:?}");
        }
    }

    #[test]
    fn nothing_is_done_where_nothing_was_left_on() {
        for sequences in [
            &["\x1b[?1000;1006h", "\x1b[?1006;1000l"][..],
            &["\x1b[?1003h", "\x1bc"],
            &["\x1b[>1u", "\x1b[<1u"],
            &["\x1b[>4;1m", "\x1b[>4;0m"],
            &["\x1b[?25h", "\x1b[?1049h", "\x1b[1000h", "\x1b[1m"],
        ] {
            assert_eq!(resets(sequences), "", "{sequences:?}");
        }
    }
}
