//! What comes from a client before rmcp sees it: messages are told apart here, so that whatever is no message, no method or no request in its time is
//! answered with the error that JSON-RPC has for it, and never ends the connection.

use std::collections::{HashMap, HashSet};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, InitializedNotification, InitializedNotificationMethod,
    JsonRpcMessage, NumberOrString, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use serde_json::{Value, json};

use crate::room::{Held, Room, SMALL};

/// The versions of the protocol that are spoken, the newest first.
pub(super) const VERSIONS: &[&str] = &["2025-06-18", "2025-03-26", "2024-11-05"];

/// Requests that there are.
const METHODS: &[&str] = &[
    "completion/complete", "initialize", "logging/setLevel", "ping", "prompts/get", "prompts/list",
    "resources/list", "resources/read", "resources/subscribe", "resources/templates/list",
    "resources/unsubscribe", "tools/call", "tools/list",
];

/// The most values of JSON in a message. A file is one of them, however long it is.
const MOST_VALUES: usize = 1 << 16;

/// What a value takes at most besides its text: that of an object with one entry.
const VALUE: usize = 640;

/// The longest `id` of a request, in bytes: it is kept, and repeated in the answer.
const LONGEST_ID: usize = 1024;

/// The most requests of one client that have no answer yet.
const MOST_IN_FLIGHT: usize = 1024;

/// What is to be done with what has come.
#[derive(Debug)]
pub(super) enum Step {
    /// Hand these on, in this order.
    Deliver(Vec<ClientJsonRpcMessage>),
    /// Answer with this, and hand nothing on.
    Answer(Value),
    /// Nothing: it was a notification, or an answer to nothing.
    Nothing,
}

/// How far a client is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    #[default]
    New,
    /// It has asked to begin.
    Initializing,
    Ready,
}

/// What becomes of the answer to a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    Wanted,
    /// The client has cancelled the request, and wants no answer any more.
    Dropped,
}

/// A request that has no answer yet.
#[derive(Debug)]
struct InFlight {
    answer: Answer,
    _room: Held,
}

/// The state of one client's connection.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    stage: Stage,
    in_flight: HashMap<RequestId, InFlight>,
    /// The room for what its requests hold.
    room: Room,
    /// The requests to the client that have no answer yet.
    asked: HashSet<RequestId>,
}

impl Inbound {
    /// Begins with a client that has sent nothing yet.
    pub(super) fn new(room: Room) -> Self {
        Self { room, ..Self::default() }
    }

    /// Takes what has come as one message.
    pub(super) fn accept(&mut self, bytes: &[u8]) -> Step {
        match read(bytes) {
            Ok((value, size)) => self.accept_value(value, size),
            Err(answer) => Step::Answer(answer),
        }
    }

    /// Takes a message that takes so many bytes of memory.
    fn accept_value(&mut self, mut value: Value, size: usize) -> Step {
        let refuse = |id: &Value, message: &str| Step::Answer(error_object(id, -32600, message));
        let Some(object) = value.as_object_mut() else {
            return refuse(
                &Value::Null,
                "a message is one JSON object; batches are no part of this version of MCP",
            );
        };
        let id = object.get("id").cloned();
        let known_id = match &id {
            None => None,
            Some(Value::String(text)) if text.len() > LONGEST_ID => {
                return refuse(
                    &Value::Null,
                    &format!("the `id` of a request has {LONGEST_ID} bytes at most"),
                );
            }
            Some(Value::String(text)) => Some(NumberOrString::String(text.as_str().into())),
            Some(other) => match other.as_i64() {
                Some(number) => Some(NumberOrString::Number(number)),
                None => return refuse(&Value::Null, "the `id` of a request is a string or an integer"),
            },
        };
        let id = id.unwrap_or_default();
        if object.get("jsonrpc") != Some(&json!("2.0")) {
            return refuse(&id, "`jsonrpc` has to be \"2.0\"");
        }
        let Some(method) = object.get("method").and_then(Value::as_str).map(str::to_owned) else {
            // The server asks nothing, and so there is nothing to be answered.
            let is_answer = object.contains_key("result") || object.contains_key("error");
            return match known_id {
                Some(id) if is_answer => self.answer(value, id),
                None if is_answer => Step::Nothing,
                Some(_) | None => refuse(&id, "a request has a `method`"),
            };
        };
        match known_id {
            Some(known_id) => {
                if method == "initialize" {
                    speak_a_known_version(object);
                }
                self.request(value, size, &id, known_id, &method)
            }
            None => self.notification(value, &method),
        }
    }

    fn request(&mut self, value: Value, size: usize, id: &Value, known_id: RequestId, method: &str) -> Step {
        let refuse = |message: &str| Step::Answer(error_object(id, -32600, message));
        if size > SMALL && method != "tools/call" {
            return refuse(
                "a request other than the call of a tool has 64 KiB at most, in which each value counts as 640 bytes",
            );
        }
        if self.in_flight.contains_key(&known_id) {
            return refuse("a request with this `id` has no answer yet");
        }
        if self.in_flight.len() >= MOST_IN_FLIGHT {
            return Step::Answer(error_object(
                id,
                -32000,
                "busy: as many requests wait for an answer as the server takes; ask again when some have one",
            ));
        }
        // Which calls begin all the same is decided where they begin.
        let begins = matches!(method, "ping" | "tools/call") || !self.room.is_full();
        let Some(room) = self.room.take(size).filter(|_| begins) else {
            return Step::Answer(error_object(
                id,
                -32000,
                "busy: messages that are not answered, or answers that are not read, take all the room that the server has for them; ask again when some are gone",
            ));
        };
        match (self.stage, method) {
            (Stage::New | Stage::Initializing, "ping") => {
                return Step::Answer(json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
            }
            (Stage::New, "initialize") | (Stage::Initializing | Stage::Ready, _) => {}
            (Stage::New, _) => return refuse("the first request has to be `initialize`"),
        }
        if self.stage != Stage::New && method == "initialize" {
            return refuse("this session was initialized already");
        }
        let message = match serde_json::from_value::<ClientJsonRpcMessage>(value) {
            Ok(message @ JsonRpcMessage::Request(_)) => message,
            Err(_) | Ok(_) if METHODS.contains(&method) => {
                return Step::Answer(error_object(
                    id,
                    -32602,
                    &format!("the `params` are not those of `{method}`"),
                ));
            }
            Err(_) | Ok(_) => {
                return Step::Answer(error_object(id, -32601, &format!("there is no method `{method}`")));
            }
        };
        self.in_flight.insert(known_id, InFlight { answer: Answer::Wanted, _room: room });
        let mut messages = Vec::new();
        match self.stage {
            Stage::New => self.stage = Stage::Initializing,
            Stage::Initializing => {
                // It is a client that does not say that it has begun, and has.
                self.stage = Stage::Ready;
                messages.push(initialized());
            }
            Stage::Ready => {}
        }
        messages.push(message);
        Step::Deliver(messages)
    }

    fn notification(&mut self, value: Value, method: &str) -> Step {
        let Ok(message @ JsonRpcMessage::Notification(_)) =
            serde_json::from_value::<ClientJsonRpcMessage>(value)
        else {
            return Step::Nothing;
        };
        match (self.stage, method) {
            (Stage::Initializing, "notifications/initialized") => self.stage = Stage::Ready,
            (Stage::Ready, _) => {}
            (Stage::New | Stage::Initializing, _) => return Step::Nothing,
        }
        if let JsonRpcMessage::Notification(notification) = &message {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                if let Some(request) = self.in_flight.get_mut(&cancelled.params.request_id) {
                    request.answer = Answer::Dropped;
                }
            }
        }
        Step::Deliver(vec![message])
    }

    /// Takes the answer to a request to the client. One that cannot be read is an error: whoever waits for it has to know.
    fn answer(&mut self, value: Value, id: RequestId) -> Step {
        if !self.asked.remove(&id) {
            return Step::Nothing;
        }
        let read = serde_json::from_value::<ClientJsonRpcMessage>(value).ok();
        let is_answer =
            |message: &_| matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let message = read.filter(is_answer).unwrap_or_else(|| {
            let error =
                rmcp::ErrorData::invalid_params("the answer is not of the form that was asked for", None);
            ClientJsonRpcMessage::error(error, id)
        });
        Step::Deliver(vec![message])
    }

    /// Returns whether a message is to be sent to the client: an answer to what it has cancelled is not.
    pub(super) fn send(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => &response.id,
            JsonRpcMessage::Error(error) => &error.id,
            JsonRpcMessage::Request(request) => {
                self.asked.insert(request.id.clone());
                return true;
            }
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) = &notification.notification {
                    self.asked.remove(&cancelled.params.request_id);
                }
                return true;
            }
        };
        self.in_flight.remove(id).is_none_or(|request| request.answer == Answer::Wanted)
    }

    /// Returns whether every request has its answer.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }
}

/// Reads a message, and returns how many bytes of memory it takes. What the values take is known before they are read.
///
/// # Errors
///
/// It is no JSON, or has too many values: the answer says so.
pub(super) fn read(bytes: &[u8]) -> Result<(Value, usize), Value> {
    let values = count_values(bytes);
    if values > MOST_VALUES {
        let message = format!("a message has {MOST_VALUES} values at most");
        return Err(error_object(&Value::Null, -32600, &message));
    }
    let value = serde_json::from_slice(bytes)
        .map_err(|error| error_object(&Value::Null, -32700, &format!("this is no JSON: {error}")))?;
    Ok((value, bytes.len() + values * VALUE))
}

/// Counts the values in a text of JSON, up to what is none: each but the first follows a `[`, a `{` or a comma. An empty list or object counts as two.
fn count_values(bytes: &[u8]) -> usize {
    let mut values = 1;
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' | b',' => values += 1,
            // To the end of the text, over what is escaped in it.
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            _ => {}
        }
    }
    values
}

/// Returns an error of JSON-RPC.
pub(super) fn error_object(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Makes the notification that a client has begun.
fn initialized() -> ClientJsonRpcMessage {
    let notification = InitializedNotification {
        method: InitializedNotificationMethod,
        extensions: rmcp::model::Extensions::default(),
    };
    ClientJsonRpcMessage::notification(ClientNotification::InitializedNotification(notification))
}

/// Replaces a version of the protocol that is not spoken by the newest that is: rmcp would repeat any that is older.
fn speak_a_known_version(object: &mut serde_json::Map<String, Value>) {
    if let Some(version) = object.get_mut("params").and_then(|params| params.get_mut("protocolVersion")) {
        if version.as_str().is_some_and(|version| !VERSIONS.contains(&version)) {
            *version = json!(VERSIONS[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greet(inbound: &mut Inbound) -> Step {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
        inbound.accept(hello.to_string().as_bytes())
    }

    fn ready() -> Inbound {
        let mut inbound = Inbound::default();
        assert!(matches!(greet(&mut inbound), Step::Deliver(_)));
        let begun = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(matches!(inbound.accept(begun), Step::Deliver(_)));
        inbound
    }

    fn code(step: Step) -> i64 {
        let Step::Answer(answer) = step else { panic!("{step:?}") };
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
    }

    #[test]
    fn what_is_no_message_has_the_error_of_json_rpc() {
        let mut inbound = ready();
        assert_eq!(code(inbound.accept(b"{")), -32700);
        assert_eq!(code(inbound.accept(b"\xff\xfe")), -32700);
        assert_eq!(code(inbound.accept(b"[]")), -32600);
        assert_eq!(code(inbound.accept(br#"{"id":1,"method":"ping"}"#)), -32600);
        assert_eq!(code(inbound.accept(br#"{"jsonrpc":"2.0","id":1}"#)), -32600);
        assert_eq!(code(inbound.accept(br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#)), -32600);
        assert_eq!(code(inbound.accept(br#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#)), -32601);
        assert_eq!(
            code(inbound.accept(
                br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell","arguments":5}}"#
            )),
            -32602
        );
        assert_eq!(code(inbound.accept(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#)), -32602);
        assert!(inbound.is_idle() || inbound.in_flight.len() == 1);
    }

    #[test]
    fn nothing_is_asked_before_the_beginning_but_whether_anybody_is_there() {
        let mut inbound = Inbound::default();
        assert_eq!(code(inbound.accept(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)), -32600);
        let Step::Answer(pong) = inbound.accept(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#) else {
            panic!()
        };
        assert_eq!(pong["result"], json!({}));
        assert!(matches!(
            inbound.accept(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            Step::Nothing
        ));
        assert!(matches!(greet(&mut inbound), Step::Deliver(_)));
        assert_eq!(code(greet(&mut ready())), -32600);
    }

    #[test]
    fn a_client_that_does_not_say_that_it_has_begun_is_served() {
        let mut inbound = Inbound::default();
        greet(&mut inbound);
        let Step::Deliver(messages) = inbound.accept(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        else {
            panic!()
        };
        assert_eq!(messages.len(), 2);
    }

    #[test]
    fn an_id_is_used_once_at_a_time_and_what_was_cancelled_has_no_answer() {
        let mut inbound = ready();
        let list = br#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
        assert!(matches!(inbound.accept(list), Step::Deliver(_)));
        assert_eq!(code(inbound.accept(list)), -32600);
        inbound.accept(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#);
        let answer = ServerJsonRpcMessage::error(
            rmcp::ErrorData::internal_error("x", None),
            NumberOrString::String("a".into()),
        );
        assert!(!inbound.send(&answer));
        assert!(matches!(inbound.accept(list), Step::Deliver(_)));
        assert!(inbound.send(&answer));
    }

    #[test]
    fn an_answer_is_taken_once_and_only_to_what_was_asked() {
        use rmcp::model::{PingRequest, PingRequestMethod, ServerRequest};
        let mut inbound = ready();
        let answer = br#"{"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}"#;
        let ping = || {
            let ping =
                PingRequest { method: PingRequestMethod, extensions: rmcp::model::Extensions::default() };
            ServerJsonRpcMessage::request(ServerRequest::PingRequest(ping), NumberOrString::Number(0))
        };
        assert!(matches!(inbound.accept(answer), Step::Nothing));
        assert!(inbound.send(&ping()));
        let Step::Deliver(messages) = inbound.accept(answer) else { panic!() };
        assert!(matches!(messages[..], [JsonRpcMessage::Response(_)]));
        assert!(matches!(inbound.accept(answer), Step::Nothing));
        // Whoever waits hears of one that cannot be read.
        assert!(inbound.send(&ping()));
        let Step::Deliver(messages) = inbound.accept(br#"{"jsonrpc":"2.0","id":0,"result":5}"#) else {
            panic!()
        };
        assert!(matches!(messages[..], [JsonRpcMessage::Error(_)]), "{messages:?}");
        // What was taken back has no answer.
        assert!(inbound.send(&ping()));
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 0 } });
        assert!(inbound.send(&serde_json::from_value(cancelled).unwrap()));
        assert!(matches!(inbound.accept(answer), Step::Nothing));
    }

    /// Writes a call with these arguments.
    fn call(id: usize, arguments: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write","arguments":{arguments}}}}}"#
        )
    }

    #[test]
    fn values_are_counted_and_what_is_in_a_text_is_none() {
        for (text, values) in [
            ("1", 1),
            (r#""[{,\"[,\\""#, 1),
            (r#"["\\",1]"#, 3),
            (r#"{"a":{"b":[1,2,3]},"c":0}"#, 7),
            ("\"[[[", 1),
        ] {
            assert_eq!(count_values(text.as_bytes()), values, "{text}");
        }
    }

    #[test]
    fn a_message_of_very_many_values_is_refused_and_a_large_file_is_not() {
        let many = format!(r#"{{"x":[{}]}}"#, vec![r#"{"a":{}}"#; 400_000].join(","));
        assert_eq!(code(ready().accept(call(1, &many).as_bytes())), -32600);
        let file = json!({ "path": "a", "content": "{\"a\":[1,2],\n".repeat(1 << 18) }).to_string();
        assert!(file.len() > 3 << 20);
        assert!(matches!(ready().accept(call(1, &file).as_bytes()), Step::Deliver(_)));
        let some = format!(r#"{{"x":[{}]}}"#, vec!["0"; 60_000].join(","));
        assert!(matches!(ready().accept(call(1, &some).as_bytes()), Step::Deliver(_)));
    }

    #[test]
    fn what_has_no_answer_takes_room_until_it_has_one() {
        let room = Room::default();
        let mut inbound = Inbound::new(room.clone());
        greet(&mut inbound);
        let file = json!({ "content": "x".repeat(4_000_000) }).to_string();
        let mut delivered =
            (1..100).take_while(|id| matches!(inbound.accept(call(*id, &file).as_bytes()), Step::Deliver(_)));
        assert_eq!(delivered.by_ref().count(), 16);
        // Of another client, too; small ones go on.
        let mut other = Inbound::new(room);
        greet(&mut other);
        assert_eq!(code(other.accept(call(1, &file).as_bytes())), -32000);
        assert!(matches!(other.accept(call(2, "{}").as_bytes()), Step::Deliver(_)));
        let answer = ServerJsonRpcMessage::error(
            rmcp::ErrorData::internal_error("x", None),
            NumberOrString::Number(1),
        );
        inbound.send(&answer);
        assert!(matches!(other.accept(call(3, &file).as_bytes()), Step::Deliver(_)));
    }

    #[test]
    fn where_answers_are_not_read_a_client_is_heard_that_ends_what_it_has_begun() {
        let room = Room::default();
        let mut inbound = Inbound::new(room.clone());
        greet(&mut inbound);
        assert!(matches!(inbound.accept(call(1, "{}").as_bytes()), Step::Deliver(_)));
        let _unread = room.take_for_answer(1 << 30);
        for heard in [
            r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"shell_kill","arguments":{"job":1}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        ] {
            assert!(matches!(inbound.accept(heard.as_bytes()), Step::Deliver(_)), "{heard}");
        }
        assert_eq!(code(inbound.accept(br#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#)), -32000);
        assert_eq!(code(greet(&mut Inbound::new(room))), -32000);
    }

    #[test]
    fn only_the_call_of_a_tool_is_large_and_no_id_is() {
        let long = "x".repeat(SMALL);
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": long, "version": "1" } } });
        assert_eq!(code(Inbound::default().accept(hello.to_string().as_bytes())), -32600);
        let list = json!({ "jsonrpc": "2.0", "id": long, "method": "tools/list" });
        assert_eq!(code(ready().accept(list.to_string().as_bytes())), -32600);
        // Each value counts, for it takes memory.
        for (values, is_refused) in [(90, false), (110, true)] {
            let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": { "x": vec![0; values] } } });
            let step = ready().accept(list.to_string().as_bytes());
            assert_eq!(
                matches!(&step, Step::Answer(answer) if answer.to_string().contains("640 bytes")),
                is_refused,
                "{step:?}"
            );
        }
    }
}
