//! The one table of every key of `sandbox.toml`: a file for each of its tables, a row for each key.
//!
//! A key is named in its row and where it acts, and nowhere else. To add one is to add a row.

pub use self::agent::Agent;
pub use self::container::Container;
pub use self::env::Env;
pub use self::general::General;
pub use self::image::Image;
pub use self::lifecycle::Lifecycle;
pub use self::limits::Limits;
pub use self::native::Native;
pub use self::network::Network;
pub use self::protect::Protect;
pub use self::secrets::Secret;
pub use self::shared_dirs::SharedDir;
use super::key::Key;

mod agent;
mod container;
mod env;
mod general;
mod image;
mod lifecycle;
mod limits;
mod macros;
mod native;
mod network;
mod protect;
mod secrets;
mod shared_dirs;

/// Every part of the table, in the order in which a person reads a file. A table stands before its keys.
const PARTS: &[&[Key]] = &[
    General::KEYS,
    agent::TABLE,
    Agent::KEYS,
    image::TABLE,
    Image::KEYS,
    image::BUILD_ARGS,
    shared_dirs::TABLE,
    SharedDir::KEYS,
    env::KEYS,
    secrets::TABLE,
    Secret::KEYS,
    network::TABLE,
    Network::KEYS,
    limits::TABLE,
    Limits::KEYS,
    protect::TABLE,
    Protect::KEYS,
    native::TABLE,
    Native::KEYS,
    container::TABLE,
    Container::KEYS,
    lifecycle::TABLE,
    Lifecycle::KEYS,
];

/// The whole table.
pub(crate) const KEYS: &[Key] = &joined::<{ count(PARTS) }>(PARTS);

const fn count(parts: &[&[Key]]) -> usize {
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

const fn joined<const COUNT: usize>(parts: &[&[Key]]) -> [Key; COUNT] {
    let mut all = [Key::NONE; COUNT];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut key = 0;
        while key < parts[part].len() {
            all[at] = parts[part][key];
            at += 1;
            key += 1;
        }
        part += 1;
    }
    all
}
