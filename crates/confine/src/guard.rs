//! The guard of a process group of the host: it ends the group when the client is gone, however that ended.
//!
//! A client that is killed can end nothing. So the first process of such a group is this one. It waits for the end of a
//! pipe that only the client holds open. A signal on the death of a parent (`PR_SET_PDEATHSIG`) would follow a thread,
//! reach one process of the group, and be lost where that one changes its user.

use std::io;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::SigSet;
use nix::unistd::{getpgrp, getpid};
use rustix::process::{Signal, kill_current_process_group};

/// The argument by which the program of PID 1 guards the group that it leads. A directory to remove may follow.
pub const ARGUMENT: &str = "--guard";

/// How long the group may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Waits until standard input ends, then ends the group, removes the directory and is killed with what is left of the group.
pub fn run(directory: Option<&Path>) -> io::Result<u8> {
    if getpgrp() != getpid() {
        return Err(io::Error::other("it leads no process group"));
    }
    // What is sent to the group is for the others.
    SigSet::all().thread_block()?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    kill_current_process_group(Signal::TERM)?;
    std::thread::sleep(GRACE);
    // What was removed in part is the caller's to look at; nobody is left who could be notified.
    let _ = directory.map(std::fs::remove_dir_all);
    kill_current_process_group(Signal::KILL)?;
    Ok(0)
}
