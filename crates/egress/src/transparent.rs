//! Connections to an address that stands for a name. The program inside knows of no proxy, so nothing is said to it but in its own protocol.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::audit::{Open, Via};
use crate::inside::{Inside, PATIENCE};
use crate::linger::linger;
use crate::listener::accept;
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::{inspect, tunnel};

/// The ports of HTTP and HTTPS, where clients speak first: what they say is classified before anything is dialled.
const CLIENT_SPEAKS_FIRST: [u16; 2] = [80, 443];

/// How long to wait for what a client says first, to refuse it in its own protocol.
const FIRST_WORD: Duration = Duration::from_millis(200);

/// A name that is meant by who connects to its address.
pub(crate) struct TransparentName {
    name: String,
    last_use: Mutex<Instant>,
}

impl TransparentName {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), last_use: Mutex::new(Instant::now()) }
    }

    /// Notes that it is used.
    pub(crate) fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn last_use(&self) -> Instant {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener for one name on one port.
pub(crate) struct Listener {
    pub(crate) port: u16,
    /// Gone once the name was forgotten.
    pub(crate) meant: Weak<TransparentName>,
    pub(crate) proxy: Arc<Proxy>,
}

impl Listener {
    /// Serves it as long as the name is there.
    pub(crate) async fn serve(self, listener: TcpListener) {
        loop {
            let Ok(stream) = accept(&listener).await else { return };
            let Some(meant) = self.meant.upgrade() else { return };
            meant.touch();
            let (port, proxy) = (self.port, Arc::clone(&self.proxy));
            match proxy.admit() {
                Ok(admission) => {
                    tokio::spawn(async move {
                        let _admission = admission;
                        let spoken = speak(stream, &meant.name, port, &proxy).await;
                        meant.touch();
                        spoken
                    });
                }
                Err(refusal) => {
                    proxy.audit().refused(&Open::new(Via::Transparent, &meant.name, port), &refusal);
                }
            }
        }
    }
}

async fn speak(stream: TcpStream, name: &str, port: u16, proxy: &Arc<Proxy>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if proxy.ends_here(name, port) {
        return inspect::end(stream, Via::Transparent, (name, port), proxy).await;
    }
    let mut inside = Inside::new(stream, name.to_owned(), port, proxy.limits().head);
    if CLIENT_SPEAKS_FIRST.contains(&port) {
        let classified = timeout(PATIENCE, inside.classify()).await;
        if let (Ok(Err(broken)), None) = (classified, inside.refusal()) {
            return Err(broken);
        }
    }
    if inside.refusal().is_none() {
        match proxy.connect(Via::Transparent, name, port).await {
            // What goes wrong in a tunnel is seen at both of its ends.
            Ok(mut outside) => _ = tunnel::pass(&mut inside, &mut outside, proxy.limits().idle).await,
            Err(refusal) => {
                let _ = timeout(FIRST_WORD, inside.classify()).await;
                return refuse(inside, proxy, name, port, &refusal).await;
            }
        }
    }
    let Some(reason) = inside.refusal() else { return Ok(()) };
    let refusal = Refusal::Mismatch(reason.to_owned());
    proxy.audit().refused(&Open::new(Via::Transparent, name, port), &refusal);
    refuse(inside, proxy, name, port, &refusal).await
}

/// Says in the client's own protocol that it is refused, where it has a word for that, and closes.
async fn refuse(
    inside: Inside<TcpStream>,
    proxy: &Proxy,
    name: &str,
    port: u16,
    refusal: &Refusal,
) -> io::Result<()> {
    let (protocol, mut stream) = inside.into_parts();
    let answer = refusal.spoken(protocol, proxy.sandbox(), name, port);
    if answer.is_empty() {
        return Ok(());
    }
    stream.write_all(&answer).await?;
    linger(stream).await
}
