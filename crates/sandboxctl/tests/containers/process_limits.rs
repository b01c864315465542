//! Limits of each process, in every provider: processor time and the size of files.

use crate::everywhere;
use crate::machine::{Runner, callers};
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
