//! The client ended at random moments, by whatever ends processes.
//!
//! The moments are pseudo-random with a seed, so that a failure names the one that failed. Waiting for them is
//! the attack itself.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::iter;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::machine::{Caller, callers};
use crate::pid_1::only_child;
use crate::place::Place;
use crate::traces;

const NO_FLAGS: [&str; 0] = [];

/// Leaves its session and its parent; only the end of the sandbox ends it.
const TREE: [&str; 3] = ["sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1000' & echo ready; wait"];

/// Sends PID 1 more signals, and leaves it more orphans, than it can take.
const STORM: [&str; 3] = ["python3", "-c", include_str!("../support/storm.py")];

/// How long after everything should have ended is too long.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_client_killed_at_any_moment_leaves_nothing_behind() {
    at_random_moments(Signal::KILL, 100);
}

#[test]
fn a_client_terminated_at_any_moment_leaves_nothing_behind() {
    at_random_moments(Signal::TERM, 30);
}

#[test]
fn a_client_interrupted_at_any_moment_leaves_nothing_behind() {
    at_random_moments(Signal::INT, 30);
}

fn at_random_moments(signal: Signal, times: u32) {
    let callers = callers("random moments");
    for caller in &callers {
        let place = Place::new(*caller);
        // The longest start so far says which moments there are: before, during and after the set-up.
        let began = Instant::now();
        started_and_ended(&place, Signal::KILL);
        let whole = began.elapsed() * 2;
        let mut random = Random(0x5eed);
        let mut clients = Vec::new();
        for time in 0..times / u32::try_from(callers.len()).expect("two at most") {
            let moment = whole.mul_f64(random.next());
            let mut client =
                place.inside(&NO_FLAGS, &TREE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            clients.push(client.id());
            thread::sleep(moment);
            traces::kill(client.id(), signal);
            if signal == Signal::INT {
                // What runs in the background of a shell ignores Ctrl-C; the third time is an order.
                for _ in 0..2 {
                    traces::kill(client.id(), signal);
                }
            }
            let asked = Instant::now();
            while client.try_wait().unwrap().is_none() {
                assert!(
                    asked.elapsed() < PATIENCE,
                    "{signal:?} number {time} by {caller:?} after {moment:?} is ignored"
                );
                thread::sleep(Duration::from_millis(1));
            }
        }
        // The next command sweeps what a kill has left. Processes end by themselves, however long the kernel takes.
        let asked = Instant::now();
        loop {
            let status = place.inside(&NO_FLAGS, &["true"]).status().unwrap();
            assert!(status.success(), "the next command, by {caller:?}: {status}");
            let traces = traces::of(&place, &clients);
            if traces.is_empty() {
                break;
            }
            assert!(asked.elapsed() < PATIENCE, "{signal:?} by {caller:?} left {traces:#?}");
        }
    }
}

#[test]
fn what_a_killed_client_started_ends_by_itself() {
    for caller in callers("killed clients") {
        let place = Place::new(caller);
        // No further command: what is left then are a record and an empty group, and no process.
        started_and_ended(&place, Signal::KILL);
        traces::until_no_process_is_left(&place, PATIENCE);
    }
}

#[test]
fn a_storm_of_signals_does_not_keep_pid_1_from_seeing_that_its_client_is_gone() {
    for caller in callers("storms of signals") {
        let place = Place::new(caller);
        // What is left of it where this fails must not hold a stream of ours.
        let mut storm = place.inside(&NO_FLAGS, &STORM);
        let mut client = storm.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        await_line(&mut client);
        traces::kill(client.id(), Signal::KILL);
        client.wait().unwrap();
        traces::until_no_process_is_left(&place, PATIENCE);
    }
}

#[test]
fn what_a_killed_run_made_is_quarantined_by_the_next_command() {
    for caller in callers("what a killed run made") {
        let place = Place::new(caller);
        let script = "echo 'echo owned' > .bashrc; mkdir -p node_modules/x/.git/hooks; \
                      echo evil > node_modules/x/.git/hooks/pre-commit; echo ready; exec sleep 1000";
        let argv = ["sh", "-c", script];
        let mut client = place.inside(&NO_FLAGS, &argv).stdout(Stdio::piped()).spawn().unwrap();
        await_line(&mut client);
        traces::kill(client.id(), Signal::KILL);
        client.wait().unwrap();
        assert!(place.workspace().join(".bashrc").exists(), "by {caller:?}: who quarantined it?");
        let output = place.inside(&NO_FLAGS, &["true"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(".bashrc"), "by {caller:?}: {stderr}");
        assert!(!place.workspace().join(".bashrc").exists(), "by {caller:?}: {stderr}");
        let hook = place.workspace().join("node_modules/x/.git/hooks/pre-commit");
        assert!(!hook.exists(), "by {caller:?}: {stderr}");
    }
}

/// Has the client of a sandbox killed whose agent made something, and then two commands run elsewhere with the directory away, and two with it back.
const AWAY: &str = r#"
set -eu
top=$1 prepare=$2 away=$3 back=$4; shift 4
eval "$prepare"
mkfifo "$top/elsewhere/out"
cd "$top/above/p"
"$@" sh -c 'echo id > .envrc; echo ready; exec sleep 1000' > "$top/elsewhere/out" 2> /dev/null & client=$!
read -r ready < "$top/elsewhere/out"
kill -KILL $client
wait $client || :
cd "$top/elsewhere"
eval "$away"
"$@" true
"$@" true
eval "$back"
[ -e "$top/above/p/.envrc" ]
echo back >&2
"$@" true
"$@" true
"#;

/// Returns what commands said while the directory was away and after it was back.
fn away_and_back(place: &Place, prepare: &str, away: &str, back: &str) -> (String, String) {
    for name in ["above/p/file", "elsewhere/file"] {
        place.write(name, "");
    }
    fs::create_dir(place.path("aside")).unwrap();
    let start = if rustix::process::geteuid().is_root() {
        &["unshare", "--mount", "--propagation", "private"][..]
    } else {
        &[]
    };
    let mut words: Vec<OsString> =
        [start, &["sh", "-c", AWAY, "sh"]].concat().into_iter().map(Into::into).collect();
    words.push(place.path("").into());
    words.extend([prepare, away, back].map(Into::into));
    let ours = place.outside(&place.run(&NO_FLAGS, &NO_FLAGS));
    words.extend(iter::once(ours.get_program()).chain(ours.get_args()).map(Into::into));
    let output = place.command(&words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "by {:?}: {output:?}", place.caller);
    let (away, back) = said.split_once("back\n").unwrap_or_else(|| panic!("{said}"));
    (away.to_owned(), back.to_owned())
}

#[test]
fn what_a_killed_run_made_is_not_forgotten_while_nobody_may_look_there() {
    // Root may look everywhere.
    for caller in
        callers("directories in which nobody may look").into_iter().filter(|one| *one != Caller::Root)
    {
        let place = Place::new(caller);
        let (away, back) = away_and_back(&place, "", "chmod 0 $top/above", "chmod 755 $top/above");
        assert_eq!(away.matches("could not be searched: open").count(), 2, "by {caller:?}: {away}");
        assert_eq!(back.matches(".envrc").count(), 1, "by {caller:?}: {back}");
        assert!(!place.path("above/p/.envrc").exists(), "by {caller:?}: {back}");
    }
}

#[test]
fn what_a_killed_run_made_is_not_forgotten_while_its_file_system_is_not_mounted() {
    for caller in callers("file systems that are not mounted") {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = Place::new(caller);
        let prepare = "mount -t tmpfs tmpfs $top/above; mkdir $top/above/p; \
                       chown -R --reference=$top/elsewhere $top/above; chmod 755 $top/above";
        let (away, back) = away_and_back(
            &place, prepare, "mount --move $top/above $top/aside", "mount --move $top/aside $top/above",
        );
        assert_eq!(away.matches("is not mounted").count(), 1, "by {caller:?}: {away}");
        assert_eq!(back.matches(".envrc").count(), 1, "by {caller:?}: {back}");
        // The control: one that is moved where it was is not waited for.
        let place = Place::new(caller);
        let (away, back) =
            away_and_back(&place, "", "mv $top/above/p $top/aside", "mv $top/aside/p $top/above");
        assert_eq!(away.matches("was moved or removed since").count(), 1, "by {caller:?}: {away}");
        assert_eq!(format!("{back}{:?}", place.path("above/p/.envrc").exists()), "true", "by {caller:?}");
    }
}

/// As after a restart of the machine: some file systems get their number anew each time they are mounted.
#[test]
fn what_a_killed_run_made_is_found_on_a_file_system_that_has_another_number() {
    // Root alone shares nothing of an overlayfs, whose ids cannot be mapped.
    for caller in callers("file systems with another number").into_iter().filter(|one| *one != Caller::Root) {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = Place::new(caller);
        let mount = "mount -t overlay overlay -o lowerdir=$top/aside/l,upperdir=$top/aside/u,workdir=$top/aside/w $top/above; \
                     stat -c 'number %d' $top/above/p >&2";
        let prepare = format!(
            "mount -t tmpfs tmpfs $top/aside; mkdir -p $top/aside/l/p $top/aside/u/p $top/aside/w; touch $top/aside/u/p/.foorc; \
             chown -R --reference=$top/elsewhere $top/aside/l $top/aside/u; {mount}"
        );
        let back = format!("mount -t tmpfs tmpfs /mnt; {mount}");
        let (away, back) = away_and_back(&place, &prepare, "umount $top/above", &back);
        // The control: it is another one.
        let numbers: Vec<_> = away.lines().filter(|line| line.starts_with("number ")).collect();
        assert_eq!(numbers.len(), 2, "by {caller:?}: {away}");
        assert_ne!(numbers[0], numbers[1], "by {caller:?}");
        assert_eq!(away.matches("is not mounted").count(), 1, "by {caller:?}: {away}");
        assert_eq!(back.matches(".envrc").count(), 1, "by {caller:?}: {back}");
        assert!(back.contains("quarantine"), "by {caller:?}: {back}");
        assert!(!back.contains("changes in"), "what nobody has changed is as it was, by {caller:?}: {back}");
    }
}

/// A stopped PID 1 does not watch its lifeline; the kernel does it instead.
#[test]
fn a_stopped_sandbox_ends_with_its_client() {
    for caller in callers("a stopped PID 1") {
        let place = Place::new(caller);
        let mut client = place.inside(&NO_FLAGS, &TREE).stdout(Stdio::piped()).spawn().unwrap();
        await_line(&mut client);
        let first: u32 = only_child(client.id()).parse().unwrap();
        traces::kill(first, Signal::STOP);
        let state = || {
            let status = fs::read_to_string(format!("/proc/{first}/status")).unwrap();
            status.lines().find_map(|line| line.strip_prefix("State:\t")).unwrap().to_owned()
        };
        let asked = Instant::now();
        while !state().starts_with('T') {
            assert!(asked.elapsed() < PATIENCE, "by {caller:?}: {}", state());
            thread::sleep(Duration::from_millis(1));
        }
        // The control: as long as the client lives, nothing ends.
        assert!(client.try_wait().unwrap().is_none(), "by {caller:?}");
        traces::kill(client.id(), Signal::KILL);
        client.wait().unwrap();
        traces::until_no_process_is_left(&place, PATIENCE);
    }
}

/// The control: what is looked for is there while a sandbox runs.
#[test]
fn a_sandbox_that_runs_is_seen() {
    for caller in callers("a running sandbox") {
        let place = Place::new(caller);
        let mut client = place.inside(&NO_FLAGS, &TREE).stdout(Stdio::piped()).spawn().unwrap();
        await_line(&mut client);
        let traces = traces::of(&place, &[client.id()]);
        assert!(traces.iter().filter(|trace| trace.starts_with("/proc/")).count() > 3, "{traces:#?}");
        assert!(traces.iter().any(|trace| trace.contains("/runs/")), "{traces:#?}");
        traces::kill(client.id(), Signal::KILL);
        client.wait().unwrap();
    }
}

/// Returns the process id that the client had.
fn started_and_ended(place: &Place, signal: Signal) -> u32 {
    let mut client = place.inside(&NO_FLAGS, &TREE).stdout(Stdio::piped()).spawn().unwrap();
    await_line(&mut client);
    traces::kill(client.id(), signal);
    client.wait().unwrap();
    client.id()
}

fn await_line(client: &mut std::process::Child) {
    let mut line = String::new();
    BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
}

/// Numbers between 0 and 1 (xorshift64, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from(u32::try_from(self.0 >> 32).expect("half of it")) / f64::from(u32::MAX)
    }
}
