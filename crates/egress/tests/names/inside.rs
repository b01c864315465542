//! A sandbox for tests: its names, with listeners on this machine's loopback in place of PID 1's.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::{Arc, Mutex};

use egress::audit::Audit;
use egress::limits::Limits;
use egress::names::{Listen, Listening, Names};
use egress::proxy::{Proxy, Setup};
use policy::rules::network::{HostRule, HostRules, NetworkMode};
use policy::rules::verdict::Origin;
use tokio::net::{TcpListener, TcpStream};

/// What was opened: by the address that was asked for, where it really is.
#[derive(Clone, Default)]
pub(crate) struct Listeners {
    at: Arc<Mutex<HashMap<SocketAddrV4, SocketAddr>>>,
    /// What a program inside listens on already.
    taken: Arc<Mutex<Vec<Taken>>>,
}

#[derive(Clone, Copy)]
pub(crate) enum Taken {
    Everywhere {
        port: u16,
    },
    At(SocketAddrV4),
    /// PID 1 does not answer any more.
    Never,
}

/// The audit log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

pub(crate) struct Sandbox {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) names: Arc<Names>,
    pub(crate) listeners: Listeners,
    pub(crate) log: Log,
}

pub(crate) fn sandbox(allow: &[&str]) -> Sandbox {
    sandbox_within(Limits::default(), allow)
}

pub(crate) fn sandbox_within(limits: Limits, allow: &[&str]) -> Sandbox {
    let (listeners, log) = (Listeners::default(), Log::default());
    let proxy = Proxy::new(Setup { limits, ..rules(allow).into() }, Audit::new(log.clone())).unwrap();
    Sandbox { names: Names::new(proxy.clone(), listeners.clone()), proxy, listeners, log }
}

fn rules(allow: &[&str]) -> HostRules {
    let rule = |host: &&str| HostRule::new(host.parse().unwrap(), Origin::Default);
    HostRules::new(NetworkMode::Allowlist, allow.iter().map(rule).collect(), Vec::new())
}

impl Sandbox {
    /// Puts other rules in force.
    pub(crate) fn allow(&self, allow: &[&str]) {
        self.proxy.set_rules(rules(allow));
    }
}

impl Listeners {
    /// The ports that are open on an address.
    pub(crate) fn ports(&self, address: Ipv4Addr) -> Vec<u16> {
        let at = self.at.lock().unwrap();
        let mut ports: Vec<u16> =
            at.keys().filter(|at| *at.ip() == address).map(SocketAddrV4::port).collect();
        ports.sort_unstable();
        ports
    }

    /// Lets a program inside have a port.
    pub(crate) fn take(&self, taken: Taken) {
        self.taken.lock().unwrap().push(taken);
    }

    /// Ends the programs inside that have ports.
    pub(crate) fn give_back(&self) {
        self.taken.lock().unwrap().clear();
    }

    pub(crate) async fn connect(&self, address: Ipv4Addr, port: u16) -> io::Result<TcpStream> {
        let at = self.at.lock().unwrap()[&SocketAddrV4::new(address, port)];
        TcpStream::connect(at).await
    }
}

impl Listen for Listeners {
    fn listen(&self, at: SocketAddrV4) -> Listening<'_> {
        Box::pin(async move {
            if self.taken.lock().unwrap().iter().any(|taken| matches!(taken, Taken::Never)) {
                return std::future::pending().await;
            }
            let is_taken = |taken: &Taken| match taken {
                Taken::Never => false,
                Taken::Everywhere { port } => *port == at.port(),
                Taken::At(taken) => *taken == at,
            };
            if self.taken.lock().unwrap().iter().any(is_taken) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            // Ports below 1024 are for root, and others may be in use.
            let listener = TcpListener::bind((*at.ip(), 0)).await?;
            self.at.lock().unwrap().insert(at, listener.local_addr()?);
            Ok(listener)
        })
    }
}

impl Log {
    pub(crate) fn lines(&self) -> Vec<serde_json::Value> {
        let bytes = self.0.lock().unwrap();
        bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
