//! How far a sandbox is in its life, and what can be done with it then.

use serde::{Deserialize, Serialize};

/// How far a sandbox is in its life: `creating`, then `running`, which may be `paused`, then `stopped`, and then it is removed. One that ends with its
/// client is `ending` in place of `stopped`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A client is making it.
    Creating,
    /// It can be used.
    Running,
    /// Its processes are stopped until they are let go on.
    Paused,
    /// Its command has ended, and its client removes it. Nothing but its end can be asked for.
    Ending,
    /// Nothing of it runs any more. Its logs and how it has ended can be read.
    Stopped,
}

impl Phase {
    /// Returns whether commands can run in it.
    pub fn can_exec(self) -> bool {
        self == Self::Running
    }

    /// Returns whether it can be stopped.
    pub fn can_stop(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }

    /// Returns whether its processes are stopped, and can go on.
    pub fn can_unpause(self) -> bool {
        self == Self::Paused
    }

    /// Returns whether nothing of it runs any more.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Ending | Self::Stopped)
    }

    /// Returns whether it can be removed without being ended before.
    pub fn can_be_removed(self) -> bool {
        self == Self::Stopped
    }
}
