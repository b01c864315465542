//! Connections to the upstreams of routes: dialled as others are, with TLS where the route says so, and kept for the next request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use policy::rules::network::Wanted;
use policy::rules::verdict::{Origin, Verdict};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::audit::{Audit, Open, Via};
use crate::current::Live;
use crate::dial::Dialer;
use crate::limits::{Limits, MAX_HEAD};
use crate::outside::Outside;
use crate::refusal::Refusal;
use crate::tls;

/// How many connections to one upstream are kept although nobody uses them.
const KEPT: usize = 8;

/// For how long.
const KEPT_FOR: Duration = Duration::from_secs(90);

/// What sends requests to upstreams.
pub(crate) type Sender = Client<Connector, Incoming>;

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
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Connector {
    /// Makes what sends requests by these connections.
    pub(crate) fn sender(self) -> Sender {
        Client::builder(TokioExecutor::new())
            .pool_idle_timeout(KEPT_FOR)
            .pool_max_idle_per_host(KEPT)
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(2 * MAX_HEAD)
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
        dialled.verdict = Verdict::allow("a route names it", Origin::Default);
        let outside = Outside::new(dialled, open, self.audit, self.limits.bytes, self.live, wanted);
        if !https {
            return Ok(TokioIo::new(Box::new(outside)));
        }
        let secured = timeout(self.limits.connect, tls::connect(&self.tls, host, outside)).await;
        let secured =
            secured.unwrap_or_else(|_| Err(Refusal::Tls("the server does not answer".to_owned())))?;
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
