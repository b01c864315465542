//! The proxy listener: what connects speaks HTTP or SOCKS5, and its first byte says which.

use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};

use crate::proxy::Proxy;
use crate::{http, socks};

/// Serves a listener of the sandbox's until it fails.
pub(crate) async fn serve(listener: TcpListener, proxy: &Arc<Proxy>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let proxy = Arc::clone(proxy);
        // What goes wrong in one connection concerns nobody else, and the program inside sees it end.
        tokio::spawn(async move { speak(stream, &proxy).await });
    }
}

async fn speak(stream: TcpStream, proxy: &Arc<Proxy>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => Ok(()),
        _ if first[0] == socks::VERSION => socks::speak(stream, proxy).await,
        _ => http::speak(stream, proxy).await,
    }
}
