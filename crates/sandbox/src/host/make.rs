//! Directories and files that are made where somebody names them, with the rights that this thread has: by descriptor, so that what
//! was made or found is what is written in.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::host::follow;
use crate::host::small_file;

/// Opens a directory for passing through, and makes it and those on the way to it where they are missing. Links on the way are
/// followed as far as `follow` goes.
pub fn directory(path: &Path, mode: u32) -> io::Result<OwnedFd> {
    let (existing, names) = existing(path)?;
    Ok(within(existing, names.into_iter(), Mode::from_raw_mode(mode))?)
}

/// Opens the innermost directory on a path that is there, and returns the names of those that are missing in it. A link that leads
/// nowhere counts as missing.
pub(crate) fn existing(path: &Path) -> io::Result<(OwnedFd, Vec<&OsStr>)> {
    let mut names = Vec::new();
    for ancestor in path.ancestors() {
        // The first part of a relative path lies where this process stands.
        let ancestor_or_here = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        match follow::open(CWD, ancestor_or_here) {
            Ok(existing) => {
                names.reverse();
                return Ok((existing, names));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // `..` in what does not exist leads nobody knows where.
            Err(error) => names.push(ancestor.file_name().ok_or(error)?),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Makes one directory in the other. No link is followed.
pub(crate) fn within<'a>(
    mut at: OwnedFd,
    names: impl Iterator<Item = &'a OsStr>,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in names {
        match rustix::fs::mkdirat(&at, name, mode) {
            // Somebody else made it in the meantime; whose it is gets checked by whoever opens it.
            Ok(()) | Err(Errno::EXIST) => at = rustix::fs::openat(&at, name, flags, Mode::empty())?,
            Err(errno) => return Err(errno),
        }
    }
    Ok(at)
}

/// Opens an empty file of this name in a directory: a new one, or the regular file that is there or that a link there leads to.
pub fn file(directory: impl AsFd, name: &OsStr) -> io::Result<File> {
    match follow::open(&directory, Path::new(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o666))?.into())
        }
        Err(error) => Err(error),
        Ok(found) => {
            if FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) != FileType::RegularFile {
                return Err(io::Error::other("no regular file"));
            }
            small_file::refuse_of_kernel(&found)?;
            let again = format!("/proc/self/fd/{}", found.as_raw_fd());
            let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NONBLOCK | OFlags::CLOEXEC;
            Ok(rustix::fs::open(again, flags, Mode::empty())?.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::host::acting::ActingAs;
    use crate::host::identity::Identity;

    #[test]
    fn a_file_is_made_or_written_anew_also_behind_a_link() {
        let top = tempfile::tempdir().unwrap();
        let made = directory(&top.path().join("a/b"), 0o755).unwrap();
        symlink("file", top.path().join("a/b/link")).unwrap();
        for (name, content) in [("file", "first"), ("file", "2"), ("link", "third")] {
            file(&made, OsStr::new(name)).unwrap().write_all(content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(top.path().join("a/b/file")).unwrap(), content);
        }
        nix::unistd::mkfifo(&top.path().join("a/b/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in ["pipe", ".."] {
            assert!(file(&made, OsStr::new(name)).is_err(), "{name}");
        }
        assert!(directory(&top.path().join("none/../c"), 0o755).is_err());
    }

    #[test]
    fn no_link_of_proc_leads_whoever_acts_for_a_user_to_where_root_stands() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        symlink("/proc/self/cwd/Cargo.toml", top.path().join("link")).unwrap();
        assert!(fs::metadata(top.path().join("link")).unwrap().is_file(), "the control");
        let _acting = ActingAs::user(Identity { uid: 1001, gid: 1001 }).unwrap();
        let made = directory(&top.path().join("new"), 0o755).unwrap();
        symlink("/proc/self/cwd/Cargo.toml", top.path().join("new/link")).unwrap();
        assert!(file(made, OsStr::new("link")).is_err());
        assert!(directory(Path::new("/proc/self/cwd/new"), 0o755).is_err());
    }
}
