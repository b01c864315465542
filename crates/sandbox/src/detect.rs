//! Detection: what the agent created anew and a program outside the sandbox would obey.
//!
//! What exists at the start is read-only. What does not exist cannot be kept from being made without leaving
//! ghost files on the host, so it is compared with a baseline, judged by its content, and moved aside beneath
//! the boundary. What existed before the first start is the user's own and is never moved.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::judge::{Found, MAX_CONTENT, Reason, concerns, judge};
use policy::plan::FileId;
use rustix::fs::{AtFlags, FileType, Stat, StatxFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::beneath;
use crate::deadline::Deadline;
use crate::protect::{Cause, Mounts, ReadOnly};

/// How many directories deep a protected directory that appeared is judged.
const LEVELS: u32 = 8;

/// How much is judged at one time: the content of files in bytes, and [`ENTRY`] more for each. No project has as
/// much at its protected paths. Looking at it takes about a second; links to one large file, which cost an agent
/// nothing, would take hours. What is beyond it is not given the benefit of the doubt.
const MOST_JUDGED: u64 = 16 << 20;

/// What an entry counts for besides its content: finding it costs as much as reading so many bytes.
const ENTRY: u64 = 256;

/// What of a boundary was there at the start. It can be stored, and compared by a later process.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Baseline {
    /// The boundary's root: another directory at the same path has another baseline.
    root: FileId,
    /// When it was taken, in seconds and nanoseconds of the clock that file systems use.
    taken: (i64, i64),
    /// In the order of their paths.
    entries: Vec<Entry>,
    /// What could not be looked into.
    hidden: Vec<Verdict>,
}

/// A protected path as it was.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Entry {
    #[serde(with = "any_path")]
    path: PathBuf,
    stamp: Stamp,
    /// Where it led, if it was a link. Links are not protected, so another one is news.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "any_path_or_none")]
    target: Option<PathBuf>,
    /// What the judgement would have been: the user's own, and no news.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    known: Vec<Verdict>,
}

/// Which file it was, and when it was last touched: the time of change cannot be set by anybody.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Stamp {
    file_id: FileId,
    size: i64,
    changed: (i64, i64),
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Verdict {
    #[serde(with = "any_path")]
    path: PathBuf,
    reason: Reason,
}

/// What a comparison has found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Compared {
    /// What a program outside would obey, in the order in which it was looked at.
    pub findings: Vec<Finding>,
    /// Whether there was time to look at everything.
    pub is_whole: bool,
}

/// Something that a program outside would obey.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// Where it lies, relative to the boundary.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
    /// Whether it is new.
    pub origin: Origin,
    /// Where it was moved to, relative to the boundary, if it was.
    #[serde(with = "any_path_or_none")]
    pub aside: Option<PathBuf>,
}

/// Whether something is new.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It was not there at the start: it can be moved aside.
    Created,
    /// Something was there at the start, and somebody on the host has replaced it since, which took its
    /// protection away. It may be the user's own work, so it is only reported.
    Replaced,
}

/// Why something could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// The directory at this path is another one now.
    #[error("the boundary is another directory than at the start; it was not compared")]
    AnotherRoot,
    /// A call failed.
    #[error("{action} {path}: {source}")]
    File {
        /// What was being done.
        action: &'static str,
        /// With what, relative to the boundary.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Baseline {
    /// Remembers what of the protected paths is there.
    ///
    /// `root` is the boundary, and `mounts` what [`crate::protect::mounts`] found in it.
    pub fn take(root: impl AsFd, mounts: &Mounts) -> Result<Self, DetectError> {
        let root = root.as_fd();
        let clock = clock_gettime(ClockId::RealtimeCoarse);
        let mut entries = Vec::new();
        let mut judgement = Judgement::until(Deadline::NEVER);
        for one in watched(mounts) {
            let Ok(stat) = beneath::stat(root, one.path) else { continue };
            let known = judgement.of(root, &one);
            let target = beneath::read_link(root, one.path).ok();
            entries.push(Entry { path: one.path.into(), stamp: Stamp::of(&stat), target, known });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let hidden: BTreeSet<_> = mounts.unreadable.iter().map(|path| hiding(root, path)).collect();
        let hidden = hidden.into_iter().map(|path| Verdict { path, reason: Reason::Hidden }).collect();
        Ok(Self { root: id_of(root)?, taken: (clock.tv_sec, clock.tv_nsec), entries, hidden })
    }

    /// Whether an open directory is the boundary that this was taken of.
    pub fn is_of(&self, root: impl AsFd) -> bool {
        id_of(root.as_fd()).is_ok_and(|id| id == self.root)
    }

    /// Judges what was not there, or is another file now, for as long as there is time. `mounts` is what is found
    /// in the boundary now.
    pub fn compare(
        &self,
        root: impl AsFd,
        mounts: &Mounts,
        until: Deadline,
    ) -> Result<Compared, DetectError> {
        let root = root.as_fd();
        if id_of(root)? != self.root {
            return Err(DetectError::AnotherRoot);
        }
        let mut findings = Vec::new();
        let mut judgement = Judgement::until(until);
        for one in watched(mounts) {
            if until.is_over() {
                judgement.is_whole = false;
                break;
            }
            let Ok(stat) = beneath::stat(root, one.path) else { continue };
            let before = self.entry(one.path);
            if before.is_some_and(|entry| entry.stamp == Stamp::of(&stat)) {
                continue;
            }
            let verdicts = judgement.of(root, &one);
            let same_target = |entry: &&Entry| entry.target == beneath::read_link(root, one.path).ok();
            let known = before.filter(same_target).map_or(&[][..], |entry| &entry.known);
            // A configuration that the agent made may name what was there all along.
            let origin = |path: &Path| match (before, one.cause) {
                (None, Cause::Listed) => Origin::Created,
                (None, Cause::Named) if self.is_older_than(root, path) => Origin::Created,
                _ => Origin::Replaced,
            };
            findings.extend(verdicts.into_iter().filter(|verdict| !known.contains(verdict)).map(
                |Verdict { path, reason }| {
                    let origin = origin(&path);
                    Finding { path, reason, origin, aside: None }
                },
            ));
        }
        let mut said: BTreeSet<PathBuf> = findings.iter().map(|finding| finding.path.clone()).collect();
        said.extend(self.hidden.iter().map(|verdict| verdict.path.clone()));
        for unreadable in &mounts.unreadable {
            if until.is_over() {
                judgement.is_whole = false;
                break;
            }
            let path = hiding(root, unreadable);
            if said.insert(path.clone()) {
                let origin = if self.is_older_than(root, &path) { Origin::Created } else { Origin::Replaced };
                findings.push(Finding { path, reason: Reason::Hidden, origin, aside: None });
            }
        }
        Ok(Compared { findings, is_whole: judgement.is_whole })
    }

    /// Whether something was made after this. Where the file system does not say, it was not: what may be the
    /// user's own is not moved. Nobody can set the time of birth, see statx(2).
    fn is_older_than(&self, root: BorrowedFd<'_>, path: &Path) -> bool {
        let Ok((parent, name)) = beneath::parent(root, path) else { return false };
        rustix::fs::statx(parent, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).is_ok_and(|stat| {
            let born = (stat.stx_btime.tv_sec, i64::from(stat.stx_btime.tv_nsec));
            stat.stx_mask & StatxFlags::BTIME.bits() != 0 && born >= self.taken
        })
    }

    fn entry(&self, path: &Path) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_path().cmp(path)).ok()?;
        self.entries.get(at)
    }
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        // A directory's time changes with what is in it. While it is the same directory, it is read-only.
        let directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Self {
            file_id: beneath::file_id(stat),
            size: if directory { 0 } else { stat.st_size },
            changed: if directory { (0, 0) } else { (stat.st_ctime, nanoseconds(stat)) },
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)?;
        match (&self.origin, &self.aside) {
            (_, Some(aside)) => write!(f, "; moved to {}", aside.display()),
            (Origin::Created, None) => Ok(()),
            (Origin::Replaced, None) => {
                f.write_str("; it was there at the start and was changed while the sandbox ran, look at it")
            }
        }
    }
}

/// What cannot be looked into: where even the place of something cannot be looked at, the directory that hides it.
fn hiding(root: BorrowedFd<'_>, path: &Path) -> PathBuf {
    let closed = |path: &&Path| beneath::stat(root, path).err() != Some(Errno::ACCESS);
    path.ancestors().find(closed).unwrap_or(path).to_path_buf()
}

/// A path to be compared, and how it is judged.
struct Watched<'a> {
    path: &'a Path,
    seen_as: &'a Path,
    cause: Cause,
}

fn watched(mounts: &Mounts) -> impl Iterator<Item = Watched<'_>> {
    let files = mounts.read_only.iter().map(|ReadOnly { path, seen_as, cause, .. }| Watched {
        path,
        seen_as,
        cause: *cause,
    });
    files.chain(mounts.links.iter().map(|link| Watched {
        path: &link.path,
        seen_as: &link.seen_as,
        cause: link.cause,
    }))
}

/// The judgement of many paths, which comes to an end however much is there.
struct Judgement {
    verdicts: Vec<Verdict>,
    /// How much of [`MOST_JUDGED`] is left.
    left: u64,
    until: Deadline,
    /// Whether there was time to look at everything.
    is_whole: bool,
}

impl Judgement {
    fn until(until: Deadline) -> Self {
        Self { verdicts: Vec::new(), left: MOST_JUDGED, until, is_whole: true }
    }

    /// Judges what is at a path, and in it.
    fn of(&mut self, root: BorrowedFd<'_>, one: &Watched<'_>) -> Vec<Verdict> {
        if let Ok((parent, name)) = beneath::parent(root, one.path) {
            self.entry(&parent, name, one.path, one.seen_as, LEVELS);
        }
        std::mem::take(&mut self.verdicts)
    }

    fn entry(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path, seen_as: &Path, levels: u32) {
        // What is gone by now harms nobody.
        let Ok(stat) = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        if self.left == 0 {
            return self.verdict(path, Reason::Hidden);
        }
        self.left = self.left.saturating_sub(ENTRY);
        let mut content = Vec::new();
        let found = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Found::Directory,
            FileType::Symlink => Found::Link,
            FileType::RegularFile => {
                if concerns(seen_as) && !read(parent, name, &mut content) {
                    return self.verdict(path, Reason::NotAFile);
                }
                Found::File { mode: stat.st_mode }
            }
            _ => Found::Special,
        };
        self.left = self.left.saturating_sub(content.len() as u64);
        if let Some(reason) = judge(seen_as, found, &content) {
            self.verdict(path, reason);
        }
        if found == Found::Directory && levels > 0 {
            self.directory(parent, name, path, seen_as, levels - 1);
        }
    }

    fn directory(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path, seen_as: &Path, levels: u32) {
        // One more than there is room for, so that it is seen that there are more.
        let most = usize::try_from(self.left / ENTRY).unwrap_or(usize::MAX).saturating_add(1);
        let list = || {
            let directory = beneath::listing(parent, Path::new(name))?;
            let entries = beneath::entries(directory.as_fd())?.take(most).collect::<Result<Vec<_>, _>>()?;
            Ok((directory, entries))
        };
        let (directory, mut entries) = match list() {
            Ok(listed) => listed,
            Err(Errno::NOENT | Errno::NOTDIR) => return,
            Err(_) => return self.verdict(path, Reason::Hidden),
        };
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, _) in entries {
            if self.until.is_over() {
                self.is_whole = false;
                return;
            }
            if self.left == 0 {
                return self.verdict(path, Reason::Hidden);
            }
            self.entry(&directory, &name, &path.join(&name), &seen_as.join(&name), levels);
        }
    }

    fn verdict(&mut self, path: &Path, reason: Reason) {
        self.verdicts.push(Verdict { path: path.into(), reason });
    }
}

/// Reads as much of a file as is judged. False if it is none any more, or cannot be read: an agent that hides
/// what it wrote is not given the benefit of the doubt.
fn read(parent: &OwnedFd, name: &OsStr, content: &mut Vec<u8>) -> bool {
    beneath::file(parent, Path::new(name)).is_ok_and(|(file, _)| {
        std::fs::File::from(file).take(MAX_CONTENT as u64 + 1).read_to_end(content).is_ok()
    })
}

fn id_of(root: BorrowedFd<'_>) -> Result<FileId, DetectError> {
    rustix::fs::fstat(root).map(|stat| beneath::file_id(&stat)).map_err(|errno| DetectError::File {
        action: "look at",
        path: PathBuf::new(),
        source: errno.into(),
    })
}

fn nanoseconds(stat: &Stat) -> i64 {
    i64::try_from(stat.st_ctime_nsec).unwrap_or_default()
}

/// A path in JSON: text where it is UTF-8, else its bytes. An agent may call a directory anything.
mod any_path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Owned {
        Text(PathBuf),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => text.serialize(serializer),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match Owned::deserialize(deserializer)? {
            Owned::Text(path) => path,
            Owned::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}

/// The same, or nothing.
mod any_path_or_none {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize, Serialize)]
    struct AnyPath(#[serde(with = "super::any_path")] PathBuf);

    #[expect(clippy::ref_option, reason = "serde passes the field")]
    pub(super) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.clone().map(AnyPath).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<AnyPath>::deserialize(deserializer)?.map(|path| path.0))
    }
}
