//! Records that cannot be read, and what they say all the same.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::state::client::Client;
use crate::state::record::form::lines;

/// A record that cannot be read: what its run left behind was not searched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct UnreadRecord {
    pub(crate) file: PathBuf,
    /// The directories that it names; none where it was torn.
    pub(crate) hosts: Vec<PathBuf>,
    pub(crate) reason: String,
}

impl UnreadRecord {
    /// Returns whether the run may have shared something of this directory. One that names none may have shared any.
    pub(crate) fn concerns(&self, host: &Path) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|one| one.starts_with(host) || host.starts_with(one))
    }
}

/// Lists the directories that a record names, of whatever form; `None` where it was torn.
pub(crate) fn hosts(text: &[u8]) -> Option<Vec<PathBuf>> {
    #[derive(Deserialize)]
    struct WithBoundaries {
        boundaries: Vec<Shared>,
    }
    #[derive(Deserialize)]
    struct Shared {
        #[serde(with = "policy::text::json_bytes::path")]
        host: PathBuf,
    }
    let record = serde_json::from_slice::<WithBoundaries>(lines(text).0).ok()?;
    Some(record.boundaries.into_iter().map(|shared| shared.host).collect())
}

/// Returns the client of a record of another form. Earlier ones did not name its time namespace, nor held a lock.
pub(crate) fn client(text: &[u8]) -> Option<Client> {
    let mut client: Value = serde_json::from_slice::<Value>(lines(text).0).ok()?["client"].take();
    let own = Client::this().ok()?;
    client.as_object_mut()?.entry("time_namespace").or_insert_with(|| own.time_namespace.into());
    serde_json::from_value(client).ok()
}
