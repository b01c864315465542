//! The keys of `[lifecycle]`.

use std::time::Duration;

use super::macros::settings;
use crate::config::form::Lifetime;
use crate::config::key::{Key, Support, TrustRule, ValueKind};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] =
    &[Key { path: "lifecycle", kind: ValueKind::Table, doc: "How long a sandbox stays.", ..Key::NONE }];

settings! {
    /// `[lifecycle]`
    table LifecycleTable at "lifecycle." {
        idle_timeout: Duration as Lifetime = {
            doc: "How long a sandbox without a session stays alive.",
            trust: TrustRule::Free,
            example: "\"15m\"",
            status: Support::NotYet("every value"),
        }
    }
}
