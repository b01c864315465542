//! The boundaries of a run: what is protected in them, and what an agent made there that would run on the host.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::SystemTime;

use confine::landlock;
use confine::report::{Finding as Line, Report, Status};
use policy::plan::{Boundary, Layer, Mode, Plan};
use rustix::fs::{CWD, OFlags};

use crate::boundary;
use crate::detect::{self, Baseline, Finding, Origin};
use crate::protect::{self, Mounts};
use crate::provider::{Notice, StartError};
use crate::record::{Client, Kept, Record, RecordError, Remembered, RunId, Runs};
use crate::walk::{Unseen, Walk, walk};

/// The boundaries of a run that has not ended.
pub(super) struct Boundaries<'a> {
    plan: &'a Plan,
    mounts: Vec<Mounts>,
    baselines: Vec<(usize, Remembered)>,
    report: Vec<Line>,
    _record: Kept<'a>,
}

impl<'a> Boundaries<'a> {
    /// Looks into the boundaries of a plan, and keeps a record of what was there.
    pub(super) fn open(plan: &'a Plan, owner: u32, runs: &'a Runs) -> Result<Self, StartError> {
        let mut all = Vec::new();
        let mut baselines = Vec::new();
        let mut seen = Seen::default();
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
            let (walk, mounts) = look(&root, &boundary.host, plan).map_err(failed)?;
            if boundary.mode == Mode::ReadOnly {
                // Nothing in it can be written, but connecting to a socket is no writing (connect(2)).
                seen.add_sockets(boundary, &walk, &mounts);
                all.push(Mounts { masked_sockets: mounts.masked_sockets, ..Mounts::default() });
                continue;
            }
            let baseline = Baseline::take(&root, &mounts).map_err(|error| failed(io::Error::other(error)))?;
            seen.add(boundary, &walk, &mounts);
            baselines.push((at, Remembered { host: boundary.host.clone(), baseline }));
            all.push(mounts);
        }
        let boundaries = baselines.iter().map(|(_, remembered)| remembered.clone()).collect();
        let record = record(owner, boundaries).and_then(|record| runs.keep(&record)).map_err(|error| {
            StartError::Step {
                step: "keeping a record of this run".into(),
                source: io::Error::other(error),
                remedy: None,
            }
        })?;
        Ok(Self { plan, mounts: all, baselines, report: seen.report(), _record: record })
    }

    /// What is to be mounted over each boundary.
    pub(super) fn mounts(&self) -> &[Mounts] {
        &self.mounts
    }

    /// Adds what was protected to a report.
    pub(super) fn complete(&self, report: &mut Report) {
        for line in &self.report {
            report.add(line.clone());
        }
    }

    /// What the agent has made so far that would run on the host. Moves nothing.
    pub(super) fn detect(&self) -> Vec<Finding> {
        let compared = self.baselines.iter().map(|(_, remembered)| compare(remembered, self.plan));
        // What cannot be read now is read again at the end, where it is reported.
        compared.filter_map(Result::ok).flat_map(|(_, found)| found).collect()
    }

    /// Moves aside what the agent made that would run on the host, and forgets the run.
    pub(super) fn close(self, notice: &mut dyn FnMut(Notice)) -> Vec<Finding> {
        let mut all = Vec::new();
        for (at, remembered) in &self.baselines {
            let guest = &self.plan.boundaries[*at].guest;
            for mut finding in set_aside(remembered, self.plan, notice) {
                finding.path = guest.join(finding.path);
                finding.aside = finding.aside.map(|aside| guest.join(aside));
                all.push(finding);
            }
        }
        all
    }
}

/// Clears up after runs whose clients were killed: what their agents made is moved aside now.
pub(super) fn sweep(runs: &Runs, plan: &Plan, notice: &mut dyn FnMut(Notice)) -> Result<(), RecordError> {
    for record in runs.sweep()? {
        for remembered in &record.boundaries {
            for finding in set_aside(remembered, plan, notice) {
                notice(Notice::Warning(format!(
                    "an earlier run in {}, which was killed, left {finding}",
                    remembered.host.display()
                )));
            }
        }
        runs.forget(&record.id)?;
    }
    Ok(())
}

fn record(owner: u32, boundaries: Vec<Remembered>) -> Result<Record, RecordError> {
    Ok(Record { id: RunId::generate()?, owner, client: Client::this()?, boundaries, cgroups: Vec::new() })
}

fn look(root: &OwnedFd, host: &Path, plan: &Plan) -> io::Result<(Walk, Mounts)> {
    let walk = walk(root, plan.protect.depth)?;
    let mounts = protect::mounts(root, host, &walk, &plan.protect.paths)?;
    Ok((walk, mounts))
}

fn compare(remembered: &Remembered, plan: &Plan) -> io::Result<(OwnedFd, Vec<Finding>)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, &remembered.host, flags, rustix::fs::Mode::empty())?;
    let (_, mounts) = look(&root, &remembered.host, plan)?;
    let found = remembered.baseline.compare(&root, &mounts).map_err(io::Error::other)?;
    Ok((root, found))
}

fn set_aside(remembered: &Remembered, plan: &Plan, notice: &mut dyn FnMut(Notice)) -> Vec<Finding> {
    let mut warn = |what: &str, error: &dyn std::fmt::Display| {
        notice(Notice::Warning(format!("{}: {what}: {error}", remembered.host.display())));
    };
    let (root, mut found) = match compare(remembered, plan) {
        Ok(compared) => compared,
        Err(error) => {
            warn("what the agent made could not be looked through", &error);
            return Vec::new();
        }
    };
    found.retain_mut(|finding| match finding.origin {
        Origin::Replaced => true,
        Origin::Created => match detect::set_aside(&root, finding, SystemTime::now()) {
            Ok(still_there) => still_there,
            Err(error) => {
                warn("what the agent made could not be moved aside", &error);
                true
            }
        },
    });
    found
}

/// What the walks have seen, for the report.
#[derive(Default)]
struct Seen {
    read_only: usize,
    masked: usize,
    gaps: Vec<String>,
    open: Vec<String>,
}

impl Seen {
    fn add(&mut self, boundary: &Boundary, walk: &Walk, mounts: &Mounts) {
        self.read_only += mounts.read_only.len();
        let before = self.open.len();
        self.add_sockets(boundary, walk, mounts);
        self.gaps.extend_from_slice(&self.open[before..]);
        self.gaps.extend(mounts.notices.iter().map(|notice| format!("{}: {notice}", boundary.name)));
    }

    fn add_sockets(&mut self, boundary: &Boundary, walk: &Walk, mounts: &Mounts) {
        self.masked += mounts.masked_sockets.len();
        let mut gap = |what: String| self.open.push(format!("{}: {what}", boundary.name));
        let unseen = |unseen: &Unseen, why: &str| {
            let examples: Vec<_> = unseen.examples.iter().map(|path| path.display().to_string()).collect();
            let more = if unseen.count > examples.len() { ", …" } else { "" };
            format!("{} {why} ({}{more})", unseen.count, examples.join(", "))
        };
        if walk.deeper.count > 0 {
            gap(unseen(&walk.deeper, "directories deeper than protect.depth"));
        }
        if walk.skipped.count > 0 {
            gap(unseen(&walk.skipped, "directories of dependencies and builds not entered"));
        }
        for path in &walk.other_file_systems {
            gap(format!("{} is another file system", path.display()));
        }
        for unread in &walk.unread {
            let error = io::Error::from_raw_os_error(unread.errno);
            gap(format!("{} cannot be read: {error}", unread.path.display()));
        }
    }

    fn report(mut self) -> Vec<Line> {
        if landlock::abi().is_none_or(|abi| abi < landlock::SOCKETS_SINCE) {
            self.open
                .insert(0, "sockets that are made while it runs, for which landlock ABI 9 is needed".into());
        }
        let line = |layer, held: String, gaps: &[String]| {
            let (status, reason) = if gaps.is_empty() {
                (Status::Enforced, held)
            } else {
                (Status::Partly, format!("{held}; not covered: {}", gaps.join("; ")))
            };
            Line { layer, status, reason }
        };
        vec![
            line(
                Layer::Protect,
                format!("{} read-only; new ones are detected", count(self.read_only, "protected path")),
                &self.gaps,
            ),
            line(
                Layer::Sockets,
                format!("{} in boundaries masked", count(self.masked, "socket")),
                &self.open,
            ),
        ]
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
