//! SOCKS5 (RFC 1928): without a password, since whoever reaches the listener is in the sandbox, and to connect only.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::audit::Via;
use crate::proxy::{Admission, Proxy};
use crate::refusal::Refusal;
use crate::{explicit, inspect};

/// The first byte of every message.
pub(crate) const VERSION: u8 = 5;

const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;
const SUCCEEDED: u8 = 0;
const COMMAND_UNSUPPORTED: u8 = 7;
const ADDRESS_UNSUPPORTED: u8 = 8;

/// What a client is told that has no method which is known here.
pub(crate) const NO_METHOD_REPLY: [u8; 2] = [VERSION, 0xff];

/// What has been read of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Read<T> {
    Whole(T),
    /// At least so many bytes are missing.
    Missing(usize),
}

/// What a request asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SocksRequest {
    /// A connection to a host, which is not yet decided about.
    Host(String, u16),
    /// Nothing that is done here, with the reply that says so.
    Unsupported(u8),
}

/// Parses a greeting: whether the client does without a password.
pub fn greeting(bytes: &[u8]) -> Read<bool> {
    match bytes {
        [_version, count, methods @ ..] if methods.len() >= usize::from(*count) => {
            Read::Whole(methods[..usize::from(*count)].contains(&NO_AUTHENTICATION))
        }
        [_version, count, methods @ ..] => Read::Missing(usize::from(*count) - methods.len()),
        _ => Read::Missing(2 - bytes.len()),
    }
}

/// Parses a request.
pub fn request(bytes: &[u8]) -> Read<SocksRequest> {
    let (command, kind, rest) = match bytes {
        [version, ..] if *version != VERSION => {
            return Read::Whole(SocksRequest::Unsupported(COMMAND_UNSUPPORTED));
        }
        [_version, command, _reserved, kind, rest @ ..] => (*command, *kind, rest),
        _ => return Read::Missing(4 - bytes.len()),
    };
    let (host, port) = match (kind, rest) {
        (1, [a, b, c, d, port @ ..]) => (Ipv4Addr::new(*a, *b, *c, *d).to_string(), port),
        (1, _) => return Read::Missing(6 - rest.len()),
        (3, [length, rest @ ..]) => match rest.split_at_checked(usize::from(*length)) {
            // What is no text is no host, and is refused as one.
            Some((name, port)) => (String::from_utf8_lossy(name).into_owned(), port),
            None => return Read::Missing(usize::from(*length) + 2 - rest.len()),
        },
        (3, []) => return Read::Missing(1),
        (4, _) => match rest.split_first_chunk::<16>() {
            Some((address, port)) => (Ipv6Addr::from(*address).to_string(), port),
            None => return Read::Missing(18 - rest.len()),
        },
        _ => return Read::Whole(SocksRequest::Unsupported(ADDRESS_UNSUPPORTED)),
    };
    match port {
        [high, low, ..] if command == CONNECT => {
            Read::Whole(SocksRequest::Host(host, u16::from_be_bytes([*high, *low])))
        }
        [_, _, ..] => Read::Whole(SocksRequest::Unsupported(COMMAND_UNSUPPORTED)),
        _ => Read::Missing(2 - port.len()),
    }
}

/// Answers the one request of a connection.
pub(crate) async fn speak(
    mut stream: TcpStream,
    proxy: &Arc<Proxy>,
    _admission: Admission,
) -> io::Result<()> {
    let request = timeout(proxy.limits().head, read_request(&mut stream)).await??;
    let (host, port) = match request {
        Some(SocksRequest::Host(host, port)) => (host, port),
        Some(SocksRequest::Unsupported(reply)) => return answer(&mut stream, reply).await,
        None => return stream.write_all(&NO_METHOD_REPLY).await,
    };
    if proxy.ends_here(&host, port) {
        answer(&mut stream, SUCCEEDED).await?;
        return inspect::end(stream, Via::Socks, (&host, port), proxy).await;
    }
    match proxy.connect(Via::Socks, &host, port).await {
        Ok(outside) => {
            answer(&mut stream, SUCCEEDED).await?;
            explicit::pass(stream, outside, Via::Socks, (&host, port), proxy).await
        }
        Err(refusal) => answer(&mut stream, refusal.socks_reply()).await,
    }
}

/// Reads the greeting and the request. `None` where the client has no method that is known here.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<SocksRequest>> {
    if !read(stream, greeting).await? {
        return Ok(None);
    }
    stream.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    read(stream, request).await.map(Some)
}

/// Reads one message and not a byte more: what follows is for the host.
async fn read<T>(stream: &mut TcpStream, parse: impl Fn(&[u8]) -> Read<T>) -> io::Result<T> {
    let mut bytes = Vec::new();
    loop {
        match parse(&bytes) {
            Read::Whole(message) => return Ok(message),
            Read::Missing(count) => {
                let had = bytes.len();
                bytes.resize(had + count, 0);
                stream.read_exact(&mut bytes[had..]).await?;
            }
        }
    }
}

/// Replies. The address that is bound concerns nobody inside.
async fn answer(stream: &mut TcpStream, reply: u8) -> io::Result<()> {
    stream.write_all(&[VERSION, reply, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

impl Refusal {
    /// Returns the reply that says it (RFC 1928, section 6).
    fn socks_reply(&self) -> u8 {
        match self {
            Self::Failed { why, .. } => why.socks_reply(),
            Self::Rule(_) | Self::Request(..) | Self::Mismatch(_) => 2,
            Self::Unreachable(error) if error.kind() == io::ErrorKind::ConnectionRefused => 5,
            Self::Unresolved(_) | Self::Unreachable(_) | Self::Silent(_) => 4,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a message as it asks for bytes, and returns what it is with what is left over.
    fn fed<T>(bytes: &[u8], parse: impl Fn(&[u8]) -> Read<T>) -> Option<(T, usize)> {
        let mut count = 0;
        loop {
            match parse(bytes.get(..count)?) {
                Read::Whole(message) => return Some((message, bytes.len() - count)),
                Read::Missing(more) => count += more,
            }
        }
    }

    #[test]
    fn a_message_is_read_to_its_last_byte_and_no_further() {
        let host = |host: &str, port| SocksRequest::Host(host.to_owned(), port);
        for (bytes, expected) in [
            (&b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50rest"[..], host("127.0.0.1", 80)),
            (b"\x05\x01\x00\x03\x01a\x01\xbbrest", host("a", 443)),
            (b"\x05\x01\x00\x03\x00\x01\xbbrest", host("", 443)),
            (b"\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x16rest", host("::1", 22)),
            (b"\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50rest", SocksRequest::Unsupported(COMMAND_UNSUPPORTED)),
            (b"\x05\x01\x00\x02rest", SocksRequest::Unsupported(ADDRESS_UNSUPPORTED)),
        ] {
            assert_eq!(fed(bytes, request), Some((expected, 4)), "{bytes:?}");
            assert_eq!(fed(&bytes[..bytes.len() - 5], request), None, "{bytes:?}");
        }
        assert_eq!(fed(b"\x05\x02\x01\x00rest", greeting), Some((true, 4)));
        assert_eq!(fed(b"\x05\x01\x02rest", greeting), Some((false, 4)));
        assert_eq!(fed(b"\x05\x00rest", greeting), Some((false, 4)));
        assert_eq!(fed(b"\x05\x02\x00", greeting), None);
    }
}
