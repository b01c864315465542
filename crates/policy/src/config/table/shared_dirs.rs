//! The keys of `[shared_dirs]`.

use std::path::PathBuf;

use super::macros::settings;
use crate::config::form::{HiddenPath, HostPath, InsidePlace, ListOf, ModeWord, Size, Suffix, TrueOrFalse};
use crate::config::key::{Key, TextFormat, TrustRule, ValueKind};
use crate::config::problem::Located;
use crate::plan::BoundaryMode;
use crate::rules::guest::GuestPlace;
use crate::rules::hide::HidePattern;
use crate::rules::limits::Bytes;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[
    Key {
        path: "shared_dirs",
        kind: ValueKind::Named(TextFormat::Name),
        doc: "Directories of the host inside the sandbox, one table for each. Where no file has this table, the \
             working directory is shared as `/workspace`, read and write; an empty table shares nothing.",
        ..Key::NONE
    },
    Key { path: "shared_dirs.*", kind: ValueKind::Table, doc: "One boundary.", ..Key::NONE },
];

settings! {
    /// One table of `[shared_dirs]`.
    entry SharedDirTable at "shared_dirs.*." {
        host: PathBuf as HostPath = {
            doc: "The directory on the host, or a single regular file, which can only be shared with `mode = \"ro\"`.",
            trust: TrustRule::Needed(
                "it leads out of the directory of the file, as written or once links are resolved; or when it can be written \
                 and is, or lies in, a protected path; or when the table takes the place of one of your own that shares another directory",
            ),
            example: "\"./workspace\"",
            required: true,
        }
        guest: GuestPlace as InsidePlace = {
            doc: "Where the sandbox sees it. `same` is the path that it has on the host, which editable installs, virtual \
                 environments and caches of builds have in their files.",
            trust: TrustRule::Needed("the table takes the place of one of your own, which has it elsewhere"),
            example: "\"/workspace\"",
            required: true,
        }
        mode: BoundaryMode as ModeWord = {
            doc: "`rw` to read and write, `ro` to read only. A single file is shared with `ro` alone.",
            trust: TrustRule::Needed("it is `rw`, where your own settings share the directory, one around it or one in it read-only"),
            default: "\"rw\"",
            example: "\"ro\"",
        }
        exec: bool as TrueOrFalse = {
            doc: "Whether programs in it can be executed; `false` is `noexec` of mount(8).",
            trust: TrustRule::Needed("it is `true`, where your own settings say `false` of the directory, one around it or one in it"),
            default: "true",
            example: "false",
        }
        optional: bool as TrueOrFalse = {
            doc: "Whether the sandbox starts without it where the host has nothing at its path.",
            trust: TrustRule::Needed("the table takes the place of one of your own that has to be there"),
            default: "false",
            example: "true",
        }
        hide: Vec<Located<HidePattern>> as ListOf<HiddenPath> = {
            doc: "What is hidden in it, besides what `protect.hide` names: patterns as in gitignore(5), without `!` and `[`.",
            trust: TrustRule::Needed("the table takes the place of one of your own that hides more"),
            default: "[]",
            example: "[\".env\", \"secrets/\"]",
        }
        suffixes: Vec<Located<String>> as ListOf<Suffix> = {
            doc: "The only suffixes of files that the file tools (`sandboxctl fs`) touch there. Commands are not bound by it.",
            trust: TrustRule::Needed("your own settings let the file tools touch fewer files there"),
            example: "[\".md\", \".pdf\"]",
        }
        max_file_bytes: Bytes as Size = {
            doc: "The largest file that the file tools (`sandboxctl fs`) touch there. Commands are not bound by it.",
            trust: TrustRule::Needed("your own settings have a lower bound there"),
            example: "10_000_000",
        }
    }
}
