//! Questions on the terminal from which the server was started, for clients that cannot ask their person.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::sync::{Mutex, PoisonError};

use ::mcp::{AskTerminal, TerminalAnswer};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use sandbox::host::deadline::Deadline;
use sandbox::shell::Cancel;

use crate::ui;

/// The longest answer that is read, in bytes. One that is longer is no yes.
const ANSWER: usize = 64;

/// Returns how to ask there, where somebody may read and answer. What came before the question was typed for something else.
pub(super) fn asking() -> Option<Box<AskTerminal>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    // One question at a time, or nobody knows which is answered.
    let asking = Mutex::new(());
    Some(Box::new(move |question, patience, taken_back| {
        let until = Deadline::after(patience);
        let _asking = asking.lock().unwrap_or_else(PoisonError::into_inner);
        if taken_back.is_raised() || until.is_over() {
            return TerminalAnswer::Unanswered;
        }
        // In the background of a shell, what is typed is that shell's, and whoever reads it is stopped.
        if !is_in_foreground() {
            return TerminalAnswer::NobodyThere;
        }
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        ui::prompt(&format!("{question}\nAllow it once? [y/N] "));
        let answer = read_line(until, taken_back);
        if answer.is_none() {
            ui::print("\nIt was not answered, and the command does not run.");
        }
        match answer.as_deref().map(str::trim).map(str::to_lowercase).as_deref() {
            None => TerminalAnswer::Unanswered,
            Some("y" | "yes") => TerminalAnswer::Allowed,
            Some(_) => TerminalAnswer::Refused,
        }
    }))
}

/// Returns whether this process may read from the terminal, which belongs to one process group at a time.
fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Reads a line, as far as one comes in time and the question is not taken back.
fn read_line(until: Deadline, taken_back: &Cancel) -> Option<String> {
    let mut line = Vec::new();
    while !line.contains(&b'\n') && line.len() < ANSWER {
        let stdin = io::stdin();
        let mut waited =
            [PollFd::new(&stdin, PollFlags::IN), PollFd::from_borrowed_fd(taken_back.as_fd(), PollFlags::IN)];
        match poll(&mut waited, until.left().as_ref()) {
            Err(Errno::INTR) => continue,
            Ok(1..) if waited[1].revents().is_empty() => {}
            // In time there was nothing, or nobody waits for it any more.
            _ => return None,
        }
        if !is_in_foreground() {
            return None;
        }
        let mut bytes = [0; ANSWER];
        // Not through the buffer of the standard library, in which more would stay than was asked about.
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) | Err(_) => return None,
            Ok(read) => line.extend_from_slice(&bytes[..read]),
        }
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}
