//! Calls from inside a container into which the engine's socket is mounted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use crate::everywhere;
use crate::machine::{Caller, Feature, Runner, image, is_there, runners};
use crate::place::Place;

#[test]
fn a_client_in_a_container_names_what_the_engine_sees() {
    let caller = Caller::Normal;
    if !runners(caller, "clients in containers").contains(&Runner::Docker) {
        return;
    }
    let place = Place::on(caller, Runner::Docker);
    // The directory keeps its name in there and nothing else of its path.
    let top = place.path("").components().collect::<PathBuf>();
    let (above, name) = (top.parent().unwrap().display(), top.file_name().unwrap().to_str().unwrap());
    let inside = |variables: &[String]| {
        let mut command = Command::new("docker");
        command.args(["run", "--rm", "--user", "1001:1001", "--group-add", &group()]);
        command.args(["--volume", "/var/run/docker.sock:/var/run/docker.sock"]);
        command.args(["--volume", &format!("{}:/usr/bin/docker:ro", program())]);
        command.arg("--volume").arg(format!("{}:/{name}", top.display()));
        command.args(["--env", &format!("HOME=/{name}/home"), "--workdir", &format!("/{name}/workspace")]);
        command.args(variables.iter().flat_map(|variable| ["--env", variable]));
        command.args([
            &image(),
            &format!("/{name}/sandboxctl"),
            "run",
            "--provider",
            "docker",
            "--quiet",
            "--",
        ]);
        command.args(["sh", "-c", "echo written > file"]).output().unwrap()
    };
    // Without a word about it the engine is asked for directories that it does not have.
    let output = inside(&[]);
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--host-path-prefix"), "{output:?}");
    assert!(!place.workspace().join("file").exists());
    let output = inside(&[format!("SANDBOXCTL_HOST_DIR={above}")]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(place.workspace().join("file")).unwrap(), "written\n");
}

#[test]
fn an_engine_with_mounts_of_its_own_is_given_paths_where_that_is_asked_for() {
    let caller = Caller::Normal;
    if !runners(caller, "mounts of a caller alone").contains(&Runner::Docker)
        || !is_there(Feature::Root, "mounts")
    {
        return;
    }
    let place = Place::on(caller, Runner::Docker);
    let inside = |namespace: &str, flags: &[&str]| {
        let client = place.inside(&[&["--quiet"], flags].concat(), &["sh", "-c", "echo written > file"]);
        let mut command = place.command(&["unshare", namespace, "--fork", "--"]);
        command.arg(client.get_program()).args(client.get_args()).output().unwrap()
    };
    let output = inside("--mount", &[]);
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--host-path-prefix /"), "{output:?}");
    // And nothing is taken for what another process has open whose number is the same to the engine.
    for (namespace, flags) in [("--mount", &["--host-path-prefix", "/"][..]), ("--pid", &[])] {
        let output = inside(namespace, flags);
        assert!(output.status.success(), "{namespace}: {output:?}");
        fs::remove_file(place.workspace().join("file")).unwrap();
    }
}

/// The engine's own command line, which is a static program.
fn program() -> String {
    let found = Command::new("sh").args(["-c", "command -v docker"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

fn group() -> String {
    fs::metadata("/var/run/docker.sock").unwrap().gid().to_string()
}

#[test]
fn a_container_that_lets_no_sandbox_start_in_it_is_blamed_with_the_option_that_would() {
    for (caller, runner) in everywhere("a native sandbox in a container") {
        if (caller, runner) != (Caller::Root, Runner::Docker) {
            continue;
        }
        let place = Place::on(caller, runner);
        let program = format!("--volume={}:/sandboxctl:ro", place.path("sandboxctl").display());
        let inside = |options: &[&str]| {
            let own = ["run", "--rm", "--user=1000:1000", "--env=HOME=/tmp", &program];
            let script = "mkdir /tmp/x && cd /tmp/x && /sandboxctl run -- echo inside";
            let mut docker = place.command(&["docker"]);
            docker.args(own).args(options).args([&image(), "sh", "-c", script]);
            let output = docker.output().unwrap();
            let text = |stream: &[u8]| String::from_utf8_lossy(stream).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let (code, _, error) = inside(&[]);
        assert_eq!(code, Some(69), "{error}");
        assert!(error.contains("a seccomp filter"), "{error}");
        let options = ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"];
        assert!(error.contains(&format!("run that with {}", options.join(" "))), "{error}");
        let profiles =
            error.contains("apparmor=unconfined").then_some(["--security-opt", "apparmor=unconfined"]);
        let (code, said, error) =
            inside(&[&options[..], profiles.as_ref().map_or(&[], |both| &both[..])].concat());
        assert_eq!((code, said.as_str()), (Some(0), "inside\n"), "what the hint names: {error}");
    }
}
