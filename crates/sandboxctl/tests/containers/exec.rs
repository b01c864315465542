//! An exec in a sandbox that runs: how the sandbox is found, and what is said of the command's end.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::answers::error;
use crate::environment::made_of_the_image;
use crate::everywhere;
use crate::machine::{Caller, Runner};
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
    for (caller, runner) in everywhere("names of sandboxes") {
        let place = Place::on(caller, runner);
        let name = name("f");
        let first = First::named(&place, &name);
        // Neither the provider of this project nor what may be shared of this directory matters.
        place.write("workspace/sandbox.toml", "provider = \"native\"\n[env]\nset = { GIVEN = \"1\" }\n");
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
        // Somebody who asks another engine is not given this one.
        let other = if runner == Runner::Podman { "docker" } else { "podman" };
        let output = anywhere(&place, &["--provider", other, &name], &["true"]).output().unwrap();
        assert!(
            [69, 125].contains(&output.status.code().unwrap()),
            "in {runner:?} by {caller:?}: {output:?}"
        );
        first.end();

        let output = anywhere(&place, &["--format=json", &name], &["true"]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["error"]["code"], "sandbox.not_found", "{answer:#}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("docker") && message.contains("podman"), "{message}");
    }
}

#[test]
fn a_second_command_starts_where_the_first_one_did() {
    for (caller, runner) in everywhere("the directory of an exec") {
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
fn sandboxes_of_one_name_are_distinguished_by_the_provider() {
    for (caller, runner) in everywhere("names in two engines") {
        // Whoever is root may use both without further ado.
        if (caller, runner) != (Caller::Root, Runner::Docker) {
            continue;
        }
        let place = Place::on(caller, runner);
        let name = name("two");
        let other = Place::on(caller, Runner::Podman);
        let second = |place: &Place, flags: &[&str]| {
            let mut command = anywhere(place, flags, &["true"]);
            command.env("XDG_STATE_HOME", place.home().join("state"));
            command
        };
        let first = |of: &Place| {
            let mut command = of.inside(&["--name", &name], &["sh", "-c", "echo ready; cat"]);
            command.env("XDG_STATE_HOME", place.home().join("state"));
            First::start(command)
        };
        let both = [first(&place), first(&other)];
        let output = second(&place, &[&name]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(said.contains("docker and podman") && said.contains("--provider"), "{said}");
        for provider in ["docker", "podman"] {
            let output = second(&place, &["--provider", provider, &name]).output().unwrap();
            assert!(output.status.success(), "{provider}: {output:?}");
        }
        for first in both {
            drop(first.end());
        }
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
    for (caller, runner) in everywhere("execs in pipelines") {
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
    for (caller, runner) in everywhere("state directories") {
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
    for (caller, runner) in everywhere("ends of execs") {
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
fn nobody_inside_learns_what_the_client_believes() {
    for (caller, runner) in everywhere("the line to the client") {
        let place = Place::on(caller, runner);
        let name = name("l");
        let first = First::named(&place, &name);
        // The socket has a name that everybody may read; the word behind it stands nowhere.
        let script = "ls /sandboxctl-*; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; \
                      ls -l /proc/self/fd";
        let output = place.outside(&place.words("exec", &[&name], &["sh", "-c", script])).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let socket = said.lines().find(|line| line.starts_with("exec-"));
        let socket = socket.unwrap_or_else(|| panic!("the control, in {runner:?} by {caller:?}: {output:?}"));
        assert!(
            !said.contains(&format!("{socket}:")) && !said.contains("SANDBOX_CLIENT"),
            "in {runner:?} by {caller:?}: {said}"
        );
        assert!(!said.contains("socket:"), "in {runner:?} by {caller:?}: {said}");
        // And the socket goes with the command.
        let words = place.words("exec", &[&name], &["sh", "-c", "ls /sandboxctl-*"]);
        let output = place.outside(&words).output().unwrap();
        let sockets = String::from_utf8_lossy(&output.stdout).matches("exec-").count();
        assert_eq!(sockets, 1, "in {runner:?} by {caller:?}: {output:?}");
        first.end();
    }
}

#[test]
fn a_command_that_is_stopped_on_a_terminal_goes_on() {
    for (caller, runner) in everywhere("stopped commands") {
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
    for (caller, runner) in everywhere("sandboxes that end") {
        let place = Place::on(caller, runner);
        let name = name("g");
        let first = First::named(&place, &name);
        let words =
            place.words("exec", &["--format=json", &name], &["sh", "-c", "touch here; exec sleep 1000"]);
        let second = place.outside(&words).stdout(Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        while !place.workspace().join("here").exists() {
            assert!(Instant::now() < until, "in {runner:?} by {caller:?}: it has not started");
            std::thread::yield_now();
        }
        first.end();
        let output = second.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(137), "in {runner:?} by {caller:?}: {answer:#}");
        assert_eq!(answer["result"]["ended_by"], "signal", "in {runner:?} by {caller:?}: {answer:#}");
    }
}

#[test]
fn a_command_that_kills_our_program_has_not_ended_by_that() {
    for (caller, runner) in everywhere("execs that kill") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let name = name("k");
        let first = First::named(&place, &name);
        let words = place.words(
            "exec",
            &[&name],
            &["sh", "-c", "exec >/dev/null 2>&1 </dev/null; kill -9 $PPID; exec sleep 1000"],
        );
        let output = place.outside(&words).output().unwrap();
        first.end();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "by {caller:?}: {said}");
        assert!(said.contains("may still run"), "by {caller:?}: {said}");
    }
}

#[test]
fn what_an_exec_has_left_behind_ends_with_the_sandbox() {
    for (caller, runner) in everywhere("what execs leave behind") {
        let place = Place::on(caller, runner);
        let name = name("b");
        let first = First::named(&place, &name);
        let script = "(exec sleep 1000 >/dev/null 2>&1 </dev/null) & echo left";
        let words = place.words("exec", &["--quiet", &name], &["sh", "-c", script]);
        let output = place.outside(&words).output().unwrap();
        assert_eq!(output.stdout, b"left\n", "in {runner:?} by {caller:?}: {output:?}");
        first.end();
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
fn an_engine_that_is_gone_is_not_the_end_of_the_command() {
    for (caller, runner) in everywhere("engines that go") {
        // Whose the engine is, shows who serves its socket: here that is whoever runs the tests.
        if (caller, runner) != (Caller::Root, Runner::Docker) {
            continue;
        }
        let place = Place::on(caller, runner);
        let name = name("d");
        let first = First::named(&place, &name);
        let relay = SocketRelay::open(&place);
        let words = place.words("exec", &[&name], &["sh", "-c", "echo ready; cat; exit 7"]);
        let mut second = place
            .outside(&words)
            .env("DOCKER_HOST", relay.address())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(second.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the control");
        relay.close();
        // What the command says and how it ends does not come by way of the engine.
        writeln!(second.stdin.as_mut().unwrap(), "more").unwrap();
        drop(second.stdin.take());
        let output = second.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"more\n"[..], Some(7)), "{said}");
        first.end();

        // One that does not start the command at all says so in words of its own.
        let first = First::named(&place, &name);
        let container = format!("sandboxctl-{name}");
        assert!(place.command(&["docker", "pause", &container]).output().unwrap().status.success());
        let code = error(&mut place.outside(&place.words("exec", &["--format=json", &name], &["true"])));
        assert!(place.command(&["docker", "unpause", &container]).output().unwrap().status.success());
        assert_eq!(code, "engine.failed");
        first.end();
    }
}

/// A socket that leads to Docker's, until it is closed.
struct SocketRelay {
    path: std::path::PathBuf,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl SocketRelay {
    fn open(place: &Place) -> Self {
        let path = place.path("relay.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let open = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&open);
        std::thread::spawn(move || {
            for caller in listener.incoming() {
                let (caller, engine) =
                    (caller.unwrap(), UnixStream::connect("/var/run/docker.sock").unwrap());
                for stream in [&caller, &engine] {
                    all.lock().unwrap().push(stream.try_clone().unwrap());
                }
                let (back, forth) = (caller.try_clone().unwrap(), engine.try_clone().unwrap());
                std::thread::spawn(move || pass(caller, forth));
                std::thread::spawn(move || pass(engine, back));
            }
        });
        Self { path, open }
    }

    fn address(&self) -> String {
        format!("unix://{}", self.path.display())
    }

    fn close(&self) {
        fs::remove_file(&self.path).unwrap();
        for stream in self.open.lock().unwrap().iter() {
            // One that has ended already is closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Passes on what comes, and its end.
fn pass(mut from: UnixStream, mut to: UnixStream) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // The other side may have gone before.
    let _ = to.shutdown(Shutdown::Write);
}
