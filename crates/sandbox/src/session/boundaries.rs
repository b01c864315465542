//! The boundaries of a run: what is protected in them, and what an agent made there that would run on the host.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use confine::report::Report;
use policy::plan::{Boundary, BoundaryKind, BoundaryMode, FileId, Plan};
use policy::text::escape;
use tracing::debug;

pub(crate) use self::clear::{OtherRuns, sweep};
use self::clear::{clear_up, shorten, warn};
use self::coverage::Coverage;
use self::guard::WritableBoundary;
pub(crate) use self::guard::{Guard, Losses};
use self::hidden_guard::HiddenGuard;
pub(crate) use self::hidden_guard::shown_since;
use self::scan::{QUICK_SCAN_LIMIT, Scan};
use self::sightings::{Detected, Sightings};
use crate::boundary::aliases;
use crate::boundary::detect::baseline::Baseline;
use crate::boundary::detect::classifier::Linked;
use crate::boundary::detect::finding::Finding;
use crate::boundary::hard_links;
use crate::boundary::hidden_paths::HiddenPaths;
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::search::{self, SearchRules};
use crate::boundary::root::{Entered, Root};
use crate::boundary::walk::{Known, walk_until, walk_with_files};
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::session::error::StartError;
use crate::session::outcome::Notice;
use crate::state::client::Client;
use crate::state::directory::StateError;
use crate::state::record::{Placed, Record, RecordError, RecordVersion, Remembered, RunId};
use crate::state::runs::{Kept, Runs};
use crate::state::sandboxes::CoveredPath;
use crate::state::walk_cache::Walks;

mod beside;
mod clear;
mod coverage;
mod found_again;
mod guard;
mod hidden;
mod hidden_guard;
mod limit;
mod other_mounts;
mod scan;
mod search_in;
mod sightings;
mod stored_copies;
mod watches;
mod whereabouts;
mod worktrees;

/// How long the first scan of all boundaries may take. So long an agent that makes millions of directories holds up the
/// next start; a million files take about a second.
const FIRST_SCAN_LIMIT: Duration = Duration::from_secs(10);

/// The boundaries of a run that has not ended.
pub(crate) struct Boundaries<'a> {
    rules: SearchRules<'a>,
    mounts: Vec<Mounts>,
    writable: Vec<WritableBoundary<'a>>,
    guard: Guard,
    coverage: Coverage,
    sightings: RefCell<Sightings>,
    runs: &'a Runs,
    record: Record,
    kept: Kept<'a>,
    walks: &'a Walks,
    /// Earlier runs of which not all was searched in one of these directories. This run searches it.
    unsearched: Vec<(RunId, FileId)>,
}

/// What was found in all boundaries when everything inside had ended.
pub(crate) struct Last {
    /// What the agent made that would run on the host, with what was done about it.
    pub(crate) detected: Vec<Finding>,
    gaps: Vec<String>,
}

impl<'a> Boundaries<'a> {
    /// Scans the boundaries of a plan, and keeps a record of what was there.
    pub(crate) fn open(
        plan: &'a Plan,
        caller: Identity,
        runs: &'a Runs,
        walks: &'a Walks,
        id: &RunId,
        placed: Option<Placed>,
        others: OtherRuns,
    ) -> Result<Self, StartError> {
        // Whatever another agent makes before this looks is of a run that lives now, or will in a moment.
        let OtherRuns { left, mut living } = others;
        let mut all = Vec::new();
        let mut writable = Vec::new();
        let mut coverage = Coverage::default();
        let recorded = |error| {
            let is_too_long = matches!(error, RecordError::State(StateError::TooLong { .. }));
            let remedy = "share directories with less in them that programs obey, fewer repositories and links for one: an earlier agent \
                          may have made too many of them";
            StartError::Step {
                step: "keeping a record of what is in the shared directories".into(),
                source: io::Error::other(error),
                remedy: is_too_long.then(|| remedy.into()),
            }
        };
        let hidden = hidden::find(plan, caller)?;
        // Looking for what is hidden takes none of it: an agent can make as much of that as it likes.
        let until = Deadline::after(FIRST_SCAN_LIMIT);
        let rules = SearchRules::of(&plan.protect);
        for (boundary, hidden) in plan.boundaries.iter().zip(hidden) {
            if boundary.kind == BoundaryKind::Home {
                // Nothing on the host obeys what is in it, so nothing is protected, and nothing is quarantined.
                all.push(Mounts::default());
                continue;
            }
            let failed = |source| StartError::Step {
                step: format!("searching {}", search_in::shown(boundary)),
                source,
                remedy: None,
            };
            let held = Root::open(boundary, caller).map_err(|error| failed(io::Error::other(error)))?;
            let root = held.enter().map_err(failed)?;
            coverage.add_hidden(hidden.hidden.len());
            if boundary.kind == BoundaryKind::File {
                // It is read-only, and nothing lies in it.
                all.push(Mounts::default());
                if let Some(what) = hidden::writable_name(plan, caller, &root, until).map_err(failed)? {
                    coverage.add_unprotected(boundary, &what);
                }
                continue;
            }
            let began = Instant::now();
            // What is not reached in time is not protected, which the report says.
            let mut known = match boundary.mode {
                BoundaryMode::ReadWrite => walks.load(boundary.file_id),
                BoundaryMode::ReadOnly => Known::default(),
            };
            let walk = match boundary.mode {
                BoundaryMode::ReadWrite => walk_with_files(&root, plan.protect.depth, until, &known),
                BoundaryMode::ReadOnly => walk_until(&root, plan.protect.depth, until, &known),
            };
            let walk = walk.map_err(failed)?;
            let has_learned = known.settle();
            let search = |until| search::mounts(&root, &boundary.host, &walk, &rules, until).map_err(failed);
            let mut mounts = search(until)?;
            debug!(
                directory = %escape::path(&boundary.host),
                repositories = walk.repositories.len(),
                sockets = walk.sockets.len(),
                links = walk.links.len(),
                read_only = mounts.read_only.len(),
                took = ?began.elapsed(),
                "searched shared directory \"{}\"",
                boundary.name
            );
            if boundary.mode == BoundaryMode::ReadOnly {
                // Nothing in it can be written, but connecting to a socket is no writing (connect(2)).
                coverage.add_sockets(boundary, &walk, &mounts);
                let mounts = Mounts { masked_sockets: mounts.masked_sockets, ..Mounts::default() };
                all.push(mounts.hiding(hidden.hidden, hidden.pins));
                continue;
            }
            // No list of git's has what git-lfs stores in its data.
            let is_stored = |path: &Path| path.ancestors().any(|above| above.ends_with("lfs/objects"));
            let covered = hidden.hidden.iter().map(|one| one.path.clone()).filter(|path| !is_stored(path));
            let hidden_paths = HiddenPaths::of(&boundary.hide, covered);
            let others = plan.boundaries.iter().filter(|other| other.mode == BoundaryMode::ReadWrite);
            let shared: Vec<PathBuf> = others.map(|other| other.host.clone()).collect();
            let is_shared = |tree: &Path| shared.iter().any(|other| tree.starts_with(other));
            let all_hidden: HashSet<&Path> = hidden.hidden.iter().map(|one| one.path.as_path()).collect();
            let is_hidden = |path: &Path| path.ancestors().any(|above| all_hidden.contains(above));
            let take = |mounts: &mut Mounts| {
                hidden.watch(mounts);
                mounts.shared.clone_from(&shared);
                let elsewhere = mounts.elsewhere.iter().filter(|(_, tree)| is_shared(tree));
                mounts.shared_elsewhere = elsewhere.map(|(git, _)| git.clone()).collect();
                // It has a time of its own: what is not noted counts as new at the end.
                mounts.note_hidden(&root, &hidden_paths, Deadline::after(FIRST_SCAN_LIMIT));
                let (baseline, mut linked) =
                    Baseline::take(&root, mounts).map_err(|error| failed(io::Error::other(error)))?;
                // What is hidden is hidden by all its names: it is the same file, and stays that.
                linked.paths.retain(|path| !is_hidden(path));
                Ok::<_, StartError>((baseline, linked))
            };
            let (mut baseline, mut linked) = take(&mut mounts)?;
            if !linked.paths.is_empty() {
                break_hard_links(boundary, &root, &linked)?;
                coverage.add_copies(boundary, &linked.paths);
                // They are other files now.
                mounts = search(Deadline::NEVER)?;
                (baseline, linked) = take(&mut mounts)?;
            }
            coverage.add(boundary, &walk, &mounts);
            let protected = mounts.read_only.iter().map(|one| one.path.as_path());
            if let Some(other) = aliases::other_case(&root, protected).map_err(failed)? {
                let what = format!(
                    "its file system ignores upper and lower case, and what is read-only in one spelling can be written in others: \
                     {} is found, and not listed",
                    escape::path(&other)
                );
                coverage.add_unprotected(boundary, &what);
            }
            if linked.may_be_more || !linked.paths.is_empty() {
                coverage.add_gap(
                    boundary,
                    "not every protected file was checked for other names, there are too many, or too deep",
                );
            }
            for unread in &plan.protect.unread {
                let what = format!(
                    "what a configuration of git names is not protected, as that was not read: {unread}"
                );
                coverage.add_gap(boundary, &what);
            }
            for left in left.iter().filter(|left| left.concerns(&boundary.host)) {
                coverage.add_gap(boundary, &left.what);
            }
            let (host, hide) = (boundary.host.clone(), boundary.hide.clone());
            let also_hidden = hidden_paths.unnamed();
            let (stuck, unsearched, unmounted_since) = (None, false, None);
            let remembered =
                Remembered { host, baseline, hide, also_hidden, stuck, unsearched, unmounted_since };
            let read_only = mounts.read_only.clone();
            let others = if boundary.worktrees.is_empty() {
                worktrees::elsewhere(&root, &mounts)
            } else {
                worktrees::others(&root, &mounts, &boundary.worktrees)
            };
            let others = others.map_err(failed)?;
            drop(root);
            writable.push(WritableBoundary {
                boundary,
                root: held,
                remembered,
                read_only,
                known,
                has_learned,
            });
            all.push(mounts.hiding(hidden.hidden, hidden.pins).keeping(others));
        }
        other_mounts::protect(plan, caller, &mut all, &mut coverage)?;
        limit::refuse_too_many(plan, &all)?;
        runs.add_living(&mut living).map_err(recorded)?;
        for unread in &living.unread {
            let what = format!(
                "the record of a sandbox that runs cannot be used ({}: {}), so what its agent makes counts as yours: stop it",
                escape::path(&unread.file),
                unread.reason
            );
            for one in writable.iter().filter(|one| unread.concerns(&one.boundary.host)) {
                coverage.add_unprotected(one.boundary, &what);
            }
        }
        // After the search, so that nothing was changed before it.
        for boundary in plan.boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::Directory) {
            beside::refuse_changed_links(boundary, &living, caller)?;
        }
        let unsearched: Vec<&(RunId, Remembered)> =
            left.iter().filter_map(|left| left.unsearched.as_ref()).collect();
        for one in &mut writable {
            beside::take_over(&mut one.remembered, &plan.protect, &living, caller);
            for (_, earlier) in &unsearched {
                beside::count_from(&mut one.remembered, earlier, caller);
            }
        }
        let is_here = |root: FileId| {
            writable.iter().any(|one: &WritableBoundary<'_>| one.remembered.baseline.root() == root)
        };
        let unsearched = unsearched.into_iter().map(|(run, earlier)| (run.clone(), earlier.baseline.root()));
        let unsearched = unsearched.filter(|(_, root)| is_here(*root)).collect();
        let boundaries = writable.iter().map(|one| one.remembered.clone()).collect();
        let keep = |client| {
            let protect = plan.protect.clone();
            let cgroups = Vec::new();
            let (id, owner) = (id.clone(), caller.uid);
            let record = Record {
                version: RecordVersion::default(),
                id,
                owner,
                client,
                boundaries,
                protect,
                cgroups,
                placed,
            };
            Ok((runs.keep(&record)?, record))
        };
        let (kept, record) = Client::this().map_err(RecordError::from).and_then(keep).map_err(recorded)?;
        let hidden = HiddenGuard::new(plan, caller, &all);
        let guard = Guard::new(&writable, hidden, plan.protect.on_replaced);
        coverage.add_unwatched(guard.gap());
        let sightings = RefCell::default();
        Ok(Self {
            rules,
            mounts: all,
            writable,
            guard,
            coverage,
            sightings,
            runs,
            record,
            kept,
            walks,
            unsearched,
        })
    }

    /// Prints what is not protected, whether or not a report was requested.
    pub(crate) fn warn(&self, notice: &mut dyn FnMut(Notice)) {
        let unprotected = self.coverage.unprotected();
        if !unprotected.is_empty() {
            notice(Notice::Warning(format!(
                "layer protect is partly enforced; not protected: {}",
                unprotected.join("; ")
            )));
        }
    }

    /// Lists what is to be mounted over each boundary.
    pub(crate) fn mounts(&self) -> &[Mounts] {
        &self.mounts
    }

    /// Leaves the record of this run to the next command, which clears up what this one cannot.
    pub(crate) fn leave_record(&self) {
        self.kept.leave();
    }

    /// Returns what says that this run lives: see [`Kept::lock`].
    pub(crate) fn lock(&self) -> Option<BorrowedFd<'_>> {
        self.kept.lock()
    }

    /// Adds what was protected to a report.
    pub(crate) fn complete(&self, report: &mut Report) {
        for line in self.coverage.lines() {
            report.add(line);
        }
    }

    /// Returns what watches over the protected paths.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Lists what is hidden, for the record of a sandbox that nobody watches.
    pub(crate) fn covered(&self) -> Vec<CoveredPath> {
        self.guard.covered()
    }

    /// Lists the protections that were removed since the last check, if one is due.
    pub(crate) fn losses(&self) -> Losses {
        self.guard.check(&self.writable)
    }

    /// Lists what the agent has made that would run on the host, is no passing state, and was not reported yet. Moves
    /// nothing, and has a short deadline: what it misses is found at the end.
    pub(crate) fn detect(&self) -> Detected {
        let until = Deadline::after(QUICK_SCAN_LIMIT);
        let mut found = Vec::new();
        for one in &self.writable {
            let scan = |root| Scan::quick(&root, &one.remembered, &self.rules, until, &one.known);
            if let Ok(scan) = one.root.enter().and_then(scan) {
                found.extend(scan.findings);
            }
        }
        self.sightings.borrow_mut().add(&found)
    }

    /// Quarantines what the agent made that would run on the host, and forgets the run. Where not all could be
    /// looked at or moved, the record stays, and the next command tries again.
    pub(crate) fn close(self, notice: &mut dyn FnMut(Notice)) -> Last {
        for loss in self.guard.final_check(&self.writable) {
            notice(Notice::Warning(loss));
        }
        let mut detected = Vec::new();
        let mut coverage = Coverage::default();
        let mut remaining = Vec::new();
        for (number, writable) in self.writable.iter().enumerate() {
            let WritableBoundary { boundary, root, remembered, known, .. } = writable;
            let here = |path: PathBuf| boundary.guest.join(path);
            let replaced = self.guard.replaced(number, writable);
            let cleared = root
                .enter()
                .and_then(|root| clear_up(&root, remembered, &self.rules, known, replaced, notice));
            match cleared {
                Ok((scan, stuck)) => {
                    coverage.add(boundary, &scan.walk, &scan.mounts);
                    if !scan.is_whole {
                        coverage.add_gap(boundary, "not everything was searched: there was too much of it");
                        remaining.push(remembered.clone());
                    } else if !stuck.is_empty() {
                        let count = stuck.len();
                        coverage.add_gap(boundary, &format!("{count} found and not quarantined"));
                        remaining.push(Remembered { stuck: Some(stuck), ..remembered.clone() });
                    }
                    detected.extend(scan.findings.into_iter().map(|finding| Finding {
                        path: here(finding.path),
                        quarantined: finding.quarantined.map(here),
                        ..finding
                    }));
                }
                Err(error) => {
                    let what = "what the agent made could not be searched";
                    warn(notice, remembered, format_args!("{what}: {error}; the next command tries again"));
                    coverage.add_gap(boundary, &format!("it could not be searched: {error}"));
                    remaining.push(remembered.clone());
                }
            }
        }
        for WritableBoundary { boundary, known, has_learned, .. } in self.writable {
            self.walks.save(boundary.file_id, known, has_learned);
        }
        if let Some(more) = shorten(&mut detected) {
            notice(Notice::Warning(format!("the agent has made {more}")));
        }
        if !remaining.is_empty() {
            // It is that of a dead process as soon as this one has ended. The old one says more, where no new one can be
            // written.
            self.kept.leave();
            if let Ok(kept) = self.runs.keep(&Record { boundaries: remaining, ..self.record }) {
                kept.leave();
            }
        }
        // If this search was not whole either, the record of this run says so.
        for (run, root) in &self.unsearched {
            let _ = self.runs.settle(run, *root);
        }
        Last { detected, gaps: coverage.gaps_beside(&self.coverage) }
    }
}

impl Last {
    /// Corrects in a report what the start has promised and the end could not keep.
    pub(crate) fn complete(&self, report: &mut Report) {
        coverage::take_back(report, &self.gaps);
    }
}

/// Gives each protected file with another name a file of its own.
fn break_hard_links(boundary: &Boundary, root: &Entered<'_>, linked: &Linked) -> Result<(), StartError> {
    hard_links::break_all(root, &linked.paths).map_err(|(path, error)| StartError::Refused {
        asked: format!("shared directory \"{}\" ({})", boundary.name, escape::path(&boundary.host)),
        reason: format!(
            "protected file {} has another name, through which it can be written, and cannot be replaced by a private copy: \
             {error}",
            escape::path(&path)
        ),
        remedy: "remove the other name (`find . -samefile FILE` finds it), or copy the file and move the copy over it".into(),
    })
}
