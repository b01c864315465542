//! Memory until there is none, scaled down.

use crate::attack::Attack;
use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

#[test]
fn memory_runs_out_inside_and_not_on_the_host() {
    Attack::new(
        r#"
def exhaust():
    child = os.fork()
    if child == 0:
        try:
            memory = bytearray(256 << 20)
            for page in range(0, len(memory), 4096):
                memory[page] = 1
            os._exit(0)
        except MemoryError:
            os._exit(1)
    # By a control group it is killed; by a limit of its own it is told.
    if os.waitpid(child, 0)[1]:
        raise Held("stopped")

attempt("256 MiB", exhaust)
"#,
    )
    .flags(&["--memory", "64m"])
    .gets(&[("256 MiB", "ok", "stopped")]);
}

/// Writes 128 MiB into what looks like a disk.
const FILES: &str = r#"
import os
for directory in ["/tmp", "/run", "/dev/shm", os.environ["HOME"]]:
    with open(directory + "/filler", "wb", buffering=0) as file:
        for _ in range(32):
            file.write(b"x" * (1 << 20))
print("all of it")
"#;

/// Whoever counts memory counts files in memory too; where nobody does, they stay within the limit all together.
#[test]
fn what_lies_in_memory_as_files_stays_within_the_limit() {
    for caller in callers("files in memory") {
        for runner in runners(caller, "files in memory") {
            let write = |flags: &[&str]| {
                let place = Place::on(caller, runner);
                let output = place.inside(flags, &["python3", "-c", FILES]).output().unwrap();
                String::from_utf8_lossy(&output.stdout).into_owned()
            };
            assert_eq!(write(&["--memory", "64m"]), "", "in {runner:?} by {caller:?}");
            assert_eq!(write(&[]), "all of it\n", "the control, in {runner:?} by {caller:?}");
        }
    }
}

/// Fills the buffers of connections within itself, and says how many MiB they hold.
const BUFFERS: &str = r#"
import socket
listener = socket.create_server(("127.0.0.1", 0), backlog=100)
block, total, held = bytes(1 << 20), 0, []
for _ in range(80):
    if total > 400 << 20:
        break
    held.append(socket.create_connection(listener.getsockname()))
    held.append(listener.accept()[0])
    for end in held[-2:]:
        end.setblocking(False)
        try:
            while True:
                total += end.send(block)
        except BlockingIOError:
            pass
print(total >> 20)
"#;

/// Version 1 of control groups counts buffers of TCP by themselves, and so they are limited by themselves, or the report says so.
#[test]
fn buffers_of_tcp_stay_within_the_limit_that_is_enforced() {
    for caller in callers("buffers of TCP") {
        for runner in runners(caller, "buffers of TCP") {
            let place = Place::on(caller, runner);
            let fill = |flags: &[&str]| {
                let output = place.inside(flags, &["python3", "-c", BUFFERS]).output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let filled = String::from_utf8_lossy(&output.stdout).trim().parse::<u64>();
                // Who uses up memory that is counted is killed.
                let was_killed = output.status.code() == Some(137);
                let filled = filled.unwrap_or_else(|_| if was_killed { 0 } else { panic!("{output:?}") });
                (filled, said)
            };
            let (control, _) = fill(&[]);
            assert!(control > 300, "the control, in {runner:?} by {caller:?}: {control}");
            let (filled, said) = fill(&["--report", "--memory", "64m"]);
            let is_enforced =
                said.lines().any(|line| line.starts_with("memory ") && line.contains(" enforced "));
            assert!(!is_enforced || filled < 160, "in {runner:?} by {caller:?}: {filled} MiB, {said}");
            let is_ours = (caller, runner) == (Caller::Root, Runner::Native);
            assert!(is_enforced || !is_ours, "in {runner:?} by {caller:?}: {said}");
        }
    }
}
