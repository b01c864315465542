//! The keys of `[pool]`.

use std::time::Duration;

use super::macros::settings;
use crate::config::form::{Age, PoolSize};
use crate::config::key::{Key, TrustRule, ValueKind};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "pool",
    kind: ValueKind::Table,
    doc: "Containers that are made ahead, so that `run` and `create` find one that is warm.",
    ..Key::NONE
}];

settings! {
    /// `[pool]`
    table PoolTable at "pool." {
        size: u32 as PoolSize = {
            doc: "How many containers wait. Each `run` or `create` takes one, and has another made in the background. Native sandboxes \
                  have no pool: they start in milliseconds.",
            trust: TrustRule::Needed("it is higher than what holds without the file"),
            default: "0",
            example: "2",
        }
        max_age: Duration as Age = {
            doc: "How long a container waits to be taken. Then it ends by itself, and is not replaced before the next `run`.",
            trust: TrustRule::Needed("it is longer than what holds without the file"),
            default: "\"10m\"",
            example: "\"30m\"",
        }
    }
}
