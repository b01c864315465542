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

/// What the kernel keeps for these no control group counts.
#[test]
fn what_no_group_counts_is_not_made() {
    Attack::new(
        r#"
import mmap, tempfile
# acl(5): the owner, a user, the group, the mask and all others.
entries = [(1, 7, -1), (2, 7, os.getuid()), (4, 5, -1), (16, 7, -1), (32, 5, -1)]
access_list = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
in_memory = tempfile.mkdtemp()
shared = tempfile.mkdtemp(dir=".")
for where, directory in [("in memory", in_memory), ("shared", shared)]:
    attempt("access list " + where, lambda: os.setxattr(directory, "system.posix_acl_access", access_list))
    attempt("default list " + where, lambda: os.setxattr(directory, "system.posix_acl_default", access_list))
    attempt("attribute " + where, lambda: os.setxattr(directory, "user.test", b"x"))
    attempt("attribute that is read " + where, lambda: os.getxattr(directory, "user.none"))
    attempt("attributes " + where, lambda: os.listxattr(directory))
    attempt("attribute that is removed " + where, lambda: os.removexattr(directory, "user.none"))
    os.rmdir(directory)

file = os.memfd_create("file")
os.truncate(file, 4096)
pages = mmap.mmap(file, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
nodes = ctypes.byref(ctypes.c_ulong(1))
attempt("policy of a file", lambda: call("mbind", address, 4096, 2, nodes, 64, 0))
attempt("home of a file", lambda: call("set_mempolicy_home_node", address, 4096, 0, 0))

udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt("datagram that is not sent", lambda: udp.setsockopt(socket.IPPROTO_UDP, 1, 1))
attempt("the same of UDP-Lite", lambda: udp.setsockopt(136, 1, 1))
"#,
    )
    .gets(&[
        ("access list in memory", "ok", "ENOTSUP"),
        ("default list in memory", "ok", "ENOTSUP"),
        ("attribute in memory", "ok|ENOTSUP", "ENOTSUP"),
        ("attribute that is read in memory", "ENODATA|ENOTSUP", "ENODATA|ENOTSUP"),
        ("attributes in memory", "ok", "ok"),
        ("attribute that is removed in memory", "ENODATA|ENOTSUP", "ENODATA|ENOTSUP"),
        ("access list shared", "ok", "ENOTSUP"),
        ("default list shared", "ok", "ENOTSUP"),
        ("attribute shared", "ok", "ENOTSUP"),
        ("attribute that is read shared", "ENODATA", "ENODATA"),
        ("attributes shared", "ok", "ok"),
        ("attribute that is removed shared", "ENODATA", "ENODATA"),
        // Some kernels have neither.
        ("policy of a file", "ok|ENOSYS", "ENOSYS"),
        ("home of a file", "ok|ENOSYS", "ENOSYS"),
        ("datagram that is not sent", "ok", "ENOPROTOOPT"),
        ("the same of UDP-Lite", "ok|ENOPROTOOPT", "ENOPROTOOPT"),
    ]);
}
