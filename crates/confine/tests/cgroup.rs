//! Control groups as the kernel enforces them.
//!
//! `SANDBOX_TEST_FEATURES`, a list with commas, names what the machine must have: where it holds `cgroup` and no group
//! can be made, these tests fail; else they say that they did not run.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(clippy::print_stdout, reason = "what was not run is printed")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;

use confine::cgroup::{Cgroup, CgroupEntry, CgroupSite, Hierarchy, enter, sweep};
use confine::report::{Finding, Status};
use policy::plan::Layer;
use policy::rules::limits::{Bytes, Limits, MilliCpus};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;

fn limits(memory: Option<u64>, milli_cpus: Option<u32>, pids: Option<u32>) -> Limits {
    Limits { memory: memory.map(Bytes), cpus: milli_cpus.map(MilliCpus), pids, ..Limits::default() }
}

/// A group with these limits, or a message that there is none and why.
fn group(limits: &Limits) -> Option<(Cgroup, Vec<Finding>)> {
    let (group, findings) = Cgroup::create(CgroupSite::choose(&Hierarchy::detect().unwrap(), limits));
    let Some(group) = group else {
        let reason = &findings[0].reason;
        let required = std::env::var("SANDBOX_TEST_FEATURES").unwrap_or_default();
        assert!(!required.split(',').any(|one| one == "cgroup"), "cgroup is required here, but {reason}");
        println!("not run: {reason}");
        return None;
    };
    for finding in &findings {
        assert_eq!(finding.status, Status::Enforced, "{}", finding.reason);
    }
    Some((group, findings))
}

/// Runs a script inside.
fn run(group: &Cgroup, script: &'static str) -> ExitStatus {
    match group.attach().unwrap() {
        // A thread goes in by itself, and its children are born there.
        CgroupEntry::V1(tasks) => {
            let inside = move || {
                enter(&tasks).unwrap();
                Command::new("sh").args(["-c", script]).status().unwrap()
            };
            thread::spawn(inside).join().unwrap()
        }
        // Being born in a group takes clone3, which the standard library does not offer; moving is slower, but will do.
        CgroupEntry::V2(directory) => {
            use std::os::fd::AsRawFd;
            let procs = format!("/proc/{}/fd/{}/cgroup.procs", std::process::id(), directory.as_raw_fd());
            let script = format!("echo 0 > {procs}; {script}");
            Command::new("sh").args(["-c", &script]).status().unwrap()
        }
    }
}

#[test]
fn too_many_processes_are_refused() {
    let Some((group, _)) = group(&limits(None, None, Some(5))) else { return };
    let few = run(&group, "sleep 0.01 & wait");
    assert!(few.success());
    let many = run(&group, "for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done 2>/dev/null; wait");
    assert!(!many.success(), "{many}");
    group.kill_and_remove().unwrap();
}

#[test]
fn too_much_memory_is_fatal_and_counted() {
    let Some((group, findings)) = group(&limits(Some(32 << 20), None, None)) else { return };
    assert_eq!(findings[0].layer, Layer::Memory);
    assert_eq!(group.oom_kills(), Some(0));
    assert!(run(&group, "head -c 1m /dev/zero | tail -c 1 > /dev/null").success());
    assert_eq!(group.oom_kills(), Some(0));
    let status = run(&group, "exec python3 -c 'bytearray(200 << 20)'");
    assert_eq!(status.signal(), Some(9), "{status}");
    assert_eq!(group.oom_kills(), Some(1));
    group.kill_and_remove().unwrap();
}

#[test]
fn what_still_runs_is_killed_when_the_group_goes() {
    let Some((group, _)) = group(&limits(Some(64 << 20), Some(500), Some(20))) else { return };
    let marker = tempfile::NamedTempFile::new().unwrap();
    let script = format!("setsid sleep 600 & echo $! > {}", marker.path().display());
    assert!(run(&group, Box::leak(script.into_boxed_str())).success());
    let pid = fs::read_to_string(marker.path()).unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", pid.trim())).map(|stat| stat.contains(") Z "));
    assert!(!state().unwrap(), "the sleeper runs");
    group.kill_and_remove().unwrap();
    assert!(state().unwrap_or(true), "the sleeper is gone, or waits to be reaped by whoever inherited it");
}

#[test]
fn a_quota_too_small_for_the_kernel_is_reported_and_the_rest_holds() {
    let Some((first, _)) = group(&limits(None, None, Some(5))) else { return };
    first.kill_and_remove().unwrap();
    let (group, findings) =
        Cgroup::create(CgroupSite::choose(&Hierarchy::detect().unwrap(), &limits(None, Some(1), Some(5))));
    let status: Vec<_> = findings.iter().map(|finding| (finding.layer, finding.status)).collect();
    assert_eq!(status, [(Layer::Cpu, Status::Not), (Layer::Pids, Status::Enforced)], "{findings:?}");
    group.unwrap().kill_and_remove().unwrap();
}

#[test]
fn without_rights_every_limit_is_reported_with_the_reason() {
    let unprivileged = move || {
        let wanted = limits(Some(1 << 30), Some(1000), Some(64));
        if rustix::process::getuid().is_root() {
            let ordinary = Uid::from_raw(1001);
            set_thread_res_uid(ordinary, ordinary, ordinary).unwrap();
            Cgroup::create(CgroupSite::choose(&Hierarchy::detect().unwrap(), &wanted))
        } else {
            // A user to whom a group is delegated has rights; this place is nobody's.
            Cgroup::create(CgroupSite::choose(&Hierarchy::default(), &wanted))
        }
    };
    let (group, findings) = thread::spawn(unprivileged).join().unwrap();
    assert!(group.is_none());
    assert_eq!(findings.len(), 3);
    for finding in findings {
        println!("{}", finding.reason);
        assert_eq!(finding.status, Status::Not, "{}", finding.reason);
    }
}

#[test]
fn the_group_of_a_live_owner_is_not_swept() {
    let Some((group, _)) = group(&limits(None, None, Some(5))) else { return };
    sweep(&Hierarchy::detect().unwrap());
    assert!(run(&group, "true").success());
    group.kill_and_remove().unwrap();
}
