//! A base that brings steps of its own into every build on it (`ONBUILD`).

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::machine::{Feature, is_there};
use crate::project::{Project, ask, docker, in_registry};
use crate::stock;

const NAME: &str = "image-test-onbuild:1";

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

/// Pushes a base whose step says in whatever is built on it when it ran. No other run has had the same step, so none is
/// taken from a cache.
fn base() -> String {
    let name = in_registry("onbuild");
    let directory = tempfile::tempdir().unwrap();
    let text = format!("FROM {}\nONBUILD RUN : {}; date +%s%N >/when-the-base-ran\n", stock::base(), now());
    fs::write(directory.path().join("Dockerfile"), text).unwrap();
    let words = ["buildx", "build", "--builder=default", "--output=type=image,push=true", "--tag", &name];
    ask(&[&words[..], &[directory.path().to_str().unwrap()]].concat());
    name
}

#[test]
fn a_stranger_s_base_brings_steps_into_a_build_only_with_trust() {
    if !is_there(Feature::Docker, "a base with ONBUILD") {
        return;
    }
    let base = base();
    let project = Project::new(NAME, &format!("base = {base:?}\npackages = [\"bash\"]\n"));
    let stranger = format!("version = 1\n[image]\nname = {NAME:?}\nbase = {base:?}\n");
    fs::write(project.path().join("stranger.toml"), stranger).unwrap();
    let words = ["build", "--format", "json", "--config", "stranger.toml", "--platform", "linux/amd64"];
    let output = project.untrusted(&words).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["error"]["code"], "config.untrusted", "{answer:#}");
    assert!(answer.to_string().contains("image.base"), "{answer:#}");
    assert!(!docker(&["image", "inspect", NAME]).status.success(), "{answer:#}");
    let refused = now();

    // Whoever is asked sees the base, and that the build runs what it says.
    let shown = project.untrusted(&["trust", "--show", "stranger.toml"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned() + &String::from_utf8_lossy(&shown.stderr);
    assert!(shown.contains(&format!("{base:?}, and run what that says")), "{shown}");

    // The control: with trust the step runs, and had not run before.
    project.build(&["--platform", "linux/amd64"]);
    let ran = ask(&["run", "--rm", "--network=none", "--entrypoint", "cat", NAME, "/when-the-base-ran"]);
    assert!(ran.trim().parse::<u128>().unwrap() > refused, "{ran} {refused}");
}
