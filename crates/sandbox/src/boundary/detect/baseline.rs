//! What of a boundary was there at the start, as it is stored.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::plan::FileId;
use policy::text::json_bytes;
use serde::{Deserialize, Serialize};

use super::checkouts::KnownCheckout;
use super::classified::Classified;
use super::index::Index;
use super::origin::{Facts, Time};
use super::references::KnownReferences;
use crate::boundary::protect::commits::NamedCommit;
use crate::boundary::protect::mounts::{Cause, Dotted, Unknown};
use crate::boundary::protect::reach::Base;
use crate::host::beneath;
use crate::host::stamp::Stamp;

/// What of a boundary was there at the start. It can be stored, and compared by a later process.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Baseline {
    /// The boundary's root: another directory at the same path has another baseline.
    pub(super) root: FileId,
    /// When that was made, where the file system knows it: the number of a directory that is gone can be had again.
    pub(super) root_btime: Option<Time>,
    /// Whom it belonged to.
    pub(super) root_owner: u32,
    /// When it was taken, in seconds and nanoseconds of the clock that file systems use.
    pub(super) taken: Time,
    /// From when what is known of a part of it is, where another run began before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) earlier: Vec<Earlier>,
    /// From where protected paths were looked for.
    pub(super) searched: BTreeSet<Base>,
    /// In the order of their paths.
    pub(super) entries: Vec<Entry>,
    /// What could not be searched.
    pub(super) hidden: Vec<Classified>,
    /// Small files that a program obeys, in the order of their paths: to be put back where others took their places.
    pub(super) kept: Vec<Content>,
    /// Whether there was time to look at everything.
    #[serde(default = "yes")]
    pub(super) is_whole: bool,
    #[serde(default)]
    pub(super) indexes: Vec<Index>,
    /// The commits to which git brought work trees, by directories of its data.
    #[serde(default)]
    pub(super) checkouts: Vec<KnownCheckout>,
    /// The directories that git takes for repositories, in order.
    #[serde(default, with = "json_bytes::os_strings")]
    pub(super) repositories: Vec<OsString>,
    /// The references, by directories of git's data.
    #[serde(default)]
    pub(super) references: Vec<KnownReferences>,
    #[serde(default)]
    pub(super) dotted: Vec<Dotted>,
    /// The paths of links, in order.
    #[serde(default, with = "json_bytes::os_strings")]
    pub(super) links: Vec<OsString>,
    /// Files and directories with names that read as options, in order.
    #[serde(default, with = "json_bytes::os_strings")]
    pub(super) options: Vec<OsString>,
    /// Directories and links with names by which git-annex looks for programs, in order.
    #[serde(default, with = "json_bytes::os_strings")]
    pub(super) annex_programs: Vec<OsString>,
    /// Directories of git's data of which the work tree is another shared directory.
    #[serde(default, with = "json_bytes::os_strings")]
    pub(super) shared_elsewhere: Vec<OsString>,
    /// The directories of the host that were shared and could be written.
    #[serde(default, with = "json_bytes::os_strings")]
    pub(super) shared: Vec<OsString>,
}

fn yes() -> bool {
    true
}

impl Baseline {
    /// Returns the commits that were named in a directory of git's data; `None` where there were none.
    pub fn commits_of(&self, git: &Path) -> Option<Vec<NamedCommit>> {
        self.checkouts.iter().find(|one| one.git == git).map(|one| one.commits.clone())
    }

    /// Returns which number the file system has now, if an open directory is the boundary that this was taken of. Some file systems get
    /// another number each time they are mounted: then the inode and the birth of the directory have to be the same.
    pub(crate) fn device_of(&self, root: impl AsFd) -> Option<u64> {
        let Facts { file_id: FileId { device, inode }, btime, .. } = Facts::of(root.as_fd())?;
        let is_same = inode == self.root.inode && btime.is_some() && btime == self.root_btime;
        (is_same || self.is_of(root)).then_some(device)
    }

    /// Returns the same of a file system that has this number now.
    pub(crate) fn on_device(&self, device: u64) -> Self {
        let mut moved = self.clone();
        let entries = moved.entries.iter_mut().map(|entry| &mut entry.stamp);
        let stamps = entries.chain(moved.indexes.iter_mut().map(|index| &mut index.stamp));
        let unknown = moved.dotted.iter_mut().flat_map(|dotted| &mut dotted.unknown);
        let stamps = stamps.chain(unknown.flat_map(Unknown::stamps_mut));
        for file_id in stamps.map(|stamp| &mut stamp.file_id).chain([&mut moved.root]) {
            if file_id.device == self.root.device {
                file_id.device = device;
            }
        }
        moved
    }

    /// Returns the first link in the directory that is not the one any more that it was. What git itself may change is none.
    pub(crate) fn changed_link(&self, root: BorrowedFd<'_>) -> Option<&Path> {
        let mut links = self.entries.iter().filter(|one| one.target.is_some() && one.hold == Hold::Fixed);
        let is_changed =
            |link: &&Entry| !beneath::stat(root, &link.path).is_ok_and(|stat| link.stamp == Stamp::of(&stat));
        links.find(is_changed).map(|link| link.path.as_path())
    }
}

/// A part of a boundary of which an older baseline knows.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Earlier {
    #[serde(with = "json_bytes::path")]
    pub(super) path: PathBuf,
    pub(super) taken: Time,
}

/// A file as it was.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Content {
    #[serde(with = "json_bytes::path")]
    pub(crate) path: PathBuf,
    /// Its permissions, without the set-id bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    #[serde(with = "json_bytes::bytes")]
    pub(crate) bytes: Vec<u8>,
}

/// What was at a path at the start, as far as it can be put back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Original<'a> {
    File(&'a Content),
    /// A link to this.
    Link(&'a Path),
}

/// A protected path as it was.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Entry {
    #[serde(with = "json_bytes::path")]
    pub(super) path: PathBuf,
    /// From where it was looked for, and why.
    pub(super) base: Base,
    pub(super) cause: Cause,
    pub(super) stamp: Stamp,
    /// When it was made, where the file system knows it: the number of a file that is gone can be had again.
    #[serde(rename = "born")]
    pub(super) btime: Option<Time>,
    /// Where it led, if it was a link. Links are not protected, so another one is news.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json_bytes::optional_path")]
    pub(super) target: Option<PathBuf>,
    /// Whether git itself may have taken the link away.
    #[serde(default)]
    pub(super) hold: Hold,
    /// What the classification would have been: the user's own, and no news.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) known: Vec<Classified>,
}

/// How a link is held in its place.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Hold {
    /// Whatever else is there is news.
    #[default]
    Fixed,
    /// Git may put a file there, or nothing.
    Loose,
}

impl Entry {
    /// Returns whether it is the file that it was, untouched.
    pub(super) fn is_unchanged(&self, root: BorrowedFd<'_>, facts: &Facts) -> bool {
        let stat = beneath::stat(root, &self.path);
        stat.is_ok_and(|stat| self.stamp == Stamp::of(&stat)) && self.btime == facts.btime
    }

    /// Returns whether its content was classified: there is an end to what is.
    pub(super) fn was_read(&self) -> bool {
        !self
            .known
            .iter()
            .any(|known| matches!(known.reason, Reason::Hidden | Reason::Unread | Reason::TooLarge { .. }))
    }

    /// Returns whether it may be the file that it was.
    pub(super) fn may_be(&self, facts: &Facts) -> bool {
        self.stamp.file_id == facts.file_id && self.btime == facts.btime
    }

    /// Returns whether it is known to be the file that it was.
    pub(super) fn is_surely(&self, facts: &Facts) -> bool {
        self.stamp.file_id == facts.file_id && self.btime.is_some() && self.btime == facts.btime
    }
}
