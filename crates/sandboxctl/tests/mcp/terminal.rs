//! Questions on the terminal from which the server was started, for clients that cannot ask.

use serde_json::Value;

use crate::native;
use crate::place::Place;

/// Serves on a terminal of its own, calls tools over HTTP, and types an answer when a question is shown. Prints what was answered and shown.
const PERSON: &str = r#"
import http.client, json, os, pty, re, select, sys, threading
master, held = pty.openpty()
child = os.fork()
background = sys.argv.pop(1) == "background"
if child == 0:
    os.login_tty(os.dup(held))
    if background:
        server = os.fork()
        if server == 0:
            os.setpgid(0, 0)
            os.execvp(sys.argv[1], sys.argv[1:])
        os.write(1, f"server {server} runs\n".encode())
        os.waitpid(server, 0)
        os._exit(0)
    os.execvp(sys.argv[1], sys.argv[1:])
shown = ""
def until(pattern, after=0):
    global shown
    while not (found := re.compile(pattern).search(shown, after)):
        ready, _, _ = select.select([master], [], [], 60)
        if not ready:
            sys.exit(f"{pattern} was not shown, but {shown!r}")
        shown += os.read(master, 4096).decode()
    return found
token = until(r"token: (\S+)\s")[1]
address = until(r"serving at http://(\S+)/mcp")[1]
def post(session, **message):
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json",
               "accept": "application/json, text/event-stream"}
    if session:
        headers["mcp-session-id"] = session
    connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    events = [line[6:] for line in body.splitlines() if line.startswith("data: ")]
    return answer, json.loads(events[-1] if events else body) if body else None
answer, _ = post("", id=1, method="initialize", params={"protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"}})
session = answer.getheader("mcp-session-id")
post(session, method="notifications/initialized")
def call(number, command, answers):
    threading.Thread(target=lambda: answers.append(post(session, id=number, method="tools/call",
        params={"name": "shell", "arguments": {"command": command}})[1]["result"]), daemon=True).start()
said = []
if background:
    answers = []
    call(2, "touch file-2", answers)
    while not answers:
        select.select([], [], [], 0.01)
    print(json.dumps({"said": answers, "shown": shown}))
    os.kill(int(until(r"server (\d+) runs")[1]), 15)
    os.waitpid(child, 0)
    sys.exit()
# Typed before the question: it answers none.
os.write(master, b"y\n")
for number, typed in [(2, b"n\n"), (3, b"y\n"), (4, b"\n"), (5, b"yes it may\n")]:
    answers, before = [], len(shown)
    call(number, f"touch file-{number}; echo {number}", answers)
    until(r"Allow it once\? \[y/N\] ", before)
    os.write(master, typed)
    while not answers:
        select.select([], [], [], 0.01)
    said.append(answers[0])
# A question that is taken back.
answers, before = [], len(shown)
call(6, "touch file-6", answers)
until(r"Allow it once\? \[y/N\] ", before)
post(session, method="notifications/cancelled", params={"requestId": 6})
until(r"It was not answered, and the command does not run", before)
print(json.dumps({"said": said, "shown": shown}))
os.kill(child, 15)
os.waitpid(child, 0)
"#;

/// Serves there, and returns what was answered and shown.
fn served(place: &Place, how: &str) -> Value {
    place.configure("[commands.rules.touch]\npattern = [\"touch\"]\ndecision = \"ask\"\n");
    let program = place.path("sandboxctl");
    let serve = [program.to_str().unwrap(), "mcp", "serve", "--http", "127.0.0.1:0"];
    let output = place.outside(&[&["python3", "-c", PERSON, how][..], &serve].concat()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_server_in_the_background_of_a_shell_asks_nobody_and_goes_on() {
    let Some(place) = native("questions in the background") else { return };
    let result = served(&place, "background");
    let said = result["said"][0]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("nobody can be asked here"), "{result:#}");
    assert!(!result["shown"].as_str().unwrap().contains("May this command run"), "{result:#}");
}

#[test]
fn a_person_at_the_terminal_of_the_server_is_asked_where_the_client_cannot_ask() {
    let Some(place) = native("questions on the server's terminal") else { return };
    let result = served(&place, "foreground");
    let shown = result["shown"].as_str().unwrap();
    assert!(shown.contains("May this command run in the sandbox"), "{shown}");
    assert!(shown.contains("    touch file-2; echo 2"), "{shown}");
    let said = result["said"].as_array().unwrap();
    let refused: Vec<_> = said.iter().map(|said| said["isError"].as_bool().unwrap()).collect();
    assert_eq!(refused, [true, false, true, true], "{said:#?}");
    assert_eq!(said[1]["structuredContent"]["stdout"], "3\n");
    assert!(
        said[0]["content"][0]["text"].as_str().unwrap().contains("a person has to allow it: they have not"),
        "{said:#?}"
    );
    let made: Vec<_> =
        (2..7).filter(|number| place.path(&format!("workspace/file-{number}")).exists()).collect();
    assert_eq!(made, [3]);
}
