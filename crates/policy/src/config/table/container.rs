//! The keys of `[container]`.

use std::path::PathBuf;

use super::macros::settings;
use crate::config::form::{PathPrefix, Runtime, WhenPulled};
use crate::config::key::{Flag, Key, Support, TrustRule, ValueKind};
use crate::plan::Pull;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "container",
    kind: ValueKind::Table,
    doc: "What concerns the providers that run containers.",
    status: Support::Containers,
    ..Key::NONE
}];

settings! {
    /// `[container]`
    table ContainerTable at "container." {
        runtime: String as Runtime = {
            doc: "The runtime of the engine, where it is not the engine's own choice.",
            trust: TrustRule::Needed("it is set"),
            example: "\"runsc\"",
            status: Support::Containers,
            flag: Some(Flag {
                long: "runtime",
                short: None,
                value: "NAME",
                help: "The runtime of the engine, such as runsc",
            }),
        }
        host_path_prefix: PathBuf as PathPrefix = {
            doc: "What stands before a host path as the engine sees it, where the engine runs elsewhere.",
            trust: TrustRule::Needed("it is set"),
            default: "\"\"",
            example: "\"/host_mnt\"",
            status: Support::Containers,
            flag: Some(Flag {
                long: "host-path-prefix",
                short: None,
                value: "DIR",
                help: "What stands before a host path as the engine sees it, where sandboxctl runs in a container",
            }),
            variable: Some("SANDBOXCTL_HOST_DIR"),
        }
        pull: Pull as WhenPulled = {
            doc: "When the engine fetches the image.",
            trust: TrustRule::Needed("your own settings say `never`, and it does not"),
            default: "\"missing\"",
            example: "\"never\"",
            status: Support::Containers,
            flag: Some(Flag {
                long: "pull",
                short: None,
                value: "WHEN",
                help: "When the engine fetches the image: missing, always or never",
            }),
        }
    }
}
