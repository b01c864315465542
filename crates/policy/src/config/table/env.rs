//! The keys of `[env]`. Flags add single variables to them, so they are read and shown by hand.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::config::form::{ListOf, ValueForm, VariableName, VariableValue};
use crate::config::key::{Key, TextFormat, TrustRule, ValueKind};
use crate::config::problem::{Located, Location};
use crate::config::setting::List;
use crate::rules::env::Name;

/// `[env]`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvTable {
    /// Variables of the host that enter; a layer replaces the list of the layer beneath.
    pub pass: List<Name>,
    /// Variables that enter besides those, one by one, as flags ask for them.
    pub also_pass: BTreeMap<Name, Location>,
    pub set: BTreeMap<Name, Located<OsString>>,
    /// Variables that are not there, whoever else would set them.
    pub unset: BTreeMap<Name, Location>,
}

/// Its rows.
pub(super) const KEYS: &[Key] = &[
    Key { path: "env", kind: ValueKind::Table, doc: "The environment of the agent.", ..Key::NONE },
    Key {
        path: "env.pass",
        kind: ListOf::<VariableName>::KIND,
        doc: "Variables of the host that enter, besides the harmless ones that always do.",
        default: "[]",
        example: "[\"LANG\", \"TERM\"]",
        trust: TrustRule::Needed("it names a variable that is not one of the harmless ones"),
        ..Key::NONE
    },
    Key {
        path: "env.set",
        kind: ValueKind::Named(TextFormat::Variable),
        doc: "Variables that are set inside. A secret does not belong here: this file is readable.",
        default: "{}",
        ..Key::NONE
    },
    Key {
        path: "env.set.*",
        kind: VariableValue::KIND,
        doc: "The value of one variable.",
        example: "\"1\"",
        trust: TrustRule::LOCAL,
        ..Key::NONE
    },
    Key {
        path: "env.unset",
        kind: ListOf::<VariableName>::KIND,
        doc: "Variables that the agent does not have, whatever would set them: the caller's environment, an image, or what every \
             sandbox has. `A = \"\"` in `env.set` sets an empty one. The lists of all files and flags add up.",
        default: "[]",
        example: "[\"LANG\"]",
        trust: TrustRule::Free,
        ..Key::NONE
    },
];
