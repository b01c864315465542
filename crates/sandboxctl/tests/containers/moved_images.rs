//! Names of images that mean another image once they were looked at, and labels that an image brings.

use std::fs;
use std::process::{Command, Output, Stdio};

use sandbox::state::record::{Placed, Record, RecordVersion, RunId};

use crate::environment::{engine, made_of_the_image};
use crate::everywhere;
use crate::machine::{Caller, Runner};
use crate::place::Place;

/// The engines of root's, for root, with their command.
fn of_root(test: &str) -> Vec<(Place, Runner, &'static str)> {
    let all = everywhere(test).into_iter().filter(|(caller, _)| *caller == Caller::Root);
    let named = all.filter_map(|(caller, runner)| match runner {
        Runner::Docker => Some((Place::on(caller, runner), runner, "docker")),
        Runner::Podman => Some((Place::on(caller, runner), runner, "podman")),
        Runner::Native | Runner::RootlessDocker | Runner::Local => None,
    });
    named.collect()
}

#[track_caller]
fn sh(script: &str) -> String {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command in an image, and a script on the host after the image was looked at: when a secret is read.
fn meanwhile(place: &Place, image: &str, argv: &[&str], script: &str) -> (bool, String) {
    let pipe = place.path("pipe");
    let settings = format!(
        "[image]\nname = {image:?}\n[secrets.token]\nmode = \"inject\"\nenv_var = \"TOKEN\"\nsource = \"command:cat {}\"\n",
        pipe.display()
    );
    place.write("home/.config/sandboxctl/sandbox.toml", &settings);
    let _ = fs::remove_file(&pipe);
    sh(&format!("mkfifo -m 666 {}", pipe.display()));
    let mut command = place.inside(&["--quiet"], argv);
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Opening it waits for whoever reads the secret.
    let script = format!("exec 3> {}; {{ {script}; }} >&2; echo x >&3", pipe.display());
    let moved = Command::new("timeout").args(["100", "sh", "-ec", &script]).output().unwrap();
    let ended = said_of(started.wait_with_output().unwrap());
    assert!(moved.status.success(), "{moved:?}, {ended:?}");
    ended
}

fn said(command: &mut Command) -> (bool, String) {
    said_of(command.output().unwrap())
}

fn said_of(output: Output) -> (bool, String) {
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), said.concat())
}

#[test]
fn what_was_looked_at_is_run_whatever_its_name_means_by_then() {
    for (place, runner, command) in of_root("moved names") {
        let name = format!("localhost/sandbox-test-moved-{}", std::process::id());
        for which in ["first", "second"] {
            let tag = format!("{name}:{which}");
            made_of_the_image(&tag, &format!("RUN echo {which} > /which"));
            if runner == Runner::Podman {
                sh(&format!("docker save {tag} | podman load --quiet"));
            }
        }
        sh(&format!("{command} tag {name}:first {name}:1"));
        for expected in ["first\n", "second\n"] {
            // The second time it is the control: the name was moved.
            let move_it = format!("{command} tag {name}:second {name}:1");
            let ran = meanwhile(&place, &format!("{name}:1"), &["cat", "/which"], &move_it);
            assert_eq!(ran, (true, expected.to_owned()), "in {runner:?}");
        }
        sh(&format!("{command} rmi --force {name}:1 {name}:first {name}:second"));
    }
}

#[test]
fn podman_hands_no_annotation_on_that_an_image_got_after_it_was_looked_at() {
    for (place, runner, _) in of_root("annotations that come later") {
        if runner != Runner::Podman {
            continue;
        }
        let name = format!("localhost/sandbox-test-annotated-{}:1", std::process::id());
        made_of_the_image(&name, "RUN echo annotated > /which");
        sh(&format!("docker save {name} | podman load --quiet"));
        let directory = place.path("annotated");
        // The same content, and so the same id, with one more line in its manifest.
        sh(&format!("podman push --quiet --format oci {name} dir:{}", directory.display()));
        let manifest = directory.join("manifest.json");
        let mut parsed: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
        parsed["annotations"] = serde_json::json!({ "run.oci.hooks.stderr": "/nowhere/x" });
        fs::write(&manifest, parsed.to_string()).unwrap();
        let id = format!("podman image inspect --format '{{{{.Id}}}}' {name}");
        let before = sh(&id);
        let move_it = format!("podman pull --quiet dir:{}", directory.display());
        let (success, said) = meanwhile(&place, &name, &["echo", "ran"], &move_it);
        assert!(!success && said.contains("`run.oci.hooks.stderr`"), "{said}");
        assert!(said.contains("the container has the annotation"), "not before it was made: {said}");
        // The control: the id is the same, and the engine itself hands it on.
        assert_eq!(sh(&id), before);
        let given = format!(
            "podman inspect --format '{{{{.Config.Annotations}}}}' $(podman create {}); podman rm --latest >&2",
            before.trim()
        );
        assert!(sh(&given).contains("run.oci.hooks.stderr"), "the control");
        let left =
            engine(&place, runner, &["ps", "--all", "--quiet", "--filter", "label=sandbox.managed=true"]);
        assert!(!left.contains("Created"), "{left}");
        sh(&format!("podman rmi --force {}", before.trim()));
    }
}

#[test]
fn labels_of_an_image_make_no_container_ours() {
    for (place, runner, command) in of_root("labels of images") {
        // A run that was killed, whose record leads to its containers.
        let id = format!("{:016x}", 0x1abe_1000_0000_0000_u64 | u64::from(std::process::id()));
        let state = place.home().join(".local/state/sandboxctl");
        let digest = sh(&format!("printf %s {} | sha256sum | cut -c1-64", state.display()));
        let labels = format!(
            "LABEL sandbox.managed=true sandbox.id={id} sandbox.owner=0 sandbox.state={}",
            digest.trim()
        );
        let name = format!("localhost/sandbox-test-labels-{}:1", std::process::id());
        made_of_the_image(&name, &labels);
        if runner == Runner::Podman {
            sh(&format!("docker save {name} | podman load --quiet"));
        }
        let other = sh(&format!("{command} create {name} true"));
        // What was made to look into an image is ours by a name that no image can bring.
        let ours = sh(&format!("{command} create --name sandboxctl_{id} {name} true"));
        let socket = (runner == Runner::Docker).then_some("unix:///var/run/docker.sock");
        assert!(said(&mut place.inside(&["--quiet"], &["true"])).0);
        let client = serde_json::json!({
            "pid": 999_999, "start_time": 1, "pid_namespace": 4_026_531_836_u64, "time_namespace": 4_026_531_834_u64,
        });
        let record = Record {
            version: RecordVersion::default(),
            id: RunId::try_from(id.clone()).unwrap(),
            owner: 0,
            client: serde_json::from_value(client).unwrap(),
            boundaries: Vec::new(),
            protect: serde_json::from_value(
                serde_json::json!({ "paths": [], "depth": 3, "on_replaced": "end" }),
            )
            .unwrap(),
            cgroups: Vec::new(),
            placed: Some(Placed { engine: command.to_owned(), socket: socket.map(str::to_owned), by: 0 }),
        };
        let record = String::from_utf8(record.to_bytes().unwrap()).unwrap();
        place.write(&format!("home/.local/state/sandboxctl/runs/{id}.json"), &record);
        let (success, said) = said(&mut place.inside(&["--quiet"], &["true"]));
        assert!(success, "{said}");
        let left = sh(&format!("{command} ps --all --quiet --no-trunc --filter label=sandbox.id={id}"));
        sh(&format!(
            "{command} rm --force {} {} || true; {command} rmi --force {name}",
            other.trim(),
            ours.trim()
        ));
        assert_eq!(left, other, "in {runner:?}: the other's alone; ours is gone, which is the control");
    }
}
