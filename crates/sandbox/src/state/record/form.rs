//! How a record is written: all but the rules on the first line, and the rules on the second. They are long, and mostly those of every
//! other run: who knows them already reads the first line alone.

use std::borrow::Cow;
use std::path::PathBuf;

use policy::plan::Protect;
use serde::de::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Placed, Record, RecordVersion, Remembered, RunId};
use crate::state::client::Client;

/// The first line.
#[derive(Deserialize, Serialize)]
pub(in crate::state) struct Head<'a> {
    pub(in crate::state) version: RecordVersion,
    pub(in crate::state) id: Cow<'a, RunId>,
    pub(in crate::state) owner: u32,
    pub(in crate::state) client: Client,
    pub(in crate::state) boundaries: Cow<'a, [Remembered]>,
    pub(in crate::state) cgroups: Cow<'a, [PathBuf]>,
    pub(in crate::state) placed: Cow<'a, Option<Placed>>,
    pub(in crate::state) rules: RulesDigest,
}

/// What rules are known by: SHA-256 of the second line, in hexadecimal digits.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub(in crate::state) struct RulesDigest(String);

impl RulesDigest {
    fn of(line: &[u8]) -> Self {
        Self(format!("{:x}", Sha256::digest(line)))
    }
}

impl Record {
    /// Returns how it is written.
    ///
    /// # Errors
    ///
    /// None that is known: every record can be written.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let rules = serde_json::to_vec(&self.protect)?;
        let head = Head {
            version: self.version,
            id: Cow::Borrowed(&self.id),
            owner: self.owner,
            client: self.client,
            boundaries: Cow::Borrowed(&self.boundaries),
            cgroups: Cow::Borrowed(&self.cgroups),
            placed: Cow::Borrowed(&self.placed),
            rules: RulesDigest::of(&rules),
        };
        let mut bytes = serde_json::to_vec(&head)?;
        bytes.push(b'\n');
        bytes.extend(rules);
        Ok(bytes)
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// It is torn or of another version, or its rules are not those that its first line names.
    pub fn from_bytes(bytes: &[u8]) -> serde_json::Result<Self> {
        let (head, rest) = lines(bytes);
        let head = serde_json::from_slice::<Head<'_>>(head)?;
        let (rules, protect) = rules(rest)?;
        if rules != head.rules {
            return Err(serde_json::Error::custom("its rules are not those that it names"));
        }
        Ok(Self {
            version: head.version,
            id: head.id.into_owned(),
            owner: head.owner,
            client: head.client,
            boundaries: head.boundaries.into_owned(),
            protect,
            cgroups: head.cgroups.into_owned(),
            placed: head.placed.into_owned(),
        })
    }
}

/// Returns the first line, and what follows. Records of earlier versions had one.
pub(in crate::state) fn lines(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// Reads the second line.
pub(in crate::state) fn rules(line: &[u8]) -> serde_json::Result<(RulesDigest, Protect)> {
    Ok((RulesDigest::of(line), serde_json::from_slice(line)?))
}
