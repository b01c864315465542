//! What stands outside any table of `sandbox.toml`.

use super::macros::settings;
use crate::config::form::{ProviderWord, TrueOrFalse, Version};
use crate::config::key::{Flag, TrustRule};
use crate::config::value::ProviderChoice;

settings! {
    /// Settings outside any table.
    table GeneralTable at "" {
        version: u32 as Version = {
            doc: "The version of this format.",
            trust: TrustRule::Free,
            default: "1",
            example: "1",
        }
        provider: ProviderChoice as ProviderWord = {
            doc: "Who runs the sandbox. `auto` takes an engine that answers when the file has an `[image]` table, and \
                 `native` otherwise or when none answers; it says which and why. `local` isolates nothing, and is only ever taken when it is asked for by name.",
            trust: TrustRule::Needed("it is `local`, or another one than your own settings name"),
            default: "\"auto\"",
            example: "\"native\"",
            flag: Some(Flag {
                long: "provider",
                short: None,
                value: "PROVIDER",
                help: "Who runs the sandbox: auto, docker, podman, native or local (no isolation at all)",
            }),
            variable: Some("SANDBOXCTL_PROVIDER"),
        }
        require_os_sandbox: bool as TrueOrFalse = {
            doc: "Whether a start must fail where the operating system cannot isolate. When a file or a flag sets \
                 it to `true`, `local` is refused even when it is asked for by name.",
            trust: TrustRule::Needed("it is `false`"),
            default: "true",
            example: "true",
        }
    }
}
