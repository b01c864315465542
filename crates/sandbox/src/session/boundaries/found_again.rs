//! Where a directory is by now that an earlier run has shared. Only of one that is known to be nowhere the record may go.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirEntryExt;
use std::path::Path;

use rustix::fs::fstat;

use crate::boundary::error::BoundaryError;
use crate::boundary::root::{Root, open_resolved};
use crate::host::identity::Identity;
use crate::state::record::Remembered;

/// Among how many directories one is looked for that has another name now.
const MAX_NEIGHBOURS: usize = 100_000;

/// What became of a directory that a run has shared.
#[derive(Debug)]
pub(super) enum FoundAgain {
    /// It is there, on a file system that has this number now.
    Here { root: Root, device: u64 },
    /// Its file system is there, and it is neither at its place nor beside that.
    Gone,
    /// Another file system is where it was: its own may come back, with all that is in it.
    Unmounted,
}

impl FoundAgain {
    /// Looks for the directory without a right that it might refuse: at its place, or beside it under another name. No link on the way is
    /// followed, and it belongs to whom it belonged: root acts in it as that user. Fails where it cannot be told whether it is there.
    pub(super) fn look(remembered: &Remembered, caller: Identity) -> io::Result<Self> {
        let mut found = open_if_it(remembered, &remembered.host)?;
        if found.is_none() {
            if device_at(&remembered.host)? != remembered.baseline.root().device {
                return Ok(Self::Unmounted);
            }
            found = beside(remembered)?;
        }
        Ok(match found {
            Some((directory, device)) => Self::Here { root: Root::of(directory, caller)?, device },
            None => Self::Gone,
        })
    }
}

/// Looks for the directory under another name.
fn beside(remembered: &Remembered) -> io::Result<Option<(OwnedFd, u64)>> {
    let neighbours = match remembered.host.parent().map(std::fs::read_dir) {
        None => return Ok(None),
        // Its owner may not list what lies there, so nobody can have renamed it for them to find.
        Some(Err(error)) if is_beyond_reach(&error) => return Ok(None),
        Some(neighbours) => neighbours?,
    };
    for entry in neighbours.take(MAX_NEIGHBOURS) {
        let entry = entry?;
        if entry.ino() == remembered.baseline.root().inode {
            let found = open_if_it(remembered, &entry.path())?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// Returns whether nothing is there, or nothing that the user may look at.
fn is_beyond_reach(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    [NotADirectory, NotFound, PermissionDenied].contains(&error.kind())
}

/// Opens a directory if it is the one that was shared, and returns which number its file system has now.
fn open_if_it(remembered: &Remembered, path: &Path) -> io::Result<Option<(OwnedFd, u64)>> {
    let Some(directory) = open_if_there(path)? else { return Ok(None) };
    // What follows takes a failure for another directory.
    fstat(&directory)?;
    let device = remembered.baseline.device_of(&directory);
    let device = device.filter(|_| remembered.baseline.is_of_same_owner(&directory));
    Ok(device.map(|device| (directory, device)))
}

/// Returns the number of the file system that a path leads to, as far as it leads anywhere.
fn device_at(path: &Path) -> io::Result<u64> {
    for path in path.ancestors() {
        if let Some(directory) = open_if_there(path)? {
            return Ok(fstat(&directory)?.st_dev);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Opens a directory, unless there is none.
fn open_if_there(path: &Path) -> io::Result<Option<OwnedFd>> {
    match open_resolved(path) {
        Ok(directory) => Ok(Some(directory)),
        Err(BoundaryError::Missing(_) | BoundaryError::Exchanged(_)) => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;
    use crate::boundary::detect::baseline::Baseline;
    use crate::boundary::protect::mounts::Mounts;
    use crate::host::root_only::can_give_files_away;

    fn remembered(path: &Path) -> Remembered {
        let (baseline, _) = Baseline::take(File::open(path).unwrap(), &Mounts::default()).unwrap();
        Remembered {
            host: path.to_owned(),
            baseline,
            hide: Vec::new(),
            also_hidden: Vec::new(),
            stuck: None,
            unsearched: false,
            unmounted_since: None,
        }
    }

    #[test]
    fn the_directory_of_an_earlier_run_is_found_where_no_link_leads_and_as_the_same_owners() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path("a/p")).unwrap();
        let remembered = remembered(&path("a/p"));
        let look = || FoundAgain::look(&remembered, Identity::own()).unwrap();
        let is_found = || matches!(look(), FoundAgain::Here { .. });
        let is_gone = || matches!(look(), FoundAgain::Gone);
        assert!(is_found(), "the control");
        fs::rename(path("a/p"), path("a/renamed")).unwrap();
        assert!(is_found(), "beside it under another name");

        fs::rename(path("a"), path("b")).unwrap();
        symlink(path("b"), path("a")).unwrap();
        assert!(is_gone());
        fs::remove_file(path("a")).unwrap();
        fs::rename(path("b"), path("a")).unwrap();
        assert!(is_found());
        if can_give_files_away() {
            chown(path("a/renamed"), Some(4242), None).unwrap();
            assert!(is_gone());
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_gone_only_where_its_file_system_is() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap().join("p");
        fs::create_dir(&path).unwrap();
        let mut elsewhere = remembered(Path::new("/proc/self"));
        elsewhere.host.clone_from(&path);
        let here = remembered(&path);
        for (one, is_gone) in [(&elsewhere, false), (&here, true)] {
            fs::remove_dir(&path).unwrap_or_default();
            let found = FoundAgain::look(one, Identity::own()).unwrap();
            let what = format!("{found:?}");
            assert_eq!(matches!(found, FoundAgain::Gone), is_gone, "{what}");
            assert_eq!(matches!(found, FoundAgain::Unmounted), !is_gone, "{what}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_reached_is_not_gone() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap().join("a/p");
        fs::create_dir_all(&path).unwrap();
        let remembered = remembered(&path);
        let mode =
            |mode| fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(mode)).unwrap();
        mode(0);
        let found = FoundAgain::look(&remembered, Identity::own());
        mode(0o700);
        // Root may look there.
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(found.is_err(), !is_root, "{found:?}");
    }
}
