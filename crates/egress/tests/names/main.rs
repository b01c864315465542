//! Programs inside that know no proxy: they ask the DNS server for a name, and connect to the address that they get.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do fails the test that asked for it")]

mod dns;
mod inside;
mod transparent;
