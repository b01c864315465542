//! Links on the way to mount points, in images and in shared directories: an engine follows them, as root.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::Value;

use crate::environment::made_of_the_image;
use crate::everywhere;
use crate::machine::{Caller, Runner};
use crate::place::Place;
use crate::program;

/// What an image needs to have its own program started in the place of ours, were that at a path it knows.
const IMPOSTOR: &str = "RUN mkdir -p /l /run/sandboxctl && ln -s /run /l/m \\\n\
    && printf '#!/bin/sh\\necho x > /workspace/pwned\\n' > /run/sandboxctl/entrypoint \\\n\
    && chmod 755 /run/sandboxctl/entrypoint\n\
    VOLUME /l/m/sandboxctl";

#[test]
fn an_image_puts_nothing_in_the_place_of_pid_1() {
    for (caller, runner) in everywhere("images with links") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let image = made_of_the_image("sandbox-test-impostor", IMPOSTOR);
        let said = refusal(&mut place.inside(&["--format=json", "--image", &image], &["true"]));
        assert!(said.contains("its /l/m is a link"), "by {caller:?}: {said}");
        assert!(!place.workspace().join("pwned").exists(), "by {caller:?}");
    }
}

#[test]
fn an_image_puts_nothing_in_the_place_of_what_is_fresh() {
    for (caller, runner) in everywhere("images with volumes behind links") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let image = made_of_the_image("sandbox-test-unbounded", "RUN ln -s / /l\nVOLUME /l/tmp");
        let said = refusal(&mut place.inside(&["--format=json", "--image", &image], &["true"]));
        assert!(said.contains("its /l is a link"), "by {caller:?}: {said}");
    }
}

#[test]
fn what_the_host_has_mounted_in_a_shared_directory_is_shared_too() {
    for (caller, runner) in everywhere("mounts in shared directories") {
        // It has no daemon, so it sees what is mounted for its caller alone.
        if (caller, runner) != (Caller::Root, Runner::Podman) {
            continue;
        }
        let place = Place::on(caller, runner);
        let nested = place.workspace().join("nested");
        std::fs::create_dir(&nested).unwrap();
        let script = format!("mount -t tmpfs tmpfs {0} && echo on > {0}/it && exec \"$@\"", nested.display());
        let mut words: Vec<OsString> =
            ["unshare", "--mount", "sh", "-c", &script, "sh"].map(Into::into).into();
        words.extend(place.run(&["--quiet"], &["cat", "nested/it"]));
        let output = place.command(&words).output().unwrap();
        assert_eq!(output.stdout, b"on\n", "{output:?}");
    }
}

#[test]
fn a_directory_that_becomes_a_link_leads_the_engine_nowhere() {
    for (caller, runner) in everywhere("directories that become links") {
        // Root's are mounted by ourselves, and no link is followed then.
        if !place_is_mounted_by_the_engine(caller, runner) {
            continue;
        }
        let place = Place::on(caller, runner);
        let secret = place.path("secret");
        for name in ["workspace/sub/.git", "secret"] {
            for file in ["HEAD", "config", "objects/info/x", "refs/x", "hooks/x", "id"] {
                place.write(&format!("{name}/{file}"), "ref: refs/heads/main\n");
            }
        }
        let git = place.workspace().join("sub/.git");
        let swap = format!("mv {0} {0}.aside && ln -s {1} {0}", git.display(), secret.display());
        let read = format!("cat {}/id", secret.display());
        let said = refusal(&mut behind(&place, runner, &swap, &["sh", "-c", &read]));
        assert!(said.contains("nobody asked for"), "in {runner:?} by {caller:?}: {said}");
    }
}

#[test]
fn a_socket_stays_covered_when_its_directory_is_swapped() {
    for (caller, runner) in everywhere("swapped directories of sockets") {
        if !place_is_mounted_by_the_engine(caller, runner) {
            continue;
        }
        let place = Place::on(caller, runner);
        place.write("workspace/decoy/s", "");
        place.write("workspace/d/file", "");
        let socket = place.workspace().join("d/s");
        let _listener = UnixListener::bind(&socket).unwrap();
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o777)).unwrap();
        let here = place.workspace().display().to_string();
        let swap = format!("cd {here} && mv d between && mv decoy d && mv between decoy");
        let said = refusal(&mut behind(&place, runner, &swap, &["test", "!", "-S", "decoy/s"]));
        assert!(
            said.contains("/workspace/d is not what was validated"),
            "in {runner:?} by {caller:?}: {said}"
        );
    }
}

fn place_is_mounted_by_the_engine(caller: Caller, runner: Runner) -> bool {
    caller != Caller::Root || runner == Runner::RootlessDocker
}

/// A command in a sandbox whose engine finds that somebody has been there just before it.
fn behind(place: &Place, runner: Runner, before: &str, argv: &[&str]) -> Command {
    let engine = if runner == Runner::Podman { "podman" } else { "docker" };
    let elsewhere = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
    let script = format!(
        "#!/bin/sh\nPATH={elsewhere}\nif [ \"$1\" = run ]; then {before} || exit; fi\nexec {engine} \"$@\"\n"
    );
    program::write(&place.path("bin").join(engine), &script);
    let mut command = place.inside(&["--format=json"], argv);
    let path = format!("{}:{elsewhere}", place.path("bin").display());
    command.env("PATH", path);
    command
}

/// What the tool says when it starts nothing.
fn refusal(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let said = answer["error"]["message"].as_str();
    said.unwrap_or_else(|| panic!("it ran: {answer:#}")).to_owned()
}
