//! The MCP server, as a client meets it: raw messages to the real program, over its standard streams and over HTTP.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]
#![expect(clippy::needless_pass_by_value, reason = "messages are made where they are sent")]

mod bad_input;
mod client;
mod command_rules;
mod conformance;
mod delegate;
mod ends;
mod files;
mod hang_up;
mod hooks;
mod hostile;
mod http;
mod install;
mod jobs;
mod life;
mod limits;
mod model;
mod outside;
mod published;
mod shell;
mod terminal;

#[expect(dead_code, reason = "servers here are reached by one client alone")]
#[path = "../network/internet.rs"]
mod internet;
#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;

use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

/// How long something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place of everybody who may have native sandboxes here.
fn natively(test: &str) -> Vec<Place> {
    let all = callers(test).into_iter();
    all.filter(|caller| runners(*caller, test).contains(&Runner::Native)).map(Place::new).collect()
}

/// A place of somebody who may have native sandboxes here.
fn native(test: &str) -> Option<Place> {
    let caller = callers(test).into_iter().find(|caller| runners(*caller, test).contains(&Runner::Native))?;
    Some(Place::new(caller))
}

/// Every place that isolates sandboxes here, one for each provider.
fn everywhere(test: &str) -> Vec<Place> {
    let mut seen = Vec::new();
    let all = callers(test).into_iter();
    let all = all.flat_map(|caller| runners(caller, test).into_iter().map(move |runner| (caller, runner)));
    all.filter(|(_, runner)| {
        let is_new = !seen.contains(runner);
        seen.push(*runner);
        is_new
    })
    .map(|(caller, runner): (Caller, Runner)| Place::on(caller, runner))
    .collect()
}

/// What `ls --all` prints for programs.
fn listed(place: &Place) -> serde_json::Value {
    let output = ours(place, &["ls", "--all", "--format", "json"]);
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["sandboxes"].take()
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command of ours.
fn ours(place: &Place, words: &[&str]) -> Output {
    let program = place.path("sandboxctl");
    place.outside(&[&[program.to_str().unwrap()], words].concat()).output().unwrap()
}
