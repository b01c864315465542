//! The keys of `[git]`.

use super::macros::settings;
use crate::config::form::WorktreeRepository;
use crate::config::key::{Flag, Key, TrustRule, ValueKind};
use crate::rules::git::RepositoryAccess;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "git",
    kind: ValueKind::Table,
    doc: "What git has inside besides the shared directories.",
    ..Key::NONE
}];

settings! {
    /// `[git]`
    table GitTable at "git." {
        repository: RepositoryAccess as WorktreeRepository = {
            doc: "What the agent may do in the repository of a shared directory that is a linked worktree (git-worktree(1)), which lies elsewhere \
                  and is shared, too, where git looks for it: `rw` lets it commit and change branches, `ro` lets it read the history, and \
                  with `none` git does not work there. Where the directory is read-only, so is its repository.",
            trust: TrustRule::Needed("it allows more than what holds without the file"),
            default: "\"rw\"",
            example: "\"ro\"",
            flag: Some(Flag {
                long: "git-repository",
                short: None,
                value: "ACCESS",
                help: "What the agent may do in the repository of a linked worktree: rw, ro or none",
            }),
        }
    }
}
