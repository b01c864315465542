//! Files of the kernel: what stands in them is believed only where they lie in a file system that the kernel makes.
//!
//! In a container everything at a path may be an image's: a `VOLUME` puts files of its own on `/sys/fs/cgroup`, and a
//! link leads anywhere. Which file system an open file lies in, only the kernel says (statfs(2)).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use policy::text::escape;
use rustix::fs::{Mode, OFlags};

/// A file system that the kernel makes, and no image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KernelFileSystem {
    /// `/proc`: what the kernel says of processes.
    Processes,
    /// Control groups, of version 1 or 2.
    ControlGroups,
    /// What `/proc/self/ns` leads to.
    Namespaces,
}

impl KernelFileSystem {
    /// Returns its numbers in linux/magic.h.
    fn magic(self) -> &'static [i64] {
        match self {
            Self::Processes => &[0x9fa0],
            Self::ControlGroups => &[0x27_e0eb, 0x6367_7270],
            Self::Namespaces => &[0x6e73_6673],
        }
    }

    /// Reads a file that lies in this file system, as text. One that lies elsewhere is an error.
    pub fn text(self, path: impl AsRef<Path>) -> io::Result<String> {
        // Names in some of them need not be text; what is looked for is.
        Ok(String::from_utf8_lossy(&self.read(path)?).into_owned())
    }

    /// Reads a file that lies in this file system, byte for byte.
    pub fn read(self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        // A named pipe of somebody's must keep nobody waiting.
        let mut file =
            File::from(self.open(path.as_ref(), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?);
        // Most fit into this, and take one call.
        let mut bytes = Vec::with_capacity(4 << 10);
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens what lies in this file system, to be looked at and not to be read.
    pub(crate) fn find(self, path: impl AsRef<Path>) -> io::Result<OwnedFd> {
        self.open(path.as_ref(), OFlags::PATH)
    }

    fn open(self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let file = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?;
        let magic = rustix::fs::fstatfs(&file)?.f_type;
        if self.magic().contains(&magic) {
            return Ok(file);
        }
        Err(io::Error::other(format!("{} is not the kernel's own", escape::path(path))))
    }
}

/// Returns the inode number of one namespace of this process, by its name in `/proc/self/ns`.
pub fn namespace_inode(name: &str) -> io::Result<u64> {
    let found = KernelFileSystem::Namespaces.find(format!("/proc/self/ns/{name}"))?;
    Ok(rustix::fs::fstat(found)?.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_anybody_could_have_written_is_not_believed() {
        assert!(KernelFileSystem::Processes.text("/proc/self/status").unwrap().contains("Seccomp"));
        assert!(KernelFileSystem::Namespaces.find("/proc/self/ns/mnt").is_ok());
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("memory.max");
        std::fs::write(&path, "1048576\n").unwrap();
        for system in
            [KernelFileSystem::Processes, KernelFileSystem::ControlGroups, KernelFileSystem::Namespaces]
        {
            let message = system.read(&path).unwrap_err().to_string();
            assert!(message.contains("is not the kernel's own"), "{message}");
        }
        // Nor is one of the kernel's that is about something else.
        assert!(KernelFileSystem::ControlGroups.read("/proc/self/status").is_err());
    }

    #[test]
    fn a_named_pipe_keeps_nobody_waiting() {
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(KernelFileSystem::Processes.read(&pipe).is_err());
    }
}
