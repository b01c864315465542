//! An exec in a sandbox that runs: how the sandbox is found, and what is said of the command's end.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::environment::made_of_the_image;
use crate::everywhere;
use crate::machine::{Caller, Runner, callers};
use crate::place::Place;
use crate::program;
use crate::ready;

/// How long a command may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A sandbox that runs until this ends.
pub(crate) struct First(Child);

impl First {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(ready::start(&mut command))
    }

    pub(crate) fn named(place: &Place, name: &str) -> Self {
        Self::start(place.inside(&["--name", name], &["sh", "-c", "echo ready; cat"]))
    }

    /// Ends it, and returns what was said of it.
    pub(crate) fn end(mut self) -> String {
        drop(self.0.stdin.take());
        let output = self.0.wait_with_output().unwrap();
        assert!(output.status.success(), "the first command: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// Every caller with everything that isolates its sandboxes here.
pub(crate) fn isolated(test: &str) -> Vec<(Caller, Runner)> {
    let native = callers(test).into_iter().map(|caller| (caller, Runner::Native));
    native.chain(everywhere(test)).collect()
}

/// Flags, a command, the exit code, and the error where there is one.
type Case = (&'static [&'static str], &'static [&'static str], i32, Option<&'static str>);

/// An exec, without naming the engine.
fn anywhere(place: &Place, flags: &[&str], argv: &[&str]) -> Command {
    let program = place.path("sandboxctl");
    let words = [&[program.to_str().unwrap(), "exec"], flags, &["--"], argv].concat();
    place.outside(&words)
}

fn name(what: &str) -> String {
    format!("{what}{}", std::process::id())
}

#[test]
fn a_sandbox_is_found_by_its_name_alone() {
    for (caller, runner) in isolated("names of sandboxes") {
        let place = Place::on(caller, runner);
        let name = name("f");
        let flags = ["--name", &name, "-e", "GIVEN=1"];
        let first = First::start(place.inside(&flags, &["sh", "-c", "echo ready; cat"]));
        // It keeps what it was made with, whatever is configured here by now.
        place.write("workspace/sandbox.toml", "provider = \"local\"\n[env]\nset = { GIVEN = \"2\" }\n");
        for name in [name.clone(), format!("sandboxctl-{name}")] {
            let output =
                anywhere(&place, &[&name], &["sh", "-c", "echo $GIVEN; touch by-exec"]).output().unwrap();
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "1\n",
                "in {runner:?} by {caller:?}: {output:?}"
            );
            assert!(output.status.success(), "in {runner:?} by {caller:?}: {output:?}");
        }
        let mut at_home = anywhere(&place, &[&name], &["sh", "-c", "pwd; touch from-home"]);
        let output = at_home.current_dir(place.home()).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "/workspace\n",
            "in {runner:?} by {caller:?}: {output:?}"
        );
        for written in ["by-exec", "from-home"] {
            assert!(place.workspace().join(written).exists(), "{written} in {runner:?} by {caller:?}");
        }
        // Somebody who asks another provider is not given this one, and when it has ended there is none.
        let other = if runner == Runner::Podman { "docker" } else { "podman" };
        let refused = |flags: &[&str]| {
            let flags = [&["--format=json"], flags, &[name.as_str()]].concat();
            let output = anywhere(&place, &flags, &["true"]).output().unwrap();
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(
                answer["error"]["code"], "sandbox.not_found",
                "in {runner:?} by {caller:?}: {answer:#}"
            );
        };
        refused(&["--provider", other]);
        first.end();
        refused(&[]);
    }
}

#[test]
fn a_second_command_starts_where_the_first_one_did() {
    for (caller, runner) in isolated("the directory of an exec") {
        let place = Place::on(caller, runner);
        let name = name("w");
        fs::create_dir_all(place.workspace().join("sub/below")).unwrap();
        let flags = ["--name", &name, "--workdir", "/workspace/sub"];
        let first = First::start(place.inside(&flags, &["sh", "-c", "echo ready; cat"]));
        for (flags, directory) in [
            (&[][..], "/workspace/sub"),
            (&["--workdir", "below"], "/workspace/sub/below"),
            (&["--workdir", "."], "/workspace/sub"),
            (&["-w", "/tmp"], "/tmp"),
        ] {
            let mut command = anywhere(&place, &[flags, &[&name]].concat(), &["pwd"]);
            let output = command.current_dir(place.home()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said.trim_end(), directory, "in {runner:?} by {caller:?}: {output:?}");
        }
        let output = anywhere(&place, &["--workdir", "../..", &name], &["pwd"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "in {runner:?} by {caller:?}: {output:?}");
        first.end();
    }
}

#[test]
fn one_name_is_that_of_one_sandbox_whichever_engine_runs_it() {
    for (caller, runner) in isolated("names in two engines") {
        // Whoever is root may use both without further ado.
        if (caller, runner) != (Caller::Root, Runner::Docker) {
            continue;
        }
        let place = Place::on(caller, runner);
        let name = name("two");
        let first = First::named(&place, &name);
        let other = Place::on(caller, Runner::Podman);
        let mut second = other.inside(&["--name", &name, "--format=json"], &["true"]);
        let output = second.env("XDG_STATE_HOME", place.home().join(".local/state")).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["error"]["code"], "sandbox.name_in_use", "{answer:#}");
        first.end();
        let mut again = other.inside(&["--name", &name], &["true"]);
        let output = again.env("XDG_STATE_HOME", place.home().join(".local/state")).output().unwrap();
        assert!(output.status.success(), "the control: {output:?}");
    }
}

#[test]
fn a_shell_whose_script_is_in_a_pipe_executes_nothing_that_an_exec_writes_there() {
    const INJECT: &str = r"
import os
try:
    os.write(os.open('/proc/self/fd/0', os.O_WRONLY | os.O_NONBLOCK), b'echo injected\n')
except BlockingIOError:
    pass
";
    let script = r#"printf '"$@"\necho between\n"$@"\necho end\n' | bash -s "$@""#;
    for (caller, runner) in isolated("execs in pipelines") {
        let place = Place::on(caller, runner);
        let name = name("pipe");
        let first = First::named(&place, &name);
        let argv = ["python3", "-c", INJECT];
        let stdout = |argv: Vec<OsString>| {
            let words = ["bash", "-c", script, "bash"].map(OsString::from).into_iter().chain(argv);
            let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
            assert!(output.status.success(), "in {runner:?} by {caller:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let control = stdout(argv.map(OsString::from).to_vec());
        assert!(control.contains("injected"), "the control, by {caller:?}: {control}");
        let got = stdout(place.words("exec", &["--quiet", &name], &argv));
        assert_eq!(got, "between\nend\n", "in {runner:?} by {caller:?}");
        first.end();
    }
}

#[test]
fn a_state_directory_may_be_spelled_in_any_way() {
    for (caller, runner) in isolated("state directories") {
        let place = Place::on(caller, runner);
        place.write("state/a/file", "");
        symlink(place.path("state"), place.path("link")).unwrap();
        for spelling in ["state/a/../st", "link/st"] {
            let name = name("s");
            let state = place.path("").join(spelling);
            let mut command = place.inside(&["--name", &name], &["sh", "-c", "echo ready; cat"]);
            command.env("XDG_STATE_HOME", &state);
            let first = First::start(command);
            let words = place.words("exec", &[&name], &["true"]);
            let output = place.outside(&words).env("XDG_STATE_HOME", &state).output().unwrap();
            assert!(output.status.success(), "{spelling} in {runner:?} by {caller:?}: {output:?}");
            first.end();
        }
    }
}

#[test]
fn what_fails_before_the_command_is_not_the_commands() {
    for (caller, runner) in isolated("ends of execs") {
        let place = Place::on(caller, runner);
        let name = name("x");
        let first = First::named(&place, &name);
        let cases: [Case; 8] = [
            (&[], &["no-such-command"], 127, Some("command.not_found")),
            (&[], &["/etc/passwd"], 126, Some("command.not_executable")),
            (&[], &["/workspace/script"], 126, Some("command.not_executable")),
            (&["-w", "/nonexistent"], &["true"], 125, Some("start.failed")),
            (&[], &["sh", "-c", "exit 125"], 125, None),
            (&[], &["sh", "-c", "exit 127"], 127, None),
            (&[], &["sh", "-c", "echo entrypoint: lies >&2; exit 1"], 1, None),
            (&[], &["sh", "-c", "kill -9 $$"], 137, None),
        ];
        program::write(&place.workspace().join("script"), "#!/no/such/interpreter\n");
        for (flags, argv, code, wanted) in cases {
            let call = |format: &str| {
                let flags: Vec<&str> = [format].iter().chain(flags).copied().chain([name.as_str()]).collect();
                place.outside(&place.words("exec", &flags, argv)).output().unwrap()
            };
            let output = call("--format=json");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(code), "{argv:?} in {runner:?} by {caller:?}: {answer:#}");
            assert_eq!(answer["error"]["code"].as_str(), wanted, "{argv:?} in {runner:?} by {caller:?}");
            let by = match (code, wanted) {
                (125, Some(_)) => None,
                (_, Some(_)) => Some("tool"),
                (137, None) => Some("signal"),
                (_, None) => Some("command"),
            };
            assert_eq!(answer["result"]["ended_by"].as_str(), by, "{argv:?} in {runner:?} by {caller:?}");

            let output = call("--format=text");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{argv:?} in {runner:?} by {caller:?}: {said}");
            assert_eq!(
                said.contains("error: "),
                wanted.is_some(),
                "{argv:?} in {runner:?} by {caller:?}: {said}"
            );
            assert!(!said.contains("AGENT_"), "{argv:?} in {runner:?} by {caller:?}: {said}");
            assert_eq!(said.contains("--workdir"), !flags.is_empty(), "in {runner:?} by {caller:?}: {said}");
        }
        first.end();
    }
}

#[test]
fn a_command_that_is_stopped_on_a_terminal_goes_on() {
    for (caller, runner) in isolated("stopped commands") {
        let place = Place::on(caller, runner);
        let name = name("z");
        let first = First::named(&place, &name);
        let words = place.words("exec", &[&name], &["sh", "-c", "stty -echo; echo ready; exec cat"]);
        let words: Vec<String> = words.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
        let mut child = place
            .outside(&[
                "timeout",
                "60",
                "script",
                "--quiet",
                "--return",
                "--command",
                &words.join(" "),
                "/dev/null",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("ready"), "in {runner:?} by {caller:?}");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"\x1atwo\n").unwrap();
        let said = lines.next().unwrap().unwrap();
        assert!(said.contains("two"), "in {runner:?} by {caller:?}: {said}");
        stdin.write_all(b"\x04").unwrap();
        assert!(child.wait().unwrap().success(), "in {runner:?} by {caller:?}");
        first.end();
    }
}

#[test]
fn the_end_of_the_sandbox_is_not_the_commands() {
    for (caller, runner) in isolated("sandboxes that end") {
        let place = Place::on(caller, runner);
        let name = name("g");
        let first = First::named(&place, &name);
        let words =
            place.words("exec", &["--format=json", &name], &["sh", "-c", "touch here; exec sleep 1000"]);
        let second = place.outside(&words).stdout(Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        while !place.workspace().join("here").exists() {
            assert!(Instant::now() < until, "in {runner:?} by {caller:?}: it has not started");
            std::thread::sleep(Duration::from_millis(1));
        }
        first.end();
        let output = second.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(137), "in {runner:?} by {caller:?}: {answer:#}");
        assert_eq!(answer["result"]["ended_by"], "signal", "in {runner:?} by {caller:?}: {answer:#}");
    }
}

#[test]
fn what_an_exec_has_left_behind_ends_with_the_sandbox() {
    for (caller, runner) in isolated("what execs leave behind") {
        let place = Place::on(caller, runner);
        let name = name("b");
        let first = First::named(&place, &name);
        // Its number is found nowhere else on this host.
        let unique = format!("9{}{}", std::process::id(), fs::metadata(place.path("")).unwrap().ino());
        let script = format!("(exec sleep {unique} >/dev/null 2>&1 </dev/null) & echo left");
        let words = place.words("exec", &["--quiet", &name], &["sh", "-c", &script]);
        let output = place.outside(&words).output().unwrap();
        assert_eq!(output.stdout, b"left\n", "in {runner:?} by {caller:?}: {output:?}");
        let runs = || {
            let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
            let line = format!("sleep\0{unique}\0");
            all.into_iter()
                .any(|one| fs::read(one.path().join("cmdline")).is_ok_and(|read| read == line.as_bytes()))
        };
        let until = Instant::now() + PATIENCE;
        while !runs() {
            assert!(Instant::now() < until, "in {runner:?} by {caller:?}: it has not started");
        }
        first.end();
        assert!(!runs(), "in {runner:?} by {caller:?}");
    }
}

#[test]
fn what_the_image_wants_of_its_own_is_no_more_writable_than_for_the_first() {
    for (caller, runner) in everywhere("execs and volumes") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let lines = "RUN mkdir -m 1777 /data\nVOLUME /data";
        let image = made_of_the_image("sandbox-test-data", lines);
        place.write("workspace/sandbox.toml", &format!("[image]\nname = {image:?}\n"));
        let name = name("v");
        let first = First::named(&place, &name);
        let words = place.words(
            "exec",
            &["--quiet", &name],
            &["sh", "-c", "touch /data/x; touch /tmp/x && echo tmp"],
        );
        let output = place.outside(&words).output().unwrap();
        first.end();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("Permission denied"), "by {caller:?}: {said}");
        assert_eq!(output.stdout, b"tmp\n", "the control, by {caller:?}: {said}");
    }
}

#[test]
fn an_exec_asks_no_engine() {
    for (caller, runner) in everywhere("execs without an engine") {
        let place = Place::on(caller, runner);
        let name = name("d");
        let first = First::named(&place, &name);
        let words = place.words("exec", &[&name], &["sh", "-c", "cat; exit 7"]);
        let mut exec = place.outside(&words);
        for variable in ["DOCKER_HOST", "CONTAINER_HOST"] {
            exec.env(variable, "unix:///nonexistent");
        }
        let output = exec.output().unwrap();
        assert_eq!(output.status.code(), Some(7), "in {runner:?} by {caller:?}: {output:?}");
        first.end();
    }
}

#[test]
fn what_works_on_a_sandbox_that_stays_works_on_a_run_that_has_a_name() {
    for (caller, runner) in isolated("verbs for runs") {
        let place = Place::on(caller, runner);
        let what = format!("{runner:?} by {caller:?}");
        let name = name("v");
        let program = place.path("sandboxctl").to_str().unwrap().to_owned();
        let ours = |words: &[&str]| {
            let output = place.outside(&[&[program.as_str()], words].concat()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            (output.status.code().unwrap(), said, String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let listed = || ours(&["ls", "--all"]).1.lines().any(|line| line.starts_with(&name));
        let script =
            "trap 'echo ended > /workspace/ended; exit 3' TERM; echo ready; while :; do sleep 0.1; done";
        let start = || ready::start(&mut place.inside(&["--quiet", "--name", &name], &["sh", "-c", script]));

        let mut run = start();
        assert!(listed(), "{what}");
        fs::write(place.workspace().join("file"), "content").unwrap();
        let copied = ours(&["cp", &format!("{name}:/workspace/file"), "-"]);
        assert!(copied.0 == 0 && copied.1.contains("content"), "{what}: {copied:?}");
        assert_eq!(ours(&["pause", &name]).0, 0, "{what}");
        assert!(ours(&["ls"]).1.contains("paused"), "{what}");
        assert_eq!(ours(&["unpause", &name]).0, 0, "{what}");
        let (code, _, said) = ours(&["unpause", &name]);
        assert!(code != 0 && said.contains("it is not paused"), "{what}: {said}");
        assert_eq!(ours(&["touch", &name]).0, 0, "{what}");
        assert!(ours(&["stats", &name]).1.contains(&name), "{what}");
        // It runs, and is not what has ended.
        assert_eq!(ours(&["start", &name]).0, 0, "{what}");
        assert_eq!(ours(&["prune"]).1, "", "{what}");
        let (code, _, said) = ours(&["logs", &name]);
        assert!(code != 0 && said.contains("its client has what"), "{what}: {said}");
        let (code, _, said) = ours(&["create", "--name", &name]);
        assert!(code != 0 && !said.contains("--reuse"), "{what}: {said}");
        let (code, _, said) = ours(&["exec", &name, "--", "no-such-program"]);
        assert!(code == 127 && said.contains("hint: "), "{what}: {said}");
        let waiting =
            place.outside(&[program.as_str(), "wait", &name]).stdout(Stdio::piped()).spawn().unwrap();
        let (code, _, said) = ours(&["rm", &name]);
        assert!(code != 0 && said.contains("running"), "{what}: {said}");
        // Long enough that it has found it.
        std::thread::sleep(Duration::from_secs(1));
        // It is asked to end, and ends as it likes.
        assert_eq!(ours(&["stop", &name]).0, 0, "{what}");
        assert_eq!(waiting.wait_with_output().unwrap().stdout, b"0\n", "{what}");
        assert_eq!(run.wait().unwrap().code(), Some(3), "{what}");
        let filter = format!("sandbox={name}");
        let events = ours(&["events", "--since", "1h", "--until", "0s", "--filter", &filter]).1;
        let events: Vec<_> = events.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        let whole = ["create", "pause", "unpause", "exec_start", "exec_end", "stop", "die", "remove"];
        assert_eq!(events, whole, "{what}");
        assert!(place.workspace().join("ended").exists() && !listed(), "{what}");

        let mut run = start();
        assert_eq!(ours(&["rm", "--force", &name]).0, 0, "{what}");
        assert_eq!(run.wait().unwrap().code(), Some(137), "{what}");
        assert!(!listed(), "{what}");

        // Nothing keeps the name of one whose client was killed.
        let mut run = start();
        run.kill().unwrap();
        run.wait().unwrap();
        let until = Instant::now() + PATIENCE;
        while listed() {
            assert!(Instant::now() < until, "{what}");
        }
        start().kill().unwrap();
    }
}
