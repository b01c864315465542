//! The proxy of one sandbox: its rules, its limits and its audit log, which all its listeners share.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use policy::rules::network::egress::PROBE;
use policy::rules::network::{Host, HostPattern, HostRules, Pattern, Wanted};
use policy::rules::verdict::Decision;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsConnector;

use crate::audit::{Audit, Open, Via};
use crate::authority::Authority;
use crate::credited::Credited;
use crate::current::{self, Live};
use crate::dial::{Dialer, Dialled};
use crate::intercept::Interception;
use crate::limits::Limits;
use crate::outside::Outside;
use crate::parent::Parent;
use crate::questions::{Outcome, Questions};
use crate::refusal::Refusal;
use crate::route::Route;
use crate::sender::{Connector, Sender, Senders};
use crate::tls::Roots;

/// What a proxy is made of. Rules alone are enough: `Proxy::new(rules, audit)`.
#[derive(Debug)]
pub struct Setup {
    pub rules: HostRules,
    /// The name of the sandbox, by which its owner changes the rules.
    pub sandbox: Option<String>,
    /// Where credentials are added.
    pub routes: Vec<Route>,
    /// Who signs for the hosts to which TLS is intercepted.
    pub authority: Option<Arc<Authority>>,
    /// Which of those hosts get a credential with each request.
    pub credited: Vec<Credited>,
    /// Whose certificates upstreams may have, where TLS to them begins here. Without any, none is reached by TLS.
    pub roots: Roots,
    /// The proxy that this host is behind.
    pub parent: Parent,
    pub limits: Limits,
    /// Gets the name of each route whose credential a server has refused.
    pub rejected: Option<SyncSender<String>>,
}

impl From<HostRules> for Setup {
    fn from(rules: HostRules) -> Self {
        let (roots, parent, limits) = (Roots::default(), Parent::default(), Limits::default());
        let (authority, credited) = (None, Vec::new());
        Self {
            rules,
            sandbox: None,
            routes: Vec::new(),
            authority,
            credited,
            roots,
            parent,
            limits,
            rejected: None,
        }
    }
}

/// What all connections of one sandbox share.
pub struct Proxy {
    sandbox: Option<String>,
    live: Live,
    dialer: Arc<Dialer>,
    audit: Arc<Audit>,
    limits: Limits,
    tls: TlsConnector,
    senders: Senders,
    interception: Option<Interception>,
    connections: Arc<Semaphore>,
    rejected: Option<SyncSender<String>>,
    questions: Questions,
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
        let Setup { rules, sandbox, routes, authority, credited, roots, parent, limits, rejected } =
            setup.into();
        let (live, audit) = (Live::new(rules, routes), Arc::new(audit));
        let dialer = Arc::new(Dialer::new(parent, limits.connect)?);
        let tls = roots.connector()?;
        let interception = authority.map(|authority| Interception::new(authority, credited)).transpose()?;
        let connector = Connector {
            live: live.clone(),
            dialer: Arc::clone(&dialer),
            audit: Arc::clone(&audit),
            tls: tls.clone(),
            limits,
        };
        let connections = Arc::new(Semaphore::new(limits.connections));
        let questions = Questions::new(Arc::clone(&audit), live.clone());
        Ok(Arc::new(Self {
            sandbox,
            live,
            dialer,
            audit,
            limits,
            tls,
            senders: Senders::new(connector),
            interception,
            connections,
            rejected,
            questions,
        }))
    }

    /// Puts other rules in force. What is connected to a host that they do not allow ends, but for requests on routes.
    pub fn set_rules(&self, rules: HostRules) {
        self.live.set_rules(rules);
    }

    /// Puts other routes in force. Requests under way stay.
    pub fn set_routes(&self, routes: Vec<Route>) {
        self.live.set_routes(routes);
    }

    /// Puts a route in the place of the one of its name, if its credential is another one, which is recorded. Requests under way stay.
    pub fn renew(&self, route: Route) {
        let mut routes = self.live.get().routes.clone();
        let old = routes.iter_mut().find(|old| old.name == route.name && old.credential != route.credential);
        let Some(old) = old else { return };
        self.audit.renewed(&route.name);
        *old = route;
        self.live.set_routes(routes);
    }

    /// Puts servers that get a credential in the place of those with the same one, if its value is another one, which is recorded.
    pub fn renew_credited(&self, name: &str, credited: Vec<Credited>) {
        if self.interception.as_ref().is_some_and(|interception| interception.renew(credited)) {
            self.audit.renewed(name);
        }
    }

    /// Passes on that a server has refused the credential of a route. Where nobody has taken the last of these, nobody needs another one.
    pub(crate) fn reject(&self, route: &str) {
        let _ = self.rejected.as_ref().map(|rejected| rejected.try_send(route.to_owned()));
    }

    /// Returns what is asked of a person.
    pub fn questions(&self) -> &Questions {
        &self.questions
    }

    /// Returns the audit log.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Returns which hosts were asked for, are allowed by no rule even now, and could be: as rules, the most wanted first. A name that
    /// was only looked up is taken for a server of HTTPS.
    pub fn allowable(&self) -> Vec<Pattern> {
        let rules = self.rules();
        let mut patterns = Vec::new();
        for refused in self.audit.refused_hosts() {
            let Ok(host) = refused.host.parse::<Host>() else { continue };
            let port = if refused.port == 0 { 443 } else { refused.port };
            let reached = rules.decide_wanted(&refused.host, None, port, &Wanted::Requests).decision;
            let denied = host.is_metadata() || rules.denies(&host, port, &Wanted::Connection);
            if reached == Decision::Allow || denied {
                continue;
            }
            let pattern = Pattern::Hosts(HostPattern::Exact { host, port: Some(port) });
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        patterns
    }

    /// Returns the name of the sandbox.
    pub(crate) fn sandbox(&self) -> Option<&str> {
        self.sandbox.as_deref()
    }

    /// Returns what is in force now.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    /// Returns what sends requests to the upstream of a route.
    pub(crate) fn sender(&self, route: &Route) -> Sender {
        self.senders.of(route)
    }

    /// Returns what opens TLS to upstreams.
    pub(crate) fn tls(&self) -> &TlsConnector {
        &self.tls
    }

    /// Returns what intercepts TLS to this host, if it is intercepted.
    pub(crate) fn interception(&self, host: &str, port: u16) -> Option<&Interception> {
        self.interception.as_ref().filter(|interception| interception.is_for(host, port))
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

    /// Returns the rules that are in force now.
    pub(crate) fn rules(&self) -> Arc<HostRules> {
        Arc::clone(&self.live.get().rules)
    }

    /// Returns whether connections to a host end here, because its requests are decided one by one.
    pub(crate) fn is_for_requests(&self, host: &str, port: u16) -> bool {
        self.rules().is_for_requests(host, port)
    }

    /// Returns whether connections to a host end here: its requests are decided one by one, or TLS to it is intercepted.
    pub(crate) fn ends_here(&self, host: &str, port: u16) -> bool {
        let allows = || self.rules().decide_wanted(host, None, port, &Wanted::Requests).decision;
        self.is_for_requests(host, port)
            || self.interception(host, port).is_some() && allows() == Decision::Allow
    }

    /// Connects to a host as it was asked for, a name or an address as text. Both outcomes are recorded: a refusal at once, a
    /// connection when it ends.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        via: Via,
        host: &str,
        port: u16,
    ) -> Result<Outside, Refusal> {
        let connected = self.connect_for(&Wanted::Connection, via, host, port).await;
        if let (Err(refusal), true) = (&connected, host != PROBE) {
            self.audit.refused(&Open::new(via, host, port), refusal);
        }
        connected
    }

    /// Connects to a host for what is wanted of it. The caller records it where that is refused.
    pub(crate) async fn connect_for(
        &self,
        wanted: &Wanted,
        via: Via,
        host: &str,
        port: u16,
    ) -> Result<Outside, Refusal> {
        let open = Open::new(via, host, port);
        self.audit.pass(0, self.limits.bytes)?;
        let dialled = self.ask_and_dial(wanted, via, host, port).await?;
        let (audit, live) = (Arc::clone(&self.audit), self.live.clone());
        Ok(Outside::new(dialled, open, audit, self.limits.bytes, live, wanted.clone()))
    }

    /// Dials a host, after somebody was asked about it where no rule says anything of it.
    async fn ask_and_dial(
        &self,
        wanted: &Wanted,
        via: Via,
        host: &str,
        port: u16,
    ) -> Result<Dialled, Refusal> {
        let asked = match host.parse::<Host>() {
            // PID 1 asks for it before there is an agent.
            Ok(name) if host != PROBE => self.questions.ask(via, &name, port).await,
            _ => Outcome::Decided,
        };
        let granted = if let Outcome::Once(rule) = &asked { Some(rule.clone()) } else { None };
        let rules = current::with(&self.rules(), granted.as_ref());
        let dialled = self.dialer.dial(&rules, host, port, wanted).await;
        match (dialled, asked) {
            (Ok(dialled), _) => Ok(Dialled { granted, ..dialled }),
            (Err(Refusal::Rule(mut verdict)), Outcome::Unanswered(reason)) if !reason.is_empty() => {
                verdict.rule = format!("{}; {reason}", verdict.rule);
                Err(Refusal::Rule(verdict))
            }
            (Err(refusal), _) => Err(refusal),
        }
    }
}
