//! Configuration: one layer of settings, each with the place where it stands.
//!
//! A layer is a file, the `SANDBOXCTL_*` variables, or the flags of a command line. It says nothing about what
//! holds in the end: layers are merged in [`crate::layer`], and checked together in [`crate::policy`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use self::value::{Exposed, ProviderChoice, SecretMode, SecretProvider, Toolchain};
use crate::env::Name;
use crate::limits::{Bytes, MilliCpus};
use crate::network::{self, HostPattern};
use crate::path::GuestPath;
use crate::plan::{Layer, Mode, OnReplaced, Pull, SecretSource};
use crate::problem::{Located, Owner, Place, Problem};
use crate::protect::RelativePath;
use crate::user::Spec;

mod read;
pub(crate) mod show;
pub(crate) mod value;

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

/// Makes a struct of settings, and what must be done to each of them alike.
macro_rules! settings {
    ($(#[$about:meta])* entry $name:ident { $($(#[$doc:meta])* $key:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $key: Setting<$kind>,)*
        }

        impl $name {
            /// Shows every setting.
            pub(crate) fn show(&self, rows: &mut show::Rows, table: &str) {
                $(rows.setting(table, stringify!($key), self.$key.as_ref());)*
            }
        }
    };
    // An entry is replaced as a whole; in any other table each setting is.
    ($(#[$about:meta])* table $name:ident { $($(#[$doc:meta])* $key:ident: $kind:ty,)* }) => {
        settings! { $(#[$about])* entry $name { $($(#[$doc])* $key: $kind,)* } }

        impl $name {
            /// These settings, and where there is none, those beneath.
            pub(crate) fn over(self, beneath: Self) -> Self {
                Self { $($key: self.$key.or(beneath.$key),)* }
            }
        }
    };
}

settings! {
    /// Settings outside any table.
    table General {
        /// The version of the format.
        version: u32,
        /// Who runs the sandbox.
        provider: ProviderChoice,
        /// Whether a start must fail where the operating system cannot isolate.
        require_os_sandbox: bool,
    }
}

settings! {
    /// `[agent]`
    table Agent {
        /// The command with its arguments; never empty.
        command: Vec<OsString>,
        /// Who the agent is.
        user: Spec,
        /// Where it starts, as the sandbox sees it.
        workdir: GuestPath,
        /// Whether PID 1 is an init.
        init: bool,
    }
}

settings! {
    /// `[image]`, without the arguments of the build.
    table Image {
        /// The name of the image.
        name: String,
        /// What it starts from.
        base: String,
        /// What is installed.
        packages: Vec<Located<String>>,
        /// What it is built for.
        platforms: Vec<Located<String>>,
        /// A Dockerfile in place of the stock one.
        dockerfile: PathBuf,
        /// Certificates that the build trusts.
        ca_certificates: PathBuf,
    }
}

settings! {
    /// One table of `[shared_dirs]`.
    entry SharedDir {
        /// The directory on the host: absolute, links not resolved.
        host: PathBuf,
        /// Where the sandbox sees it.
        guest: GuestPath,
        /// What may be done there.
        mode: Mode,
        /// The only suffixes that file tools touch.
        suffixes: Vec<Located<String>>,
        /// The largest file that file tools touch.
        max_file_bytes: Bytes,
    }
}

settings! {
    /// One table of `[secrets]`.
    entry Secret {
        /// Whether the agent sees the value.
        mode: SecretMode,
        /// The variable it becomes.
        env_var: Name,
        /// Where it is read from.
        source: SecretSource,
        /// Whose interface the proxy adds it to.
        provider: SecretProvider,
        /// Where the proxy of a custom provider sends requests.
        upstream: String,
        /// The header in which a custom provider wants it.
        header: String,
    }
}

settings! {
    /// `[network]`
    table Network {
        /// How much of the network there is.
        mode: network::Mode,
        /// Hosts that may be reached.
        allow: Vec<Located<HostPattern>>,
        /// Hosts that may not, whatever `allow` says.
        deny: Vec<Located<HostPattern>>,
    }
}

settings! {
    /// `[limits]`; an inner `None` is unlimited.
    table Limits {
        /// Resident memory.
        memory: Option<Bytes>,
        /// Processor time.
        cpus: Option<MilliCpus>,
        /// Processes and threads.
        pids: Option<u32>,
        /// How long one command may run.
        timeout: Option<Duration>,
        /// How much captured output is kept.
        output_bytes: Bytes,
        /// The size of each tmpfs.
        tmp_size: Bytes,
    }
}

settings! {
    /// `[protect]`
    table Protect {
        /// Paths besides the built-in ones.
        paths: Vec<Located<RelativePath>>,
        /// Built-in paths that are given up.
        allow: Vec<Located<RelativePath>>,
        /// How deep nested repositories and sockets are looked for.
        depth: u32,
        /// What happens when a protection is taken away.
        on_replaced: OnReplaced,
    }
}

settings! {
    /// `[native]`
    table Native {
        /// Layers without which nothing starts.
        require: Vec<Located<Layer>>,
        /// Toolchains that are readable inside.
        expose: Vec<Located<Exposed>>,
    }
}

settings! {
    /// `[container]`
    table Container {
        /// The runtime of the engine.
        runtime: String,
        /// What stands before a host path as the engine sees it.
        host_path_prefix: PathBuf,
        /// When the image is fetched.
        pull: Pull,
    }
}

settings! {
    /// `[lifecycle]`
    table Lifecycle {
        /// How long a sandbox without a session stays.
        idle_timeout: Duration,
    }
}

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
}
