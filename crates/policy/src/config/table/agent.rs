//! The keys of `[agent]`.

use std::ffi::OsString;

use super::macros::settings;
use crate::agents::Profile;
use crate::config::form::{CommandLine, ProfileWord, Start, TrueOrFalse, UserText};
use crate::config::key::{Flag, Key, Support, TrustRule, ValueKind};
use crate::rules::guest::StartDirectory;
use crate::rules::user::UserSpec;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] =
    &[Key { path: "agent", kind: ValueKind::Table, doc: "What runs inside, and as whom.", ..Key::NONE }];

settings! {
    /// `[agent]`
    table AgentTable at "agent." {
        command: Vec<OsString> as CommandLine = {
            doc: "The command with its arguments. What follows `--` on the command line replaces it.",
            trust: TrustRule::LOCAL,
            default: "[\"bash\", \"-l\"]",
            example: "[\"python3\", \"agent.py\"]",
        }
        profile: Profile as ProfileWord = {
            doc: "A published agent. It stands for the settings that `sandboxctl agent show` lists, beneath those of every file: \
                 its command, credentials in proxy mode, hosts, and a persistent home directory. Lists of hosts and of \
                 toolchains add up.",
            trust: TrustRule::Needed("it is there"),
            example: "\"claude-code\"",
            flag: Some(Flag {
                long: "agent",
                short: None,
                value: "NAME",
                help: "Set up the sandbox for this agent: `sandboxctl agent ls` lists them",
            }),
        }
        user: UserSpec as UserText = {
            doc: "The user that the agent runs as: a user or user:group of the image, each by name or number. The native \
                 provider has one user, `agent`, with the caller's uid, or 1000 for root.",
            trust: TrustRule::Needed("it is root"),
            default: "\"agent\"",
            example: "\"agent\"",
            status: Support::NotYet("every user but `agent`"),
            flag: Some(Flag { long: "user", short: Some('u'), value: "USER", help: "Be this user inside" }),
        }
        workdir: StartDirectory as Start = {
            doc: "Where the command starts, as the sandbox sees it. By default that is where the caller stands, if \
                 that is shared, else `/workspace`, and without a boundary there `/home/agent`. A relative path is \
                 below that.",
            trust: TrustRule::Free,
            example: "\"/workspace/project\"",
            flag: Some(Flag {
                long: "workdir",
                short: Some('w'),
                value: "DIR",
                help: "Start in this directory inside",
            }),
        }
        init: bool as TrueOrFalse = {
            doc: "Whether PID 1 is an init that reaps orphans and forwards signals; with `false` the agent itself \
                 becomes PID 1.",
            trust: TrustRule::Free,
            default: "true",
            example: "true",
        }
    }
}
