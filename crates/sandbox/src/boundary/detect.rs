//! Detection: what the agent newly created and a program outside the sandbox would obey.
//!
//! What exists at the start is read-only. What does not exist cannot be kept from being made without leaving
//! ghost files on the host, so it is compared with a baseline, classified by its content, and quarantined beneath
//! the boundary. What existed before the first start is the user's own and is never moved.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::repository::SymbolicReference;
use policy::classify::{BesideKind, Reason, repository};
use policy::plan::FileId;
use policy::protect::table::NamePattern;
use policy::text::escape;
use rustix::fs::Stat;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use self::classifier::{Classifier, Watched, most_important_first, watched};
pub use self::classifier::{Linked, SearchKind};
use self::origin::{Attribution, Before, Facts, Time, Touched, attribute};
use crate::boundary::detect::baseline::{Baseline, Entry, Hold, Original};
use crate::boundary::detect::classified::Classified;
use crate::boundary::detect::finding::{Finding, FindingOrigin};
use crate::boundary::protect::mounts::{Cause, Mounts, Nested, ReadOnly};
use crate::boundary::protect::reach::{Base, Reach};
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::host::mounted::Mounted;
use crate::host::stamp::{Stamp, sees_stores};

mod ambiguous;
mod annex_programs;
pub mod baseline;
mod ceased;
pub(crate) mod checkouts;
mod classified;
pub mod classifier;
mod dotted;
pub mod finding;
pub(crate) mod index;
pub(crate) mod origin;
mod outward;
pub(crate) mod overlap;
mod prepared;
mod references;
mod replacing;
mod tags;

/// What a comparison has found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Compared {
    /// What a program outside would obey, in the order of what is watched.
    pub findings: Vec<Finding>,
    /// Whether there was time to look at everything.
    pub is_whole: bool,
}

/// Why something could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    #[error("the boundary is another directory than at the start; it was not compared")]
    AnotherRoot,
    #[error("{action} {path}: {source}")]
    File {
        action: &'static str,
        /// With what, relative to the boundary.
        path: PathBuf,
        source: std::io::Error,
    },
}

impl Baseline {
    /// Remembers what of the protected paths is there.
    ///
    /// `root` is the boundary, and `mounts` what [`crate::boundary::protect::mounts`] found in it. Says too which protected files
    /// have names elsewhere.
    pub fn take(root: impl AsFd, mounts: &Mounts) -> Result<(Self, Linked), DetectError> {
        let root = root.as_fd();
        let clock = clock_gettime(ClockId::RealtimeCoarse);
        let mut entries = Vec::new();
        let mut classifier = Classifier::until(Deadline::NEVER).sharing(mounts.shared.clone()).keeping();
        for (_, one) in most_important_first(root, mounts) {
            let Ok(stat) = beneath::stat(root, one.path) else { continue };
            let known = classifier.of(root, &one);
            let target = beneath::read_link(root, one.path).ok();
            let btime = Facts::at(root, one.path).and_then(|facts| facts.btime);
            let (path, base, cause) = (one.path.into(), one.base.clone(), one.cause);
            let (stamp, hold) = (Stamp::of(&stat), one.hold);
            entries.push(Entry { path, base, cause, stamp, btime, target, hold, known });
        }
        // What lies in something read-only may come to stand alone: once the link is gone because of which the outer one is.
        for one in mounts.nested.iter().map(|nested| Watched::of(&nested.inner)) {
            let Ok(stat) = beneath::stat(root, one.path) else { continue };
            let btime = Facts::at(root, one.path).and_then(|facts| facts.btime);
            let (path, base, cause) = (one.path.into(), one.base.clone(), one.cause);
            let (stamp, hold) = (Stamp::of(&stat), one.hold);
            entries.push(Entry { path, base, cause, stamp, btime, target: None, hold, known: Vec::new() });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let hidden: BTreeSet<_> = mounts.unreadable.iter().map(|path| hiding(root, path)).collect();
        let hidden = hidden.into_iter().map(|path| Classified::of(path, Reason::Hidden)).collect();
        let (mut kept, linked) = classifier.kept();
        kept.sort_by(|a, b| a.path.cmp(&b.path));
        let taken = (clock.tv_sec, clock.tv_nsec);
        let is_whole = mounts.is_whole();
        let earlier = Vec::new();
        let indexes = index::take(root, mounts);
        let checkouts = checkouts::take(mounts);
        let repositories = ceased::repositories(root, mounts);
        let references = references::take(root, mounts);
        let searched = mounts.reach.bases().cloned().collect();
        let dotted = mounts.dotted.clone();
        let texts = |paths: &mut dyn Iterator<Item = &PathBuf>| -> Vec<OsString> {
            let mut texts: Vec<_> = paths.map(|path| path.clone().into_os_string()).collect();
            texts.sort();
            texts
        };
        let links = texts(&mut mounts.all_links.iter());
        let options = texts(&mut mounts.options.iter());
        let annex_programs = texts(&mut mounts.annex_programs.iter().map(|program| &program.path));
        let shared_elsewhere = texts(&mut mounts.shared_elsewhere.iter());
        let shared = texts(&mut mounts.shared.iter());
        let stat = stat_root(root)?;
        Ok((
            Self {
                root: beneath::file_id(&stat),
                root_btime: Facts::of(root).and_then(|facts| facts.btime),
                root_owner: stat.st_uid,
                taken,
                earlier,
                searched,
                entries,
                hidden,
                kept,
                is_whole,
                indexes,
                checkouts,
                repositories,
                references,
                dotted,
                links,
                options,
                annex_programs,
                shared_elsewhere,
                shared,
            },
            linked,
        ))
    }

    /// Returns whether what lies at a path was touched since, or may have been.
    pub fn is_since(&self, root: impl AsFd, path: &Path) -> bool {
        self.touched(root.as_fd(), path) != Touched::Before
    }

    /// Returns when it was taken.
    pub(crate) fn taken(&self) -> Time {
        self.taken
    }

    /// Returns the time from which changes at a path count: when this baseline was taken, or the earliest one that knows
    /// the path.
    pub(super) fn start_of(&self, path: &Path) -> Time {
        let earlier = self.earlier.iter().filter(|earlier| path.starts_with(&earlier.path));
        earlier.map(|earlier| earlier.taken).fold(self.taken, Time::min)
    }

    /// Returns which directory this was taken of.
    pub(crate) fn root(&self) -> FileId {
        self.root
    }

    /// Returns whether an open directory is the boundary that this was taken of.
    pub fn is_of(&self, root: impl AsFd) -> bool {
        let Some(facts) = Facts::of(root.as_fd()) else { return false };
        facts.file_id == self.root && (self.root_btime.is_none() || self.root_btime == facts.btime)
    }

    /// Returns whether an open directory belongs to whom the boundary belonged.
    pub(crate) fn is_of_same_owner(&self, root: impl AsFd) -> bool {
        stat_root(root.as_fd()).is_ok_and(|stat| stat.st_uid == self.root_owner)
    }

    /// Classifies what was not there, or is another file now, for as long as there is time. `mounts` is what is found
    /// in the boundary now. Where nobody looks again, what is new of the root's own counts without being read once time is over.
    pub fn compare(
        &self,
        root: impl AsFd,
        mounts: &Mounts,
        until: Deadline,
        search: SearchKind,
    ) -> Result<Compared, DetectError> {
        let root = root.as_fd();
        if !self.is_of(root) {
            return Err(DetectError::AnotherRoot);
        }
        let mut findings: Vec<Finding> = Vec::new();
        let mut found = |path, reason, origin| {
            findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
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
            found((*path).into(), Reason::LinkReplaced, FindingOrigin::Replaced);
        }
        let mut classifier = self.classifier(until).searching(search);
        let mut pointers = BTreeMap::new();
        let mut looked_at = BTreeMap::new();
        for (place, one) in most_important_first(root, mounts) {
            if classifier.is_out_of_time() && !(classifier.reads_no_more() && one.is_of_root()) {
                break;
            }
            looked_at.insert(place, self.findings_of(root, &one, &mounts.reach, &mut classifier));
        }
        for Finding { path, reason, origin, .. } in looked_at.into_values().flatten() {
            if matches!(reason, Reason::MakesObeyed { .. }) {
                pointers.entry(path).or_insert((reason, origin));
                continue;
            }
            // What stands in the place of a link goes as a whole.
            if !replaced.iter().any(|link| path.starts_with(link)) {
                found(path, reason, origin);
            }
        }
        let mut reported: HashSet<PathBuf> = findings.iter().map(|finding| finding.path.clone()).collect();
        for one in watched(mounts) {
            if reported.contains(one.path) {
                continue;
            }
            let changed = || {
                let by_other = self.compared(root, &one).map(|reason| (reason, FindingOrigin::Earlier));
                by_other.or_else(|| Some((self.overriding_beside(root, &one)?, FindingOrigin::Created)))
            };
            if let Some((reason, origin)) = changed() {
                let path = one.path.to_path_buf();
                reported.insert(path.clone());
                findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
            }
        }
        let was_searched = |git: &Path| self.searched.contains(&Base::Git(git.into()));
        // What is quarantined does not lie there any more.
        let moved: HashSet<&Path> = findings
            .iter()
            .filter(|one| one.origin != FindingOrigin::Earlier)
            .map(|one| one.path.as_path())
            .collect();
        let goes = |path: &Path| path.ancestors().any(|above| moved.contains(above));
        let is_since = |path: &Path| self.touched(root, path) == Touched::Since;
        // Of one that is shared, its own boundary says what its index would write.
        let is_shared = |git: &Path| self.shared_elsewhere.iter().any(|shared| shared == git);
        let references = |git: &Path| self.references_of(git);
        let start = index::Start {
            indexes: &self.indexes,
            references: &references,
            was_searched: &was_searched,
            is_shared: &is_shared,
            is_owners: &|git: &Path| self.is_owners_work_tree(git, mounts),
        };
        let unindexed = checkouts::added_in_commits(root, &start, mounts, goes, is_since);
        let indexes = index::added_entries(root, &start, mounts, goes, is_since);
        let mut found = |path, reason, origin| {
            findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
        };
        for (path, reason, origin) in indexes {
            let touched = mounts.reach.is_beyond(&path).then(|| self.touched(root, &path));
            match touched {
                None | Some(Touched::Since) => found(path, reason, origin),
                // It may be the user's own.
                Some(Touched::Unknown) => found(path, reason, FindingOrigin::Earlier),
                Some(Touched::Before) => {}
            }
        }
        let unindexed = unindexed.into_iter();
        findings.extend(unindexed.map(|(path, reason, origin)| Finding {
            path,
            reason,
            origin,
            quarantined: None,
            restored: false,
        }));
        let nested = self.nested_news(root, mounts, &findings, &mut classifier);
        findings.extend(nested);
        findings.extend(self.new_annex_programs(root, mounts));
        findings.extend(checkouts::checked_out_twice(&self.checkouts, mounts));
        findings.extend(checkouts::converted(mounts));
        // `git worktree add` of the user's leads out of the boundary.
        let is_owners =
            |gitdir: &Path| gitdir.parent().is_some_and(|git| self.is_owners_work_tree(git, mounts));
        findings.retain(|one| {
            one.reason != Reason::GitElsewhere || !one.path.ends_with("gitdir") || !is_owners(&one.path)
        });
        // What git does not make goes as a whole.
        let whole = |one: &&Finding| one.reason == Reason::NotOfGit && one.origin == FindingOrigin::Created;
        let whole: HashSet<PathBuf> = findings.iter().filter(whole).map(|one| one.path.clone()).collect();
        findings.retain(|one| !one.path.ancestors().skip(1).any(|above| whole.contains(above)));
        // A link may be on the way of several programs.
        let mut once = HashSet::new();
        findings.retain(|one| once.insert((one.path.clone(), one.reason.clone())));
        let classified: BTreeSet<PathBuf> = findings.iter().map(|finding| finding.path.clone()).collect();
        for (path, (reason, origin)) in pointers.into_iter().filter(|(path, _)| !classified.contains(path)) {
            findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
        }
        let mut said: BTreeSet<PathBuf> = findings.iter().map(|finding| finding.path.clone()).collect();
        said.extend(self.hidden.iter().map(|verdict| verdict.path.clone()));
        let closed_since = |path: &&PathBuf| {
            Facts::at(root, path).is_some_and(|facts| facts.is_changed(self.start_of(path)))
        };
        let hidden_beyond = mounts.hidden_beyond.iter().filter(closed_since);
        for unreadable in mounts.unreadable.iter().chain(hidden_beyond) {
            if classifier.is_out_of_time() {
                break;
            }
            let path = hiding(root, unreadable);
            if said.insert(path.clone()) {
                // What is as old as this was open, and can be opened again.
                let origin = match self.touched(root, &path) {
                    Touched::Since => FindingOrigin::Created,
                    Touched::Before | Touched::Unknown => FindingOrigin::Earlier,
                };
                findings.push(Finding {
                    path,
                    reason: Reason::Hidden,
                    origin,
                    quarantined: None,
                    restored: false,
                });
            }
        }
        for finding in &mut findings {
            finding.reason.shorten();
        }
        Ok(Compared { findings, is_whole: classifier.is_whole })
    }

    /// Classifies what is new at one protected path, however it came there, for as long as there is time.
    pub(crate) fn compare_at(&self, root: impl AsFd, one: &ReadOnly, until: Deadline) -> Compared {
        let mut classifier = self.classifier(until);
        let mut findings =
            self.findings_of(root.as_fd(), &Watched::of(one), &Reach::default(), &mut classifier);
        for finding in &mut findings {
            finding.reason.shorten();
        }
        Compared { findings, is_whole: classifier.is_whole }
    }

    fn classifier(&self, until: Deadline) -> Classifier {
        Classifier::until(until).sharing(self.shared.iter().map(PathBuf::from).collect())
    }

    /// Compares a configuration of git that the host has replaced with the one that was there: the agent may have written it.
    fn compared(&self, root: BorrowedFd<'_>, one: &Watched<'_>) -> Option<Reason> {
        let entry = self.entry(one.path)?;
        let is_unchanged =
            Facts::at(root, one.path).is_none_or(|facts| is_surely_unchanged(root, entry, one, &facts));
        match self.original(one.path).filter(|_| !is_unchanged)? {
            Original::File(before) => classifier::compare(root, one, &before.bytes),
            Original::Link(_) => None,
        }
    }

    /// Returns what a new configuration, beside the one of a repository that was there, has hold in the place of that.
    fn overriding_beside(&self, root: BorrowedFd<'_>, one: &Watched<'_>) -> Option<Reason> {
        let was_searched = |git: &Path| self.searched.contains(&Base::Git(git.into()));
        let of_work_tree = || {
            let git = one.path.parent().filter(|_| one.path.ends_with("config.worktree"))?;
            let common = git.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent);
            Some(was_searched(git) || common.is_some_and(was_searched))
        };
        // One that was there at the start included it already.
        let is_included = || one.is_configuration() && self.searched.contains(&Base::Passed(one.path.into()));
        let kind = if of_work_tree() == Some(true) {
            BesideKind::OfWorkTree
        } else {
            is_included().then_some(BesideKind::Included)?
        };
        self.entry(one.path).is_none().then(|| classifier::overrides(root, one, kind)).flatten()
    }

    /// Classifies what lies within a protected directory that is new, by rules of its own: a repository, mostly.
    fn nested_news(
        &self,
        root: BorrowedFd<'_>,
        mounts: &Mounts,
        findings: &[Finding],
        classifier: &mut Classifier,
    ) -> Vec<Finding> {
        let reported: BTreeSet<&Path> = findings.iter().map(|finding| finding.path.as_path()).collect();
        let is_reported = |path: &Path| path.ancestors().any(|above| reported.contains(above));
        let mut findings = Vec::new();
        for Nested { outer, inner } in &mounts.nested {
            // What was protected as a whole at the start, the agent of this run cannot have written. It may have made what leads there.
            let is_kept = self.is_kept(root, outer);
            let leads_there = |path: &Path| !path.starts_with(outer);
            let is_led_to = || {
                let is_known = self.searched.contains(&inner.base);
                let pointers = self.pointers(root, &inner.base, &mounts.reach);
                !is_known && pointers.into_iter().any(leads_there)
            };
            if is_reported(&inner.path) || is_kept && !is_led_to() {
                continue;
            }
            if classifier.is_out_of_time() {
                break;
            }
            let found = self.findings_of(root, &Watched::among(inner, mounts), &mounts.reach, classifier);
            let is_pointer = |one: &Finding| matches!(one.reason, Reason::MakesObeyed { .. });
            findings.extend(
                found.into_iter().filter(|one| !is_kept || is_pointer(one) && leads_there(&one.path)),
            );
        }
        findings.retain(|one| !is_reported(&one.path));
        findings
    }

    /// Returns whether what lies at a path was protected there since the start.
    fn is_kept(&self, root: BorrowedFd<'_>, path: &Path) -> bool {
        let facts = Facts::at(root, path);
        self.entry(path).zip(facts).is_some_and(|(entry, facts)| entry.may_be(&facts))
    }

    fn findings_of(
        &self,
        root: BorrowedFd<'_>,
        one: &Watched<'_>,
        reach: &Reach,
        classifier: &mut Classifier,
    ) -> Vec<Finding> {
        let Some(facts) = Facts::at(root, one.path) else { return Vec::new() };
        let entry = self.entry(one.path);
        if entry.is_some_and(|entry| is_surely_unchanged(root, entry, one, &facts)) {
            return Vec::new();
        }
        if one.is_unexpected && facts.is_file() && self.is_known_reference(one.path) {
            return Vec::new();
        }
        // A new link makes anybody's files look like git's data.
        let is_led_to = || entry.is_none() && !self.searched.contains(one.base);
        if one.is_unexpected && is_led_to() && self.touched(root, one.path) != Touched::Since {
            return Vec::new();
        }
        // Where it is known what the settings protect, only what differs is news.
        let is_recorded = one.cause == Cause::Asked && entry.is_some_and(|entry| !entry.known.is_empty());
        let verdicts = if classifier.reads_no_more() {
            classifier.unread(root, one)
        } else if is_recorded {
            classifier.configured(root, one)
        } else {
            classifier.of(root, one)
        };
        let same_target = |entry: &&Entry| entry.target == beneath::read_link(root, one.path).ok();
        let known = entry.filter(same_target).map_or(&[][..], |entry| &entry.known);
        let before = self.before(one, &facts, reach);
        // Of a whole directory there may be thousands.
        let of_recorded = known.iter().filter(|_| is_recorded);
        let recorded: HashSet<(&Path, Option<&str>)> =
            of_recorded.map(|one| (one.path.as_path(), one.essence.as_deref())).collect();
        let unread = known.iter().filter(|one| is_unread(&one.reason)).map(|one| one.path.as_path());
        let unread: HashSet<&Path> = unread.collect();
        let mut findings = Vec::new();
        let mut found = |path, reason, origin| {
            findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
        };
        let news = verdicts.into_iter().filter_map(|verdict| {
            if is_recorded {
                let is_same = recorded.contains(&(verdict.path.as_path(), verdict.essence.as_deref()));
                (!is_same).then_some(verdict)
            } else {
                verdict.news_beside(known)
            }
        });
        for Classified { path, reason, .. } in news {
            // Of what was not read at the start, nobody knows whether it is another one.
            let is_unread =
                is_recorded && is_unread(&reason) && path.ancestors().any(|path| unread.contains(path));
            let before = if is_unread { Before::Same } else { before };
            // Whatever it holds, so it may be anybody's; the link goes.
            let is_led = one.cause == Cause::Asked && matches!(one.base, Base::Led(_));
            let touched = if is_led { Touched::Before } else { self.touched(root, &path) };
            match attribute(before, touched) {
                Attribution::Created => found(path, reason, FindingOrigin::Created),
                Attribution::Replaced => found(path, reason, FindingOrigin::Replaced),
                Attribution::Earlier => found(path, reason, FindingOrigin::Earlier),
                Attribution::Obeyed => {
                    let pointers = self.pointers(root, one.base, reach);
                    // Work trees are searched without any pointer, and those to other files are classified themselves.
                    // To what only lacks something to be a repository there are none either.
                    let nobody_looked = reach.is_beyond(one.path) || reach.by(one.base).is_empty();
                    let is_old = touched != Touched::Unknown && !self.is_put_together(root, one.base, &path);
                    let is_known = nobody_looked && is_old;
                    if pointers.is_empty() && matches!(one.base, Base::Git(_)) && !is_known {
                        found(path.clone(), reason, FindingOrigin::Earlier);
                    }
                    for pointer in pointers {
                        let was_there = self.entry(pointer).is_some();
                        let origin = if was_there { FindingOrigin::Replaced } else { FindingOrigin::Created };
                        found(pointer.into(), Reason::MakesObeyed { path: escape::path(&path) }, origin);
                    }
                }
            }
        }
        findings
    }

    /// Returns what was at the path of something that is watched.
    fn before(&self, one: &Watched<'_>, facts: &Facts, reach: &Reach) -> Before {
        match self.entry(one.path) {
            // Nothing is known of its content.
            Some(entry) if one.cause == Cause::Asked && entry.known.is_empty() => Before::Same,
            // The agent may write it as it is.
            Some(_) if one.stays_writable() => Before::Another,
            Some(entry) if entry.is_surely(facts) => Before::Same,
            Some(_) => Before::Another,
            None if self.hidden.iter().any(|hidden| one.path.starts_with(&hidden.path)) => Before::Missed,
            None if self.searched.contains(one.base) => Before::Nothing,
            None if self.was_passed(one.base) || self.was_listed(one.base) => Before::Nothing,
            None if reach.is_beyond(one.path) => Before::NotObeyed,
            None if !self.is_whole => Before::Missed,
            None if reach.is_walked(one.base) => Before::Nothing,
            None => Before::NotObeyed,
        }
    }

    /// Returns whether something that was no link was on the way of what leads git elsewhere, where a link is now. It may be an old one,
    /// which has come there with a directory around it.
    fn was_passed(&self, base: &Base) -> bool {
        matches!(base, Base::Led(path) if self.searched.contains(&Base::Passed(path.clone())))
    }

    /// Returns whether a directory that a link leads to was looked through for names such as this one, or was not there.
    fn was_listed(&self, base: &Base) -> bool {
        let Base::Led(path) = base else { return false };
        let Some((directory, name)) = path.parent().zip(path.file_name()) else { return false };
        let fits = |passed: &Path| {
            let pattern = passed.parent().filter(|parent| *parent == directory).and_then(|_| passed.to_str());
            pattern.and_then(NamePattern::of).is_some_and(|pattern| pattern.fits(name.as_bytes()))
        };
        self.searched.iter().any(|base| matches!(base, Base::Passed(passed) if fits(passed)))
    }

    fn touched(&self, root: BorrowedFd<'_>, path: &Path) -> Touched {
        // What is gone by now is nobody's any more.
        let Some(facts) = Facts::at(root, path) else { return Touched::Since };
        match facts.touched(self.start_of(path)) {
            Touched::Before if facts.is_file() && !sees_stores(root) => Touched::Unknown,
            touched => touched,
        }
    }

    /// Lists the files and links that make programs look at a base and were not there before, or were something else.
    /// Only the surest kind is listed.
    fn pointers<'a>(&self, root: BorrowedFd<'_>, base: &Base, reach: &'a Reach) -> Vec<&'a Path> {
        let new = |path| {
            let facts = Facts::at(root, path)?;
            let is_old = self.entry(path).is_some_and(|entry| entry.is_unchanged(root, &facts));
            (!is_old).then_some((path, facts))
        };
        let start = self.start_of(base.path());
        // Beyond the bound nobody looked at the start, and only what makes a directory a repository says anything. Git never
        // creates it again, but for the `HEAD`.
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
        // Where not even those were, a directory above was moved. A link that nobody has touched was there: a repository around it is
        // what is new.
        let changed = those(&|facts| facts.is_changed(start));
        let is_led = matches!(base, Base::Led(_));
        if changed.is_empty() && !is_led { those(&|_| true) } else { changed }
    }

    /// Returns whether something old was moved to where it lies since the start, or everything was that makes a directory
    /// a repository, as far as it is there: the rest may come in a later run.
    fn is_put_together(&self, root: BorrowedFd<'_>, base: &Base, path: &Path) -> bool {
        let start = self.start_of(path);
        let is_changed = |path: &Path| Facts::at(root, path).map(|facts| facts.is_changed(start));
        let mut between = path.ancestors().skip(1).take_while(|above| *above != base.path());
        let mut signs = ["HEAD", "objects", "refs"].map(|sign| base.path().join(sign)).into_iter();
        between.any(|above| is_changed(above) == Some(true))
            || signs.all(|sign| is_changed(&sign) != Some(false))
    }

    /// Returns what was at a path at the start, if it can be put back.
    pub(crate) fn original(&self, path: &Path) -> Option<Original<'_>> {
        if let Some(target) = self.entry(path).and_then(|entry| entry.target.as_deref()) {
            return Some(Original::Link(target));
        }
        let at = self.kept.binary_search_by(|kept| kept.path.as_path().cmp(path)).ok()?;
        self.kept.get(at).map(Original::File)
    }

    /// Returns whether the work tree of a directory of git's data is one that only the user can have made, or a program of theirs: what leads back lies
    /// out of all directories that could be written inside.
    fn is_owners_work_tree(&self, git: &Path, mounts: &Mounts) -> bool {
        let lies_in = |shared: &OsString, tree: &Path| Mounted::new(Path::new(shared)).leads(tree).is_some();
        let is_shared = |tree: &PathBuf| self.shared.iter().any(|shared| lies_in(shared, tree));
        mounts.led_back.contains(git) && mounts.elsewhere.get(git).is_some_and(|tree| !is_shared(tree))
    }

    /// Lists the references that were obeyed at the start, of a directory of git's data, in whatever files they were.
    pub(crate) fn references_of(&self, git: &Path) -> Vec<String> {
        let of_git = self.entries.iter().filter_map(|entry| entry.path.strip_prefix(git).ok());
        let loose = of_git.filter(|path| repository::is_hostile_reference(path));
        let loose = loose.map(|path| path.to_string_lossy().into_owned());
        let links = self.entries.iter().filter_map(|entry| {
            let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
            let (name, target) = (entry.path.strip_prefix(git).ok()?, entry.target.as_deref()?);
            Some(SymbolicReference::of(&bytes(name), &bytes(target))?.known_as())
        });
        index::known_references(&self.indexes, git).into_iter().chain(loose).chain(links).collect()
    }

    /// Returns whether this is a reference that was there at the start, in a file of many.
    fn is_known_reference(&self, path: &Path) -> bool {
        let in_git = path.ancestors().filter(|above| above.ends_with("refs")).filter_map(Path::parent);
        in_git.filter_map(|git| Some((git, path.strip_prefix(git).ok()?))).any(|(git, name)| {
            let is_it = |known: &String| *known == name.to_string_lossy();
            repository::is_hostile_reference(name)
                && index::known_references(&self.indexes, git).iter().any(is_it)
        })
    }

    fn entry(&self, path: &Path) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_path().cmp(path)).ok()?;
        self.entries.get(at)
    }
}

/// Returns whether there was too much to read something.
fn is_unread(reason: &Reason) -> bool {
    matches!(reason, Reason::Hidden | Reason::Unread | Reason::TooLarge { .. })
}

/// Returns whether what is watched is the file that it was, with the same content. A file that stays writable may have changed though its
/// stamp is the same, and of a directory the stamp says nothing of what lies deeper.
fn is_surely_unchanged(root: BorrowedFd<'_>, entry: &Entry, one: &Watched<'_>, facts: &Facts) -> bool {
    let is_unseen_store = || facts.is_file() && entry.was_read() && !sees_stores(root);
    let may_differ = || one.stays_writable() && (!facts.is_no_directory() || is_unseen_store());
    entry.is_unchanged(root, facts) && !may_differ()
}

/// Returns the path or, where it cannot be examined, the nearest directory above it that can.
fn hiding(root: BorrowedFd<'_>, path: &Path) -> PathBuf {
    let closed = |path: &&Path| beneath::stat(root, path).err() != Some(Errno::ACCESS);
    path.ancestors().find(closed).unwrap_or(path).to_path_buf()
}

fn stat_root(root: BorrowedFd<'_>) -> Result<Stat, DetectError> {
    rustix::fs::fstat(root).map_err(|errno| DetectError::File {
        action: "stat",
        path: PathBuf::new(),
        source: errno.into(),
    })
}
