//! Home directories of persistent sandboxes: one directory for each name, in the caller's state.
//!
//! An agent may leave anything in one: links, devices it could not make, directories that nobody may enter. So nothing here
//! runs what lies there, and nothing follows a link in it. Whoever has one open holds its lock; what removes or copies one
//! waits for nobody, and refuses while it is in use.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use policy::plan::FileId;
use policy::text::escape;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT,
};
use rustix::io::Errno;

use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::state::archive;
use crate::state::directory::{StateDir, StateError};

/// Why a home directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("there is no home directory {name:?}")]
    Missing { name: String },
    /// A sandbox has it, or somebody removes or copies it.
    #[error("home directory {name:?} is in use")]
    InUse { name: String },
    #[error(
        "{} in home directory {name:?} is no {wanted}, so nothing can be mounted on it: {source}",
        escape::path(.path)
    )]
    MountPoint { name: String, path: PathBuf, wanted: &'static str, source: io::Error },
    #[error("{action} home directory {name:?}: {source}")]
    Files { action: &'static str, name: String, source: io::Error },
    #[error(transparent)]
    State(#[from] StateError),
}

/// The home directories of one user's sandboxes.
#[derive(Debug)]
pub struct Homes(StateDir);

/// What is known of one of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedHome {
    pub name: String,
    /// The project that it was made for; `None` where it is shared by name.
    pub project: Option<PathBuf>,
    /// When a sandbox last started with it.
    pub last_used: SystemTime,
    pub is_in_use: bool,
    /// Space on disk, in bytes.
    pub size: u64,
}

/// A home directory that nobody removes while this lives.
#[derive(Debug)]
#[must_use = "the home directory may be removed when this is dropped"]
pub struct OpenHome {
    name: String,
    path: PathBuf,
    files: OwnedFd,
    directory: StateDir,
    lock: File,
}

/// What is mounted in a home directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MountPoint {
    Directory,
    File,
}

/// The directory of all of them in that of the state.
const HOMES: &str = "homes";
/// What the agent sees, within the directory of one.
const FILES: &str = "files";
/// What is locked while it is in use. Its time of change says when it was used last.
const LOCK: &str = "lock";
/// The project that it was made for.
const PROJECT: &str = "project";

/// How deep the sizes of directories are added up.
const MAX_DEPTH: u32 = 100;

/// Returns where the files of a home directory are, in a directory of the state; whether there is one or not.
pub fn path(state: &Path, name: &str) -> PathBuf {
    state.join(HOMES).join(name).join(FILES)
}

/// Returns the directory in which agents may write all home directories.
pub(crate) fn all(state: &Path) -> PathBuf {
    state.join(HOMES)
}

impl Homes {
    /// Opens the directory of all of them, and makes it where there is none.
    pub fn open(state: &StateDir) -> Result<Self, HomeError> {
        Ok(Self(state.within(HOMES)?))
    }

    /// Opens one for a sandbox, and makes it where there is none. Several sandboxes may have it at once.
    ///
    /// `project` is the directory that it is for, unless it is shared by name.
    pub fn take(&self, name: &str, project: Option<&Path>) -> Result<OpenHome, HomeError> {
        let directory = self.0.within(name)?;
        let lock = held(&directory, name, FlockOperation::NonBlockingLockShared)?;
        let files = directory.directory(FILES, Mode::from_raw_mode(0o755))?;
        if let Some(project) = project {
            directory.write(PROJECT, project.as_os_str().as_bytes())?;
        }
        Ok(OpenHome { name: name.to_owned(), path: path_of(&directory), files, directory, lock })
    }

    /// Lists all of them, by name.
    pub fn list(&self) -> Result<Vec<ListedHome>, HomeError> {
        let mut names = self.0.names()?;
        names.sort();
        names.into_iter().map(|name| self.listed(&name)).collect()
    }

    fn listed(&self, name: &str) -> Result<ListedHome, HomeError> {
        let directory = self.0.within(name)?;
        let lock = directory.open_existing(LOCK)?;
        let failed = |source| HomeError::Files { action: "list", name: name.to_owned(), source };
        let is_in_use = lock.as_ref().is_some_and(|lock| {
            rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        });
        let last_used = match &lock {
            Some(lock) => lock.metadata().and_then(|metadata| metadata.modified()).map_err(failed)?,
            None => SystemTime::UNIX_EPOCH,
        };
        let _acting = ActingAs::user(directory.owner()).map_err(failed)?;
        let size = match beneath::listing(&directory, Path::new(FILES)) {
            Ok(files) => size(files.as_fd(), MAX_DEPTH),
            Err(_) => 0,
        };
        Ok(ListedHome { project: project(&directory)?, last_used, is_in_use, size, name: name.to_owned() })
    }

    /// Removes one with all that is in it.
    pub fn remove(&self, name: &str) -> Result<(), HomeError> {
        let (directory, _lock) = self.alone(name)?;
        let failed = |source| HomeError::Files { action: "remove", name: name.to_owned(), source };
        let _acting = ActingAs::user(directory.owner()).map_err(failed)?;
        match beneath::directory(&directory, Path::new(FILES)) {
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed(errno.into())),
            Ok(_) => remove(directory.as_fd(), FILES).map_err(|errno| failed(errno.into()))?,
        }
        for file in [PROJECT, LOCK] {
            directory.remove(file)?;
        }
        self.0.remove_directory(name)?;
        Ok(())
    }

    /// Writes one as an archive of tar(5): links as links, and sockets not at all.
    pub fn export(&self, name: &str, out: impl Write) -> Result<(), HomeError> {
        let (directory, _lock) = self.alone(name)?;
        let failed = |source| HomeError::Files { action: "export", name: name.to_owned(), source };
        let _acting = ActingAs::user(directory.owner()).map_err(failed)?;
        let files = beneath::directory(&directory, Path::new(FILES)).map_err(|errno| failed(errno.into()))?;
        archive::write(files, out).map_err(failed)
    }

    /// Opens one that is there and that nobody else uses.
    fn alone(&self, name: &str) -> Result<(StateDir, File), HomeError> {
        if !self.0.names()?.iter().any(|one| one == name) {
            return Err(HomeError::Missing { name: name.to_owned() });
        }
        let directory = self.0.within(name)?;
        let lock = held(&directory, name, FlockOperation::NonBlockingLockExclusive)?;
        Ok((directory, lock))
    }
}

impl OpenHome {
    /// Returns what says that it is in use: whoever has a copy of it keeps it so.
    pub fn lock(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }

    /// Returns where it is on the host.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns which directory it is.
    pub fn file_id(&self) -> Result<FileId, HomeError> {
        confine::file_id::file_id(&self.files).map_err(|errno| self.failed("stat", errno))
    }

    /// Makes what something is mounted on later, where there is nothing. Nobody but the agent's own kind writes here, and what
    /// an agent has put in the place of a directory is not followed.
    pub fn make_mount_point(&self, path: &Path, kind: MountPoint) -> Result<(), HomeError> {
        let _acting = ActingAs::user(self.directory.owner()).map_err(|source| HomeError::Files {
            action: "open",
            name: self.name.clone(),
            source,
        })?;
        let wanted = match kind {
            MountPoint::Directory => "directory",
            MountPoint::File => "regular file",
        };
        make(self.files.as_fd(), path, kind).map_err(|errno| HomeError::MountPoint {
            name: self.name.clone(),
            path: path.to_owned(),
            wanted,
            source: errno.into(),
        })
    }

    fn failed(&self, action: &'static str, errno: Errno) -> HomeError {
        HomeError::Files { action, name: self.name.clone(), source: errno.into() }
    }
}

fn path_of(directory: &StateDir) -> PathBuf {
    directory.path().join(FILES)
}

fn project(directory: &StateDir) -> Result<Option<PathBuf>, HomeError> {
    let path = directory.read(PROJECT)?;
    Ok(path.map(|path| PathBuf::from(OsStr::from_bytes(&path))))
}

/// Locks a home directory in this way.
fn held(directory: &StateDir, name: &str, operation: FlockOperation) -> Result<File, HomeError> {
    let in_use = || HomeError::InUse { name: name.to_owned() };
    let failed =
        |errno: Errno| HomeError::Files { action: "lock", name: name.to_owned(), source: errno.into() };
    let lock = directory.open_or_make(LOCK)?;
    match rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, operation)) {
        Err(Errno::WOULDBLOCK) => return Err(in_use()),
        done => done.map_err(failed)?,
    }
    // Somebody may have removed all of it just before.
    if rustix::fs::fstat(&lock).map_err(failed)?.st_nlink == 0 {
        return Err(in_use());
    }
    if operation == FlockOperation::NonBlockingLockShared {
        let now = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        };
        rustix::fs::futimens(&lock, &now).map_err(failed)?;
    }
    Ok(lock)
}

/// Makes directories on the way to a path, and what is to be there.
fn make(files: BorrowedFd<'_>, path: &Path, kind: MountPoint) -> Result<(), Errno> {
    let mut at = beneath::directory(files, Path::new(""))?;
    let names: Vec<_> = path.iter().collect();
    for (index, name) in names.iter().enumerate() {
        let is_last = index + 1 == names.len();
        if is_last && kind == MountPoint::File {
            let flags =
                OFlags::RDONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&at, *name, flags, Mode::from_raw_mode(0o644))?;
            let is_file = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) == FileType::RegularFile;
            return if is_file { Ok(()) } else { Err(Errno::INVAL) };
        }
        match rustix::fs::mkdirat(&at, *name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        at = beneath::directory(&at, Path::new(name))?;
    }
    Ok(())
}

/// Sums up what a directory takes on disk, as far as it can be read, and no deeper than anybody nests directories.
fn size(directory: BorrowedFd<'_>, depth: u32) -> u64 {
    let Ok(entries) = beneath::entries(directory) else { return 0 };
    let mut sum = 0;
    for (name, kind) in entries.flatten() {
        if kind == FileType::Directory && depth > 0 {
            if let Ok(inner) = beneath::listing(directory, Path::new(&name)) {
                sum += size(inner.as_fd(), depth - 1);
            }
        }
        if let Ok(stat) = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            sum += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        }
    }
    sum
}

/// Removes a directory with all that is in it, also where nobody may enter it. Links are removed, and not followed.
///
/// Directories within directories are moved up first: an agent may have nested more of them than there are descriptors.
fn remove(parent: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    beneath::open_up(parent, OsStr::new(name))?;
    let top = beneath::listing(parent, Path::new(name))?;
    let mut moved = 0_u64;
    let mut directories = vec![OsString::from(".")];
    while let Some(name) = directories.pop() {
        let is_top = name == ".";
        let directory = beneath::listing(&top, Path::new(if is_top { OsStr::new("") } else { &name }))?;
        let entries: Vec<_> = beneath::entries(directory.as_fd())?.collect::<Result<_, _>>()?;
        for (entry, kind) in entries {
            if kind != FileType::Directory {
                rustix::fs::unlinkat(&directory, &entry, AtFlags::empty())?;
                continue;
            }
            beneath::open_up(&directory, &entry)?;
            let new = loop {
                moved += 1;
                let new = OsString::from(format!("removed-{moved}"));
                match rustix::fs::renameat_with(&directory, &entry, &top, &new, RenameFlags::NOREPLACE) {
                    Ok(()) => break new,
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
            };
            directories.push(new);
        }
        if !is_top {
            rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::host::identity::Identity;
    use crate::state::writable::Writable;

    fn homes(place: &Path) -> Homes {
        let owner =
            Identity { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
        Homes::open(&StateDir::open(&place.join("state"), owner).unwrap()).unwrap()
    }

    #[test]
    fn what_is_in_use_is_neither_removed_nor_copied() {
        let place = tempfile::tempdir().unwrap();
        let homes = homes(place.path());
        let (first, second) = (homes.take("a", None).unwrap(), homes.take("a", None).unwrap());
        assert!(homes.list().unwrap()[0].is_in_use);
        assert!(matches!(homes.remove("a"), Err(HomeError::InUse { .. })));
        assert!(matches!(homes.export("a", Vec::new()), Err(HomeError::InUse { .. })));
        drop((first, second));
        assert!(!homes.list().unwrap()[0].is_in_use);
        homes.remove("a").unwrap();
        assert_eq!(homes.list().unwrap(), []);
        assert!(matches!(homes.remove("a"), Err(HomeError::Missing { .. })));
    }

    #[test]
    fn removes_what_nobody_may_enter_and_follows_no_link() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        let homes = homes(place.path());
        let home = homes.take("a", Some(Path::new("/project"))).unwrap();
        let files = home.path().to_owned();
        drop(home);
        symlink(&outside, files.join("link")).unwrap();
        fs::create_dir_all(files.join("closed/inner")).unwrap();
        fs::set_permissions(files.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        assert_eq!(homes.list().unwrap()[0].project.as_deref(), Some(Path::new("/project")));
        homes.remove("a").unwrap();
        assert!(!files.exists() && outside.join("kept").exists());
    }

    #[test]
    fn removes_directories_that_are_nested_deeper_than_a_path_is_long() {
        let place = tempfile::tempdir().unwrap();
        let homes = homes(place.path());
        let home = homes.take("a", None).unwrap();
        let mut at = beneath::directory(&home.files, Path::new("")).unwrap();
        for _ in 0..5_000 {
            rustix::fs::mkdirat(&at, "removed-1", Mode::from_raw_mode(0o500)).unwrap_or(());
            beneath::open_up(&at, OsStr::new("removed-1")).unwrap();
            at = beneath::directory(&at, Path::new("removed-1")).unwrap();
        }
        drop((home, at));
        homes.list().unwrap();
        homes.remove("a").unwrap();
        assert_eq!(homes.list().unwrap(), []);
    }

    #[test]
    fn makes_mount_points_and_refuses_links_on_the_way() {
        let place = tempfile::tempdir().unwrap();
        let home = homes(place.path()).take("a", None).unwrap();
        home.make_mount_point(Path::new("x/y"), MountPoint::Directory).unwrap();
        home.make_mount_point(Path::new("x/y"), MountPoint::Directory).unwrap();
        home.make_mount_point(Path::new("x/f"), MountPoint::File).unwrap();
        assert!(home.path().join("x/y").is_dir() && home.path().join("x/f").is_file());
        symlink(place.path(), home.path().join("link")).unwrap();
        let refused = home.make_mount_point(Path::new("link/z"), MountPoint::Directory);
        assert!(matches!(refused, Err(HomeError::MountPoint { .. })), "{refused:?}");
        assert!(!place.path().join("z").exists());
        let refused = home.make_mount_point(Path::new("x/y"), MountPoint::File);
        assert!(refused.is_err());
    }

    #[test]
    fn nothing_in_one_decides_anything_on_the_host() {
        let place = tempfile::tempdir().unwrap();
        let owner =
            Identity { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
        let home = homes(place.path()).take("a", None).unwrap();
        let writable = Writable::new(Vec::new(), place.path().join("state"), owner);
        assert!(writable.of(&home.path().join("bin/git")).is_some());
        assert_eq!(writable.of(&place.path().join("bin/git")), None, "the control");
    }

    #[test]
    fn an_archive_is_made_of_the_home_itself_and_of_nothing_that_a_link_in_its_place_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let homes = homes(place.path());
        let files = homes.take("a", None).unwrap().path().to_owned();
        fs::create_dir_all(files.join("directory/inner")).unwrap();
        fs::write(files.join("directory/inner/file"), "content").unwrap();
        fs::set_permissions(files.join("directory"), fs::Permissions::from_mode(0o750)).unwrap();
        nix::unistd::mkfifo(&files.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        drop(std::os::unix::net::UnixListener::bind(files.join("socket")).unwrap());
        let mut out = Vec::new();
        homes.export("a", &mut out).unwrap();
        let unpacked = place.path().join("unpacked");
        tar::Archive::new(out.as_slice()).unpack(&unpacked).unwrap();
        assert_eq!(fs::read_to_string(unpacked.join("directory/inner/file")).unwrap(), "content");
        let mode = fs::metadata(unpacked.join("directory")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o750);
        let mut archive = tar::Archive::new(out.as_slice());
        let kinds = archive.entries().unwrap().map(|entry| entry.unwrap().header().entry_type());
        let kinds: Vec<_> = kinds.collect();
        assert_eq!((kinds.len(), kinds.contains(&tar::EntryType::Fifo)), (4, true), "{kinds:?}");

        fs::rename(&files, place.path().join("elsewhere")).unwrap();
        for to in [place.path().join("elsewhere"), "/proc/self/cwd".into()] {
            symlink(to, &files).unwrap();
            let mut out = Vec::new();
            assert!(matches!(homes.export("a", &mut out), Err(HomeError::Files { .. })));
            assert!(out.is_empty());
            fs::remove_file(&files).unwrap();
        }
    }

    #[test]
    fn an_archive_has_links_as_links() {
        let place = tempfile::tempdir().unwrap();
        let homes = homes(place.path());
        let files = homes.take("a", None).unwrap().path().to_owned();
        fs::write(files.join("file"), "content").unwrap();
        symlink("/etc/passwd", files.join("link")).unwrap();
        let mut out = Vec::new();
        homes.export("a", &mut out).unwrap();
        let mut archive = tar::Archive::new(out.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.path().unwrap().display().to_string(), entry.header().entry_type())
        });
        let entries: Vec<_> = entries.collect();
        assert!(entries.contains(&("file".to_owned(), tar::EntryType::Regular)), "{entries:?}");
        assert!(entries.contains(&("link".to_owned(), tar::EntryType::Symlink)), "{entries:?}");
    }
}
