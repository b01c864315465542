//! Settings as a person reads them: TOML text for a value, and where it comes from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::key::{self, Key};
use super::value::{Expose, ProviderChoice, SecretMode, SecretProvider};
use crate::agents::Profile;
use crate::config::problem::Located;
use crate::plan::{BoundaryMode, Layer, OnReplaced, Pull, SecretSource};
use crate::protect::RelativePath;
use crate::rules::env::Name;
use crate::rules::git::RepositoryAccess;
use crate::rules::guest::{GuestPlace, StartDirectory};
use crate::rules::hide::HidePattern;
use crate::rules::limits::{Bytes, MilliCpus};
use crate::rules::network;
use crate::rules::network::preset::AllowedHosts;
use crate::rules::socket::{GuestSocket, SocketSource};
use crate::rules::upstream::{CredentialHeader, HeaderTemplate, UpstreamUrl};
use crate::rules::user::UserSpec;
use crate::rules::verdict::Decision;
use crate::rules::verdict::Origin;
use crate::rules::worker::Inherit;
use crate::text::{escape, time};

/// One setting that holds.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SettingRow {
    /// Its key, such as `limits.memory`.
    pub key: String,
    /// Its value, as TOML text.
    pub value: String,
    pub origin: Origin,
}

/// The settings that were shown so far, by key.
#[derive(Debug, Default)]
pub(crate) struct Rows(BTreeMap<String, SettingRow>);

impl Rows {
    pub(crate) fn setting<T: Show>(&mut self, table: &str, name: &str, setting: Option<&Located<T>>) {
        if let Some(Located { value, location }) = setting {
            self.insert(key::join(table, name), value.show(), location.origin());
        }
    }

    pub(crate) fn insert(&mut self, key: String, value: String, origin: Origin) {
        self.0.insert(key.clone(), SettingRow { key, value, origin });
    }

    /// Lists every key in the order of `keys`, with its default where nothing else was shown. Names that files
    /// chose come in their own order.
    pub(crate) fn into_ordered(mut self, keys: &[Key]) -> Vec<SettingRow> {
        let mut rows = Vec::new();
        for key in keys {
            match key.path.split_once('*') {
                None => {
                    let default = || SettingRow {
                        key: key.path.to_owned(),
                        value: key.default.to_owned(),
                        origin: Origin::Default,
                    };
                    // An empty table of names holds only where no name was chosen.
                    let within =
                        |name: &String| name.strip_prefix(key.path).is_some_and(|rest| rest.starts_with('.'));
                    let holds = !key.default.is_empty() && !self.0.keys().any(within);
                    rows.extend(self.0.remove(key.path).or_else(|| holds.then(default)));
                }
                // All keys of one name stay together: they follow where the first of them belongs.
                Some((table, _)) => {
                    let chosen: Vec<_> =
                        self.0.keys().filter(|key| key.starts_with(table)).cloned().collect();
                    rows.extend(chosen.iter().filter_map(|key| self.0.remove(key)));
                }
            }
        }
        rows
    }
}

/// A value as TOML text.
pub(crate) trait Show {
    fn show(&self) -> String;
}

/// Shows a value as the text that it is read from.
macro_rules! show_as_text {
    ($($kind:ty),* $(,)?) => {
        $(impl Show for $kind {
            fn show(&self) -> String {
                quoted(self)
            }
        })*
    };
}

show_as_text!(
    Bytes,
    Expose,
    GuestPlace,
    GuestSocket,
    HidePattern,
    Layer,
    AllowedHosts,
    BoundaryMode,
    Name,
    OnReplaced,
    ProviderChoice,
    Profile,
    Pull,
    RelativePath,
    RepositoryAccess,
    Inherit,
    SecretMode,
    SecretProvider,
    SocketSource,
    StartDirectory,
    UserSpec,
    String,
    network::NetworkMode,
    network::HostPattern,
    network::Pattern,
    UpstreamUrl,
    CredentialHeader,
    Decision,
    HeaderTemplate,
);

impl Show for bool {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for u32 {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for MilliCpus {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for PathBuf {
    fn show(&self) -> String {
        quoted(&self.to_string_lossy())
    }
}

impl Show for OsString {
    fn show(&self) -> String {
        quoted(&self.to_string_lossy())
    }
}

impl Show for SecretSource {
    fn show(&self) -> String {
        match self {
            Self::Env(name) => quoted(&format_args!("env:{name}")),
            Self::File(path) => quoted(&format_args!("file:{}", path.to_string_lossy())),
            Self::Command(text) => quoted(&format_args!("command:{text}")),
        }
    }
}

impl Show for Duration {
    fn show(&self) -> String {
        quoted(&time::duration(*self))
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| quoted(&key::UNLIMITED), Show::show)
    }
}

impl<T: Show> Show for Vec<T> {
    fn show(&self) -> String {
        let entries: Vec<String> = self.iter().map(Show::show).collect();
        format!("[{}]", entries.join(", "))
    }
}

impl<T: Show> Show for Located<T> {
    fn show(&self) -> String {
        self.value.show()
    }
}

/// Writes a basic string of TOML: quotes, backslashes and control characters are escaped.
pub(crate) fn quoted(text: &dyn Display) -> String {
    let mut out = String::from("\"");
    for c in text.to_string().chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Each of them lies below U+10000, so four digits hold it.
            c if escape::is_escaped(c) => out.extend([r"\u", &format!("{:04X}", u32::from(c))]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
