//! Persistent sandboxes: made, used, looked at, ended and removed, by the real program.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod again;
mod apart;
mod attached;
mod children;
mod contract;
mod copies;
mod cut_short;
mod defiant;
mod ends;
mod engines;
mod events;
mod hidden;
mod library;
mod local;
mod logs;
mod made;
mod names;
mod paused;
mod sockets;
mod tool_files;
mod tools;
mod trouble;

#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../support/ready.rs"]
mod ready;

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

/// How long something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every caller with everything that runs its sandboxes here, without isolation too.
fn wherever(test: &str) -> Vec<(Caller, Runner)> {
    let local = callers(test).into_iter().map(|caller| (caller, Runner::Local));
    everywhere(test).into_iter().chain(local).collect()
}

/// Every caller with everything that isolates its sandboxes here.
fn everywhere(test: &str) -> Vec<(Caller, Runner)> {
    let all = callers(test).into_iter();
    all.flat_map(|caller| runners(caller, test).into_iter().map(move |runner| (caller, runner))).collect()
}

/// A persistent sandbox, until this is dropped.
struct Staying<'a> {
    place: &'a Place,
    name: String,
}

impl<'a> Staying<'a> {
    /// Makes one with `create`.
    fn create(place: &'a Place, flags: &[&str]) -> Self {
        let name = name(place);
        let words = [&["create", "--name", &name], place.provider(), flags].concat();
        assert_eq!(said(&ours(place, &words).output().unwrap()), format!("{name}\n"));
        Self { place, name }
    }

    /// Makes one with `run --detach`.
    fn run(place: &'a Place, flags: &[&str], argv: &[&str]) -> Self {
        let name = name(place);
        let words = [&["run", "--detach", "--name", &name], place.provider(), flags, &["--"], argv].concat();
        assert_eq!(said(&ours(place, &words).output().unwrap()), format!("{name}\n"));
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

    /// What a script prints that knows [`PROCESSES`].
    fn script(&self, script: &str) -> String {
        self.prints(&["sh", "-c", &format!("{PROCESSES}\n{script}")])
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

/// The name of the sandbox of a place. An engine has one container of each name, whoever's it is.
fn name(place: &Place) -> String {
    let unique = std::fs::metadata(place.path("")).unwrap().ino();
    format!("s-{unique}")
}

/// A command of ours.
fn ours(place: &Place, words: &[&str]) -> Command {
    let program = place.path("sandboxctl");
    let words = [&[program.to_str().unwrap()], words].concat();
    let mut command = place.outside(&words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Functions of a shell where procps is not: the processes of exactly this command line, and the parent of one.
const PROCESSES: &str = r#"
pids() { for p in /proc/[0-9]*; do [ "$(tr '\0' ' ' <$p/cmdline 2>/dev/null)" = "$1 " ] && echo ${p#/proc/}; done; true; }
parent() { sed -n 's/^PPid:.//p' /proc/$1/status; }
"#;

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
