//! Images that would have somebody believe, hold or make what is not so.

use crate::answers::error;
use crate::environment::{engine, made_of_the_image};
use crate::everywhere;
use crate::machine::Runner;
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
            ("secrets", "mkdir -m 1777 -p /d/e && ln -s /run/secrets /d/e/f", Some("layer.unenforceable")),
            ("cgroup", "mkdir -p /d/e && ln -s /sys/fs/cgroup /d/e/f", Some("layer.unenforceable")),
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
