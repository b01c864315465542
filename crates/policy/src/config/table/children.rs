//! The keys of `[children]`.

use std::time::Duration;

use super::macros::settings;
use crate::config::form::{ChildCount, ChildDepth, CpuLimit, MemoryLimit, PidsLimit, TimeLimit};
use crate::config::key::{Flag, Key, TrustRule, ValueKind};
use crate::rules::limits::{Bytes, MilliCpus};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "children",
    kind: ValueKind::Table,
    doc: "Sandboxes that the agent may start beside its own, each with a part of what its own has.",
    ..Key::NONE
}];

settings! {
    /// `[children]`; an inner `None` is unlimited.
    table ChildrenTable at "children." {
        max: u32 as ChildCount = {
            doc: "How many live at once. The agent starts one over the socket `/run/sandbox/children.sock`.",
            trust: TrustRule::Needed("it is higher than what holds without the file"),
            default: "0",
            example: "2",
            flag: Some(Flag {
                long: "children",
                short: None,
                value: "NUMBER",
                help: "How many sandboxes the agent may start beside its own at once",
            }),
        }
        depth: u32 as ChildDepth = {
            doc: "How many generations there are: with 2, a child may start children of its own.",
            trust: TrustRule::Needed("it is higher than what holds without the file"),
            default: "1",
            example: "2",
        }
        memory: Option<Bytes> as MemoryLimit = {
            doc: "Memory of each child, those that it starts included. `limits.memory` is what the sandbox and all its children have together, so \
                  the sandbox itself has what is left. Without the key, each has an equal part.",
            trust: TrustRule::Needed("it is higher than what your own settings say"),
            example: "\"256m\"",
        }
        cpus: Option<MilliCpus> as CpuLimit = {
            doc: "Processors of each child, taken out of `limits.cpus` in the same way: without the key an equal part.",
            trust: TrustRule::Needed("it is higher than what your own settings say"),
            example: "0.5",
        }
        pids: Option<u32> as PidsLimit = {
            doc: "Processes and threads of each child, taken out of `limits.pids` in the same way: without the key an equal part.",
            trust: TrustRule::Needed("it is higher than what your own settings say"),
            example: "128",
        }
        timeout: Option<Duration> as TimeLimit = {
            doc: "How long a child may run; without the key, as long as `limits.timeout` says. It ends with its sandbox in any case.",
            trust: TrustRule::Needed("it is higher than what your own settings say"),
            example: "\"10m\"",
        }
    }
}
