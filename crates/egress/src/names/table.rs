//! Names and the addresses that stand for them, bounded: what is used least gives way, and no address is given out twice.

use std::collections::HashMap;
use std::net::Ipv4Addr;

/// Where addresses are taken from: a part of 127.0.0.0/8, which the loopback interface owns without being configured, far from
/// 127.0.0.1 and from what distributions use (127.0.1.1, 127.0.0.53).
const NETWORK: Ipv4Addr = Ipv4Addr::new(127, 64, 0, 0);

/// How many there are in 127.64.0.0/10.
const ADDRESSES: u32 = 1 << 22;

/// How much a table holds at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    pub(crate) names: usize,
    /// Over all names.
    pub(crate) listeners: usize,
}

/// When a name was used.
pub(crate) enum Use<T> {
    /// It is.
    Now,
    Last(T),
}

/// Names, the address of each, and what serves it.
pub(crate) struct Table<T> {
    capacity: Capacity,
    entries: HashMap<String, Entry<T>>,
    names: HashMap<Ipv4Addr, String>,
    listeners: usize,
    /// How many addresses were given out.
    given: u32,
}

struct Entry<T> {
    address: Ipv4Addr,
    listeners: usize,
    serves: T,
}

impl<T> Table<T> {
    pub(crate) fn new(capacity: Capacity) -> Self {
        let (entries, names) = (HashMap::new(), HashMap::new());
        Self { capacity, entries, names, listeners: 0, given: 0 }
    }

    /// Returns the address of a name, and what serves it.
    pub(crate) fn get(&self, name: &str) -> Option<(Ipv4Addr, &T)> {
        self.entries.get(name).map(|entry| (entry.address, &entry.serves))
    }

    /// Returns the name that an address stands for.
    pub(crate) fn name(&self, address: Ipv4Addr) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }

    /// Returns an address that was never given out; there is none once they are used up.
    pub(crate) fn next_address(&mut self) -> Option<Ipv4Addr> {
        // The first address of a network is none of a host's.
        let next = self.given + 1;
        (next < ADDRESSES).then(|| {
            self.given = next;
            Ipv4Addr::from_bits(NETWORK.to_bits() + next)
        })
    }

    /// Makes room for a name with so many listeners: takes out the names that were used longest ago, and none that is in use. Returns
    /// whether there is room now.
    pub(crate) fn make_room<U: Ord>(&mut self, listeners: usize, use_of: impl Fn(&T) -> Use<U>) -> bool {
        while self.entries.len() >= self.capacity.names
            || self.listeners + listeners > self.capacity.listeners
        {
            let unused = self.entries.iter().filter_map(|(name, entry)| match use_of(&entry.serves) {
                Use::Now => None,
                Use::Last(time) => Some((time, name)),
            });
            let Some((_, oldest)) = unused.min() else { return false };
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
        true
    }

    /// Adds a name.
    pub(crate) fn insert(&mut self, name: &str, address: Ipv4Addr, listeners: usize, serves: T) {
        self.remove(name);
        self.listeners += listeners;
        self.names.insert(address, name.to_owned());
        self.entries.insert(name.to_owned(), Entry { address, listeners, serves });
    }

    /// Takes a name out, and ends what serves it.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(entry) = self.entries.remove(name) {
            self.listeners -= entry.listeners;
            self.names.remove(&entry.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a name that was used last at this time, or is in use.
    fn add(
        table: &mut Table<Option<u32>>,
        name: &str,
        listeners: usize,
        used: Option<u32>,
    ) -> Option<Ipv4Addr> {
        if !table.make_room(listeners, |used| used.map_or(Use::Now, Use::Last)) {
            return None;
        }
        let address = table.next_address()?;
        table.insert(name, address, listeners, used);
        Some(address)
    }

    #[test]
    fn holds_no_more_than_its_capacity_however_many_names_are_asked_for() {
        let mut table = Table::new(Capacity { names: 64, listeners: 100 });
        let mut last = NETWORK;
        for number in 0..1_000_000 {
            let name = format!("{number}.example.org");
            let address = add(&mut table, &name, 2, Some(number)).expect("there is room");
            assert!(address > last, "{address} was given out before");
            last = address;
        }
        assert_eq!((table.entries.len(), table.names.len(), table.listeners), (50, 50, 100));
        assert_eq!(
            (table.name(last), table.get("999950.example.org").is_some()),
            (Some("999999.example.org"), true)
        );
        assert!(table.entries.capacity() < 256 && table.names.capacity() < 256);
    }

    #[test]
    fn takes_out_what_was_used_longest_ago_and_nothing_in_use() {
        let mut table = Table::new(Capacity { names: 3, listeners: 100 });
        for (name, used) in [("in use", None), ("recent", Some(2)), ("old", Some(1)), ("in use too", None)] {
            assert!(add(&mut table, name, 1, used).is_some(), "{name}");
        }
        assert!(table.get("old").is_none() && table.get("recent").is_some());
        assert!(add(&mut table, "in use as well", 1, None).is_some());
        assert_eq!(add(&mut table, "too many", 1, Some(3)), None);
        assert!(table.get("in use").is_some());
    }

    #[test]
    fn makes_room_for_as_many_listeners_as_are_wanted() {
        let mut table = Table::new(Capacity { names: 100, listeners: 6 });
        for used in 0..3 {
            assert!(add(&mut table, &used.to_string(), 2, Some(used)).is_some());
        }
        assert!(add(&mut table, "four", 4, Some(3)).is_some());
        assert!(table.get("1").is_none() && table.get("2").is_some());
        assert_eq!(add(&mut table, "seven", 7, Some(4)), None);
    }

    #[test]
    fn an_address_that_was_taken_out_is_not_given_again() {
        let mut table = Table::new(Capacity { names: 3, listeners: 100 });
        let first = add(&mut table, "a", 1, Some(0)).expect("there is room");
        let second = add(&mut table, "a", 2, Some(0)).expect("there is room");
        assert_eq!((table.name(first), table.name(second), table.listeners), (None, Some("a"), 2));
        table.given = ADDRESSES - 2;
        assert_eq!(table.next_address(), Some(Ipv4Addr::new(127, 127, 255, 255)));
        assert_eq!((table.next_address(), table.next_address()), (None, None));
    }
}
