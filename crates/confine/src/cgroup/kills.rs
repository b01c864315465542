//! Counting the processes of a control group that the kernel has killed for lack of memory.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use super::inside::{self, oom_kill_count};

/// More than the kernel ever writes there: a few short lines.
const MAX_LENGTH: usize = 4096;

/// What counts them.
#[derive(Debug)]
pub enum KillCounter {
    /// An open file of a control group.
    File(File),
    /// What this process sees of the control group that it is in.
    Inside,
    Uncounted,
}

impl From<OwnedFd> for KillCounter {
    /// Takes `memory.events`, or `memory.oom_control` of version 1.
    fn from(file: OwnedFd) -> Self {
        Self::File(file.into())
    }
}

impl KillCounter {
    /// Returns how many there were; `None` where that is not counted.
    pub fn count(&self) -> Option<u64> {
        let file = match self {
            Self::File(file) => file,
            Self::Inside => return Some(inside::oom_kills()),
            Self::Uncounted => return None,
        };
        let mut buffer = [0; MAX_LENGTH];
        let read = file.read_at(&mut buffer, 0).ok()?;
        oom_kill_count(&String::from_utf8_lossy(&buffer[..read]))
    }

    /// Returns the file, if it is one.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::File(file) => Some(file.as_fd()),
            Self::Inside | Self::Uncounted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn both_versions_say_how_many_it_were() {
        for text in ["oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "low 0\nmax 9\noom 1\noom_kill 3\n"] {
            let mut file = tempfile::tempfile().unwrap();
            let counter = KillCounter::from(OwnedFd::from(file.try_clone().unwrap()));
            assert_eq!(counter.count(), None);
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!((counter.count(), counter.count()), (Some(3), Some(3)));
        }
    }
}
