//! Programs that people use run inside as they do outside: the same script, the same output, the same owner.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod compare;
mod nix;
mod projects;
mod terminal;

#[expect(dead_code, reason = "these tests are about the native provider")]
#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../support/toolchain.rs"]
mod toolchain;

use crate::compare::Program;
use crate::machine::{Caller, Feature, is_there};

#[test]
fn git_clones_commits_and_branches() {
    Program::new(&["sh", "git.sh"]).prepare(|place| {
        let script = "git init --quiet --initial-branch main source && cd source && echo text > file && git add file \
            && git -c user.name=A -c user.email=a@example.org commit --quiet --date 2020-01-01T00:00:00Z -m first";
        let mut command = place.outside(&["sh", "-c", script]);
        assert!(command.env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z").status().unwrap().success());
    })
    .runs_alike();
}

/// Inside no attribute is set, and no program that copies one fails for it.
#[test]
fn files_are_copied_with_their_attributes_or_without() {
    Program::new(&["sh", "copies.sh"])
        .prepare(|place| {
            let file = place.write("workspace/source/file", "text\n");
            rustix::fs::setxattr(&file, c"user.test", b"x", rustix::fs::XattrFlags::empty()).unwrap();
            let script = "chmod 640 source/file; touch -d 2020-01-01 source/file";
            assert!(place.outside(&["sh", "-c", script]).status().unwrap().success());
        })
        .runs_alike();
}

#[test]
fn python_makes_and_uses_a_virtual_environment() {
    Program::new(&["sh", "venv.sh"]).runs_alike();
}

#[test]
fn node_runs_worker_threads() {
    if is_there(Feature::Node, "worker threads") {
        Program::new(&["node", "node.js"]).runs_alike();
    }
}

#[test]
fn a_c_program_is_compiled_and_run() {
    if is_there(Feature::Gcc, "a C program") {
        Program::new(&["sh", "c.sh"]).runs_alike();
    }
}

#[test]
fn cargo_builds_a_crate_with_an_exposed_toolchain() {
    let test = "a crate built with an exposed toolchain";
    if is_there(Feature::Cargo, test) && is_there(Feature::Root, test) {
        let program = Program::new(&["sh", "cargo.sh"]).prepare(|place| {
            place.write("workspace/sandbox.toml", "[native]\nexpose = [\"rust\"]\n");
            // What was downloaded is shown too.
            place.write("home/.cargo/registry/cache/index.crates.io-0/small-0.1.0.crate", "");
        });
        program.with_toolchain(toolchain::sysroot()).runs_alike();
    }
}

#[test]
fn an_interactive_bash_is_driven_through_a_terminal() {
    for caller in machine::callers("a terminal") {
        terminal::is_used_alike(caller);
    }
}
