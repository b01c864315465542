//! Which engine one is, and whose.

use std::fmt;

use policy::plan::Provider;

/// Where an engine listens by default.
pub(super) const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// Which engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EngineKind {
    Docker,
    Podman,
}

impl EngineKind {
    /// All of them, in the order in which they are queried.
    pub(crate) const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    /// Returns the engine of a provider that runs containers.
    pub(crate) fn of(provider: Provider) -> Self {
        if provider == Provider::Podman { Self::Podman } else { Self::Docker }
    }

    /// Returns the name of its command.
    pub fn command(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command())
    }
}

/// Whose an engine is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rights {
    /// It runs as root of the host.
    Rootful,
    /// It runs as this user of the host, within a user namespace.
    Rootless(u32),
}
