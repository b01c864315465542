//! Commands of one persistent sandbox are one user, and yet none gets at the streams, the environment or the memory of another,
//! nor at PID 1 and what it is asked by.

use std::io::Read;
use std::process::Stdio;

use crate::place::Place;
use crate::{Staying, everywhere, name, ours, said};

/// Tries to look into every process that it sees, and says what it got.
const LOOK: &str = r#"
import glob, os
for process in sorted(glob.glob("/proc/[0-9]*")):
    if process == "/proc/%d" % os.getpid():
        continue
    got = []
    for name, attempt in (
        ("environ", lambda: open(process + "/environ", "rb").read()),
        ("memory", lambda: open(process + "/mem", "rb")),
        ("streams", lambda: [open(process + "/fd/" + one, "rb") for one in os.listdir(process + "/fd") if one == "0"]),
        ("cwd", lambda: os.listdir(process + "/cwd")),
    ):
        try:
            attempt()
            got.append(name)
        except OSError:
            pass
    try:
        print(open(process + "/comm").read().strip(), *got)
    except OSError:
        pass
"#;

#[test]
fn no_command_looks_into_another_one() {
    for (caller, runner) in everywhere("execs apart") {
        let place = Place::on(caller, runner);
        place.write("look.py", LOOK);
        place.write("workspace/look.py", LOOK);
        // The control: outside, whoever is the same user does.
        let mut sleep = place
            .outside(&["sh", "-c", "echo ready; exec sleep 1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        sleep.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        while !String::from_utf8_lossy(&std::fs::read(format!("/proc/{}/comm", sleep.id())).unwrap())
            .contains("sleep")
        {}
        let outside = said(&place.outside(&["python3", "../look.py"]).output().unwrap());
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        assert!(
            outside.contains("sleep environ memory streams cwd"),
            "the control in {runner:?} by {caller:?}: {outside}"
        );

        let sandbox = Staying::run(&place, &[], &["sleep", "1001"]);
        let mut other = sandbox.exec(&[], &["sh", "-c", "echo ready; exec sleep 1002"]).spawn().unwrap();
        other.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        // From an exec: PID 1, the supervisors, the first command and the other one.
        let inside = sandbox.prints(&["python3", "/workspace/look.py"]);
        // PID 1, three supervisors, two commands.
        assert!(inside.lines().count() == 6 && inside.matches("sleep").count() == 2, "{inside}");
        assert!(inside.lines().all(|line| !line.contains(' ')), "in {runner:?} by {caller:?}: {inside}");
        // A command gets at what it has started itself.
        let own = sandbox.prints(&["sh", "-c", "sleep 1003 & python3 look.py; kill $!"]);
        assert!(own.contains("sleep environ memory"), "in {runner:?} by {caller:?}: {own}");
        other.kill().unwrap();
        other.wait().unwrap();
        drop(sandbox);

        // From the first command.
        let sandbox = Staying::run(
            &place,
            &[],
            &["sh", "-c", "until test -e go; do :; done; python3 look.py; touch gone; sleep 1000"],
        );
        let mut other = sandbox.exec(&[], &["sh", "-c", "echo ready; exec sleep 1002"]).spawn().unwrap();
        other.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        sandbox.prints(&["sh", "-c", "touch go; until test -e gone; do :; done"]);
        let inside = said(&ours(&place, &["logs", &name(&place)]).output().unwrap());
        let of_others: Vec<&str> =
            inside.lines().filter(|line| line.starts_with("sleep") || line.starts_with('e')).collect();
        assert!(of_others.len() >= 3 && of_others.iter().all(|line| !line.contains(' ')), "{inside}");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

#[test]
fn no_command_reaches_the_control_socket() {
    for (caller, runner) in everywhere("the control socket") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let id = sandbox.inspect()["id"].as_str().unwrap().to_owned();
        let socket = place.home().join(".local/state/sandboxctl/sandboxes").join(id).join("control");
        assert!(socket.exists());
        // The control: who may name it can end the sandbox.
        let attack = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.send(b'K')\ns.recv(1)\nprint('ended')";
        let there = socket.to_str().unwrap();
        let inside = sandbox.exec(&[], &["python3", "-c", attack, there]).output().unwrap();
        assert!(!inside.status.success() && inside.stdout.is_empty(), "{inside:?}");
        let listed = sandbox.prints(&[
            "sh",
            "-c",
            "cat /proc/net/unix | wc -l; find / -xdev -type s 2>/dev/null; true",
        ]);
        assert!(!listed.contains("control"), "{listed}");
        assert_eq!(sandbox.inspect()["state"], "running");
        assert_eq!(said(&place.outside(&["python3", "-c", attack, there]).output().unwrap()), "ended\n");
        assert_eq!(sandbox.inspect()["state"], "stopped");
    }
}

#[test]
fn who_kills_or_stops_a_supervisor_frees_nothing() {
    for (caller, runner) in everywhere("supervisors of execs") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let start = |seconds: &str| {
            // It is found by its command line, which it has when it is executed.
            let is_executed = "read comm </proc/$!/comm && [ $comm = sleep ]";
            let script =
                format!("setsid sleep {seconds} & until {is_executed}; do :; done; echo ready; wait");
            let mut child = sandbox.exec(&["--timeout", "2s"], &["sh", "-c", &script]).spawn().unwrap();
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
            child
        };
        // The supervisor is the parent of the shell that is the parent of `sleep`.
        let above = |seconds: &str| format!("$(parent $(parent $(pids 'sleep {seconds}')))");
        let killed = start("1004");
        sandbox.script(&format!("kill -9 {}", above("1004")));
        let output = killed.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(137), "in {runner:?} by {caller:?}: {output:?}");
        let stopped = start("1005");
        sandbox.script(&format!("kill -STOP {}", above("1005")));
        let output = stopped.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(124), "in {runner:?} by {caller:?}: {output:?}");
        sandbox.wait_until("nothing is left", |seen| seen["status"]["commands"] == 0);
        assert_eq!(sandbox.script("pids 'sleep 1004'; pids 'sleep 1005'"), "", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn a_flood_of_children_and_signals_keeps_nobody_from_being_served() {
    let storm = include_str!("../support/storm.py");
    for (caller, runner) in everywhere("a flood in a persistent sandbox") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let mut flood = sandbox.exec(&[], &["python3", "-c", storm]).spawn().unwrap();
        flood.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        assert_eq!(sandbox.prints(&["echo", "served"]), "served\n", "in {runner:?} by {caller:?}");
        // Its client knows of the end before PID 1 has collected it.
        sandbox.wait_until("the flood alone runs", |seen| seen["status"]["commands"] == 1);
        said(&ours(&place, &["stop", "--time", "1s", &name(&place)]).output().unwrap());
        flood.wait().unwrap();
    }
}
