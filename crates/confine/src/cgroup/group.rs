//! The groups that one sandbox has: getting into them, reading from them, and removing them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use policy::text::escape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::kills::KillCounter;

/// The groups of one sandbox.
#[derive(Debug)]
pub struct Cgroup {
    pub(super) version: CgroupVersion,
    /// One directory for each controller of version 1 (fewer where some are mounted together), or one for
    /// all.
    pub(super) directories: Vec<PathBuf>,
}

/// How a process gets into the groups.
#[derive(Debug)]
pub enum CgroupEntry {
    /// `tasks` of each group, open for writing: the agent's own process writes `0` into each before it
    /// executes the agent ([`super::enter`]). They are close-on-exec, and must not be left to the agent.
    V1(Vec<OwnedFd>),
    /// The directory: PID 1 is created in it by `clone3(CLONE_INTO_CGROUP)`. That must be the launcher's own
    /// call, because the kernel asks whether the one who clones may write to the group, and inside a user
    /// namespace it may not.
    V2(OwnedFd),
}

/// Why a group could not be handled.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} the control group {}: {source}", escape::path(directory))]
pub struct CgroupError {
    action: &'static str,
    directory: PathBuf,
    source: io::Error,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CgroupVersion {
    V1,
    V2,
}

/// How long removing may take: everything inside has been killed by then.
const PATIENCE: Duration = Duration::from_secs(2);

impl Cgroup {
    /// Opens what a process needs to get in. May be called as often as processes are to be attached.
    pub fn attach(&self) -> Result<CgroupEntry, CgroupError> {
        let failed = |directory: &Path, source| CgroupError {
            action: "open",
            directory: directory.to_owned(),
            source,
        };
        match self.version {
            CgroupVersion::V1 => {
                let tasks = |directory: &PathBuf| {
                    let file = fs::OpenOptions::new().write(true).open(directory.join("tasks"));
                    file.map(OwnedFd::from).map_err(|source| failed(directory, source))
                };
                self.directories.iter().map(tasks).collect::<Result<_, _>>().map(CgroupEntry::V1)
            }
            CgroupVersion::V2 => {
                let directory = &self.directories[0];
                let file = fs::File::open(directory).map_err(|source| failed(directory, source))?;
                Ok(CgroupEntry::V2(file.into()))
            }
        }
    }

    /// Returns how many processes inside the kernel has killed for lack of memory; `None` where it does not count them.
    pub fn oom_kills(&self) -> Option<u64> {
        self.kill_counter()?.count()
    }

    /// Opens what counts the processes inside that the kernel kills for lack of memory; `None` where nothing does.
    pub fn kill_counter(&self) -> Option<KillCounter> {
        let file = match self.version {
            CgroupVersion::V1 => "memory.oom_control",
            CgroupVersion::V2 => "memory.events",
        };
        let open = |directory: &PathBuf| fs::File::open(directory.join(file)).ok();
        self.directories.iter().find_map(open).map(|file| KillCounter::from(OwnedFd::from(file)))
    }

    /// Kills what is left inside, and removes the groups once they are empty.
    ///
    /// Fails after two seconds; what is left then is swept later ([`super::sweep`]).
    pub fn kill_and_remove(self) -> Result<(), CgroupError> {
        let deadline = Instant::now() + PATIENCE;
        if self.version == CgroupVersion::V2 {
            // Linux 5.14; where the file is missing, processes are killed one by one below.
            let _ = fs::write(self.directories[0].join("cgroup.kill"), "1");
        }
        // Each is tried, whatever became of the one before; the first failure is returned.
        self.directories.iter().map(|directory| remove(directory, deadline)).fold(Ok(()), Result::and)
    }
}

fn remove(directory: &Path, deadline: Instant) -> Result<(), CgroupError> {
    loop {
        let busy = match fs::remove_dir(directory) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => error,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if busy.raw_os_error() != Some(libc::EBUSY) || left.is_zero() {
            return Err(CgroupError { action: "remove", directory: directory.to_owned(), source: busy });
        }
        kill_and_wait(directory, left);
    }
}

/// Kills what runs in a group, and waits until one of it has ended, `left` is over, or, if nothing runs any
/// more, the kernel may have finished taking it out of the group.
fn kill_and_wait(directory: &Path, left: Duration) {
    let handles =
        members(directory).into_iter().map(|pid| Some((pid, pidfd_open(pid, PidfdFlags::empty()).ok()?)));
    let handles: Vec<(Pid, OwnedFd)> = handles.flatten().collect();
    // A number may have passed to a stranger between reading and opening it, so they are read again.
    let still_inside = if handles.is_empty() { Vec::new() } else { members(directory) };
    let killed = |(pid, handle): &(Pid, OwnedFd)| {
        still_inside.contains(pid) && pidfd_send_signal(handle, Signal::KILL).is_ok()
    };
    let doomed: Vec<&OwnedFd> = handles.iter().filter(|one| killed(one)).map(|(_, handle)| handle).collect();
    let mut ends: Vec<PollFd<'_>> = doomed.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let patience = if ends.is_empty() { left.min(Duration::from_millis(1)) } else { left };
    let timeout = Timespec::try_from(patience).ok();
    let _ = poll(&mut ends, timeout.as_ref());
}

fn members(directory: &Path) -> Vec<Pid> {
    // Version 1 moves threads: one of ours that is inside must not be the end of us.
    let this = rustix::process::getpid();
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    let numbers = text.lines().filter_map(|line| line.parse().ok());
    numbers.filter_map(Pid::from_raw).filter(|pid| *pid != this).collect()
}
