//! Detection: what the agent created anew and a program outside the sandbox would obey.
//!
//! What exists at the start is read-only. What does not exist cannot be kept from being made without leaving
//! ghost files on the host, so it is compared with a baseline, judged by its content, and moved aside beneath
//! the boundary. What existed before the first start is the user's own and is never moved.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::plan::FileId;
use policy::text::{escape, json_bytes};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use self::index::Index;
pub use self::judgement::Linked;
use self::judgement::{Judgement, Verdict, Watched, watched};
use self::origin::{Before, Facts, Time, Touched, Whose, whose};
pub(crate) use self::overlap::{Other, Overlap};
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::protect::{Base, Cause, Mounts, Reach, ReadOnly};

mod index;
mod judgement;
mod origin;
mod overlap;

/// What of a boundary was there at the start. It can be stored, and compared by a later process.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Baseline {
    /// The boundary's root: another directory at the same path has another baseline.
    root: FileId,
    /// When it was taken, in seconds and nanoseconds of the clock that file systems use.
    taken: Time,
    /// From when what is known of a part of it is, where another run began before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Earlier>,
    /// From where protected paths were looked for.
    searched: BTreeSet<Base>,
    /// In the order of their paths.
    entries: Vec<Entry>,
    /// What could not be looked into.
    hidden: Vec<Verdict>,
    /// Small files that a program obeys, in the order of their paths: to be put back where others took their places.
    kept: Vec<Content>,
    /// Whether there was time to look at everything.
    #[serde(default = "yes")]
    is_whole: bool,
    /// Indexes of git.
    #[serde(default)]
    indexes: Vec<Index>,
}

fn yes() -> bool {
    true
}

/// A part of a boundary of which an older baseline knows.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Earlier {
    #[serde(with = "json_bytes::path")]
    path: PathBuf,
    taken: Time,
}

/// A file as it was.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Content {
    #[serde(with = "json_bytes::path")]
    path: PathBuf,
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
    /// A file.
    File(&'a Content),
    /// A link to this.
    Link(&'a Path),
}

/// A protected path as it was.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Entry {
    #[serde(with = "json_bytes::path")]
    path: PathBuf,
    /// From where it was looked for, and why.
    base: Base,
    cause: Cause,
    stamp: Stamp,
    /// When it was made, where the file system knows it: the number of a file that is gone can be had again.
    born: Option<Time>,
    /// Where it led, if it was a link. Links are not protected, so another one is news.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json_bytes::optional_path")]
    target: Option<PathBuf>,
    /// Whether git itself may have taken the link away.
    #[serde(default)]
    hold: Hold,
    /// What the judgement would have been: the user's own, and no news.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    known: Vec<Verdict>,
}

/// How a link is held in its place.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Hold {
    /// Whatever else is there is news.
    #[default]
    Fixed,
    /// Git may put a file there, or nothing.
    Loose,
}

/// Which file it was, and when it was last touched: the time of change cannot be set by anybody.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Stamp {
    file_id: FileId,
    size: i64,
    changed: (i64, i64),
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
    #[serde(with = "json_bytes::path")]
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
    /// Whether it is new.
    pub origin: Origin,
    /// Where it was moved to, relative to the boundary, if it was.
    #[serde(with = "json_bytes::optional_path")]
    pub aside: Option<PathBuf>,
    /// Whether what was there at the start was put back.
    pub restored: bool,
}

/// Whether something is new.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It was not there at the start: it can be moved aside.
    Created,
    /// Something else was there at the start. Where that was a file, somebody on the host has replaced it, which took
    /// its protection away, and the agent may have written what is there now; a link the agent can replace by itself.
    /// It is moved aside, and what was there at the start is put back.
    Replaced,
    /// It was there at the start. Somebody on the host has changed it since, or a program obeys it only now. It
    /// may be the user's own work, so it is only reported.
    Earlier,
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
    /// `root` is the boundary, and `mounts` what [`crate::protect::mounts`] found in it. Says too which protected files
    /// have names elsewhere.
    pub fn take(root: impl AsFd, mounts: &Mounts) -> Result<(Self, Linked), DetectError> {
        let root = root.as_fd();
        let clock = clock_gettime(ClockId::RealtimeCoarse);
        let mut entries = Vec::new();
        let mut judgement = Judgement::until(Deadline::NEVER).keeping();
        for one in watched(mounts) {
            let Ok(stat) = beneath::stat(root, one.path) else { continue };
            let known = judgement.of(root, &one);
            let target = beneath::read_link(root, one.path).ok();
            let born = Facts::at(root, one.path).and_then(|facts| facts.born);
            let (path, base, cause) = (one.path.into(), one.base.clone(), one.cause);
            let (stamp, hold) = (Stamp::of(&stat), one.hold);
            entries.push(Entry { path, base, cause, stamp, born, target, hold, known });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let hidden: BTreeSet<_> = mounts.unreadable.iter().map(|path| hiding(root, path)).collect();
        let hidden = hidden.into_iter().map(|path| Verdict::of(path, Reason::Hidden)).collect();
        let (mut kept, linked) = judgement.kept();
        kept.sort_by(|a, b| a.path.cmp(&b.path));
        let taken = (clock.tv_sec, clock.tv_nsec);
        let is_whole = mounts.is_whole();
        let earlier = Vec::new();
        let indexes = index::take(mounts);
        let searched = mounts.reach.bases().cloned().collect();
        Ok((
            Self { root: id_of(root)?, taken, earlier, searched, entries, hidden, kept, is_whole, indexes },
            linked,
        ))
    }

    /// When it was taken.
    pub(crate) fn taken(&self) -> Time {
        self.taken
    }

    /// When what is known of a path was known.
    fn start_of(&self, path: &Path) -> Time {
        let earlier = self.earlier.iter().filter(|earlier| path.starts_with(&earlier.path));
        earlier.map(|earlier| earlier.taken).fold(self.taken, Time::min)
    }

    /// Which directory this was taken of.
    pub(crate) fn root(&self) -> FileId {
        self.root
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
        let mut findings: Vec<Finding> = Vec::new();
        let mut found = |path, reason, origin| {
            findings.push(Finding { path, reason, origin, aside: None, restored: false });
        };
        // A link cannot be mounted over, so the agent can put something else in its place, or take it away.
        let is_replaced = |entry: &&Entry| {
            let target = beneath::read_link(root, &entry.path).ok();
            let may_be = entry.hold == Hold::Loose && target.is_none();
            entry.target.is_some() && target != entry.target && !may_be
        };
        let replaced: Vec<&Path> =
            self.entries.iter().filter(is_replaced).map(|entry| entry.path.as_path()).collect();
        for path in &replaced {
            found((*path).into(), Reason::LinkReplaced, Origin::Replaced);
        }
        let mut judgement = Judgement::until(until);
        let mut pointers = BTreeMap::new();
        for one in watched(mounts) {
            if until.is_over() {
                judgement.is_whole = false;
                break;
            }
            for Finding { path, reason, origin, .. } in
                self.news_of(root, &one, &mounts.reach, &mut judgement)
            {
                if matches!(reason, Reason::MakesObeyed { .. }) {
                    pointers.entry(path).or_insert((reason, origin));
                    continue;
                }
                // What stands in the place of a link goes as a whole.
                if !replaced.iter().any(|link| path.starts_with(link)) {
                    found(path, reason, origin);
                }
            }
        }
        for (path, reason, origin) in index::news(&self.indexes, mounts) {
            if !mounts.reach.is_beyond(&path) || self.touched(root, &path) == Touched::Since {
                found(path, reason, origin);
            }
        }
        // What git does not make goes as a whole.
        let whole = |one: &&Finding| one.reason == Reason::NotOfGit && one.origin == Origin::Created;
        let whole: Vec<PathBuf> = findings.iter().filter(whole).map(|one| one.path.clone()).collect();
        findings.retain(|one| !whole.iter().any(|above| one.path != *above && one.path.starts_with(above)));
        let judged: BTreeSet<PathBuf> = findings.iter().map(|finding| finding.path.clone()).collect();
        for (path, (reason, origin)) in pointers.into_iter().filter(|(path, _)| !judged.contains(path)) {
            findings.push(Finding { path, reason, origin, aside: None, restored: false });
        }
        let mut said: BTreeSet<PathBuf> = findings.iter().map(|finding| finding.path.clone()).collect();
        said.extend(self.hidden.iter().map(|verdict| verdict.path.clone()));
        let closed_since = |path: &&PathBuf| {
            Facts::at(root, path).is_some_and(|facts| facts.is_changed(self.start_of(path)))
        };
        let hidden_beyond = mounts.hidden_beyond.iter().filter(closed_since);
        for unreadable in mounts.unreadable.iter().chain(hidden_beyond) {
            if until.is_over() {
                judgement.is_whole = false;
                break;
            }
            let path = hiding(root, unreadable);
            if said.insert(path.clone()) {
                // What is as old as this was open, and can be opened again.
                let origin = match self.touched(root, &path) {
                    Touched::Since => Origin::Created,
                    Touched::Before => Origin::Earlier,
                };
                findings.push(Finding { path, reason: Reason::Hidden, origin, aside: None, restored: false });
            }
        }
        Ok(Compared { findings, is_whole: judgement.is_whole })
    }

    /// What is new at one protected path, whatever became of it.
    pub(crate) fn news_at(&self, root: impl AsFd, one: &ReadOnly, until: Deadline) -> Vec<Finding> {
        self.news_of(root.as_fd(), &Watched::of(one), &Reach::default(), &mut Judgement::until(until))
    }

    fn news_of(
        &self,
        root: BorrowedFd<'_>,
        one: &Watched<'_>,
        reach: &Reach,
        judgement: &mut Judgement,
    ) -> Vec<Finding> {
        let Some(facts) = Facts::at(root, one.path) else { return Vec::new() };
        let entry = self.entry(one.path);
        if entry.is_some_and(|entry| entry.is_unchanged(root, &facts)) {
            return Vec::new();
        }
        // A new link makes anybody's files look like git's data.
        let is_led_to = || entry.is_none() && !self.searched.contains(one.base);
        if one.is_strange && is_led_to() && self.touched(root, one.path) == Touched::Before {
            return Vec::new();
        }
        let verdicts = judgement.of(root, one);
        let same_target = |entry: &&Entry| entry.target == beneath::read_link(root, one.path).ok();
        let known = entry.filter(same_target).map_or(&[][..], |entry| &entry.known);
        let before = self.before(one, &facts, reach);
        let mut news = Vec::new();
        let mut found = |path, reason, origin| {
            news.push(Finding { path, reason, origin, aside: None, restored: false });
        };
        for Verdict { path, reason, .. } in verdicts.into_iter().filter(|verdict| !known.contains(verdict)) {
            // Whatever it holds, so it may be anybody's; the link goes.
            let is_led = one.cause == Cause::Asked && matches!(one.base, Base::Led(_));
            let touched = if is_led { Touched::Before } else { self.touched(root, &path) };
            match whose(before, touched) {
                Whose::Created => found(path, reason, Origin::Created),
                Whose::Replaced => found(path, reason, Origin::Replaced),
                Whose::Earlier => found(path, reason, Origin::Earlier),
                Whose::Obeyed => {
                    let pointers = self.pointers(root, one.base, reach);
                    // Work trees are looked into without any pointer, and those to other files are judged themselves.
                    let is_known = reach.is_beyond(one.path) && !self.is_put_together(root, one.base, &path);
                    if pointers.is_empty() && matches!(one.base, Base::Git(_)) && !is_known {
                        found(path.clone(), reason, Origin::Earlier);
                    }
                    for pointer in pointers {
                        let was_there = self.entry(pointer).is_some();
                        let origin = if was_there { Origin::Replaced } else { Origin::Created };
                        found(pointer.into(), Reason::MakesObeyed { path: escape::path(&path) }, origin);
                    }
                }
            }
        }
        news
    }

    /// What was at the place of something that is watched.
    fn before(&self, one: &Watched<'_>, facts: &Facts, reach: &Reach) -> Before {
        match self.entry(one.path) {
            // Nothing is known of its content, and it may be the work of an editor of the user's.
            Some(_) if one.cause == Cause::Asked => Before::Same,
            Some(entry) if entry.is_surely(facts) => Before::Same,
            Some(_) => Before::Another,
            None if self.hidden.iter().any(|hidden| one.path.starts_with(&hidden.path)) => Before::Missed,
            None if self.searched.contains(one.base) => Before::Nothing,
            None if reach.is_beyond(one.path) => Before::NotObeyed,
            None if !self.is_whole => Before::Missed,
            None if reach.is_walked(one.base) => Before::Nothing,
            None => Before::NotObeyed,
        }
    }

    fn touched(&self, root: BorrowedFd<'_>, path: &Path) -> Touched {
        // What is gone by now is nobody's any more.
        Facts::at(root, path).map_or(Touched::Since, |facts| facts.touched(self.start_of(path)))
    }

    /// What was not there, or was something else, and makes programs look at a base: the surest of it.
    fn pointers<'a>(&self, root: BorrowedFd<'_>, base: &Base, reach: &'a Reach) -> Vec<&'a Path> {
        let new = |path| {
            let facts = Facts::at(root, path)?;
            let is_old = self.entry(path).is_some_and(|entry| entry.is_unchanged(root, &facts));
            (!is_old).then_some((path, facts))
        };
        let start = self.start_of(base.path());
        // Beyond the bound nobody looked at the start, and only what makes a directory a repository says anything. Git never
        // makes it anew, but for the `HEAD`.
        let counts = |(path, facts): &(&Path, Facts)| {
            let is_sign = path.parent() == Some(base.path()) && !path.ends_with("HEAD");
            !reach.is_beyond(path) || is_sign && facts.touched(start) == Touched::Since
        };
        let new: Vec<(&Path, Facts)> = reach.by(base).into_iter().filter_map(new).filter(counts).collect();
        let those = |test: &dyn Fn(&Facts) -> bool| -> Vec<&'a Path> {
            new.iter().filter(|(_, facts)| test(facts)).map(|(path, _)| *path).collect()
        };
        let touched = those(&|facts| facts.touched(start) == Touched::Since);
        if !touched.is_empty() {
            return touched;
        }
        // Where not even those were, a directory above was moved.
        let changed = those(&|facts| facts.is_changed(start));
        if changed.is_empty() { those(&|_| true) } else { changed }
    }

    /// Whether something old was put where it lies since the start, or everything that makes a directory a repository was.
    fn is_put_together(&self, root: BorrowedFd<'_>, base: &Base, path: &Path) -> bool {
        let start = self.start_of(path);
        let is_changed = |path: &Path| Facts::at(root, path).map(|facts| facts.is_changed(start));
        let mut between = path.ancestors().skip(1).take_while(|above| *above != base.path());
        let mut signs = ["HEAD", "objects", "refs"].map(|sign| base.path().join(sign)).into_iter();
        between.any(|above| is_changed(above) == Some(true))
            || signs.all(|sign| is_changed(&sign) == Some(true))
    }

    /// What was at a path at the start, if it can be put back.
    pub(crate) fn original(&self, path: &Path) -> Option<Original<'_>> {
        if let Some(target) = self.entry(path).and_then(|entry| entry.target.as_deref()) {
            return Some(Original::Link(target));
        }
        let at = self.kept.binary_search_by(|kept| kept.path.as_path().cmp(path)).ok()?;
        self.kept.get(at).map(Original::File)
    }

    fn entry(&self, path: &Path) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_path().cmp(path)).ok()?;
        self.entries.get(at)
    }
}

impl Entry {
    /// Whether it is the file that it was, untouched.
    fn is_unchanged(&self, root: BorrowedFd<'_>, facts: &Facts) -> bool {
        let stat = beneath::stat(root, &self.path);
        stat.is_ok_and(|stat| self.stamp == Stamp::of(&stat)) && self.born == facts.born
    }

    /// Whether it is known to be the file that it was.
    fn is_surely(&self, facts: &Facts) -> bool {
        self.stamp.file_id == facts.file_id && self.born.is_some() && self.born == facts.born
    }
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
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
        write!(f, "{}: {}", escape::path(&self.path), self.reason)?;
        match self.origin {
            Origin::Created => {}
            Origin::Replaced => f.write_str("; it is not what was there at the start")?,
            Origin::Earlier => {
                f.write_str("; it was there at the start and was changed while the sandbox ran, look at it")?;
            }
        }
        if let Some(aside) = &self.aside {
            write!(f, "; moved to {}", escape::path(aside))?;
        }
        match (self.origin, self.restored) {
            (Origin::Replaced, true) => f.write_str("; what was there at the start was put back"),
            (Origin::Replaced, false) if self.aside.is_some() => {
                f.write_str("; what was there at the start could not be put back")
            }
            _ => Ok(()),
        }
    }
}

/// What cannot be looked into: where even the place of something cannot be looked at, the directory that hides it.
fn hiding(root: BorrowedFd<'_>, path: &Path) -> PathBuf {
    let closed = |path: &&Path| beneath::stat(root, path).err() != Some(Errno::ACCESS);
    path.ancestors().find(closed).unwrap_or(path).to_path_buf()
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
