//! Records of copies to the host that are under way: what the next command removes if the client is killed.

use std::path::PathBuf;

use confine::tree::{DirectoryId, DraftName};
use policy::text::json_bytes;
use serde::{Deserialize, Serialize};

use crate::state::client::Client;
use crate::state::directory::{Holder, Lock, StateDir, StateError};

/// What a copy leaves behind if its client is killed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyRecord {
    pub(crate) client: Client,
    /// What has no name of its own yet is called so.
    pub(crate) draft: DraftName,
    /// The directory that it is in.
    #[serde(with = "json_bytes::path")]
    pub(crate) path: PathBuf,
    pub(crate) directory: DirectoryId,
    /// The directory of that name that the copy has made.
    pub(crate) made: Option<DirectoryId>,
}

/// A record that is kept until the copy is done.
#[derive(Debug)]
#[must_use = "the record is removed when this is dropped"]
pub(crate) struct KeptCopy<'a> {
    records: &'a StateDir,
    record: CopyRecord,
    lock: Lock,
    stays: bool,
}

impl KeptCopy<'_> {
    /// Notes which directory was made.
    pub(crate) fn note_made(&mut self, made: DirectoryId) -> Result<(), StateError> {
        self.record.made = Some(made);
        self.lock = write(self.records, &self.record)?;
        Ok(())
    }

    /// Keeps the record on disk: what it names could not be removed, and the next command tries again.
    pub(crate) fn leave(mut self) {
        self.stays = true;
    }
}

impl Drop for KeptCopy<'_> {
    fn drop(&mut self) {
        // One that stays is found by the next command, which removes what it names: nothing.
        if !self.stays {
            let _ = forget(self.records, &self.record);
        }
    }
}

/// Keeps a record in a directory until the guard is dropped.
pub(super) fn keep(records: &StateDir, record: CopyRecord) -> Result<KeptCopy<'_>, StateError> {
    let lock = write(records, &record)?;
    Ok(KeptCopy { records, record, lock, stays: false })
}

fn write(records: &StateDir, record: &CopyRecord) -> Result<Lock, StateError> {
    let name = file_name(&record.draft);
    let text = serde_json::to_vec(record).map_err(|error| records.failed("write", &name, error.into()))?;
    records.write_held(&name, &text)
}

/// Removes a record.
pub(super) fn forget(records: &StateDir, record: &CopyRecord) -> Result<(), StateError> {
    records.remove(&file_name(&record.draft))
}

/// Returns whether a file of this name is the record of a copy.
pub(super) fn is_copy(name: &str) -> bool {
    DraftName::try_from(format!(".{name}")).is_ok()
}

/// Reads the record of a copy whose client is dead. One of another version is its business.
pub(super) fn dead(records: &StateDir, name: &str) -> Option<CopyRecord> {
    let file = records.open_held(name).ok()??;
    let record: CopyRecord = serde_json::from_slice(&file.read().ok()??).ok()?;
    let is_dead = match file.holder {
        Holder::Lives => false,
        Holder::Gone => true,
        Holder::Unknown => record.client.is_dead(),
    };
    (is_dead && file_name(&record.draft) == name).then_some(record)
}

fn file_name(draft: &DraftName) -> String {
    String::from(draft.clone()).trim_start_matches('.').to_owned()
}
