//! A `run` that has a name, when its command has ended: what others are told of it until its client has removed it.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;
use crate::{PATIENCE, error_code, everywhere, name, ours, ready, said};

/// A run with the name of its place, whose command waits for a file `go`, and then ends with 7.
fn run(place: &Place) -> Child {
    let script = "echo x >>runs; echo ready; until test -e go; do sleep 0.02; done; exit 7";
    ready::start(&mut named(place, &[], &["sh", "-c", script]))
}

fn named(place: &Place, flags: &[&str], argv: &[&str]) -> Command {
    let name = name(place);
    let words = [&["run", "--name", name.as_str()], flags, place.provider(), &["--"], argv].concat();
    ours(place, &words)
}

fn signal(client: &Child, signal: Signal) {
    kill_process(Pid::from_child(client), signal).unwrap();
}

fn json(place: &Place, words: &[&str]) -> Value {
    serde_json::from_str(&said(&ours(place, words).output().unwrap())).unwrap()
}

#[test]
fn wait_prints_how_a_run_has_ended_that_is_then_removed() {
    for (caller, runner) in everywhere("waiting for a run") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let name = name(&place);
        let run = run(&place);
        let waiting: Vec<Child> = [&["wait", name.as_str()][..], &["wait", "--format", "json", &name]]
            .iter()
            .map(|words| ours(&place, words).spawn().unwrap())
            .collect();
        // Both are connected by then, or find it at its end.
        std::thread::sleep(Duration::from_millis(300));
        fs::write(place.workspace().join("go"), "").unwrap();
        let mut printed = waiting.into_iter().map(|waiting| said(&waiting.wait_with_output().unwrap()));
        assert_eq!(printed.next().unwrap(), "7\n", "{who}");
        let end: Value = serde_json::from_str(&printed.next().unwrap()).unwrap();
        let end = &end[&name];
        assert_eq!((&end["ended_by"], &end["code"]), (&"command".into(), &7.into()), "{who}: {end:#}");
        assert_eq!(run.wait_with_output().unwrap().status.code(), Some(7), "{who}");
    }
}

#[test]
fn a_run_whose_client_is_slow_is_ending_and_runs_no_second_time() {
    for (caller, runner) in everywhere("runs that are ending") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let name = name(&place);
        let call = |words: &[&str]| {
            let words = [words, &["--format", "json", &name]].concat();
            ours(&place, &words).output().unwrap()
        };
        let run = run(&place);
        signal(&run, Signal::STOP);
        fs::write(place.workspace().join("go"), "").unwrap();
        let began = Instant::now();
        assert_eq!(said(&ours(&place, &["wait", &name]).output().unwrap()), "7\n", "{who}");
        assert!(began.elapsed() < Duration::from_secs(8), "{who}: it does not wait for the client");
        let all = json(&place, &["ls", "--all", "--format", "json"]);
        assert_eq!(all["sandboxes"][0]["state"], "ending", "{who}: {all:#}");
        assert_eq!(all["sandboxes"][0]["end"]["code"], 7, "{who}: {all:#}");
        assert_eq!(json(&place, &["ls", "--format", "json"])["sandboxes"], Value::Array(Vec::new()), "{who}");
        for words in [&["start"][..], &["stop"], &["rm"], &["pause"]] {
            let output = call(words);
            assert_eq!(error_code(&output), "sandbox.ending", "{words:?} {who}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(answer["error"]["retryable"], true, "{words:?} {who}: {answer:#}");
        }
        let pruned = json(&place, &["prune", "--format", "json"]);
        assert_eq!(pruned["removed"], Value::Array(Vec::new()), "{who}");
        // Its name is not free until its client has let go of it, for which others wait.
        let refused = named(&place, &["--format", "json"], &["true"]).output().unwrap();
        assert_eq!(error_code(&refused), "sandbox.ending", "{who}");
        let next = named(&place, &[], &["echo", "next"]).spawn().unwrap();
        signal(&run, Signal::CONT);
        assert_eq!(run.wait_with_output().unwrap().status.code(), Some(7), "{who}");
        assert_eq!(said(&next.wait_with_output().unwrap()), "next\n", "{who}");
        assert_eq!(fs::read_to_string(place.workspace().join("runs")).unwrap(), "x\n", "{who}");
    }
}

#[test]
fn stop_does_not_wait_for_the_client_of_a_run() {
    for (caller, runner) in everywhere("stopping a run with a slow client") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let name = name(&place);
        let run = run(&place);
        signal(&run, Signal::STOP);
        let began = Instant::now();
        said(&ours(&place, &["stop", "--time", "20s", &name]).output().unwrap());
        assert!(began.elapsed() < Duration::from_secs(8), "{who}: {:?}", began.elapsed());
        assert_eq!(said(&ours(&place, &["wait", &name]).output().unwrap()), "0\n", "{who}");
        signal(&run, Signal::CONT);
        assert_eq!(run.wait_with_output().unwrap().status.code(), Some(143), "{who}");
    }
}

#[test]
fn a_signal_to_the_client_of_a_paused_run_ends_it() {
    for (caller, runner) in everywhere("signals to a paused run") {
        let place = Place::on(caller, runner);
        let name = name(&place);
        let mut run = run(&place);
        said(&ours(&place, &["pause", &name]).output().unwrap());
        let began = Instant::now();
        signal(&run, Signal::TERM);
        assert_eq!(run.wait().unwrap().code(), Some(143), "in {runner:?} by {caller:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "in {runner:?} by {caller:?}");
    }
}

/// The events of the sandbox of a place, each with its cause and code where it has one.
fn events(place: &Place) -> Vec<String> {
    let filter = format!("sandbox={}", name(place));
    let words = ["events", "--since", "1h", "--until", "0s", "--format", "json", "--filter", &filter];
    let said = said(&ours(place, &words).output().unwrap());
    let line = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let more = ["cause", "exit_code"].map(|key| event[key].to_string().replace('"', ""));
        let more = more.iter().filter(|text| *text != "null").map(|text| format!(" {text}"));
        format!("{}{}", event["event"].as_str().unwrap(), more.collect::<String>())
    };
    said.lines().map(line).collect()
}

#[test]
fn what_happens_to_a_run_is_in_the_journal_however_it_ends() {
    for caller in callers("events of runs") {
        for (argv, die) in [
            (&["true"][..], "die command 0"),
            (&["no-such-program"], "die command 127"),
            (&["/etc/passwd"], "die command 126"),
        ] {
            let place = Place::new(caller);
            named(&place, &[], argv).output().unwrap();
            assert_eq!(events(&place), ["create", die, "remove"], "{argv:?} by {caller:?}");
        }
        // Nobody but the next command can say what has become of one whose client was killed.
        let place = Place::new(caller);
        let mut run = run(&place);
        run.kill().unwrap();
        run.wait().unwrap();
        let until = Instant::now() + PATIENCE;
        while events(&place).len() < 3 {
            assert!(Instant::now() < until, "by {caller:?}: {:?}", events(&place));
        }
        let seen = events(&place);
        // PID 1 is killed with its client, or has just seen that its client is gone.
        let dies = ["die killed", "die command 137"].contains(&seen[1].as_str());
        assert!(dies && seen[0] == "create" && seen[2..] == ["remove"], "by {caller:?}: {seen:?}");
    }
}

#[test]
fn who_follows_events_learns_that_a_run_has_ended_with_its_client() {
    use std::io::{BufRead, BufReader};
    for caller in callers("events of killed clients") {
        let place = Place::new(caller);
        let mut following = ours(&place, &["events"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(following.stdout.take().unwrap()).lines().map(Result::unwrap);
        // Something that it prints, so that it follows by now.
        said(&ours(&place, &["create", "--name", "first"]).output().unwrap());
        assert!(lines.next().unwrap().contains(" create first "));
        let mut run = run(&place);
        assert!(lines.next().unwrap().contains(" create "));
        run.kill().unwrap();
        run.wait().unwrap();
        for word in ["die", "remove"] {
            let line = lines.next().unwrap();
            assert!(line.contains(&format!(" {word} {} ", name(&place))), "by {caller:?}: {line}");
        }
        following.kill().unwrap();
        following.wait().unwrap();
        said(&ours(&place, &["rm", "--force", "first"]).output().unwrap());
    }
}

#[test]
fn the_source_of_a_secret_is_not_run_for_a_name_that_is_taken() {
    for (caller, runner) in everywhere("secrets of what has no name") {
        let place = Place::on(caller, runner);
        let run = run(&place);
        let marker = place.home().join("read");
        let source = format!("command:touch {}; echo value", marker.display());
        place.configure(&format!(
            "[secrets.token]\nmode = \"inject\"\nenv_var = \"TOKEN\"\nsource = {source:?}\n"
        ));
        for words in [&["create"][..], &["run"], &["run", "--detach"]] {
            let name = name(&place);
            let words = [words, place.provider(), &["--format", "json", "--name", &name]].concat();
            let command = if words[0] == "run" { &["--", "true"][..] } else { &[] };
            let output = ours(&place, &[&words, command].concat()).output().unwrap();
            assert_eq!(error_code(&output), "sandbox.name_in_use", "{words:?} in {runner:?} by {caller:?}");
            assert!(!marker.exists(), "{words:?} in {runner:?} by {caller:?}");
        }
        fs::write(place.workspace().join("go"), "").unwrap();
        run.wait_with_output().unwrap();
        // The control: the source is one that is run.
        said(&named(&place, &[], &["true"]).output().unwrap());
        assert!(marker.exists(), "in {runner:?} by {caller:?}");
    }
}
