//! Children: sandboxes that an agent asks for from inside, in every provider, of persistent sandboxes and of others.

use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::place::Place;
use crate::{PATIENCE, Staying, everywhere, ours, said};

/// Sends each argument as a line, a long one for the word `"long"`, and prints what comes back until the other side has closed.
const ASK: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect('/run/sandbox/children.sock')
for line in sys.argv[1:]: s.sendall((b'x' * 300000 if line == '\"long\"' else line.encode()) + b'\\n')
s.shutdown(socket.SHUT_WR)
for line in s.makefile(): print(line, end='')
";

/// Asks, and goes as soon as the first child has started: it has made the file `started` by then.
const ASK_AND_GO: &str = "
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect('/run/sandbox/children.sock')
s.sendall(sys.argv[1].encode() + b'\\n')
while not os.path.exists('/workspace/started'): time.sleep(0.01)
";

/// What a sandbox of these tests has.
const SETTINGS: &str = "[limits]\nmemory = \"600m\"\npids = 90\n[children]\nmax = 2\n";

/// A place whose caller lets agents have children.
fn place(caller: crate::Caller, runner: crate::Runner, settings: &str) -> Place {
    let place = Place::on(caller, runner);
    place.configure(settings);
    place
}

/// What a sandbox that does not stay answers to requests of its agent.
fn ask(place: &Place, requests: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    answers(&place.inside(&[""; 0], &[&["python3", "-c", ASK], &lines[..]].concat()).output().unwrap())
}

fn answers(output: &Output) -> Vec<Value> {
    said(output).lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn text(answer: &Value) -> &str {
    answer["stdout"]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}"))
}

/// Whether a process with this argument runs on the host, whoever has it inside.
fn runs(argument: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let mut line = Vec::new();
        let read =
            fs::File::open(process.path().join("cmdline")).and_then(|mut file| file.read_to_end(&mut line));
        read.is_ok() && line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    })
}

/// Waits until no process with this argument is left.
fn wait_until_gone(argument: &str, what: &str) {
    wait_until(|| !runs(argument), &format!("{what}: {argument} still runs"));
}

/// A number of seconds that nothing else sleeps for: the argument of a `sleep` that is looked for.
fn unique(place: &Place, number: u32) -> String {
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(place.path("")).unwrap());
    format!("8{number}{}", inode % 1_000_000)
}

#[test]
fn a_child_has_what_it_asks_for_and_its_sandbox_has() {
    for (caller, runner) in everywhere("children of sandboxes") {
        let place = place(caller, runner, SETTINGS);
        let what = format!("in {runner:?} by {caller:?}");
        place.write("workspace/file", "shared\n");
        let script = "cat /workspace/file; touch /workspace/made; ls -d /run/sandbox; echo $MINE; id -un";
        let all = ask(
            &place,
            &[
                json!({ "id": "none", "command": ["sh", "-c", script] }),
                json!({ "id": "ro", "command": ["sh", "-c", script], "shared_dirs": { "workspace": "ro" }, "env": { "MINE": "m" } }),
            ],
        );
        let by_id =
            |id: &str| all.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{what}: {all:#?}"));
        assert_eq!(text(by_id("none")), "\nagent\n", "{what}: {all:#?}");
        assert_eq!(text(by_id("ro")), "shared\nm\nagent\n", "{what}: {all:#?}");
        assert!(!place.workspace().join("made").exists(), "{what}");
        // The control: what may write does.
        let all = ask(
            &place,
            &[json!({ "command": ["sh", "-c", "pwd; touch made"], "shared_dirs": { "workspace": "rw" } })],
        );
        assert_eq!(text(&all[0]), "/workspace\n", "{what}");
        assert!(place.workspace().join("made").exists(), "{what}");
        assert_eq!(all[0]["result"]["code"], 0, "{what}");

        let all = ask(&place, &[json!({ "command": ["false"] }), json!({ "command": ["no-such-command"] })]);
        let codes: Vec<_> = all.iter().map(|one| one["result"]["code"].as_u64().unwrap()).collect();
        assert!(codes.contains(&1) && codes.contains(&127), "{what}: {all:#?}");
        let late = ask(&place, &[json!({ "command": ["sleep", "100"], "timeout": "200ms" })]);
        assert_eq!(late[0]["result"]["timed_out"], true, "{what}: {late:#?}");
    }
}

#[test]
fn a_child_is_apart_from_its_sandbox_and_from_its_siblings() {
    for (caller, runner) in everywhere("children that are apart") {
        let place = place(caller, runner, SETTINGS);
        let what = format!("in {runner:?} by {caller:?}");
        // Files, loopback and abstract sockets of the sandbox: the same looks from a process of its own see all of it.
        let look = "
import os, socket
def can(what):
    try: what(); return 1
    except OSError: return 0
def connects(address, family):
    s = socket.socket(family); s.settimeout(5); s.connect(address)
print(can(lambda: open('/tmp/mine')), can(lambda: connects(('127.0.0.1', 4567), socket.AF_INET)),
      can(lambda: connects('\\0mine', socket.AF_UNIX)), any(b'not-a-' + b'program' in open(f'/proc/{p}/cmdline', 'rb').read() for p in os.listdir('/proc') if p.isdigit()))
";
        let script = format!(
            "
import json, socket, subprocess, sys
look = {look:?}
open('/tmp/mine', 'w').close()
one = socket.create_server(('127.0.0.1', 4567))
two = socket.socket(socket.AF_UNIX); two.bind('\\0mine'); two.listen()
other = subprocess.Popen(['python3', '-c', 'input()', 'not-a-program'], stdin=subprocess.PIPE)
print(subprocess.run(['python3', '-c', look], capture_output=True, text=True).stdout, end='')
s = socket.socket(socket.AF_UNIX); s.connect('/run/sandbox/children.sock')
for _ in range(2): s.sendall(json.dumps({{'command': ['python3', '-c', look]}}).encode() + b'\\n')
s.shutdown(socket.SHUT_WR)
for line in s.makefile(): print(json.loads(line)['stdout']['text'], end='')
other.kill()
"
        );
        let output = place.inside(&[""; 0], &["python3", "-c", &script]).output().unwrap();
        assert_eq!(said(&output), "1 1 1 True\n0 0 0 False\n0 0 0 False\n", "{what}: {output:?}");
    }
}

#[test]
fn what_is_wider_than_the_sandbox_is_refused_and_so_is_what_is_no_request() {
    for (caller, runner) in everywhere("children that ask for too much") {
        let place = place(caller, runner, SETTINGS);
        let what = format!("in {runner:?} by {caller:?}");
        let home = place.home();
        let all = ask(
            &place,
            &[
                json!({ "command": ["true"], "shared_dirs": { "home": "rw" } }),
                json!({ "command": ["true"], "allow": ["example.org"] }),
                json!({ "command": ["true"], "memory": "300m" }),
                json!({ "command": ["true"], "volumes": [format!("{}:/x", home.display())] }),
                json!({ "command": [] }),
                json!("long"),
                json!({ "id": "last", "command": ["echo", "served"] }),
            ],
        );
        let codes: Vec<_> = all.iter().map(|one| one["error"]["code"].as_str().unwrap_or("none")).collect();
        let (refused, invalid) = ("child.refused", "child.invalid");
        assert_eq!(codes, [refused, refused, refused, invalid, invalid, invalid, "none"], "{what}: {all:#?}");
        assert_eq!(text(&all[6]), "served\n", "{what}");
        // Nothing of the host is named.
        let answers = format!("{all:?}");
        assert!(!answers.contains(place.path("").to_str().unwrap()), "{what}: {answers}");
        // Without the setting there is no socket.
        place.configure("");
        let output = place.inside(&[""; 0], &["ls", "/run/sandbox"]).output().unwrap();
        assert!(!output.status.success(), "{what}: {output:?}");
    }
}

#[test]
fn no_more_live_at_once_than_may() {
    for (caller, runner) in everywhere("the number of children") {
        let place = place(caller, runner, SETTINGS);
        let what = format!("in {runner:?} by {caller:?}");
        let wait = |file: &str| {
            json!({ "id": file, "command": ["sh", "-c", format!("touch {file}; while [ ! -e go ]; do sleep 0.1; done")],
                    "shared_dirs": { "workspace": "rw" } })
        };
        let script = format!(
            "
import json, os, socket, time
def connect(*requests):
    s = socket.socket(socket.AF_UNIX); s.connect('/run/sandbox/children.sock')
    for request in requests: s.sendall(request.encode() + b'\\n')
    return s
s = connect({:?}, {:?})
while not (os.path.exists('a') and os.path.exists('b')): time.sleep(0.01)
print(json.loads(connect({:?}).makefile().readline())['error'])
open('go', 'w').close()
s.shutdown(socket.SHUT_WR)
print(sorted(json.loads(line)['id'] for line in s.makefile()))
print(json.loads(connect({:?}).makefile().readline())['id'])
",
            wait("a").to_string(),
            wait("b").to_string(),
            wait("c").to_string(),
            wait("d").to_string()
        );
        let output = place.inside(&[""; 0], &["python3", "-c", &script]).output().unwrap();
        let lines = said(&output);
        let lines: Vec<&str> = lines.lines().collect();
        assert!(lines[0].contains("'code': 'child.limit'"), "{what}: {output:?}");
        assert!(lines[0].contains("'retryable': True"), "{what}: {output:?}");
        assert_eq!(lines[1..], ["['a', 'b']", "d"], "{what}");
    }
}

/// The process that starts children is in no control group, so it holds no more answers than there may be children.
#[test]
fn an_answer_that_nobody_reads_takes_the_place_of_a_child() {
    for (caller, runner) in everywhere("unread answers") {
        let place = place(caller, runner, "[children]\nmax = 1\n");
        let what = format!("in {runner:?} by {caller:?}");
        // Longer than what a socket holds, and than the same in UTF-8.
        let long = json!({ "id": "long", "command": ["python3", "-c", "print(chr(1) * 1000000, end='')"] });
        let short = json!({ "id": "short", "command": ["true"] });
        let script = format!(
            "
import json, select, socket
def ask(request, s=None):
    if s is None: s = socket.socket(socket.AF_UNIX); s.connect('/run/sandbox/children.sock')
    s.sendall(request.encode() + b'\\n')
    return s
def answer(s):
    line = b''
    while not line.endswith(b'\\n'):
        part = s.recv(1 << 16)
        assert part, 'the connection was closed'
        line += part
    return json.loads(line)
long, short = {:?}, {:?}
s = ask(long)
for _ in range(3):
    select.select([s], [], [])
    print(answer(ask(short))['error']['code'])
    print(len(answer(s)['stdout']['text']))
    # The control: it was read.
    print(answer(ask(short, s))['result']['code'])
    ask(long, s)
# Gone unread.
select.select([s], [], [])
s.close()
while answer(ask(short)).get('error'): pass
print('served')
",
            long.to_string(),
            short.to_string()
        );
        let output = place.inside(&[""; 0], &["python3", "-c", &script]).output().unwrap();
        let round = "child.limit\n1000000\n0\n";
        assert_eq!(said(&output), format!("{}served\n", round.repeat(3)), "{what}: {output:?}");
    }
}

#[test]
fn a_child_ends_with_whoever_has_asked_for_it() {
    for (caller, runner) in everywhere("the end of children") {
        let place = place(caller, runner, SETTINGS);
        let what = format!("in {runner:?} by {caller:?}");
        let sleeps = |number: u32| {
            let seconds = unique(&place, number);
            let request = json!({ "command": ["sh", "-c", format!("touch started; exec sleep {seconds}")],
                                  "shared_dirs": { "workspace": "rw" } });
            (seconds, request.to_string())
        };

        // The connection closes, and the sandbox lives on.
        let (seconds, request) = sleeps(1);
        let sandbox = Staying::create(&place, &[]);
        sandbox.prints(&["python3", "-c", ASK_AND_GO, &request]);
        wait_until_gone(&seconds, &what);
        fs::remove_file(place.workspace().join("started")).unwrap();

        // The sandbox is removed while somebody waits for the child.
        let (seconds, request) = sleeps(2);
        let mut waiting = sandbox.exec(&[], &["python3", "-c", ASK, &request]).spawn().unwrap();
        wait_until_runs(&seconds, &what);
        drop(sandbox);
        wait_until_gone(&seconds, &what);
        waiting.wait().unwrap();
        fs::remove_file(place.workspace().join("started")).unwrap();

        // The command ends, and with it its sandbox: nothing is left when its client has ended.
        let (seconds, request) = sleeps(3);
        let script = format!("python3 -c \"$0\" '{request}' & while [ ! -e started ]; do sleep 0.1; done");
        said(&place.inside(&[""; 0], &["sh", "-c", &script, ASK]).output().unwrap());
        assert!(!runs(&seconds), "{what}");
        fs::remove_file(place.workspace().join("started")).unwrap();

        // The client is killed.
        let (seconds, request) = sleeps(4);
        let mut client = Client(
            place.inside(&[""; 0], &["python3", "-c", ASK, &request]).stdout(Stdio::null()).spawn().unwrap(),
        );
        wait_until_runs(&seconds, &what);
        kill_client(&place, &mut client.0);
        wait_until_gone(&seconds, &what);
        // What that left is cleared up by the next command.
        said(&place.inside(&[""; 0], &["true"]).output().unwrap());
    }
}

/// A client that does not outlive its test.
struct Client(std::process::Child);

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills a client that setpriv(1) may have become.
fn kill_client(place: &Place, client: &mut std::process::Child) {
    let killed = place.command(&["kill", "-KILL", &client.id().to_string()]).status().unwrap();
    assert!(killed.success());
    client.wait().unwrap();
}

/// Waits until a process with this argument is there.
fn wait_until_runs(argument: &str, what: &str) {
    wait_until(|| runs(argument), &format!("{what}: {argument} does not run"));
}

fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_child_that_may_have_children_has_them_within_its_own_part() {
    for (caller, runner) in everywhere("children of children") {
        let place = place(caller, runner, &format!("{SETTINGS}depth = 2\n"));
        let what = format!("in {runner:?} by {caller:?}");
        let innermost = json!({ "command": ["sh", "-c", "ls -d /run/sandbox; echo innermost"] }).to_string();
        let all = ask(&place, &[json!({ "command": ["python3", "-c", ASK, innermost] })]);
        let inner: Value = serde_json::from_str(text(&all[0])).unwrap_or_else(|_| panic!("{what}: {all:#?}"));
        assert_eq!(text(&inner), "innermost\n", "{what}: the last generation has no socket");
    }
}

#[test]
fn a_child_has_a_part_of_the_memory_and_no_more() {
    for (caller, runner) in everywhere("the memory of children") {
        // A third for each of three.
        let place = place(caller, runner, SETTINGS);
        let what = format!("in {runner:?} by {caller:?}");
        let takes = |mib: u32| json!({ "command": ["python3", "-c", format!("x = b'x' * ({mib} << 20)")] });
        let code = |request: Value| ask(&place, &[request])[0]["result"]["code"].clone();
        assert_eq!(code(takes(100)), 0, "{what}: the control");
        assert_ne!(code(takes(300)), 0, "{what}");
        // The control: where there are no children, the sandbox has all of it.
        place.configure("[limits]\nmemory = \"600m\"\n");
        let all = place.inside(&[""; 0], &["python3", "-c", "x = b'x' * (300 << 20)"]).output().unwrap();
        assert!(all.status.success(), "{what}: {all:?}");
    }
}

#[test]
fn the_journal_says_of_a_sandbox_that_stays_what_its_children_came_to() {
    for (caller, runner) in everywhere("children in the journal") {
        let place = place(caller, runner, SETTINGS);
        let what = format!("in {runner:?} by {caller:?}");
        place.outside(&["git", "init", "-q", "."]).status().unwrap();
        let sandbox = Staying::create(&place, &[]);
        let hook = "printf '#!/bin/sh\\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push; mkdir .husky; echo x > .husky/pre-commit; exit 3";
        let request = json!({ "command": ["sh", "-c", hook], "shared_dirs": { "workspace": "rw" } });
        let answer = sandbox.prints(&["python3", "-c", ASK, &request.to_string()]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["result"]["code"], 3, "{what}: {answer:#}");
        let events = said(
            &ours(
                &place,
                &["events", "--since", "1h", "--until", "0s", "--filter", "event=child", "--format", "json"],
            )
            .output()
            .unwrap(),
        );
        let event: Value = serde_json::from_str(events.trim()).unwrap_or_else(|_| panic!("{what}: {events}"));
        assert_eq!(
            (&event["child"], &event["exit_code"]),
            (&answer["child"], &json!(3)),
            "{what}: {event:#}"
        );
        assert!(event["warnings"].to_string().contains(".husky"), "{what}: {event:#}");
        assert!(!place.workspace().join(".husky/pre-commit").exists(), "{what}");
    }
}

#[test]
fn what_goes_wrong_outside_is_said_outside() {
    for (caller, runner) in everywhere("children that cannot be started") {
        let settings = "[secrets.one]\nmode = \"inject\"\nenv_var = \"ONE\"\nsource = \"file:~/key\"\n[children]\nmax = 1\n";
        let place = place(caller, runner, settings);
        let what = format!("in {runner:?} by {caller:?}");
        let key = place.write("home/key", "first\n");
        fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let request = json!({ "command": ["sh", "-c", "echo $ONE"], "secrets": ["one"] });
        let without = json!({ "command": ["sh", "-c", "echo $ONE"] });
        let all = ask(&place, std::slice::from_ref(&request));
        assert_eq!(text(&all[0]), "first\n", "{what}: {all:#?}");
        assert_eq!(text(&ask(&place, &[without])[0]), "\n", "{what}");
        let script = "touch up; while [ ! -e go ]; do sleep 0.1; done; exec python3 -c \"$@\"";
        let mut command = place.inside(&[""; 0], &["sh", "-c", script, "sh", ASK, &request.to_string()]);
        let client = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until(|| place.workspace().join("up").exists(), &what);
        fs::remove_file(&key).unwrap();
        let gone = wait_with(client, &place);
        let answer = answers(&gone).swap_remove(0);
        let failed = String::from_utf8_lossy(&gone.stderr).into_owned();
        assert_eq!(answer["error"]["code"], "start.failed", "{what}: {answer:#}");
        assert!(!answer.to_string().contains("key"), "{what}: {answer:#}");
        assert!(failed.contains("/key"), "{what}: {failed}");
    }
}

/// Lets a command go on that waits for a file, and waits for its end.
fn wait_with(client: std::process::Child, place: &Place) -> Output {
    place.write("workspace/go", "");
    client.wait_with_output().unwrap()
}

#[test]
fn children_under_sudo_are_refused() {
    for (caller, runner) in everywhere("children under sudo") {
        if caller != crate::Caller::Root || runner != crate::Runner::Native {
            continue;
        }
        let place = place(caller, runner, SETTINGS);
        let mut command: Command =
            place.inside(&["--config", "../home/.config/sandboxctl/sandbox.toml", "--trust"], &["true"]);
        let id = crate::machine::NORMAL.to_string();
        let output = command.env("SUDO_UID", &id).env("SUDO_GID", &id).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{output:?}");
        assert!(message.contains("children under sudo"), "{message}");
    }
}

#[test]
fn root_alone_has_children_wherever_sudo_once_was() {
    for (caller, runner) in everywhere("children without sudo") {
        if caller != crate::Caller::Root || runner != crate::Runner::Native {
            continue;
        }
        let place = place(caller, runner, SETTINGS);
        let mut command: Command =
            place.inside(&["--config", "../home/.config/sandboxctl/sandbox.toml", "--trust"], &["true"]);
        // As `sudo env -u SUDO_UID` leaves it.
        let output = command.env("SUDO_USER", "somebody").env("SUDO_GID", "1001").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
