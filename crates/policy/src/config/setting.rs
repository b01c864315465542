//! One setting, the file that it comes from, and what its relative paths start at.

use std::path::PathBuf;
use std::sync::Arc;

use super::problem::{Located, Scope};

/// A file that settings come from, and what its relative paths mean. The text itself is read elsewhere.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    pub scope: Scope,
    /// How the person knows it, such as `sandbox.toml`; problems and origins show this.
    pub label: Arc<str>,
    pub base: PathBase,
}

/// What relative paths, and paths beneath `~/`, are seen from.
#[derive(Clone, Debug)]
pub struct PathBase {
    /// The directory that relative paths start at; absolute.
    pub directory: PathBuf,
    /// The caller's home directory; without one, `~/` is an error.
    pub home: Option<PathBuf>,
}

/// One setting, if the layer has it.
pub type Setting<T> = Option<Located<T>>;

/// A list of settings, if the layer has it; each entry knows its own place.
pub type List<T> = Setting<Vec<Located<T>>>;
