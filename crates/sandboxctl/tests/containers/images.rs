//! Images and engines that cannot do what is asked.

use std::ffi::OsString;

use serde_json::Value;

use crate::answers::error;
use crate::environment::{engine, made_of_the_image};
use crate::everywhere;
use crate::exec::First;
use crate::machine::{Caller, Feature, Runner, callers, is_there, runners};
use crate::place::Place;

#[test]
fn an_image_that_is_not_there_is_named_and_not_looked_for_in_public() {
    for (caller, runner) in everywhere("missing images") {
        let place = Place::on(caller, runner);
        place.write("workspace/sandbox.toml", "[image]\nname = \"no-such-image\"\n");
        let output = place.inside(&[""; 0], &["true"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(69), "in {runner:?} by {caller:?}: {said}");
        assert!(said.contains("no image no-such-image") && said.contains("sandboxctl build"), "{said}");
        assert_eq!(error(&mut place.inside(&["--format=json"], &["true"])), "image.missing");

        place.write("workspace/sandbox.toml", "[image]\nname = \"localhost:5000/no-such-image\"\n");
        assert_eq!(
            error(&mut place.inside(&["--format=json"], &["true"])),
            "image.not_fetched",
            "in {runner:?}"
        );
        assert_eq!(error(&mut place.inside(&["--format=json", "--pull=never"], &["true"])), "image.missing");
    }
}

#[test]
fn another_processor_is_emulated() {
    if !is_there(Feature::Emulation, "other processors") {
        return;
    }
    let image = std::env::var("SANDBOX_TEST_DEBIAN").unwrap();
    for (caller, runner) in everywhere("other processors") {
        // A rootless engine would have to fetch it from a registry that only the host's loopback leads to.
        if runner == Runner::RootlessDocker {
            continue;
        }
        let place = Place::on(caller, runner);
        place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
        let flags = ["--platform", "linux/arm64", "--format=json"];
        let script = "uname -m; grep -E '^(CapBnd|Seccomp):' /proc/self/status";
        let output = place.inside(&flags, &["sh", "-c", script]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = answer["stdout"]["text"].as_str().unwrap_or_default();
        assert!(said.starts_with("aarch64\n"), "in {runner:?} by {caller:?}: {answer:#}");
        let seccomp =
            answer["report"].as_array().unwrap().iter().find(|line| line["layer"] == "seccomp").unwrap();
        assert_eq!(seccomp["status"], "enforced", "in {runner:?} by {caller:?}: {answer:#}");
    }
}

#[test]
fn a_runtime_that_is_not_there_is_refused() {
    for (caller, runner) in everywhere("missing runtimes") {
        let place = Place::on(caller, runner);
        let code = error(&mut place.inside(&["--format=json", "--runtime", "no-such-runtime"], &["true"]));
        assert_eq!(code, "engine.runtime", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn an_image_cannot_say_that_it_is_a_sandbox() {
    for (caller, runner) in everywhere("images with labels") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let owner = if caller == Caller::Root { 0 } else { 1001 };
        let line = format!(
            "LABEL sandbox.managed=true sandbox.owner={owner} sandbox.name=impostor sandbox.id=0123456789abcdef \
             sandbox.client=1:1:4026531836"
        );
        let image = made_of_the_image(&format!("sandbox-test-labels-{owner}"), &line);
        let first = First::named(&place, "impostor");
        let container = engine(&place, runner, &["run", "--detach", "--rm", &image, "sleep", "1000"]);
        let container = container.trim();
        let words = place.words("exec", &["--format=json", "impostor"], &["true"]);
        // Nor does it hide the one that is.
        let output = place.outside(&words).output().unwrap();
        first.end();
        let code = error(&mut place.outside(&words));
        // Nor is it cleared up as if it were one.
        assert!(place.inside(&["--quiet"], &["true"]).status().unwrap().success());
        let there = engine(&place, runner, &["inspect", "--format", "{{.State.Running}}", container]);
        engine(&place, runner, &["rm", "--force", container]);
        assert_eq!((code.as_str(), there.trim()), ("sandbox.not_found", "true"), "by {caller:?}");
        assert!(output.status.success(), "by {caller:?}: {output:?}");
    }
}

#[test]
fn an_image_puts_nothing_into_shared_and_fresh_directories() {
    for (caller, runner) in everywhere("images with volumes") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        for (name, volume) in [("a", "/tmp/evil"), ("b", "/workspace/.git")] {
            let image =
                made_of_the_image(&format!("sandbox-test-volume-{name}"), &format!("VOLUME {volume}"));
            place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
            assert_eq!(error(&mut place.inside(&["--format=json"], &["true"])), "policy.denied", "{volume}");
            assert!(!place.workspace().join(".git").exists(), "{volume} by {caller:?}");
        }
    }
}

#[test]
fn a_full_disk_is_distinguished_from_an_image_that_is_not_there() {
    for (caller, runner) in everywhere("full disks") {
        // Of Podman's one may ask for storage elsewhere, and whoever is root may mount a small one.
        if (caller, runner) != (Caller::Root, Runner::Podman) {
            continue;
        }
        let place = Place::on(caller, runner);
        let image = std::env::var("SANDBOX_TEST_DEBIAN").unwrap();
        place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
        let disk = place.path("disk");
        std::fs::create_dir(&disk).unwrap();
        let (graph, state) = (disk.join("graph"), disk.join("state"));
        let settings = format!("[storage]\ndriver = \"vfs\"\ngraphroot = {graph:?}\nrunroot = {state:?}\n");
        let settings = place.write("storage.conf", &settings);
        let run = |size: &str| {
            let script = format!("mount -t tmpfs -o size={size} tmpfs {} && exec \"$@\"", disk.display());
            let mut words: Vec<OsString> =
                ["unshare", "--mount", "sh", "-c", &script, "sh"].map(Into::into).into();
            words.extend(place.run(&["--format=json"], &["true"]));
            let mut command = place.command(&words);
            command.env("CONTAINERS_STORAGE_CONF", &settings);
            command
        };
        assert_eq!(error(&mut run("12m")), "engine.disk_full");
        let output = run("1g").output().unwrap();
        assert!(output.status.success(), "the control: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn who_may_not_use_the_engine_is_refused_with_the_reason() {
    for caller in callers("forbidden engines") {
        if caller == Caller::Root || !runners(caller, "forbidden engines").contains(&Runner::Docker) {
            continue;
        }
        // A user who is not in the group of the engine.
        let place = Place::new(caller);
        let mut command = place.inside(&["--format=json", "--provider", "docker"], &["true"]);
        assert_eq!(error(&mut command), "engine.forbidden");
        assert!(place.inside(&[""; 0], &["true"]).status().unwrap().success(), "native needs no engine");
    }
}
