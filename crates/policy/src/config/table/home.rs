//! The keys of `[home]`.

use super::macros::settings;
use crate::config::form::{NameText, TrueOrFalse};
use crate::config::key::{Flag, Key, TrustRule, ValueKind};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "home",
    kind: ValueKind::Table,
    doc: "The home directory of the agent, `/home/agent`.",
    ..Key::NONE
}];

settings! {
    /// `[home]`
    table HomeTable at "home." {
        keep: bool as TrueOrFalse = {
            doc: "Whether the home directory is persistent: the next sandbox of the same project has it again, with logins, \
                 histories and caches. It lies in the caller's state directory, and nothing on the host obeys what is in it.",
            trust: TrustRule::Needed("it is true"),
            default: "false",
            example: "true",
        }
        name: String as NameText = {
            doc: "The name of a persistent home directory, for every sandbox that names it. It implies `keep`.",
            trust: TrustRule::Needed("it is there"),
            example: "\"claude\"",
            flag: Some(Flag {
                long: "home",
                short: None,
                value: "NAME",
                help: "Keep the home directory inside under this name, for every sandbox that names it",
            }),
        }
    }
}
