//! The descriptors that PID 1 is given: for the first command besides its streams, and to serve other clients.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use super::logs::LogPump;
use crate::cgroup::KillCounter;
use crate::protocol::{Grant, InitSpec, KillSource, Stay};

/// What the agent's process is given.
pub(super) struct Descriptors {
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

/// What PID 1 serves other clients with, see [`Stay`].
pub(super) struct StayDescriptors {
    pub(super) stay: Stay,
    pub(super) listener: OwnedFd,
    pub(super) note: File,
    pub(super) kills: KillCounter,
    pub(super) held: Vec<OwnedFd>,
    pub(super) logs: Vec<LogPump>,
}

impl StayDescriptors {
    /// Takes them from those of a message, see [`Stay`].
    pub(super) fn take(stay: Stay, descriptors: &mut Vec<OwnedFd>) -> io::Result<Self> {
        let logs = if stay.logs.is_some() { 4 } else { 0 };
        let kills = usize::from(stay.kills == KillSource::Descriptor);
        let count = 2 + kills + usize::from(stay.held) + logs;
        if descriptors.len() < count {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a persistent sandbox without its files"));
        }
        let rest = descriptors.split_off(count);
        let mut all = std::mem::replace(descriptors, rest).into_iter();
        let missing = || io::Error::from(io::ErrorKind::InvalidData);
        let listener = all.next().ok_or_else(missing)?;
        let note = File::from(all.next().ok_or_else(missing)?);
        let kills = match stay.kills {
            KillSource::Descriptor => KillCounter::from(all.next().ok_or_else(missing)?),
            KillSource::Inside => KillCounter::Inside,
            KillSource::Uncounted => KillCounter::Uncounted,
        };
        let held = all.by_ref().take(usize::from(stay.held)).collect();
        let mut pumps = Vec::new();
        while let (Some(capacity), Some(pipe), Some(file)) = (stay.logs, all.next(), all.next()) {
            pumps.push(LogPump::begin(pipe, file.into(), capacity)?);
        }
        Ok(Self { stay, listener, note, kills, held, logs: pumps })
    }
}
