//! Calls from inside a container into which the engine's socket is mounted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

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
