//! Sandboxes that stay: made, used, looked at, ended and removed, by the real program.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod apart;
mod contract;
mod cut_short;
mod ends;
mod logs;
mod made;

#[path = "../support/machine.rs"]
#[expect(dead_code, reason = "sandboxes that stay are native")]
mod machine;
#[path = "../support/place.rs"]
mod place;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::Place;

/// How long something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A sandbox that stays, until this is dropped.
struct Staying<'a> {
    place: &'a Place,
    name: String,
}

impl<'a> Staying<'a> {
    /// Makes one with `create`.
    fn create(place: &'a Place, flags: &[&str]) -> Self {
        let name = "s".to_owned();
        let words = [&["create", "--name", &name], flags].concat();
        assert_eq!(said(&ours(place, &words).output().unwrap()), "s\n");
        Self { place, name }
    }

    /// Makes one with `run --detach`.
    fn run(place: &'a Place, flags: &[&str], argv: &[&str]) -> Self {
        let name = "s".to_owned();
        let words = [&["run", "--detach", "--name", &name], flags, &["--"], argv].concat();
        assert_eq!(said(&ours(place, &words).output().unwrap()), "s\n");
        Self { place, name }
    }

    /// A command in it.
    fn exec(&self, flags: &[&str], argv: &[&str]) -> Command {
        ours(self.place, &[&["exec"], flags, &[&self.name, "--"], argv].concat())
    }

    /// What a command in it prints.
    fn prints(&self, argv: &[&str]) -> String {
        said(&self.exec(&[], argv).output().unwrap())
    }

    /// What `inspect` says of it.
    fn inspect(&self) -> Value {
        let output = ours(self.place, &["inspect", &self.name]).output().unwrap();
        serde_json::from_str::<Vec<Value>>(&said(&output)).unwrap().swap_remove(0)
    }

    /// Waits until `inspect` says something of it.
    fn wait_until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.inspect();
            if is_so(&seen) {
                return seen;
            }
            assert!(Instant::now() < until, "{what}: {seen:#}");
        }
    }
}

impl Drop for Staying<'_> {
    fn drop(&mut self) {
        let _ = ours(self.place, &["rm", "--force", &self.name]).output();
    }
}

/// A command of ours.
fn ours(place: &Place, words: &[&str]) -> Command {
    let program = place.path("sandboxctl");
    let words = [&[program.to_str().unwrap()], words].concat();
    let mut command = place.outside(&words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a command has printed, which has succeeded.
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The code of an error that was printed for programs.
fn error_code(output: &Output) -> String {
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    object["error"]["code"].as_str().unwrap_or_default().to_owned()
}
