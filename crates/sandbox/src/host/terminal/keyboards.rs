//! The keyboards of kitty's protocol that an agent has pushed or set, of which a terminal has a stack for each of its two screens.

/// What was pushed and set.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyboards {
    main: Keyboard,
    alternate: Keyboard,
    on: Screen,
    /// How often one was pushed, whatever was popped since.
    pushes: u32,
    /// Whether one was ever changed.
    touched: bool,
    /// Whether terminals may have been on different screens since one was changed.
    lost: bool,
}

/// Which screen is shown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Screen {
    #[default]
    Main,
    Alternate,
}

/// The keyboards of one screen.
#[derive(Clone, Copy, Debug, Default)]
struct Keyboard {
    pushed: u32,
    /// Whether one was set, which may be the one below those that were pushed.
    set: bool,
}

impl Keyboards {
    pub(super) fn push(&mut self) {
        self.pushes = self.pushes.saturating_add(1);
        self.touched = true;
        let keyboard = self.current();
        keyboard.pushed = keyboard.pushed.saturating_add(1);
    }

    pub(super) fn pop(&mut self, count: u32) {
        let keyboard = self.current();
        keyboard.pushed = keyboard.pushed.saturating_sub(count);
    }

    pub(super) fn set(&mut self) {
        self.touched = true;
        self.current().set = true;
    }

    /// Notes that the keyboard is an ordinary one again. If it was pushed, that below it is what it was.
    pub(super) fn clear(&mut self) {
        let keyboard = self.current();
        keyboard.set &= keyboard.pushed > 0;
    }

    /// Notes that all terminals show this screen now.
    pub(super) fn show(&mut self, screen: Screen) {
        if screen == Screen::Main && self.on == Screen::Main {
            // It was not the main screen then on which the agent began.
            self.lose();
        }
        self.on = screen;
    }

    /// Notes that some terminals may show the other screen now, and others not.
    pub(super) fn lose(&mut self) {
        self.lost |= self.main.is_changed() || self.alternate.is_changed() || self.on == Screen::Alternate;
    }

    fn current(&mut self) -> &mut Keyboard {
        match self.on {
            Screen::Main => &mut self.main,
            Screen::Alternate => &mut self.alternate,
        }
    }

    /// Returns what makes all of them ordinary ones. One pop too many does nothing.
    pub(super) fn resets(&self) -> String {
        let is_certain = !(self.lost && self.touched);
        if is_certain && !self.main.is_changed() && !self.alternate.is_changed() {
            return String::new();
        }
        if is_certain && self.on == Screen::Main && !self.alternate.is_changed() {
            return self.main.resets();
        }
        let resets = Keyboard { pushed: self.pushes, set: true }.resets();
        match (self.on, is_certain) {
            (Screen::Alternate, true) => format!("{resets}\x1b[?1049l{resets}"),
            _ => format!("{resets}\x1b[?1049h{resets}\x1b[?1049l{resets}"),
        }
    }
}

impl Keyboard {
    fn is_changed(self) -> bool {
        self.pushed > 0 || self.set
    }

    fn resets(self) -> String {
        let pops = if self.pushed > 0 { format!("\x1b[<{}u", self.pushed) } else { String::new() };
        pops + if self.set { "\x1b[=0u" } else { "" }
    }
}
