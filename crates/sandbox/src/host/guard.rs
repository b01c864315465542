//! Guards: a process group that ends when this process ends, however it does.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use confine::guard;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::host::init_program;
use crate::host::programs::DIRECTORY;

/// The leader of a process group. It waits for the end of this process, which it learns from a pipe, and ends the group then.
///
/// When this is dropped the leader goes, and what is left of the group may stay.
#[derive(Debug)]
pub struct GroupGuard {
    /// Its standard input is the pipe.
    leader: Child,
}

impl GroupGuard {
    /// Starts one, which also removes a directory.
    pub(crate) fn new(directory: Option<&Path>) -> io::Result<Self> {
        let program = init_program::in_memory()?;
        let leader = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
            .arg(guard::ARGUMENT)
            .args(directory)
            .env_clear()
            .current_dir(DIRECTORY)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { leader })
    }

    /// Returns the process group.
    pub(crate) fn group(&self) -> Pid {
        Pid::from_child(&self.leader)
    }

    /// Sends a signal to the group. The guard itself heeds none but SIGKILL.
    pub(crate) fn send(&self, signal: Signal) {
        // The leader is ours and not waited for, so the group cannot be anybody else's.
        let _ = kill_process_group(self.group(), signal);
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        let _ = self.leader.kill();
        let _ = self.leader.wait();
    }
}
