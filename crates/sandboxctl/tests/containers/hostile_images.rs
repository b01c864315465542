//! Images that would have somebody believe, hold or make what is not so.

use std::process::Command;

use crate::answers::error;
use crate::environment::{engine, made_of_the_image};
use crate::everywhere;
use crate::machine::{Caller, NORMAL, Runner};
use crate::place::Place;

/// Files that say of limits what nobody has set.
const FORGED: &str = "COPY <<EOF /sys/fs/cgroup/memory.max\n1048576\nEOF\n\
                      COPY <<EOF /sys/fs/cgroup/pids.max\n8\nEOF\n\
                      VOLUME /sys/fs/cgroup";

#[test]
fn an_image_does_not_answer_in_the_kernels_place() {
    for (caller, runner) in everywhere("forged limits") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let image = made_of_the_image("sandbox-test-forged-limits", FORGED);
        let control = engine(&place, runner, &["run", "--rm", &image, "cat", "/sys/fs/cgroup/memory.max"]);
        assert_eq!(control, "1048576\n", "the control: an engine shows what the image says");
        place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
        let mut command = place.inside(&["--format=json", "-m=64m", "--pids-limit=32"], &["true"]);
        assert_eq!(error(&mut command), "policy.denied", "by {caller:?}");

        for (name, volume) in [("proc", "/proc/sys"), ("dev", "/dev/x"), ("sys", "/sys")] {
            let image = made_of_the_image(&format!("sandbox-test-of-{name}"), &format!("VOLUME {volume}"));
            place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
            assert_eq!(
                error(&mut place.inside(&["--format=json"], &["true"])),
                "policy.denied",
                "{volume} by {caller:?}"
            );
        }
    }
}

#[test]
fn a_volume_behind_a_link_is_not_taken_for_an_engines_own() {
    for (caller, runner) in everywhere("volumes behind links") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        for (name, link, code) in [
            // Nobody asked for anything there, and the agent may write beneath /run.
            ("secrets", "mkdir -m 1777 -p /d/e && ln -s /run/secrets /d/e/f", Some("policy.denied")),
            ("cgroup", "mkdir -p /d/e && ln -s /sys/fs/cgroup /d/e/f", Some("policy.denied")),
            ("data", "mkdir -m 1777 -p /d/e/f", None),
        ] {
            let lines = format!("RUN {link}\nVOLUME /d/e/f");
            let image = made_of_the_image(&format!("sandbox-test-link-to-{name}"), &lines);
            place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
            let mut command = place.inside(&["--format=json"], &["true"]);
            match code {
                Some(code) => assert_eq!(error(&mut command), code, "{name} by {caller:?}"),
                None => assert!(command.status().unwrap().success(), "the control, {name} by {caller:?}"),
            }
        }
    }
}

#[test]
fn an_image_with_links_has_nothing_made_in_a_shared_directory() {
    for (caller, runner) in everywhere("images with links") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        for (name, line) in [
            ("passwd", "ln -sf /workspace/.envrc /etc/passwd"),
            ("home", "rm -rf /home && ln -s /workspace/.direnv /home"),
        ] {
            let image = made_of_the_image(&format!("sandbox-test-links-{name}"), &format!("RUN {line}"));
            place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
            let mut command = place.inside(&["--format=json"], &["true"]);
            assert_eq!(error(&mut command), "policy.denied", "{name} by {caller:?}");
            let mut left: Vec<_> =
                place.workspace().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
            left.retain(|name| name != "sandbox.toml");
            assert!(left.is_empty(), "{name} by {caller:?}: {left:?}");
            // The control: the engine itself follows it.
            let shared = place.path(&format!("shared-{name}"));
            std::fs::create_dir(&shared).unwrap();
            place.give(&shared);
            let mount = format!("{}:/workspace", shared.display());
            let over = if name == "home" { "/srv:/home/agent:ro" } else { "/etc/hostname:/etc/passwd:ro" };
            engine(&place, runner, &["run", "--rm", "--volume", &mount, "--volume", over, &image, "true"]);
            assert!(shared.read_dir().unwrap().next().is_some(), "the control: {name} by {caller:?}");
        }
    }
}

#[test]
fn an_image_with_links_has_podman_of_root_s_make_nothing_for_the_user_behind_sudo() {
    for (caller, runner) in everywhere("images with links under sudo") {
        if (caller, runner) != (Caller::Normal, Runner::Podman) || !rustix::process::geteuid().is_root() {
            continue;
        }
        let place = Place::on(caller, runner);
        let root = |line: &str| Command::new("sh").args(["-c", line]).output().unwrap();
        for (name, line) in [
            ("passwd", "ln -sf /workspace/.envrc /etc/passwd"),
            ("home", "rm -rf /home && ln -s /workspace/.direnv /home"),
            ("nothing", "true"),
        ] {
            let image = format!("localhost/sandbox-test-podman-{name}:latest");
            made_of_the_image(&image, &format!("RUN {line}"));
            let loaded = root(&format!("docker save {image} | podman load --quiet"));
            assert!(loaded.status.success(), "{loaded:?}");
            place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
            let mut command = place.command(&place.run(&["--format=json"], &["true"]));
            command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
            command.env("XDG_STATE_HOME", place.home().join("state"));
            command.env("XDG_CONFIG_HOME", place.home().join(".config"));
            if name == "nothing" {
                let output = command.output().unwrap();
                assert!(output.status.success(), "what is fit runs: {output:?}");
                continue;
            }
            assert_eq!(error(&mut command), "policy.denied", "{name}");
            let mut left: Vec<_> =
                place.workspace().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
            left.retain(|name| name != "sandbox.toml");
            assert!(left.is_empty(), "{name}: {left:?}");
            // The control: the engine itself follows it.
            let shared = place.path(&format!("shared-{name}"));
            std::fs::create_dir(&shared).unwrap();
            let over = if name == "home" { "/srv:/home/agent:ro" } else { "/etc/hostname:/etc/passwd:ro" };
            root(&format!(
                "podman run --rm --volume {}:/workspace --volume {over} {image} true",
                shared.display()
            ));
            assert!(shared.read_dir().unwrap().next().is_some(), "the control: {name}");
        }
    }
}

#[test]
fn an_image_that_would_hold_the_engine_up_is_refused_before_it_can() {
    for (caller, runner) in everywhere("named pipes of images") {
        // A rootless one has no images but those that it was given.
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let line = "RUN rm /etc/passwd && mkfifo /etc/passwd";
        let image = made_of_the_image("sandbox-test-pipe", line);
        place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
        let began = std::time::Instant::now();
        assert_eq!(error(&mut place.inside(&["--format=json"], &["true"])), "policy.denied", "by {caller:?}");
        assert!(began.elapsed() < std::time::Duration::from_secs(50), "by {caller:?}");
        let left =
            engine(&place, runner, &["ps", "--all", "--quiet", "--filter", &format!("ancestor={image}")]);
        assert_eq!(left, "", "by {caller:?}");
        // The control, and the next one: an image that is fit starts, whatever was asked for before it.
        place.write("workspace/sandbox.toml", &format!("[image]\nname = {:?}\n", crate::machine::image()));
        assert!(
            place.inside(&["--quiet"], &["true"]).status().unwrap().success(),
            "the control, by {caller:?}"
        );
    }
}
