//! What is in force now: rules and routes, which can be exchanged while connections last.

use std::sync::Arc;

use policy::rules::network::{HostRule, HostRules};
use tokio::sync::watch;

use crate::route::Route;

/// Rules and routes that belong together.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) rules: Arc<HostRules>,
    pub(crate) routes: Vec<Route>,
    /// What the upstreams of routes are decided by: each is named exactly, and what the rules deny stays denied.
    pub(crate) upstreams: HostRules,
}

/// What is in force, shared by all who ask. Whoever waits learns that it has changed.
#[derive(Clone, Debug)]
pub(crate) struct Live(Arc<watch::Sender<Arc<Current>>>);

impl Live {
    pub(crate) fn new(rules: HostRules, routes: Vec<Route>) -> Self {
        Self(Arc::new(watch::Sender::new(Arc::new(Current::new(Arc::new(rules), routes)))))
    }

    /// Returns what is in force now.
    pub(crate) fn get(&self) -> Arc<Current> {
        Arc::clone(&self.0.borrow())
    }

    /// Puts other rules in force.
    pub(crate) fn set_rules(&self, rules: HostRules) {
        let rules = Arc::new(rules);
        self.0.send_modify(|current| *current = Arc::new(Current::new(rules, current.routes.clone())));
    }

    /// Puts other routes in force.
    pub(crate) fn set_routes(&self, routes: Vec<Route>) {
        self.0.send_modify(|current| *current = Arc::new(Current::new(Arc::clone(&current.rules), routes)));
    }

    /// Returns what learns of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<Arc<Current>> {
        self.0.subscribe()
    }
}

/// Adds what was granted to one connection alone.
pub(crate) fn with(rules: &Arc<HostRules>, granted: Option<&HostRule>) -> Arc<HostRules> {
    granted.map_or_else(|| Arc::clone(rules), |rule| Arc::new(rules.with(rule.clone())))
}

impl Current {
    fn new(rules: Arc<HostRules>, routes: Vec<Route>) -> Self {
        let upstreams = rules.only(routes.iter().map(Route::rule).collect());
        Self { rules, routes, upstreams }
    }
}
