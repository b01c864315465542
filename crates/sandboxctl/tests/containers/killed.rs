//! Clients that are killed: whatever they leave, their engine or the next command clears up, and never what is somebody
//! else's.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::environment::engine;
use crate::everywhere;
use crate::machine::Runner;
use crate::place::Place;

/// How long an engine may take to remove what nobody wants any more.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn a_client_that_is_killed_leaves_no_container() {
    for (caller, runner) in everywhere("killed clients") {
        let place = Place::on(caller, runner);
        let before = volumes(&place, runner);
        // From before the engine is asked until after the agent has started.
        for step in 0..8 {
            let mut child = place
                .inside(&["--quiet"], &["sleep", "1000"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(step * 60));
            kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
            child.wait().unwrap();
        }
        // The command that the client has started does its work to the end, and then there is nobody at the rendezvous. What one call of
        // Podman's made and no other one has started does nothing, and is the next command's to remove.
        let inert = |left: &str| {
            let state = |id| engine(&place, runner, &["inspect", "--format", "{{.State.Status}}", id]);
            runner == Runner::Podman && left.split(' ').all(|id| state(id).trim() == "created")
        };
        let gone = || {
            let left = ours(&place, runner);
            left.is_empty() || inert(&left)
        };
        wait_while(|| at_work(&place) || !gone());
        let states = || engine(&place, runner, &["ps", "--all"]);
        assert!(gone(), "in {runner:?} by {caller:?}:\n{}", states());
        assert!(place.inside(&["--quiet"], &["true"]).status().unwrap().success());
        assert_eq!(ours(&place, runner), "", "in {runner:?} by {caller:?}:\n{}", states());
        assert_eq!(volumes(&place, runner), before, "in {runner:?} by {caller:?}");
        for kept in ["runs", "rendezvous"] {
            let directory = place.home().join(".local/state/sandboxctl").join(kept);
            let left: Vec<_> =
                fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(left.is_empty(), "{kept} in {runner:?} by {caller:?}: {left:?}");
        }
    }
}

#[test]
fn what_was_made_and_never_started_is_removed_by_the_next_command() {
    for (caller, runner) in everywhere("containers that never started") {
        let place = Place::on(caller, runner);
        let mut child = place
            .inside(&["--quiet"], &["sleep", "1000"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // As soon as the run has its record, it and the engine's command are killed: this may be before the container is
        // made, or before it is started.
        let runs = place.home().join(".local/state/sandboxctl/runs");
        let record = loop {
            assert!(child.try_wait().unwrap().is_none(), "in {runner:?} by {caller:?}");
            let mut names = fs::read_dir(&runs)
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            if let Some(record) = names.find(|name| name.len() == "0123456789abcdef.json".len()) {
                break record;
            }
        };
        let client = Pid::from_child(&child);
        let commands =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", client.as_raw_nonzero())).unwrap();
        kill_process(client, Signal::KILL).unwrap();
        for command in commands.split_whitespace() {
            // One that has ended by itself is gone.
            let _ = kill_process(Pid::from_raw(command.parse().unwrap()).unwrap(), Signal::KILL);
        }
        child.wait().unwrap();
        // A command that the client has started since it was looked at does its work to the end.
        wait_while(|| at_work(&place));
        let id = record.trim_end_matches(".json");
        // What such a client may have left, and what is somebody else's and only looks like it.
        let image = crate::machine::image();
        let make = |name: &str, id: &str, owner: u32, state: &Path| {
            let name = format!("--name={name}");
            let [id, owner] = [format!("--label=sandbox.id={id}"), format!("--label=sandbox.owner={owner}")];
            let state = format!("--label=sandbox.state={}", sha256(state));
            let words =
                ["create", &name, "--label=sandbox.managed=true", &id, &owner, &state, &image, "true"];
            engine(&place, runner, &words).trim().to_owned()
        };
        let own = fs::metadata(place.home()).unwrap().uid();
        let (state, other) = (place.home().join(".local/state/sandboxctl"), place.home().join("other"));
        // As it is called to look into an image.
        let name = format!("sandboxctl_{id}");
        let left = make(&name, id, own, &state);
        let others = [
            make(&format!("{name}-1"), "0123456789abcdef", own, &state),
            make(&format!("{name}-2"), id, own + 1, &state),
            make(&format!("{name}-3"), id, own, &other),
            // An image brings labels to each of its containers.
            make(&format!("{name}-4"), id, own, &state),
        ];
        for container in others.iter().chain([&left]) {
            assert!(exists(&place, runner, container), "the control: {container}");
        }

        assert!(place.inside(&["--quiet"], &["true"]).status().unwrap().success());
        assert!(!exists(&place, runner, &left), "in {runner:?} by {caller:?}");
        for container in &others {
            assert!(
                exists(&place, runner, container),
                "in {runner:?} by {caller:?}: somebody else's is gone"
            );
            engine(&place, runner, &["rm", container]);
        }
    }
}

#[test]
fn a_container_whose_pid_1_is_stopped_is_removed_by_the_next_command() {
    for (caller, runner) in everywhere("containers that are stopped from the host") {
        let place = Place::on(caller, runner);
        let mut child = place
            .inside(&["--quiet"], &["sh", "-c", "echo ready; exec sleep 1000"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        let look = ["inspect", "--format", "{{.Id}} {{.State.Pid}}", &ours(&place, runner)];
        let seen = engine(&place, runner, &look);
        let (container, first) = seen.trim().split_once(' ').unwrap();
        let first = Pid::from_raw(first.parse().unwrap()).unwrap();
        kill_process(first, Signal::STOP).unwrap();
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        // The control: it does not see that its client is gone, and so nobody ends it.
        let until = Instant::now() + Duration::from_secs(1);
        wait_while(|| Instant::now() < until);
        assert!(exists(&place, runner, container), "in {runner:?} by {caller:?}");

        assert!(place.inside(&["--quiet"], &["true"]).status().unwrap().success());
        assert!(!exists(&place, runner, container), "in {runner:?} by {caller:?}");
        for kept in ["runs", "rendezvous"] {
            let directory = place.home().join(".local/state/sandboxctl").join(kept);
            let left = fs::read_dir(&directory).unwrap().count();
            assert_eq!(left, 0, "{kept} in {runner:?} by {caller:?}");
        }
    }
}

#[test]
fn what_an_agent_has_made_is_quarantined_by_another_provider_too() {
    for (caller, runner) in everywhere("hooks of killed runs") {
        let place = Place::on(caller, runner);
        let script = "mkdir -p sub/.git/hooks sub/.git/objects sub/.git/refs && echo 'ref: refs/heads/main' > sub/.git/HEAD
            echo evil > sub/.git/hooks/pre-commit && echo made && exec sleep 1000";
        let mut child = place
            .inside(&["--quiet"], &["sh", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut made = [0; 5];
        child.stdout.as_mut().unwrap().read_exact(&mut made).unwrap();
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        let hook = place.workspace().join("sub/.git/hooks/pre-commit");
        assert!(hook.exists(), "the control");
        let mut words = place.run(&["--quiet", "--provider", "native"], &["true"]);
        // The last provider that is named is the one.
        words.drain(2..4);
        assert!(place.outside(&words).status().unwrap().success());
        assert!(!hook.exists(), "in {runner:?} by {caller:?}");
        // What is there later is somebody else's.
        place.write("workspace/sub/.git/hooks/pre-commit", "my own");
        assert!(place.outside(&words).status().unwrap().success());
        assert!(hook.exists(), "in {runner:?} by {caller:?}");
    }
}

fn sha256(path: &Path) -> String {
    let output = Command::new("sh").args(["-c", "printf %s \"$0\" | sha256sum"]).arg(path).output().unwrap();
    String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap().to_owned()
}

fn exists(place: &Place, runner: Runner, container: &str) -> bool {
    engine(place, runner, &["inspect", "--format", "{{.Id}}", container]).trim() == container
}

/// Waits while something is so. What ought to be so then is for the caller to see.
pub(crate) fn wait_while(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while is_so() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a command of an engine's still has to do with this place.
fn at_work(place: &Place) -> bool {
    let here = place.home().display().to_string();
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    processes.into_iter().any(|arguments| String::from_utf8_lossy(&arguments).contains(&here))
}

/// The containers that run in this place: their directories lie in it.
pub(crate) fn ours(place: &Place, runner: Runner) -> String {
    let all = engine(place, runner, &["ps", "--all", "--quiet", "--filter", "label=sandbox.managed=true"]);
    let here = place.home().display().to_string();
    let found = all.lines().filter(|id| engine(place, runner, &["inspect", id]).contains(&here));
    found.collect::<Vec<_>>().join(" ")
}

/// The volumes that nobody uses: those of other tests' containers come and go.
fn volumes(place: &Place, runner: Runner) -> String {
    engine(place, runner, &["volume", "ls", "--quiet", "--filter", "dangling=true"])
}
