//! Forwarding: a request to its server and the answer back, without what was for this proxy.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy::rules::network::{Scheme, Wanted};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::body::{Body, Leaving, passing};
use crate::headers::{close_after, strip};
use crate::limits::MAX_HEAD;
use crate::outside::{Access, Outside};
use crate::parent::ParentProxy;
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::request::Server;
use crate::sender::Stream;
use crate::serving::BUFFER;
use crate::tls;
use crate::traffic::Traffic;

/// For how long a connection is kept for the next request. Servers close theirs after 5 seconds and more, and what is sent to a server
/// while it closes is lost.
const KEPT: Duration = Duration::from_secs(3);

/// How much of an answer is held at most that the client does not read, by HTTP/2. What the system holds of other connections grows to more.
const WINDOW: u32 = 1 << 20;

/// The connection to a server that a client's last request was sent on, kept for its next one.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<ServerConnection>>);

/// What has to run for a connection to be one.
type Driven = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// What sends requests on it, by the HTTP that the server speaks.
enum RequestSender {
    Http1(http1::SendRequest<Leaving>),
    Http2(http2::SendRequest<Leaving>),
}

/// A connection to a server, for one request at a time.
pub(crate) struct ServerConnection {
    asked: Server,
    access: Access,
    traffic: Arc<Traffic>,
    /// The proxy on the way that forwards what is plain itself; tunnels need none.
    parent: Option<Arc<ParentProxy>>,
    sender: RequestSender,
    ended: JoinHandle<Result<(), Refusal>>,
    last_use: Instant,
}

impl Kept {
    /// Keeps a connection, and drops the one before.
    pub(crate) fn put(&self, connection: ServerConnection) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
    }

    /// Takes the connection to a server, if rules allow to send this on it.
    pub(crate) async fn take(&self, asked: &Server, wanted: &Wanted) -> Option<ServerConnection> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut kept = kept.filter(|kept| kept.asked == *asked && kept.last_use.elapsed() < KEPT)?;
        kept.sender.ready().await.ok()?;
        kept.access.admits(wanted).then_some(kept)
    }
}

impl ServerConnection {
    /// Speaks HTTP, over TLS where that is asked for, on a connection that was allowed.
    pub(crate) async fn open(outside: Outside, asked: &Server, proxy: &Proxy) -> Result<Self, Refusal> {
        let idle = proxy.limits().idle;
        let (ends, traffic, access) = (outside.ends(idle), outside.traffic(), outside.access());
        let parent = outside.parent().filter(|_| asked.scheme == Scheme::Http);
        let stream: Box<dyn Stream> = match asked.scheme {
            Scheme::Http => Box::new(outside),
            Scheme::Https => {
                let connected = tls::connect(proxy.tls(), asked.host.clone(), outside);
                let silent = || Refusal::Tls("the server does not answer".to_owned());
                let secured = timeout(proxy.limits().connect, connected).await;
                let secured = secured.unwrap_or_else(|_| Err(silent()));
                Box::new(secured.map_err(|why| why.although(&access.rule()))?)
            }
        };
        let (sender, connection) = RequestSender::new(stream).await.map_err(Refusal::unreachable)?;
        let ended = tokio::spawn(async move {
            let ended = |error: std::io::Error| match error.kind() {
                std::io::ErrorKind::TimedOut => Refusal::Silent(idle),
                _ => Refusal::unreachable(error),
            };
            tokio::select! { _ = connection => Ok(()), error = ends => Err(ended(error)) }
        });
        let (asked, last_use) = (asked.clone(), Instant::now());
        Ok(Self { asked, access, traffic, parent, sender, ended, last_use })
    }

    /// Returns the rule that has allowed what is sent now.
    pub(crate) fn rule(&self) -> String {
        self.access.rule()
    }

    /// Sends a request for a whole URL, and returns the answer, and this connection where it may have a next one. Bodies pass as they
    /// arrive.
    pub(crate) async fn forward(
        mut self,
        request: Request<Incoming>,
    ) -> Result<(Response<Body>, Option<Self>), Refusal> {
        self.traffic.expect_answer();
        let (answered, is_last) = self.sender.send(request, self.parent.as_deref()).await;
        let response = match answered {
            Ok(response) => response,
            Err(error) => {
                drop(self.sender);
                self.ended.await.unwrap_or(Ok(()))?;
                return Err(Refusal::unreachable(error));
            }
        };
        self.traffic.answered();
        self.last_use = Instant::now();
        let (mut head, body) = response.into_parts();
        strip(&mut head.headers);
        head.version = Version::HTTP_11;
        Ok((Response::from_parts(head, passing(body)), (!is_last).then_some(self)))
    }
}

impl RequestSender {
    async fn new(stream: Box<dyn Stream>) -> hyper::Result<(Self, Driven)> {
        if stream.version() == Version::HTTP_2 {
            let mut client = http2::Builder::new(TokioExecutor::new());
            client.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
            client
                .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
                .max_send_buf_size(MAX_HEAD);
            let (sender, connection) = client.handshake(TokioIo::new(stream)).await?;
            return Ok((Self::Http2(sender), Box::pin(connection)));
        }
        let mut client = http1::Builder::new();
        client.preserve_header_case(true).max_buf_size(BUFFER);
        let (sender, connection) = client.handshake(TokioIo::new(stream)).await?;
        Ok((Self::Http1(sender), Box::pin(connection)))
    }

    async fn ready(&mut self) -> hyper::Result<()> {
        match self {
            Self::Http1(sender) => sender.ready().await,
            Self::Http2(sender) => sender.ready().await,
        }
    }

    /// Sends a request, and returns the answer, and whether none may follow.
    async fn send(
        &mut self,
        request: Request<Incoming>,
        parent: Option<&ParentProxy>,
    ) -> (hyper::Result<Response<Incoming>>, bool) {
        let (mut head, body) = request.into_parts();
        // First, because `Connection` may name any header.
        strip(&mut head.headers);
        let body = Leaving(body);
        match self {
            Self::Http1(sender) => {
                let (mut head, body) = onward(Request::from_parts(head, body), parent).into_parts();
                let is_last = close_after(&mut head.headers, &body);
                (sender.send_request(Request::from_parts(head, body)).await, is_last)
            }
            Self::Http2(sender) => {
                // The host that was decided about is that of the URL.
                head.headers.remove(HOST);
                head.version = Version::HTTP_2;
                (sender.send_request(Request::from_parts(head, body)).await, false)
            }
        }
    }
}

/// Turns a request to a proxy into one to the server: the path alone, the host of the URL, and nothing that was for the proxy. For
/// another proxy on the way the URL stays whole.
fn onward<B>(request: Request<B>, parent: Option<&ParentProxy>) -> Request<B> {
    let (mut head, body) = request.into_parts();
    // Each end has its own version (RFC 9110, section 2.5); what an older one lacks is made up for.
    head.version = Version::HTTP_11;
    // The host that was decided about, whatever the header says (RFC 9112, section 3.2.2).
    let host = head.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        head.headers.insert(HOST, host);
    }
    match parent {
        None => {
            let path = std::mem::take(&mut head.uri).into_parts().path_and_query;
            head.uri = path.map_or_else(|| Uri::from_static("/"), Uri::from);
        }
        Some(parent) => {
            let value = parent.authorization().and_then(|value| HeaderValue::from_str(value).ok());
            if let Some(mut value) = value {
                value.set_sensitive(true);
                head.headers.insert(PROXY_AUTHORIZATION, value);
            }
        }
    }
    Request::from_parts(head, body)
}
