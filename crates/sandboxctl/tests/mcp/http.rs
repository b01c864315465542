//! The same over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::hang_up::ended;
use crate::native;
use crate::place::Place;

/// A server over HTTP.
struct Server {
    process: Child,
    address: SocketAddr,
    token: String,
}

/// What it answers.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    /// The message in it, as JSON or as the last event.
    fn message(&self) -> Value {
        let last = self.body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(last.unwrap_or(&self.body)).unwrap_or_else(|_| panic!("{}", self.body))
    }

    fn session(&self) -> String {
        let line = self.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        line.unwrap_or_else(|| panic!("{}", self.head)).to_owned()
    }
}

impl Server {
    fn new(place: &Place) -> Self {
        let program = place.path("sandboxctl");
        let words = [program.to_str().unwrap(), "mcp", "serve", "--http", "127.0.0.1:0"];
        let mut process = place.outside(&words).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let token = lines.find_map(|line| line.strip_prefix("token: ").map(str::to_owned)).unwrap();
        let address = lines
            .find_map(|line| line.strip_prefix("serving at http://")?.strip_suffix("/mcp").map(str::to_owned))
            .unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: address.parse().unwrap(), token }
    }

    fn raw(&self, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(crate::PATIENCE)).unwrap();
        write!(stream, "{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
            dechunked(body)
        } else {
            body.to_owned()
        };
        Answer { status, head: head.to_lowercase(), body }
    }

    fn headers(&self, more: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{more}",
            self.address, self.token
        )
    }

    fn post(&self, session: &str, message: &Value) -> Answer {
        let session =
            if session.is_empty() { String::new() } else { format!("mcp-session-id: {session}\r\n") };
        self.raw(&self.headers(&session), &message.to_string())
    }

    fn begin(&self) -> String {
        self.begin_with(json!({}))
    }

    /// Begins a session of a client with these capabilities.
    fn begin_with(&self, capabilities: Value) -> String {
        let mut message = initialize();
        message["params"]["capabilities"] = capabilities;
        let answer = self.post("", &message);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let session = answer.session();
        let begun = self.post(&session, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(begun.status, 202);
        session
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.process.try_wait() {
            let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
            let _ = self.process.wait();
        }
    }
}

fn dechunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        whole += &rest[..length];
        body = rest[length..].trim_start_matches("\r\n");
    }
    whole
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

fn shell(id: u32, command: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "shell", "arguments": { "command": command },
        "_meta": { "progressToken": id } } })
}

#[test]
fn a_client_with_the_token_is_served_and_each_session_has_a_sandbox_of_its_own() {
    let Some(place) = native("MCP over HTTP") else { return };
    let server = Server::new(&place);
    let (first, second) = (server.begin(), server.begin());
    let done = server.post(&first, &shell(2, "echo one > /tmp/f; echo done")).message();
    assert_eq!(done["result"]["structuredContent"]["stdout"], "done\n", "{done:#}");
    let other = server.post(&second, &shell(2, "cat /tmp/f")).message();
    assert_eq!(other["result"]["structuredContent"]["exit_code"], 1, "{other:#}");
    let long = server.post(&first, &shell(3, "sleep 3; echo slept"));
    assert!(long.body.contains("notifications/progress"), "{}", long.body);
    assert_eq!(long.message()["result"]["structuredContent"]["stdout"], "slept\n");
    let ended =
        server.raw(&server.headers(&format!("mcp-session-id: {first}\r\n")).replace("POST", "DELETE"), "");
    assert_eq!(ended.status, 204);
    assert_eq!(server.post(&first, &shell(4, "true")).status, 404);
    drop(server);
    assert_eq!(crate::listed(&place), json!([]), "nothing is left behind");
}

#[test]
fn a_server_that_is_asked_to_end_as_soon_as_it_can_be_reached_ends_with_0() {
    let Some(place) = native("the first moment of MCP over HTTP") else { return };
    for _ in 0..10 {
        let mut server = Server::new(&place);
        kill_process(Pid::from_child(&server.process), Signal::TERM).unwrap();
        let status = ended(&mut server.process);
        assert!(status.success(), "{status}");
    }
}

#[test]
fn whoever_has_no_token_or_comes_from_elsewhere_is_refused() {
    let Some(place) = native("refusals of MCP over HTTP") else { return };
    let server = Server::new(&place);
    let good = server.headers("");
    let body = initialize().to_string();
    let refused = |head: String| server.raw(&head, &body).status;
    let authorization = format!("authorization: Bearer {}\r\n", server.token);
    let host = format!("host: {}\r\n", server.address);
    assert_eq!(refused(good.replace(&authorization, "")), 401);
    assert_eq!(refused(good.replace(&server.token, "wrong")), 401);
    assert_eq!(refused(good.replace(&host, "host: evil.example\r\n")), 403);
    assert_eq!(refused(format!("{good}origin: http://evil.example\r\n")), 403);
    assert_eq!(refused(good.replace("/mcp", "/other")), 404);
    assert_eq!(refused(good.replace("POST", "GET")), 405);
    assert_eq!(refused(good.replace("content-type: application/json", "content-type: text/plain")), 415);
    assert_eq!(
        refused(good.replace("accept: application/json, text/event-stream", "accept: text/html")),
        406
    );
    assert_eq!(refused(format!("{good}mcp-protocol-version: 1999-01-01\r\n")), 400);
    assert_eq!(refused(format!("{good}mcp-session-id: none\r\n")), 404);
    assert_eq!(server.raw(&good, &shell(1, "true").to_string()).status, 400);
    assert_eq!(server.raw(&good, "{").status, 400);
    // The control: the same with nothing wrong.
    assert_eq!(refused(format!("{good}origin: http://localhost:1234\r\n")), 200);
}

#[test]
fn a_client_that_hangs_up_cancels_what_it_asked_for() {
    let Some(place) = native("hanging up on MCP over HTTP") else { return };
    let server = Server::new(&place);
    let session = server.begin();
    server.post(&session, &shell(2, "true"));
    let call = shell(3, "touch /workspace/begun; sleep 3333; touch /workspace/ended").to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = server.headers(&format!("mcp-session-id: {session}\r\n"));
    write!(stream, "{head}content-length: {}\r\n\r\n{call}", call.len()).unwrap();
    let until = std::time::Instant::now() + crate::PATIENCE;
    while !place.workspace().join("begun").exists() {
        assert!(std::time::Instant::now() < until, "the command does not begin");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(stream);
    let gone = "for n in $(seq 400); do running=; for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f 2>/dev/null | grep -q '^sleep 3333' && running=1; done; \
                [ $running ] || { echo gone; exit; }; sleep 0.05; done";
    let seen = server.post(&session, &shell(4, gone)).message();
    assert_eq!(seen["result"]["structuredContent"]["stdout"], "gone\n", "{seen:#}");
}

#[test]
fn a_question_comes_in_the_stream_of_its_call_and_is_answered_by_a_post() {
    let Some(place) = native("questions of MCP over HTTP") else { return };
    place.configure("[commands.rules.touch]\npattern = [\"touch\"]\ndecision = \"ask\"\n");
    let server = Server::new(&place);
    let session = server.begin_with(json!({ "elicitation": {} }));
    let head = server.headers(&format!("mcp-session-id: {session}\r\n"));
    for (answer, is_refused) in [("allow_once", false), ("deny", true)] {
        let call = shell(3, "touch /tmp/one && echo done").to_string();
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(crate::PATIENCE)).unwrap();
        write!(stream, "{head}content-length: {}\r\n\r\n{call}", call.len()).unwrap();
        let lines = BufReader::new(stream).lines().map(Result::unwrap);
        let data = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        let mut messages = data.map(|data| serde_json::from_str::<Value>(&data).unwrap());
        let mut next = |key: &str| messages.find(|message| message.get(key).is_some()).unwrap();
        let question = next("id");
        assert_eq!(question["method"], "elicitation/create", "{question:#}");
        // Another call is served meanwhile, and hears nothing of it.
        let other = server.post(&session, &shell(4, "echo other"));
        assert_eq!(other.message()["result"]["structuredContent"]["stdout"], "other\n");
        assert!(!other.body.contains("elicitation"), "{}", other.body);
        let answered = server.post(
            &session,
            &json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": { "answer": answer } } }),
        );
        assert_eq!(answered.status, 202, "{}", answered.body);
        assert_eq!(next("result")["result"]["isError"], is_refused);
    }
}

#[test]
fn an_address_that_others_reach_and_a_token_that_others_read_are_refused() {
    let Some(place) = native("flags of MCP over HTTP") else { return };
    let said = |words: &[&str]| {
        let output = crate::ours(&place, &[&["mcp", "serve"], words].concat());
        assert_eq!(
            output.status.code(),
            Some(if words.contains(&"--token-file") { 125 } else { 2 }),
            "{output:?}"
        );
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["--http", "0.0.0.0:0"]).contains("--http-remote"));
    place.write("workspace/token", &"x".repeat(40));
    assert!(said(&["--http", "127.0.0.1:0", "--token-file", "token"]).contains("can be read by others"));
}

#[test]
fn whoever_has_no_token_gets_one_answer_and_no_more() {
    let Some(place) = native("pipelining of MCP over HTTP") else { return };
    let server = Server::new(&place);
    for (head, status) in [
        (server.headers("").replace(&server.token, "wrong"), "401"),
        (server.headers("origin: http://evil.example\r\n"), "403"),
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(crate::PATIENCE)).unwrap();
        let request = format!("{head}content-length: 0\r\n\r\n");
        stream.write_all(request.repeat(3).as_bytes()).unwrap();
        let mut said = Vec::new();
        // What was not read of it ends the connection with a reset.
        let _ = stream.read_to_end(&mut said);
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said.matches(&format!("HTTP/1.1 {status}")).count(), 1, "{said}");
        assert!(said.to_lowercase().contains("connection: close"), "{said}");
    }
}

#[test]
fn what_cannot_begin_a_session_takes_no_place_of_one() {
    let Some(place) = native("places of sessions of MCP") else { return };
    let server = Server::new(&place);
    for _ in 0..40 {
        let wrong =
            server.post("", &json!({ "jsonrpc": "1.0", "id": 1, "method": "initialize", "params": {} }));
        assert_eq!(wrong.status, 200, "{}", wrong.body);
        assert!(
            wrong.message()["error"].is_object() && !wrong.head.contains("mcp-session-id"),
            "{}",
            wrong.head
        );
    }
    server.begin();
}

#[test]
fn a_session_that_ends_while_its_sandbox_is_made_leaves_nothing() {
    let Some(place) = native("a session of MCP that ends early") else { return };
    let server = Server::new(&place);
    for delay in (0..60).step_by(6) {
        let session = server.begin();
        let call = shell(2, "true").to_string();
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = server.headers(&format!("mcp-session-id: {session}\r\n"));
        write!(stream, "{head}content-length: {}\r\n\r\n{call}", call.len()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        let head = server.headers(&format!("mcp-session-id: {session}\r\n")).replace("POST", "DELETE");
        assert_eq!(server.raw(&head, "").status, 204);
    }
    crate::until("sandboxes are left", || crate::listed(&place) == json!([]));
    drop(server);
    assert_eq!(crate::listed(&place), json!([]));
}

#[test]
fn a_client_that_does_not_read_keeps_no_other_from_ending_what_it_has_begun() {
    let Some(place) = native("unread answers of MCP over HTTP") else { return };
    let image = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; 8_000_000]].concat();
    std::fs::write(place.write("workspace/image", ""), image).unwrap();
    let server = Server::new(&place);
    let session = server.begin();
    let call = |id: u32, tool: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let ask = |message: Value| server.post(&session, &message).message();
    let job = ask(call(2, "shell_start", json!({ "command": "sleep 999" })));
    let job = &job["result"]["structuredContent"]["job"];
    assert!(job.is_u64(), "{job}");
    let other = server.begin();
    let _unread: Vec<_> = (0..12)
        .map(|id| {
            let read = call(id, "read", json!({ "path": "image" })).to_string();
            let mut stream = TcpStream::connect(server.address).unwrap();
            let head = server.headers(&format!("mcp-session-id: {other}\r\n"));
            write!(stream, "{head}content-length: {}\r\n\r\n{read}", read.len()).unwrap();
            stream
        })
        .collect();
    crate::until("answers take no room", || {
        let begun = ask(call(3, "shell", json!({ "command": "true" })));
        begun["result"]["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("busy"))
    });
    assert_eq!(ask(json!({ "jsonrpc": "2.0", "id": 4, "method": "ping" }))["result"], json!({}));
    let killed = ask(call(5, "shell_kill", json!({ "job": job })));
    assert_eq!(killed["result"]["isError"], false, "{killed:#}");
    let stopped = ask(call(6, "sandbox_stop", json!({})));
    assert_eq!(stopped["result"]["isError"], false, "{stopped:#}");
}

#[test]
fn messages_that_have_not_come_take_no_room_of_others() {
    let Some(place) = native("messages of MCP over HTTP that do not come") else { return };
    let server = Server::new(&place);
    let open = |body: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(crate::PATIENCE)).unwrap();
        write!(stream, "{}{body}", server.headers("")).unwrap();
        stream
    };
    let _waiting: Vec<_> = (0..40)
        .flat_map(|_| ["transfer-encoding: chunked\r\n\r\n1\r\n \r\n", "content-length: 4194304\r\n\r\n "])
        .map(open)
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(server.raw(&server.headers(""), &" ".repeat(1 << 20)).status, 400);
    // What has come does.
    let large = " ".repeat(4_190_000);
    let mut held: Vec<_> =
        (0..16).map(|_| open(&format!("content-length: 4190001\r\n\r\n{large}"))).collect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(server.raw(&server.headers(""), &" ".repeat(70_000)).status, 503);
    assert_eq!(server.raw(&server.headers(""), &" ".repeat(60_000)).status, 400);
    held[0].write_all(b" ").unwrap();
    let mut said = [0; 12];
    held[0].read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 400");
}

#[test]
fn a_message_in_very_many_pieces_takes_no_more_than_in_one() {
    let Some(place) = native("pieces of a message of MCP over HTTP") else { return };
    let server = Server::new(&place);
    assert_eq!(server.raw(&server.headers(""), &" ".repeat(1 << 20)).status, 400);
    let before = crate::hostile::peak(server.process.id());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(crate::PATIENCE)).unwrap();
    write!(stream, "{}transfer-encoding: chunked\r\n\r\n", server.headers("")).unwrap();
    stream.write_all("1\r\n \r\n".repeat(1 << 20).as_bytes()).unwrap();
    stream.write_all(b"0\r\n\r\n").unwrap();
    let mut said = [0; 12];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 400");
    let more = crate::hostile::peak(server.process.id()) - before;
    assert!(more < 16, "{more} MiB more than {before}");
}
