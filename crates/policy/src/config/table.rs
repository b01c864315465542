//! The one table of every key of `sandbox.toml`: a file for each of its tables, a row for each key.
//!
//! A key is named in its row and where it acts: to add one is to add a row, and to act on it. ARCHITECTURE.md says which files follow
//! for a key that widens what a sandbox may do, and for a limit.

pub use self::agent::AgentTable;
pub use self::children::ChildrenTable;
pub use self::commands::{CommandRuleTable, CommandsTable};
pub use self::container::ContainerTable;
pub use self::env::EnvTable;
pub use self::general::GeneralTable;
pub use self::git::GitTable;
pub use self::home::HomeTable;
pub use self::image::ImageTable;
pub use self::lifecycle::LifecycleTable;
pub use self::limits::LimitsTable;
pub use self::native::NativeTable;
pub use self::network::NetworkTable;
pub use self::pool::PoolTable;
pub use self::protect::ProtectTable;
pub use self::secrets::SecretTable;
pub use self::shared_dirs::SharedDirTable;
pub use self::sockets::SocketTable;
pub use self::workers::WorkerTable;
use super::key::Key;

mod agent;
mod children;
mod commands;
mod container;
mod env;
mod general;
mod git;
mod home;
mod image;
mod lifecycle;
mod limits;
mod macros;
mod native;
mod network;
mod pool;
mod protect;
mod secrets;
mod shared_dirs;
mod sockets;
mod workers;

/// Every part of the table, in the order in which a person reads a file. A table stands before its keys.
const PARTS: &[&[Key]] = &[
    GeneralTable::KEYS,
    agent::TABLE,
    AgentTable::KEYS,
    home::TABLE,
    HomeTable::KEYS,
    image::TABLE,
    ImageTable::KEYS,
    image::BUILD_ARGS,
    shared_dirs::TABLE,
    SharedDirTable::KEYS,
    sockets::TABLE,
    SocketTable::KEYS,
    env::KEYS,
    secrets::TABLE,
    SecretTable::KEYS,
    network::TABLE,
    NetworkTable::KEYS,
    limits::TABLE,
    LimitsTable::KEYS,
    git::TABLE,
    GitTable::KEYS,
    protect::TABLE,
    ProtectTable::KEYS,
    native::TABLE,
    NativeTable::KEYS,
    container::TABLE,
    ContainerTable::KEYS,
    lifecycle::TABLE,
    LifecycleTable::KEYS,
    pool::TABLE,
    PoolTable::KEYS,
    children::TABLE,
    ChildrenTable::KEYS,
    commands::TABLE,
    CommandsTable::KEYS,
    commands::RULES,
    CommandRuleTable::KEYS,
    workers::TABLE,
    WorkerTable::KEYS,
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
