//! The keys of `[workers]`.

use std::path::PathBuf;

use super::macros::settings;
use crate::config::form::{HostPath, ListOf, NonEmptyText, OneOf, Size, Suffix, WorkerCount, WorkerFiles};
use crate::config::key::{Key, TextFormat, TrustRule, ValueKind};
use crate::config::problem::Located;
use crate::rules::limits::Bytes;
use crate::rules::worker::Inherit;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[
    Key {
        path: "workers",
        kind: ValueKind::Named(TextFormat::Name),
        doc: "Sandboxes to which a model can delegate a part of its work with the tool `delegate` of `sandboxctl mcp serve`, one table for each.",
        ..Key::NONE
    },
    Key {
        path: "workers.*",
        kind: ValueKind::Table,
        doc: "One worker.",
        trust: TrustRule::Needed("it takes the place of a worker of yours"),
        ..Key::NONE
    },
];

settings! {
    /// One table of `[workers]`.
    entry WorkerTable at "workers.*." {
        config: PathBuf as HostPath = {
            doc: "The file with the worker's own settings: a `sandbox.toml` under any name, whose `agent.command` is what it runs. Where it needs trust, \
                  it needs its own. It has no `[workers]`.",
            trust: TrustRule::Free,
            example: "\"reviewer.toml\"",
            required: true,
        }
        description: String as NonEmptyText = {
            doc: "What the worker is for, for the model.",
            trust: TrustRule::Free,
            example: "\"reads the code and says what is wrong with it\"",
        }
        inherit: Inherit as OneOf<Inherit> = {
            doc: "What the worker may have: with `subset` nothing that this sandbox does not have, or nothing starts; with `none` whatever its own file says.",
            trust: TrustRule::Needed("it is `none`"),
            default: "\"subset\"",
            example: "\"subset\"",
        }
        max: u32 as WorkerCount = {
            doc: "How many of it live at once.",
            trust: TrustRule::Needed("it is higher than 1"),
            default: "1",
            example: "2",
        }
        max_attachments: u32 as WorkerFiles = {
            doc: "How many files it is handed at most.",
            trust: TrustRule::Free,
            default: "8",
            example: "2",
        }
        max_attachment_bytes: Bytes as Size = {
            doc: "The size of the largest of them.",
            trust: TrustRule::Free,
            default: "1048576",
            example: "\"64k\"",
        }
        attachment_suffixes: Vec<Located<String>> as ListOf<Suffix> = {
            doc: "The only suffixes that they may have; without it, any.",
            trust: TrustRule::Free,
            example: "[\".md\", \".py\"]",
        }
    }
}
