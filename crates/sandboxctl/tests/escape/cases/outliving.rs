//! Living on after the sandbox has ended.

use std::fs;

use crate::machine::{callers, runners};
use crate::place::Place;

/// Leaves its session, its parent and its name behind, holds on to nothing, and ignores whoever asks it to end.
const DAEMON: &str = r#"
import os, signal, sys
ready, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        for fd in range(3):
            os.close(fd)
        os.write(told, b"r")
        while True:
            signal.pause()
    os._exit(0)
os.wait()
os.read(ready, 1)
"#;

#[test]
fn a_daemon_ends_with_its_sandbox() {
    for caller in callers("a daemon") {
        let place = Place::new(caller);
        let mark = place.workspace().display().to_string();
        let argv = ["python3", "-c", DAEMON, &mark];
        assert!(place.outside(&argv).status().unwrap().success());
        let left = marked(&mark);
        for pid in &left {
            let pid = rustix::process::Pid::from_raw(*pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        assert_eq!(left.len(), 1, "the control, by {caller:?}: nothing lives on where nothing ends it");

        for runner in runners(caller, "a daemon") {
            let place = Place::on(caller, runner);
            let mark = place.workspace().display().to_string();
            let argv = ["python3", "-c", DAEMON, &mark];
            assert!(place.inside(&[""; 0], &argv).status().unwrap().success());
            assert_eq!(marked(&mark), Vec::<i32>::new(), "inside, in {runner:?} by {caller:?}");
        }
    }
}

/// The processes of this machine with a word in their arguments.
fn marked(word: &str) -> Vec<i32> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(word)
    })
    .collect()
}
