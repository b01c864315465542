//! The command line from outside: the real binary in a hermetic environment.

mod env;
#[path = "../support/program.rs"]
mod program;

mod batch;
mod build;
mod completions;
mod config;
mod doctor;
mod engines;
mod etc;
mod expose;
mod habits;
mod init;
mod log;
mod man;
mod output;
mod plan;
mod policy;
mod run;
mod trust;
mod usage;

/// A file that no `mod` line names would never run.
#[test]
fn no_test_file_is_forgotten() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli");
    let named = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else { continue };
        assert!(module == "main" || named.contains(&format!("mod {module};")), "{name} is not in main.rs");
    }
}
