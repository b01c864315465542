//! The record of a run: what the next command needs to know to tidy up after a client that was killed.

use std::ffi::OsString;
use std::path::PathBuf;

use policy::plan::{FileId, Protect};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::boundary::detect::baseline::Baseline;
use crate::boundary::detect::finding::Finding;
use crate::boundary::hidden_paths::HiddenPaths;
use crate::state::client::{Client, ProcessError};
use crate::state::directory::StateError;
use crate::state::version::Version;

pub(super) mod form;
pub(crate) mod unread;

/// Why records cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// What one run leaves behind if its client is killed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    pub version: RecordVersion,
    /// The run. Unique, and the name of the record's file.
    pub id: RunId,
    /// The user whose run it is.
    pub owner: u32,
    /// The process that drives the run.
    pub client: Client,
    /// The writable boundaries, with what was in them at the start.
    pub boundaries: Vec<Remembered>,
    /// By which rules they are searched: those of this run, whoever does it.
    pub protect: Protect,
    /// Control groups that were made for the run.
    pub cgroups: Vec<PathBuf>,
    pub placed: Option<Placed>,
}

/// Where the container of a run is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Placed {
    pub engine: String,
    /// The socket that it answers on, if it has one.
    pub socket: Option<String>,
    /// The user that called it: under sudo root, whose containers and rendezvous directories only root sees.
    pub by: u32,
}

/// A writable boundary of a run.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Remembered {
    #[serde(with = "policy::text::json_bytes::path")]
    pub host: PathBuf,
    pub baseline: Baseline,
    /// Patterns of what the agent does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// What the agent does not see though no pattern names it: what links with such a name lead to, and other names of such files.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "policy::text::json_bytes::os_strings")]
    pub also_hidden: Vec<OsString>,
    /// What is left to be done, where it was searched already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Vec<Stuck>>,
    /// Whether not all of it could be searched, neither when the run had ended nor by the command after it. The next run in the same
    /// directory counts changes from the start of this one, and then this is forgotten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsearched: bool,
    /// When a command found for the first time that its file system is not mounted, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmounted_since: Option<u64>,
}

impl Remembered {
    /// Returns what the agent does not see.
    pub(crate) fn hidden_paths(&self) -> HiddenPaths {
        HiddenPaths::of(&self.hide, self.also_hidden.iter().map(PathBuf::from))
    }

    /// Returns the same of a file system that has this number now.
    pub(crate) fn on_device(&self, device: u64) -> Self {
        let known = self.baseline.root().device;
        let mut moved = Self { baseline: self.baseline.on_device(device), ..self.clone() };
        let stuck = moved.stuck.iter_mut().flatten().filter_map(|stuck| stuck.file_id.as_mut());
        for file_id in stuck.filter(|file_id| file_id.device == known) {
            file_id.device = device;
        }
        moved
    }
}

/// Something that could not be quarantined.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Stuck {
    pub finding: Finding,
    /// Which file it was, where that could be asked. Another one at its place is somebody else's.
    pub file_id: Option<FileId>,
}

/// The form of a record. It goes up whenever what one holds means something else.
pub type RecordVersion = Version<8>;

/// The name of a run: sixteen hexadecimal digits.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String")]
pub struct RunId(String);

impl RunId {
    /// Generates a random one.
    pub fn generate() -> Result<Self, RecordError> {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())
            .map_err(|errno| ProcessError { what: "random bytes", source: errno.into() })?;
        Ok(Self(format!("{:016x}", u64::from_ne_bytes(random))))
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // It becomes part of a file's name.
        let valid = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if valid { Ok(Self(text)) } else { Err("a run is named by sixteen hexadecimal digits") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_run_id_that_is_a_path() {
        for text in ["../../etc/passwd", "", "0123456789ABCDEF", "0123456789abcdef0"] {
            assert!(serde_json::from_value::<RunId>(text.into()).is_err(), "{text}");
        }
    }
}
