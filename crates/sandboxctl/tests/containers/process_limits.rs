//! Limits of each process, in every provider: processor time and the size of files.

use crate::everywhere;
use crate::machine::{Caller, Runner, callers};
use crate::place::Place;

fn error(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_process_that_uses_up_its_limit_is_ended_by_a_signal_that_is_named() {
    let native = callers("limits of processes").into_iter().map(|caller| (caller, Runner::Native));
    for (caller, runner) in native.chain(everywhere("limits of processes")) {
        let place = Place::on(caller, runner);
        let what = format!("in {runner:?} by {caller:?}");
        let burn = "import signal, sys\nwhile True: pass";
        let output = place.inside(&["--cpu-time", "1s"], &["python3", "-c", burn]).output().unwrap();
        assert_eq!(output.status.code(), Some(152), "{what}: {output:?}");
        assert!(
            error(&output).contains("1s of processor time, and SIGXCPU has ended it"),
            "{what}: {output:?}"
        );
        // A program that does not end by it is killed a second later.
        let ignored = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass";
        let output = place.inside(&["--cpu-time", "1s"], &["python3", "-c", ignored]).output().unwrap();
        assert_eq!(output.status.code(), Some(137), "{what}: {output:?}");

        let write = "head -c 3000 /dev/zero >file; code=$?; wc -c <file; exit $code";
        let run = |limit: &str| place.inside(&["--file-size", limit], &["sh", "-c", write]).output().unwrap();
        let output = run("2k");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "2048", "{what}: {output:?}");
        assert_eq!(output.status.code(), Some(153), "{what}: {output:?}");
        assert!(
            error(&output).contains("more than 2k to a file, and SIGXFSZ has ended it"),
            "{what}: {output:?}"
        );
        let output = run("4k");
        assert_eq!(output.status.code(), Some(0), "{what}: the control: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "3000", "{what}: {output:?}");
    }
}

#[test]
fn no_process_raises_its_limits_and_pid_1_has_none() {
    let native = callers("raised limits").into_iter().map(|caller| (caller, Runner::Native));
    for (caller, runner) in native.chain(everywhere("raised limits")) {
        let place = Place::on(caller, runner);
        let look = "ulimit -Ht; ulimit -Hf; (ulimit -t unlimited) 2>/dev/null || echo kept; (ulimit -f unlimited) 2>/dev/null || echo kept; \
                    grep -E 'Max (cpu time|file size)' /proc/1/limits | grep -c 'unlimited *unlimited'";
        let output = place
            .inside(&["--cpu-time", "90s", "--file-size", "1m"], &["bash", "-c", look])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = said.lines().collect();
        // bash counts files in KiB.
        assert_eq!(lines[..4], ["91", "1024", "kept", "kept"], "in {runner:?} by {caller:?}: {output:?}");
    }
}

#[test]
fn a_time_that_the_kernel_cannot_count_is_refused() {
    for caller in callers("times") {
        let place = Place::new(caller);
        for time in ["1500ms", "0", "1x"] {
            let output = place.inside(&["--cpu-time", time], &["true"]).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{time}: {output:?}");
        }
        let output = place.inside(&["--provider", "local", "--cpu-time", "1s"], &["true"]).output().unwrap();
        assert!(error(&output).contains("sets no limits of processes"), "{output:?}");
    }
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
        let is_enforced = said.lines().any(|line| line.starts_with("memory ") && line.contains(" enforced "));
        assert_eq!(said.contains("warning: the limit of memory of 64m was reached"), is_enforced, "{what}");
        assert!(is_enforced || caller != Caller::Root, "{what}");
        assert!(!error(&run("1000")).contains("was reached"), "the control: {what}");
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
