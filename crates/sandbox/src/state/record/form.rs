//! How a record is written: all but the rules on the first line, and the rules on the second, which are mostly those of every other
//! run. Of the protected paths, the rules have what differs from the built-in list: each run writes them before its agent starts.

use std::borrow::Cow;
use std::path::PathBuf;

use policy::plan::Protect;
use policy::protect::table;
use serde::de::Error;
use serde::{Deserialize, Serialize};

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
}

/// The second line.
#[derive(Deserialize, Serialize)]
pub(in crate::state) struct Rules<'a> {
    /// The version of the built-in list.
    table: u64,
    /// What of it is not protected.
    without: Vec<Cow<'a, str>>,
    /// The rules, with those paths alone that are not of the list.
    protect: Cow<'a, Protect>,
}

impl<'a> Rules<'a> {
    fn of(protect: &'a Protect) -> Self {
        let mut rows = table::built_in();
        let is_next = |path: &&Cow<'_, str>| {
            let mut ahead = rows.clone();
            let is_ahead = ahead.any(|row| row == **path);
            if is_ahead {
                rows = ahead;
            }
            is_ahead
        };
        let listed = protect.paths.iter().take_while(is_next).count();
        let (listed, others) = protect.paths.split_at(listed);
        let mut listed = listed.iter().peekable();
        let is_without = |row: &&str| listed.next_if(|path| *path == row).is_none();
        let without = table::built_in().filter(is_without).map(Cow::Borrowed).collect();
        let protect = Protect { paths: others.to_vec(), ..protect.without_paths() };
        Self { table: table::VERSION, without, protect: Cow::Owned(protect) }
    }

    /// Returns whether they refer to the list of this build.
    pub(in crate::state) fn are_whole(&self) -> bool {
        self.table == table::VERSION
    }

    /// Returns the rules with all paths, by the list of this build.
    pub(in crate::state) fn into_protect(self) -> Protect {
        let Self { without, protect, .. } = self;
        let mut without = without.into_iter().peekable();
        let listed = table::built_in().filter(|row| without.next_if(|path| path == row).is_none());
        let mut protect = protect.into_owned();
        let others = std::mem::take(&mut protect.paths);
        protect.paths = listed.map(Cow::Borrowed).chain(others).collect();
        protect
    }
}

impl Record {
    /// Returns how it is written.
    ///
    /// # Errors
    ///
    /// None that is known: every record can be written.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let head = Head {
            version: self.version,
            id: Cow::Borrowed(&self.id),
            owner: self.owner,
            client: self.client,
            boundaries: Cow::Borrowed(&self.boundaries),
            cgroups: Cow::Borrowed(&self.cgroups),
            placed: Cow::Borrowed(&self.placed),
        };
        let mut bytes = Vec::with_capacity(16 << 10);
        serde_json::to_writer(&mut bytes, &head)?;
        bytes.push(b'\n');
        serde_json::to_writer(&mut bytes, &Rules::of(&self.protect))?;
        Ok(bytes)
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// It is torn or of another version, or its rules refer to the list of another build.
    pub fn from_bytes(bytes: &[u8]) -> serde_json::Result<Self> {
        let (head, rest) = lines(bytes);
        let head = serde_json::from_slice::<Head<'_>>(head)?;
        let rules = serde_json::from_slice::<Rules<'_>>(rest)?;
        if !rules.are_whole() {
            return Err(serde_json::Error::custom(
                "its protected paths are those of another version of sandboxctl",
            ));
        }
        Ok(Self {
            version: head.version,
            id: head.id.into_owned(),
            owner: head.owner,
            client: head.client,
            boundaries: head.boundaries.into_owned(),
            protect: rules.into_protect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_protected_is_read_as_it_was() {
        let built_in = || table::built_in().map(Cow::Borrowed);
        let mut swapped: Vec<_> = built_in().collect();
        swapped.swap(3, 700);
        for (what, paths) in [
            ("nothing", vec![]),
            ("the list", built_in().collect()),
            (
                "without some, and others",
                built_in().skip(1).step_by(3).chain(["a".into(), "b/c".into()]).collect(),
            ),
            ("none of the list", vec!["a".into()]),
            ("others first", ["a".into()].into_iter().chain(built_in()).collect()),
            ("another order", swapped),
            ("one twice", built_in().chain(built_in().take(1)).collect()),
        ] {
            let protect = Protect { paths, depth: 7, allow: vec![".x".into()], ..Protect::NOTHING };
            let line = serde_json::to_vec(&Rules::of(&protect)).unwrap();
            let read = serde_json::from_slice::<Rules<'_>>(&line).unwrap();
            assert!(read.are_whole(), "{what}");
            assert_eq!(read.into_protect(), protect, "{what}");
        }
        let whole = Protect { paths: built_in().collect(), ..Protect::NOTHING };
        assert!(serde_json::to_vec(&Rules::of(&whole)).unwrap().len() < 500, "the list is not written");
    }

    #[test]
    fn rules_of_another_build_are_known_as_such() {
        let line = serde_json::to_string(&Rules::of(&Protect::NOTHING)).unwrap();
        let other = line.replace(&table::VERSION.to_string(), "1");
        assert_ne!(line, other, "the control");
        assert!(!serde_json::from_str::<Rules<'_>>(&other).unwrap().are_whole());
    }
}
