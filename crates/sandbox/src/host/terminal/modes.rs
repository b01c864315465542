//! Modes of a terminal that an agent has left on: what is typed afterwards, or done with the mouse, would reach the caller's shell as
//! sequences.

use std::collections::BTreeSet;

use super::keyboards::{Keyboards, Screen};
use super::sequence::{Control, LNM, is_of_keys};

/// xterm's `modifyOtherKeys`: at first all of these keys are written as they are.
const OTHER_KEYS: u32 = 4;

/// That of function keys, which is meant where none is named.
const FUNCTION_KEYS: u32 = 2;

/// The last of xterm's kinds of keys, of which each may be written in another way.
const LAST_KIND_OF_KEYS: u32 = 7;

/// What is on, in some terminal at least: what only some of them take for an end is none.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes {
    /// Private modes of the keys, the mouse and the like.
    on: BTreeSet<u32>,
    keyboards: Keyboards,
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
            // Not all terminals have all modes as at first then: in st the mouse stays.
            b"\x1bc" => self.keyboards.lose(),
            b"\x1b=" => self.keypad = true,
            b"\x1b>" => self.keypad = false,
            b"\x1b[?1049h" => self.keyboards.show(Screen::Alternate),
            b"\x1b[?1049l" => self.keyboards.show(Screen::Main),
            _ => {
                if let Some(control) = Control::of(sequence) {
                    self.note_control(control);
                }
            }
        }
    }

    fn note_control(&mut self, control: Control<'_>) {
        if control.is_soft_reset() {
            self.keyboards.lose();
        }
        if !control.is_plain() {
            return;
        }
        let first = control.numbers().next().flatten();
        let mut modes = control.numbers().flatten();
        match (control.private, control.last) {
            (Some(b'?'), b'h' | b'l' | b'r') => {
                for mode in modes {
                    match mode {
                        // The alternate screen, and whether there is one.
                        47 | 1046 | 1047 | 1049 => self.keyboards.lose(),
                        _ if control.last == b'l' => _ = self.on.remove(&mode),
                        _ if is_of_keys(mode) => _ = self.on.insert(mode),
                        _ => {}
                    }
                }
            }
            (Some(b'>'), b'u') => self.keyboards.push(),
            (Some(b'<'), b'u') => self.keyboards.pop(first.unwrap_or(1)),
            // With a second number, it adds or removes some of the changes.
            (Some(b'='), b'u') if first == Some(0) && control.numbers().count() == 1 => {
                self.keyboards.clear();
            }
            (Some(b'='), b'u') => self.keyboards.set(),
            (Some(b'>'), b'm' | b'n') => self.note_keys(control),
            (None, b'h') => self.two_for_enter |= modes.any(|mode| mode == LNM),
            (None, b'l') => self.two_for_enter &= !modes.any(|mode| mode == LNM),
            _ => {}
        }
    }

    /// Notes how a kind of keys is written (XTMODKEYS), or that it is written no longer so.
    fn note_keys(&mut self, control: Control<'_>) {
        let numbers: Vec<_> = control.numbers().collect();
        match (control.last, numbers.as_slice()) {
            (b'm', [Some(kind)] | [Some(kind), None] | [Some(kind @ OTHER_KEYS), Some(0)]) => {
                self.other_keys.remove(kind);
            }
            // All of them in xterm, and none elsewhere; those that are written as they are.
            (b'm', [None]) | (b'n', [Some(OTHER_KEYS), ..]) => {}
            (_, numbers) => {
                let kind = numbers.first().copied().flatten().unwrap_or(FUNCTION_KEYS);
                if kind <= LAST_KIND_OF_KEYS {
                    self.other_keys.insert(kind);
                }
            }
        }
    }

    /// Returns what switches all of them off.
    pub(super) fn take_resets(&mut self) -> Vec<u8> {
        let Self { on, keyboards, other_keys, keypad, two_for_enter } = std::mem::take(self);
        let mut resets: Vec<String> = on.iter().map(|mode| format!("\x1b[?{mode}l")).collect();
        resets.push(keyboards.resets());
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
            (&["\x1b[?1003h", "\x1bc"], "\x1b[?1003l"),
            (&["\x1b[?1003h", "\x1b[?1003s", "\x1b[?1003l", "\x1b[?1003r"], "\x1b[?1003l"),
            (&["\x1b[>1u", "\x1b[>3u", "\x1b[<u"], "\x1b[<1u"),
            (&["\x1b[=5u"], "\x1b[=0u"),
            (&["\x1b[>4;2m"], "\x1b[>4m"),
            (&["\x1b[>1;3m", "\x1b[>2n", "\x1b[>n"], "\x1b[>1m\x1b[>2m"),
            // What does not end it in all terminals.
            (&["\x1b[>4;2m", "\x1b[>m"], "\x1b[>4m"),
            (&["\x1b[>4;2m", "\x1b[>;m"], "\x1b[>2m\x1b[>4m"),
            (&["\x1b[>4;2m", "\x1b[>4n"], "\x1b[>4m"),
            (&["\x1b[>4;2m", "\x1b[>4;0;1m"], "\x1b[>4m"),
            (&["\x1b[=8u", "\x1b[=0;2u"], "\x1b[=0u"),
            (&["\x1b[=8u", "\x1b[=0;3u"], "\x1b[=0u"),
            (&["\x1b[=8u", "\x1b[>1u", "\x1b[=0u", "\x1b[<u"], "\x1b[=0u"),
            (&["\x1b[>8u", "\x1b[<0u"], "\x1b[<1u"),
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
            &["\x1b[>1u", "\x1b[<1u"],
            &["\x1b[>4;1m", "\x1b[>4;0m"],
            &["\x1b[>4;2m", "\x1b[>4;m", "\x1b[>4;1m", "\x1b[>4m", "\x1b[>4n"],
            &["\x1b[>1;3m", "\x1b[>1m", "\x1b[>m", "\x1b[>9;3m"],
            &["\x1b[=5u", "\x1b[=0u"],
            &["\x1b[?1049h", "\x1b[>1u", "\x1b[<u", "\x1b[?1049l"],
            &["\x1b[>1u", "\x1b[?1049h", "\x1b[>1u", "\x1b[<u", "\x1b[?1049l", "\x1b[<u"],
            &["\x1b[?1049h", "\x1b[?1047l", "\x1b[!p"],
            &["\x1b[?1;66h", "\x1b[?1l", "\x1b[?66l"],
            &["\x1b=", "\x1b>", "\x1b[20h", "\x1b[20l"],
            &["\x1b[?25h", "\x1b[?1049h", "\x1b[1000h", "\x1b[1m"],
        ] {
            assert_eq!(resets(sequences), "", "{sequences:?}");
        }
    }

    #[test]
    fn each_screen_has_keyboards_of_its_own() {
        let both = "\x1b[<1u\x1b[=0u\x1b[?1049h\x1b[<1u\x1b[=0u\x1b[?1049l\x1b[<1u\x1b[=0u";
        for (sequences, expected) in [
            // What is popped there is the other one's.
            (&["\x1b[>8u", "\x1b[?1049h", "\x1b[<u", "\x1b[?1049l"][..], "\x1b[<1u"),
            (&["\x1b[>8u", "\x1b[?1049h"], "\x1b[<1u\x1b[=0u\x1b[?1049l\x1b[<1u\x1b[=0u"),
            (&["\x1b[?1049h", "\x1b[>8u", "\x1b[?1049l"], both),
            // Some terminals do not know these.
            (&["\x1b[?47h", "\x1b[>8u", "\x1b[?1049l", "\x1b[<u"], both),
            (&["\x1b[>8u", "\x1b[?1047h", "\x1b[<u", "\x1b[?1047l"], both),
            (&["\x1b[>8u", "\x1b[?25;1049h", "\x1b[<u"], both),
            (&["\x1b[=8u", "\x1b[?1047h", "\x1b[=0u"], "\x1b[=0u\x1b[?1049h\x1b[=0u\x1b[?1049l\x1b[=0u"),
            (&["\x1b[?1049h", "\x1bc", "\x1b[>8u", "\x1b[?1049h", "\x1b[<u"], both),
            (&["\x1b[?1049h", "\x1b[!p", "\x1b[>8u", "\x1b[?1049h", "\x1b[<u"], both),
        ] {
            assert_eq!(resets(sequences), expected, "{sequences:?}");
        }
    }
}
