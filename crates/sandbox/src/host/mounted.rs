//! Directories that are mounted more than once, and so are reached by several paths.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use confine::mount::mountinfo::{self, OtherPath};
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};

/// A mount, and the file system that is mounted there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct MountId {
    mount: u64,
    device: (u32, u32),
}

/// The mount that a path lies on, or what is there of it; `None` where the kernel does not tell mounts apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OnMount(Option<MountId>);

impl OnMount {
    /// Finds it, for a path without links.
    pub fn find(path: &Path) -> Self {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let wanted = StatxFlags::TYPE | StatxFlags::MNT_ID;
        let found = path.ancestors().find_map(|path| statx(CWD, path, flags, wanted).ok());
        let has_mount = |found: &Statx| found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Self(found.filter(has_mount).map(|found| MountId {
            mount: found.stx_mnt_id,
            device: (found.stx_dev_major, found.stx_dev_minor),
        }))
    }

    /// Returns whether something may be reached by paths on both: not on one mount, nor on two file systems.
    fn may_show_the_same(self, other: Self) -> bool {
        match (self.0, other.0) {
            // The same file system, mounted twice.
            (Some(one), Some(other)) => one.device == other.device && one.mount != other.mount,
            _ => true,
        }
    }
}

/// A directory with the other paths by which it, or something in it, is reached.
#[derive(Debug)]
pub struct Mounted {
    directory: PathBuf,
    own: OnMount,
    /// What is mounted takes longer to read than anything else about a path, and most directories are mounted once.
    others: OnceCell<Vec<OtherPath>>,
}

impl Mounted {
    /// Takes a directory by its path without links.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), own: OnMount::find(directory), others: OnceCell::new() }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns what another path, without links, leads to in the directory, relative to it: by the path of the directory or by another
    /// one. There need not be anything yet.
    pub fn leads(&self, path: &Path) -> Option<PathBuf> {
        match path.strip_prefix(&self.directory) {
            Ok(beneath) => Some(beneath.to_owned()),
            Err(_) => self.other_paths(&OnMount::find(path)).find_map(|other| other.leads(path)),
        }
    }

    /// Returns whether the directory lies in another one, by whatever path.
    pub fn lies_in(&self, around: &Path) -> bool {
        let is_around = |other: &OtherPath| other.is_whole() && other.path.starts_with(around);
        self.directory.starts_with(around) || self.other_paths(&OnMount::find(around)).any(is_around)
    }

    /// Lists the other paths by which the directory, or something in it, is reached, as far as a path on this mount can begin like one
    /// of them.
    pub fn other_paths(&self, like: &OnMount) -> impl Iterator<Item = &OtherPath> {
        let others: &[OtherPath] = if self.own.may_show_the_same(*like) {
            // What the kernel does not say is no other path.
            self.others.get_or_init(|| mountinfo::elsewhere(&self.directory).unwrap_or_default())
        } else {
            &[]
        };
        others.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_reached_by_every_path_of_its_own() {
        let others = vec![
            OtherPath { path: "/other/d".into(), beneath: "".into() },
            OtherPath { path: "/part".into(), beneath: "sub".into() },
        ];
        let mounted = Mounted { directory: "/d".into(), own: OnMount(None), others: OnceCell::from(others) };
        for (path, leads) in [
            ("/d/x", Some("x")),
            ("/other/d/x", Some("x")),
            ("/other/d", Some("")),
            ("/part/x", Some("sub/x")),
            ("/other", None),
            ("/dd", None),
        ] {
            assert_eq!(mounted.leads(Path::new(path)), leads.map(PathBuf::from), "{path}");
        }
        for (around, is_around) in
            [("/", true), ("/other", true), ("/other/d", true), ("/part", false), ("/o", false)]
        {
            assert_eq!(mounted.lies_in(Path::new(around)), is_around, "{around}");
        }
    }

    #[test]
    fn a_path_on_the_same_mount_is_no_other_one() {
        let place = tempfile::tempdir().unwrap();
        let host = place.path().canonicalize().unwrap();
        let mounted = Mounted::new(&host);
        assert_eq!(mounted.leads(&host.join("new/x")), Some("new/x".into()));
        assert_eq!(mounted.leads(&host.with_file_name("beside")), None);
        assert!(mounted.others.get().is_none(), "what is mounted was read");
    }
}
