//! Dialling: a host that was asked for is decided, resolved, decided again with its address, and that address is connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use policy::rules::network::{Host, HostError, HostRules, Wanted};
use policy::rules::verdict::{Decision, Verdict};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

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
        let dialled = timeout(self.limit, self.dial_patiently(rules, host, port, wanted)).await;
        dialled.unwrap_or_else(|_| Err(Refusal::Unreachable(Arc::new(io::ErrorKind::TimedOut.into()))))
    }

    async fn dial_patiently(
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
        let name: Host = host.parse().map_err(|error: HostError| Refusal::Unresolved(error.to_string()))?;
        if let Some(parent) = self.parent.of(&name, port, purpose) {
            let addresses =
                self.resolve(&parent.host).await.map_err(|error| Refusal::Parent(error.to_string()))?;
            let addresses: Vec<_> =
                addresses.into_iter().map(|ip| SocketAddr::new(ip, parent.port)).collect();
            let mut stream = connect(&addresses).await.map_err(|error| Refusal::Parent(error.to_string()))?;
            if purpose == Purpose::Tunnel {
                parent.tunnel(&mut stream, &name, port).await?;
            }
            return Ok(Dialled { stream, address: None, parent: Some(Arc::clone(parent)), verdict });
        }
        let mut denied = None;
        let mut allowed = Vec::new();
        for address in self.resolve(&name).await? {
            let resolved = rules.decide_wanted(host, Some(address), port, wanted);
            if resolved.decision == Decision::Allow {
                allowed.push(SocketAddr::new(address, port));
            } else {
                denied.get_or_insert(resolved);
            }
        }
        // A name of which one address leads inwards is not to be trusted with its others.
        if let Some(denied) = denied {
            return Err(Refusal::Rule(denied));
        }
        allowed.truncate(MAX_ADDRESSES);
        let stream = connect(&allowed).await.map_err(|error| Refusal::Unreachable(Arc::new(error)))?;
        let address = stream.peer_addr().ok().map(|address| address.ip());
        Ok(Dialled { stream, address, parent: None, verdict })
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

/// Connects to whichever address answers first; each next one is tried when those before have had some time (RFC 8305).
async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    for (number, address) in (0..).zip(addresses.iter().copied()) {
        attempts.spawn(async move {
            sleep(ATTEMPT_DELAY * number).await;
            TcpStream::connect(address).await
        });
    }
    let first = async {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        while let Some(attempt) = attempts.join_next().await {
            match attempt.unwrap_or_else(|panicked| Err(io::Error::other(panicked))) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    };
    let stream = first.await?;
    // What waits for more to send costs an interactive program a round trip.
    stream.set_nodelay(true)?;
    Ok(stream)
}
