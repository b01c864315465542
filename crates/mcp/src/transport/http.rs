//! Clients over HTTP, as the streamable HTTP transport of MCP has it: a message is the body of a POST, and its answer is JSON, or a stream of events where it may
//! take long. The server sends nothing that was not asked for: its questions come in the stream that answers a call. So there is no stream to GET.
//!
//! <https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#streamable-http>

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::{ClientRequest, JsonRpcMessage};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::deadline_stream::DeadlineStream;
use self::events::Events;
use self::headers::{NameList, Refusal};
use self::session::{Pending, Sessions};
use super::inbound::{self, Inbound, Step, VERSIONS, error_object};
use super::stdio::signalled;
use super::token::Token;
use super::{ENDING, MOST_MESSAGE, collect_children, runtime};
use crate::program::Program;
use crate::room::{Held, Room};

mod deadline_stream;
mod events;
mod headers;
mod session;

/// Where the server is.
const PATH: &str = "/mcp";

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// The header that names the version of the protocol, in all requests but the first.
const VERSION: &str = "mcp-protocol-version";

/// How many connections there are at once. Others wait to be accepted.
const MOST_CONNECTIONS: usize = 512;

/// How long a client may take to send the head of a request, and then its body, and to take what is written next.
const PATIENCE: Duration = Duration::from_secs(30);

type Body = BoxBody<Bytes, Infallible>;

/// How clients are served over HTTP.
pub struct HttpOptions {
    /// Where; port 0 takes a free one.
    pub address: SocketAddr,
    /// What clients have to show.
    pub token: Token,
    /// Names that Host and Origin may have besides the address itself and those of the loopback.
    pub hosts: Vec<String>,
}

/// What every connection has.
struct Shared {
    token: Token,
    names: NameList,
    sessions: Arc<Sessions>,
}

/// Serves clients over HTTP until this process is asked to end, and removes what they had. Calls `bound` with the address.
///
/// # Errors
///
/// Nobody can listen at the address, or this process cannot have the threads that it needs.
pub fn serve(program: Program, options: HttpOptions, bound: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let signalled = signalled();
        let listener = TcpListener::bind(options.address).await?;
        let address = listener.local_addr()?;
        bound(address);
        tokio::spawn(collect_children());
        let sessions = Arc::new(Sessions::new(Arc::new(program)));
        let shared = Arc::new(Shared {
            token: options.token,
            names: NameList::new(address, options.hosts),
            sessions: Arc::clone(&sessions),
        });
        tokio::select! {
            () = accept(listener, &shared) => {}
            () = sessions.forget_idle() => {}
            () = signalled => {}
        }
        // What cannot be removed in time is swept by the next command.
        let _ = tokio::time::timeout(ENDING, sessions.end_all()).await;
        Ok(())
    })
}

async fn accept(listener: TcpListener, shared: &Arc<Shared>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // This process has no descriptor left; some come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(|request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(answer(&shared, request).await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(64 << 10);
            // A client that has gone is nobody's business any more.
            let stream = TokioIo::new(DeadlineStream::new(stream, PATIENCE));
            let _ = server.serve_connection(stream, service).await;
        });
    }
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let headers = request.headers();
    if let Err(refusal) = shared.names.check(headers) {
        let (status, why) = match refusal {
            Refusal::Host => (
                StatusCode::FORBIDDEN,
                "this server does not answer to that Host; `--http-host NAME` adds one",
            ),
            Refusal::Origin => (StatusCode::FORBIDDEN, "pages of that Origin may not use this server"),
        };
        return last(text(status, why));
    }
    let shown = headers.get(hyper::header::AUTHORIZATION).map(HeaderValue::as_bytes);
    if !shown.is_some_and(|shown| shared.token.is_in(shown)) {
        let mut response = text(
            StatusCode::UNAUTHORIZED,
            "the token of this server is wanted, as `Authorization: Bearer TOKEN`",
        );
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return last(response);
    }
    if request.uri().path() != PATH {
        return text(StatusCode::NOT_FOUND, "there is nothing here; the server is at /mcp");
    }
    let version = headers.get(VERSION).map(HeaderValue::as_bytes);
    if version.is_some_and(|version| !VERSIONS.iter().any(|known| known.as_bytes() == version)) {
        return text(StatusCode::BAD_REQUEST, "that version of MCP is not spoken here");
    }
    match *request.method() {
        Method::POST => post(shared, request).await,
        Method::DELETE => delete(shared, headers),
        _ => {
            let mut response =
                text(StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST, and DELETE ends a session");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
            response
        }
    }
}

fn delete(shared: &Shared, headers: &HeaderMap) -> Response<Body> {
    match session_id(headers).map(|id| shared.sessions.end(id)) {
        None => text(StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing"),
        Some(false) => text(StatusCode::NOT_FOUND, "there is no such session"),
        Some(true) => empty(StatusCode::NO_CONTENT),
    }
}

async fn post(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let is_json = |value: &HeaderValue| {
        let value = value.as_bytes();
        value
            .split(|byte| *byte == b';')
            .next()
            .is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"application/json"))
    };
    if !head.headers.get(CONTENT_TYPE).is_some_and(is_json) {
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is `application/json`");
    }
    let accepts = |kind: &str| {
        let mut values = head.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        values.any(|value| value.contains(kind) || value.contains("*/*"))
    };
    if !accepts("application/json") || !accepts("text/event-stream") {
        return text(
            StatusCode::NOT_ACCEPTABLE,
            "a client accepts `application/json` and `text/event-stream`",
        );
    }
    // The message has its room until it is parsed; then the request has.
    let (body, room) = match message(body, shared.sessions.room()).await {
        Ok(message) => message,
        Err(refusal) => return refusal,
    };
    let (session, step, is_new) = match session_id(&head.headers) {
        Some(id) => match shared.sessions.find(id) {
            Some(session) => {
                let step = session.accept(&body);
                (session, step, false)
            }
            None => {
                return text(
                    StatusCode::NOT_FOUND,
                    "there is no such session: it has ended; initialize another one",
                );
            }
        },
        None if is_initialize(&body) => {
            let mut inbound = Inbound::new(shared.sessions.room().clone());
            match inbound.accept(&body) {
                // One that cannot begin takes the place of no other.
                step @ Step::Deliver(_) => match shared.sessions.begin(inbound) {
                    Ok(session) => (session, step, true),
                    Err(why) => return text(StatusCode::SERVICE_UNAVAILABLE, &why.to_string()),
                },
                Step::Answer(value) => return json(answer_status(&value), &value),
                Step::Nothing => return empty(StatusCode::ACCEPTED),
            }
        }
        None => {
            return text(
                StatusCode::BAD_REQUEST,
                "the header Mcp-Session-Id is missing, and this is no `initialize`",
            );
        }
    };
    drop((body, room));
    let mut response = match step {
        Step::Answer(value) => json(answer_status(&value), &value),
        Step::Nothing => empty(StatusCode::ACCEPTED),
        Step::Deliver(messages) => {
            let may_take_long = matches!(messages.last(), Some(JsonRpcMessage::Request(request))
                if matches!(request.request, ClientRequest::CallToolRequest(_)));
            match session.deliver(messages).await {
                None => empty(StatusCode::ACCEPTED),
                Some(pending) if may_take_long => stream(pending),
                Some(pending) => whole(pending).await,
            }
        }
    };
    if is_new {
        if let Ok(id) = HeaderValue::from_str(session.id()) {
            response.headers_mut().insert(SESSION, id);
        }
    }
    response
}

/// Reads a message, and takes the room that it needs meanwhile: as much as has come, for a client may say what it likes, and send nothing.
///
/// # Errors
///
/// It is too long, has not come in time, or there is no room: the answer says so.
async fn message(mut body: Incoming, room: &Room) -> Result<(Vec<u8>, Held), Response<Body>> {
    let too_large = || text(StatusCode::PAYLOAD_TOO_LARGE, "a message is 4194304 bytes long at most");
    if body.size_hint().lower() > MOST_MESSAGE as u64 {
        return Err(too_large());
    }
    let busy = || {
        text(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy: there is no room for so large a message at the moment; send it again",
        )
    };
    let mut held = room.take(0).ok_or_else(busy)?;
    let mut bytes = Vec::new();
    let read = async {
        // Into one piece: each frame would take more than its bytes, and a client says how many there are.
        while let Some(frame) = body.frame().await {
            let unreadable = |_| text(StatusCode::BAD_REQUEST, "the body of the request cannot be read");
            let frame = frame.map_err(unreadable)?;
            let part = frame.data_ref().map_or(&[][..], |part| part);
            if bytes.len() + part.len() > MOST_MESSAGE {
                return Err(too_large());
            }
            if !held.grow_to(bytes.len() + part.len()) {
                return Err(busy());
            }
            bytes.extend_from_slice(part);
        }
        Ok(())
    };
    let late = |_| text(StatusCode::REQUEST_TIMEOUT, "the body of the request has not come");
    tokio::time::timeout(PATIENCE, read).await.map_err(late)??;
    Ok((bytes, held))
}

/// Waits for the one answer.
async fn whole(mut pending: Pending) -> Response<Body> {
    loop {
        match pending.next().await {
            Some(message @ (JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))) => {
                let value = serde_json::to_value(message).unwrap_or_default();
                return json(StatusCode::OK, &value);
            }
            Some(JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_)) => {}
            None => {
                return json(
                    StatusCode::OK,
                    &error_object(
                        &Value::Null,
                        -32603,
                        "the session has ended, or the request was cancelled",
                    ),
                );
            }
        }
    }
}

/// Sends notifications as they come, and then the answer.
fn stream(pending: Pending) -> Response<Body> {
    let mut response = Response::new(Events::new(pending).boxed());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(hyper::header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Returns the status of an error of JSON-RPC, which answers a request or what is none.
fn answer_status(value: &Value) -> StatusCode {
    if value["id"].is_null() { StatusCode::BAD_REQUEST } else { StatusCode::OK }
}

/// Returns whether this may begin a session.
fn is_initialize(body: &[u8]) -> bool {
    inbound::read(body).is_ok_and(|(value, _)| value["method"] == "initialize" && !value["id"].is_null())
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|value| value.to_str().ok())
}

fn text(status: StatusCode, message: &str) -> Response<Body> {
    with_body(status, "text/plain; charset=utf-8", format!("{message}\n").into_bytes())
}

fn json(status: StatusCode, value: &Value) -> Response<Body> {
    with_body(status, "application/json", value.to_string().into_bytes())
}

/// Makes a response the last one of its connection: strangers get no more than one.
fn last(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed());
    *response.status_mut() = status;
    response
}

fn with_body(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
