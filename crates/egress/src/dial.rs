//! Dialling: a host that was asked for is decided, resolved, decided again with its address, and that address is connected to.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use policy::rules::network::{Host, HostError, HostRule, HostRules, Wanted};
use policy::rules::verdict::{Decision, Verdict};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::parent::{Parent, ParentProxy, Purpose};
use crate::refusal::Refusal;

/// How long after one address the next one is tried as well (RFC 8305, "Connection Attempt Delay").
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// How many addresses of a name are tried.
const MAX_ADDRESSES: usize = 8;

/// A connection that was allowed.
pub(crate) struct Dialled {
    pub(crate) stream: TcpStream,
    /// Where it leads. Another proxy on the way may know that alone.
    pub(crate) address: Option<IpAddr>,
    /// The proxy on the way.
    pub(crate) parent: Option<Arc<ParentProxy>>,
    /// What has allowed it.
    pub(crate) verdict: Verdict,
    /// The rule that nobody else has, where a person has allowed it once.
    pub(crate) granted: Option<HostRule>,
}

/// The resolver of the host, the proxy that it is behind, and how long both are waited for.
pub(crate) struct Dialer {
    parent: Parent,
    resolver: TokioResolver,
    /// How long resolving and connecting may take.
    limit: Duration,
}

impl Dialer {
    /// Makes one that resolves names as this host does.
    pub(crate) fn new(parent: Parent, limit: Duration) -> io::Result<Self> {
        let resolver = TokioResolver::builder_tokio().map_err(io::Error::other)?.build();
        Ok(Self { parent, resolver, limit })
    }

    /// Connects to a host as it was asked for: a name, or an address as text.
    pub(crate) async fn dial(
        &self,
        rules: &HostRules,
        host: &str,
        port: u16,
        wanted: &Wanted,
    ) -> Result<Dialled, Refusal> {
        let verdict = rules.decide_wanted(host, None, port, wanted);
        if verdict.decision != Decision::Allow {
            return Err(Refusal::by_rule(verdict, rules, (host, port), wanted));
        }
        let purpose = Purpose::of(wanted);
        let failed = |why: Refusal| why.although(&verdict.rule);
        let name = host.parse().map_err(|error: HostError| failed(Refusal::Unresolved(error.to_string())));
        let name: Host = name?;
        let parent = self.parent.of(&name, port, purpose);
        let reached = async {
            if let Some(parent) = parent {
                let failed = |error: &dyn fmt::Display| Refusal::Parent(error.to_string());
                let found = self.resolve(&parent.host).await.map_err(|error| failed(&error))?;
                let found: Vec<_> = found.into_iter().map(|ip| SocketAddr::new(ip, parent.port)).collect();
                let mut stream = connect(&found).await.map_err(|error| failed(&error))?;
                if purpose == Purpose::Tunnel {
                    parent.tunnel(&mut stream, &name, port).await?;
                }
                return Ok((stream, None));
            }
            let mut allowed = Vec::new();
            for address in self.resolve(&name).await? {
                let resolved = rules.decide_wanted(host, Some(address), port, wanted);
                // A name of which one address leads inwards is not to be trusted with its others.
                if resolved.decision != Decision::Allow {
                    return Err(Refusal::Rule(resolved));
                }
                allowed.push(SocketAddr::new(address, port));
            }
            allowed.truncate(MAX_ADDRESSES);
            let stream = connect(&allowed).await.map_err(|error| Refusal::Unreachable(Arc::new(error)))?;
            let address = stream.peer_addr().ok().map(|address| address.ip());
            Ok((stream, address))
        };
        let late = |_| Err(Refusal::Unreachable(Arc::new(io::ErrorKind::TimedOut.into())));
        let (stream, address) = timeout(self.limit, reached).await.unwrap_or_else(late).map_err(failed)?;
        Ok(Dialled { stream, address, parent: parent.cloned(), verdict, granted: None })
    }

    async fn resolve(&self, host: &Host) -> Result<Vec<IpAddr>, Refusal> {
        match host {
            Host::Address(address) => Ok(vec![*address]),
            Host::Name(name) => {
                // With its dot at the end, so that no search domain is tried: another name would be decided about.
                let found = self.resolver.lookup_ip(format!("{name}.")).await;
                let found = found.map_err(|error| Refusal::Unresolved(error.to_string()))?;
                Ok(found.iter().collect())
            }
        }
    }
}

/// Connects to whichever address answers first; each next one is tried when those before have failed or had some time (RFC 8305).
async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let (mut attempts, mut addresses) = (JoinSet::new(), addresses.iter().copied());
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let stream = loop {
        if let Some(address) = addresses.next() {
            attempts.spawn(TcpStream::connect(address));
        }
        let limit = if addresses.len() == 0 { Duration::MAX } else { ATTEMPT_DELAY };
        match timeout(limit, attempts.join_next()).await.map(Option::transpose) {
            Ok(Ok(Some(Ok(stream)))) => break stream,
            Ok(Ok(Some(Err(error)))) => last = error,
            Ok(Ok(None)) => return Err(last),
            Ok(Err(panicked)) => last = io::Error::other(panicked),
            Err(_elapsed) => {}
        }
    };
    // What waits for more to send costs an interactive program a round trip.
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// Returns an address that does not answer as long as the listener is there: as many connections wait as may.
    async fn silent() -> (SocketAddr, TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(0).unwrap();
        let at = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = timeout(ATTEMPT_DELAY, TcpStream::connect(at)).await {
            waiting.push(stream.unwrap());
        }
        (at, listener, waiting)
    }

    #[tokio::test]
    async fn what_refuses_or_is_silent_does_not_keep_the_next_address_from_being_tried() {
        let refuses = {
            let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
            closed.local_addr().unwrap()
        };
        let (silent, _listener, _waiting) = silent().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let answers = listener.local_addr().unwrap();
        for addresses in
            [&[answers][..], &[refuses, answers], &[silent, answers], &[silent, refuses, answers]]
        {
            let stream = timeout(Duration::from_secs(20), connect(addresses)).await.unwrap().unwrap();
            assert_eq!(stream.peer_addr().unwrap(), answers, "{addresses:?}");
        }
        assert_eq!(connect(&[refuses, refuses]).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(connect(&[]).await.unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
        // The control: it is silent.
        assert!(timeout(2 * ATTEMPT_DELAY, connect(&[silent])).await.is_err());
    }
}
