//! What the egress proxy gets, what it reports, and the socket over which PID 1 hands it listeners.
//!
//! PID 1 can open sockets in the network of the sandbox, and the proxy can connect to the outside; neither can do both. The socket
//! between them keeps the bounds of messages, so that neither waits for the rest of one. It is the proxy's lifeline as well.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use policy::plan::RouteUpstream;
use policy::rules::network::{HostPattern, Pattern};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::egress_request::EgressRule;
use super::init_spec::EnvEntry;

/// What the egress proxy of one sandbox is to do. Descriptors: its [`ListenerSource`], the two files of its log, and where it listens
/// for [`super::EgressRequest`], and a socket on which it asks for credentials anew: the name of a route, which is answered by
/// [`RenewedValue`].
#[derive(Debug, Deserialize, Serialize)]
pub struct EgressSpec {
    /// The name of the sandbox.
    pub name: String,
    /// Which hosts may be reached.
    pub allow: Vec<EgressRule>,
    /// Which may not, whatever `allow` has.
    pub deny: Vec<EgressRule>,
    /// To which hosts it ends TLS itself.
    pub intercept: Vec<HostPattern>,
    /// How many bytes may pass in all, both ways together; `None` is unlimited.
    pub bytes: Option<u64>,
    /// Where it adds credentials.
    pub routes: Vec<RouteSpec>,
    /// What the agent has in its environment because of this proxy, tokens included: for an exec, which gets the same.
    pub variables: Vec<EnvEntry>,
    /// The user whose requests it takes, beside root's.
    pub owner: u32,
    /// The user and the group that it becomes, where it is root.
    pub user: Option<(u32, u32)>,
}

/// A route with its credential, which nobody else has any more.
#[derive(Debug, Deserialize, Serialize)]
pub struct RouteSpec {
    /// The first part of its paths.
    pub name: String,
    pub upstream: RouteUpstream,
    /// What is added, and what the agent has to bring for it; `None` where the server wants nothing.
    pub credential: Option<RouteCredential>,
}

/// A credential, and a token that stands for it inside.
#[derive(Deserialize, Serialize)]
pub struct RouteCredential {
    pub value: Zeroizing<Vec<u8>>,
    pub token: Zeroizing<Vec<u8>>,
}

/// What the source of a credential has now; `None` where that is not known.
pub type RenewedValue = Option<Zeroizing<Vec<u8>>>;

impl fmt::Debug for RouteCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a credential")
    }
}

/// What the egress proxy reports to its client.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum EgressEvent {
    /// It cannot serve.
    Failed(String),
    /// The certificate in PEM of the authority that it has made, where it ends TLS itself. The key is nowhere else.
    Authority(Vec<u8>),
    /// A rule allows this host, which is named with its port, and it was not reached for the first time.
    Unreached { target: String, why: String },
    /// The sandbox has ended, and this is what has passed.
    Ended(EgressEnd),
}

/// What there is to say of an egress proxy that has ended.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct EgressEnd {
    pub counts: EgressCounts,
    /// Hosts that were asked for and that a person could have allowed, as rules, the most wanted first.
    pub refused: Vec<Pattern>,
    /// How many more there were.
    pub more: usize,
}

/// How much has passed through the egress proxy.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct EgressCounts {
    pub connections: u64,
    /// Requests to which a credential was added.
    pub requests: u64,
    pub refusals: u64,
    /// What was not refused, and failed before anything was sent.
    pub errors: u64,
    /// Bytes that have left.
    pub sent: u64,
    /// Bytes that have come back.
    pub received: u64,
}

/// The listeners that are there before the agent.
#[derive(Debug)]
pub struct Listeners {
    /// Where programs speak to the proxy.
    pub proxy: OwnedFd,
    pub dns_udp: OwnedFd,
    pub dns_tcp: OwnedFd,
}

/// The end of the proxy: it asks for listeners.
#[derive(Debug)]
pub struct ListenerSource(OwnedFd);

/// The end of PID 1, which opens them.
#[derive(Debug)]
pub struct ListenerPort(OwnedFd);

/// A request: an address of IPv4 and a port.
const REQUEST: usize = 6;

/// An answer: the request, and the number of an error, or 0 with a descriptor.
const ANSWER: usize = REQUEST + 4;

/// The most descriptors in one message.
const MOST: usize = 3;

impl ListenerSource {
    /// Makes both ends.
    pub fn pair() -> io::Result<(Self, ListenerPort)> {
        let flags = SocketFlags::CLOEXEC;
        let (proxy, init) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self(proxy), ListenerPort(init)))
    }

    /// Waits for the first listeners; `None` where PID 1 is gone.
    pub fn first(&self) -> io::Result<Option<Listeners>> {
        let (_, descriptors) = receive(self.0.as_fd(), &mut [0; ANSWER], RecvFlags::empty())?;
        let mut descriptors = descriptors.into_iter();
        Ok(match (descriptors.next(), descriptors.next(), descriptors.next()) {
            (Some(proxy), Some(dns_udp), Some(dns_tcp)) => Some(Listeners { proxy, dns_udp, dns_tcp }),
            _ => None,
        })
    }

    /// Asks for one more listener, which [`Self::answer`] returns. Never waits.
    pub fn ask(&self, at: SocketAddrV4) -> io::Result<()> {
        Ok(send(self.0.as_fd(), &encode(at), &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
    }

    /// Receives an answer: what was asked for, and the listener or the error of bind(2), such as `EADDRINUSE` where a program inside
    /// has the port.
    ///
    /// # Errors
    ///
    /// `EAGAIN` where there is none yet, because this never waits; `EPIPE` where PID 1 is gone.
    pub fn answer(&self) -> io::Result<(SocketAddrV4, io::Result<OwnedFd>)> {
        let mut answer = [0; ANSWER];
        let (length, descriptors) = receive(self.0.as_fd(), &mut answer, RecvFlags::DONTWAIT)?;
        let [a, b, c, d, high, low, errno @ ..] = answer;
        let listener = match (length, i32::from_le_bytes(errno), descriptors.into_iter().next()) {
            (ANSWER, 0, Some(listener)) => Ok(listener),
            (ANSWER, errno, _) if errno != 0 => Err(io::Error::from_raw_os_error(errno)),
            _ => return Err(Errno::PIPE.into()),
        };
        Ok((decode([a, b, c, d, high, low]), listener))
    }
}

impl ListenerPort {
    /// Sends the first listeners.
    pub(crate) fn send_first(&self, listeners: &Listeners) -> Result<(), Errno> {
        let descriptors = [listeners.proxy.as_fd(), listeners.dns_udp.as_fd(), listeners.dns_tcp.as_fd()];
        send(self.0.as_fd(), &[0; ANSWER], &descriptors, SendFlags::NOSIGNAL)
    }

    /// Receives a request, if there is one; an error of `PIPE` where the proxy is gone. Never waits.
    pub(crate) fn request(&self) -> Result<Option<SocketAddrV4>, Errno> {
        let mut request = [0; REQUEST];
        match receive(self.0.as_fd(), &mut request, RecvFlags::DONTWAIT) {
            Ok((REQUEST, _)) => Ok(Some(decode(request))),
            Ok(_) => Err(Errno::PIPE),
            Err(Errno::AGAIN) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Answers one. Never waits: a proxy that does not read its answers is done without.
    pub(crate) fn answer(&self, at: SocketAddrV4, listener: &Result<OwnedFd, Errno>) -> Result<(), Errno> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let errno = listener.as_ref().err().map_or(0, |errno| errno.raw_os_error());
        let answer = [&encode(at)[..], &errno.to_le_bytes()].concat();
        let descriptors: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
        send(self.0.as_fd(), &answer, &descriptors, flags)
    }
}

fn encode(at: SocketAddrV4) -> [u8; REQUEST] {
    let ([a, b, c, d], [high, low]) = (at.ip().octets(), at.port().to_be_bytes());
    [a, b, c, d, high, low]
}

fn decode([a, b, c, d, high, low]: [u8; REQUEST]) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low]))
}

fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    rustix::io::retry_on_intr(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)).map(drop)
}

/// Receives one message; its length is 0 where the other side is gone.
fn receive(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    flags: RecvFlags,
) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received =
        rustix::io::retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, flags));
    let length = match received {
        Ok(received) => received.bytes,
        // It died with a message of ours unread: gone is gone.
        Err(Errno::CONNRESET) => 0,
        Err(errno) => return Err(errno),
    };
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((length, descriptors))
}

impl AsFd for ListenerSource {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for ListenerPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<ListenerPort> for OwnedFd {
    fn from(port: ListenerPort) -> Self {
        port.0
    }
}

impl From<OwnedFd> for ListenerSource {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl From<OwnedFd> for ListenerPort {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_with_a_listener_or_an_error() {
        let (proxy, init) = ListenerSource::pair().unwrap();
        let at = SocketAddrV4::new(Ipv4Addr::new(127, 64, 0, 1), 443);
        assert_eq!(init.request(), Ok(None));
        assert_eq!(proxy.answer().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        proxy.ask(at).unwrap();
        assert_eq!(init.request(), Ok(Some(at)));
        init.answer(at, &Ok(std::fs::File::open("/dev/null").unwrap().into())).unwrap();
        init.answer(at, &Err(Errno::ADDRINUSE)).unwrap();
        assert!(matches!(proxy.answer().unwrap(), (asked, Ok(_)) if asked == at));
        let (_, refused) = proxy.answer().unwrap();
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(proxy);
        // A child that another test forks at this moment has a copy of the proxy's end until it executes something.
        let mut ended = init.request();
        while ended == Ok(None) {
            std::thread::yield_now();
            ended = init.request();
        }
        assert_eq!(ended, Err(Errno::PIPE));
    }
}
