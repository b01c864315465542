//! The keys of `[native]`.

use super::macros::settings;
use crate::config::form::{ExposedPath, LayerName, ListOf};
use crate::config::key::{Flag, Key, TrustRule, ValueKind};
use crate::config::problem::Located;
use crate::config::value::Expose;
use crate::plan::Layer;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "native",
    kind: ValueKind::Table,
    doc: "What concerns the native provider alone.",
    ..Key::NONE
}];

settings! {
    /// `[native]`
    table NativeTable at "native." {
        require: Vec<Located<Layer>> as ListOf<LayerName> = {
            doc: "The layers of isolation without which nothing starts. The others are used where they are there, \
                 and reported either way.",
            trust: TrustRule::Needed("it leaves out a layer that is required without the file"),
            default: "[\"user\", \"mount\", \"pid\", \"net\", \"ipc\", \"landlock\", \"seccomp\", \"capabilities\"]",
            example: "[\"user\", \"mount\", \"pid\", \"net\", \"ipc\", \"landlock\", \"seccomp\", \"capabilities\", \"memory\"]",
        }
        expose: Vec<Located<Expose>> as ListOf<ExposedPath> = {
            doc: "Toolchains of the host that are readable inside at the same path: presets or paths. Never \
                 credentials. `--expose` adds one.",
            trust: TrustRule::Needed("it names a path"),
            default: "[]",
            example: "[\"rust\", \"node\", \"python\"]",
            flag: Some(Flag {
                long: "expose",
                short: None,
                value: "PRESET|PATH",
                help: "Show one more toolchain of the host, read-only: a preset such as node, or a path",
            }),
        }
    }
}
