//! The keys of `[network]`.

use super::macros::settings;
use crate::config::form::{AllowedText, HostText, ListOf, NetworkWord, RuleText};
use crate::config::key::{Flag, Key, TrustRule, ValueKind};
use crate::config::problem::Located;
use crate::rules::network;
use crate::rules::network::preset::AllowedHosts;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "network",
    kind: ValueKind::Table,
    doc: "How much of the network the sandbox sees.",
    ..Key::NONE
}];

settings! {
    /// `[network]`
    table NetworkTable at "network." {
        mode: network::NetworkMode as NetworkWord = {
            doc: "`none` leaves the sandbox its own loopback, `allowlist` the named hosts, `open` what the host \
                 reaches. The native provider refuses `open`.",
            trust: TrustRule::Needed("it is `allowlist` or `open`"),
            default: "\"none\"",
            example: "\"none\"",
            flag: Some(Flag {
                long: "network",
                short: None,
                value: "MODE",
                help: "How much of the network is there: none, allowlist or open",
            }),
            variable: Some("SANDBOXCTL_NETWORK"),
        }
        allow: Vec<Located<AllowedHosts>> as ListOf<AllowedText> = {
            doc: "The hosts that may be reached with `allowlist`, which is the mode where this list has an entry and no mode is set. \
                 Without a port, a host may be reached on every port. `preset:NAME` stands for the hosts that a tool needs. \
                 `METHODS URL` lets these requests alone pass. `--allow-host` adds one.",
            trust: TrustRule::Needed("it is not empty, or leaves out a host that is intercepted without the file and may be reached"),
            default: "[]",
            example: "[\"api.github.com:443\", \"*.example.org\", \"preset:npm\"]",
            flag: Some(Flag {
                long: "allow-host",
                short: None,
                value: "HOST[:PORT]",
                help: "Let this host be reached, all of preset:NAME, or requests such as \"GET http://HOST/*\"",
            }),
        }
        deny: Vec<Located<network::Pattern>> as ListOf<RuleText> = {
            doc: "The hosts that may not be reached, or requests that may not be sent, although `allow` matches them.",
            trust: TrustRule::Needed("it leaves out a host that is denied without the file"),
            default: "[]",
            example: "[\"internal.example.org\"]",
        }
        intercept: Vec<Located<network::HostPattern>> as ListOf<HostText> = {
            doc: "The hosts to which the egress proxy ends TLS itself: it sees each request, and adds credentials of `[secrets]`. \
                 Names only; `allow` must have them, too.",
            trust: TrustRule::Needed("it is not empty, or leaves out a host that is intercepted without the file and may be reached"),
            default: "[]",
            example: "[\"api.github.com\"]",
        }
    }
}
