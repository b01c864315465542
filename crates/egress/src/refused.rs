//! Hosts that were asked for and that no rule allows, counted, so that a person can allow them.

use std::cmp::Reverse;
use std::collections::HashMap;

use policy::rules::network::Host;
use serde::Serialize;

/// How many hosts are kept apart. A sandbox may ask for as many as it likes.
const KEPT: usize = 1000;

/// A host that no rule allows.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Refused {
    /// A name or an address.
    pub host: String,
    /// The port; 0 where it was only looked up.
    pub port: u16,
    /// How often it was asked for.
    pub count: u64,
}

/// What was refused so far. The first hosts are kept; which others there were stands in the log.
#[derive(Debug, Default)]
pub(crate) struct RefusedHosts(HashMap<(Host, u16), u64>);

impl RefusedHosts {
    /// Counts one. What is no host could not be allowed either.
    pub(crate) fn add(&mut self, host: &str, port: u16) {
        let Ok(host) = host.parse::<Host>() else { return };
        let full = self.0.len() >= KEPT;
        match self.0.get_mut(&(host.clone(), port)) {
            Some(count) => *count += 1,
            None if full => {}
            None => drop(self.0.insert((host, port), 1)),
        }
    }

    /// Returns them, the most wanted first.
    pub(crate) fn listing(&self) -> Vec<Refused> {
        let one = |((host, port), count): (&(Host, u16), &u64)| Refused {
            host: host.to_string(),
            port: *port,
            count: *count,
        };
        let mut all: Vec<Refused> = self.0.iter().map(one).collect();
        all.sort_by_key(|refused| (Reverse(refused.count), refused.host.clone(), refused.port));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_names_need_the_memory_of_a_thousand() {
        let mut refused = RefusedHosts::default();
        for number in 0..1_000_000 {
            refused.add(&format!("name{number}.example.org"), 443);
        }
        refused.add("NAME7.example.org.", 443);
        refused.add("no host", 443);
        let all = refused.listing();
        assert_eq!(all.len(), KEPT);
        assert_eq!(all[0], Refused { host: "name7.example.org".to_owned(), port: 443, count: 2 });
    }
}
