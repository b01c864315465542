//! Children that go on without whoever has started them: PID 1 of a persistent sandbox, its egress proxy, its sidecars.
//!
//! A command of `sandboxctl` ends, and init(1) collects them. A process that lives on has to collect them itself, or each stays a zombie.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::process::{WaitId, WaitIdOptions, waitid};

/// Those of this process that have not ended, as far as anybody has looked.
static LEFT: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// Leaves a child to itself.
pub fn leave(child: OwnedFd) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain(is_alive);
    left.push(child);
}

/// Collects those that have ended. A process that makes sandboxes and lives on calls this when it gets SIGCHLD; without that they are collected when
/// the next one is left.
pub fn collect() {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).retain(is_alive);
}

/// Collects a child that has ended, and returns whether it has not. No other child is touched: somebody waits for it.
fn is_alive(child: &OwnedFd) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::PidFd(child.as_fd()), options), Ok(None))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;

    #[test]
    fn who_has_ended_is_collected_and_nobody_else_is() {
        let mut ended = Command::new("true").spawn().unwrap();
        let mut waited_for = Command::new("true").spawn().unwrap();
        let mut living = Command::new("sleep").arg("60").spawn().unwrap();
        for child in [&ended, &living] {
            leave(pidfd_open(Pid::from_child(child), PidfdFlags::empty()).unwrap());
        }
        let stat = format!("/proc/{}/stat", ended.id());
        while std::fs::exists(&stat).unwrap() {
            collect();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(ended.wait().is_err(), "it was collected");
        assert!(waited_for.wait().unwrap().success(), "whoever waits for it has its status");
        living.kill().unwrap();
        assert!(!living.wait().unwrap().success());
    }
}
