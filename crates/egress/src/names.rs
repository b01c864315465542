//! The names that programs inside have asked for: each has an address of its own, and listeners there for the ports that rules allow.
//!
//! A program that knows no proxy asks the DNS server for a name and connects to the address that it gets. Which listener accepts
//! that connection says which name and which port it means. Nothing is resolved outside before: that happens when it is connected.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use policy::rules::network::{AllowedPorts, Host, HostRules};
use policy::rules::verdict::Verdict;
use tokio::net::TcpListener;
use tokio::sync;
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::table::{Capacity, Table, Use};
use crate::audit::{Open, Via};
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::transparent::{self, TransparentName};

mod table;

/// The ports that are listened on for a name whose rule has no port: SSH, HTTP, HTTPS and git.
///
/// Every listener takes its port from servers inside that listen on all addresses. So the ports of databases (3306, 5432, 6379) and
/// those that development servers like (3000, 8000, 8080) are left out: agents start such servers. A rule that names
/// the port has it listened on, and the proxy listener takes every port.
pub const USUAL_PORTS: [u16; 4] = [22, 80, 443, 9418];

/// How many ports are listened on for one name.
const MAX_PORTS: usize = 64;

/// How many names have an address at a time.
const MAX_NAMES: usize = 1024;

/// How long a listener may take to be opened.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(5);

/// After which time ports are tried again that a program inside had.
const RETRY: Duration = Duration::from_secs(60);

/// A listener that is being opened.
pub type Listening<'a> = Pin<Box<dyn Future<Output = io::Result<TcpListener>> + Send + 'a>>;

/// Opens listeners inside the sandbox.
pub trait Listen: Send + Sync {
    /// Opens one at this address.
    fn listen(&self, at: SocketAddrV4) -> Listening<'_>;
}

/// The names of one sandbox.
pub struct Names {
    proxy: Arc<Proxy>,
    listen: Box<dyn Listen>,
    table: Mutex<Table<Served>>,
    /// One name at a time gets its listeners; those that have them do not wait.
    opening: sync::Mutex<()>,
}

/// What serves a name.
struct Served {
    ports: Ports,
    meant: Arc<TransparentName>,
    /// When that failed for some of the ports.
    failed: Option<tokio::time::Instant>,
    /// Dropped, they are closed.
    _listeners: JoinSet<()>,
}

impl Served {
    fn is_stale(&self) -> bool {
        self.failed.is_some_and(|when| when.elapsed() >= RETRY) && matches!(self.last_use(), Use::Last(_))
    }

    fn last_use(&self) -> Use<Instant> {
        // Each connection has it, too.
        if Arc::strong_count(&self.meant) > 1 { Use::Now } else { Use::Last(self.meant.last_use()) }
    }
}

/// The ports to listen on for a name.
#[derive(Eq, PartialEq)]
enum Ports {
    /// The rules name each: all of them, or the name has no address.
    All(BTreeSet<u16>),
    /// The rules name none: those that can be had.
    Some(BTreeSet<u16>),
}

impl Ports {
    fn new(rules: &HostRules, allowed: AllowedPorts) -> Self {
        match allowed {
            AllowedPorts::Only(ports) => Self::All(ports.into_iter().take(MAX_PORTS).collect()),
            AllowedPorts::AllBut(denied) => {
                let ports = USUAL_PORTS.iter().chain(rules.named_ports());
                Self::Some(ports.filter(|port| !denied.contains(port)).take(MAX_PORTS).copied().collect())
            }
        }
    }

    fn each(&self) -> &BTreeSet<u16> {
        match self {
            Self::All(ports) | Self::Some(ports) => ports,
        }
    }
}

/// Which listeners could be opened on an address, and which could not.
#[derive(Default)]
struct Opened {
    listeners: Vec<(u16, TcpListener)>,
    failures: Vec<(u16, io::Error)>,
}

impl Names {
    /// Makes one without a name in it.
    pub fn new(proxy: Arc<Proxy>, listen: impl Listen + 'static) -> Arc<Self> {
        let capacity = Capacity { names: MAX_NAMES, listeners: proxy.limits().listeners };
        let (table, opening) = (Mutex::new(Table::new(capacity)), sync::Mutex::default());
        Arc::new(Self { proxy, listen: Box::new(listen), table, opening })
    }

    /// Returns the address that stands for a name, and has it served there.
    ///
    /// # Errors
    ///
    /// No rule allows the name on any port, or no listener could be opened; both are recorded.
    pub async fn address(&self, name: &Host) -> Result<Ipv4Addr, Refusal> {
        let ports = Ports::new(&self.proxy.rules(), self.ports(name)?);
        let name = name.to_string();
        if let Some(address) = self.known(&name, &ports) {
            return Ok(address);
        }
        let _opening = self.opening.lock().await;
        // Who has asked for it at the same time may have it by now.
        if let Some(address) = self.known(&name, &ports) {
            return Ok(address);
        }
        self.table().remove(&name);
        if !self.table().make_room(ports.each().len(), Served::last_use) {
            return Err(self.failed(&name, 0, io::Error::other("too many names are connected to")));
        }
        let (address, opened) = self.open(&name, &ports).await?;
        let meant = Arc::new(TransparentName::new(&name));
        let mut listeners = JoinSet::new();
        for (port, listener) in opened {
            let serving =
                transparent::Listener { port, meant: Arc::downgrade(&meant), proxy: Arc::clone(&self.proxy) };
            listeners.spawn(serving.serve(listener));
        }
        let count = listeners.len();
        let failed = (count < ports.each().len()).then(tokio::time::Instant::now);
        self.table().insert(&name, address, count, Served { ports, meant, failed, _listeners: listeners });
        Ok(address)
    }

    /// Returns the address of a name that has its listeners, and notes that it is used.
    fn known(&self, name: &str, ports: &Ports) -> Option<Ipv4Addr> {
        let table = self.table();
        let (address, served) =
            table.get(name).filter(|(_, served)| served.ports == *ports && !served.is_stale())?;
        served.meant.touch();
        Some(address)
    }

    fn table(&self) -> MutexGuard<'_, Table<Served>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the ports on which rules allow a name.
    ///
    /// # Errors
    ///
    /// There is none, which is recorded.
    pub(crate) fn ports(&self, name: &Host) -> Result<AllowedPorts, Refusal> {
        let rules = self.proxy.rules();
        rules.ports(name).or_else(|verdict| {
            // Whoever connects waits longer than a resolver does, and says which port it is: then somebody is asked.
            if self.proxy.questions().is_attended() && rules.is_undecided(name, 0) {
                return Ok(AllowedPorts::AllBut(BTreeSet::new()));
            }
            Err(self.refused(&name.to_string(), verdict))
        })
    }

    /// Returns the name that an address stands for.
    pub(crate) fn name(&self, address: Ipv4Addr) -> Option<String> {
        self.table().name(address).map(str::to_owned)
    }

    /// Records that a name was refused.
    pub(crate) fn refused(&self, name: &str, verdict: Verdict) -> Refusal {
        self.record(name, 0, Refusal::Rule(verdict))
    }

    /// Opens the listeners of a name on the next address, and where a program inside has one of the ports there, on the one after.
    async fn open(&self, name: &str, ports: &Ports) -> Result<(Ipv4Addr, Vec<(u16, TcpListener)>), Refusal> {
        let mut retried = false;
        loop {
            let address = self.table().next_address();
            let address =
                address.ok_or_else(|| self.failed(name, 0, io::Error::other("all addresses are used up")))?;
            let Opened { listeners, failures } = self.listen(address, ports.each()).await;
            let taken = failures.iter().any(|(_, error)| error.kind() == io::ErrorKind::AddrInUse);
            if taken && !retried {
                retried = true;
                continue;
            }
            let enough = match ports {
                Ports::All(_) => failures.is_empty(),
                Ports::Some(_) => !listeners.is_empty(),
            };
            // Each is recorded, also where the others are enough.
            let mut refusal = None;
            for (port, error) in failures {
                refusal = Some(self.failed(name, port, error));
            }
            return match (enough, refusal) {
                (true, _) => Ok((address, listeners)),
                (false, Some(refusal)) => Err(refusal),
                (false, None) => Err(self.failed(name, 0, io::Error::other("every usual port is denied"))),
            };
        }
    }

    async fn listen(&self, address: Ipv4Addr, ports: &BTreeSet<u16>) -> Opened {
        let mut opened = Opened::default();
        for port in ports.iter().copied() {
            let listening = timeout(LISTEN_TIMEOUT, self.listen.listen(SocketAddrV4::new(address, port)));
            match listening.await.unwrap_or_else(|late| Err(late.into())) {
                Ok(listener) => opened.listeners.push((port, listener)),
                Err(error) => {
                    let taken = error.kind() == io::ErrorKind::AddrInUse;
                    opened.failures.push((port, error));
                    if !taken {
                        // Whatever it is, the next port has it as well.
                        break;
                    }
                }
            }
        }
        opened
    }

    /// Records why a name has no listener on a port.
    fn failed(&self, name: &str, port: u16, error: io::Error) -> Refusal {
        let error = match error.kind() {
            io::ErrorKind::AddrInUse => io::Error::new(
                error.kind(),
                format!(
                    "a program inside listens on port {port} of all addresses; have it listen on 127.0.0.1 alone"
                ),
            ),
            _ => error,
        };
        self.record(name, port, Refusal::Unreachable(error.into()))
    }

    fn record(&self, name: &str, port: u16, refusal: Refusal) -> Refusal {
        self.proxy.audit().refused(&Open::new(Via::Dns, name, port), &refusal);
        refusal
    }
}
