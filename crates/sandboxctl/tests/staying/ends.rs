//! How persistent sandboxes end, and what is known of them then.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::machine::{Caller, Feature, Runner, callers, is_there};
use crate::place::Place;
use crate::{Staying, error_code, everywhere, name, ours, said, wherever};

#[test]
fn a_detached_command_ends_its_sandbox_and_leaves_its_exit_code() {
    for (caller, runner) in wherever("the end of a detached command") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::run(&place, &[], &["sh", "-c", "until test -e go; do :; done; exit 7"]);
        let waiting = ours(&place, &["wait", &name(&place)]).spawn().unwrap();
        let mut beside = sandbox.exec(&[], &["sh", "-c", "echo ready; exec sleep 1000"]).spawn().unwrap();
        beside.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        fs::write(place.workspace().join("go"), "").unwrap();
        assert_eq!(said(&waiting.wait_with_output().unwrap()), "7\n", "in {runner:?} by {caller:?}");
        let beside = beside.wait_with_output().unwrap();
        assert_eq!(beside.status.code(), Some(137), "in {runner:?} by {caller:?}: {beside:?}");
        let seen = sandbox.inspect();
        assert_eq!(
            (&seen["state"], &seen["end"]["code"], &seen["end"]["ended_by"]),
            (&"stopped".into(), &7.into(), &"command".into())
        );
        let late = sandbox.exec(&["--format", "json"], &["true"]).output().unwrap();
        assert_eq!(error_code(&late), "sandbox.state");
    }
}

#[test]
fn it_ends_when_nothing_has_run_in_it_for_its_idle_time() {
    for caller in callers("idle time") {
        let place = Place::new(caller);
        let sandbox = Staying::create(&place, &["--idle-timeout", "2s"]);
        // While something runs it is not idle, attached or not, nor what was left running.
        said(&sandbox.exec(&[], &["sleep", "2.5"]).output().unwrap());
        said(&sandbox.exec(&["--detach"], &["sh", "-c", "sleep 2.5 & exit"]).output().unwrap());
        sandbox.wait_until("it ends", |seen| seen["status"]["commands"] == 0);
        said(&ours(&place, &["touch", &name(&place)]).output().unwrap());
        let seen = sandbox.wait_until("it ends", |seen| seen["state"] == "stopped");
        assert_eq!(seen["end"]["ended_by"], "idle_timeout", "by {caller:?}");
    }
}

#[test]
fn it_ends_at_its_age_whatever_runs_in_it() {
    for (caller, runner) in wherever("the age of a sandbox") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &["--max-duration", "1s"]);
        let running = sandbox.exec(&[], &["sleep", "1000"]).output().unwrap();
        assert_eq!(running.status.code(), Some(137), "in {runner:?} by {caller:?}: {running:?}");
        let seen = sandbox.wait_until("it ends", |seen| seen["state"] == "stopped");
        assert_eq!(seen["end"]["ended_by"], "max_duration");
    }
}

#[test]
fn stop_gives_everything_inside_the_time_to_end() {
    for (caller, runner) in wherever("stop") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let script = "trap 'echo ended >ended; exit' TERM; touch ready; while :; do sleep 0.01; done";
        said(&sandbox.exec(&["--detach"], &["sh", "-c", script]).output().unwrap());
        sandbox.prints(&["sh", "-c", "until test -e ready; do :; done"]);
        said(&ours(&place, &["stop", &name(&place)]).output().unwrap());
        assert_eq!(fs::read_to_string(place.workspace().join("ended")).unwrap(), "ended\n");
        assert_eq!(sandbox.inspect()["end"]["ended_by"], "stop");
        let again = ours(&place, &["stop", "--format", "json", &name(&place)]).output().unwrap();
        assert_eq!(error_code(&again), "sandbox.state");
        drop(sandbox);

        // What does not listen is killed.
        let sandbox =
            Staying::run(&place, &[], &["sh", "-c", "trap '' TERM; touch deaf; while :; do :; done"]);
        sandbox.prints(&["sh", "-c", "until test -e deaf; do :; done"]);
        said(&ours(&place, &["stop", "--time", "200ms", &name(&place)]).output().unwrap());
        assert_eq!(sandbox.inspect()["state"], "stopped", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn what_runs_is_removed_by_force_alone_and_nothing_is_left() {
    for (caller, runner) in wherever("removal") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let refused = ours(&place, &["rm", "--format", "json", &name(&place)]).output().unwrap();
        assert_eq!(error_code(&refused), "sandbox.state");
        said(&ours(&place, &["prune"]).output().unwrap());
        assert_eq!(sandbox.inspect()["state"], "running");
        said(&ours(&place, &["rm", "--force", &name(&place)]).output().unwrap());
        let state = place.home().join(".local/state/sandboxctl");
        for directory in ["sandboxes", "runs"] {
            let left: Vec<_> = fs::read_dir(state.join(directory))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert!(
                left.iter().all(|name| name.to_str().unwrap().starts_with('.')),
                "{directory} in {runner:?} by {caller:?}: {left:?}"
            );
        }
        let gone = ours(&place, &["inspect", "--format", "json", &name(&place)]).output().unwrap();
        assert_eq!(error_code(&gone), "sandbox.not_found");
    }
}

#[test]
fn what_the_agent_has_made_is_quarantined_when_the_sandbox_has_ended() {
    for (caller, runner) in everywhere("detection in a persistent sandbox") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        sandbox.prints(&["sh", "-c", "mkdir .vscode; echo '{\"tasks\":[{\"runOptions\":{\"runOn\":\"folderOpen\"}}]}' >.vscode/tasks.json"]);
        assert!(place.workspace().join(".vscode/tasks.json").exists());
        let stopped = ours(&place, &["stop", &name(&place)]).output().unwrap();
        let warned = String::from_utf8_lossy(&stopped.stderr).into_owned();
        assert!(
            stopped.status.success() && warned.contains("tasks.json"),
            "in {runner:?} by {caller:?}: {warned}"
        );
        assert!(!place.workspace().join(".vscode/tasks.json").exists());
    }
}

#[test]
fn limits_of_a_sandbox_are_those_of_all_its_commands_together() {
    if !is_there(Feature::Cgroup, "limits of a persistent sandbox") {
        return;
    }
    let place = Place::new(crate::machine::Caller::Root);
    let sandbox = Staying::create(&place, &["--pids-limit", "24"]);
    // Sweeping for others leaves the groups of one that lives, though nothing is in them.
    said(&place.inside(&["--quiet"], &["true"]).output().unwrap());
    said(
        &sandbox
            .exec(&["--detach"], &["sh", "-c", "for i in 1 2 3 4; do sleep 1000 & done; wait"])
            .output()
            .unwrap(),
    );
    sandbox.prints(&["sh", "-c", "until test $(pgrep -x sleep | wc -l) = 4; do :; done"]);
    let over = sandbox.exec(&[], &["sh", "-c", "for i in $(seq 40); do sleep 1000 & done"]).output().unwrap();
    assert!(String::from_utf8_lossy(&over.stderr).contains("fork"), "{over:?}");
}

#[test]
fn output_that_nobody_reads_holds_up_its_own_command_alone() {
    for caller in callers("output that nobody reads") {
        let place = Place::new(caller);
        let sandbox = Staying::create(&place, &[]);
        let mut unread = sandbox
            .exec(&[], &["sh", "-c", "head -c 1073741824 /dev/zero"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(sandbox.prints(&["echo", "served"]), "served\n", "by {caller:?}");
        said(&ours(&place, &["stop", "--time", "1s", &name(&place)]).output().unwrap());
        unread.kill().unwrap();
        unread.wait().unwrap();
    }
}

#[test]
fn a_command_that_was_killed_for_lack_of_memory_is_told_from_others() {
    for (caller, runner) in everywhere("commands without memory") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &["--memory", "64m"]);
        let exec = |argv: &[&str]| {
            let output = sandbox.exec(&["--format", "json"], argv).output().unwrap();
            let mut object: Value = serde_json::from_slice(&output.stdout).unwrap();
            object["result"].take()
        };
        // A line without end, which is kept whole.
        let hungry = exec(&["tail", "/dev/zero"]);
        assert_ne!(hungry["code"], 0, "in {runner:?} by {caller:?}: {hungry:#}");
        // Where nothing but a limit of each process stands in for a control group, no process is killed.
        let has_group = caller == Caller::Root || runner == Runner::Docker;
        assert_eq!(hungry["code"] == 137, has_group, "in {runner:?} by {caller:?}: {hungry:#}");
        assert_eq!(hungry["oom_killed"] == true, has_group, "in {runner:?} by {caller:?}: {hungry:#}");
        let other = exec(&["true"]);
        assert_eq!(other["code"], 0, "in {runner:?} by {caller:?}: {other:#}");
        assert_ne!(other["oom_killed"], true, "in {runner:?} by {caller:?}: {other:#}");
    }
}
