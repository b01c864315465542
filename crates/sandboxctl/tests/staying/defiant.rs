//! Commands that turn against what supervises them, and against PID 1.

use std::fs;
use std::time::Instant;

use serde_json::Value;

use crate::machine::Runner;
use crate::place::Place;
use crate::{PATIENCE, Staying, everywhere, name, ours, said};

#[test]
fn a_first_command_that_stops_its_supervisor_holds_up_nobody() {
    for (caller, runner) in everywhere("first commands that stop their supervisors") {
        let place = Place::on(caller, runner);
        // It has to be faster than its supervisor, which it is now and then.
        for _ in 0..if runner == Runner::Native { 12 } else { 3 } {
            let began = Instant::now();
            let sandbox = Staying::run(&place, &[], &["sh", "-c", "kill -STOP $PPID; exec sleep 1000"]);
            assert_eq!(sandbox.inspect()["state"], "running", "in {runner:?} by {caller:?}");
            said(&ours(&place, &["rm", "--force", &name(&place)]).output().unwrap());
            assert!(began.elapsed() < PATIENCE, "in {runner:?} by {caller:?}");
        }
    }
}

#[test]
fn a_supervisor_keeps_its_descriptors_and_its_deadline() {
    for (caller, runner) in everywhere("commands that take descriptors from their supervisors") {
        // Images need not have the program.
        if runner != Runner::Native {
            continue;
        }
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let script = "trap '' TERM; prlimit --nofile=0 --pid $PPID; echo $? >/workspace/tried; while :; do sleep 0.1; done";
        let output = sandbox
            .exec(&["--format", "json", "--timeout", "500ms"], &["sh", "-c", script])
            .output()
            .unwrap();
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(seen["result"]["timed_out"], true, "by {caller:?}: {seen:#}");
        assert!(seen["result"]["duration_ms"].as_u64().unwrap() < 20_000, "by {caller:?}: {seen:#}");
        // It was refused; its own limits are its own.
        assert_eq!(fs::read_to_string(place.workspace().join("tried")).unwrap(), "1\n", "by {caller:?}");
        assert_eq!(
            sandbox.prints(&["sh", "-c", "prlimit --nofile=64 --pid $$; ulimit -n 32; ulimit -n"]),
            "32\n"
        );
        let left = sandbox.wait_until("nothing of it is left", |seen| seen["status"]["commands"] == 0);
        assert_eq!(left["state"], "running", "by {caller:?}");
    }
}

/// A program that stops its supervisor again and again, faster than PID 1 can continue it.
const FLOOD: &str = "
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
supervisor, end = os.getppid(), time.time() + 60
for _ in range(6):
    if os.fork() == 0:
        while time.time() < end:
            for _ in range(1000):
                os.kill(supervisor, signal.SIGSTOP)
        os._exit(0)
time.sleep(60)
";

/// Where the supervisor is kept from its work, PID 1 keeps the deadline.
#[test]
fn a_command_that_holds_up_its_supervisor_ends_in_time() {
    for (caller, runner) in everywhere("commands that hold up their supervisors") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let output = sandbox
            .exec(&["--format", "json", "--timeout", "1s"], &["python3", "-c", FLOOD])
            .output()
            .unwrap();
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(seen["result"]["timed_out"], true, "in {runner:?} by {caller:?}: {seen:#}");
        let took = seen["result"]["duration_ms"].as_u64().unwrap();
        assert!(took < 20_000, "in {runner:?} by {caller:?}: {seen:#}");
        let left = sandbox.wait_until("nothing of it is left", |seen| seen["status"]["commands"] == 0);
        assert_eq!(left["state"], "running", "in {runner:?} by {caller:?}");
        assert_eq!(sandbox.prints(&["echo", "lives"]), "lives\n", "in {runner:?} by {caller:?}");
    }
}

/// A deadline is that of the command, and of nothing that this leaves in the background.
#[test]
fn what_a_command_leaves_in_the_background_outlives_its_deadline() {
    for (caller, runner) in everywhere("commands with a deadline that leave something behind") {
        if runner != Runner::Native {
            continue;
        }
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let script = "sleep 1000 >/dev/null 2>&1 </dev/null & echo $!";
        let output = sandbox.exec(&["--timeout", "1s"], &["sh", "-c", script]).output().unwrap();
        let pid = said(&output).trim().to_owned();
        // Longer than whoever keeps deadlines waits.
        sandbox.prints(&["sleep", "11"]);
        assert_eq!(
            sandbox.prints(&["sh", "-c", &format!("kill -0 {pid} && echo lives")]),
            "lives\n",
            "by {caller:?}"
        );
    }
}

/// A program whose first thread ends while another one goes on, which the kernel then calls a zombie.
const ZOMBIE: &str = "
import ctypes, os, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    os.setsid()
except PermissionError:
    pass  # It leads a group already.
def beat():
    while True:
        with open('/workspace/beat', 'a') as beat:
            beat.write('x')
        time.sleep(0.05)
threading.Thread(target=beat).start()
number = {'x86_64': 60, 'aarch64': 93}[os.uname().machine]  # exit(2)
ctypes.CDLL(None).syscall(number, 0)
";

/// A program that goes on in a child of its own again and again: whoever finds one of its processes finds another one the next time.
const HOPS: &str = "
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork():
    os._exit(0)
hop = 0
while True:
    if os.fork():
        os._exit(0)
    hop += 1
    if hop % 50 == 0:
        with open('/workspace/beat', 'a') as beat:
            beat.write('x')
";

#[test]
fn a_program_that_is_hard_to_find_ends_at_the_deadline_too() {
    for (caller, runner) in everywhere("programs that are hard to find") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let program = ["python3", "-c", ZOMBIE];
        // In the background, too, where nobody but the supervisor knows of it.
        let hidden = ["sh", "-c", "python3 -c \"$1\" & sleep 1000", "sh", ZOMBIE];
        let hops = ["sh", "-c", "python3 -c \"$1\" & sleep 1000", "sh", HOPS];
        for argv in [&program[..], &hidden, &hops] {
            // On a busy machine, it comes to that later.
            let has_run = ["1s", "5s", "25s"].iter().any(|timeout| {
                let output =
                    sandbox.exec(&["--format", "json", "--timeout", timeout], argv).output().unwrap();
                let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(seen["result"]["timed_out"], true, "in {runner:?} by {caller:?}: {seen:#}");
                fs::read(place.workspace().join("beat")).is_ok_and(|beats| beats.len() > 3)
            });
            assert!(has_run, "the control, in {runner:?} by {caller:?}");
            sandbox.wait_until("nothing of it is left", |seen| seen["status"]["commands"] == 0);
            fs::remove_file(place.workspace().join("beat")).unwrap();
            // Whatever lived on would make it again.
            sandbox.prints(&["sleep", "0.3"]);
            assert!(!place.workspace().join("beat").exists(), "in {runner:?} by {caller:?}");
        }
    }
}

#[test]
fn nobody_inside_speaks_for_the_engine() {
    // What kill(2) sends, with another sender than the kernel would write.
    let forge = "import ctypes, os, struct, sys, time\n\
                 info = ctypes.create_string_buffer(struct.pack('iiiiii', 15, 0, int(sys.argv[1]), 0, 0, 0), 128)\n\
                 libc = ctypes.CDLL(None, use_errno=True)\n\
                 number = {'x86_64': 129, 'aarch64': 138}[os.uname().machine]\n\
                 print(libc.syscall(number, 1, 15, info), flush=True)\n";
    for (caller, runner) in everywhere("forged signals") {
        if runner != Runner::Native {
            continue;
        }
        let place = Place::on(caller, runner);
        let sandbox =
            Staying::run(&place, &[], &["sh", "-c", "until test -e go; do sleep 0.05; done; exit 7"]);
        // SI_QUEUE, which anybody may claim, and SI_USER, which nobody may.
        for (code, returned) in [("-1", "0\n"), ("0", "-1\n")] {
            assert_eq!(sandbox.prints(&["python3", "-c", forge, code]), returned, "by {caller:?}");
        }
        assert_eq!(sandbox.prints(&["echo", "lives"]), "lives\n", "by {caller:?}");
        fs::write(place.workspace().join("go"), "").unwrap();
        assert_eq!(said(&ours(&place, &["wait", &name(&place)]).output().unwrap()), "7\n", "by {caller:?}");
    }
}
