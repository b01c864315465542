//! What may be wrong around persistent sandboxes: a disk without room, paths that are too long, memory that is short, somebody else's sandbox.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use crate::machine::{Caller, Feature, Runner, callers, is_there};
use crate::place::Place;
use crate::{PATIENCE, Staying, error_code, everywhere, name, ours, said};

/// Runs a script as root in a mount namespace of its own, with a state directory of the caller's on a file system that is almost full.
const FULL: &str = r#"
set -e
state=$1/.local/state; mkdir -p "$state"
mount -t tmpfs -o size=256k,mode=0777 tmpfs "$state"
"#;

#[test]
fn a_full_disk_costs_no_sandbox_and_leaves_none_half_made() {
    if !is_there(Feature::Root, "a full disk") {
        return;
    }
    let place = Place::new(Caller::Root);
    let script = format!(
        r#"{FULL}
        ours=$2
        "$ours" create --name lives >/dev/null
        # No room at all any more.
        head -c 1m /dev/zero >"$state/filler" 2>/dev/null || true
        echo "$("$ours" exec lives -- echo works)"
        "$ours" create --name late --format json && exit 1 || echo "late: $?"
        "$ours" run -- true && echo "run: 0" || echo "run: $?"
        "$ours" stop lives
        "$ours" ls --all
        rm "$state/filler"
        "$ours" create --name late
        "$ours" rm --force late
        "$ours" rm lives
        ls -A "$state/sandboxctl/sandboxes" | grep -v '^\.' || echo nothing
        "#
    );
    let (home, program) = (place.home(), place.path("sandboxctl"));
    let words = [
        "unshare",
        "--mount",
        "bash",
        "-c",
        &script,
        "bash",
        home.to_str().unwrap(),
        program.to_str().unwrap(),
    ];
    let output = place.outside(&words).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let said = |what: &str| assert!(printed.contains(what), "{what}: {output:?}");
    said("works\n");
    said("late: 125\n");
    said("No space left on device");
    said("lives\nNAME");
    said("stopped");
    said("late\nlate\nlives\nnothing\n");
}

#[test]
fn a_state_directory_may_have_a_long_path() {
    for caller in callers("long paths") {
        let place = Place::new(caller);
        let deep = ["a-directory-with-a-long-name"; 12].join("/");
        place.write(&format!("{deep}/file"), "");
        let state = place.path(&deep);
        assert!(state.as_os_str().len() > 300);
        let call =
            |words: &[&str]| said(&ours(&place, words).env("XDG_STATE_HOME", &state).output().unwrap());
        call(&["create", "--name", "deep"]);
        assert_eq!(call(&["exec", "deep", "--", "echo", "works"]), "works\n", "by {caller:?}");
        call(&["rm", "--force", "deep"]);
    }
}

#[test]
fn memory_that_is_short_inside_keeps_nobody_from_being_served() {
    for (caller, runner) in everywhere("memory that is short") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &["--memory", "48m"]);
        let hungry = "while :; do tail /dev/zero; done";
        let mut flood = sandbox.exec(&[], &["sh", "-c", hungry]).stderr(Stdio::null()).spawn().unwrap();
        sandbox.wait_until("it runs", |seen| seen["status"]["commands"] == 1);
        // A command that needs no memory may be killed in the place of one that does; its sandbox lives on and goes on serving.
        for _ in 0..8 {
            let output = sandbox.exec(&["--format", "json", "--timeout", "20s"], &["true"]).output().unwrap();
            let seen: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
            assert!([0, 137].contains(&seen["result"]["code"].as_i64().unwrap_or(-1)), "{seen:#}");
        }
        assert_eq!(sandbox.inspect()["state"], "running", "in {runner:?} by {caller:?}");
        said(&ours(&place, &["stop", "--time", "0", &name(&place)]).output().unwrap());
        assert_eq!(flood.wait().unwrap().code(), Some(137), "in {runner:?} by {caller:?}");
    }
}

#[test]
fn a_sandbox_that_is_full_of_processes_says_so_and_what_to_do() {
    let fill = "import os, time\nwhile True:\n  try:\n    if os.fork() == 0: time.sleep(1000)\n  except OSError: break\n\
                open('full', 'w')\ntime.sleep(1000)";
    for (caller, runner) in everywhere("as many processes as there may be") {
        // The control group of its commands does not count PID 1 and supervisors; and without control groups of its own an engine may bound
        // nothing.
        let is_uncounted = match runner {
            Runner::Native => caller == Caller::Root,
            Runner::RootlessDocker | Runner::Podman => caller == Caller::Normal,
            Runner::Docker | Runner::Local => false,
        };
        if is_uncounted {
            continue;
        }
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &["--pids-limit", "19"]);
        said(&sandbox.exec(&["--detach"], &["python3", "-c", fill]).output().unwrap());
        let until = Instant::now() + PATIENCE;
        while !place.workspace().join("full").exists() {
            assert!(Instant::now() < until, "{who}");
        }
        let path = format!("{}:/etc/hosts", name(&place));
        for words in [&["exec", &name(&place), "--", "true"][..], &["cp", &path, "copy"]] {
            let words = [&words[..1], &["--format", "json"], &words[1..]].concat();
            let output = ours(&place, &words).output().unwrap();
            assert_eq!(error_code(&output), "sandbox.full", "{words:?} {who}: {output:?}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            let hint = answer["error"]["hint"].as_str().unwrap();
            assert!(hint.contains("--pids-limit"), "{words:?} {who}: {hint}");
            assert_eq!(answer["error"]["retryable"], true, "{words:?} {who}");
        }
        said(&ours(&place, &["stop", "--time", "0", &name(&place)]).output().unwrap());
    }
}

#[test]
fn a_sandbox_of_somebody_else_is_nobody_elses() {
    if !is_there(Feature::Root, "sandboxes of two users") {
        return;
    }
    let (theirs, mine) = (Place::new(Caller::Normal), Place::new(Caller::Root));
    let sandbox = Staying::create(&theirs, &[]);
    let call = |words: &[&str]| ours(&mine, &[words, &[&name(&theirs)]].concat()).output().unwrap();
    // Root has sandboxes of its own, and others only by their owner's state directory, which is refused.
    for words in [
        &["inspect", "--format", "json"][..],
        &["stop", "--format", "json"],
        &["rm", "--force", "--format", "json"],
    ] {
        assert_eq!(error_code(&call(words)), "sandbox.not_found", "{words:?}");
    }
    let state = theirs.home().join(".local/state");
    let refused =
        ours(&mine, &["exec", &name(&theirs), "--", "true"]).env("XDG_STATE_HOME", &state).output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(125), "{message}");
    assert!(message.contains("belongs to") || message.contains("owner"), "{message}");
    // And not by a link in a directory of its own.
    let linked = mine.path("linked");
    fs::create_dir(&linked).unwrap();
    symlink(state.join("sandboxctl"), linked.join("sandboxctl")).unwrap();
    let refused =
        ours(&mine, &["exec", &name(&theirs), "--", "true"]).env("XDG_STATE_HOME", &linked).output().unwrap();
    assert_eq!(refused.status.code(), Some(125), "{refused:?}");
    assert_eq!(sandbox.prints(&["echo", "lives"]), "lives\n");
}
