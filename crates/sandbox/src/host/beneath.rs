//! Paths beneath a directory descriptor: opened component by component, and no link is ever followed.
//!
//! The agent may be renaming and linking at the same time. A descriptor stays what it was, so whatever is
//! opened from it lies beneath it, wherever that is by now.

use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use policy::plan::FileId;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::host::acting::file_system_user;
use crate::host::follow;
use crate::host::small_file::{Links, open_regular};

/// How directories are opened that are only passed through.
const PASSAGE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the directory at a relative path for passing through; `ENOTDIR` where a link lies on the way.
pub(crate) fn directory(root: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut at = rustix::fs::openat(root, c".", PASSAGE, Mode::empty())?;
    for component in path.components() {
        at = rustix::fs::openat(&at, plain(component)?, PASSAGE, Mode::empty())?;
    }
    Ok(at)
}

/// Opens the same directory for reading what is in it.
pub(crate) fn listing(root: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        directory(root, path)?,
        c".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Opens a regular file for reading; anything else is `EINVAL`, a link `ELOOP`.
pub(crate) fn file(root: impl AsFd, path: &Path) -> Result<(OwnedFd, Stat), Errno> {
    let (parent, name) = parent(root, path)?;
    let failed = |error: io::Error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
    let file = open_regular(parent, name, Links::Refused).map_err(failed)?.ok_or(Errno::INVAL)?;
    let stat = rustix::fs::fstat(&file)?;
    Ok((file.into(), stat))
}

/// Opens whatever is at a path, without a right that it might refuse, and without following a link there.
pub(crate) fn hold(root: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let (parent, name) = parent(root, path)?;
    rustix::fs::openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Calls `fstatat(2)` on a path, without following a link there.
pub(crate) fn stat(root: impl AsFd, path: &Path) -> Result<Stat, Errno> {
    let (parent, name) = parent(root, path)?;
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Reads the link at a path; `EINVAL` if it is none.
pub(crate) fn read_link(root: impl AsFd, path: &Path) -> Result<PathBuf, Errno> {
    let (parent, name) = parent(root, path)?;
    let target = rustix::fs::readlinkat(parent, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

/// Makes a directory readable, writable and passable for its owner; `ENOTDIR` if it is a link or no directory.
///
/// Only the owner and root can.
pub(crate) fn open_up(parent: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    open_up_itself(&rustix::fs::openat(parent, name, PASSAGE, Mode::empty())?).map(drop)
}

/// Gives the owner every right in a directory that is open, though nobody may pass through it. Returns the mode that it
/// had, if that was another.
///
/// The change is made through `/proc`, which leads to what was opened: chmod(2) would follow a link, and a
/// descriptor that only passes through is refused by fchmod(2).
pub(crate) fn open_up_itself(directory: impl AsFd) -> Result<Option<Mode>, Errno> {
    let directory = directory.as_fd();
    let mode = Mode::from_raw_mode(rustix::fs::fstat(directory)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return Ok(None);
    }
    rustix::fs::chmod(format!("/proc/self/fd/{}", directory.as_raw_fd()), mode | Mode::RWXU)?;
    Ok(Some(mode))
}

/// Opens the directory that a path's last component lies in; returns it with that component.
pub(crate) fn parent(root: impl AsFd, path: &Path) -> Result<(OwnedFd, &OsStr), Errno> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    Ok((directory(root, path.parent().unwrap_or(Path::new("")))?, name))
}

/// Lists the names in a directory with their types, but not `.` and `..`. They have no order, and their number no bound:
/// the caller decides when it is enough.
pub(crate) fn entries(
    directory: BorrowedFd<'_>,
) -> Result<impl Iterator<Item = Result<(OsString, FileType), Errno>>, Errno> {
    let named = |name: &CStr| name != c"." && name != c"..";
    let entries = rustix::fs::Dir::read_from(directory)?;
    Ok(entries.filter(move |entry| entry.as_ref().map_or(true, |entry| named(entry.file_name()))).map(
        move |entry| {
            let entry = entry?;
            let kind = kind_of(directory, entry.file_name(), entry.file_type())?;
            Ok((OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), kind))
        },
    ))
}

/// Returns the type of a directory entry; calls `fstatat(2)` where the file system does not say.
pub(crate) fn kind_of(directory: BorrowedFd<'_>, name: &CStr, listed: FileType) -> Result<FileType, Errno> {
    if listed != FileType::Unknown {
        return Ok(listed);
    }
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode)),
        // Gone in the meantime: nothing to look at.
        Err(Errno::NOENT) => Ok(FileType::Unknown),
        Err(errno) => Err(errno),
    }
}

/// Returns the path of what is open, without any link (`proc_pid_fd(5)`).
pub(crate) fn path_of(descriptor: impl AsFd) -> Result<PathBuf, Errno> {
    let link = rustix::fs::readlinkat(
        rustix::fs::CWD,
        format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd()),
        Vec::new(),
    )?;
    let path = PathBuf::from(OsString::from_vec(link.into_bytes()));
    // What lies outside of this root, or is no file, has a text there that is no path.
    if path.is_absolute() { Ok(path) } else { Err(Errno::NOENT) }
}

/// Returns the path of what a path leads to, without any link: as far as [`follow`] goes where root acts for a user.
///
/// Root that acts for itself follows every link, since this only says where one leads.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    if file_system_user().is_root() {
        return path.canonicalize();
    }
    Ok(path_of(follow::open(CWD, path)?)?)
}

/// Returns the device and inode of a file.
pub(crate) fn file_id(stat: &Stat) -> FileId {
    FileId { device: stat.st_dev, inode: stat.st_ino }
}

/// Checks that a component leads down, not up and not elsewhere.
fn plain(component: Component<'_>) -> Result<&OsStr, Errno> {
    match component {
        Component::Normal(name) => Ok(name),
        _ => Err(Errno::INVAL),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn follows_no_link_on_the_way_nor_at_the_end() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        fs::write(top.path().join("a/b/f"), "x").unwrap();
        symlink("a", top.path().join("link")).unwrap();
        symlink("f", top.path().join("a/b/to-f")).unwrap();
        let root = File::open(top.path()).unwrap();
        assert!(directory(&root, Path::new("a/b")).is_ok());
        assert!(file(&root, Path::new("a/b/f")).is_ok());
        assert_eq!(directory(&root, Path::new("link/b")).unwrap_err(), Errno::NOTDIR);
        assert_eq!(file(&root, Path::new("link/b/f")).unwrap_err(), Errno::NOTDIR);
        assert_eq!(file(&root, Path::new("a/b/to-f")).unwrap_err(), Errno::LOOP);
        let link = stat(&root, Path::new("a/b/to-f")).unwrap();
        assert_eq!(FileType::from_raw_mode(link.st_mode), FileType::Symlink);
    }

    #[test]
    fn leads_nowhere_but_down() {
        let root = File::open("/usr").unwrap();
        for path in ["..", "bin/..", "/usr/bin", "bin/../.."] {
            assert_eq!(directory(&root, Path::new(path)).unwrap_err(), Errno::INVAL, "{path}");
        }
        assert_eq!(file(&root, Path::new("..")).unwrap_err(), Errno::INVAL);
    }

    #[test]
    fn a_directory_is_opened_up_and_what_a_link_leads_to_is_not() {
        use std::os::unix::fs::PermissionsExt;

        let top = tempfile::tempdir().unwrap();
        let mode = |name| fs::metadata(top.path().join(name)).unwrap().permissions().mode() & 0o7777;
        for name in ["closed", "elsewhere"] {
            fs::create_dir(top.path().join(name)).unwrap();
            fs::set_permissions(top.path().join(name), fs::Permissions::from_mode(0o011)).unwrap();
        }
        symlink("elsewhere", top.path().join("link")).unwrap();
        let root = File::open(top.path()).unwrap();
        open_up(&root, OsStr::new("closed")).unwrap();
        assert_eq!(open_up(&root, OsStr::new("link")).unwrap_err(), Errno::NOTDIR);
        assert_eq!((mode("closed"), mode("elsewhere")), (0o711, 0o011));
    }

    #[test]
    fn a_directory_that_nobody_may_enter_is_opened_up_by_its_descriptor() {
        use std::os::unix::fs::PermissionsExt;

        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("closed");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let closed = directory(File::open(top.path()).unwrap(), Path::new("closed")).unwrap();
        assert_eq!(open_up_itself(&closed).unwrap(), Some(Mode::empty()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o700);
        assert_eq!(open_up_itself(&closed).unwrap(), None, "it is open already");
    }

    #[test]
    fn a_pipe_is_no_file_and_does_not_hang() {
        let top = tempfile::tempdir().unwrap();
        let root = File::open(top.path()).unwrap();
        rustix::fs::mknodat(&root, "pipe", FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(file(&root, Path::new("pipe")).unwrap_err(), Errno::INVAL);
    }
}
