//! A command of a shell text, as far as it is known before the text runs.

use std::collections::BTreeSet;

use super::class::CommandClass;

/// One command of a shell text, as far as it is known before the text runs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct SimpleCommand {
    /// The program and its arguments.
    pub(super) words: Vec<Word>,
    /// What the text around the command does in its place: redirections, variables that are set for it.
    pub(super) classes: BTreeSet<CommandClass>,
    /// These, as they are written.
    pub(super) around: String,
}

/// One word of a command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Word {
    Known(String),
    /// It is not known before the text runs. It may become no word, or several.
    Unknown,
}

impl Word {
    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Unknown => None,
        }
    }
}

impl SimpleCommand {
    /// Returns a command of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self { words: vec![Word::Unknown], ..Self::default() }
    }

    /// Adds a redirection or a variable.
    pub(super) fn put_around(&mut self, text: &str) {
        if !self.around.is_empty() {
            self.around.push(' ');
        }
        self.around.push_str(text);
    }

    /// Writes the command as a person reads it, `…` for what is not known.
    pub(super) fn shown(&self) -> String {
        if self.words.is_empty() {
            return self.around.clone();
        }
        let words: Vec<_> = self.words.iter().map(|word| word.known().unwrap_or("…")).collect();
        words.join(" ")
    }
}
