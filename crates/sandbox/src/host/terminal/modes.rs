//! Modes of a terminal that an agent has left on: what is typed afterwards, or done with the mouse, would reach the caller's shell as
//! sequences.

use std::collections::BTreeSet;

use super::sequence::Control;

/// Keys for applications, the mouse, the focus, pasted text in brackets, changed colours and sizes, and keys as Windows and kitty write
/// them.
const TYPING: [u32; 17] =
    [1, 9, 66, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2031, 2048, 5522, 9001];

/// A mode that is not private: Enter types a line feed, too.
const LNM: u32 = 20;

/// xterm's `modifyOtherKeys`: at first all of these keys are written as they are.
const OTHER_KEYS: u32 = 4;

/// The last of xterm's kinds of keys, of which each may be written in another way.
const LAST_KIND_OF_KEYS: u32 = 7;

/// What is on.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes {
    /// Private modes of [`TYPING`].
    on: BTreeSet<u32>,
    /// How often the keyboard of kitty's protocol was pushed.
    pushed: u32,
    /// Whether that of the top was set.
    set: bool,
    /// Which kinds of keys are written as other sequences (xterm's `modifyOtherKeys` and its like).
    other_keys: BTreeSet<u32>,
    /// Whether the keypad is for applications (DECKPAM).
    keypad: bool,
    /// Whether Enter types two characters (LNM).
    two_for_enter: bool,
}

impl Modes {
    /// Notes what a whole sequence that is shown switches.
    pub(super) fn note(&mut self, sequence: &[u8]) {
        match sequence {
            // A terminal as it was at first.
            b"\x1bc" => *self = Self::default(),
            b"\x1b=" => self.keypad = true,
            b"\x1b>" => self.keypad = false,
            _ => {}
        }
        let Some(control) = Control::of(sequence).filter(|control| control.is_plain()) else { return };
        let first = control.numbers().next().flatten();
        let has = |wanted| control.numbers().any(|mode| mode == Some(wanted));
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
            (Some(b'>'), b'm' | b'n') => {
                self.note_keys(control.last, first, control.numbers().nth(1).flatten());
            }
            (None, b'h') => self.two_for_enter |= has(LNM),
            (None, b'l') => self.two_for_enter &= !has(LNM),
            _ => {}
        }
    }

    /// Notes how a kind of keys is written (XTMODKEYS), or that it is written no longer so.
    fn note_keys(&mut self, last: u8, kind: Option<u32>, level: Option<u32>) {
        let is_changed = match (last, kind, level) {
            (b'm', None, _) => return self.other_keys.clear(),
            (b'm', Some(OTHER_KEYS), level) => level > Some(0),
            (b'm', _, level) => level.is_some(),
            (_, kind, _) => kind != Some(OTHER_KEYS),
        };
        // Without a number it is that of function keys.
        let kind = kind.unwrap_or(2);
        if is_changed && kind <= LAST_KIND_OF_KEYS {
            self.other_keys.insert(kind);
        } else {
            self.other_keys.remove(&kind);
        }
    }

    /// Returns what switches all of them off.
    pub(super) fn take_resets(&mut self) -> Vec<u8> {
        let Self { on, pushed, set, other_keys, keypad, two_for_enter } = std::mem::take(self);
        let mut resets: Vec<String> = on.iter().map(|mode| format!("\x1b[?{mode}l")).collect();
        if pushed > 0 {
            resets.push(format!("\x1b[<{pushed}u"));
        }
        if set {
            resets.push("\x1b[=0u".to_owned());
        }
        resets.extend(other_keys.iter().map(|kind| format!("\x1b[>{kind}m")));
        if keypad {
            resets.push("\x1b>".to_owned());
        }
        if two_for_enter {
            resets.push(format!("\x1b[{LNM}l"));
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
            (&["\x1b[>1;3m", "\x1b[>2n", "\x1b[>n"], "\x1b[>1m\x1b[>2m"),
            (&["\x1b[?1;66h"], "\x1b[?1l\x1b[?66l"),
            (&["\x1b="], "\x1b>"),
            (&["\x1b[4;20h"], "\x1b[20l"),
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
            &["\x1b[>4;2m", "\x1b[>4n"],
            &["\x1b[>1;3m", "\x1b[>1m", "\x1b[>2;3m", "\x1b[>m", "\x1b[>9;3m"],
            &["\x1b[?1;66h", "\x1b[?1l", "\x1b[?66l"],
            &["\x1b=", "\x1b>", "\x1b[20h", "\x1b[20l"],
            &["\x1b[?25h", "\x1b[?1049h", "\x1b[1000h", "\x1b[1m"],
        ] {
            assert_eq!(resets(sequences), "", "{sequences:?}");
        }
    }
}
