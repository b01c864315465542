//! HTTP/2 as to a proxy, where a client begins with it unasked (RFC 9113, section 3.3). Each stream is a request like one of
//! HTTP/1.1, CONNECT too, and counts as a connection.

use std::error::Error;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::audit::{Open, Via};
use crate::body::Body;
use crate::forward::Kept;
use crate::limits::MAX_HEAD;
use crate::proxy::{Admission, Proxy};
use crate::refusal::Refusal;
use crate::{http, serving};

/// How a client begins (RFC 9113, section 3.4), as far as no method of HTTP/1 does.
pub(crate) const PREFACE: &[u8] = b"PRI ";

/// How many requests one connection may have at a time.
const STREAMS: u32 = 256;

/// How much of what a client sends is held of one stream at most. Those of a connection do not wait for each other.
const WINDOW: u32 = 64 << 10;

/// Answers the requests of one connection.
pub(crate) async fn speak(stream: TcpStream, proxy: &Arc<Proxy>, _admission: Admission) -> io::Result<()> {
    let own = stream.local_addr()?;
    let used = Arc::new(());
    let serve = service_fn(|request| {
        let (proxy, used) = (Arc::clone(proxy), Arc::clone(&used));
        async move {
            Ok::<_, hyper::Error>(match proxy.admit() {
                Ok(admission) => {
                    let held = (admission, used);
                    holding(http::answer(request, &proxy, own, &Kept::default(), held.clone()).await, held)
                }
                Err(refusal) => {
                    proxy.audit().refused(&Open::new(Via::Http, "", 0), &refusal);
                    serving::refused(&refusal, &proxy, "", 0)
                }
            })
        }
    });
    let mut server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    server.timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    server.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW * STREAMS);
    server.max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX)).max_send_buf_size(MAX_HEAD);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), serve));
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = unused(&used, proxy.limits().kept) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    served.map_err(|error| {
        // What hyper says is that it was HTTP/2; what was wrong is said beneath.
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        proxy.audit().refused(&Open::new(Via::Http, "", 0), &Refusal::Unparsed(reason));
        io::Error::other(error)
    })
}

/// Holds something for as long as the body of an answer is there.
fn holding(response: Response<Body>, held: impl Send + Sync + 'static) -> Response<Body> {
    response.map(|body| {
        let holding = move |frame| {
            let _ = &held;
            frame
        };
        body.map_frame(holding).boxed()
    })
}

/// Waits until a connection had no request for so long.
async fn unused(used: &Arc<()>, limit: Duration) {
    loop {
        sleep(limit).await;
        if Arc::strong_count(used) == 1 {
            return;
        }
    }
}
