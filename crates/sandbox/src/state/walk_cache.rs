//! What walks have learned of shared directories: the next one need not read again what has not changed.
//!
//! It only makes a start faster. What cannot be read or written is left out, and nothing is said.

use std::fs;

use policy::plan::FileId;

use super::directory::{StateDir, StateError};
use crate::boundary::walk::Known;

/// The directory of these files in the state directory.
const WALKS: &str = "walks";

/// How many directories make a file worth its reading: fewer are walked in less than a millisecond.
const WORTH: usize = 200;

/// How many files there are at most. All are removed where there are more.
const MAX_FILES: usize = 100;

/// What walks have learned of each shared directory.
#[derive(Debug)]
pub struct Walks(StateDir);

impl Walks {
    /// Opens the directory of these files.
    pub fn open(state: &StateDir) -> Result<Self, StateError> {
        Ok(Self(state.within(WALKS)?))
    }

    /// Reads what is known of a directory since the machine was started.
    pub(crate) fn load(&self, root: FileId) -> Known {
        let written = self.0.read(&name(root)).ok().flatten();
        let boot = written.as_ref().and_then(|_| boot());
        written.zip(boot).map_or_else(Known::default, |(written, boot)| Known::read(&written, &boot))
    }

    /// Writes down what is known of a directory, if that has changed and is worth it.
    pub(crate) fn save(&self, root: FileId, mut known: Known, has_learned: bool) {
        let has_changed = known.settle() || has_learned || known.has_lost();
        if !has_changed || known.directories() < WORTH {
            return;
        }
        let names = self.0.names().unwrap_or_default();
        if names.len() > MAX_FILES {
            for name in names {
                let _ = self.0.remove(&name);
            }
        }
        if let Some(written) = boot().and_then(|boot| known.written(&boot)) {
            let _ = self.0.write(&name(root), &written);
        }
    }
}

fn name(root: FileId) -> String {
    format!("{:x}-{:x}", root.device, root.inode)
}

/// Returns what stands for this run of the machine: a file may have been half written when it went down, and device numbers are
/// given anew, see random(4).
fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}
