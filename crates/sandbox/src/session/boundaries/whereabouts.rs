//! Where a file that is held open is by now.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::plan::FileId;
use rustix::io::Errno;

use crate::boundary::root::Entered;
use crate::host::beneath;

/// What the kernel appends to the path of what has no name any more (`proc_pid_fd(5)`).
const REMOVED: &[u8] = b" (deleted)";

/// Where something is that was in a boundary. Paths inside are relative to it.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Whereabouts {
    Inside(PathBuf),
    /// Its path on the host.
    Outside(PathBuf),
    /// It has no name any more, or another file has taken it. This was its last one, if that was inside.
    Removed(Option<PathBuf>),
    /// It is not where it was a moment ago.
    Moving,
    /// The kernel does not say.
    Unknown,
}

impl Whereabouts {
    /// Asks the kernel for the path of a file.
    pub(super) fn of(held: &OwnedFd, file_id: FileId, root: &Entered<'_>) -> Self {
        let (Ok(top), Ok(path)) = (beneath::path_of(root), beneath::path_of(held)) else {
            return Self::Unknown;
        };
        let is_removed = path.as_os_str().as_bytes().ends_with(REMOVED);
        let is_there = |path: &Path| match beneath::stat(root, path) {
            Ok(stat) => beneath::file_id(&stat) == file_id,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => false,
            // Who may not look is told by the kernel.
            Err(_) => !is_removed,
        };
        if let Some(place) = path.strip_prefix(&top).ok().filter(|place| is_there(place)) {
            return Self::Inside(place.into());
        }
        if let Some(last) = path.as_os_str().as_bytes().strip_suffix(REMOVED) {
            let last = Path::new(OsStr::from_bytes(last));
            return Self::Removed(last.strip_prefix(&top).ok().map(Path::to_path_buf));
        }
        if path.starts_with(&top) { Self::Moving } else { Self::Outside(path) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::boundary::root::Root;
    use crate::host::identity::Identity;

    #[test]
    fn a_file_is_found_where_it_was_renamed_replaced_or_removed() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join("root").join(name);
        fs::create_dir_all(path("a")).unwrap();
        fs::write(path("a/key"), "").unwrap();
        let root = Root::of(fs::File::open(path("")).unwrap().into(), Identity::own()).unwrap();
        let root = root.enter().unwrap();
        let held = beneath::hold(&root, Path::new("a/key")).unwrap();
        let file_id = beneath::file_id(&rustix::fs::fstat(&held).unwrap());
        let found = || Whereabouts::of(&held, file_id, &root);
        assert_eq!(found(), Whereabouts::Inside("a/key".into()));
        fs::rename(path("a"), path("b")).unwrap();
        assert_eq!(found(), Whereabouts::Inside("b/key".into()));
        // The root is held, too.
        fs::rename(path(""), top.path().join("other")).unwrap();
        assert_eq!(found(), Whereabouts::Inside("b/key".into()));
        fs::rename(top.path().join("other"), path("")).unwrap();
        fs::rename(path("b/key"), top.path().join("key")).unwrap();
        assert_eq!(found(), Whereabouts::Outside(top.path().join("key").canonicalize().unwrap()));
        fs::rename(top.path().join("key"), path("b/key (deleted)")).unwrap();
        assert_eq!(found(), Whereabouts::Inside("b/key (deleted)".into()));
        fs::write(path("new"), "").unwrap();
        fs::rename(path("new"), path("b/key (deleted)")).unwrap();
        assert_eq!(found(), Whereabouts::Removed(Some("b/key (deleted)".into())));
    }
}
