//! Capabilities as the kernel holds them. All sets belong to a thread, so each test uses one of its own.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::thread;

use confine::capabilities::{clear, drop_bounding, no_new_privs, probe};
use confine::report::{Finding, Status};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;

fn on_a_thread(check: impl FnOnce() -> Finding + Send + 'static) -> Finding {
    thread::spawn(check).join().unwrap()
}

fn become_ordinary() {
    let ordinary = Uid::from_raw(1001);
    set_thread_res_uid(ordinary, ordinary, ordinary).unwrap();
}

#[test]
fn nothing_is_left_and_root_cannot_be_regained() {
    let root = rustix::process::getuid().is_root();
    let finding = on_a_thread(move || {
        drop_bounding().unwrap();
        if root {
            become_ordinary();
        }
        clear().unwrap();
        no_new_privs().unwrap();
        probe()
    });
    // Without root the bounding set stays, and is named.
    let expected = if root { Status::Enforced } else { Status::Partly };
    assert_eq!(finding.status, expected, "{}", finding.reason);
    assert_eq!(finding.reason.contains("bounding set"), !root, "{}", finding.reason);
}

#[test]
fn a_missing_no_new_privs_is_seen() {
    let finding = on_a_thread(|| {
        drop_bounding().unwrap();
        clear().unwrap();
        probe()
    });
    assert_eq!((finding.status, finding.reason.as_str()), (Status::Not, "no_new_privs is not set"));
}

#[test]
fn capabilities_that_are_held_are_seen() {
    if !rustix::process::getuid().is_root() {
        println!("not run: only root holds capabilities that can be seen");
        return;
    }
    let finding = on_a_thread(|| {
        no_new_privs().unwrap();
        probe()
    });
    assert_eq!(finding.status, Status::Not, "{}", finding.reason);
    assert!(finding.reason.starts_with("still holds 0x"), "{}", finding.reason);
    let finding = on_a_thread(|| {
        clear().unwrap();
        no_new_privs().unwrap();
        probe()
    });
    assert_eq!(finding.status, Status::Partly, "root without capabilities: {}", finding.reason);
}
