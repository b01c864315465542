//! Connections to the upstreams of routes: dialled as others are, with TLS where the route says so, and kept for the next request. A server
//! that speaks HTTP/2 gets one connection for all requests with one credential.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::{Uri, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use policy::rules::network::Wanted;
use policy::rules::verdict::{Origin, Verdict};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::audit::{Audit, Open, Via};
use crate::body::Leaving;
use crate::current::Live;
use crate::dial::Dialer;
use crate::limits::{Limits, MAX_HEAD};
use crate::outside::Outside;
use crate::refusal::Refusal;
use crate::route::{Credential, Route, Upstream};
use crate::tls;

/// How many connections to one upstream are kept although nobody uses them.
const KEPT: usize = 8;

/// For how long.
const KEPT_FOR: Duration = Duration::from_secs(90);

/// How much of an answer is held at most that a program inside does not read, by HTTP/2. The window of a connection is so large that those
/// of its streams do not wait for each other.
const WINDOW: u32 = 256 << 10;

/// How large a window may be (RFC 9113, section 6.9.1).
const MAX_WINDOW: u32 = (1 << 31) - 1;

/// How often a server is asked by HTTP/2 whether it is still there, while it owes an answer, and how long that may take. It may think for
/// minutes, and what is between may have forgotten the connection.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);

/// What allows a connection to an upstream.
const NAMED: &str = "a route names it";

/// What sends requests to one upstream with one credential.
pub(crate) type Sender = Client<Connector, Leaving>;

/// What sends requests to upstreams. No two credentials share a connection.
pub(crate) struct Senders {
    connector: Connector,
    made: Mutex<Vec<(Upstream, Option<Credential>, Sender)>>,
}

/// Opens connections to upstreams.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) live: Live,
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) tls: TlsConnector,
    pub(crate) limits: Limits,
}

/// Either end of what is sent: with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    /// Returns which HTTP is spoken.
    fn version(&self) -> Version;
}

impl Stream for Outside {
    fn version(&self) -> Version {
        Version::HTTP_11
    }
}

impl Stream for TlsStream<Outside> {
    fn version(&self) -> Version {
        tls::version(self.get_ref().1)
    }
}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        match (**self).version() {
            Version::HTTP_2 => Connected::new().negotiated_h2(),
            _ => Connected::new(),
        }
    }
}

impl Senders {
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector, made: Mutex::default() }
    }

    /// Returns what sends requests of a route.
    pub(crate) fn of(&self, route: &Route) -> Sender {
        let current = self.connector.live.get();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody sends with any more ends with its last answer.
        made.retain(|(upstream, credential, _)| {
            current.routes.iter().any(|route| route.upstream == *upstream && route.credential == *credential)
        });
        let (upstream, credential) = (&route.upstream, &route.credential);
        let kept = made.iter().find(|made| made.0 == *upstream && made.1 == *credential);
        if let Some((.., sender)) = kept {
            return sender.clone();
        }
        let sender = self.connector.clone().sender();
        made.push((upstream.clone(), credential.clone(), sender.clone()));
        sender
    }
}

impl Connector {
    /// Makes what sends requests by these connections.
    fn sender(self) -> Sender {
        let streams = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        Client::builder(TokioExecutor::new())
            .pool_idle_timeout(KEPT_FOR)
            .pool_max_idle_per_host(KEPT)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http1_max_buf_size(2 * MAX_HEAD)
            .http2_initial_stream_window_size(WINDOW)
            .http2_initial_connection_window_size(WINDOW.saturating_mul(streams).clamp(WINDOW, MAX_WINDOW))
            .http2_max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
            .http2_max_send_buf_size(MAX_HEAD)
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PONG)
            .build(self)
    }

    async fn connect(self, uri: Uri) -> Result<TokioIo<Box<dyn Stream>>, Refusal> {
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let https = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        let open = Open::new(Via::Route, &host, port);
        self.audit.pass(0, self.limits.bytes)?;
        let wanted = Wanted::Requests;
        let mut dialled = self.dialer.dial(&self.live.get().upstreams, &host, port, &wanted).await?;
        dialled.verdict = Verdict::allow(NAMED, Origin::Default);
        let outside = Outside::new(dialled, open, self.audit, self.limits.bytes, self.live, wanted);
        if !https {
            return Ok(TokioIo::new(Box::new(outside)));
        }
        let secured = timeout(self.limits.connect, tls::connect(&self.tls, host, outside)).await;
        let secured = secured.unwrap_or_else(|_| Err(Refusal::Tls("the server does not answer".to_owned())));
        let secured = secured.map_err(|why| why.although(NAMED))?;
        Ok(TokioIo::new(Box::new(secured)))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = Refusal;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Refusal>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}
