//! The keys of `[lifecycle]`.

use std::time::Duration;

use super::macros::settings;
use crate::config::form::TimeLimit;
use crate::config::key::{Flag, Key, TrustRule, ValueKind};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "lifecycle",
    kind: ValueKind::Table,
    doc: "How long a persistent sandbox lives.",
    ..Key::NONE
}];

settings! {
    /// `[lifecycle]`
    table LifecycleTable at "lifecycle." {
        idle_timeout: Option<Duration> as TimeLimit = {
            doc: "How long a persistent sandbox waits for a command before it ends.",
            trust: TrustRule::Needed("it is higher than what holds without the file"),
            default: "\"unlimited\"",
            example: "\"15m\"",
            flag: Some(Flag {
                long: "idle-timeout",
                short: None,
                value: "TIME",
                help: "How long a persistent sandbox waits for a command before it ends",
            }),
        }
        max_duration: Option<Duration> as TimeLimit = {
            doc: "How old a persistent sandbox gets: then it ends, whatever runs in it.",
            trust: TrustRule::Needed("it is higher than what holds without the file"),
            default: "\"unlimited\"",
            example: "\"8h\"",
            flag: Some(Flag {
                long: "max-duration",
                short: None,
                value: "TIME",
                help: "How old a persistent sandbox gets",
            }),
        }
    }
}
