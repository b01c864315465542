//! The keys of `[env]`. Flags add single variables to what they say, so they are read and shown by hand.

use super::LOCAL;
use crate::config::form::{Form, ListOf, VariableName, VariableValue};
use crate::config::schema::{Format, Key, Kind, Trust};

/// Its rows.
pub(super) const KEYS: &[Key] = &[
    Key { path: "env", kind: Kind::Table, doc: "The environment of the agent.", ..Key::NONE },
    Key {
        path: "env.pass",
        kind: ListOf::<VariableName>::KIND,
        doc: "Variables of the host that enter, besides the harmless ones that always do.",
        default: "[]",
        example: "[\"LANG\", \"TERM\"]",
        trust: Trust::Needed("it names a variable that is not one of the harmless ones"),
        ..Key::NONE
    },
    Key {
        path: "env.set",
        kind: Kind::Named(Format::Variable),
        doc: "Variables that are set inside. A secret does not belong here: this file is readable.",
        default: "{}",
        ..Key::NONE
    },
    Key {
        path: "env.set.*",
        kind: VariableValue::KIND,
        doc: "The value of one variable.",
        example: "\"1\"",
        trust: Trust::Needed(LOCAL),
        ..Key::NONE
    },
];
