//! Killing descendants, which reaches every child of a process: this file is one, and holds one test.

use std::process::{Command, Stdio};

use confine::process::reap::{self, Killed};
use rustix::io::Errno;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

/// A program that goes on in a child of its own again and again, up to as many times as a shell calls a function within itself.
const HOPS: &str = "hop() { hop & }; hop";

#[test]
fn nothing_lives_on_when_all_are_said_to_be_killed() {
    reap::keep_ended_children();
    set_child_subreaper(Some(getpid())).unwrap();
    for round in 0..100 {
        let mut hops =
            Command::new("sh").args(["-c", HOPS]).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The control: it goes on when what was started has ended.
        assert!(hops.wait().unwrap().success());
        assert!(wait(WaitOptions::NOHANG).is_ok(), "round {round}: nothing goes on");
        while reap::kill_descendants().unwrap() == Killed::NotYet {}
        // Only what has ended is left to collect.
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Err(Errno::CHILD) => break,
                other => panic!("round {round}: a process lives on, {other:?}"),
            }
        }
    }
}
