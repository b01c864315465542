//! A client that writes lines of JSON and reads them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::PATIENCE;
use crate::place::Place;

/// The command that serves, with these flags.
pub(crate) fn serve(place: &Place, flags: &[&str]) -> Command {
    let program = place.path("sandboxctl");
    place.outside(&[&[program.to_str().unwrap(), "mcp", "serve"], place.provider(), flags].concat())
}

/// A server on standard streams, and its client.
pub(crate) struct Client {
    pub(crate) server: Child,
    pub(crate) input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What has come while something else was waited for.
    pub(crate) seen: Vec<Value>,
    last: i64,
}

impl Client {
    /// Starts a server with these flags, and initializes it.
    pub(crate) fn new(place: &Place, flags: &[&str]) -> Self {
        Self::of(serve(place, flags))
    }

    /// Starts a server, and initializes it.
    pub(crate) fn of(command: Command) -> Self {
        Self::with(command, json!({}))
    }

    /// Starts a server, and initializes it as a client with these capabilities.
    pub(crate) fn with(command: Command, capabilities: Value) -> Self {
        let mut client = Self::uninitialized(command);
        let begun = client.ask("initialize", json!({
            "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": { "name": "test", "version": "1" } }));
        assert_eq!(begun["result"]["protocolVersion"], "2025-06-18", "{begun:#}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Starts a server.
    pub(crate) fn uninitialized(mut command: Command) -> Self {
        let mut server =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take(), server.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|_| panic!("standard output is the client's: {line:?}"));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { server, input, lines, seen: Vec::new(), last: 0 }
    }

    /// Writes a message.
    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Writes bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a request, and returns its number.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for a message.
    pub(crate) fn wait_for(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&is_it) {
            return self.seen.remove(at);
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let value = self
                .lines
                .recv_timeout(left)
                .unwrap_or_else(|error| panic!("{what}: {error}; seen {:#?}", self.seen));
            if is_it(&value) {
                return value;
            }
            self.seen.push(value);
        }
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.wait_for("an answer", |value| value["id"] == id && value.get("method").is_none())
    }

    /// Sends a request, and returns its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool, and returns its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("error").is_none(), "{answer:#}");
        answer["result"].clone()
    }

    /// Calls a tool that does what it is asked for, and returns what it answers.
    pub(crate) fn does(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result:#}");
        assert!(result["content"][0]["text"].is_string(), "{result:#}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that fails, and returns what it says.
    pub(crate) fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result:#}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes its streams, and waits until the server has ended.
    pub(crate) fn leave(mut self) -> std::process::ExitStatus {
        drop(self.input.take());
        crate::hang_up::ended(&mut self.server)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
