//! Shared directories on file systems of a certain kind, wherever the tests make their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::machine::{Caller, NORMAL};
use crate::place::Place;

/// Makes a directory of the caller's in this one.
pub(crate) fn directory_in(caller: Caller, directory: &str) -> TempDir {
    let made = tempfile::Builder::new().prefix("sandboxctl-test-").tempdir_in(directory).unwrap();
    if caller == Caller::Normal && rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(made.path(), Some(NORMAL), Some(NORMAL)).unwrap();
    }
    made
}

/// A command in a sandbox that shares such a directory, and works in it.
pub(crate) fn inside(place: &Place, shared: &Path, flags: &[&str], argv: &[&str]) -> Command {
    let volume = format!("{}:/elsewhere", shared.display());
    let flags = [&["--volume", &volume, "--workdir", "/elsewhere"], flags].concat();
    place.inside(&flags, argv)
}

/// A file system in memory, in a place. Only root mounts one.
pub(crate) struct MemoryMount(PathBuf);

impl MemoryMount {
    pub(crate) fn at(place: &Place, options: &str) -> Self {
        let path = place.path("memory");
        fs::create_dir(&path).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).status();
        assert!(mount.unwrap().success());
        place.give(&path);
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn remount(&self, mode: &str) {
        let options = format!("remount,{mode}");
        let mount = Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        assert!(mount.unwrap().success());
    }
}

impl Drop for MemoryMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy"]).arg(&self.0).status();
    }
}
