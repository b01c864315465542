//! The keys of `[commands]`.

use super::macros::settings;
use crate::config::form::{ListOf, NonEmptyText, OneOf};
use crate::config::key::{Key, TextFormat, TrustRule, ValueKind};
use crate::config::problem::Located;
use crate::rules::verdict::Decision;

/// What needs trust of a decision.
const LOOSER: TrustRule = TrustRule::Needed("it is less strict than what holds without the file");

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "commands",
    kind: ValueKind::Table,
    doc: "Which commands run that a model asks for with the shell tools of `sandboxctl mcp serve` and `sandboxctl hook`: each is allowed, \
          asked a person about, or denied. It is for the person who reads along; the boundary is the sandbox.",
    ..Key::NONE
}];

/// The rows of the table of rules.
pub(super) const RULES: &[Key] = &[
    Key {
        path: "commands.rules",
        kind: ValueKind::Named(TextFormat::Name),
        doc: "Commands about which is decided by their words, whatever they do, one table for each. Where several match, the strictest \
              decides.",
        ..Key::NONE
    },
    Key {
        path: "commands.rules.*",
        kind: ValueKind::Table,
        doc: "One rule.",
        trust: TrustRule::Needed(
            "it allows commands, is less strict than what your own settings say of a class, or takes the place of a rule of yours",
        ),
        ..Key::NONE
    },
];

settings! {
    /// `[commands]`.
    table CommandsTable at "commands." {
        read: Decision as OneOf<Decision> = {
            doc: "Commands that read files and print, such as `ls`, `grep` and `git log`.",
            trust: LOOSER,
            default: "\"allow\"",
            example: "\"allow\"",
        }
        write: Decision as OneOf<Decision> = {
            doc: "Commands that change files, such as `rm`, `git commit` and `> file`.",
            trust: LOOSER,
            default: "\"allow\"",
            example: "\"ask\"",
        }
        execute: Decision as OneOf<Decision> = {
            doc: "Commands that run programs of which no more is known, and all that cannot be taken apart.",
            trust: LOOSER,
            default: "\"allow\"",
            example: "\"ask\"",
        }
        network: Decision as OneOf<Decision> = {
            doc: "Commands that connect to other hosts, such as `curl`, `git push` and `npm install`.",
            trust: LOOSER,
            default: "\"allow\"",
            example: "\"ask\"",
        }
    }
}

settings! {
    /// One table of `[commands.rules]`.
    entry CommandRuleTable at "commands.rules.*." {
        pattern: Vec<Located<String>> as ListOf<NonEmptyText> = {
            doc: "The words that a command begins with: each a word, several with `|` between them of which one is meant, or `*` for any. The \
                  program may be named by a path. `git -C DIR push` and `timeout 5 git push` begin with `git push`, too.",
            trust: TrustRule::Free,
            example: "[\"git\", \"push\"]",
            required: true,
        }
        decision: Decision as OneOf<Decision> = {
            doc: "What is done about them.",
            trust: TrustRule::Free,
            example: "\"ask\"",
            required: true,
        }
        reason: String as NonEmptyText = {
            doc: "Why, for the model and the person who is asked.",
            trust: TrustRule::Free,
            example: "\"a person pushes\"",
        }
        matching: Vec<Located<String>> as ListOf<NonEmptyText> = {
            doc: "Commands that the pattern has to match. They are checked when the file is read.",
            trust: TrustRule::Free,
            example: "[\"git push origin main\"]",
        }
        not_matching: Vec<Located<String>> as ListOf<NonEmptyText> = {
            doc: "Commands that it must not match, checked in the same way.",
            trust: TrustRule::Free,
            example: "[\"git pull\"]",
        }
    }
}
