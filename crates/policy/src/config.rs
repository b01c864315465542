//! Configuration: one layer of settings, each with the place where it stands.
//!
//! A layer is a file, the `SANDBOXCTL_*` variables, or the flags of a command line. It says nothing about what
//! holds in the end: layers are merged in [`crate::config::effective`], and checked together in [`crate::policy`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use self::form::Typed;
use self::schema::Key;
pub use self::table::{
    Agent, Container, General, Image, Lifecycle, Limits, Native, Network, Protect, Secret, SharedDir,
};
pub use self::value::{Exposed, ProviderChoice, SecretMode, SecretProvider, Toolchain};
use crate::config::problem::{Located, Owner, Place, Problem};
use crate::rules::env::Name;

pub(crate) mod document;
pub mod effective;
pub(crate) mod form;
pub mod overrides;
pub mod problem;
mod read;
pub mod reference;
pub mod schema;
pub(crate) mod show;
pub(crate) mod table;
pub mod trust;
pub(crate) mod value;
pub mod variables;

/// The longest text that is read, in bytes. No file that a person writes is longer, and reporting every mistake of
/// one that is made to be slow must end soon.
pub const MAX_LENGTH: usize = 64 << 10;

/// A file that settings come from, and what its relative paths mean. The text itself is read elsewhere.
#[derive(Clone, Debug)]
pub struct File {
    /// Whose file it is.
    pub owner: Owner,
    /// How the person knows it, such as `sandbox.toml`; problems and origins show this.
    pub label: Arc<str>,
    /// Where its paths are seen from.
    pub base: Base,
}

/// What relative paths, and paths beneath `~/`, are seen from.
#[derive(Clone, Debug)]
pub struct Base {
    /// The directory that relative paths start at; absolute.
    pub directory: PathBuf,
    /// The caller's home directory; without one, `~/` is an error.
    pub home: Option<PathBuf>,
}

/// One setting, if the layer has it.
pub type Setting<T> = Option<Located<T>>;

/// A list of settings, if the layer has it; each entry knows its own place.
pub type List<T> = Setting<Vec<Located<T>>>;

/// `[env]`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Env {
    /// Variables of the host that enter; a layer replaces the list of the layer beneath.
    pub pass: List<Name>,
    /// Variables that enter besides those, one by one, as flags ask for them.
    pub also_pass: BTreeMap<Name, Place>,
    /// Variables that are set inside.
    pub set: BTreeMap<Name, Located<OsString>>,
}

impl Config {
    /// What means nothing where no container is started, in the order of the reference page: settings that choose one,
    /// and whatever was typed of them. A file may well say more for the case that there is an engine.
    pub(crate) fn only_in_containers(&self) -> Vec<(&'static str, &Place)> {
        let typed = |place: &&Place| matches!(place, Place::Flag(_));
        let container = &self.container;
        let all = [
            ("[image]", self.has_image.as_ref().filter(typed)),
            ("container.platform", self.platform.as_ref().map(|platform| &platform.place)),
            ("container.runtime", container.runtime.as_ref().map(|runtime| &runtime.place)),
            (
                "container.host_path_prefix",
                container.host_path_prefix.as_ref().map(|prefix| &prefix.place).filter(typed),
            ),
            ("container.pull", container.pull.as_ref().map(|pull| &pull.place).filter(typed)),
        ];
        all.into_iter().filter_map(|(key, place)| Some((key, place?))).collect()
    }
}

/// One layer of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The name of the sandbox. No file has it; a flag may.
    pub name: Setting<String>,
    /// What stands outside any table.
    pub general: General,
    /// What runs inside.
    pub agent: Agent,
    /// The platform of a container. No file has it; a flag may.
    pub platform: Setting<String>,
    /// Where `[image]` stands, if it is there.
    pub has_image: Option<Place>,
    /// The image of container providers.
    pub image: Image,
    /// Arguments of the build.
    pub build_args: BTreeMap<String, Located<String>>,
    /// Where `[shared_dirs]` stands, if it is there: an empty one shares nothing.
    pub has_shared_dirs: Option<Place>,
    /// Directories of the host, by name.
    pub shared_dirs: BTreeMap<String, Located<SharedDir>>,
    /// The environment of the agent.
    pub env: Env,
    /// Credentials, by name.
    pub secrets: BTreeMap<String, Located<Secret>>,
    /// The network.
    pub network: Network,
    /// The limits.
    pub limits: Limits,
    /// What stays read-only.
    pub protect: Protect,
    /// What concerns the native provider.
    pub native: Native,
    /// What concerns container providers.
    pub container: Container,
    /// How long a sandbox stays.
    pub lifecycle: Lifecycle,
}

impl Config {
    /// Reads the text of a configuration file; every problem in it is returned at once, from top to bottom.
    pub fn parse(text: &str, file: &File) -> Result<Self, Vec<Problem>> {
        match Self::read(text, file) {
            (config, problems) if problems.is_empty() => Ok(config),
            (_, problems) => Err(problems),
        }
    }

    /// Reads what can be understood of a configuration file, and every problem in it from top to bottom.
    ///
    /// The settings are worth something in spite of problems: merged with other layers and checked, they may
    /// have more of them, and a person wants to see all at once.
    pub fn read(text: &str, file: &File) -> (Self, Vec<Problem>) {
        read::config(text, file)
    }

    /// Sets a key to what a flag or a variable says.
    pub(crate) fn set(&mut self, key: &Key, typed: &Typed<'_>, problems: &mut Vec<Problem>) {
        match schema::split(key.path) {
            ("", name) => self.general.set(name, typed, problems),
            ("agent", name) => self.agent.set(name, typed, problems),
            ("image", name) => self.image.set(name, typed, problems),
            ("network", name) => self.network.set(name, typed, problems),
            ("limits", name) => self.limits.set(name, typed, problems),
            ("protect", name) => self.protect.set(name, typed, problems),
            ("native", name) => self.native.set(name, typed, problems),
            ("container", name) => self.container.set(name, typed, problems),
            ("lifecycle", name) => self.lifecycle.set(name, typed, problems),
            // Where the file chooses the names, no flag can name one key.
            _ => {}
        }
    }
}
