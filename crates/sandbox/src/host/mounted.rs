//! Directories that are mounted more than once, and so are reached by several paths.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use confine::mount::mountinfo::{self, OtherPath};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// A mount, and the file system that is mounted there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct MountId {
    mount: u64,
    device: (u32, u32),
}

/// A directory with the other paths by which it, or something in it, is reached.
#[derive(Debug)]
pub struct Mounted {
    directory: PathBuf,
    own: Option<MountId>,
    /// What is mounted takes longer to read than anything else about a path, and most directories are mounted once.
    others: OnceCell<Vec<OtherPath>>,
}

impl Mounted {
    /// Takes a directory by its path without links.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), own: mount_of(directory), others: OnceCell::new() }
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
            Err(_) => self.others(path).iter().find_map(|other| other.leads(path)),
        }
    }

    /// Returns whether the directory lies in another one, by whatever path.
    pub fn lies_in(&self, around: &Path) -> bool {
        let is_around = |other: &OtherPath| other.is_whole() && other.path.starts_with(around);
        self.directory.starts_with(around) || self.others(around).iter().any(is_around)
    }

    /// Lists the other paths by which the directory, or something in it, is reached, as far as this path can begin like one of them.
    pub fn other_paths(&self, like: &Path) -> impl Iterator<Item = &OtherPath> {
        self.others(like).iter()
    }

    /// Lists the other paths, if one of them can begin like this one: not where both lie on one mount, or on two file systems. What
    /// the kernel does not say is no other path.
    fn others(&self, path: &Path) -> &[OtherPath] {
        let can_be_one = match (self.own, mount_of(path)) {
            // The same file system, mounted twice.
            (Some(own), Some(mount)) => own.device == mount.device && own.mount != mount.mount,
            _ => true,
        };
        if !can_be_one {
            return &[];
        }
        self.others.get_or_init(|| mountinfo::elsewhere(&self.directory).unwrap_or_default())
    }
}

/// Returns the mount that a path lies on, or what is there of it; `None` where the kernel does not tell mounts apart.
fn mount_of(path: &Path) -> Option<MountId> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let wanted = StatxFlags::TYPE | StatxFlags::MNT_ID;
    let found = path.ancestors().find_map(|path| statx(CWD, path, flags, wanted).ok())?;
    let device = (found.stx_dev_major, found.stx_dev_minor);
    let has_mount = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    has_mount.then_some(MountId { mount: found.stx_mnt_id, device })
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
        let mounted = Mounted { directory: "/d".into(), own: None, others: OnceCell::from(others) };
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
