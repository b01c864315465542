//! Places: the directory descriptor of a boundary, and what is opened beneath it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use policy::query::{FileKind, Place, PlaceKind};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, StatVfsMountFlags, accessat, fstat,
    fstatvfs, openat, openat2, unlinkat,
};
use rustix::io::Errno;

use crate::host::beneath::path_of;
use crate::host::small_file::is_of_kernel;

/// How a path is resolved: beneath the descriptor, whatever links are on the way, and through no link of `/proc`.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// How something is held that is not read or written yet.
const HOLD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// How often a resolution is begun again that somebody's renaming has disturbed.
const TRIES: u32 = 64;

/// The directory of a boundary.
#[derive(Debug)]
pub(super) struct Root {
    directory: OwnedFd,
    /// The path of the boundary, as the kernel names it.
    path: PathBuf,
    /// The name of the boundary in that directory, where it is a single file.
    name: Option<OsString>,
}

/// Something that was opened beneath a boundary, to which nobody has a right yet.
pub(super) struct Opened {
    pub(super) descriptor: OwnedFd,
    pub(super) stat: Stat,
    /// Where it was when it was opened, as seen from the boundary.
    pub(super) relative: PathBuf,
}

impl Root {
    /// Returns the directory that is opened for a boundary: that of a single file is the one around it.
    pub(super) fn directory_of(place: &Place) -> &Path {
        let guest = place.guest.as_path();
        match place.kind {
            PlaceKind::Directory => guest,
            PlaceKind::File => guest.parent().unwrap_or(guest),
        }
    }

    /// Takes the descriptor of that directory. It comes from the sandbox, and under sudo from whoever listens at a socket of the user's.
    pub(super) fn new(directory: OwnedFd, place: &Place) -> Result<Self, Errno> {
        refuse_of_kernel(&directory)?;
        let mut path = path_of(&directory)?;
        let name = match place.kind {
            PlaceKind::Directory => None,
            PlaceKind::File => place.guest.as_path().file_name().map(ToOwned::to_owned),
        };
        path.extend(&name);
        Ok(Self { directory, path, name })
    }

    /// Opens what is at a path.
    pub(super) fn open(&self, relative: &Path) -> Result<Opened, Errno> {
        let descriptor = self.resolve(&self.seen_from_directory(relative), HOLD)?;
        let stat = fstat(&descriptor)?;
        // What nobody can name any more is not there.
        if stat.st_nlink == 0 {
            return Err(Errno::NOENT);
        }
        let relative = self.relative(&descriptor)?;
        Ok(Opened { descriptor, stat, relative })
    }

    /// Opens a directory for making, renaming and removing what is in it. Those on the way that are missing are made.
    pub(super) fn directory(
        &self,
        relative: &Path,
        missing: Missing,
        made: &mut Made,
    ) -> Result<OwnedFd, Errno> {
        let flags = HOLD.union(OFlags::DIRECTORY);
        let opened = self.resolve(&self.seen_from_directory(relative), flags);
        match (opened, missing) {
            (Err(Errno::NOENT), Missing::Made) => {}
            (opened, _) => return opened,
        }
        // The innermost one that is there. What is made below it is new, so no link is there to be followed.
        let mut above = relative;
        let mut names = Vec::new();
        let mut at = loop {
            let Some(Component::Normal(name)) = above.components().next_back() else {
                return Err(Errno::NOENT);
            };
            names.push(name);
            above = above.parent().ok_or(Errno::NOENT)?;
            match self.resolve(&self.seen_from_directory(above), flags) {
                Err(Errno::NOENT) => {}
                opened => break opened?,
            }
        };
        for name in names.into_iter().rev() {
            match rustix::fs::mkdirat(&at, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) => made.0.push((rustix::io::fcntl_dupfd_cloexec(&at, 0)?, name.to_owned())),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            at = openat(&at, name, flags.union(OFlags::NOFOLLOW), Mode::empty())?;
        }
        Ok(at)
    }

    /// Returns whether its file system, or the mount of it, is read-only as a whole.
    pub(super) fn is_read_only(&self) -> bool {
        let read_only = StatVfsMountFlags::RDONLY;
        fstatvfs(&self.directory).is_ok_and(|file_system| file_system.f_flag.contains(read_only))
    }

    /// Returns where something is that was opened beneath this one.
    pub(super) fn relative(&self, descriptor: impl AsFd) -> Result<PathBuf, Errno> {
        let path = path_of(descriptor)?;
        // Somebody has renamed it in between, to where it is not to be found.
        path.strip_prefix(&self.path).map(Path::to_owned).map_err(|_| Errno::NOENT)
    }

    /// Returns a path as it is seen from the directory that is open.
    fn seen_from_directory<'p>(&'p self, relative: &'p Path) -> Cow<'p, Path> {
        let is_empty = relative.as_os_str().is_empty();
        match &self.name {
            None if is_empty => Path::new(".").into(),
            None => relative.into(),
            Some(name) if is_empty => Path::new(name).into(),
            Some(name) => Path::new(name).join(relative).into(),
        }
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        for _ in 0..TRIES {
            match openat2(&self.directory, path, flags, Mode::empty(), BENEATH) {
                // While `..` was followed something was renamed, so that the kernel cannot say where that is.
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return opened,
            }
        }
        Err(Errno::AGAIN)
    }
}

/// What becomes of directories on the way that are not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Missing {
    Made,
    Refused,
}

/// Directories that were made on the way to a file, each with the one around it. Unless they are kept, they are removed again, as far as
/// they are empty.
#[derive(Default)]
pub(super) struct Made(Vec<(OwnedFd, OsString)>);

impl Made {
    /// Keeps them.
    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (around, name) in self.0.drain(..).rev() {
            let _ = unlinkat(around, name, AtFlags::REMOVEDIR);
        }
    }
}

impl Opened {
    /// Opens what is at a name in a directory, without following a link there.
    pub(super) fn at(directory: impl AsFd, name: &std::ffi::OsStr) -> Result<Self, Errno> {
        let descriptor = openat(directory, name, HOLD.union(OFlags::NOFOLLOW), Mode::empty())?;
        let stat = fstat(&descriptor)?;
        Ok(Self { descriptor, stat, relative: PathBuf::new() })
    }

    /// Returns what it is.
    pub(super) fn kind(&self) -> FileKind {
        kind(FileType::from_raw_mode(self.stat.st_mode))
    }

    /// Opens it for reading: what is open already, and not what is at its path by now. Who is not a regular file is not opened at all, so
    /// that nothing waits and no device notices.
    pub(super) fn reader(&self) -> Result<File, Errno> {
        refuse_of_kernel(&self.descriptor)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(openat(CWD, itself(&self.descriptor), flags, Mode::empty())?.into())
    }

    /// Checks that it may be written to: what is open already, and not what is at its path by now.
    pub(super) fn check_writable(&self) -> Result<(), Errno> {
        accessat(CWD, itself(&self.descriptor), Access::WRITE_OK, AtFlags::EACCESS)
    }

    /// Opens a directory for reading what is in it.
    pub(super) fn listing(&self) -> Result<OwnedFd, Errno> {
        refuse_of_kernel(&self.descriptor)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        openat(&self.descriptor, c".", flags, Mode::empty())
    }

    /// Returns whether it is a mount point of the sandbox.
    pub(super) fn is_mount_point(&self) -> Result<bool, Errno> {
        use rustix::fs::{StatxAttributes, StatxFlags, statx};
        let attributes = statx(&self.descriptor, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
        // Linux 5.8; without it nobody knows, and what may be one is not replaced.
        Ok(!attributes.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT)
            || attributes.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }
}

/// Refuses what shows something of the kernel's. Some of it goes by the effective user, who stays root while that acts for the agent, and
/// some by the process that reads.
fn refuse_of_kernel(file: impl AsFd) -> Result<(), Errno> {
    if is_of_kernel(file)? { Err(Errno::PERM) } else { Ok(()) }
}

/// Returns the path by which something that is open is opened again.
fn itself(descriptor: impl AsFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd())
}

/// Returns what a file is, for messages.
pub(super) fn kind(of: FileType) -> FileKind {
    match of {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        _ => FileKind::Device,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Read;

    use policy::plan::{BoundaryMode, ToolRules};

    use super::*;
    use crate::host::acting::ActingAs;
    use crate::host::identity::Identity;

    fn held(path: &Path) -> OwnedFd {
        rustix::fs::open(path, HOLD, Mode::empty()).unwrap()
    }

    #[test]
    fn what_the_kernel_shows_is_no_place_and_is_neither_read_nor_listed() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("directory")).unwrap();
        fs::write(top.path().join("file"), "text").unwrap();
        let place = Place {
            name: "workspace".to_owned(),
            guest: "/workspace".parse().unwrap(),
            mode: BoundaryMode::ReadWrite,
            kind: PlaceKind::Directory,
            tools: ToolRules::default(),
            max_written: None,
        };
        let user = rustix::process::geteuid().is_root().then_some(Identity { uid: 1001, gid: 1001 });
        for (directory, file, inner, is_ours) in [
            (top.path(), "file", "directory", true),
            (Path::new("/proc"), "version", "sys", false),
            // Root alone may read it, and who that is goes by the effective user.
            (Path::new("/proc/sys/kernel/usermodehelper"), "bset", ".", false),
        ] {
            fs::set_permissions(top.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let _acting = user.map(|user| ActingAs::user(user).unwrap());
            assert_eq!(Root::new(held(directory), &place).is_ok(), is_ours, "{directory:?}");
            let opened = Opened::at(held(directory), OsStr::new(file)).unwrap();
            let is_readable = fs::read(directory.join(file)).is_ok();
            assert!(is_readable || user.is_none(), "the control: the kernel lets whoever acts read {file}");
            let read = opened.reader().map(|mut file| file.read(&mut [0]).unwrap());
            assert_eq!(read, if is_ours { Ok(1) } else { Err(Errno::PERM) }, "{file}");
            let listing = Opened::at(held(directory), OsStr::new(inner)).unwrap().listing();
            assert_eq!(listing.is_ok(), is_ours, "{inner}");
        }
    }
}
