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

/// Names, the address of each, and what serves it.
pub(crate) struct Table<T> {
    capacity: Capacity,
    entries: HashMap<String, Entry<T>>,
    names: HashMap<Ipv4Addr, String>,
    listeners: usize,
    /// How many addresses were given out.
    given: u32,
    /// Counts what was asked, so that the entry that was asked for longest ago is known.
    clock: u64,
}

struct Entry<T> {
    address: Ipv4Addr,
    listeners: usize,
    asked: u64,
    serves: T,
}

impl<T> Table<T> {
    pub(crate) fn new(capacity: Capacity) -> Self {
        let (entries, names) = (HashMap::new(), HashMap::new());
        Self { capacity, entries, names, listeners: 0, given: 0, clock: 0 }
    }

    /// Returns the address of a name and what serves it, and remembers that it was asked for.
    pub(crate) fn get(&mut self, name: &str) -> Option<(Ipv4Addr, &T)> {
        let entry = self.entries.get_mut(name)?;
        self.clock += 1;
        entry.asked = self.clock;
        Some((entry.address, &entry.serves))
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

    /// Makes room for a name with so many listeners: takes out the names that were asked for longest ago, but none in use. Returns
    /// whether there is room now.
    pub(crate) fn make_room(&mut self, listeners: usize, in_use: impl Fn(&T) -> bool) -> bool {
        while self.entries.len() >= self.capacity.names
            || self.listeners + listeners > self.capacity.listeners
        {
            let unused = self.entries.iter().filter(|(_, entry)| !in_use(&entry.serves));
            let Some(oldest) = unused.min_by_key(|(_, entry)| entry.asked).map(|(name, _)| name.clone())
            else {
                return false;
            };
            self.remove(&oldest);
        }
        true
    }

    /// Adds a name.
    pub(crate) fn insert(&mut self, name: &str, address: Ipv4Addr, listeners: usize, serves: T) {
        self.remove(name);
        self.clock += 1;
        self.listeners += listeners;
        self.names.insert(address, name.to_owned());
        self.entries.insert(name.to_owned(), Entry { address, listeners, asked: self.clock, serves });
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

    fn add(table: &mut Table<bool>, name: &str, listeners: usize, in_use: bool) -> Option<Ipv4Addr> {
        if !table.make_room(listeners, |in_use| *in_use) {
            return None;
        }
        let address = table.next_address()?;
        table.insert(name, address, listeners, in_use);
        Some(address)
    }

    #[test]
    fn holds_no_more_than_its_limits_however_many_names_are_asked_for() {
        let mut table = Table::new(Capacity { names: 64, listeners: 100 });
        let mut last = NETWORK;
        for number in 0..1_000_000 {
            let address = add(&mut table, &format!("{number}.example.org"), 2, false).expect("there is room");
            assert!(address > last, "{address} was given out before");
            last = address;
        }
        assert_eq!((table.entries.len(), table.names.len(), table.listeners), (50, 50, 100));
        assert_eq!(table.name(last), Some("999999.example.org"));
        assert!(table.entries.capacity() < 256 && table.names.capacity() < 256);
    }

    #[test]
    fn takes_out_what_was_asked_for_longest_ago_and_nothing_in_use() {
        let mut table = Table::new(Capacity { names: 3, listeners: 100 });
        let used = add(&mut table, "used", 1, true).expect("there is room");
        add(&mut table, "old", 1, false).expect("there is room");
        add(&mut table, "asked again", 1, false).expect("there is room");
        assert!(table.get("old").is_some() && table.get("asked again").is_some());
        add(&mut table, "new", 1, true).expect("there is room");
        assert!(table.get("old").is_none());
        add(&mut table, "newer", 1, true).expect("there is room");
        assert_eq!(add(&mut table, "too many", 1, false), None);
        assert_eq!(table.get("used"), Some((used, &true)));
    }

    #[test]
    fn an_address_that_was_taken_out_is_not_given_again() {
        let mut table = Table::new(Capacity { names: 3, listeners: 100 });
        let first = add(&mut table, "a", 1, false).expect("there is room");
        let second = add(&mut table, "a", 2, false).expect("there is room");
        assert_eq!((table.name(first), table.name(second), table.listeners), (None, Some("a"), 2));
        table.given = ADDRESSES - 2;
        assert_eq!(table.next_address(), Some(Ipv4Addr::new(127, 127, 255, 255)));
        assert_eq!((table.next_address(), table.next_address()), (None, None));
    }
}
