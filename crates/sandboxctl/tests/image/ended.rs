//! Builds that somebody ends: nothing of them goes on, and nothing stays.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::machine::{Feature, is_there};
use crate::project::{Project, ask};

/// How long what must happen soon may take.
const SOON: Duration = Duration::from_secs(30);

/// A build that sleeps, and the words by which its processes are known.
struct Sleeping {
    project: Project,
    child: Child,
    step: String,
    before: BTreeSet<String>,
}

impl Sleeping {
    fn start(seconds: u32) -> Self {
        let before = everything();
        // A number that no other sleeps for.
        let step = format!("sleep {seconds}.{}", std::process::id());
        let project = Project::with_dockerfile("image-test-ended:1", &format!("RUN {step}\n"));
        let mut child = project
            .command(&["--platform", "linux/amd64", "--no-cache"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut heard = String::new();
        for line in lines.map_while(Result::ok) {
            heard.push_str(&line);
            if line.contains(&format!("RUN {step}")) {
                break;
            }
        }
        assert!(heard.contains(&step), "{heard}");
        // Our end of the pipe is closed from here on, as when a caller dies with its terminal.
        let sleeping = Self { project, child, step, before };
        sleeping.wait_until("the step runs", |words| words.iter().any(|line| line.ends_with(&sleeping.step)));
        sleeping
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The processes of the machine, waited for until they are as they should be.
    #[track_caller]
    fn wait_until(&self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        let started = Instant::now();
        loop {
            let processes = processes();
            if is_so(&processes) {
                return;
            }
            let own: Vec<&String> = processes.iter().filter(|line| self.is_ours(line)).collect();
            assert!(started.elapsed() < SOON, "{what}: {own:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_ours(&self, line: &str) -> bool {
        line.contains(&self.step) || line.contains(self.project.path().to_str().unwrap())
    }

    #[track_caller]
    fn leaves_nothing(&self) {
        self.wait_until("something goes on", |words| !words.iter().any(|line| self.is_ours(line)));
        let left: Vec<_> = fs::read_dir(self.project.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().starts_with("sandboxctl-build-"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        let new: Vec<_> = everything().difference(&self.before).cloned().collect();
        assert!(new.is_empty(), "{new:?}");
    }
}

#[test]
fn a_killed_build_leaves_nothing() {
    if !is_there(Feature::Docker, "a killed build") {
        return;
    }
    let mut sleeping = Sleeping::start(301);
    sleeping.send(Signal::KILL);
    assert_eq!(sleeping.child.wait().unwrap().signal(), Some(9));
    sleeping.leaves_nothing();
}

#[test]
fn an_interrupted_build_ends_at_once_and_leaves_nothing() {
    if !is_there(Feature::Docker, "an interrupted build") {
        return;
    }
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut sleeping = Sleeping::start(302);
        sleeping.send(signal);
        assert_eq!(sleeping.child.wait().unwrap().code(), Some(code));
        sleeping.leaves_nothing();
    }
}

/// The containers, networks and volumes of the engine that builds could have made. Others come and go meanwhile.
fn everything() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (kind, words) in [
        ("container", &["ps", "--all", "--format", "{{.Names}}"][..]),
        ("network", &["network", "ls", "--format", "{{.Name}}"]),
        ("volume", &["volume", "ls", "--format", "{{.Name}}"]),
    ] {
        let names = ask(words);
        all.extend(names.lines().filter(|name| name.contains("build")).map(|name| format!("{kind} {name}")));
    }
    all
}

/// The command line of every process.
fn processes() -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|words| String::from_utf8_lossy(&words).replace('\0', " ").trim().to_owned())
        .collect()
}
