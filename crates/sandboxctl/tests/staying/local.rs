//! Persistent sandboxes without isolation: what they say, and what ends with them.

use std::io::Read;
use std::process::Stdio;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::machine::{Runner, callers};
use crate::place::Place;
use crate::{PATIENCE, PROCESSES, Staying, name, ours, said};

#[test]
fn each_command_says_that_there_is_no_isolation() {
    for caller in callers("what is said without isolation") {
        let place = Place::on(caller, Runner::Local);
        let name = name(&place);
        let words = [&["create", "--quiet", "--name", &name], place.provider()].concat();
        let made = ours(&place, &words).output().unwrap();
        assert!(String::from_utf8_lossy(&made.stderr).contains("no isolation"), "by {caller:?}: {made:?}");
        let exec = ours(&place, &["exec", "--quiet", &name, "--", "true"]).output().unwrap();
        assert!(String::from_utf8_lossy(&exec.stderr).contains("no isolation"), "by {caller:?}: {exec:?}");
        let seen = ours(&place, &["inspect", &name]).output().unwrap();
        let seen = said(&seen);
        assert!(seen.contains("isolates nothing") && !seen.contains("enforced"), "by {caller:?}: {seen}");
        said(&ours(&place, &["rm", "--force", &name]).output().unwrap());
    }
}

#[test]
fn what_it_has_started_ends_with_it_and_nothing_else_does() {
    for caller in callers("ends without isolation") {
        for end in [&["stop", "--time", "300ms"][..], &["stop", "--time", "0"], &["rm", "--force"]] {
            let place = Place::on(caller, Runner::Local);
            let sandbox = Staying::create(&place, &[]);
            // The same user's, started beside it; it ends with this test.
            let mut outside = place.outside(&["sh", "-c", "echo ready; exec cat"]);
            let mut outside = outside.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            outside.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
            let unique = format!(
                "10{}",
                std::fs::metadata(place.path("")).unwrap().modified().unwrap().elapsed().unwrap().as_nanos()
                    % 100_000
            );
            let script = format!(
                "(setsid sh -c 'trap \"\" TERM; sleep {unique}' >/dev/null 2>&1 &); setsid sleep {unique} >/dev/null 2>&1 & exit"
            );
            sandbox.prints(&["sh", "-c", &script]);
            let running = || {
                let script = format!("{PROCESSES}\npids 'sleep {unique}'");
                said(&place.outside(&["sh", "-c", &script]).output().unwrap()).lines().count()
            };
            let until = Instant::now() + PATIENCE;
            while running() < 2 {
                assert!(Instant::now() < until, "by {caller:?}");
            }
            said(&ours(&place, &[end, &[&name(&place)]].concat()).output().unwrap());
            assert_eq!(running(), 0, "{end:?} by {caller:?}");
            assert!(outside.try_wait().unwrap().is_none(), "{end:?} by {caller:?}");
            outside.kill().unwrap();
            outside.wait().unwrap();
        }
    }
}

#[test]
fn what_runs_in_it_ends_with_its_supervisor_that_was_killed() {
    for caller in callers("supervisors that were killed") {
        let place = Place::on(caller, Runner::Local);
        let sandbox = Staying::create(&place, &[]);
        let argv = ["sh", "-c", "echo $$; exec sleep 1000"];
        let mut running = sandbox.exec(&[], &argv).stdout(Stdio::piped()).spawn().unwrap();
        let command: i32 = crate::ready::next_line(&mut running).trim().parse().unwrap();
        let pid = i32::try_from(sandbox.inspect()["pid"].as_i64().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        assert_eq!(running.wait().unwrap().code(), Some(137), "by {caller:?}");
        let until = Instant::now() + PATIENCE;
        while std::path::Path::new(&format!("/proc/{command}")).exists() {
            assert!(Instant::now() < until, "the command goes on, by {caller:?}");
        }
        sandbox.wait_until("it is stopped", |seen| seen["state"] == "stopped");
        said(&ours(&place, &["rm", &name(&place)]).output().unwrap());
    }
}
