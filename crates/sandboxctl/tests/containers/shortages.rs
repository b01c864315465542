//! What a command was short of, which its own message does not say, in every provider.

use crate::everywhere;
use crate::exec::First;
use crate::machine::{Caller, Runner, callers};
use crate::place::Place;

fn error(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns whether the report says that a control group limits memory, if not all that is in it.
fn is_limited(report: &str) -> bool {
    report.lines().any(|line| line.starts_with("memory ") && line.contains("by the engine's control group"))
}

#[test]
fn that_memory_has_run_out_in_a_container_is_said() {
    for (caller, runner) in everywhere("a container's limit of memory") {
        let place = Place::on(caller, runner);
        let run = |size: &str| {
            // What has no end of line is kept whole until there is one.
            let script = format!("head -c {size} /dev/zero | tail -n 1 >/dev/null");
            place.inside(&["--report", "--memory", "64m"], &["sh", "-c", &script]).output().unwrap()
        };
        let output = run("500000000");
        let said = error(&output);
        let what = format!("in {runner:?} by {caller:?}: {said}");
        // A rootless engine may have no control group for it.
        let is_limited = is_limited(&said);
        assert_eq!(said.contains("warning: the limit of memory of 64m was reached"), is_limited, "{what}");
        assert!(is_limited || caller != Caller::Root, "{what}");
        assert!(!error(&run("1000")).contains("was reached"), "the control: {what}");
    }
}

#[test]
fn that_memory_has_run_out_for_an_exec_is_said() {
    for (caller, runner) in everywhere("a container's limit of memory in an exec") {
        let place = Place::on(caller, runner);
        let name = format!("short{}", std::process::id());
        let flags = ["--report", "--memory", "64m", "--name", &name];
        let first = First::start(place.inside(&flags, &["sh", "-c", "echo ready; cat"]));
        let exec = |size: &str| {
            let script = format!("head -c {size} /dev/zero | tail -n 1 >/dev/null");
            place.outside(&place.words("exec", &[&name], &["sh", "-c", &script])).output().unwrap()
        };
        let warning = "warning: the limit of memory of 64m was reached";
        let [before, short, after] = ["1000", "500000000", "1000"].map(exec);
        let said = first.end();
        let what = format!("in {runner:?} by {caller:?}: {short:?}, {said}");
        // A rootless engine may have no control group for it.
        let is_limited = is_limited(&said);
        assert_eq!(error(&short).contains(warning), is_limited, "{what}");
        assert!(is_limited || caller != Caller::Root, "{what}");
        // The controls: one that needs little, before and after.
        assert!(!error(&before).contains(warning) && !error(&after).contains(warning), "{what}");
        assert!(before.status.success() && after.status.success(), "{before:?}, {after:?}");
    }
}

#[test]
fn a_tmpfs_that_is_full_is_named_with_its_limit() {
    let native = callers("full file systems").into_iter().map(|caller| (caller, Runner::Native));
    for (caller, runner) in native.chain(everywhere("full file systems")) {
        let place = Place::on(caller, runner);
        place.write("workspace/sandbox.toml", "[limits]\ntmp_size = \"8m\"\n");
        let run = |size: &str| {
            let script = format!("head -c {size} /dev/zero >/tmp/file");
            place.inside(&["-v", ".:/workspace"], &["sh", "-c", &script]).output().unwrap()
        };
        let output = run("16000000");
        let what = format!("in {runner:?} by {caller:?}: {output:?}");
        assert_eq!(output.status.code(), Some(1), "{what}");
        let warning = "warning: /tmp inside is full; it is a tmpfs, which `[limits] tmp_size` (here 8m)";
        assert!(error(&output).contains(warning), "{what}");
        let output = run("4000000");
        assert!(output.status.success() && !error(&output).contains("is full"), "the control: {what}");
    }
}

#[test]
fn a_command_that_fails_without_a_network_is_told_so_where_it_wanted_one() {
    let native = callers("a network that is missing").into_iter().map(|caller| (caller, Runner::Native));
    for (caller, runner) in native.chain(everywhere("a network that is missing")) {
        let place = Place::on(caller, runner);
        let what = format!("in {runner:?} by {caller:?}");
        let warns = |flags: &[&str], script: &str| {
            let output = place.inside(flags, &["python3", "-c", script]).output().unwrap();
            error(&output).contains("wanted to reach something by the network, and this sandbox has none")
        };
        let connect = "import socket\nsocket.create_connection(('192.0.2.1', 80))";
        let resolve = "import socket, time\nwhile True:\n try: socket.getaddrinfo('example.org', 80)\n except OSError: time.sleep(0.1)";
        assert!(warns(&[], connect), "{what}");
        assert!(warns(&["--timeout", "2s"], resolve), "{what}");
        // The controls: one that does not want it, one that does without it, and one that has a network.
        assert!(!warns(&[], "raise SystemExit(1)"), "{what}");
        assert!(!warns(&[], &format!("try:\n exec({connect:?})\nexcept OSError: pass")), "{what}");
        assert!(!warns(&["--allow-host", "example.org"], connect), "{what}");
    }
}

#[test]
fn a_program_that_the_image_does_not_have_is_named_with_what_puts_it_there() {
    for (caller, runner) in everywhere("programs that an image does not have") {
        let place = Place::on(caller, runner);
        for (command, hint) in [
            ("codex", "hint: the image has no Codex: `RUN npm install -g @openai/codex` in a Dockerfile"),
            ("no-such-command", "hint: only what the image has is there"),
        ] {
            let output = place.inside(&[""; 0], &[command]).output().unwrap();
            let what = format!("in {runner:?} by {caller:?}: {output:?}");
            assert_eq!(output.status.code(), Some(127), "{what}");
            assert!(error(&output).contains(hint), "{what}");
        }
    }
}
