//! Links on the way to mount points, in images and in shared directories: an engine follows them, as root.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::Value;

use crate::environment::made_of_the_image;
use crate::everywhere;
use crate::machine::{Caller, NORMAL, Runner, image};
use crate::place::Place;
use crate::program;
use crate::system_path::in_system_path;

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
        let said = refusal(&mut behind(&place, runner, &swap, &["--format=json"], &["sh", "-c", &read]));
        // By PID 1, or before that by whoever has held the directory for the engine.
        let is_refused =
            said.contains("nobody asked for") || said.contains("sub/.git` was exchanged meanwhile");
        assert!(is_refused, "in {runner:?} by {caller:?}: {said}");
    }
}

#[test]
fn a_hidden_path_stays_covered_when_its_directory_is_swapped() {
    for (caller, runner) in everywhere("swapped directories of hidden paths") {
        if !place_is_mounted_by_the_engine(caller, runner) {
            continue;
        }
        // One that is found by its name alone, and one for which its directory is pinned.
        for pattern in ["key", "d/key"] {
            let place = Place::on(caller, runner);
            place.write("workspace/decoy/key", "");
            place.write("workspace/d/key", "hidden");
            let here = place.workspace().display().to_string();
            let swap = format!("cd {here} && mv d between && mv decoy d && mv between decoy");
            let mut command = behind(&place, runner, &swap, &["--format=json", "--hide", pattern], &["true"]);
            let said = refusal(&mut command);
            assert!(
                said.contains("/workspace/d is not what was validated")
                    || said.contains("/workspace/d` was exchanged meanwhile"),
                "{pattern} in {runner:?} by {caller:?}: {said}"
            );
        }
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
        let said =
            refusal(&mut behind(&place, runner, &swap, &["--format=json"], &["test", "!", "-S", "decoy/s"]));
        // The directory is pinned, too: it is found out there, or at the socket.
        let is_refused = ["/workspace/d is not what was validated", "/workspace/d` was exchanged meanwhile"];
        assert!(is_refused.iter().any(|why| said.contains(why)), "in {runner:?} by {caller:?}: {said}");
    }
}

/// Who calls an engine of root's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum By {
    /// A user who may use its socket.
    Member,
    /// Root, for a user.
    Sudo,
}

#[test]
fn an_engine_of_roots_makes_nothing_where_a_swapped_directory_leads() {
    for (by, runner) in [(By::Member, Runner::Docker), (By::Sudo, Runner::Docker), (By::Sudo, Runner::Podman)]
    {
        let is_here = everywhere("mount points of an engine of root's").contains(&(Caller::Root, runner));
        if !is_here || !rustix::process::geteuid().is_root() {
            continue;
        }
        // The shared directory itself, one in it that is pinned, and one that is shared read-only.
        for swapped in ["shared", "shared/repository", "data"] {
            let place = Place::on(Caller::Normal, runner);
            place.write("workspace/data/file", "");
            // As a directory of root's may be, too.
            for directory in ["workspace/shared/repository/.git", "foreign/.git", "foreign/repository/.git"] {
                for file in ["HEAD", "config", "objects/info/x", "refs/x", "hooks/x"] {
                    place.write(&format!("{directory}/{file}"), "ref: refs/heads/main\n");
                }
            }
            let foreign = place.path("foreign");
            std::os::unix::fs::chown(&foreign, Some(0), Some(0)).unwrap();
            let made = foreign.join("nologin");
            let shared = place.workspace().join("shared");
            let swapped = place.workspace().join(swapped);
            let _listener = UnixListener::bind(swapped.join("nologin")).unwrap();

            let aside = place.workspace().join("aside");
            let swap =
                format!("mv {0} {1} && ln -s {2} {0}", swapped.display(), aside.display(), foreign.display());
            let data = format!("{}:/data:ro", place.path("workspace/data").display());
            let (image, argv) = (image(), ["true"]);
            let flags = ["--format=json", "--image", &image, "-v", &data];
            let mut command = behind(&place, runner, &swap, &flags, &argv);
            if by == By::Sudo {
                command = place.command(&place.run(&flags, &argv));
                command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
                command = in_system_path(&command, &[&place.path("bin")]);
            }
            let output = command.current_dir(&shared).output().unwrap();
            assert!(aside.exists(), "nobody has swapped anything in {runner:?} by {by:?}: {output:?}");
            assert!(!made.exists(), "in {runner:?} by {by:?}, {}: {output:?}", swapped.display());

            // The control: what an engine does that is given the path.
            let engine = if runner == Runner::Podman { "podman" } else { "docker" };
            let shared = format!("--mount=type=bind,source={},target=/x", swapped.display());
            let mask = "--mount=type=bind,source=/dev/null,target=/x/nologin,readonly";
            let control =
                place.command(&[engine, "run", "--rm", &shared, mask, &image, "true"]).output().unwrap();
            assert!(made.exists(), "{control:?}");
        }
    }
}

fn place_is_mounted_by_the_engine(caller: Caller, runner: Runner) -> bool {
    caller != Caller::Root || runner == Runner::RootlessDocker
}

/// A command in a sandbox whose engine finds that somebody has been there just before it.
fn behind(place: &Place, runner: Runner, before: &str, flags: &[&str], argv: &[&str]) -> Command {
    // Podman's containers are made by one call and started by another.
    let (engine, verb) = if runner == Runner::Podman { ("podman", "create") } else { ("docker", "run") };
    let elsewhere = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
    let script = format!(
        "#!/bin/sh\nPATH={elsewhere}\nif [ \"$1\" = {verb} ]; then {before} || exit; fi\nexec {engine} \"$@\"\n"
    );
    program::write(&place.path("bin").join(engine), &script);
    let mut command = place.inside(flags, argv);
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
