//! The caller: everything that libraries must not read for themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, anyhow, bail};
use confine::account::{Account, RootPolicy};
use confine::credentials::{SupplementaryGroups, become_user};
use policy::rules::shared_dir::counts_as_home;
use policy::rules::user::{UserOrGroup, UserSpec};
use sandbox::boundary::resolve::Lead;
use sandbox::engine;
use sandbox::host::acting;
use sandbox::host::elevation::{self, Elevation};
use sandbox::host::identity::Identity;
use sandbox::host::mounted::{Mounted, OnMount};
use sandbox::host::programs::Programs;
use sandbox::host::small_file;
use sandbox::state::writable::Writable;

use crate::error::{Code, CommandError};
use crate::working_directory::WorkingDirectory;

const CANNOT_LEAVE: &str = "cannot leave the working directory";

/// Where users keep state and settings, relative to a home, where no variable says otherwise.
const STATE: &str = ".local/state";
const SETTINGS: &str = ".config";

/// The directory of ours in each.
const OWN_NAME: &str = "sandboxctl";

/// What sandboxctl keeps for a user.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum OwnFiles {
    /// Records, sockets and trust.
    Records,
    /// The user's own configuration.
    Settings,
}

impl fmt::Display for OwnFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Records => "records",
            Self::Settings => "settings",
        })
    }
}

/// Who calls, from where, with what.
pub(crate) struct Context {
    /// The working directory, with every link resolved.
    pub(crate) cwd: PathBuf,
    working_directory: WorkingDirectory,
    /// The whole environment; values need not be UTF-8.
    pub(crate) env: BTreeMap<OsString, OsString>,
    /// The effective user and group of this process.
    pub(crate) process: Identity,
    /// Whose files and whose consent these are: under sudo not root, but the user behind it.
    pub(crate) caller: Identity,
    /// The home directory of the caller.
    pub(crate) home: PathBuf,
    /// The same with every link resolved, where it exists.
    resolved_home: Option<PathBuf>,
    /// Other homes whose credentials the caller can read, once they were asked for.
    other_homes: OnceLock<Vec<PathBuf>>,
    /// Whether this process was root's and is the caller's by now.
    was_root: bool,
}

impl Context {
    /// Reads everything once. Under sudo this process leaves a working directory that the user behind it cannot reach.
    pub(crate) fn gather() -> anyhow::Result<Self> {
        let mut context = Self::read()?;
        if context.is_behind_sudo() {
            context.working_directory.leave_if_closed(context.caller).context(CANNOT_LEAVE)?;
        }
        Ok(context)
    }

    fn read() -> anyhow::Result<Self> {
        let working_directory = WorkingDirectory::read()?;
        let cwd = working_directory.path.clone();
        let env: BTreeMap<_, _> = env::vars_os().collect();
        let process = process();
        let caller = caller(process, &env)?;
        let home = match absolute(variable(&env, "HOME")) {
            Some(home) if caller == process => home.to_owned(),
            // Under sudo HOME is root's. Service managers and CI start processes without HOME.
            _ => Self::home_of(caller.uid, &fs::read_to_string("/etc/passwd").unwrap_or_default())
                .ok_or_else(|| {
                    anyhow!(
                        "HOME is not set to an absolute path, and user id {} has no home in /etc/passwd",
                        caller.uid
                    )
                })?,
        };
        let resolved_home = if caller == process {
            home.canonicalize().ok()
        } else {
            Lead::of(&home, caller).ok().filter(|lead| matches!(lead, Lead::Found(_))).map(|lead| lead.path())
        };
        let other_homes = OnceLock::new();
        Ok(Self {
            cwd,
            working_directory,
            env,
            process,
            caller,
            home,
            resolved_home,
            other_homes,
            was_root: false,
        })
    }

    /// Finds a home directory in the text of passwd(5). The C library is not used: in a static program it would load
    /// modules of the host's own, which ends in a crash.
    fn home_of(uid: u32, passwd: &str) -> Option<PathBuf> {
        Self::home_where(passwd, |fields| fields.get(2).and_then(|field| field.parse().ok()) == Some(uid))
    }

    /// Finds the home directory of a user by their number.
    pub(crate) fn home_of_id(uid: u32) -> Option<PathBuf> {
        Self::home_of(uid, &fs::read_to_string("/etc/passwd").unwrap_or_default())
    }

    /// Finds the home directory of a user of this name.
    pub(crate) fn home_of_user(name: &str) -> Option<PathBuf> {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::home_where(&passwd, |fields| fields.first() == Some(&name))
    }

    fn home_where(passwd: &str, is_it: impl Fn(&[&str]) -> bool) -> Option<PathBuf> {
        let mut accounts = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let account = accounts.find(|fields| is_it(fields))?;
        Some(PathBuf::from(account.get(5).copied().unwrap_or_default()))
    }

    /// Reads the same, and becomes the user behind sudo for good, with their groups and home, for what needs none of root's rights.
    pub(crate) fn gather_as_caller() -> anyhow::Result<Self> {
        let mut context = Self::read()?;
        if context.is_behind_sudo() {
            let Identity { uid, gid } = context.caller;
            let mut account =
                Account::find(&UserSpec { user: UserOrGroup::Id(uid), group: None }, RootPolicy::Refused)?;
            account.gid = gid;
            account.groups.push(gid);
            if let SupplementaryGroups::Kept { extra, .. } = become_user(&account)? {
                bail!("cannot become user {uid} without the groups {extra:?}; call sandboxctl as that user");
            }
            // What it starts is the user's, and may be looked into by the user.
            confine::leave_behind().context("cannot leave behind what root has open")?;
            context.working_directory.leave_if_closed_to_us().context(CANNOT_LEAVE)?;
            context.process = context.caller;
            context.was_root = true;
            context.env.insert("HOME".into(), context.home.clone().into());
        }
        Ok(context)
    }

    /// Returns whether this is root, called by somebody else.
    pub(crate) fn is_behind_sudo(&self) -> bool {
        self.process.uid != self.caller.uid
    }

    fn home_of_root() -> PathBuf {
        Self::home_of(0, &fs::read_to_string("/etc/passwd").unwrap_or_default())
            .unwrap_or_else(|| "/root".into())
    }

    /// Returns the value of one variable of the caller's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        variable(&self.env, name)
    }

    /// Makes a path that was typed absolute, from the working directory, without the `.` that means nothing.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.working_directory.absolute(path)
    }

    /// Returns by what path to reach something at or beneath the working directory, see [`WorkingDirectory::path_beneath`].
    pub(crate) fn path_to(&self, path: &Path) -> io::Result<PathBuf> {
        self.path_beneath(&self.cwd, path)
    }

    /// Returns the same for what lies beneath a directory that the working directory lies in.
    pub(crate) fn path_beneath(&self, around: &Path, path: &Path) -> io::Result<PathBuf> {
        self.working_directory.path_beneath(self.caller, around, path)
    }

    /// Opens a file or a pipe that was typed for reading, as the caller could.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        small_file::open_as(&self.path_to(&self.absolute(path))?, self.caller)
    }

    /// Resolves every link in a path of our own, as far as it exists; `None` where that cannot be determined.
    pub(crate) fn resolve(&self, path: &Path) -> Option<PathBuf> {
        Lead::path_of(&self.path_to(path).ok()?, self.caller).ok()
    }

    /// Lists every spelling of the home directory.
    pub(crate) fn homes(&self) -> Vec<&Path> {
        [Some(self.home.as_path()), self.resolved_home.as_deref()].into_iter().flatten().collect()
    }

    /// Lists other homes whose credentials the caller can read, in both spellings: for root those of all users, and for a user
    /// their own, which `HOME` need not name.
    pub(crate) fn other_homes(&self) -> &[PathBuf] {
        self.other_homes.get_or_init(|| {
            let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
            let is_open_to_caller = |fields: &Vec<&str>| {
                let uid: Option<u32> = fields.get(2).and_then(|field| field.parse().ok());
                self.caller.uid == 0 || uid == Some(self.caller.uid)
            };
            let accounts = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
            let homes =
                accounts.filter(is_open_to_caller).filter_map(|fields| Some(Path::new(*fields.get(5)?)));
            // Links are looked up only on the way to those that count: each takes as long as all of the file.
            let homes: BTreeSet<&Path> =
                homes.filter(|home| *home != self.home && counts_as_home(home)).collect();
            let resolved = homes.iter().filter_map(|home| self.resolve(home));
            let all: BTreeSet<PathBuf> =
                resolved.chain(homes.iter().map(|home| home.to_path_buf())).collect();
            all.into_iter().collect()
        })
    }

    /// Lists the other paths of all homes that one of these directories can lie in: those of homes that are mounted more than once.
    pub(crate) fn other_paths_of_homes(&self, shared: &[&Path]) -> Vec<PathBuf> {
        let mut paths = BTreeSet::new();
        let others = self.other_homes().iter().map(PathBuf::as_path);
        let shared: Vec<_> = shared.iter().map(|shared| OnMount::find(shared)).collect();
        for home in self.homes().into_iter().chain(others).filter(|home| counts_as_home(home)) {
            let mounted = Mounted::new(home);
            let others = shared.iter().flat_map(|shared| mounted.other_paths(shared));
            paths.extend(others.filter(|other| other.is_whole()).map(|other| other.path.clone()));
        }
        paths.into_iter().collect()
    }

    /// Returns the directory of records and trust: `$XDG_STATE_HOME/sandboxctl`, with every link resolved, because
    /// engines report the sources of their mounts and may spell them so.
    pub(crate) fn state(&self) -> PathBuf {
        let path = self.base_directory("XDG_STATE_HOME", STATE);
        self.resolve(&path).unwrap_or(path)
    }

    /// Returns the directory that the user of this process trusts without asking who has written it: under sudo a
    /// directory of root's, because all of the state directory is the user's. It is not in `/run`, from which nothing may
    /// be executed on many machines.
    pub(crate) fn own(&self) -> PathBuf {
        if self.is_behind_sudo() {
            Path::new("/var/lib/sandboxctl").join(self.caller.uid.to_string())
        } else {
            self.state()
        }
    }

    /// Lists where records and settings of a user with this home lie, where no variable says otherwise: see [`Self::state`] and
    /// [`Self::settings`].
    pub(crate) fn default_places(home: &Path) -> [(PathBuf, OwnFiles); 2] {
        [(STATE, OwnFiles::Records), (SETTINGS, OwnFiles::Settings)]
            .map(|(below_home, kind)| (home.join(below_home).join(OWN_NAME), kind))
    }

    /// Returns the directory of the user's own configuration, which may be missing: `$XDG_CONFIG_HOME/sandboxctl`.
    pub(crate) fn settings(&self) -> PathBuf {
        self.base_directory("XDG_CONFIG_HOME", SETTINGS)
    }

    /// Returns the programs of the host, where sandboxes may write to these directories, and to those of other runs.
    pub(crate) fn programs(&self, writable: Vec<PathBuf>) -> Programs {
        let writable = Writable::new(writable, self.state(), self.caller);
        let programs = Programs::new(&self.env, writable, self.caller);
        if self.was_root { programs.leaving_behind() } else { programs }
    }

    /// Returns what leads to container engines.
    pub(crate) fn engines(&self, programs: Programs) -> engine::surroundings::Surroundings {
        let own = |name| self.variable(name).map(OsStr::to_os_string);
        let programs = if self.is_behind_sudo() { programs.for_root(Self::home_of_root()) } else { programs };
        engine::surroundings::Surroundings {
            programs,
            // Not by its text, which may lead elsewhere by now.
            directory: ".".into(),
            docker_host: own("DOCKER_HOST"),
            docker_context: own("DOCKER_CONTEXT"),
            docker_config: own("DOCKER_CONFIG")
                .map_or_else(|| self.home.join(".docker"), |path| self.cwd.join(path)),
            podman_connection: own("CONTAINER_HOST")
                .or_else(|| own("CONTAINER_CONNECTION"))
                .filter(|value| !value.is_empty()),
            uid: self.process.uid,
            reader: self.caller,
        }
    }

    /// Returns the directory in which running sandboxes of root lock their host user ids.
    pub(crate) fn locks() -> &'static Path {
        Path::new("/run/sandboxctl")
    }

    // The XDG base directory specification says that a relative path in these variables is to be ignored.
    fn base_directory(&self, variable: &str, below_home: &str) -> PathBuf {
        let base =
            absolute(self.variable(variable)).map_or_else(|| self.home.join(below_home), Path::to_owned);
        base.join(OWN_NAME)
    }
}

/// Returns whose files these are, and leaves this process where it stands: see [`Context::caller`].
pub(crate) fn caller_of_this_process() -> anyhow::Result<Identity> {
    caller(process(), &env::vars_os().collect())
}

/// Returns whose files these are and where this process stands, for a command that needs to know nothing else: see
/// [`Context::caller`].
pub(crate) fn caller_alone() -> anyhow::Result<(Identity, WorkingDirectory)> {
    let (process, mut working_directory) = (process(), WorkingDirectory::read()?);
    let caller = caller_of_this_process()?;
    if caller.uid != process.uid {
        working_directory.leave_if_closed(caller).context(CANNOT_LEAVE)?;
    }
    Ok((caller, working_directory))
}

/// Converts an error of what is done with a user's rights, and says what to do where root was meant, not the user behind
/// sudo.
pub(crate) fn as_user(error: anyhow::Error, user: Identity) -> CommandError {
    let is_denied = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::PermissionDenied);
    let error = CommandError::from(error);
    if is_denied && user != process() {
        error.hint(
            "under sudo files are written with the rights of the user who called it; `sudo env -u SUDO_UID sandboxctl …` \
             writes them as root (DOAS_USER and PKEXEC_UID count like SUDO_UID)",
        )
    } else {
        error
    }
}

/// Has root write to no file from now on as only root can, where somebody else has called sudo: see [`acting::write_as_users_do`].
/// Whatever a command prints comes later, help and errors of the command line included.
pub(crate) fn write_as_users_do() -> Result<(), CommandError> {
    if process().uid == 0 && elevation::may_be_of_another(&|name| env::var_os(name)) {
        acting::write_as_users_do().context("cannot give up a capability")?;
    }
    Ok(())
}

fn process() -> Identity {
    Identity { uid: users::get_effective_uid(), gid: users::get_effective_gid() }
}

fn caller(process: Identity, env: &BTreeMap<OsString, OsString>) -> anyhow::Result<Identity> {
    let text = |name: &str| variable(env, name).map(|value| value.to_string_lossy().into_owned());
    if process.uid != 0 || !Elevation::ALL.iter().any(|one| text(one.variable()).is_some()) {
        return Ok(process);
    }
    let passwd = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
    Ok(elevation::caller(process, &text, &passwd)?)
}

fn variable<'a>(env: &'a BTreeMap<OsString, OsString>, name: &str) -> Option<&'a OsStr> {
    env.get(OsStr::new(name)).map(OsString::as_os_str)
}

fn absolute(value: Option<&OsStr>) -> Option<&Path> {
    value.map(Path::new).filter(|path| path.is_absolute())
}
/// Refuses to be a process that `starter` starts by itself, where sudo or its like has started this one. `starter` passes no variable of theirs on.
pub(crate) fn refuse_sudo(what: &str, starter: &str) -> Result<(), CommandError> {
    if env::vars_os().any(|(name, _)| elevation::is_of_caller(&name)) {
        let message =
            format!("{what} is not started by sudo or its like; `{starter}` starts this command by itself");
        return Err(CommandError::message(Code::PolicyDenied, message));
    }
    Ok(())
}
