//! Hosts that a rule allows and that were not reached. The client outside is notified of the first ones: many programs try again for minutes,
//! and say nothing.

use std::cmp::Reverse;
use std::collections::HashMap;

use policy::rules::network::{Host, HostAndPort};

use crate::refusal::Refusal;

/// How many hosts are kept apart. Below a pattern, a sandbox may ask for as many as it likes.
const KEPT: usize = 1000;

/// Of how many hosts the client is notified.
const MAX_NOTIFIED: usize = 5;

/// A host that a rule allows and that was not reached.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreached {
    /// In its canonical form.
    pub host: Host,
    pub port: u16,
    /// Why not, the first time.
    pub why: String,
    /// How often it was not.
    pub count: u64,
}

/// Notifies the client of one.
pub type NotifyUnreached = Box<dyn FnMut(&Unreached) + Send>;

/// What was not reached so far.
#[derive(Default)]
pub(crate) struct UnreachedHosts {
    hosts: HashMap<(Host, u16), Unreached>,
    notify: Option<NotifyUnreached>,
}

impl Unreached {
    /// Returns the host with its port, as it stands in a rule.
    pub fn target(&self) -> String {
        HostAndPort { host: &self.host, port: self.port }.to_string()
    }
}

impl UnreachedHosts {
    /// Sets whom to notify of the first ones; nothing waits for that.
    pub(crate) fn notify_with(&mut self, notify: NotifyUnreached) {
        self.notify = Some(notify);
    }

    /// Counts one, where the connection to the host has failed.
    pub(crate) fn add(&mut self, host: &str, port: u16, refusal: &Refusal) {
        let Refusal::Failed { why, .. } = refusal else { return };
        let (true, Ok(host)) = (why.is_connection_failure(), host.parse::<Host>()) else { return };
        if let Some(unreached) = self.hosts.get_mut(&(host.clone(), port)) {
            unreached.count += 1;
            return;
        }
        if self.hosts.len() >= KEPT {
            return;
        }
        let unreached = Unreached { host: host.clone(), port, why: why.to_string(), count: 1 };
        if self.hosts.len() < MAX_NOTIFIED {
            self.notify.iter_mut().for_each(|notify| notify(&unreached));
        }
        self.hosts.insert((host, port), unreached);
    }

    /// Returns them, the most wanted first.
    pub(crate) fn listing(&self) -> Vec<Unreached> {
        let mut all: Vec<_> = self.hosts.values().cloned().collect();
        all.sort_by_key(|one| (Reverse(one.count), one.host.to_string(), one.port));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_notified_of_the_first_hosts_once_and_a_bounded_number_is_kept() {
        let (mut unreached, (sender, receiver)) = (UnreachedHosts::default(), std::sync::mpsc::channel());
        unreached.notify_with(Box::new(move |one| sender.send(one.target()).unwrap_or_default()));
        let failed = |why| Refusal::Failed { rule: "a rule".to_owned(), why: Box::new(why) };
        let connection = failed(Refusal::Unresolved("no such name".to_owned()));
        for number in 0..10_000 {
            unreached.add(&format!("name{number}.example.org"), 443, &connection);
        }
        unreached.add("NAME7.example.org.", 443, &connection);
        unreached.add("no host", 443, &connection);
        // Neither what was refused nor what the sandbox does itself.
        unreached.add("other.example.org", 443, &Refusal::Steered);
        unreached.add("other.example.org", 443, &failed(Refusal::Busy(3)));
        let hosts: Vec<_> = receiver.try_iter().collect();
        assert_eq!((hosts.len(), hosts[0].as_str()), (MAX_NOTIFIED, "name0.example.org:443"));
        let all = unreached.listing();
        assert_eq!((all.len(), all[0].count, all[0].target().as_str()), (KEPT, 2, "name7.example.org:443"));
        assert_eq!(all[0].why, "the name could not be resolved: no such name");
    }
}
