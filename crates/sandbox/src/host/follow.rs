//! Paths that somebody names, and the links on the way: which of them are followed.
//!
//! A user follows any link, with the rights that they have. Root is led astray by links of others, where these rights are its
//! own or where a link leads past them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use policy::text::escape;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::host::acting::file_system_user;

/// How many links are followed, as many as the kernel follows (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// The file system of processes, see statfs(2).
pub(crate) const PROC: rustix::fs::FsWord = 0x9fa0;

/// Opens what a path leads to, without a right that it might refuse (`O_PATH`).
///
/// Root that acts for a user follows no link of `/proc` to what this process has open (`cwd`, `fd`): behind it lies what the user
/// has no way to. Root that acts for itself follows no link of another user's.
pub(crate) fn open(directory: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    if !geteuid().is_root() {
        return Ok(rustix::fs::openat(directory, path, flags, Mode::empty())?);
    }
    let resolved = |resolve| rustix::fs::openat2(&directory, path, flags, Mode::empty(), resolve);
    if file_system_user().is_root() {
        match resolved(ResolveFlags::NO_SYMLINKS) {
            Err(Errno::LOOP) => open_for_root(directory, path),
            opened => Ok(opened?),
        }
    } else {
        resolved(ResolveFlags::NO_MAGICLINKS).map_err(|errno| match errno {
            Errno::LOOP => {
                io::Error::other("there are too many links on the way, or one of /proc to what root has open")
            }
            errno => errno.into(),
        })
    }
}

/// Opens the same step by step, and looks whose each link is: what was looked at is what is followed.
fn open_for_root(directory: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let passage = OFlags::PATH | OFlags::CLOEXEC;
    let start = |path: &Path| if path.is_absolute() { "/" } else { "." };
    let mut at = rustix::fs::openat(directory, start(path), passage, Mode::empty())?;
    let root = rustix::fs::openat(CWD, "/", passage, Mode::empty())?;
    // In a user namespace the host's root has another number.
    let owners = [0, rustix::fs::fstat(&root)?.st_uid];
    let mut left: VecDeque<OsString> = names(path).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        let next = rustix::fs::openat(&at, &name, passage | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = rustix::fs::fstat(&next)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            at = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        // The kernel's own, which lead where no text says.
        if rustix::fs::fstatfs(&next)?.f_type == PROC {
            at = rustix::fs::openat(&at, &name, passage, Mode::empty())?;
            continue;
        }
        if !owners.contains(&stat.st_uid) {
            let link = std::fs::read_link(format!("/proc/self/fd/{}", next.as_raw_fd())).unwrap_or_default();
            return Err(io::Error::other(format!(
                "`{}` is a link of uid {}, who may have root led anywhere; name what it leads to instead",
                escape::path(&link),
                stat.st_uid
            )));
        }
        let target = rustix::fs::readlinkat(&next, "", Vec::new())?;
        let target =
            PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(target.into_bytes()));
        if target.is_absolute() {
            at = root.try_clone()?;
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            left.push_front(name);
        }
    }
    Ok(at)
}

/// Lists the steps of a path: names, and `..`.
pub(crate) fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Resolves a path. Returns every path that is traversed on the way, each link and directory without links, and where it
/// leads. What does not exist is taken for a directory.
pub(crate) fn traversed_paths(path: &Path) -> (Vec<PathBuf>, PathBuf) {
    let mut passed = Vec::new();
    let mut left: VecDeque<OsString> = names(path).collect();
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        passed.push(at.clone());
        if let Ok(target) = at.read_link() {
            links += 1;
            if links > MAX_LINKS {
                break;
            }
            at.pop();
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                left.push_front(name);
            }
        }
    }
    (passed, at)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;
    use crate::host::acting::ActingAs;
    use crate::host::identity::Identity;

    const USER: Identity = Identity { uid: 1001, gid: 1001 };

    fn led_to(path: &Path) -> Result<PathBuf, String> {
        let found = open(CWD, path).map_err(|error| error.to_string())?;
        Ok(fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).unwrap())
    }

    #[test]
    fn root_follows_no_link_of_another_user() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/inner")).unwrap();
        symlink("real", top.join("link")).unwrap();
        symlink(top.join("link/inner/.."), top.join("far")).unwrap();
        symlink("none", top.join("dangling")).unwrap();
        symlink("around", top.join("around")).unwrap();
        for name in ["real/inner", "link/inner", "far/inner", "link/../far/inner"] {
            assert_eq!(led_to(&top.join(name)), Ok(top.join("real/inner")), "{name}");
        }
        let errno = |name: &str| open(CWD, &top.join(name)).unwrap_err().raw_os_error();
        assert_eq!(errno("dangling"), Some(Errno::NOENT.raw_os_error()));
        assert_eq!(errno("around"), Some(Errno::LOOP.raw_os_error()));

        // The control: the user follows it.
        lchown(top.join("link"), Some(USER.uid), Some(USER.gid)).unwrap();
        fs::set_permissions(&top, fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["link/inner", "far/inner"] {
            let said = led_to(&top.join(name)).unwrap_err();
            assert!(
                said.contains(&format!("{}` is a link of uid 1001", top.join("link").display())),
                "{said}"
            );
            let acting = ActingAs::user(USER).unwrap();
            assert_eq!(led_to(&top.join(name)), Ok(top.join("real/inner")), "{name}");
            drop(acting);
        }
        assert_eq!(led_to(&top.join("real/inner")), Ok(top.join("real/inner")));
    }

    #[test]
    fn nobody_is_led_by_proc_to_what_root_has_open() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let closed = tempfile::tempdir().unwrap();
        let inner = closed.path().canonicalize().unwrap().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("file"), "").unwrap();
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let held = fs::File::open(&inner).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let linked = tempfile::tempdir().unwrap();
        fs::set_permissions(linked.path(), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&path, linked.path().join("link")).unwrap();
        for path in [path, linked.path().join("link")] {
            let file = path.join("file");
            assert_eq!(led_to(&file), Ok(inner.join("file")), "root itself");
            let acting = ActingAs::user(USER).unwrap();
            // The control: the kernel lets them pass.
            assert!(rustix::fs::openat(CWD, &file, OFlags::PATH, Mode::empty()).is_ok());
            assert!(led_to(&file).unwrap_err().contains("what root has open"));
            drop(acting);
        }
    }
}
