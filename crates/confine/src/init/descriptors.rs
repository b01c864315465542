//! What the first command is given besides its streams.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use crate::protocol::{Grant, InitSpec};

/// What the agent's process is given.
pub(super) struct Descriptors {
    /// The cgroups that it enters.
    pub(super) cgroups: Vec<OwnedFd>,
    /// What it has besides its streams, in the order of [`CommandSpec::passed`](crate::protocol::CommandSpec::passed).
    pub(super) passed: Vec<OwnedFd>,
}

impl Descriptors {
    /// Lists what landlock lets the agent open again, by the numbers that this process knows it by.
    pub(super) fn grants(&self, spec: &InitSpec) -> Vec<Grant> {
        let all = self.passed.iter().zip(spec.command.iter().flat_map(|command| &command.passed));
        let grants = all.flat_map(|(fd, passed)| {
            let path = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
            passed.access.iter().map(move |access| Grant { path: path.clone(), access: *access })
        });
        grants.collect()
    }
}
