//! SOCKS5 (RFC 1928): without a password, since whoever reaches the listener is in the sandbox, and to connect only.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::audit::Via;
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::tunnel;

/// The first byte of every message.
pub(crate) const VERSION: u8 = 5;

const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const SUCCEEDED: u8 = 0;
const COMMAND_UNSUPPORTED: u8 = 7;
const ADDRESS_UNSUPPORTED: u8 = 8;

/// How long a request may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What a request asks for.
enum Asked {
    Host(String, u16),
    /// Nothing that is done here, with the reply that says so.
    Unsupported(u8),
}

pub(crate) async fn speak(mut stream: TcpStream, proxy: &Arc<Proxy>) -> io::Result<()> {
    let asked = timeout(REQUEST_TIMEOUT, request(&mut stream)).await.map_err(io::Error::from)??;
    let dialled = match asked {
        Some(Asked::Host(host, port)) => proxy.connect(Via::Socks, &host, port).await,
        Some(Asked::Unsupported(reply)) => return answer(&mut stream, reply).await,
        None => return Ok(()),
    };
    match dialled {
        Ok(mut outside) => {
            answer(&mut stream, SUCCEEDED).await?;
            tunnel::pass(&mut stream, &mut outside).await
        }
        Err(refusal) => answer(&mut stream, refusal.socks_reply()).await,
    }
}

/// Reads the greeting and the request. `None` where the client has no method that is known here, which it is told.
async fn request(stream: &mut TcpStream) -> io::Result<Option<Asked>> {
    let _version = stream.read_u8().await?;
    let mut methods = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Ok(None);
    }
    stream.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let [version, command, _reserved, kind] = stream.read_u32().await?.to_be_bytes();
    if version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let host = match kind {
        1 => Ipv4Addr::from(stream.read_u32().await?).to_string(),
        3 => {
            let mut name = vec![0; stream.read_u8().await?.into()];
            stream.read_exact(&mut name).await?;
            // What is no text is no host, and is refused as one.
            String::from_utf8_lossy(&name).into_owned()
        }
        4 => Ipv6Addr::from(stream.read_u128().await?).to_string(),
        _ => return Ok(Some(Asked::Unsupported(ADDRESS_UNSUPPORTED))),
    };
    let port = stream.read_u16().await?;
    Ok(Some(if command == CONNECT {
        Asked::Host(host, port)
    } else {
        Asked::Unsupported(COMMAND_UNSUPPORTED)
    }))
}

/// Replies. The address that is bound concerns nobody inside.
async fn answer(stream: &mut TcpStream, reply: u8) -> io::Result<()> {
    stream.write_all(&[VERSION, reply, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

impl Refusal {
    /// Returns the reply that says it (RFC 1928, section 6).
    fn socks_reply(&self) -> u8 {
        match self {
            Self::Rule(_) => 2,
            Self::Unresolved(_) | Self::Unreachable(_) => 4,
            Self::Malformed(_) => 1,
        }
    }
}
