//! Sandboxes that have ended and are made again, from what they were made from.

use std::fs;
use std::process::Output;
use std::thread;

use serde_json::Value;

use crate::place::Place;
use crate::{Staying, callers, error_code, everywhere, name, ours, said};

#[test]
fn a_stopped_one_is_started_with_what_it_was_made_from() {
    for (caller, runner) in everywhere("start") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &["--env", "A=1"]);
        sandbox.prints(&["sh", "-c", "echo kept >file; echo gone >/tmp/file"]);
        let start = || said(&ours(&place, &["start", &name(&place)]).output().unwrap());
        let first = sandbox.inspect();
        assert_eq!(start(), format!("{}\n", name(&place)), "one that runs, {who}");
        assert_eq!(sandbox.inspect()["id"], first["id"], "{who}");
        said(&ours(&place, &["stop", &name(&place)]).output().unwrap());
        start();
        assert_eq!(sandbox.prints(&["sh", "-c", "echo $A; cat file; ls /tmp"]), "1\nkept\n", "{who}");
        assert_ne!(sandbox.inspect()["id"], first["id"], "{who}");
        // It is still made from the same.
        let words = ["create", "--reuse", "--name", &name(&place), "--env", "A=1"];
        said(&ours(&place, &[&words, place.provider()].concat()).output().unwrap());
        let listed = said(&ours(&place, &["ls", "--all", "--format", "json"]).output().unwrap());
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed["sandboxes"].as_array().unwrap().len(), 1, "{who}");
    }
}

#[test]
fn clients_that_start_one_at_once_start_it_once() {
    for (caller, runner) in everywhere("start at once") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &["--idle-timeout", "2s"]);
        let commands: [&(dyn Fn() -> Output + Sync); 2] =
            [&|| ours(&place, &["start", &name(&place)]).output().unwrap(), &|| {
                sandbox.exec(&[], &["true"]).output().unwrap()
            }];
        for command in commands {
            sandbox.wait_until("it ends", |seen| seen["state"] == "stopped");
            thread::scope(|scope| {
                for client in [(); 6].map(|()| scope.spawn(command)) {
                    let output = client.join().unwrap();
                    assert!(output.status.success(), "{who}: {output:?}");
                }
            });
            let listed = said(&ours(&place, &["ls", "--all", "--format", "json"]).output().unwrap());
            let listed: Value = serde_json::from_str(&listed).unwrap();
            assert_eq!(listed["sandboxes"].as_array().unwrap().len(), 1, "{who}: {listed}");
        }
    }
}

#[test]
fn a_detached_command_runs_again() {
    for caller in callers("start of a detached command") {
        let place = Place::new(caller);
        let _sandbox = Staying::run(&place, &[], &["sh", "-c", "echo run >>file; exit 3"]);
        let wait = || said(&ours(&place, &["wait", &name(&place)]).output().unwrap());
        assert_eq!(wait(), "3\n");
        said(&ours(&place, &["start", &name(&place)]).output().unwrap());
        assert_eq!(wait(), "3\n");
        assert_eq!(
            fs::read_to_string(place.workspace().join("file")).unwrap(),
            "run\nrun\n",
            "by {caller:?}"
        );
    }
}

#[test]
fn the_next_command_starts_one_whose_idle_time_was_over_and_says_so() {
    for (caller, runner) in everywhere("idle time and the next command") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &["--idle-timeout", "500ms"]);
        sandbox.prints(&["sh", "-c", "echo kept >file"]);
        sandbox.wait_until("it ends", |seen| seen["state"] == "stopped");
        let output = sandbox.exec(&[], &["cat", "file"]).output().unwrap();
        let warned = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(warned.contains("was started again"), "{who}: {warned}");
        assert_eq!(said(&output), "kept\n", "{who}");
        // What was told to end stays so.
        drop(sandbox);
        let sandbox = Staying::create(&place, &[]);
        said(&ours(&place, &["stop", &name(&place)]).output().unwrap());
        let output = sandbox.exec(&["--format", "json"], &["true"]).output().unwrap();
        assert_eq!(error_code(&output), "sandbox.state", "{who}");
    }
}

#[test]
fn one_whose_directory_is_another_by_now_is_not_started_and_stays_as_it_is() {
    for (caller, runner) in everywhere("start elsewhere") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("shared/file", "shared\n");
        place.give(&place.path("shared"));
        place.write("private/file", "private\n");
        place.give(&place.path("private"));
        let volume = format!("{}:/shared", place.path("shared").display());
        let sandbox = Staying::create(&place, &["--volume", &volume]);
        said(&ours(&place, &["stop", &name(&place)]).output().unwrap());
        fs::rename(place.path("shared"), place.path("old")).unwrap();
        std::os::unix::fs::symlink(place.path("private"), place.path("shared")).unwrap();
        let output = ours(&place, &["start", &name(&place)]).output().unwrap();
        assert!(!output.status.success(), "{who}: {output:?}");
        let seen = sandbox.inspect();
        assert_eq!((&seen["state"], &seen["end"]["ended_by"]), (&"stopped".into(), &"stop".into()), "{who}");
        fs::remove_file(place.path("shared")).unwrap();
        fs::rename(place.path("old"), place.path("shared")).unwrap();
        said(&ours(&place, &["start", &name(&place)]).output().unwrap());
        assert_eq!(sandbox.prints(&["cat", "/shared/file"]), "shared\n", "the control {who}");
    }
}

#[test]
fn a_shell_is_opened_in_it() {
    for (caller, runner) in everywhere("shells") {
        use std::io::Write;
        use std::process::Stdio;
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        sandbox.prints(&["sh", "-c", "echo here >/tmp/file"]);
        let mut shell =
            ours(&place, &["shell", "--env", "B=2", &name(&place)]).stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(b"cat /tmp/file; echo $B; exit 5\n").unwrap();
        let output = shell.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..]),
            (Some(5), &b"here\n2\n"[..]),
            "in {runner:?} by {caller:?}: {output:?}"
        );
        let output =
            ours(&place, &["shell", "--format", "json", "--memory", "64m", &name(&place)]).output().unwrap();
        assert_eq!(error_code(&output), "usage.invalid");
    }
}
