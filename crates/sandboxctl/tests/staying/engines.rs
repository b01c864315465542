//! Persistent sandboxes in containers: what an engine, other runs of it and killed clients do to them.

use std::fs;
use std::process::Stdio;
use std::time::Instant;

use crate::machine::{Caller, Runner};
use crate::place::Place;
use crate::{PATIENCE, Staying, everywhere, name, ours, said};

fn in_containers(test: &str) -> impl Iterator<Item = (Caller, Runner)> {
    everywhere(test).into_iter().filter(|(_, runner)| *runner != Runner::Native)
}

/// The engine's own command.
fn engine(place: &Place, runner: Runner, words: &[&str]) -> String {
    let command = if runner == Runner::Podman { "podman" } else { "docker" };
    said(&place.outside(&[&[command], words].concat()).output().unwrap())
}

/// The containers of the sandbox of a place, whatever they do.
fn containers(place: &Place, runner: Runner) -> String {
    let filter = format!("label=sandbox.name={}", name(place));
    engine(place, runner, &["ps", "--all", "--format", "{{.Names}}", "--filter", &filter])
}

/// What is left of rendezvous directories.
fn rendezvous(place: &Place) -> usize {
    fs::read_dir(place.home().join(".local/state/sandboxctl/rendezvous")).map_or(0, Iterator::count)
}

#[test]
fn what_clears_up_after_dead_clients_leaves_what_stays() {
    for (caller, runner) in in_containers("sweeping beside a persistent one") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        assert_eq!(containers(&place, runner), format!("sandboxctl-{}\n", name(&place)));
        // Its client is gone, and the next run of the same user looks for what such have left: with the same state directory, and
        // with another one.
        let run = place.inside(&["--name=beside"], &["true"]).output().unwrap();
        assert!(run.status.success(), "in {runner:?} by {caller:?}: {run:?}");
        let elsewhere = place.write("elsewhere/.config/sandboxctl/sandbox.toml", "");
        fs::copy(place.home().join(".config/sandboxctl/sandbox.toml"), &elsewhere).unwrap();
        let elsewhere = place.path("elsewhere");
        place.give(&elsewhere);
        let run = place.inside(&["--name=other"], &["true"]).env("HOME", &elsewhere).output().unwrap();
        assert!(run.status.success(), "in {runner:?} by {caller:?}: {run:?}");
        assert_eq!(sandbox.prints(&["echo", "lives"]), "lives\n", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn one_that_its_engine_has_ended_is_stopped_and_leaves_nothing() {
    for (caller, runner) in in_containers("containers that are removed") {
        for words in [&["rm", "--force"][..], &["kill"], &["stop"]] {
            let place = Place::on(caller, runner);
            let sandbox = Staying::create(&place, &[]);
            let mut running = sandbox.exec(&[], &["sleep", "1000"]).spawn().unwrap();
            sandbox.wait_until("it runs", |seen| seen["status"]["commands"] == 1);
            let container = format!("sandboxctl-{}", name(&place));
            engine(&place, runner, &[words, &[&container]].concat());
            let code = running.wait().unwrap().code();
            assert!(matches!(code, Some(137 | 143)), "{words:?} in {runner:?} by {caller:?}: {code:?}");
            sandbox.wait_until("it has ended", |seen| seen["state"] == "stopped");
            said(&ours(&place, &["rm", &name(&place)]).output().unwrap());
            assert_eq!(containers(&place, runner), "", "{words:?} in {runner:?} by {caller:?}");
            assert_eq!(rendezvous(&place), 0, "{words:?} in {runner:?} by {caller:?}");
        }
    }
}

#[test]
fn a_client_killed_while_it_makes_a_container_leaves_one_that_runs_or_none() {
    for (caller, runner) in in_containers("clients killed while they create containers") {
        let place = Place::on(caller, runner);
        let began = Instant::now();
        drop(Staying::create(&place, &[]));
        let whole = began.elapsed();
        let sandbox = name(&place);
        for step in 0..6_u32 {
            let words = [&["create", "--name", &sandbox], place.provider()].concat();
            let mut client = ours(&place, &words).stdin(Stdio::null()).spawn().unwrap();
            // The moments are the attack itself.
            std::thread::sleep(whole * step / 6);
            client.kill().unwrap();
            client.wait().unwrap();
            let until = Instant::now() + PATIENCE;
            let seen = loop {
                let seen = ours(&place, &["inspect", &sandbox]).output().unwrap();
                let text = String::from_utf8_lossy(&seen.stdout).into_owned();
                if !text.contains("\"state\": \"creating\"") {
                    break text;
                }
                assert!(Instant::now() < until, "{text}");
            };
            if seen.contains("\"state\": \"running\"") {
                let works = ours(&place, &["exec", &sandbox, "--", "true"]).output().unwrap();
                assert!(works.status.success(), "step {step} in {runner:?} by {caller:?}: {works:?}");
                said(&ours(&place, &["rm", "--force", &sandbox]).output().unwrap());
            }
            // An engine may go on with what it has begun, and the next command removes that.
            let until = Instant::now() + PATIENCE;
            loop {
                let run = place.inside(&["--name=next"], &["true"]).output().unwrap();
                assert!(run.status.success(), "step {step} in {runner:?} by {caller:?}: {run:?}");
                if containers(&place, runner).is_empty() && rendezvous(&place) == 0 {
                    break;
                }
                assert!(Instant::now() < until, "step {step} in {runner:?} by {caller:?}");
            }
        }
    }
}

#[test]
fn one_that_its_engine_has_paused_is_removed_by_force() {
    for (caller, runner) in in_containers("containers that an engine has paused") {
        if runner != Runner::Docker && caller == Caller::Normal {
            // Without control groups of its own an engine pauses nothing.
            continue;
        }
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        engine(&place, runner, &["pause", &format!("sandboxctl-{}", name(&place))]);
        said(&ours(&place, &["rm", "--force", &name(&place)]).output().unwrap());
        assert_eq!(containers(&place, runner), "", "in {runner:?} by {caller:?}");
        drop(sandbox);
    }
}
