//! The keys of `[sockets]`.

use super::macros::settings;
use crate::config::form::{SocketPlace, SocketText, VariableName};
use crate::config::key::{Key, TextFormat, TrustRule, ValueKind};
use crate::rules::env::Name;
use crate::rules::socket::{GuestSocket, SocketSource};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[
    Key {
        path: "sockets",
        kind: ValueKind::Named(TextFormat::Name),
        doc: "Unix sockets of the host to which the agent can connect, one table for each. Bytes pass, and no descriptors.",
        ..Key::NONE
    },
    Key {
        path: "sockets.*",
        kind: ValueKind::Table,
        doc: "One socket.",
        trust: TrustRule::Needed("it is there: the agent can do whatever the service does for you"),
        ..Key::NONE
    },
];

settings! {
    /// One table of `[sockets]`.
    entry SocketTable at "sockets.*." {
        host: SocketSource as SocketText = {
            doc: "The socket on the host: a path, or `env:NAME` for the one whose path you have in a variable. It does not lie in a \
                 directory that the agent can write.",
            trust: TrustRule::Free,
            example: "\"env:SSH_AUTH_SOCK\"",
            required: true,
        }
        guest: GuestSocket as SocketPlace = {
            doc: "Where the sandbox has it, beneath `/run` or `/tmp`. Without it, where the host has it, if that is there, too; else \
                 `/run/NAME.sock`.",
            trust: TrustRule::Free,
            example: "\"/run/agent.sock\"",
        }
        env_var: Name as VariableName = {
            doc: "The variable in which the agent has its path. Without it, the one that `host` names, if it does.",
            trust: TrustRule::Free,
            example: "\"SSH_AUTH_SOCK\"",
        }
    }
}
