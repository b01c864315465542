//! What is in force now: rules and routes, which can be exchanged while connections last.

use std::sync::{Arc, PoisonError, RwLock};

use policy::rules::network::HostRules;

use crate::route::Route;

/// Rules and routes that belong together.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) rules: Arc<HostRules>,
    pub(crate) routes: Vec<Route>,
    /// What the upstreams of routes are decided by: each is named exactly, and what the rules deny stays denied.
    pub(crate) upstreams: HostRules,
}

/// What is in force, shared by all who ask. A decision that was made stays made.
#[derive(Clone, Debug)]
pub(crate) struct Live(Arc<RwLock<Arc<Current>>>);

impl Live {
    pub(crate) fn new(rules: HostRules, routes: Vec<Route>) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(Current::new(Arc::new(rules), routes)))))
    }

    /// Returns what is in force now.
    pub(crate) fn get(&self) -> Arc<Current> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other rules in force.
    pub(crate) fn set_rules(&self, rules: HostRules) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Current::new(Arc::new(rules), current.routes.clone()));
    }

    /// Puts other routes in force.
    pub(crate) fn set_routes(&self, routes: Vec<Route>) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Current::new(Arc::clone(&current.rules), routes));
    }
}

impl Current {
    fn new(rules: Arc<HostRules>, routes: Vec<Route>) -> Self {
        let upstreams = rules.only(routes.iter().map(Route::rule).collect());
        Self { rules, routes, upstreams }
    }
}
