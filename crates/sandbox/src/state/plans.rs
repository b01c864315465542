//! What persistent sandboxes were made from, where the user whose they are cannot write. Their records are that user's, who may put anything
//! into them: under sudo root makes a sandbox again only from what it has made one from.

use std::path::{Path, PathBuf};

use policy::text::json_bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::host::identity::Identity;
use crate::state::directory::{StateDir, StateError};
use crate::state::sandboxes::{SandboxError, SandboxRecord, Sandboxes};

/// The directory of these, in that of this process's own user.
const PLANS: &str = "plans";

/// What sandboxes were made from, one file for each.
#[derive(Debug)]
pub struct Plans(StateDir);

/// What is noted of one.
#[derive(Deserialize, Serialize)]
struct Noted {
    /// Where its record is, with those of all sandboxes of that user: root makes sandboxes for several.
    #[serde(with = "json_bytes::path")]
    records: PathBuf,
    made_from: Value,
}

impl Plans {
    /// Opens the directory of them, in the one of this process's own user.
    ///
    /// # Errors
    ///
    /// It cannot be used.
    pub fn open(own: &Path) -> Result<Self, StateError> {
        Ok(Self(StateDir::open(own, Identity::own())?.within(PLANS)?))
    }

    /// Notes what a sandbox was made from, and forgets those that are there no more.
    ///
    /// # Errors
    ///
    /// The directory cannot be written, or the sandboxes not be listed.
    pub fn note(&self, record: &SandboxRecord, sandboxes: &Sandboxes) -> Result<(), SandboxError> {
        let records = sandboxes.directory().path();
        let noted = Noted { records: records.to_owned(), made_from: made_from(record) };
        let text = serde_json::to_vec(&noted);
        let text = text.map_err(|error| self.0.failed("write", record.id.as_str(), error.into()))?;
        self.0.write(record.id.as_str(), &text)?;
        let known = sandboxes.list()?;
        // One whose record cannot be read is not started, and so not missed.
        let is_known = |id: &str| known.iter().flatten().any(|known| known.record.id.as_str() == id);
        for id in self.0.names()?.iter().filter(|id| *id != record.id.as_str() && !is_known(id)) {
            let is_elsewhere = |noted: &Noted| noted.records != records && noted.records.exists();
            if !self.noted(id)?.is_some_and(|noted| is_elsewhere(&noted)) {
                self.0.remove(id)?;
            }
        }
        Ok(())
    }

    /// Returns whether the record says what was noted of its sandbox.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn confirm(&self, record: &SandboxRecord) -> Result<bool, StateError> {
        Ok(self.noted(record.id.as_str())?.is_some_and(|noted| noted.made_from == made_from(record)))
    }

    /// Reads what was noted of a sandbox; `None` where it says nothing.
    fn noted(&self, id: &str) -> Result<Option<Noted>, StateError> {
        Ok(self.0.read(id)?.and_then(|text| serde_json::from_slice(&text).ok()))
    }
}

/// Returns what a sandbox is made again from.
fn made_from(record: &SandboxRecord) -> Value {
    json!({ "plan": record.plan, "stay": record.stay })
}
