//! A server that speaks HTTP/2 over TLS, does what a header of each request says, and records what it has seen.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::support::PATIENCE;
use crate::tls::acceptor;

/// How large an answer to `x-do: large` is.
pub(crate) const LARGE: usize = 4 << 20;

/// What a server has seen of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The number of its connection.
    pub(crate) connection: usize,
    pub(crate) head: String,
    /// None: it has not ended, or its stream was reset.
    pub(crate) body: Option<String>,
    /// Its stream was reset before it was answered.
    pub(crate) reset: bool,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

struct Unanswered(Arc<Mutex<Vec<Seen>>>, usize);

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.lock().unwrap()[self.1].reset = true;
    }
}

impl Server {
    /// Serves connections that end after so many requests: the client is told so, and what is under way is answered.
    pub(crate) async fn new(requests: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { port: listener.local_addr().unwrap().port(), seen: Arc::default() };
        let shared = server.clone();
        tokio::spawn(async move {
            let acceptor = acceptor(&[b"h2", b"http/1.1"]);
            for connection in 1.. {
                let stream = listener.accept().await.unwrap().0;
                let (acceptor, shared) = (acceptor.clone(), shared.clone());
                tokio::spawn(async move {
                    let stream = acceptor.accept(stream).await.unwrap();
                    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
                    let (served, abort, last) = (AtomicUsize::new(0), Arc::new(Notify::new()), Notify::new());
                    let serve = service_fn(|request| {
                        if served.fetch_add(1, Relaxed) + 1 == requests {
                            last.notify_one();
                        }
                        shared.clone().answer(connection, request, Arc::clone(&abort))
                    });
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let mut served = std::pin::pin!(server.serve_connection(TokioIo::new(stream), serve));
                    tokio::select! {
                        _ = served.as_mut() => return,
                        () = abort.notified() => return,
                        () = last.notified() => served.as_mut().graceful_shutdown(),
                    }
                    let _ = served.await;
                });
            }
        });
        server
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until what was seen is as wanted.
    pub(crate) async fn until(&self, wanted: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let wait = async {
            while !wanted(&self.seen()) {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{:?}", self.seen()));
        self.seen()
    }

    async fn answer(
        self,
        connection: usize,
        request: Request<Incoming>,
        abort: Arc<Notify>,
    ) -> Result<Response<BoxBody<Bytes, hyper::Error>>, Infallible> {
        let (head, body) = request.into_parts();
        let number = {
            let mut seen = self.seen.lock().unwrap();
            let head = format!("{} {} {:?} {:?}", head.method, head.uri, head.version, head.headers);
            seen.push(Seen { connection, head, body: None, reset: false });
            seen.len() - 1
        };
        let unanswered = Unanswered(Arc::clone(&self.seen), number);
        let whole = |text: Bytes| Full::new(text).map_err(|never| match never {}).boxed();
        let what = head.headers.get("x-do").map_or("answer", |what| what.to_str().unwrap());
        let answer = match what {
            "early" => whole("early".into()),
            "echo" => body.boxed(),
            "large" => whole(vec![b'x'; LARGE].into()),
            "hang" => std::future::pending().await,
            "abort" => {
                abort.notify_one();
                std::future::pending().await
            }
            _ => {
                let body = body.collect().await;
                if let Some(trailers) = body.as_ref().ok().and_then(|body| body.trailers()) {
                    let seen = &mut self.seen.lock().unwrap()[number];
                    seen.head = format!("{} then {trailers:?}", seen.head);
                }
                let body = body.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
                self.seen.lock().unwrap()[number].body = Some(String::from_utf8(body).unwrap());
                whole(format!("{connection}").into())
            }
        };
        std::mem::forget(unanswered);
        Ok(Response::new(answer))
    }
}
