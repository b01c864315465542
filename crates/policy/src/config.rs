//! Configuration: one layer of settings, each with the place where it stands.
//!
//! A layer is a file, the `SANDBOXCTL_*` variables, or the flags of a command line. It does not decide what
//! holds in the end: layers are merged in [`crate::config::effective`], and checked together in [`crate::Policy`].

use std::collections::BTreeMap;

use self::form::Typed;
use self::problem::{Located, Location, Problem};
pub use self::setting::{ConfigFile, List, PathBase, Setting};
pub use self::table::{
    AgentTable, ChildrenTable, CommandRuleTable, CommandsTable, ContainerTable, EnvTable, GeneralTable,
    GitTable, HomeTable, ImageTable, LifecycleTable, LimitsTable, NativeTable, NetworkTable, PoolTable,
    ProtectTable, SecretTable, SharedDirTable, SocketTable, WorkerTable,
};
pub use self::value::{Expose, ProviderChoice, SecretMode, SecretProvider, Toolchain};

pub mod defaults;
pub(crate) mod document;
pub mod effective;
pub(crate) mod form;
pub mod key;
pub mod overrides;
pub mod problem;
mod read;
pub mod reference;
pub mod schema;
mod setting;
pub(crate) mod show;
pub(crate) mod table;
pub mod trust;
pub(crate) mod value;
pub mod variables;

/// The longest text that is read, in bytes. No file that a person writes is longer, and reporting every mistake of
/// one that is made to be slow must end soon.
pub const MAX_LENGTH: usize = 64 << 10;

/// One layer of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The name of the sandbox. No file has it; a flag may.
    pub name: Setting<String>,
    /// What stands outside any table.
    pub general: GeneralTable,
    pub agent: AgentTable,
    pub home: HomeTable,
    /// The platform of a container. No file has it; a flag may.
    pub platform: Setting<String>,
    /// Where `[image]` stands, if it is there.
    pub has_image: Option<Location>,
    pub image: ImageTable,
    pub build_args: BTreeMap<String, Located<String>>,
    /// Where `[shared_dirs]` stands, if it is there: an empty one shares nothing.
    pub has_shared_dirs: Option<Location>,
    pub shared_dirs: BTreeMap<String, Located<SharedDirTable>>,
    pub sockets: BTreeMap<String, Located<SocketTable>>,
    pub env: EnvTable,
    pub secrets: BTreeMap<String, Located<SecretTable>>,
    pub network: NetworkTable,
    pub limits: LimitsTable,
    /// What git has besides the shared directories.
    pub git: GitTable,
    pub protect: ProtectTable,
    pub native: NativeTable,
    pub container: ContainerTable,
    pub lifecycle: LifecycleTable,
    pub pool: PoolTable,
    pub children: ChildrenTable,
    /// Which commands run that a model asks for.
    pub commands: CommandsTable,
    /// The same by their words, by name.
    pub command_rules: BTreeMap<String, Located<CommandRuleTable>>,
    /// Sandboxes to which a model delegates, by name.
    pub workers: BTreeMap<String, Located<WorkerTable>>,
}

impl Config {
    /// Lists what means nothing where no container is started, in the order of the reference page: settings that choose one,
    /// and whatever was typed of them. A file may have more for the case that there is an engine.
    pub(crate) fn only_in_containers(&self) -> Vec<(&'static str, &Location)> {
        let typed = |location: &&Location| matches!(location, Location::Flag(_));
        let container = &self.container;
        let all = [
            ("[image]", self.has_image.as_ref().filter(typed)),
            ("container.platform", self.platform.as_ref().map(|platform| &platform.location)),
            ("container.runtime", container.runtime.as_ref().map(|runtime| &runtime.location)),
            (
                "container.host_path_prefix",
                container.host_path_prefix.as_ref().map(|prefix| &prefix.location).filter(typed),
            ),
            ("container.pull", container.pull.as_ref().map(|pull| &pull.location).filter(typed)),
        ];
        all.into_iter().filter_map(|(key, location)| Some((key, location?))).collect()
    }

    /// Lists what was typed that means nothing where a container is started. A file may have it for native sandboxes.
    pub(crate) fn only_natively(&self) -> Vec<(&'static str, &Location)> {
        let typed = |location: &&Location| matches!(location, Location::Flag(_));
        let exposed = self.native.expose.as_ref().map(|list| &list.location).filter(typed);
        exposed.map(|location| ("native.expose", location)).into_iter().collect()
    }

    /// Sets a key from a flag or a variable.
    pub(crate) fn set(&mut self, typed: &Typed<'_>, problems: &mut Vec<Problem>) {
        match key::split(typed.key.path) {
            ("", name) => self.general.set(name, typed, problems),
            ("agent", name) => self.agent.set(name, typed, problems),
            ("home", name) => self.home.set(name, typed, problems),
            ("image", name) => self.image.set(name, typed, problems),
            ("network", name) => self.network.set(name, typed, problems),
            ("limits", name) => self.limits.set(name, typed, problems),
            ("git", name) => self.git.set(name, typed, problems),
            ("protect", name) => self.protect.set(name, typed, problems),
            ("native", name) => self.native.set(name, typed, problems),
            ("container", name) => self.container.set(name, typed, problems),
            ("lifecycle", name) => self.lifecycle.set(name, typed, problems),
            ("pool", name) => self.pool.set(name, typed, problems),
            ("children", name) => self.children.set(name, typed, problems),
            ("commands", name) => self.commands.set(name, typed, problems),
            // Where the file chooses the names, no flag can name one key.
            _ => {}
        }
    }
}
