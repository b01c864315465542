//! Following the log of an egress proxy: each line as it is written, from one file to the other, until the sandbox ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use confine::protocol::EgressRequest;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::live::{LiveError, Living};
use super::logs::{self, LOGS, log_names};
use crate::host::identity::Identity;
use crate::state::directory::StateDir;

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// One of the two files, and how much of it was printed.
struct Followed {
    file: File,
    offset: u64,
}

impl Followed {
    /// Passes on every whole line that is new. Returns whether there was any.
    fn advance(&mut self, print: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<bool> {
        if self.file.metadata()?.len() < self.offset {
            // It was emptied, and is written anew. What came between two looks and was more than a whole file is lost.
            self.offset = 0;
        }
        let mut any = false;
        loop {
            let mut chunk = vec![0; CHUNK];
            let read = self.file.read_at(&mut chunk, self.offset)?;
            let Some(end) = chunk[..read].iter().rposition(|byte| *byte == b'\n') else { return Ok(any) };
            print(&chunk[..=end])?;
            self.offset += end as u64 + 1;
            any = true;
        }
    }
}

/// Passes on what the log of a sandbox has, and then every line as it is written, until the sandbox ends.
///
/// # Errors
///
/// No sandbox of this name runs, or more than one; or lines cannot be passed on.
pub fn follow(
    state: &Path,
    caller: Identity,
    sandbox: &str,
    mut print: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), LiveError> {
    // The proxy keeps this connection until its end, which is that of the sandbox.
    let life = OwnedFd::from(Living::find(state, caller, sandbox)?.begin(&EgressRequest::Attend)?);
    let logs = StateDir::open(state, caller)?.within(LOGS)?;
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).map_err(io::Error::from)?;
    let mut files = Vec::new();
    for name in log_names(sandbox) {
        if let Some(file) = logs.open_existing(&name)? {
            // Of what was opened, whatever has its name now.
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
            inotify.add_watch(path.as_str(), AddWatchFlags::IN_MODIFY).map_err(io::Error::from)?;
            files.push(Followed { file, offset: 0 });
        }
    }
    // They are written in turn, so the one that begins earlier is the older one.
    files.sort_by_key(|followed| began(&followed.file));
    let Ok([mut current, mut other]) = <[Followed; 2]>::try_from(files) else {
        return Err(LiveError::Lost(io::Error::other("it has no log")));
    };
    loop {
        // Asked before the last look, so that nothing is missed that was written before the end.
        let ended = has_ended(&life);
        current.advance(&mut print)?;
        if other.advance(&mut print)? {
            std::mem::swap(&mut current, &mut other);
        }
        if ended {
            return Ok(());
        }
        let mut ready = [PollFd::new(&inotify, PollFlags::IN), PollFd::new(&life, PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
        // What has changed is seen in the files.
        while inotify.read_events().is_ok_and(|events| !events.is_empty()) {}
    }
}

fn has_ended(life: &OwnedFd) -> bool {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&life.as_fd(), PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Returns when the first line of a log was written, in milliseconds since the epoch.
fn began(log: &File) -> Option<u64> {
    let mut start = [0; 4096];
    let read = log.read_at(&mut start, 0).ok()?;
    logs::began(&start[..read])
}
