//! What a caller has that leads to engines.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::host::identity::Identity;
use crate::host::programs::Programs;

/// What a caller has that leads to engines.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub programs: Programs,
    /// The caller's working directory.
    pub directory: PathBuf,
    pub docker_host: Option<OsString>,
    pub docker_context: Option<OsString>,
    /// The directory with Docker's settings: `DOCKER_CONFIG`, or `.docker` in the home directory.
    pub docker_config: PathBuf,
    /// What has Podman call another one: `CONTAINER_HOST` or `CONTAINER_CONNECTION`.
    pub podman_connection: Option<OsString>,
    /// The user that asks.
    pub uid: u32,
    /// With whose rights settings are read: under sudo those of the user behind it.
    pub reader: Identity,
}

impl Surroundings {
    /// Returns whether this is root, called by somebody else.
    pub(super) fn is_behind_sudo(&self) -> bool {
        self.uid == 0 && self.reader.uid != 0
    }
}
