//! What is shared with a sandbox, in every provider: single files, and what of a directory is left out.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod asked;
mod files;
mod git_config;
mod git_data;
mod hidden;
mod hidden_in_git;
mod led_out;
mod options;
mod other_mounts;
mod own_settings;
mod owners;
mod precedence;
mod sockets;
mod worktrees;
mod written_through;

#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../support/ready.rs"]
mod ready;

use std::process::Output;

use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

/// A place for every caller with every provider that it can use here, and what to call that in a message.
fn places(test: &str) -> impl Iterator<Item = (Place, String)> {
    let all = callers(test).into_iter();
    let all =
        all.flat_map(move |caller| runners(caller, test).into_iter().map(move |runner| (caller, runner)));
    all.map(|(caller, runner): (Caller, Runner)| {
        (Place::on(caller, runner), format!("in {runner:?} by {caller:?}"))
    })
}

/// What a shell script in a sandbox answers.
fn script(place: &Place, flags: &[&str], script: &str) -> Output {
    place.inside(&[&["--quiet"], flags].concat(), &["sh", "-c", script]).output().unwrap()
}

/// What it prints.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What is said about it.
fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
