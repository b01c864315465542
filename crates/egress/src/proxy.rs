//! The proxy of one sandbox: its rules, its audit log, and the listeners that it serves.

use std::io;
use std::sync::Arc;

use policy::rules::network::HostRules;
use tokio::net::TcpListener;

use crate::audit::{Audit, Open, Via};
use crate::dial::Dialer;
use crate::listener;
use crate::outside::Outside;
use crate::refusal::Refusal;

/// What all connections of one sandbox share.
pub struct Proxy {
    dialer: Dialer,
    audit: Audit,
}

impl Proxy {
    /// Makes one that resolves names as this host does.
    ///
    /// # Errors
    ///
    /// The resolver's configuration, `/etc/resolv.conf`, cannot be read.
    pub fn new(rules: HostRules, audit: Audit) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { dialer: Dialer::new(rules)?, audit }))
    }

    /// Serves the explicit listener, to which programs speak HTTP or SOCKS5, until it fails.
    ///
    /// # Errors
    ///
    /// The listener cannot accept any more.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> io::Result<()> {
        listener::serve(listener, &self).await
    }

    /// Returns the audit log.
    pub fn audit(&self) -> &Audit {
        &self.audit
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
            Ok(dialled) => Ok(Outside::new(dialled, open, Arc::clone(self))),
            Err(refusal) => {
                self.audit.refused(&open, &refusal);
                Err(refusal)
            }
        }
    }
}
