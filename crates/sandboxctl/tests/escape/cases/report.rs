//! What is claimed: every layer that a sandbox needs is enforced, and no more is said than holds.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::machine::{Caller, Feature, Runner, callers, is_there, runners};
use crate::place::Place;

#[test]
fn the_report_claims_what_holds_and_no_more() {
    let landlock = is_there(Feature::Landlock, "the report of landlock");
    let cgroup = is_there(Feature::Cgroup, "the report of control groups");
    let everybody = callers("the report").into_iter();
    let cases = everybody
        .flat_map(|caller| runners(caller, "the report").into_iter().map(move |runner| (caller, runner)));
    for (caller, runner) in cases {
        let place = Place::on(caller, runner);
        let flags = ["--format=json", "--memory=256m", "--pids-limit=100", "--cpus=1"];
        let output = place.inside(&flags, &["cat", "/proc/self/status"]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let lines = answer["report"].as_array().unwrap();
        let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
        let report: BTreeMap<_, _> =
            lines.iter().map(|line| (text(line, "layer"), text(line, "status"))).collect();

        // What an engine of root's starts is in the host's own user namespace.
        let of_root = runner == Runner::Docker || (runner, caller) == (Runner::Podman, Caller::Root);
        assert_eq!(
            report["user"],
            if of_root { "partly" } else { "enforced" },
            "by {caller:?} in {runner:?}"
        );
        for layer in ["mount", "pid", "net", "ipc", "uts", "seccomp", "capabilities", "protect"] {
            assert_eq!(report[layer], "enforced", "{layer} by {caller:?} in {runner:?}: {answer:#}");
        }
        if landlock {
            assert_eq!(report["landlock"], "enforced", "by {caller:?} in {runner:?}: {answer:#}");
        }
        if cgroup && (of_root || caller == Caller::Root) {
            for layer in ["pids", "cpu"] {
                assert_eq!(report[layer], "enforced", "{layer} by {caller:?} in {runner:?}: {answer:#}");
            }
            // Engines do not limit what version 1 counts by itself.
            let is_all = runner == Runner::Native || !Path::new("/sys/fs/cgroup/memory").exists();
            let memory = if is_all { "enforced" } else { "partly" };
            assert_eq!(report["memory"], memory, "by {caller:?} in {runner:?}: {answer:#}");
        }
        // Space in shared directories cannot be bounded.
        assert_eq!(report["disk"], "partly", "by {caller:?} in {runner:?}: {answer:#}");

        // What the kernel says of the agent itself.
        let status = answer["stdout"]["text"].as_str().unwrap();
        for line in
            ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"]
        {
            assert!(status.contains(line), "{line} by {caller:?} in {runner:?}: {status}");
        }
    }
}
