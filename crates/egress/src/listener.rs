//! The proxy listener: what connects speaks HTTP or SOCKS5, and its first byte says which.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::audit::{Open, Via};
use crate::linger::{LINGER, linger};
use crate::proxy::{Admission, Proxy};
use crate::refusal::Refusal;
use crate::{http, http2, socks};

/// How many connections too many are told so at once; others just close.
const TURNED_AWAY: usize = 32;

/// How long to wait when there is no descriptor for another connection.
const RETRY: Duration = Duration::from_millis(50);

/// How a client of TLS begins: a record of a handshake.
const TLS: u8 = 0x16;

impl Proxy {
    /// Serves the explicit listener, to which programs speak HTTP or SOCKS5.
    ///
    /// # Errors
    ///
    /// The listener is none.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> io::Result<()> {
        let turned_away = Arc::new(Semaphore::new(TURNED_AWAY));
        loop {
            let stream = accept(&listener).await?;
            let proxy = Arc::clone(&self);
            // What goes wrong in one connection concerns nobody else, and the program inside sees it end.
            match proxy.admit() {
                Ok(admission) => {
                    tokio::spawn(async move { speak(stream, &proxy, admission).await });
                }
                Err(refusal) => {
                    proxy.audit().refused(&Open::new(Via::Http, "", 0), &refusal);
                    if let Ok(permit) = Arc::clone(&turned_away).try_acquire_owned() {
                        tokio::spawn(async move {
                            let _permit = permit;
                            timeout(LINGER, turn_away(stream, &refusal)).await
                        });
                    }
                }
            }
        }
    }
}

/// Accepts the next connection. A client that has gone, or a lack of descriptors or memory, does not end the listener.
pub(crate) async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    loop {
        let error = match listener.accept().await {
            Ok((stream, _)) => return Ok(stream),
            Err(error) => error,
        };
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP) => return Err(error),
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => sleep(RETRY).await,
            // What has happened on the network to the connection that waited: see accept(2).
            _ => {}
        }
    }
}

async fn speak(mut stream: TcpStream, proxy: &Arc<Proxy>, admission: Admission) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut first = [0; http2::PREFACE.len()];
    let read = timeout(proxy.limits().head, stream.peek(&mut first)).await??;
    match (read, first[0]) {
        (0, _) => Ok(()),
        (_, socks::VERSION) => socks::speak(stream, proxy, admission).await,
        (_, TLS) => {
            let refused =
                Refusal::Malformed("TLS was spoken to the proxy: the URL of this proxy begins with http://");
            proxy.audit().refused(&Open::new(Via::Http, "", 0), &refused);
            stream.write_all(&refused.to_http(None, "", 0)).await?;
            linger(stream).await
        }
        _ if first == http2::PREFACE => http2::speak(stream, proxy, admission).await,
        _ => http::speak(stream, proxy, admission).await,
    }
}

/// Refuses a connection in the protocol that it speaks.
async fn turn_away(mut stream: TcpStream, refusal: &Refusal) -> io::Result<()> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => return Ok(()),
        _ if first[0] == socks::VERSION => stream.write_all(&socks::NO_METHOD_REPLY).await?,
        _ => stream.write_all(&refusal.to_http(None, "", 0)).await?,
    }
    linger(stream).await
}
