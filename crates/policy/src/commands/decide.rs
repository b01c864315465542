//! The decision about a text or a list of words.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::class::CommandClass;
use super::matching::Match;
use super::readable::Shell;
use super::rules::{CommandRule, CommandRules};
use super::simple::{SimpleCommand, Word};
use super::variables::of_variable;
use super::wrappers::{Wrapped, wrapped};
use super::{classify, shell};
use crate::rules::verdict::Decision;
use crate::text::escape;

/// How many commands are unwrapped from each other at most.
const MAX_WRAPPED: usize = 8;
/// How much of a command is shown, in characters.
const SHOWN: usize = 200;

/// What is decided about a text, and because of which of its commands.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CommandVerdict {
    pub decision: Decision,
    /// The command that is decided so, on one line.
    pub command: String,
    pub reason: CommandReason,
    /// What all commands of the text do.
    pub classes: BTreeSet<CommandClass>,
}

/// Why it is decided so.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum CommandReason {
    /// A rule says so.
    Rule { name: String, pattern: String, reason: Option<String> },
    /// A rule may say so: the words that it asks for are not known before the command runs.
    PerhapsRule { name: String, pattern: String, reason: Option<String> },
    /// No rule names it, and it does this.
    Class { class: CommandClass },
    /// It cannot be taken apart, so it counts as running programs.
    Unreadable { why: String },
}

impl CommandRules {
    /// Decides about the text of a shell script.
    pub fn decide(&self, text: &str, shell: Shell) -> CommandVerdict {
        match shell::commands(text, shell) {
            Ok(commands) => self.decided(commands, text),
            Err(error) => {
                let unknown = self.decided(vec![SimpleCommand::unknown()], text);
                let reason = CommandReason::Unreadable { why: error.to_string() };
                CommandVerdict { command: shown(text), reason, ..unknown }
            }
        }
    }

    /// Decides about variables that are set for a command, besides what was decided about it.
    pub fn with_variables<'a>(
        &self,
        verdict: CommandVerdict,
        names: impl IntoIterator<Item = &'a str>,
    ) -> CommandVerdict {
        let obeyed = names.into_iter().find_map(|name| Some((name, of_variable(name)?)));
        let Some((name, class)) = obeyed.filter(|(_, class)| self.of_class(*class) > verdict.decision) else {
            return verdict;
        };
        CommandVerdict { classes: verdict.classes, ..self.by_class(class, shown(&format!("{name}=…"))) }
    }

    /// Decides about a program and its arguments.
    pub fn decide_words(&self, words: &[impl AsRef<str>]) -> CommandVerdict {
        let words: Vec<_> = words.iter().map(|word| Word::Known(word.as_ref().to_owned())).collect();
        let command = SimpleCommand { words, ..SimpleCommand::default() };
        let text = command.shown();
        self.decided(vec![command], &text)
    }

    fn decided(&self, commands: Vec<SimpleCommand>, text: &str) -> CommandVerdict {
        let mut all = Vec::new();
        for command in commands {
            unwrap(command, MAX_WRAPPED, &mut all);
        }
        let mut classes = BTreeSet::new();
        let mut strictest: Option<CommandVerdict> = None;
        for (command, done) in all {
            classes.extend(&done);
            let about = self.about(&command, &done);
            if strictest.as_ref().is_none_or(|held| about.decision > held.decision) {
                strictest = Some(about);
            }
        }
        // A text without a command does nothing.
        let nothing = || self.by_class(CommandClass::Read, shown(text));
        CommandVerdict { classes, ..strictest.unwrap_or_else(nothing) }
    }

    /// Decides about one command: by the strictest of the rules that it matches, or else by what it does.
    fn about(&self, command: &SimpleCommand, done: &BTreeSet<CommandClass>) -> CommandVerdict {
        let strictest = |classes: &BTreeSet<CommandClass>| {
            classes.iter().copied().max_by_key(|class| self.of_class(*class))
        };
        let of_class = self.by_class(strictest(done).unwrap_or(CommandClass::Read), shown(&command.shown()));
        let matching = |rule: &CommandRule| rule.pattern.matches(&command.words);
        let counts = |rule: &&CommandRule| match matching(rule) {
            Match::Yes => true,
            // What perhaps is meant is not allowed by that, and is kept from running.
            Match::Perhaps => rule.decision != Decision::Allow,
            Match::No => false,
        };
        let Some(rule) = self.rules.iter().filter(counts).max_by_key(|rule| rule.decision) else {
            return of_class;
        };
        let (name, pattern, reason) = (rule.name.clone(), rule.pattern.to_string(), rule.reason.clone());
        let is_sure = matching(rule) == Match::Yes;
        // What redirections and variables around a command do, no pattern says anything about.
        let around = if is_sure { strictest(&command.classes) } else { strictest(done) };
        if let Some(class) = around.filter(|class| self.of_class(*class) > rule.decision) {
            return self.by_class(class, of_class.command);
        }
        let reason = if is_sure {
            CommandReason::Rule { name, pattern, reason }
        } else {
            CommandReason::PerhapsRule { name, pattern, reason }
        };
        CommandVerdict { decision: rule.decision, reason, ..of_class }
    }

    /// Decides about a command by one of its classes.
    fn by_class(&self, class: CommandClass, command: String) -> CommandVerdict {
        let reason = CommandReason::Class { class };
        CommandVerdict { decision: self.of_class(class), command, reason, classes: BTreeSet::new() }
    }
}

impl CommandVerdict {
    /// Returns the key of the configuration that decides.
    pub fn key(&self) -> String {
        match &self.reason {
            CommandReason::Rule { name, .. } | CommandReason::PerhapsRule { name, .. } => {
                format!("commands.rules.{name}.decision")
            }
            CommandReason::Class { class } => format!("commands.{class}"),
            CommandReason::Unreadable { .. } => "commands.execute".to_owned(),
        }
    }
}

impl CommandRule {
    /// Returns whether a command of a shell text matches the pattern.
    pub fn matches(&self, text: &str) -> bool {
        let mut all = Vec::new();
        for command in shell::commands(text, Shell::Bash).unwrap_or_default() {
            unwrap(command, MAX_WRAPPED, &mut all);
        }
        all.iter().any(|(command, _)| self.pattern.matches(&command.words) == Match::Yes)
    }
}

/// Adds a command and those that it runs, each with what it does itself.
fn unwrap(mut command: SimpleCommand, levels: usize, all: &mut Vec<(SimpleCommand, BTreeSet<CommandClass>)>) {
    // What stands behind `time`.
    let ends = command.words.iter().take_while(|word| word.known() == Some("--")).count();
    command.words.drain(..ends);
    let program = command.words.first().and_then(Word::known).and_then(classify::program);
    let inner = match program {
        Some(_) if levels == 0 => Wrapped::Also(vec![SimpleCommand::unknown()]),
        Some(program) => wrapped(program, &command),
        None => Wrapped::Nothing,
    };
    match inner {
        Wrapped::Nothing => {
            let done = classify::classes(&command);
            all.push((command, done));
        }
        Wrapped::Only(inner) => {
            // It matches rules as well, and does nothing but for what is around it.
            let done = command.classes.clone();
            all.push((command, done));
            for inner in inner {
                unwrap(inner, levels - 1, all);
            }
        }
        Wrapped::Also(inner) => {
            let done = classify::classes(&command);
            all.push((command, done));
            for inner in inner {
                unwrap(inner, levels.saturating_sub(1), all);
            }
        }
    }
}

/// Writes a command on one line, shortened.
fn shown(text: &str) -> String {
    let text = escape::line(text).to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl fmt::Display for CommandReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |reason: &Option<String>| {
            reason.as_ref().map(|reason| format!(" ({})", escape::line(reason))).unwrap_or_default()
        };
        match self {
            Self::Rule { name, pattern, reason } => {
                write!(f, "the rule `{name}` is about `{pattern}`{}", because(reason))
            }
            Self::PerhapsRule { name, pattern, reason } => write!(
                f,
                "the rule `{name}` about `{pattern}`{} may be about it, because words of it are not known before it runs (write them out)",
                because(reason)
            ),
            Self::Class { class } => {
                write!(f, "`[commands] {class}` is about commands that {}", class.what_they_do())
            }
            Self::Unreadable { why } => {
                write!(
                    f,
                    "`[commands]` takes it for any command, because it {why} (write it as plain commands)"
                )
            }
        }
    }
}
