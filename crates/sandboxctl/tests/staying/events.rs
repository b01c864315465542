//! What happens to persistent sandboxes, as whoever follows it is told, and who asks afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;
use crate::{PATIENCE, Staying, error_code, everywhere, name, ours, said, wherever};

/// Somebody who follows events.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    /// Follows what happens, with what has happened.
    fn new(place: &Place, flags: &[&str]) -> Self {
        let words = [&["events", "--format", "json", "--since", "1h"], flags].concat();
        let mut child = ours(place, &words).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Self { child, lines }
    }

    /// The next event.
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an event");
        serde_json::from_str(&line).unwrap()
    }

    /// The next event of this kind, which comes next.
    fn expect(&self, event: &str, who: &str) -> Value {
        let seen = self.next();
        assert_eq!(seen["event"], event, "{who}: {seen}");
        seen
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What has happened until now.
fn history(place: &Place, flags: &[&str]) -> Vec<Value> {
    history_since(place, "1h", flags)
}

fn history_since(place: &Place, since: &str, flags: &[&str]) -> Vec<Value> {
    let words = [&["events", "--format", "json", "--since", since, "--until", "0s"], flags].concat();
    let printed = said(&ours(place, &words).output().unwrap());
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The words of events.
fn words(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

/// A file of the journal.
fn journal(place: &Place, name: &str) -> PathBuf {
    place.home().join(".local/state/sandboxctl/sandboxes").join(name)
}

/// Kills PID 1 of a sandbox.
fn kill_init(sandbox: &Staying<'_>) {
    let pid = i32::try_from(sandbox.inspect()["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn all_who_follow_see_each_step_once_and_who_asks_afterwards_sees_the_same() {
    for (caller, runner) in wherever("events") {
        let place = Place::on(caller, runner);
        let who = &format!("in {runner:?} by {caller:?}");
        let followers = [Follower::new(&place, &[]), Follower::new(&place, &[])];
        let mut all = Vec::new();
        let mut expect = |event: &str| {
            let [first, second] = [followers[0].expect(event, who), followers[1].expect(event, who)];
            assert_eq!(first, second, "{who}");
            assert_eq!(first["sandbox"], name(&place), "{who}");
            all.push(first.clone());
            first
        };
        let act = |words: &[&str]| said(&ours(&place, &[words, &[&name(&place)]].concat()).output().unwrap());

        let sandbox = Staying::create(&place, &[]);
        let created = expect("create");
        assert_eq!(created["id"], sandbox.inspect()["id"], "{who}");
        let output = sandbox.exec(&[], &["sh", "-c", "exit 3"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let began = expect("exec_start");
        let ended = expect("exec_end");
        assert_eq!((&ended["exec_id"], &ended["exit_code"]), (&began["exec_id"], &3.into()), "{who}");
        act(&["pause"]);
        expect("pause");
        act(&["unpause"]);
        expect("unpause");
        act(&["stop"]);
        expect("stop");
        assert_eq!(expect("die")["cause"], "stopped", "{who}");
        act(&["start"]);
        assert_ne!(expect("start")["id"], created["id"], "{who}");
        said(&sandbox.exec(&["--detach"], &["sleep", "1000"]).output().unwrap());
        expect("exec_start");
        act(&["rm", "--force"]);
        expect("stop");
        expect("die");
        expect("remove");
        assert_eq!(history(&place, &[]), all, "{who}");
        // What was before is left out, and what is not asked for.
        let began_again = all[7]["time_ms"].as_u64().unwrap();
        let since = format!("{}.{:03}", began_again / 1000, began_again % 1000);
        assert_eq!(history_since(&place, &since, &[]), all[7..], "{who}");
        let deaths =
            history(&place, &["--filter", "event=die", "--filter", &format!("sandbox={}", name(&place))]);
        assert_eq!(words(&deaths), ["die", "die"], "{who}");
        assert_eq!(history(&place, &["--filter", "sandbox=other"]), [] as [Value; 0], "{who}");
    }
}

#[test]
fn it_ends_at_the_moment_that_was_typed() {
    for caller in callers("the end of events") {
        let place = Place::new(caller);
        let _sandbox = Staying::create(&place, &[]);
        let until = SystemTime::now() + Duration::from_millis(500);
        let since_1970 = until.duration_since(UNIX_EPOCH).unwrap();
        let typed = format!("{}.{:03}", since_1970.as_secs(), since_1970.subsec_millis());
        let mut follower = Follower::new(&place, &["--until", &typed]);
        assert!(follower.child.wait().unwrap().success(), "by {caller:?}");
        assert!(until.elapsed().is_ok_and(|late| late < PATIENCE), "by {caller:?}");
        follower.expect("create", &format!("by {caller:?}"));
        assert!(follower.lines.recv_timeout(PATIENCE).is_err(), "by {caller:?}");
    }
}

#[test]
fn every_end_has_its_cause() {
    for (caller, runner) in everywhere("causes of ends") {
        let place = Place::on(caller, runner);
        let who = &format!("in {runner:?} by {caller:?}");
        let follower = Follower::new(&place, &["--filter", "event=die"]);
        let sandbox = Staying::run(&place, &[], &["sh", "-c", "exit 7"]);
        let died = follower.expect("die", who);
        assert_eq!((&died["cause"], &died["exit_code"]), (&"command".into(), &7.into()), "{who}");
        drop(sandbox);
        for (flags, cause) in [(["--max-duration", "300ms"], "aged"), (["--idle-timeout", "300ms"], "idle")] {
            let sandbox = Staying::create(&place, &flags);
            assert_eq!(follower.expect("die", who)["cause"], cause, "{who}");
            drop(sandbox);
        }
        // Nothing writes anything when PID 1 is killed.
        let sandbox = Staying::create(&place, &[]);
        kill_init(&sandbox);
        assert_eq!(follower.expect("die", who)["cause"], "killed", "{who}");
    }
}

#[test]
fn an_end_is_told_as_it_was_however_soon_its_sandbox_is_removed() {
    for caller in callers("ends that are removed at once") {
        let place = Place::new(caller);
        let who = &format!("by {caller:?}");
        let followers = [Follower::new(&place, &[]), Follower::new(&place, &[]), Follower::new(&place, &[])];
        for _ in 0..40 {
            drop(Staying::create(&place, &[]));
            for follower in &followers {
                for event in ["create", "stop"] {
                    follower.expect(event, who);
                }
                assert_eq!(follower.expect("die", who)["cause"], "stopped", "{who}");
                follower.expect("remove", who);
            }
        }
    }
}

#[test]
fn an_end_that_nobody_has_followed_is_told_once_and_always_alike() {
    for (caller, runner) in everywhere("ends that nobody follows") {
        let place = Place::on(caller, runner);
        let who = &format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::run(&place, &[], &["true"]);
        said(&ours(&place, &["wait", &name(&place)]).output().unwrap());
        let first = history(&place, &[]);
        assert_eq!(words(&first), ["create", "die"], "{who}");
        assert_eq!(history(&place, &[]), first, "{who}");
        drop(sandbox);
        let removed = history(&place, &[]);
        assert_eq!((&removed[..2], words(&removed)[2]), (&first[..], "remove"), "{who}");

        let sandbox = Staying::create(&place, &[]);
        kill_init(&sandbox);
        sandbox.wait_until("it has ended", |seen| seen["state"] == "stopped");
        let killed = history(&place, &[]);
        assert_eq!(killed[4]["cause"], "killed", "{who}: {killed:?}");
        drop(sandbox);
        let removed = history(&place, &[]);
        assert_eq!((&removed[..5], words(&removed)[5]), (&killed[..], "remove"), "{who}");
        assert_eq!(removed.len(), 6, "{who}: {removed:?}");
    }
}

#[test]
fn a_client_that_is_killed_while_it_makes_one_leaves_what_is_true() {
    for caller in callers("events of clients that are killed") {
        let place = Place::new(caller);
        let began = Instant::now();
        drop(Staying::create(&place, &[]));
        let whole = began.elapsed();
        let follower = Follower::new(&place, &["--filter", "event=create"]);
        follower.next();
        let mut made = 1;
        for step in 0..12_u32 {
            let mut client = ours(&place, &["create", "--name", &name(&place)]).spawn().unwrap();
            // The moments are the attack itself.
            thread::sleep(whole * step / 10);
            client.kill().unwrap();
            client.wait().unwrap();
            let until = Instant::now() + PATIENCE;
            let is_there = loop {
                let seen = ours(&place, &["inspect", &name(&place)]).output().unwrap();
                let text = String::from_utf8_lossy(&seen.stdout).into_owned();
                if !text.contains("\"state\": \"creating\"") {
                    break text.contains("\"state\": \"running\"");
                }
                assert!(Instant::now() < until, "{text}");
            };
            if is_there {
                made += 1;
                let seen = follower.next();
                let removed = ours(&place, &["rm", "--force", &name(&place)]).output().unwrap();
                said(&removed);
                let of_it =
                    history(&place, &["--filter", &format!("sandbox={}", seen["id"].as_str().unwrap())]);
                assert_eq!(words(&of_it), ["create", "stop", "die", "remove"], "step {step} by {caller:?}");
            }
        }
        assert_eq!(history(&place, &["--filter", "event=create"]).len(), made, "by {caller:?}");
    }
}

#[test]
fn commands_that_run_at_once_are_told_apart() {
    for caller in callers("events of many commands") {
        let place = Place::new(caller);
        let who = &format!("by {caller:?}");
        let follower = Follower::new(&place, &[]);
        let sandbox = Staying::create(&place, &[]);
        follower.expect("create", who);
        let all: Vec<_> = (0..8)
            .map(|code| sandbox.exec(&[], &["sh", "-c", &format!("exit {code}")]).spawn().unwrap())
            .collect();
        for mut exec in all {
            exec.wait().unwrap();
        }
        let (mut running, mut codes) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..16 {
            let event = follower.next();
            let id = event["exec_id"].as_str().unwrap().to_owned();
            match event["event"].as_str() {
                Some("exec_start") => assert!(running.insert(id), "{event}"),
                Some("exec_end") => {
                    assert!(running.remove(&id), "{event}");
                    codes.insert(event["exit_code"].as_u64().unwrap());
                }
                _ => panic!("{event}"),
            }
        }
        assert_eq!(codes, (0..8).collect(), "{who}");
    }
}

#[test]
fn a_journal_that_cannot_be_written_fails_no_command() {
    for caller in callers("journals that cannot be written") {
        let place = Place::new(caller);
        fs::create_dir_all(journal(&place, ".events")).unwrap();
        for path in [".local", ".local/state", ".local/state/sandboxctl", ".local/state/sandboxctl/sandboxes"]
        {
            let path = place.home().join(path);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            place.give(&path);
        }
        let sandbox = Staying::create(&place, &[]);
        let warned = |output: &std::process::Output| {
            assert!(output.status.success(), "by {caller:?}: {output:?}");
            assert!(
                String::from_utf8_lossy(&output.stderr).contains("sandboxctl events"),
                "by {caller:?}: {output:?}"
            );
        };
        warned(&sandbox.exec(&[], &["true"]).output().unwrap());
        warned(&sandbox.exec(&["--detach"], &["true"]).output().unwrap());
        for words in [&["pause"][..], &["unpause"], &["stop"], &["start"], &["rm", "--force"]] {
            warned(&ours(&place, &[words, &[&name(&place)]].concat()).output().unwrap());
        }
        fs::remove_dir(journal(&place, ".events")).unwrap();
        let again = Staying::create(&place, &[]);
        let output = again.exec(&[], &["true"]).output().unwrap();
        assert_eq!(output.stderr, b"", "the control by {caller:?}");
    }
}

#[test]
fn lines_that_are_none_are_left_out_with_a_warning() {
    for caller in callers("damaged journals") {
        let place = Place::new(caller);
        let sandbox = Staying::create(&place, &[]);
        sandbox.prints(&["true"]);
        let mut file = fs::OpenOptions::new().append(true).open(journal(&place, ".events")).unwrap();
        file.write_all(b"\x1b[31m{\"event\":\"die\"}\n{\"half\":").unwrap();
        sandbox.prints(&["true"]);
        let output = ours(&place, &["events", "--since", "1h", "--until", "0s"]).output().unwrap();
        let warned = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(warned.contains("left out: 2,"), "by {caller:?}: {warned}");
        let printed = said(&output);
        let seen: Vec<_> = printed.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(
            seen,
            ["create", "exec_start", "exec_end", "exec_start", "exec_end"],
            "by {caller:?}: {printed}"
        );
    }
}

#[test]
fn what_is_typed_wrong_is_refused() {
    for caller in callers("flags of events") {
        let place = Place::new(caller);
        for flags in [
            ["--since", "yesterday"],
            ["--until", "-10m"],
            ["--filter", "name=x"],
            ["--filter", "event=started"],
        ] {
            let output = ours(&place, &[&["events", "--format", "json"][..], &flags].concat())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert_eq!(error_code(&output), "usage.invalid", "{flags:?} by {caller:?}");
        }
    }
}
