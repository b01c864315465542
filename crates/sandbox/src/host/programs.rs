//! Programs of the host that are run outside of any sandbox: where they are looked for, and how they are started.
//!
//! What an agent can write must not run on the host. So a program is looked for in directories that neither a sandbox
//! nor another user may write to; it is started in `/`, where no interpreter finds a module beside it; and its
//! environment leads to no place of a sandbox, nor does its `PATH`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use policy::text::escape;
use policy::variables::loads_code;
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::follow;
use crate::host::identity::Identity;
use crate::state::writable::Writable;

/// Where programs are run: nothing in it is an agent's.
pub(crate) const DIRECTORY: &str = "/";

/// Variables that say which proxy a program goes through. Docker's command adds them out of its settings too, with the
/// password of a proxy in them.
pub(crate) const PROXIES: [&str; 10] = [
    "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "FTP_PROXY", "ftp_proxy", "NO_PROXY",
    "no_proxy", "ALL_PROXY", "all_proxy",
];

/// Variables that root keeps under sudo where their value names no file: like those that sudo itself keeps, see sudoers(5),
/// `env_check`, and what chooses how a client of Docker's works. `STORAGE_DRIVER` is not among them: with it, a store of root's Podman
/// that is new is that driver's for good.
const SUDO_KEEP: &[&str] = &[
    "COLORTERM", "DOCKER_API_VERSION", "DOCKER_CONTENT_TRUST", "LANG", "LANGUAGE", "LOGNAME",
    "SOURCE_DATE_EPOCH", "TERM", "TZ", "USER",
];

/// Where root looks for programs under sudo, as `secure_path` of sudoers(5) has it, with what snap and NixOS add. No entry is the
/// user's to choose: what belongs to root may still hold what they have written, as a layer in a store of images does.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin:/run/wrappers/bin:\
                           /run/current-system/sw/bin:/nix/var/nix/profiles/default/bin";

/// Groups of the system, such as the one to which distributions give `/usr/local`, are below this.
const FIRST_GROUP_OF_USERS: u32 = 1000;

/// The bits of a mode that let a group or everybody write, and the one that keeps them from what is others'.
const BY_GROUP: u32 = 0o020;
const BY_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Where programs of the host are found, and what they get to know.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    environment: BTreeMap<OsString, OsString>,
    writable: Writable,
    /// Who else may have put them there; nobody where root runs them under sudo.
    user: Option<Identity>,
    /// Who gets to know what is not there.
    reader: Option<Identity>,
    /// Whether what is started leaves behind what this process still has of root's.
    leaves_behind: bool,
    /// What is left of the environment. Most sandboxes need no program of the host, so it is looked at when one does.
    safe: OnceLock<Safe>,
}

#[derive(Clone, Debug, Default)]
struct Safe {
    path: Vec<PathBuf>,
    left_out: Vec<LeftOut>,
    environment: BTreeMap<OsString, OsString>,
}

/// An entry of `PATH` in which nothing is looked for.
#[derive(Clone, Debug, Eq, PartialEq)]
struct LeftOut {
    entry: PathBuf,
    reason: SkipReason,
}

/// Why an entry of `PATH` is left out.
#[derive(Clone, Debug, Eq, PartialEq)]
enum SkipReason {
    /// It means another directory wherever it is used.
    Relative,
    /// A sandbox may write to this directory, in which it lies, or a link on the way to it.
    Shared(PathBuf),
    /// This directory, which it is or lies in, belongs to somebody else, or somebody else may write to it.
    Others(PathBuf),
}

impl Programs {
    /// Starts from the caller's `environment`.
    pub fn new(environment: &BTreeMap<OsString, OsString>, writable: Writable, user: Identity) -> Self {
        let (user, reader) = (Some(user), Some(user));
        let environment = environment.clone();
        Self { environment, writable, user, reader, leaves_behind: false, safe: OnceLock::new() }
    }

    /// Returns the programs as root runs them under sudo: those of the system, none that the user behind it could have put there, and no
    /// variable that could lead to a file of theirs. `home` is root's.
    #[must_use]
    pub fn for_root(mut self, home: PathBuf) -> Self {
        self.user = None;
        self.safe = OnceLock::new();
        let mut environment = std::mem::take(&mut self.environment);
        environment.retain(|name, value| is_for_root(name, value));
        environment.insert("HOME".into(), home.into());
        environment.insert("PATH".into(), SYSTEM_PATH.into());
        self.environment = environment;
        self
    }

    /// Returns the same programs as a process starts them that was root's and is the user's by now. Where it leads its session it could
    /// not leave the terminal itself: it would hang up.
    #[must_use]
    pub fn leaving_behind(mut self) -> Self {
        self.leaves_behind = true;
        self
    }

    /// Returns the same programs without these variables in their environment.
    #[must_use]
    pub fn without(&self, variables: &[&str]) -> Self {
        let mut programs = Self { safe: OnceLock::new(), ..self.clone() };
        programs.environment.retain(|name, _| !variables.iter().any(|variable| name == variable));
        programs
    }

    /// Returns the entries of `PATH` that are safe, and an environment that leads to no others.
    fn safe(&self) -> &Safe {
        self.safe.get_or_init(|| {
            // A user's own programs are looked for with their rights: what is left of `PATH` says which directories there are.
            let Ok(_acting) = self.user.map(ActingAs::user).transpose() else { return Safe::default() };
            let mut safe = Safe::default();
            let path = self.environment.get(OsStr::new("PATH")).map(OsString::as_os_str).unwrap_or_default();
            for entry in std::env::split_paths(path) {
                match self.check_entry(&entry) {
                    Ok(Some(directory)) if !safe.path.contains(&directory) => safe.path.push(directory),
                    Err(reason) if self.is_known(&entry) => safe.left_out.push(LeftOut { entry, reason }),
                    // One that is not there, or was taken already; and one of which the user behind sudo learns no more than
                    // if it were not there.
                    Ok(_) | Err(_) => {}
                }
            }
            let kept = self.environment.iter();
            let kept =
                kept.filter(|(name, value)| self.mentioned(value).is_none() && !is_relative(name, value));
            safe.environment = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
            // What was split at colons has none.
            let path = std::env::join_paths(&safe.path).unwrap_or_default();
            safe.environment.insert("PATH".into(), path);
            safe.environment.insert("PWD".into(), DIRECTORY.into());
            safe
        })
    }

    /// Finds the first program of this name, with every link followed: what was checked is what runs.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        self.named(name).find_map(|program| self.checked(&program))
    }

    /// Lists every program of this name, in the order of `PATH`, by its name there.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.named(name).filter(|program| self.checked(program).is_some())
    }

    fn named(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let path = self.safe().environment.get(OsStr::new("PATH"));
        which::which_in_all(name, path, DIRECTORY).into_iter().flatten()
    }

    /// Lists the directories in which programs are looked for, with every link followed.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.safe().path.iter().map(PathBuf::as_path)
    }

    /// Finds a program that a shell started in `directory` would find and that is not run: where it lies, and why not.
    pub(crate) fn unsafe_one(&self, name: &str, directory: &Path) -> Option<(PathBuf, String)> {
        let path = self.environment.get(OsStr::new("PATH"));
        let program = which::which_in_all(name, path, directory).ok()?.next()?;
        let entries = std::env::split_paths(path.map_or(OsStr::new(""), OsString::as_os_str));
        let mut relative = entries.filter(|entry| !entry.is_absolute()).map(|entry| directory.join(entry));
        if relative.any(|entry| program.parent() == Some(&entry)) {
            return Some((
                program,
                "that entry of PATH is not absolute, and leads elsewhere inside".to_owned(),
            ));
        }
        let places = [Some(program.clone()), program.canonicalize().ok()];
        let reason = places
            .iter()
            .flatten()
            .filter_map(|place| place.parent())
            .find_map(|bin| self.check_entry(bin).err());
        let place = match reason {
            Some(SkipReason::Shared(place)) => return Some((program, writable_by_sandbox(&place))),
            Some(SkipReason::Others(place)) => place,
            _ => match self.writable.of(&program) {
                Some(place) => return Some((program.clone(), writable_by_sandbox(place))),
                None => program.clone(),
            },
        };
        Some((program, format!("other users may write to `{}`", escape::path(&place))))
    }

    /// Returns the environment in which programs are looked for.
    pub fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.environment
    }

    /// Returns where a program lies, if it may be executed, and nobody else has written or chosen it. It is looked up once: whoever may
    /// exchange a link on the way could have the second look find another one.
    fn checked(&self, program: &Path) -> Option<PathBuf> {
        let resolved = match self.user {
            Some(_) => program.canonicalize(),
            // Nor is a link of somebody else's on the way.
            None => follow::open(CWD, program).and_then(|found| Ok(beneath::path_of(found)?)),
        };
        let resolved = resolved.ok()?;
        let is_file = resolved
            .metadata()
            .is_ok_and(|metadata| metadata.is_file() && self.is_ours(&resolved, &metadata));
        let may = rustix::fs::accessat(CWD, &resolved, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
        // A link may lead to where its directory does not.
        let is_safe = resolved.parent().is_some_and(|directory| self.check(directory).is_ok());
        (is_file && may && is_safe && self.writable.of(program).is_none()).then_some(resolved)
    }

    /// Starts building a call of a program: in `/`, with the caller's environment as far as it leads to no place of a
    /// sandbox.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.safe().environment).current_dir(DIRECTORY);
        if self.leaves_behind {
            confine::leave_behind_in(&mut command);
        }
        command
    }

    /// Prepares a call of a program that goes by its own name, as one does that many links lead to.
    pub(crate) fn command_as(&self, program: &Path, name: &str) -> Command {
        let mut command = self.command(program);
        command.arg0(name);
        command
    }

    /// Returns where sandboxes may write.
    pub fn writable(&self) -> &Writable {
        &self.writable
    }

    /// Resolves a path in which nobody but root and the caller can put anything else in its place, or returns the part
    /// that others can rearrange. No link of `/proc` leads there while root acts for a user.
    pub(crate) fn settled(&self, path: &Path) -> io::Result<Result<PathBuf, PathBuf>> {
        let path = beneath::resolve(path)?;
        let others = |reason| match reason {
            SkipReason::Shared(place) | SkipReason::Others(place) => place,
            SkipReason::Relative => path.clone(),
        };
        if let Err(reason) = self.check(path.parent().unwrap_or(&path)) {
            return Ok(Err(others(reason)));
        }
        Ok(if self.owns(&path.metadata()?) { Ok(path) } else { Err(path) })
    }

    /// Describes what was left out; empty where nothing was.
    pub(crate) fn left_out(&self) -> String {
        let entries: Vec<String> = self.safe().left_out.iter().map(ToString::to_string).collect();
        let not_searched = if entries.is_empty() {
            String::new()
        } else {
            format!("; not searched: {}", entries.join(", "))
        };
        match self.user {
            Some(_) => not_searched,
            None => format!(
                "; under sudo the system's directories alone are searched, and not PATH{not_searched}"
            ),
        }
    }

    /// Returns whether whoever is told of an entry of `PATH` could find out themselves what is wrong with it.
    fn is_known(&self, entry: &Path) -> bool {
        let acting = self.reader.map(ActingAs::user).transpose();
        entry.is_relative() || acting.is_ok_and(|_acting| beneath::resolve(entry).is_ok())
    }

    fn check_entry(&self, entry: &Path) -> Result<Option<PathBuf>, SkipReason> {
        if !entry.is_absolute() {
            return Err(SkipReason::Relative);
        }
        // Also by the way to it, on which the agent may put another link.
        if let Some(directory) = self.writable.of(entry) {
            return Err(SkipReason::Shared(directory.to_owned()));
        }
        let Ok(directory) = entry.canonicalize() else { return Ok(None) };
        self.check(&directory)?;
        Ok(Some(directory))
    }

    /// Refuses a directory in which anybody but root and the caller may put something.
    fn check(&self, directory: &Path) -> Result<(), SkipReason> {
        if let Some(shared) = self.writable.of(directory) {
            return Err(SkipReason::Shared(shared.to_owned()));
        }
        // In a sticky directory nobody exchanges what is another's, but everybody puts there what they like. So it may lie
        // above only.
        let is_safe = |place: &Path, above: bool| {
            place.metadata().is_ok_and(|found| {
                self.is_ours(place, &found) || above && found.mode() & STICKY != 0 && self.owns(&found)
            })
        };
        match directory.ancestors().find(|place| !is_safe(place, *place != directory)) {
            None => Ok(()),
            Some(above) => Err(SkipReason::Others(above.to_owned())),
        }
    }

    /// Returns whether nobody but root and the caller may change something.
    fn is_ours(&self, path: &Path, metadata: &Metadata) -> bool {
        self.owns(metadata) && !self.others_may_write(path, metadata)
    }

    /// Returns whether something belongs to root or the caller.
    fn owns(&self, metadata: &Metadata) -> bool {
        let of_all = Path::new("/").metadata().map_or(0, |root| root.uid());
        let own = [Some(0), Some(of_all), self.user.map(|user| user.uid)];
        own.contains(&Some(metadata.uid()))
    }

    fn others_may_write(&self, path: &Path, metadata: &Metadata) -> bool {
        let is_of_users = match self.user {
            Some(user) => {
                // With a list, the mode says of the group what anybody in the list may at most.
                metadata.gid() >= FIRST_GROUP_OF_USERS && user.gid != metadata.gid() || has_access_list(path)
            }
            // The user behind sudo may be in a group of the system, too.
            None => metadata.gid() != 0 || has_access_list(path),
        };
        let forbidden = if is_of_users { BY_ALL | BY_GROUP } else { BY_ALL };
        metadata.mode() & forbidden != 0
    }

    /// Returns the directory in which a sandbox may write that is named somewhere in a text.
    pub(crate) fn mentioned(&self, text: &OsStr) -> Option<&Path> {
        // Where a link leads is none of the business of a user who cannot read it.
        let _acting = self.user.map(ActingAs::user).transpose();
        let home = self.environment.get(OsStr::new("HOME")).map(Path::new);
        self.writable.named_in(text, home)
    }
}

fn writable_by_sandbox(place: &Path) -> String {
    format!("sandboxes may write to `{}`", escape::path(place))
}

/// Returns whether a file has an access control list (acl(5)), which may let anybody do what its mode says of the group.
fn has_access_list(path: &Path) -> bool {
    let found = rustix::fs::getxattr(path, c"system.posix_acl_access", &mut [0_u8; 0][..]);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// Returns whether root keeps a variable under sudo.
fn is_for_root(name: &OsStr, value: &OsStr) -> bool {
    let is_locale = name.as_bytes().starts_with(b"LC_");
    let names_a_file = value.as_bytes().iter().any(|byte| b"/%".contains(byte));
    PROXIES.iter().any(|one| name == *one)
        || (is_locale || SUDO_KEEP.iter().any(|one| name == *one)) && !names_a_file
}

/// Returns whether a variable names code by a relative path to something that is there: which code that is, the directory
/// decides.
fn is_relative(name: &OsStr, value: &OsStr) -> bool {
    let separates = |byte: &u8| byte.is_ascii_whitespace() || b":=".contains(byte);
    let mut words = value.as_bytes().split(separates).map(|word| Path::new(OsStr::from_bytes(word)));
    name.to_str().is_some_and(loads_code)
        && words.any(|word| word.is_relative() && word.symlink_metadata().is_ok())
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = if self.entry.as_os_str().is_empty() { Path::new(".") } else { &self.entry };
        let entry = escape::path(entry);
        match &self.reason {
            SkipReason::Relative => write!(f, "`{entry}`, which is not absolute"),
            SkipReason::Shared(directory) => {
                write!(f, "`{entry}`, because the sandbox may write to `{}`", escape::path(directory))
            }
            SkipReason::Others(directory) => {
                write!(f, "`{entry}`, because other users may write to `{}`", escape::path(directory))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Host(tempfile::TempDir);

    impl Host {
        fn new() -> Self {
            let host = Self(tempfile::tempdir().unwrap());
            for directory in ["safe", "workspace/bin", "open"] {
                fs::create_dir_all(host.path(directory)).unwrap();
            }
            host
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn program(&self, name: &str) -> PathBuf {
            let path = self.path(name);
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn programs(&self, entries: &[&str], more: &[(&str, String)]) -> Programs {
            let entries: Vec<_> = entries.iter().map(|entry| self.path(entry)).collect();
            let path = std::env::join_paths(entries).unwrap();
            let more = more.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
            let environment = [("PATH".into(), path)].into_iter().chain(more).collect();
            Programs::new(&environment, Writable::only(vec![self.path("workspace")]), Identity::own())
        }
    }

    #[test]
    fn a_program_beneath_a_boundary_is_not_found_and_the_next_one_is() {
        let host = Host::new();
        host.program("workspace/bin/docker");
        let programs = host.programs(&["workspace/bin"], &[]);
        assert_eq!(programs.find("docker"), None);
        assert!(programs.left_out().contains("because the sandbox may write to"), "{}", programs.left_out());
        let safe = host.program("safe/docker");
        assert_eq!(host.programs(&["workspace/bin", "safe"], &[]).find("docker"), Some(safe));
    }

    #[test]
    fn no_link_leads_beneath_a_boundary() {
        let host = Host::new();
        let program = host.program("workspace/bin/docker");
        symlink(host.path("workspace/bin"), host.path("linked")).unwrap();
        symlink(&program, host.path("safe/docker")).unwrap();
        assert_eq!(host.programs(&["linked"], &[]).find("docker"), None);
        assert_eq!(host.programs(&["safe"], &[]).find("docker"), None);
        // Nor a link in the boundary out of it: the agent may put another one there.
        host.program("open/podman");
        symlink(host.path("open"), host.path("workspace/out")).unwrap();
        assert_eq!(host.programs(&["workspace/out"], &[]).find("podman"), None);
        symlink(host.path("workspace/out"), host.path("through")).unwrap();
        assert_eq!(host.programs(&["through"], &[]).find("podman"), None);
        symlink(host.path("through/podman"), host.path("safe/podman")).unwrap();
        assert_eq!(host.programs(&["safe"], &[]).find("podman"), None);
        assert!(host.programs(&["open"], &[]).find("podman").is_some(), "the control");
    }

    #[test]
    fn root_runs_no_program_that_a_link_of_another_user_s_leads_to() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let host = Host::new();
        let program = host.program("open/podman");
        symlink(&program, host.path("their-link")).unwrap();
        symlink(host.path("their-link"), host.path("safe/podman")).unwrap();
        let found = || {
            let mut programs = host.programs(&["safe"], &[]).for_root("/root".into());
            programs.environment.insert("PATH".into(), host.path("safe").into());
            programs.find("podman")
        };
        assert_eq!(found(), Some(program), "the control: root's own links");
        std::os::unix::fs::lchown(host.path("their-link"), Some(1001), Some(1001)).unwrap();
        assert_eq!(found(), None);
    }

    #[test]
    fn root_looks_in_no_directory_that_the_user_behind_sudo_names() {
        let host = Host::new();
        let program = host.program("safe/podman");
        assert_eq!(host.programs(&["safe"], &[]).find("podman"), Some(program), "the control");
        let programs = host.programs(&["safe"], &[]).for_root("/root".into());
        assert!(programs.directories().all(|directory| !directory.starts_with(host.path(""))));
        assert!(programs.left_out().contains("and not PATH"), "{}", programs.left_out());
    }

    #[test]
    fn where_others_may_write_nothing_is_found() {
        let host = Host::new();
        host.program("open/docker");
        assert!(host.programs(&["open"], &[]).find("docker").is_some(), "the control");
        fs::set_permissions(host.path("open"), Permissions::from_mode(0o777)).unwrap();
        let programs = host.programs(&["open"], &[]);
        assert_eq!(programs.find("docker"), None);
        assert!(programs.left_out().contains("because other users may write to"), "{}", programs.left_out());
        let relative = [("PATH".into(), ".:bin:".into())].into_iter().collect();
        let programs = Programs::new(&relative, Writable::default(), Identity::own());
        assert_eq!(programs.safe().left_out.len(), 3, "{:?}", programs.safe().left_out);
    }

    #[test]
    fn a_directory_with_an_access_list_that_lets_others_write_is_not_safe() {
        let host = Host::new();
        host.program("open/docker");
        // acl(5): the owner, uid 1001, the group, the mask and all others.
        for (rights, is_found) in [(5_u16, true), (7, false)] {
            let entries = [
                (1_u16, 7, u32::MAX),
                (2, rights, 1001),
                (4, 5, u32::MAX),
                (16, rights, u32::MAX),
                (32, 5, u32::MAX),
            ];
            let list =
                entries.into_iter().fold(2_u32.to_le_bytes().to_vec(), |mut list, (tag, rights, id)| {
                    list.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
                    list.extend(id.to_le_bytes());
                    list
                });
            let flags = rustix::fs::XattrFlags::empty();
            let set = rustix::fs::setxattr(host.path("open"), c"system.posix_acl_access", &list, flags);
            if set == Err(Errno::OPNOTSUPP) {
                return;
            }
            set.unwrap();
            assert_eq!(host.programs(&["open"], &[]).find("docker").is_some(), is_found, "{rights}");
        }
    }

    #[test]
    fn a_sticky_directory_is_safe_above_and_not_itself() {
        let host = Host::new();
        host.program("open/docker");
        host.program("safe/docker");
        assert!(host.programs(&["open"], &[]).find("docker").is_some(), "the control");
        fs::set_permissions(host.path("open"), Permissions::from_mode(0o1777)).unwrap();
        let programs = host.programs(&["open"], &[]);
        assert_eq!((programs.find("docker"), &programs.safe().path), (None, &Vec::new()));
        fs::set_permissions(host.path(""), Permissions::from_mode(0o1777)).unwrap();
        assert!(host.programs(&["safe"], &[]).find("docker").is_some());
    }

    #[test]
    fn root_keeps_no_variable_that_could_name_a_file_of_another_user() {
        let host = Host::new();
        let kept = [
            ("DOCKER_CONTENT_TRUST", "1"),
            ("HTTPS_PROXY", "http://proxy.example:3128"),
            ("LANG", "C.UTF-8"),
            ("LC_TIME", "de_DE.UTF-8"),
            ("SOURCE_DATE_EPOCH", "1"),
            ("TZ", "UTC"),
        ];
        let dropped = [
            ("CONTAINERS_CONF", "home/sam/containers.conf"),
            ("DOCKER_CONFIG", "tmp"),
            ("GODEBUG", "x"),
            ("LC_ALL", "../home/sam"),
            ("TERM", "/home/sam/x"),
            ("TZ2", "file:/home/sam"),
            ("XDG_CONFIG_HOME", "/etc"),
        ];
        let more: Vec<_> =
            kept.iter().chain(&dropped).map(|(name, value)| (*name, (*value).to_owned())).collect();
        let programs = host.programs(&["safe"], &more).for_root("/root".into());
        let names: Vec<_> = programs.environment.keys().map(|name| name.to_str().unwrap()).collect();
        let kept = kept.iter().map(|(name, _)| *name);
        let mut expected: Vec<_> = kept.chain(["HOME", "PATH"]).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn the_environment_leads_to_no_place_of_a_sandbox() {
        let host = Host::new();
        let workspace = host.path("workspace").display().to_string();
        symlink(host.path("workspace"), host.path("linked")).unwrap();
        let programs = host.programs(
            &["safe", "workspace/bin"],
            &[
                ("PYTHONPATH", format!("/usr/lib/x:{workspace}/lib")),
                ("NODE_OPTIONS", format!("--require={workspace}")),
                ("PERL5LIB", host.path("linked/lib").display().to_string()),
                ("GIT_DIR", host.path("safe/../linked//x").display().to_string()),
                // The directory that the tests run in.
                ("LD_LIBRARY_PATH", "/usr/lib:src".to_owned()),
                ("LD_PRELOAD", "libthere-is-none.so".to_owned()),
                ("NOTE", "src".to_owned()),
                ("NEIGHBOUR", format!("{workspace}-2/lib")),
                ("LANG", "C".to_owned()),
                ("EMPTY", String::new()),
            ],
        );
        let names: Vec<_> = programs.safe().environment.keys().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(names, ["EMPTY", "LANG", "LD_PRELOAD", "NEIGHBOUR", "NOTE", "PATH", "PWD"]);
        assert_eq!(programs.safe().environment[OsStr::new("PATH")], host.path("safe").into_os_string());
    }
}
