//! Other paths to the same file than the one that is covered: a mount covers one path, and a file system may find a name that it does not list.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FsWord, fstatfs, statat};
use rustix::io::Errno;

use crate::host::beneath;

/// File systems in which a mount covers a name in every spelling, see statfs(2): all spellings are one entry to the kernel (`d_compare`,
/// `d_add_ci`), or upper and lower case are told apart. ext4, F2FS, tmpfs, FAT, exFAT, ntfs3, HFS+, XFS, and Btrfs.
const ONE_ENTRY: [FsWord; 9] =
    [0xef53, 0xf2f5_2010, 0x0102_1994, 0x4d44, 0x2011_bab0, 0x7366_746e, 0x482b, 0x5846_5342, 0x9123_683e];

/// Directories of snapshots that are found and need not be listed: of ZFS, Ceph, and servers of NFS.
const SNAPSHOTS: [&str; 3] = [".zfs", ".snap", ".snapshot"];

/// Looks, on the way to these paths, for a name that the file system finds in another case, with an entry of its own for each. Returns one
/// such path that is not listed.
pub(crate) fn other_case<'a>(
    root: impl AsFd,
    paths: impl Iterator<Item = &'a Path>,
) -> io::Result<Option<PathBuf>> {
    on_the_way(root, paths, |directory| {
        if ONE_ENTRY.contains(&fstatfs(directory)?.f_type) {
            return Ok(None);
        }
        found_in_other_case(&names(directory)?, |name| is_found(directory, name))
    })
}

/// Looks, on the way to these paths, for a directory of snapshots that is not listed: no search finds the copies in it.
pub(crate) fn unlisted_snapshots<'a>(
    root: impl AsFd,
    paths: impl Iterator<Item = &'a Path>,
) -> io::Result<Option<PathBuf>> {
    on_the_way(root, paths, |directory| {
        for name in SNAPSHOTS.map(OsStr::new) {
            if is_found(directory, name)? && !names(directory)?.contains(name) {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    })
}

/// Looks into each directory that a path leads through, and returns the path of the first name that is found.
fn on_the_way<'a>(
    root: impl AsFd,
    paths: impl Iterator<Item = &'a Path>,
    look: impl Fn(&OwnedFd) -> io::Result<Option<OsString>>,
) -> io::Result<Option<PathBuf>> {
    let directories: BTreeSet<&Path> = paths.flat_map(|path| path.ancestors().skip(1)).collect();
    for path in directories {
        let directory = match beneath::listing(root.as_fd(), path) {
            Ok(directory) => directory,
            // It is gone by now, or nobody inside can list it either.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
            Err(errno) => return Err(errno.into()),
        };
        if let Some(name) = look(&directory)? {
            return Ok(Some(path.join(name)));
        }
    }
    Ok(None)
}

/// Returns the first name that is found and not listed, of those that are listed in another case. The first that is sure decides.
fn found_in_other_case(
    names: &BTreeSet<OsString>,
    is_found: impl Fn(&OsStr) -> io::Result<bool>,
) -> io::Result<Option<OsString>> {
    // Of letters beyond ASCII, file systems that ignore case may know nothing. One without a letter of ASCII has no other name here.
    for (name, other) in names.iter().map(|name| (name, in_other_case(name))) {
        if names.contains(&other) {
            continue;
        }
        if is_found(&other)? {
            return Ok(Some(other));
        }
        // One that is gone by now says nothing.
        if is_found(name)? {
            break;
        }
    }
    Ok(None)
}

fn in_other_case(name: &OsStr) -> OsString {
    let swap = |byte: &u8| if byte.is_ascii_alphabetic() { byte ^ 0x20 } else { *byte };
    OsString::from_vec(name.as_bytes().iter().map(swap).collect())
}

fn names(directory: &OwnedFd) -> io::Result<BTreeSet<OsString>> {
    beneath::entries(directory.as_fd())?.map(|entry| Ok(entry?.0)).collect()
}

fn is_found(directory: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_name_that_is_found_in_another_case_and_not_listed_is_another_path() {
        let names = |names: &[&str]| -> BTreeSet<OsString> { names.iter().map(Into::into).collect() };
        let found = |listed: &[&str], there: &[&str]| {
            let is_found = |name: &OsStr| Ok(there.iter().any(|there| name == *there));
            found_in_other_case(&names(listed), is_found).unwrap()
        };
        let ignoring_case = ["1", ".git", ".GIT", "a", "A"];
        assert_eq!(found(&["1", ".git", "a"], &ignoring_case), Some(".GIT".into()));
        assert_eq!(found(&["1", ".git", "a"], &["1", ".git", "a"]), None, "the control");
        // Both are listed, as where case counts: the next one says what is so.
        assert_eq!(found(&[".GIT", ".git", "a"], &[".GIT", ".git", "a"]), None);
        assert_eq!(found(&[".GIT", ".git", "a"], &ignoring_case), Some("A".into()));
        // What is gone, or has no letter of ASCII, says nothing.
        assert_eq!(found(&["1", "gone", "ä", "z"], &["1", "ä", "z", "Z"]), Some("Z".into()));
        assert_eq!(found(&["密码.key"], &["密码.key", "密码.KEY"]), Some("密码.KEY".into()));
    }

    #[test]
    fn a_directory_of_snapshots_that_is_listed_is_one_like_any_other() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("a/.snapshot")).unwrap();
        let root = fs::File::open(top.path()).unwrap();
        let hidden = [Path::new("a/b/key"), Path::new("gone/key")];
        assert_eq!(unlisted_snapshots(&root, hidden.into_iter()).unwrap(), None);
        assert_eq!(other_case(&root, hidden.into_iter()).unwrap(), None);
    }
}
