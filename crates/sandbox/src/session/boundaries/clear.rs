//! Clearing up boundaries: what an agent made that would run on the host is quarantined, by the run itself or by the next
//! command.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use policy::classify::Reason;
use policy::plan::FileId;
use policy::text::escape;
use rustix::io::Errno;
use tracing::info;

use super::found_again::FoundAgain;
use super::scan::Scan;
use crate::boundary::detect::finding::{Finding, FindingOrigin, lines};
use crate::boundary::protect::search::SearchRules;
use crate::boundary::quarantine::name::QUARANTINE;
use crate::boundary::quarantine::{self, Moved};
use crate::boundary::root::Entered;
use crate::boundary::walk::Known;
use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::session::cut_off_copies;
use crate::session::outcome::Notice;
use crate::state::client::ProcessError;
use crate::state::directory::StateError;
use crate::state::record::unread::UnreadRecord;
use crate::state::record::{Placed, Record, RecordError, Remembered, RunId, Stuck};
use crate::state::runs::{LivingRuns, Runs};

/// How many things that the agent made are reported one by one while it runs.
pub(super) const MAX_REPORTED: usize = 20;

/// How long the last scan of a boundary may take. A million files take about a second.
const FINAL_SCAN_LIMIT: Duration = Duration::from_secs(30);

/// How long the repositories in what is quarantined may take to be made inert, all together.
const MAKING_INERT: Duration = Duration::from_secs(10);

/// How many times a boundary is searched again because links were put back. Each may lead to another one.
const MAX_RESTORED: usize = 8;

/// How many are reported one by one when it has ended.
const MAX_LISTED: usize = 100;

/// How long a directory is waited for whose file system is not mounted: those of memory, and disks that are gone, never come back.
const UNMOUNTED_LIMIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What earlier runs have left in a directory, and nobody could clear up.
pub(crate) struct Left {
    place: LeftIn,
    /// What it is, for the report.
    pub(crate) what: String,
    /// What was not searched whole, and of which run.
    pub(crate) unsearched: Option<(RunId, Remembered)>,
}

/// What the records of other runs say, before this one looks through anything itself.
#[derive(Default)]
pub(crate) struct OtherRuns {
    pub(crate) left: Vec<Left>,
    pub(crate) living: LivingRuns,
}

enum LeftIn {
    Host(PathBuf),
    /// In those of a record that cannot be read.
    UnreadRecord(UnreadRecord),
}

impl Left {
    /// Returns whether it may lie in this directory.
    pub(crate) fn concerns(&self, host: &Path) -> bool {
        match &self.place {
            LeftIn::Host(place) => place.starts_with(host) || host.starts_with(place),
            LeftIn::UnreadRecord(unread) => unread.concerns(host),
        }
    }
}

/// Clears up after runs that could not do it themselves, mostly because their clients were killed: what their
/// agents made is quarantined now, by the rules of their runs. `remove` removes a container, and says whether it is gone;
/// while it is not, another command scans again.
pub(crate) fn sweep(
    runs: &Runs,
    notice: &mut dyn FnMut(Notice),
    remove: &mut dyn FnMut(&Placed, &RunId) -> bool,
) -> Result<OtherRuns, RecordError> {
    let swept = runs.sweep()?;
    cut_off_copies::remove(runs, &swept.copies, notice)?;
    let mut all_left = Vec::new();
    for unread in swept.unread {
        all_left.push(left_unread(unread, notice));
    }
    for record in swept.dead {
        let is_gone = record.placed.as_ref().is_none_or(|placed| remove(placed, &record.id));
        let clearing = match runs.begin_clearing(&record.id) {
            Ok(clearing) => clearing,
            Err(unread) => {
                all_left.push(left_unread(unread, notice));
                continue;
            }
        };
        // Under sudo a record is the user's, who may write anything into it.
        let acting = ActingAs::user(runs.owner())
            .map_err(|source| ProcessError { what: "the rights of the owner", source })?;
        let mut remaining = Vec::new();
        let rules = SearchRules::of(&record.protect);
        for remembered in &record.boundaries {
            let later = clear_up_later(&record.id, remembered, runs.owner(), &rules, notice);
            let later = later.unwrap_or_else(|error| {
                let file = escape::path(&runs.file_of(&record.id));
                let until = format!("later commands try again, until {file} is removed");
                warn(notice, remembered, format_args!("{UNREACHED}: {error}; {until}"));
                Later::Unreached { unmounted_since: remembered.unmounted_since }
            });
            remaining.extend(later.remaining(&record.id, remembered, &mut all_left));
        }
        drop(acting);
        info!(
            run = record.id.as_str(),
            is_gone,
            not_moved = remaining.len(),
            "cleared up after a run whose client has ended"
        );
        drop(clearing);
        if is_gone && remaining.is_empty() {
            runs.forget(&record.id)?;
        } else if record.boundaries != remaining {
            // What was done is done with. Later it would be taken for the agent's what is somebody else's.
            match runs.keep(&Record { boundaries: remaining, ..record.clone() }) {
                Ok(kept) => kept.leave(),
                // Every later command would do the same again, and take for the agent's what is somebody else's by then.
                Err(RecordError::State(error @ StateError::TooLong { .. })) => {
                    all_left.push(left_unread(runs.set_aside(&record.id, error.to_string()), notice));
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(OtherRuns { left: all_left, living: swept.living })
}

/// Reports that the record of a run cannot be read.
fn left_unread(unread: UnreadRecord, notice: &mut dyn FnMut(Notice)) -> Left {
    let what = format!(
        "the record of an earlier run cannot be used ({}), so what its agent made is not known",
        unread.reason
    );
    let hosts: Vec<_> = unread.hosts.iter().map(|host| escape::path(host)).collect();
    let hosts = if hosts.is_empty() { "what it shared".to_owned() } else { hosts.join(", ") };
    notice(Notice::Warning(format!("{what}: review {hosts}, then remove {}", escape::path(&unread.file))));
    Left { place: LeftIn::UnreadRecord(unread), what, unsearched: None }
}

/// What became of a boundary of a run that could not clear it up itself.
enum Later {
    /// It was searched, perhaps not all of it, on a file system of this number, and these are still there.
    Cleared { device: u64, stuck: Vec<Stuck>, is_whole: bool },
    /// Its directory is not there any more.
    Gone,
    /// The next command tries again.
    Unreached { unmounted_since: Option<u64> },
}

/// What is said of a boundary that another command tries again to search.
const UNREACHED: &str = "what an earlier run's agent made could not be searched";

impl Later {
    /// Returns what the next command has to know of the boundary, and reports what concerns this one.
    fn remaining(self, run: &RunId, remembered: &Remembered, all_left: &mut Vec<Left>) -> Option<Remembered> {
        let mut leave = |what: String, unsearched| {
            all_left.push(Left { place: LeftIn::Host(remembered.host.clone()), what, unsearched });
        };
        let (device, stuck, is_whole) = match self {
            Self::Cleared { device, stuck, is_whole } => (device, stuck, is_whole),
            Self::Gone => return None,
            Self::Unreached { unmounted_since } => {
                leave(UNREACHED.to_owned(), None);
                return Some(Remembered { unmounted_since, ..remembered.clone() });
            }
        };
        let number = stuck.len();
        let (stuck, unmounted_since) = (Some(stuck), None);
        let left =
            Remembered { stuck, unsearched: !is_whole, unmounted_since, ..remembered.on_device(device) };
        if number > 0 {
            leave(format!("{number} that an earlier run left could not be quarantined"), None);
        }
        if !is_whole {
            let what = "not all that an earlier run's agent made was searched".to_owned();
            leave(what, Some((run.clone(), left.clone())));
        }
        (number > 0 || !is_whole).then_some(left)
    }
}

/// Clears a boundary for a run that could not do it itself, and reports what it has left. Fails where nobody knows what is there.
fn clear_up_later(
    run: &RunId,
    remembered: &Remembered,
    caller: Identity,
    by: &SearchRules<'_>,
    notice: &mut dyn FnMut(Notice),
) -> io::Result<Later> {
    let (root, device) = match FoundAgain::look(remembered, caller)? {
        FoundAgain::Here { root, device } => (root, device),
        FoundAgain::Unmounted => match still_unmounted(remembered, SystemTime::now(), notice) {
            None => return Ok(Later::Gone),
            unmounted_since => return Ok(Later::Unreached { unmounted_since }),
        },
        FoundAgain::Gone => {
            warn_of_gone(remembered, notice);
            return Ok(Later::Gone);
        }
    };
    let root = root.enter()?;
    let remembered = &remembered.on_device(device);
    let (mut findings, stuck, is_whole) = if let Some(stuck) = &remembered.stuck {
        let mut findings = Vec::new();
        for stuck in stuck {
            let still = |id: &FileId| stuck.file_id.is_none_or(|known| known == *id);
            let file_id = id_at(&root, &stuck.finding.path)?;
            findings.extend(file_id.filter(still).map(|_| stuck.finding.clone()));
        }
        let stuck = quarantine_all(&root, remembered, &mut findings, notice);
        (findings, stuck, !remembered.unsearched)
    } else {
        // What could not be searched was reported. Every command would take as long for it, and take what the user has made since for the
        // agent's: the next run searches it, with its own.
        let (scan, stuck) = clear_up(&root, remembered, by, &Known::default(), Vec::new(), notice)?;
        (scan.findings, stuck, scan.is_whole)
    };
    for finding in findings.iter().filter(|finding| finding.quarantined.is_some()) {
        let boundary = remembered.host.clone();
        notice(Notice::Quarantined { run: run.clone(), boundary, finding: finding.clone() });
    }
    let more = shorten(&mut findings);
    for left in lines(&findings).into_iter().chain(more) {
        warn(notice, remembered, format_args!("an earlier run has left {left}"));
    }
    Ok(Later::Cleared { device, stuck, is_whole })
}

/// Returns since when the file system of a directory is not mounted, for as long as it is waited for.
fn still_unmounted(remembered: &Remembered, now: SystemTime, notice: &mut dyn FnMut(Notice)) -> Option<u64> {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let Some(since) = remembered.unmounted_since else {
        let days = UNMOUNTED_LIMIT.as_secs() / (24 * 60 * 60);
        warn(
            notice,
            remembered,
            format_args!(
                "{UNREACHED}, because the file system with this directory is not mounted, or has another number and no time of \
                 birth: the next command after it is there again does it, within {days} days"
            ),
        );
        return Some(now.as_secs());
    };
    let is_over = now.saturating_sub(Duration::from_secs(since)) > UNMOUNTED_LIMIT;
    if is_over {
        warn_of_gone(remembered, notice);
    }
    (!is_over).then_some(since)
}

fn warn_of_gone(remembered: &Remembered, notice: &mut dyn FnMut(Notice)) {
    warn(
        notice,
        remembered,
        format_args!(
            "an earlier run shared another directory here, which was moved or removed since: what its agent made \
             in it was not searched, and nothing guards it"
        ),
    );
}

/// Quarantines what was found already, searches for what else the agent made that would run on the host, and quarantines it. What could
/// not be searched or moved is said.
pub(crate) fn clear_up(
    root: &Entered<'_>,
    remembered: &Remembered,
    by: &SearchRules<'_>,
    known: &Known,
    mut found: Vec<Finding>,
    notice: &mut dyn FnMut(Notice),
) -> io::Result<(Scan, Vec<Stuck>)> {
    let mut notices = Vec::new();
    let stuck = quarantine_all(root, remembered, &mut found, &mut |one| notices.push(one));
    // What is stuck is found again, and said then.
    if stuck.is_empty() {
        notices.into_iter().for_each(&mut *notice);
    }
    found.retain(|finding| finding.quarantined.is_some());
    let mut scan = rescan(root, remembered, by, known, notice)?;
    if let Some(place) = elsewhere(root, remembered) {
        if !scan.findings.is_empty() {
            warn(notice, remembered, format_args!("the directory is {} now", escape::path(&place)));
        }
    }
    let mut stuck = quarantine_all(root, remembered, &mut scan.findings, notice);
    // A link that is back leads again where nobody has looked without it.
    let mut is_restored = scan.findings.iter().any(|finding| finding.restored);
    scan.findings.extend(found);
    for _ in 0..MAX_RESTORED {
        if !is_restored {
            break;
        }
        let again = match rescan(root, remembered, by, known, notice) {
            Ok(again) => again,
            // What was found before is reported in any case.
            Err(error) => {
                let what = "what the agent made could not be searched behind what was put back";
                warn(notice, remembered, format_args!("{what}: {error}"));
                scan.is_whole = false;
                break;
            }
        };
        scan.is_whole &= again.is_whole;
        let is_known =
            |one: &Finding| scan.findings.iter().any(|old| old.path == one.path && old.quarantined.is_none());
        let mut new: Vec<_> = again.findings.into_iter().filter(|one| !is_known(one)).collect();
        stuck.extend(quarantine_all(root, remembered, &mut new, notice));
        is_restored = new.iter().any(|finding| finding.restored);
        scan.findings.extend(new);
    }
    scan.is_whole &= !is_restored;
    if !scan.is_whole {
        warn(
            notice,
            remembered,
            format_args!(
                "not all that the agent made was searched, because there is too much of it: look at what is \
                 new before a program of yours does"
            ),
        );
    }
    Ok((scan, stuck))
}

/// Scans a boundary for the last time. An agent that owns the directory may have closed it. Its owner on the host is the
/// same, and opens it.
fn rescan(
    root: &Entered<'_>,
    remembered: &Remembered,
    by: &SearchRules<'_>,
    known: &Known,
    notice: &mut dyn FnMut(Notice),
) -> io::Result<Scan> {
    let until = Deadline::after(FINAL_SCAN_LIMIT);
    let mut scan = scan_root(root, remembered, by, until, known, notice)?;
    while !until.is_over() && open_up_all(root, remembered, &scan, notice) {
        scan = Scan::last(root, remembered, by, until, known)?;
    }
    Ok(scan)
}

fn scan_root(
    root: &Entered<'_>,
    remembered: &Remembered,
    by: &SearchRules<'_>,
    until: Deadline,
    known: &Known,
    notice: &mut dyn FnMut(Notice),
) -> io::Result<Scan> {
    match Scan::last(root, remembered, by, until, known) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && remembered.baseline.is_of(root) => {
            let mode = beneath::open_up_itself(root)?.ok_or(error)?.as_raw_mode();
            warn(
                notice,
                remembered,
                format_args!("its mode was {mode:04o}; it was opened for its owner again"),
            );
            Scan::last(root, remembered, by, until, known)
        }
        scan => scan,
    }
}

/// Opens directories of the user's own for their owner again that hide what they hold and did not at the start. Says whether
/// there were any.
fn open_up_all(
    root: &Entered<'_>,
    remembered: &Remembered,
    scan: &Scan,
    notice: &mut dyn FnMut(Notice),
) -> bool {
    let hides =
        |finding: &&Finding| finding.reason == Reason::Hidden && finding.origin == FindingOrigin::Earlier;
    let mut is_any = false;
    for Finding { path, .. } in scan.findings.iter().filter(hides) {
        let opened = beneath::directory(root, path).and_then(|directory| beneath::open_up_itself(&directory));
        if let Ok(Some(mode)) = opened {
            is_any = true;
            let (path, mode) = (escape::path(path), mode.as_raw_mode());
            warn(
                notice,
                remembered,
                format_args!("{path}: its mode was {mode:04o}; it was opened for its owner again"),
            );
        }
    }
    is_any
}

/// Quarantines what can be quarantined, and forgets what is gone. Returns what could not be, which is said.
fn quarantine_all(
    root: &Entered<'_>,
    remembered: &Remembered,
    findings: &mut Vec<Finding>,
    notice: &mut dyn FnMut(Notice),
) -> Vec<Stuck> {
    let mut stuck = Vec::new();
    let mut doubtful = Vec::new();
    let until = Deadline::after(MAKING_INERT);
    quarantine::its_own_first(findings);
    findings.retain_mut(|finding| {
        if finding.stays() {
            return true;
        }
        let (start, now) = (Some(&remembered.baseline), SystemTime::now());
        match quarantine::quarantine_until(root, finding, start, now, until) {
            Ok(Moved::Gone) => return false,
            Ok(Moved::Inert) => {}
            Ok(Moved::Doubtful) => doubtful.extend(finding.quarantined.clone()),
            Err(error) => {
                if stuck.len() < MAX_REPORTED {
                    warn(
                        notice,
                        remembered,
                        format_args!("what the agent made could not be quarantined: {error}"),
                    );
                }
                // What is gone by now is not stuck.
                match id_at(root, &finding.path) {
                    Ok(None) => {}
                    known => stuck.push(Stuck { finding: finding.clone(), file_id: known.ok().flatten() }),
                }
            }
        }
        true
    });
    if let Some(quarantined) = doubtful.first() {
        warn(
            notice,
            remembered,
            format_args!(
                "{} of what was quarantined may hold repositories that git still obeys, such as {}: remove it",
                doubtful.len(),
                escape::path_in_text(quarantined)
            ),
        );
    }
    if stuck.len() > MAX_REPORTED {
        warn(
            notice,
            remembered,
            format_args!("{} more could not be quarantined", stuck.len() - MAX_REPORTED),
        );
    }
    stuck
}

/// Returns where the directory of a boundary is now, if it has been moved.
fn elsewhere(root: &Entered<'_>, remembered: &Remembered) -> Option<PathBuf> {
    let place = std::fs::read_link(format!("/proc/self/fd/{}", root.as_fd().as_raw_fd())).ok()?;
    (place != remembered.host).then_some(place)
}

/// Returns which file is at a path, if there is one.
fn id_at(root: &Entered<'_>, path: &Path) -> io::Result<Option<FileId>> {
    match beneath::stat(root, path) {
        Ok(stat) => Ok(Some(beneath::file_id(&stat))),
        // A link on the way was not there when it was found.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn warn(notice: &mut dyn FnMut(Notice), remembered: &Remembered, what: fmt::Arguments<'_>) {
    notice(Notice::Warning(format!("{}: {what}", escape::path(&remembered.host))));
}

/// Keeps the findings that matter most, and says how many more there are of each kind: names alone, which an agent chooses, decide
/// nothing.
pub(crate) fn shorten(findings: &mut Vec<Finding>) -> Option<String> {
    if findings.len() > MAX_LISTED {
        findings.sort_by_key(Weight::of);
    }
    let rest = findings.split_off(findings.len().min(MAX_LISTED));
    let count = |weight: Weight| rest.iter().filter(|finding| Weight::of(finding) == weight).count();
    (!rest.is_empty()).then(|| {
        format!(
            "{} more such things, of which {} were moved to {QUARANTINE} as well, {} have names that no list knows, and {} are links",
            rest.len(),
            count(Weight::Quarantined),
            count(Weight::UnknownName),
            count(Weight::Link)
        )
    })
}

/// How much it matters that somebody sees a finding: what matters most comes first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Weight {
    /// A program obeys it where it is.
    Obeyed,
    /// It does nothing any more.
    Quarantined,
    /// Perhaps no program obeys it.
    UnknownName,
    /// It does nothing unless somebody writes to it, or shares where it leads.
    Link,
}

impl Weight {
    fn of(finding: &Finding) -> Self {
        match finding.reason {
            _ if finding.quarantined.is_some() => Self::Quarantined,
            Reason::UnknownName => Self::UnknownName,
            Reason::LinksOut { .. } | Reason::LinksTo { .. } => Self::Link,
            _ => Self::Obeyed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_findings_become_few_and_a_number() {
        let one = |number: usize| Finding {
            path: format!("{number}").into(),
            reason: policy::classify::Reason::Hook,
            origin: FindingOrigin::Created,
            quarantined: (number % 2 == 0).then(|| "quarantined".into()),
            restored: false,
        };
        let mut few: Vec<_> = (0..MAX_LISTED).map(one).collect();
        assert_eq!(shorten(&mut few), None);
        assert_eq!(few.len(), MAX_LISTED);
        let mut many: Vec<_> = (0..MAX_LISTED + 10).map(one).collect();
        let more = shorten(&mut many).unwrap();
        assert!(more.starts_with("10 more such things, of which 10 were moved"), "{more}");
        let obeyed = |findings: &[Finding]| findings.iter().filter(|one| one.quarantined.is_none()).count();
        assert_eq!((obeyed(&few), obeyed(&many)), (MAX_LISTED / 2, MAX_LISTED / 2 + 5));
    }

    #[test]
    fn what_only_may_matter_does_not_keep_what_does_from_being_shown() {
        let one = |path: String, reason: Reason| Finding {
            path: path.into(),
            reason,
            origin: FindingOrigin::Created,
            quarantined: None,
            restored: false,
        };
        let links = (0..MAX_LISTED).map(|at| one(format!("a{at}"), Reason::LinksOut { target: "/".into() }));
        let names = (0..MAX_LISTED).map(|at| one(format!(".b{at}"), Reason::UnknownName));
        let mut findings: Vec<_> = links.chain(names).collect();
        findings.push(one("z".into(), Reason::Hook));
        let more = shorten(&mut findings).unwrap();
        assert_eq!(findings[0].reason, Reason::Hook);
        assert!(findings[1..].iter().all(|finding| finding.reason == Reason::UnknownName));
        assert!(more.ends_with("1 have names that no list knows, and 100 are links"), "{more}");
    }
}
