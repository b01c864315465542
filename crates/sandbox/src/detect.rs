//! Detection: what the agent created anew and a program outside the sandbox would obey.
//!
//! What exists at the start is read-only. What does not exist cannot be kept from being made without leaving
//! ghost files on the host, so it is compared with a baseline, judged by its content, and moved aside beneath
//! the boundary. What existed before the first start is the user's own and is never moved.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use policy::judge::{Found, MAX_CONTENT, Reason, concerns, judge};
use policy::plan::FileId;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, StatxFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::beneath;
use crate::deadline::Deadline;
use crate::protect::{Cause, Mounts, ReadOnly};

/// Where things are moved to, in the root of their boundary.
pub const QUARANTINE: &str = ".sandboxctl-quarantine";

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

/// Why something could not be compared or moved.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// The directory at this path is another one now.
    #[error("the boundary is another directory than at the start; it was not compared")]
    AnotherRoot,
    /// It was there before the sandbox was.
    #[error("{0} was there at the start; look at it and decide yourself")]
    NotCreated(PathBuf),
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

/// Moves something that was created aside, and says in the finding where it is.
///
/// It goes to `.sandboxctl-quarantine/<seconds>-<n>/` under its own path, where a leading dot of each name
/// becomes `dot-`: nothing obeys it there, and git does not list it. Every directory on the way is opened without following links, so
/// that an agent which is still running cannot lead this anywhere else; whatever it puts at the path in the
/// meantime is moved instead. False if nothing is there any more.
pub fn set_aside(root: impl AsFd, finding: &mut Finding, now: SystemTime) -> Result<bool, DetectError> {
    if finding.origin != Origin::Created {
        return Err(DetectError::NotCreated(finding.path.clone()));
    }
    let root = root.as_fd();
    let failed = |action, path: &Path| {
        let path = path.to_path_buf();
        move |errno: Errno| DetectError::File { action, path, source: errno.into() }
    };
    let (from, name) = match beneath::parent(root, &finding.path) {
        Ok(parent) => parent,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(false),
        Err(errno) => return Err(failed("open the directory of", &finding.path)(errno)),
    };
    if let Err(Errno::NOENT) = rustix::fs::statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
        return Ok(false);
    }
    let (mut place, mut to) =
        new_place(root, now).map_err(failed("make a place in", Path::new(QUARANTINE)))?;
    let inert: Vec<OsString> = finding.path.iter().map(inert).collect();
    let (last, directories) =
        inert.split_last().ok_or(Errno::INVAL).map_err(failed("name", &finding.path))?;
    for directory in directories {
        place.push(directory);
        to = make_directory(&to, directory).map_err(failed("make", &place))?;
    }
    place.push(last);
    let moved = rustix::fs::renameat_with(&from, name, &to, last, RenameFlags::NOREPLACE);
    let moved = match moved {
        // Where something lies, and a directory that goes elsewhere, must be writable.
        Err(Errno::ACCESS) => open_for_moving(root, &finding.path, &from, name)
            .and_then(|()| rustix::fs::renameat_with(&from, name, &to, last, RenameFlags::NOREPLACE)),
        moved => moved,
    };
    match moved {
        Ok(()) => {
            finding.aside = Some(place);
            Ok(true)
        }
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(failed("move aside", &finding.path)(errno)),
    }
}

/// Whether a path in a boundary is one where things were moved to, or one that was put out of their way.
pub(crate) fn is_quarantine(path: &Path) -> bool {
    let Some(rest) = path.as_os_str().as_bytes().strip_prefix(QUARANTINE.as_bytes()) else { return false };
    let numbered = || rest.starts_with(b"-") && rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-'));
    rest.is_empty() || numbered()
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

/// Makes a directory of its own for one thing.
fn new_place(root: BorrowedFd<'_>, now: SystemTime) -> Result<(PathBuf, OwnedFd), Errno> {
    let quarantine = match quarantine(root, now) {
        // The agent may have closed the boundary itself.
        Err(Errno::ACCESS) => {
            beneath::open_up(root, OsStr::new("."))?;
            quarantine(root, now)?
        }
        opened => opened?,
    };
    let name = |number: u32| format!("{}-{number}", seconds(now));
    for number in first_free(&quarantine, name)..u32::MAX {
        let name = name(number);
        match rustix::fs::mkdirat(&quarantine, &*name, Mode::RWXU) {
            Ok(()) => {
                let place = make_directory(&quarantine, OsStr::new(&name))?;
                return Ok((Path::new(QUARANTINE).join(name), place));
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// A number of which the name is not taken, and that of the number before it is. Found by halving: an agent may
/// have made so much that asking for one after the other would never end.
fn first_free(directory: impl AsFd, name: impl Fn(u32) -> String) -> u32 {
    let taken = |number| rustix::fs::statat(&directory, name(number), AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let free = (0..31).map(|power| (1 << power) - 1).find(|number| !taken(*number)).unwrap_or(u32::MAX);
    let (mut taken_up_to, mut free_from) = (free / 2, free);
    while taken_up_to < free_from {
        let middle = taken_up_to + (free_from - taken_up_to) / 2;
        if taken(middle) {
            taken_up_to = middle + 1;
        } else {
            free_from = middle;
        }
    }
    free_from
}

/// Opens the quarantine, making it where it is missing.
fn quarantine(root: BorrowedFd<'_>, now: SystemTime) -> Result<OwnedFd, Errno> {
    match beneath::open_up(root, OsStr::new(QUARANTINE)) {
        Ok(()) | Err(Errno::NOENT) => {}
        // Something else stands there, or a link: the agent's work. Out of the way with it, as it is.
        Err(_) => put_out_of_the_way(root, now)?,
    }
    let quarantine = make_directory(root, OsStr::new(QUARANTINE))?;
    // Whoever cannot make this one file can still be protected.
    let _ = hide_from_git(&quarantine);
    Ok(quarantine)
}

/// Keeps what was moved aside out of `git status` and `git add`, without touching a file of the user's. One that is
/// there already stays as it is.
fn hide_from_git(quarantine: &OwnedFd) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(quarantine, ".gitignore", flags, Mode::from_raw_mode(0o644))?;
    give_as(&file, &rustix::fs::fstat(quarantine)?)?;
    rustix::io::write(&file, b"*\n").map(drop)
}

/// Gives whatever is called like the quarantine another name.
fn put_out_of_the_way(root: BorrowedFd<'_>, now: SystemTime) -> Result<(), Errno> {
    let name = |number: u32| format!("{QUARANTINE}-{}-{number}", seconds(now));
    for number in first_free(root, name)..u32::MAX {
        match rustix::fs::renameat_with(root, QUARANTINE, root, name(number), RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            renamed => return renamed,
        }
    }
    Err(Errno::EXIST)
}

/// Makes what is to be moved and the directory that it lies in writable for their owner.
fn open_for_moving(root: BorrowedFd<'_>, path: &Path, from: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    if let Some((above, directory)) = path.parent().and_then(|parent| beneath::parent(root, parent).ok()) {
        beneath::open_up(above, directory)?;
    }
    match beneath::open_up(from, name) {
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(()),
        opened => opened,
    }
}

/// Opens a directory, making it where it is missing. It belongs to whoever owns the one it lies in.
fn make_directory(parent: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let parent = parent.as_fd();
    let made = match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    if made {
        give_as(&directory, &rustix::fs::fstat(parent)?)?;
    }
    Ok(directory)
}

/// Makes whoever owns the directory above the owner: root does this for somebody else, who must be able to look.
fn give_as(made: &OwnedFd, above: &Stat) -> Result<(), Errno> {
    if rustix::fs::fstat(made)?.st_uid == above.st_uid {
        return Ok(());
    }
    let (uid, gid) = (rustix::fs::Uid::from_raw(above.st_uid), rustix::fs::Gid::from_raw(above.st_gid));
    rustix::fs::fchown(made, Some(uid), Some(gid))
}

fn inert(name: &OsStr) -> OsString {
    match name.as_bytes().strip_prefix(b".") {
        Some(rest) => {
            let mut inert = OsString::from("dot-");
            inert.push(OsStr::from_bytes(rest));
            inert
        }
        None => name.to_owned(),
    }
}

fn seconds(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_free_number_is_found_among_thousands_without_asking_for_each() {
        let top = tempfile::tempdir().unwrap();
        let directory = File::open(top.path()).unwrap();
        let asked = Cell::new(0);
        let name = |number: u32| {
            asked.set(asked.get() + 1);
            format!("17-{number}")
        };
        for taken in 0..2000 {
            asked.set(0);
            assert_eq!(first_free(&directory, name), taken);
            assert!(asked.get() <= 32, "number {taken} was asked for {} times", asked.get());
            fs::create_dir(top.path().join(format!("17-{taken}"))).unwrap();
        }
        fs::remove_dir(top.path().join("17-5")).unwrap();
        assert!([5, 2000].contains(&first_free(&directory, name)), "a number that is taken is no answer");
    }
}
