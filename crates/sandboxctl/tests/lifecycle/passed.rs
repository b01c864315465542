//! Descriptors that the caller passes by their numbers, and those that nobody named.

use std::ffi::OsString;
use std::process::Output;

use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

/// Every caller with everybody who can run sandboxes of theirs here.
fn everywhere(test: &str) -> Vec<(Caller, Runner)> {
    let all = callers(test).into_iter();
    all.flat_map(|caller| runners(caller, test).into_iter().map(move |runner| (caller, runner))).collect()
}

/// Runs a script of the caller's by `interpreter`, whose arguments are a command in a sandbox that gets these descriptors.
fn by(place: &Place, interpreter: &str, script: &str, numbers: &[u32], agent: &[&str]) -> Output {
    let flags = numbers.iter().map(|number| format!("--pass-fd={number}"));
    let flags: Vec<_> = ["--quiet".to_owned()].into_iter().chain(flags).collect();
    let agent: Vec<OsString> = agent.iter().map(Into::into).collect();
    let agent: Vec<_> = agent.iter().collect();
    let flags: Vec<OsString> = flags.iter().map(Into::into).collect();
    let run = place.run(&flags, &agent);
    let start = [interpreter, "-c", script].map(OsString::from).into_iter();
    // A shell takes the first for its own name.
    let name = (interpreter == "bash").then(|| "bash".into());
    place.outside(&start.chain(name).chain(run).collect::<Vec<_>>()).output().unwrap()
}

fn said(output: &Output) -> &str {
    assert!(output.status.success(), "{output:?}");
    std::str::from_utf8(&output.stdout).unwrap()
}

#[test]
fn a_file_is_read_and_written_where_it_stands() {
    for (caller, runner) in everywhere("passed files") {
        let place = Place::on(caller, runner);
        place.write("workspace/given", "one\ntwo\nthree\n");
        let script = "exec 5<>given; read -r line <&5; echo \"$line\"; \"$@\"; read -r line <&5; echo \"$line\"; cat given";
        let inside = ["sh", "-c", "read -r line <&5; echo \"inside: $line\"; printf THREE >&5"];
        let output = by(&place, "bash", script, &[5], &inside);
        assert_eq!(
            said(&output),
            "one\ninside: two\n\none\ntwo\nTHREE\n",
            "by {caller:?} in {runner:?}: {output:?}"
        );
    }
}

#[test]
fn pipes_are_byte_exact_and_end_as_without_a_sandbox() {
    const OUTSIDE: &str = "
import os, subprocess, sys
read, write = os.pipe()
back, forth = os.pipe()
os.dup2(read, 15); os.dup2(forth, 16); os.close(read); os.close(forth)
run = subprocess.Popen(sys.argv[1:], pass_fds=(15, 16))
os.close(15); os.close(16)
sent = os.urandom(300000)
if os.fork() == 0:
    os.close(back)
    with os.fdopen(write, 'wb') as out: out.write(sent)
    os._exit(0)
os.close(write)
with os.fdopen(back, 'rb') as back: got = back.read()
print(run.wait(), got == sent)
";
    for (caller, runner) in everywhere("passed pipes") {
        let place = Place::on(caller, runner);
        let agent = ["bash", "-c", "exec cat <&15 >&16"];
        let output = by(&place, "python3", OUTSIDE, &[15, 16], &agent);
        assert_eq!(said(&output), "0 True\n", "by {caller:?} in {runner:?}: {output:?}");
    }
}

#[test]
fn a_writer_learns_that_the_sandbox_has_ended() {
    const OUTSIDE: &str = "
import os, subprocess, sys
read, write = os.pipe()
os.dup2(read, 5); os.close(read)
run = subprocess.Popen(sys.argv[1:], pass_fds=(5,))
os.close(5)
print(run.wait())
try: os.write(write, b'x')
except BrokenPipeError: print('EPIPE')
";
    for (caller, runner) in everywhere("passed pipes of a sandbox that has ended") {
        let place = Place::on(caller, runner);
        let output = by(&place, "python3", OUTSIDE, &[5], &["true"]);
        assert_eq!(said(&output), "0\nEPIPE\n", "by {caller:?} in {runner:?}: {output:?}");
    }
}

#[test]
fn a_socket_leads_both_ways() {
    const OUTSIDE: &str = "
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
os.dup2(theirs.fileno(), 7); theirs.close()
run = subprocess.Popen(sys.argv[1:], pass_fds=(7,))
os.close(7)
ours.sendall(b'question\\n')
print(ours.recv(100).decode(), end='')
print(run.wait(), ours.recv(100))
";
    for (caller, runner) in everywhere("passed sockets") {
        let place = Place::on(caller, runner);
        let inside = ["sh", "-c", "read -r line <&7; echo \"answer to $line\" >&7"];
        let output = by(&place, "python3", OUTSIDE, &[7], &inside);
        assert_eq!(said(&output), "answer to question\n0 b''\n", "by {caller:?} in {runner:?}: {output:?}");
    }
}

/// Opens four files, each of which holds its number, and one that is not passed.
const FIVE: &str = "for n in 3 4 5 8 9; do echo $n >f$n; done; \"$@\" 3<f3 4<f4 5<f5 8<f8 9<f9";

/// Says what is open, and what is in it.
const EACH: [&str; 3] =
    ["sh", "-c", "for n in 3 4 5 8 9; do (eval \"cat <&$n\") 2>/dev/null || echo \"no $n\"; done"];

#[test]
fn numbers_that_others_use_on_the_way_are_the_callers_inside() {
    for (caller, runner) in everywhere("numbers that collide") {
        let place = Place::on(caller, runner);
        let output = by(&place, "bash", FIVE, &[9, 3, 5, 4], &EACH);
        assert_eq!(said(&output), "3\n4\n5\nno 8\n9\n", "by {caller:?} in {runner:?}: {output:?}");
        // Nothing else is open there, but what `ls` reads.
        let output = by(&place, "bash", FIVE, &[9, 4], &["ls", "/proc/self/fd"]);
        assert_eq!(said(&output), "0\n1\n2\n3\n4\n9\n", "by {caller:?} in {runner:?}: {output:?}");
    }
}

#[test]
fn what_nobody_names_is_not_there() {
    for (caller, runner) in everywhere("descriptors that nobody names") {
        let place = Place::on(caller, runner);
        let output = by(&place, "bash", FIVE, &[], &EACH);
        assert_eq!(
            said(&output),
            "no 3\nno 4\nno 5\nno 8\nno 9\n",
            "by {caller:?} in {runner:?}: {output:?}"
        );
        // The control: without a sandbox a child has them all.
        let words = ["bash", "-c", FIVE, "bash"].into_iter().chain(EACH);
        let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
        assert_eq!(said(&output), "3\n4\n5\n8\n9\n", "the control, by {caller:?}");
    }
}

#[test]
fn what_leads_further_than_a_stream_is_refused() {
    const TCP: &str = "
import os, socket, subprocess, sys
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
os.dup2(client.fileno(), 5)
sys.exit(subprocess.run(sys.argv[1:], pass_fds=(5,)).returncode)
";
    const TERMINAL: &str = "
import os, subprocess, sys
master, slave = os.openpty()
os.dup2(slave, 5)
sys.exit(subprocess.run(sys.argv[1:], pass_fds=(5,)).returncode)
";
    for caller in callers("descriptors that are refused") {
        let place = Place::new(caller);
        let refused = |interpreter: &str, script: &str, numbers: &[u32], because: &str| {
            let output = by(&place, interpreter, script, numbers, &["true"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains(because), "by {caller:?}: {because:?} is not in {output:?}");
            assert!(said.contains("hint: "), "by {caller:?}: {output:?}");
            output.status.code()
        };
        let directory = refused("bash", "exec \"$@\" 5</usr", &[5], "descriptor 5: it is a directory");
        assert_eq!(
            directory,
            refused("python3", TCP, &[5], "it is a socket that is not a connected Unix stream")
        );
        assert_eq!(directory, refused("python3", TERMINAL, &[5], "descriptor 5: it is a terminal"));
        let closed = refused("bash", "exec \"$@\" 5<&-", &[5], "descriptor 5 is not open");
        assert_eq!(closed, refused("bash", "exec \"$@\"", &[1], "descriptor 1 is a standard stream"));
        assert_eq!(
            closed,
            refused("bash", "exec \"$@\" 5</dev/null", &[5, 5], "descriptor 5 is named twice")
        );
        assert_eq!(closed, refused("bash", "exec \"$@\"", &[1 << 30], "is too high"));
        let many: Vec<u32> = (3..20).collect();
        assert_eq!(closed, refused("bash", "exec \"$@\"", &many, "17 descriptors are more than the 16"));
        assert_ne!(closed, directory);
        // The control: what a directory would give away.
        let script = "exec 5</usr; exec cat /proc/self/fd/5/../etc/passwd";
        let output = place.outside(&["bash", "-c", script]).output().unwrap();
        assert!(said(&output).contains("root:"), "the control, by {caller:?}");
    }
}

#[test]
fn what_an_agent_writes_into_a_pipe_that_it_reads_stays_inside() {
    const OUTSIDE: &str = "printf 'first\\n' | { exec 5<&0 </dev/null; \"$@\"; cat <&5; }";
    const ATTACK: [&str; 3] =
        ["sh", "-c", "{ echo attack >/proc/self/fd/5; } 2>/dev/null & read -r line <&5; echo \"read $line\""];
    for (caller, runner) in everywhere("passed pipes that are written backwards") {
        let place = Place::on(caller, runner);
        let output = by(&place, "bash", OUTSIDE, &[5], &ATTACK);
        assert!(
            !said(&output).lines().any(|line| line == "attack"),
            "by {caller:?} in {runner:?}: {output:?}"
        );
        // The control: a child that has the pipe itself writes into what is read next.
        let words =
            ["bash", "-c", OUTSIDE, "bash", "sh", "-c", "read -r line <&5; echo attack >/proc/self/fd/5"];
        let output = place.outside(&words).output().unwrap();
        assert_eq!(said(&output), "attack\n", "the control, by {caller:?}");
    }
}

#[test]
fn a_plan_names_what_is_passed() {
    for caller in callers("plans with descriptors") {
        let place = Place::new(caller);
        let script = "exec \"$@\" 5</dev/null 7</dev/zero";
        for (format, wanted) in [("text", "descriptor  7"), ("json", "\"pass_fd\"")] {
            let flags = ["--dry-run", "--format", format, "--pass-fd", "5", "--pass-fd", "7"];
            let run = place.run(&flags, &["true"]);
            let words = ["bash", "-c", script, "bash"].map(OsString::from).into_iter().chain(run);
            let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
            assert!(said(&output).contains(wanted), "by {caller:?}: {output:?}");
        }
    }
}
