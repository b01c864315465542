//! The DNS server inside: it answers each name that rules allow with an address of its own, and asks nobody else.
//!
//! A query never leaves, so nothing can be sent out in names. A connection to a name below a wildcard does have that name looked up
//! outside when it is dialled, as it has through the proxy listener: whoever may connect to every name below `*.example.org` may tell
//! the name servers of example.org something.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use policy::rules::network::Host;
use policy::rules::verdict::{Origin, Verdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use self::message::{DnsAnswer, DnsQuestion, Family, Received, Subject};
use crate::listener::accept;
use crate::names::Names;
use crate::refusal::Refusal;

pub mod message;

/// How much of a query is received: one byte more than may be, so that what is too large is seen to be.
const RECEIVED: usize = message::MAX_QUERY as usize + 1;

/// How many queries are answered at a time; more are dropped, and come again.
const MAX_QUERIES: usize = 256;

/// How many connections there are at a time; more wait.
const MAX_CONNECTIONS: usize = 64;

/// How long a connection may be idle, or take to send a query or to read an answer.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves the two sockets until one of them fails.
///
/// # Errors
///
/// A socket cannot receive any more.
pub async fn serve(names: Arc<Names>, udp: UdpSocket, tcp: TcpListener) -> io::Result<()> {
    tokio::try_join!(serve_packets(&names, udp), serve_connections(&names, tcp)).map(drop)
}

async fn serve_packets(names: &Arc<Names>, socket: UdpSocket) -> io::Result<()> {
    let (socket, places) = (Arc::new(socket), Arc::new(Semaphore::new(MAX_QUERIES)));
    let mut buffer = [0; RECEIVED];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await?;
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (names, socket, query) = (Arc::clone(names), Arc::clone(&socket), buffer[..length].to_vec());
        tokio::spawn(async move {
            let _place = place;
            if let Some(reply) = answer(&names, &query).await {
                // Whoever does not get it asks again.
                let _ = socket.send_to(&reply, from).await;
            }
        });
    }
}

async fn serve_connections(names: &Arc<Names>, listener: TcpListener) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
        let stream = accept(&listener).await?;
        let names = Arc::clone(names);
        tokio::spawn(async move {
            let _place = place;
            converse(&names, stream).await
        });
    }
}

/// Answers queries one after the other, each behind its length (RFC 7766).
async fn converse(names: &Names, mut stream: TcpStream) -> io::Result<()> {
    loop {
        let Some(query) = timeout(TCP_TIMEOUT, receive(&mut stream)).await?? else { return Ok(()) };
        let Some(reply) = answer(names, &query).await else { return Ok(()) };
        let length = u16::try_from(reply.len()).map_err(io::Error::other)?;
        let framed = [&length.to_be_bytes(), reply.as_slice()].concat();
        timeout(TCP_TIMEOUT, stream.write_all(&framed)).await??;
        if query.len() == RECEIVED {
            // The rest was not read.
            return Ok(());
        }
    }
}

/// Receives a query, cut where it is too large. `None` when the client has closed.
async fn receive(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let length = match stream.read_u16().await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        length => usize::from(length?),
    };
    let mut query = vec![0; length.min(RECEIVED)];
    stream.read_exact(&mut query).await?;
    Ok(Some(query))
}

/// Answers a message. `None` where it is no query.
async fn answer(names: &Names, bytes: &[u8]) -> Option<Vec<u8>> {
    match message::read(bytes) {
        Received::Ignored => None,
        Received::Refused(reply) => Some(reply),
        Received::Question(question) => Some(question.reply(&find(names, &question).await)),
    }
}

async fn find(names: &Names, question: &DnsQuestion) -> DnsAnswer {
    match question.subject() {
        Subject::Root => DnsAnswer::Empty,
        Subject::Reverse(Some(address)) if address.is_loopback() => name_of(names, address),
        Subject::Reverse(_) => DnsAnswer::NoSuchName,
        Subject::NotAHost(name, error) => {
            names.refused(&name, Verdict::deny(error.to_string(), Origin::Default));
            DnsAnswer::NoSuchName
        }
        // The sandbox's own loopback, whatever the rules say of the host's (RFC 6761, section 6.3).
        Subject::Host(host, family) if host.is_localhost() => match family {
            Family::V4 => DnsAnswer::Address(Ipv4Addr::LOCALHOST.into()),
            Family::V6 => DnsAnswer::Address(Ipv6Addr::LOCALHOST.into()),
            Family::Other => DnsAnswer::Empty,
        },
        Subject::Host(host @ Host::Address(_), _) => {
            names.refused(&host.to_string(), Verdict::deny("an address is not looked up", Origin::Default));
            DnsAnswer::NoSuchName
        }
        Subject::Host(host, Family::V4) => match names.address(&host).await {
            Ok(address) => DnsAnswer::Address(address.into()),
            Err(Refusal::Rule(_)) => DnsAnswer::NoSuchName,
            Err(_) => DnsAnswer::Failure,
        },
        Subject::Host(host, _) => match names.ports(&host) {
            Ok(_) => DnsAnswer::Empty,
            Err(_) => DnsAnswer::NoSuchName,
        },
    }
}

fn name_of(names: &Names, address: IpAddr) -> DnsAnswer {
    let name = match address {
        IpAddr::V4(address) if address != Ipv4Addr::LOCALHOST => names.name(address),
        _ => Some("localhost".to_owned()),
    };
    name.map_or(DnsAnswer::NoSuchName, DnsAnswer::Name)
}
