//! The boundaries of a run: what is protected in them, and what an agent made there that would run on the host.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use confine::report::Report;
use policy::plan::{Mode, Plan};
use rustix::fs::{CWD, OFlags};

use self::coverage::Coverage;
use crate::acting::ActingAs;
use crate::beneath;
use crate::boundary;
use crate::deadline::Deadline;
use crate::detect::{Baseline, Compared, Finding, Origin};
use crate::protect::{self, Mounts};
use crate::provider::{Notice, StartError};
use crate::quarantine::{self, QUARANTINE};
use crate::record::{Client, Kept, Placed, Record, RecordError, Remembered, RunId, Runs};
use crate::walk::{Walk, walk, walk_until};

mod coverage;

/// How many mounts all boundaries together may need: so many take a quarter of a second. The kernel's own limit,
/// `fs.mount-max`, is ten times as high and its error names nothing.
const MOST_MOUNTS: usize = 10_000;

/// How long a look may take while the agent runs. Nobody attends to it, its terminal or its time meanwhile.
const GLANCE: Duration = Duration::from_millis(200);

/// How long the last look at a boundary may take. A million files take about a second.
const LAST_LOOK: Duration = Duration::from_secs(30);

/// How many things that the agent made are told one by one while it runs.
const MOST_TOLD: usize = 20;

/// How many are told one by one when it has ended.
const MOST_LISTED: usize = 100;

/// The boundaries of a run that has not ended.
pub(super) struct Boundaries<'a> {
    plan: &'a Plan,
    mounts: Vec<Mounts>,
    baselines: Vec<(usize, Remembered)>,
    coverage: Coverage,
    /// What was told while the agent runs.
    told: RefCell<Vec<Finding>>,
    record: Kept<'a>,
}

/// What was found in all boundaries when everything inside had ended.
pub(super) struct Last {
    /// What the agent made that would run on the host, with what was done about it.
    pub(super) detected: Vec<Finding>,
    gaps: Vec<String>,
}

impl<'a> Boundaries<'a> {
    /// Looks into the boundaries of a plan, and keeps a record of what was there.
    pub(super) fn open(
        plan: &'a Plan,
        owner: u32,
        runs: &'a Runs,
        id: &RunId,
        placed: Option<Placed>,
    ) -> Result<Self, StartError> {
        let mut all = Vec::new();
        let mut baselines = Vec::new();
        let mut coverage = Coverage::default();
        for (at, boundary) in plan.boundaries.iter().enumerate() {
            let failed = |source| StartError::Step {
                step: format!(
                    "looking through shared directory \"{}\" ({})",
                    boundary.name,
                    boundary.host.display()
                ),
                source,
                remedy: None,
            };
            let root = boundary::open(boundary).map_err(|error| failed(io::Error::other(error)))?;
            // However long it takes: nothing starts before everything is known.
            let walk = walk(&root, plan.protect.depth).map_err(failed)?;
            let mounts =
                protect::mounts(&root, &boundary.host, &walk, &plan.protect.paths).map_err(failed)?;
            if boundary.mode == Mode::ReadOnly {
                // Nothing in it can be written, but connecting to a socket is no writing (connect(2)).
                coverage.add_sockets(boundary, &walk, &mounts);
                all.push(Mounts { masked_sockets: mounts.masked_sockets, ..Mounts::default() });
                continue;
            }
            let baseline = Baseline::take(&root, &mounts).map_err(|error| failed(io::Error::other(error)))?;
            coverage.add(boundary, &walk, &mounts);
            baselines.push((at, Remembered { host: boundary.host.clone(), baseline }));
            all.push(mounts);
        }
        refuse_too_many(plan, &all)?;
        let boundaries = baselines.iter().map(|(_, remembered)| remembered.clone()).collect();
        let record = Client::this().and_then(|client| {
            runs.keep(&Record { id: id.clone(), owner, client, boundaries, cgroups: Vec::new(), placed })
        });
        let record = record.map_err(|error| StartError::Step {
            step: "keeping a record of this run".into(),
            source: io::Error::other(error),
            remedy: None,
        })?;
        Ok(Self { plan, mounts: all, baselines, coverage, told: RefCell::default(), record })
    }

    /// What is to be mounted over each boundary.
    pub(super) fn mounts(&self) -> &[Mounts] {
        &self.mounts
    }

    /// Leaves the record of this run to the next command, which clears up what this one cannot.
    pub(super) fn leave_record(&self) {
        self.record.leave();
    }

    /// Adds what was protected to a report.
    pub(super) fn complete(&self, report: &mut Report) {
        for line in self.coverage.lines() {
            report.add(line);
        }
    }

    /// What the agent has made that would run on the host and was not told yet. Moves nothing, and does not take
    /// long: what is not seen now is seen at the end.
    pub(super) fn detect(&self) -> Vec<Finding> {
        let until = Deadline::after(GLANCE);
        let mut told = self.told.borrow_mut();
        let before = told.len();
        for (_, remembered) in &self.baselines {
            let Ok(look) = open(remembered).and_then(|root| Look::at(&root, remembered, self.plan, until))
            else {
                continue;
            };
            for finding in look.findings {
                if told.len() < MOST_TOLD && !told.contains(&finding) {
                    told.push(finding);
                }
            }
        }
        told[before..].to_vec()
    }

    /// Moves aside what the agent made that would run on the host, and forgets the run. Where not all could be
    /// looked at, the record stays, and the next command looks again.
    pub(super) fn close(self, notice: &mut dyn FnMut(Notice)) -> Last {
        let mut detected = Vec::new();
        let mut coverage = Coverage::default();
        let mut is_whole = true;
        for (at, remembered) in &self.baselines {
            let boundary = &self.plan.boundaries[*at];
            let here = |path: PathBuf| boundary.guest.join(path);
            match clear_up(remembered, self.plan, notice) {
                Ok(look) => {
                    coverage.add(boundary, &look.walk, &look.mounts);
                    if !look.is_whole {
                        coverage.add_gap(boundary, "not all was looked through: there was too much of it");
                        is_whole = false;
                    }
                    detected.extend(look.findings.into_iter().map(|finding| Finding {
                        path: here(finding.path),
                        aside: finding.aside.map(here),
                        ..finding
                    }));
                }
                Err(error) => {
                    coverage.add_gap(boundary, &format!("it could not be looked through: {error}"));
                    is_whole = false;
                }
            }
        }
        if let Some(more) = shorten(&mut detected) {
            notice(Notice::Warning(format!("the agent has made {more}")));
        }
        if !is_whole {
            // It is that of a dead process as soon as this one has ended.
            self.record.leave();
        }
        Last { detected, gaps: coverage.gaps_beside(&self.coverage) }
    }
}

impl Last {
    /// Takes back in a report what the start has promised and the end could not keep.
    pub(super) fn complete(&self, report: &mut Report) {
        coverage::take_back(report, &self.gaps);
    }
}

/// Clears up after runs that could not do it themselves, mostly because their clients were killed: what their
/// agents made is moved aside now. `remove` removes a container, and says whether it is gone; while it is not, another
/// command looks again.
pub(super) fn sweep(
    runs: &Runs,
    plan: &Plan,
    notice: &mut dyn FnMut(Notice),
    remove: &mut dyn FnMut(&Placed, &RunId) -> bool,
) -> Result<(), RecordError> {
    for record in runs.sweep()? {
        let is_gone = record.placed.as_ref().is_none_or(|placed| remove(placed, &record.id));
        // Under sudo a record is the user's, who may write anything into it.
        let acting = ActingAs::user(runs.owner())
            .map_err(|source| RecordError::Process { what: "the rights of the owner", source })?;
        for remembered in &record.boundaries {
            // What could not be looked at was said, and is not looked at a third time.
            let Ok(Look { mut findings, .. }) = clear_up(remembered, plan, notice) else { continue };
            let more = shorten(&mut findings);
            for left in findings.iter().map(ToString::to_string).chain(more) {
                warn(notice, remembered, format_args!("an earlier run has left {left}"));
            }
        }
        drop(acting);
        if is_gone {
            runs.forget(&record.id)?;
        } else if !record.boundaries.is_empty() {
            // What was found is done with. Later it would be taken for the agent's what is somebody else's.
            runs.keep(&Record { boundaries: Vec::new(), ..record })?.leave();
        }
    }
    Ok(())
}

/// Refuses what would need more mounts than there may be, and says where most of them would lie.
fn refuse_too_many(plan: &Plan, mounts: &[Mounts]) -> Result<(), StartError> {
    let needed = |mounts: &Mounts| mounts.pins.len() + mounts.read_only.len() + mounts.masked_sockets.len();
    let total: usize = mounts.iter().map(needed).sum();
    let fullest = plan.boundaries.iter().zip(mounts).max_by_key(|(_, mounts)| needed(mounts));
    let Some((boundary, mounts)) = fullest.filter(|_| total > MOST_MOUNTS) else { return Ok(()) };
    let sockets = mounts.masked_sockets.iter().map(|socket| socket.path.as_path());
    let protected = mounts.read_only.iter().map(|one| one.path.as_path());
    let all: Vec<&Path> = sockets.chain(protected).collect();
    let remedy = if mounts.masked_sockets.len() > mounts.read_only.len() {
        "remove those that nobody listens on (in that directory, `find . -type s -delete` removes all)"
    } else {
        "share a directory with fewer repositories in it"
    };
    Err(StartError::Refused {
        asked: format!("shared directory \"{}\" ({})", boundary.name, boundary.host.display()),
        reason: format!(
            "{} sockets and {} protected paths lie in it, most of them in {}; covering them takes {} mounts, and \
             {MOST_MOUNTS} are the most for all shared directories together",
            mounts.masked_sockets.len(),
            mounts.read_only.len(),
            boundary.host.join(where_most_lie(&all)).display(),
            needed(mounts)
        ),
        remedy: remedy.into(),
    })
}

/// The deepest directory in which more than half of all paths lie.
fn where_most_lie(paths: &[&Path]) -> PathBuf {
    let mut place = PathBuf::new();
    loop {
        let mut counts: HashMap<&OsStr, usize> = HashMap::new();
        for below in paths.iter().filter_map(|path| path.strip_prefix(&place).ok()) {
            let mut components = below.iter();
            if let (Some(directory), Some(_)) = (components.next(), components.next()) {
                *counts.entry(directory).or_default() += 1;
            }
        }
        match counts.into_iter().find(|(_, count)| *count > paths.len() / 2) {
            Some((directory, _)) => place.push(directory),
            None => return place,
        }
    }
}

/// A boundary as it is now, compared with what it was at the start.
struct Look {
    walk: Walk,
    mounts: Mounts,
    findings: Vec<Finding>,
    /// Whether there was time to look at everything.
    is_whole: bool,
}

impl Look {
    fn at(root: &OwnedFd, remembered: &Remembered, plan: &Plan, until: Deadline) -> io::Result<Self> {
        let walk = walk_until(root, plan.protect.depth, until)?;
        let mounts = protect::mounts_until(root, &remembered.host, &walk, &plan.protect.paths, until)?;
        let Compared { findings, is_whole } =
            remembered.baseline.compare(root, &mounts, until).map_err(io::Error::other)?;
        let is_whole = is_whole && walk.is_whole && mounts.is_whole();
        Ok(Self { walk, mounts, findings, is_whole })
    }
}

/// Looks at a boundary for the last time. An agent that owns the directory may have closed it. Its owner on the host is
/// the same, and opens it.
fn look_again(
    remembered: &Remembered,
    plan: &Plan,
    notice: &mut dyn FnMut(Notice),
) -> io::Result<(OwnedFd, Look)> {
    let until = Deadline::after(LAST_LOOK);
    let root = open(remembered)?;
    let look = match Look::at(&root, remembered, plan, until) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && remembered.baseline.is_of(&root) => {
            let mode = beneath::open_up_itself(&root)?.ok_or(error)?.as_raw_mode();
            warn(
                notice,
                remembered,
                format_args!("its mode was {mode:04o}; it was opened for its owner again"),
            );
            Look::at(&root, remembered, plan, until)?
        }
        look => look?,
    };
    Ok((root, look))
}

/// Opens the directory that is at the place of a boundary now, without a right that it might refuse.
fn open(remembered: &Remembered) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, &remembered.host, flags, rustix::fs::Mode::empty())?)
}

/// Looks for what the agent made that would run on the host, and moves it aside. What could not be looked at or
/// moved is said.
fn clear_up(remembered: &Remembered, plan: &Plan, notice: &mut dyn FnMut(Notice)) -> io::Result<Look> {
    let (root, mut look) = look_again(remembered, plan, notice).inspect_err(|error| {
        warn(notice, remembered, format_args!("what the agent made could not be looked through: {error}"));
    })?;
    if !look.is_whole {
        warn(
            notice,
            remembered,
            format_args!(
                "not all that the agent made was looked through, because there is too much of it: look at what is \
                 new before a program of yours does"
            ),
        );
    }
    let mut stuck = 0;
    look.findings.retain_mut(|finding| match finding.origin {
        Origin::Replaced => true,
        Origin::Created => quarantine::set_aside(&root, finding, SystemTime::now()).unwrap_or_else(|error| {
            stuck += 1;
            if stuck <= MOST_TOLD {
                warn(
                    notice,
                    remembered,
                    format_args!("what the agent made could not be moved aside: {error}"),
                );
            }
            true
        }),
    });
    if stuck > MOST_TOLD {
        warn(notice, remembered, format_args!("{} more could not be moved aside", stuck - MOST_TOLD));
    }
    Ok(look)
}

fn warn(notice: &mut dyn FnMut(Notice), remembered: &Remembered, what: fmt::Arguments<'_>) {
    notice(Notice::Warning(format!("{}: {what}", remembered.host.display())));
}

/// Keeps the first findings, and says how many more there are.
fn shorten(findings: &mut Vec<Finding>) -> Option<String> {
    let rest = findings.split_off(findings.len().min(MOST_LISTED));
    let aside = rest.iter().filter(|finding| finding.aside.is_some()).count();
    (!rest.is_empty()).then(|| {
        format!("{} more such things, of which {aside} were moved to {QUARANTINE} as well", rest.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_where_most_lie_is_named_as_exactly_as_it_can_be() {
        let most = |paths: &[&str]| {
            where_most_lie(&paths.iter().map(Path::new).collect::<Vec<_>>()).display().to_string()
        };
        assert_eq!(most(&["a/b/1", "a/b/2", "a/b/3", "c/1"]), "a/b");
        assert_eq!(most(&["a/b/1", "a/c/2", "d"]), "a");
        assert_eq!(most(&["a/1", "b/1", "c"]), "");
        assert_eq!(most(&["a/b/c/one"]), "a/b/c");
    }

    #[test]
    fn many_findings_become_few_and_a_number() {
        let one = |number: usize| Finding {
            path: format!("{number}").into(),
            reason: policy::judge::Reason::Hook,
            origin: Origin::Created,
            aside: (number % 2 == 0).then(|| "aside".into()),
        };
        let mut few: Vec<_> = (0..MOST_LISTED).map(one).collect();
        assert_eq!(shorten(&mut few), None);
        assert_eq!(few.len(), MOST_LISTED);
        let mut many: Vec<_> = (0..MOST_LISTED + 10).map(one).collect();
        let more = shorten(&mut many).unwrap();
        assert!(more.starts_with("10 more such things, of which 5 were moved"), "{more}");
        assert_eq!(many, few);
    }
}
