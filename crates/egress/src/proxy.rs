//! The proxy of one sandbox: its rules, its limits and its audit log, which all its listeners share.

use std::io;
use std::sync::Arc;

use policy::rules::network::HostRules;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::audit::{Audit, Open, Via};
use crate::dial::Dialer;
use crate::limits::Limits;
use crate::outside::Outside;
use crate::refusal::Refusal;

/// What a proxy is made of. Rules alone are enough: `Proxy::new(rules, audit)`.
#[derive(Debug)]
pub struct Setup {
    pub rules: HostRules,
    pub limits: Limits,
}

impl From<HostRules> for Setup {
    fn from(rules: HostRules) -> Self {
        Self { rules, limits: Limits::default() }
    }
}

/// What all connections of one sandbox share.
pub struct Proxy {
    dialer: Dialer,
    audit: Arc<Audit>,
    limits: Limits,
    connections: Arc<Semaphore>,
}

/// One of the connections that a sandbox may have; dropped, another may come.
pub(crate) type Admission = Arc<OwnedSemaphorePermit>;

impl Proxy {
    /// Makes one that resolves names as this host does.
    ///
    /// # Errors
    ///
    /// The resolver's configuration, `/etc/resolv.conf`, cannot be read.
    pub fn new(setup: impl Into<Setup>, audit: Audit) -> io::Result<Arc<Self>> {
        let Setup { rules, limits } = setup.into();
        Ok(Arc::new(Self {
            dialer: Dialer::new(rules, limits.connect)?,
            audit: Arc::new(audit),
            limits,
            connections: Arc::new(Semaphore::new(limits.connections)),
        }))
    }

    /// Returns the audit log.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Returns the limits of the sandbox.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Admits one more connection from inside. It counts until what is returned is dropped.
    pub(crate) fn admit(&self) -> Result<Admission, Refusal> {
        let permit = Arc::clone(&self.connections).try_acquire_owned();
        permit.map(Arc::new).map_err(|_| Refusal::Busy(self.limits.connections))
    }

    /// Returns the rules.
    pub(crate) fn rules(&self) -> &HostRules {
        self.dialer.rules()
    }

    /// Connects to a host as it was asked for, a name or an address as text. Both outcomes are recorded: a refusal at once, a
    /// connection when it ends.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        via: Via,
        host: &str,
        port: u16,
    ) -> Result<Outside, Refusal> {
        let open = Open::new(via, host, port);
        match self.dialer.dial(host, port).await {
            Ok(dialled) => Ok(Outside::new(dialled, open, Arc::clone(&self.audit))),
            Err(refusal) => {
                self.audit.refused(&open, &refusal);
                Err(refusal)
            }
        }
    }
}
