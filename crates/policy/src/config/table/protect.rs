//! The keys of `[protect]`.

use super::macros::settings;
use crate::config::form::{Depth, HiddenPath, ListOf, ProtectedPath, WhenReplaced};
use crate::config::key::{Flag, Key, TrustRule, ValueKind};
use crate::config::problem::Located;
use crate::plan::OnReplaced;
use crate::protect::RelativePath;
use crate::rules::hide::HidePattern;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "protect",
    kind: ValueKind::Table,
    doc: "What stays read-only inside writable boundaries, and what is not shown of any.",
    ..Key::NONE
}];

settings! {
    /// `[protect]`
    table ProtectTable at "protect." {
        paths: Vec<Located<RelativePath>> as ListOf<ProtectedPath> = {
            doc: "Paths that are protected besides the built-in ones; a last name of `*.suffix`, `name.*`, `name-*` or `name.*.suffix` stands for every name that begins and ends so. Where nothing is \
                 yet, whatever appears is quarantined. The lists of all files add up.",
            trust: TrustRule::Free,
            default: "[]",
            example: "[\".github/workflows\"]",
        }
        hide: Vec<Located<HidePattern>> as ListOf<HiddenPath> = {
            doc: "What is hidden in every shared directory: patterns as in gitignore(5), without `!` and `[`. What is there at the start is \
                 masked. The lists of all files and flags add up.",
            trust: TrustRule::Free,
            default: "[]",
            example: "[\".env\", \".env.*\", \"secrets/\"]",
            flag: Some(Flag {
                long: "hide",
                short: None,
                value: "PATTERN",
                help: "Hide what is called so in every shared directory, such as .env or secrets/ (repeatable)",
            }),
        }
        allow: Vec<Located<RelativePath>> as ListOf<ProtectedPath> = {
            doc: "Built-in paths that are given up, by name. A name with a leading dot that no list knows is not reported where it is new.",
            trust: TrustRule::Needed("it is not empty"),
            default: "[]",
            example: "[\".git/config\"]",
        }
        depth: u32 as Depth = {
            doc: "How many directories deep nested repositories and sockets are searched.",
            trust: TrustRule::Needed("it is lower than what holds without the file"),
            default: "3",
            example: "4",
        }
        on_replaced: OnReplaced as WhenReplaced = {
            doc: "What happens when a program of yours replaces a protected file while the sandbox runs, which takes its protection \
                 away, and the file then runs something that it did not run before: `end` ends the sandbox, `warn` says so. Either \
                 way the file of the start is put back in the end.",
            trust: TrustRule::Needed("it is `warn`"),
            default: "\"end\"",
            example: "\"warn\"",
        }
    }
}

impl ProtectTable {
    /// Lists the protected paths that these settings give up.
    pub(crate) fn given_up(&self) -> Vec<RelativePath> {
        self.allow.iter().flat_map(|list| &list.value).map(|path| path.value.clone()).collect()
    }
}
