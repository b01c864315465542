//! What an exec receives, and its terminal: isolated from other commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use crate::everywhere;
use crate::exec::{First, isolated};
use crate::machine::{Caller, Runner};
use crate::place::Place;

fn name(what: &str) -> String {
    format!("{what}{}", std::process::id())
}

/// A command that says `ready` in its first line, and what stands behind that.
fn waiting(mut command: Command) -> (Child, String) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let said = line.trim_end().strip_prefix("ready").unwrap_or_else(|| panic!("{line}"));
    (child, said.to_owned())
}

#[test]
fn no_user_of_the_host_reads_what_an_exec_is_given() {
    for (caller, runner) in isolated("arguments of execs") {
        let place = Place::on(caller, runner);
        let name = name("arguments");
        place.write("workspace/sandbox.toml", "[env]\nset = { OF_THE_FILE = \"filed-away\" }\n");
        let first = First::named(&place, &name);
        let script = "echo \"ready $TYPED $OF_THE_FILE\"; cat";
        let words = place.words("exec", &["-e", "TYPED=typed-in", &name], &["sh", "-c", script]);
        let (mut exec, said) = waiting(place.outside(&words));
        assert_eq!(said, " typed-in filed-away", "in {runner:?} by {caller:?}");
        // Somebody who is neither the caller nor root.
        let script = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'";
        let seen = Command::new("setpriv")
            .args(["--reuid=4242", "--regid=4242", "--clear-groups", "--", "sh", "-c", script])
            .output()
            .unwrap();
        let seen = String::from_utf8_lossy(&seen.stdout);
        // What was typed stands in the client's own arguments, as it was typed, and nowhere else.
        assert_eq!(seen.matches("typed-in").count(), 1, "in {runner:?} by {caller:?}: {seen}");
        assert!(!seen.contains("filed-away"), "in {runner:?} by {caller:?}: {seen}");
        drop(exec.stdin.take());
        assert!(exec.wait().unwrap().success(), "in {runner:?} by {caller:?}");
        first.end();
    }
}

#[test]
fn a_signal_for_the_client_is_one_for_the_command_of_its_exec() {
    for (caller, runner) in isolated("signals for execs") {
        let place = Place::on(caller, runner);
        let name = name("signals");
        let first = First::named(&place, &name);
        let script = "trap 'exit 3' TERM; sleep 1000 & echo ready; wait";
        let (mut exec, _) = waiting(place.outside(&place.words("exec", &[&name], &["sh", "-c", script])));
        let client = rustix::process::Pid::from_child(&exec);
        rustix::process::kill_process(client, rustix::process::Signal::TERM).unwrap();
        assert_eq!(exec.wait().unwrap().code(), Some(3), "in {runner:?} by {caller:?}");
        first.end();
    }
}

/// What is shown on the terminal of a command in the sandbox, while the first command writes to every terminal that it
/// has a name for.
fn shown(place: &Place, name: &str, words: &[String]) -> String {
    let script = "echo ready; read go; for t in /dev/pts/[0-9]*; do echo intruder >$t; done; echo done; cat";
    let (mut first, _) = waiting(place.inside(&["--quiet", "--name", name], &["sh", "-c", script]));
    let typed = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let on_terminal = ["timeout", "60", "script", "--quiet", "--return", "--command", &typed, "/dev/null"];
    let (mut second, _) = waiting(place.outside(&on_terminal));
    writeln!(first.stdin.as_mut().unwrap(), "go").unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "done\n");
    second.stdin.as_mut().unwrap().write_all(b"\x04").unwrap();
    let mut shown = String::new();
    second.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    second.wait().unwrap();
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    shown
}

#[test]
fn the_first_command_has_no_name_for_the_terminal_of_an_exec() {
    for (caller, runner) in isolated("terminals of execs") {
        let place = Place::on(caller, runner);
        let command = "stty -echo; test -t 0 && test -t 1 && echo ready; cat; echo again >/dev/stderr; echo here >/dev/tty";
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        if (caller, runner) == (Caller::Normal, Runner::Docker) {
            let container = format!("sandboxctl-{}", name("engines"));
            let engines = words(&["docker", "exec", "-it", &container, "sh", "-c", command]);
            let said = shown(&place, &name("engines"), &engines);
            assert!(said.contains("intruder"), "the control, by the engine's own way: {said}");
        }
        let exec = place.words("exec", &[name("terminal")], &["sh", "-c", command]);
        let exec: Vec<String> = exec.into_iter().map(|word| word.into_string().unwrap()).collect();
        let said = shown(&place, &name("terminal"), &exec);
        assert!(!said.contains("intruder"), "in {runner:?} by {caller:?}: {said}");
        // It is the terminal of the command, but by no file of the sandbox's.
        assert!(said.contains("here") && !said.contains("again"), "in {runner:?} by {caller:?}: {said}");
    }
}

#[test]
fn an_exec_has_no_name_for_the_terminal_of_the_first_command() {
    let intrude = "for t in /dev/pts/[0-9]*; do echo intruder >$t; done; echo done";
    for (caller, runner) in isolated("terminals of first commands") {
        let place = Place::on(caller, runner);
        let what = format!("in {runner:?} by {caller:?}");
        if (caller, runner) == (Caller::Normal, Runner::Docker) {
            let container = name("engines-own");
            let engine = |words: &[&str]| {
                let output = place.outside(&[&["docker"], words].concat()).output().unwrap();
                String::from_utf8_lossy(&output.stdout).into_owned()
            };
            engine(&["run", "-dit", "--name", &container, "--entrypoint", "sh", &crate::machine::image()]);
            assert!(engine(&["exec", &container, "sh", "-c", intrude]).contains("done"));
            let shown = engine(&["logs", &container]);
            engine(&["rm", "--force", &container]);
            assert!(shown.contains("intruder"), "the control, a terminal of the container's: {shown}");
        }
        let name = name("first");
        let command = "stty -echo; test -t 0 && test -t 1 && echo ready; cat; echo again >/dev/stderr; echo here >/dev/tty";
        let words = place.run(&["--quiet", "--name", &name], &["sh", "-c", command]);
        let typed: Vec<String> = words.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
        let on_terminal =
            ["timeout", "60", "script", "--quiet", "--return", "--command", &typed.join(" "), "/dev/null"];
        let (mut first, _) = waiting(place.outside(&on_terminal));
        let output = place.outside(&place.words("exec", &[&name], &["sh", "-c", intrude])).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{what}: {output:?}");
        first.stdin.as_mut().unwrap().write_all(b"\x04").unwrap();
        let mut shown = String::new();
        first.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
        assert!(first.wait().unwrap().success(), "{what}: {shown}");
        assert!(!shown.contains("intruder"), "{what}: {shown}");
        // It is a terminal like any other.
        assert!(shown.contains("again") && shown.contains("here"), "{what}: {shown}");
    }
}

#[test]
fn what_an_engine_sets_for_every_container_does_not_enter_an_exec() {
    for (caller, runner) in everywhere("settings of Podman") {
        // Root's are the machine's.
        if (caller, runner) != (Caller::Normal, Runner::Podman) {
            continue;
        }
        let place = Place::on(caller, runner);
        let settings = "[containers]\nenv = [\"FROM_SETTINGS=1\"]\n";
        place.write("home/.config/containers/containers.conf", settings);
        let name = name("settings");
        let first = First::named(&place, &name);
        let container = format!("sandboxctl-{name}");
        let engines = place.outside(&["podman", "exec", &container, "env"]).output().unwrap();
        let ours = place.outside(&place.words("exec", &[&name], &["env"])).output().unwrap();
        first.end();
        let said = String::from_utf8_lossy(&engines.stdout);
        assert!(said.contains("FROM_SETTINGS=1"), "the control: {engines:?}");
        let said = String::from_utf8_lossy(&ours.stdout);
        assert!(said.contains("PATH=") && !said.contains("FROM_SETTINGS"), "{ours:?}");
    }
}
