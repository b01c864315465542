//! The guard of protected paths while the agent runs: it notices when a program of the host takes a protection away.
//!
//! The kernel takes a mount off when its file is replaced or removed by somebody who does not see the mount, as
//! every program of the host is, see `mount_namespaces(7)`. From then on the agent can write there. Nothing can be mounted
//! again: PID 1 has given up the right to. So it is reported at once, and where what stands there now would run something that
//! it did not run before, the sandbox is ended.
//!
//! The kernel reports replaced names in the directories that matter, see [`Watches`], so that nothing wakes up while nothing
//! happens. Where it cannot, the guard polls; and so it does at the beginning, because watches are only worth their price in a run that
//! lasts.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use policy::classify::Reason;
use policy::plan::{Boundary, OnReplaced};
use policy::text::escape;
use rustix::io::Errno;

use super::hidden_guard::HiddenGuard;
use super::watches::{Around, Directory, Watches};
use crate::boundary::detect::Compared;
use crate::boundary::detect::finding::{Finding, FindingOrigin};
use crate::boundary::detect::origin::{Facts, Time, born};
use crate::boundary::protect::mounts::ReadOnly;
use crate::boundary::root::{Entered, Root};
use crate::boundary::walk::Known;
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::state::record::Remembered;
use crate::state::sandboxes::CoveredPath;

/// How many files are kept open. Of the others, one with the same number in the place of one that is gone is known by the time of
/// its birth.
const MAX_HELD: usize = 256;

/// How many paths are looked at so fast that an agent gains nothing where the kernel does not notify of them. Watches of more are added before
/// the command starts.
const MAX_POLLED: usize = 256;

/// The shortest time between two checks, however much happens in the directories.
const CHECK_PAUSE: Duration = Duration::from_millis(50);

/// The longest time between two checks of what the kernel does not notify of, however long each takes.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// For how long the guard polls before it asks the kernel for notifications. Closing watches takes the kernel some 15 ms,
/// which is twice as long as a whole short run.
const POLLING_PHASE: Duration = Duration::from_secs(1);

/// How long classifying what has taken the place of protected paths may take when everything inside has ended.
const REPLACED_LIMIT: Duration = Duration::from_secs(2);

/// How long classifying a path that has lost its protection may take at one time.
const CLASSIFY_LIMIT: Duration = Duration::from_millis(200);

/// The same where that was not enough the last time. What takes longer counts as what runs a program.
const LAST_CLASSIFY_LIMIT: Duration = Duration::from_secs(1);

/// A writable boundary of a run.
pub(super) struct WritableBoundary<'a> {
    pub(super) boundary: &'a Boundary,
    pub(super) root: Root,
    pub(super) remembered: Remembered,
    pub(super) read_only: Vec<ReadOnly>,
    /// What was in its directories at the start.
    pub(super) known: Known,
    /// Whether any of that had to be read.
    pub(super) has_learned: bool,
}

/// Watches over the protected paths of a run.
pub(crate) struct Guard {
    places: Vec<GuardedPath>,
    hidden: HiddenGuard,
    began: Instant,
    watches: Watches,
    /// The directories of git in which it was reported that a configuration could not be changed.
    refused: RefCell<BTreeSet<Directory>>,
    on_replaced: OnReplaced,
    states: RefCell<Vec<ProtectedState>>,
    /// When everything is looked at again.
    next: Cell<Option<Instant>>,
    /// When what is lost is.
    next_of_lost: Cell<Option<Instant>>,
}

/// A protected path.
struct GuardedPath {
    /// Which of the writable boundaries it lies in.
    boundary: usize,
    one: ReadOnly,
    known_by: KnownBy,
}

/// What tells a file from another one that is given its number.
enum KnownBy {
    /// It is kept open, so no other one is.
    OpenFile(OwnedFd),
    /// It was made then, where its file system knows that.
    Birth(Option<Time>),
}

/// The state of a protected path.
#[derive(Clone, Debug, PartialEq)]
enum ProtectedState {
    /// It is the file that was mounted.
    Held,
    /// It is another one, of which nothing was found that it runs.
    Lost,
    /// It is another one, and there was no time to classify all of it.
    TooMuch,
    /// What it runs was reported.
    Reported,
}

impl ProtectedState {
    /// Returns whether what stands there has to be classified again.
    fn is_lost(&self) -> bool {
        matches!(self, Self::Lost | Self::TooMuch)
    }
}

/// What has become of what was mounted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Loss {
    Replaced,
    Removed,
    /// It cannot be looked at, as the agent can bring about by taking rights from a directory, and nothing tells that it is in its place.
    Unseen,
}

/// What a check has found.
#[derive(Default)]
pub(crate) struct Losses {
    /// Sentences for a person.
    pub(crate) warnings: Vec<String>,
    /// Why the sandbox is to be ended: what lies at a path that is protected no more.
    pub(crate) ends: Option<Finding>,
    /// Why the sandbox is to be ended: a path inside that was hidden and is shown.
    pub(crate) shown: Option<PathBuf>,
}

impl Guard {
    /// Begins to watch. Everything that was replaced before is found by the first check.
    pub(super) fn new(
        writable: &[WritableBoundary<'_>],
        hidden: HiddenGuard,
        on_replaced: OnReplaced,
    ) -> Self {
        let mut places = Vec::new();
        for (boundary, of) in writable.iter().enumerate() {
            let root = of.root.enter().ok();
            for one in &of.read_only {
                let may_hold = root.as_ref().filter(|_| places.len() < MAX_HELD);
                let held = may_hold.and_then(|root| beneath::hold(root, &one.path).ok());
                let born = || born(root.as_ref()?.as_fd(), &one.path);
                let known_by = held.map_or_else(|| KnownBy::Birth(born()), KnownBy::OpenFile);
                places.push(GuardedPath { boundary, one: one.clone(), known_by });
            }
        }
        let began = Instant::now();
        let states = RefCell::new(vec![ProtectedState::Held; places.len()]);
        let next = Cell::new((!places.is_empty() || hidden.len() > 0).then_some(began));
        let next_of_lost = Cell::default();
        let refused = RefCell::default();
        let watches = Watches::new(directories(&places, &hidden), |around| root(writable, &hidden, around));
        let guard = Self { places, hidden, began, watches, refused, on_replaced, states, next, next_of_lost };
        if guard.is_slow() {
            guard.watches.add(|around| root(writable, &guard.hidden, around));
        }
        guard
    }

    /// Returns whether looking at everything takes so long that it is not done all the time.
    fn is_slow(&self) -> bool {
        self.places.len() + self.hidden.len() > MAX_POLLED
    }

    /// Says what the kernel does not notify of although there is too much to look at it all the time.
    pub(super) fn gap(&self) -> Option<String> {
        let missing = self.watches.missing();
        (self.is_slow() && missing > 0).then(|| {
            format!(
                "{missing} directories with protected or hidden paths cannot be watched, so what is replaced there may be noticed a second \
                 later"
            )
        })
    }

    /// Returns what becomes ready when a name in a directory that matters has changed; nothing while a check is due
    /// anyway.
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        let soon = Instant::now() + CHECK_PAUSE;
        self.watches.as_fd().filter(|_| self.next.get().is_none_or(|next| next > soon))
    }

    /// Lists what is hidden.
    pub(super) fn covered(&self) -> Vec<CoveredPath> {
        self.hidden.covered()
    }

    /// Returns when the next check is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next.get().into_iter().chain(self.next_of_lost.get()).min()
    }

    /// Schedules a check soon, because something has changed.
    pub(crate) fn on_ready(&self) {
        self.next.set(Some(Instant::now() + CHECK_PAUSE));
    }

    /// Checks for the last time, and returns what was removed. What lies there now is classified with everything else.
    pub(super) fn final_check(&self, writable: &[WritableBoundary<'_>]) -> Vec<String> {
        let states = self.states.borrow();
        let mut losses = Vec::new();
        for (number, boundary) in writable.iter().enumerate() {
            let Ok(root) = boundary.root.enter() else { continue };
            let held = self
                .places
                .iter()
                .zip(states.iter())
                .filter(|(place, state)| place.boundary == number && **state == ProtectedState::Held);
            losses.extend(held.filter_map(|(place, _)| Some(place.describe(place.loss(&root)?, boundary))));
        }
        losses.extend(self.hidden.shown().into_iter().map(|(warning, _)| warning));
        losses
    }

    /// Lists what has taken the place of protected paths of a boundary, if it runs something: without a search, which an agent can make
    /// last.
    pub(super) fn replaced(&self, number: usize, boundary: &WritableBoundary<'_>) -> Vec<Finding> {
        let Ok(root) = boundary.root.enter() else { return Vec::new() };
        let until = Deadline::after(REPLACED_LIMIT);
        let in_it = self.places.iter().filter(|place| place.boundary == number);
        let lost = in_it.filter(|place| place.loss(&root).is_some());
        let compared = lost.map(|place| boundary.remembered.baseline.compare_at(&root, &place.one, until));
        compared.flat_map(|compared| compared.findings).collect()
    }

    /// Checks, if it is time, and returns what is new.
    pub(super) fn check(&self, writable: &[WritableBoundary<'_>]) -> Losses {
        let began = Instant::now();
        let mut losses = Losses::default();
        let is_due = |next: &Cell<Option<Instant>>| next.get().is_some_and(|next| next <= began);
        if is_due(&self.next) {
            self.check_all(writable, &mut losses);
            let is_notified = self.watches.missing() == 0 && !self.hidden.has_moved();
            self.next.set((!is_notified).then(|| after(began)));
        } else if is_due(&self.next_of_lost) {
            self.check_places(writable, ProtectedState::is_lost, &mut losses);
        } else {
            return losses;
        }
        // It can be written without a name changing. However much else there is to look at, it is looked at by itself.
        let is_lost = self.states.borrow().iter().any(ProtectedState::is_lost);
        let next = if is_due(&self.next_of_lost) { after(began) } else { Instant::now() + CHECK_PAUSE };
        self.next_of_lost.set(is_lost.then_some(next));
        losses
    }

    fn check_all(&self, writable: &[WritableBoundary<'_>], losses: &mut Losses) {
        // What happens from here on is reported by the kernel.
        if self.began.elapsed() >= POLLING_PHASE {
            self.watches.add(|around| root(writable, &self.hidden, around));
        }
        losses.warnings.extend(self.refused_changes(writable));
        self.check_places(writable, |_| true, losses);
        for (warning, guest) in self.hidden.shown() {
            losses.warnings.push(warning);
            if self.on_replaced == OnReplaced::End {
                losses.shown.get_or_insert(guest);
            }
        }
    }

    /// Checks the protected paths in some states.
    fn check_places(
        &self,
        writable: &[WritableBoundary<'_>],
        is_wanted: impl Fn(&ProtectedState) -> bool,
        losses: &mut Losses,
    ) {
        let mut states = self.states.borrow_mut();
        for (number, boundary) in writable.iter().enumerate() {
            let Ok(root) = boundary.root.enter() else { continue };
            let in_it = self.places.iter().zip(states.iter_mut());
            let in_it = in_it.filter(|(place, state)| place.boundary == number && is_wanted(state));
            for (place, state) in in_it {
                place.check(&root, boundary, state, self.on_replaced, losses);
            }
        }
    }

    /// Describes each configuration of git that a program has given up changing, once.
    fn refused_changes(&self, writable: &[WritableBoundary<'_>]) -> Vec<String> {
        let mut refused = self.refused.borrow_mut();
        let mut warnings = Vec::new();
        for directory in self.watches.given_up() {
            let Around::GitConfig(boundary) = directory.around else { continue };
            if let Some(boundary) = writable.get(boundary).filter(|_| refused.insert(directory.clone())) {
                let config = boundary.remembered.host.join(&directory.path).join("config");
                warnings.push(git_config_is_protected(&config));
            }
        }
        warnings
    }
}

/// Returns when the next check is due after one that began then: checking takes a tenth of the time, if it takes no longer than that.
fn after(began: Instant) -> Instant {
    Instant::now() + CHECK_PAUSE.max((began.elapsed() * 10).min(LONGEST_PAUSE))
}

/// Says what to do where git cannot change its configuration.
fn git_config_is_protected(config: &Path) -> String {
    format!(
        "a program gave up changing {}: inside it is read-only, because git obeys it on the host, too; for `git config`, `git remote`, \
         `git branch -m` and `git push -u`, use a terminal on the host",
        escape::path(config)
    )
}

impl GuardedPath {
    /// Returns how the protection was removed, if it was.
    fn loss(&self, root: &Entered<'_>) -> Option<Loss> {
        match Facts::look(root.as_fd(), &self.one.path) {
            Ok(facts) => (!self.is_it(&facts)).then_some(Loss::Replaced),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Some(Loss::Removed),
            Err(_) => (!self.is_in_place(root)).then_some(Loss::Unseen),
        }
    }

    /// Asks the kernel for the path of what is kept open, for which it wants no right.
    fn is_in_place(&self, root: &Entered<'_>) -> bool {
        let KnownBy::OpenFile(held) = &self.known_by else { return false };
        let place = beneath::path_of(root).map(|top| top.join(&self.one.path));
        place.is_ok_and(|place| beneath::path_of(held) == Ok(place))
    }

    fn describe(&self, loss: Loss, boundary: &WritableBoundary<'_>) -> String {
        let host = escape::path(&boundary.remembered.host);
        let path = escape::path(&self.one.path);
        let what = match loss {
            Loss::Replaced => "was replaced on the host while the sandbox ran, and",
            Loss::Removed => "was removed on the host while the sandbox ran, and",
            Loss::Unseen => {
                "cannot be looked at any more while the sandbox runs, and counts as replaced: maybe it"
            }
        };
        format!("{host}: {path} {what} is not read-only inside any more; the next run protects it again")
    }

    fn is_it(&self, facts: &Facts) -> bool {
        let is_same_birth = match &self.known_by {
            KnownBy::OpenFile(_) => true,
            KnownBy::Birth(born) => born.is_none_or(|born| facts.btime == Some(born)),
        };
        facts.file_id == self.one.file_id && is_same_birth
    }

    fn check(
        &self,
        root: &Entered<'_>,
        boundary: &WritableBoundary<'_>,
        state: &mut ProtectedState,
        on_replaced: OnReplaced,
        losses: &mut Losses,
    ) {
        if *state == ProtectedState::Reported {
            return;
        }
        let loss = self.loss(root);
        if *state == ProtectedState::Held {
            let Some(loss) = loss else { return };
            losses.warnings.push(self.describe(loss, boundary));
            *state = ProtectedState::Lost;
        }
        let limit = match state {
            ProtectedState::Held | ProtectedState::Reported => return,
            ProtectedState::Lost => CLASSIFY_LIMIT,
            ProtectedState::TooMuch => LAST_CLASSIFY_LIMIT,
        };
        // Each time, whatever the time of change says: a store through a mapping need not change that.
        let compared = boundary.remembered.baseline.compare_at(root, &self.one, Deadline::after(limit));
        let finding = if loss == Some(Loss::Unseen) {
            Some(self.hidden_finding())
        } else {
            self.finding(compared, state)
        };
        let Some(finding) = finding else { return };
        *state = ProtectedState::Reported;
        losses.warnings.push(format!("{}: {finding}", escape::path(&boundary.remembered.host)));
        if on_replaced == OnReplaced::End {
            let guest = boundary.boundary.guest.join(&finding.path);
            losses.ends.get_or_insert(Finding { path: guest, ..finding });
        }
    }

    /// Returns what is to be said of what has taken its place. What cannot be classified in time, twice, counts as what hides something.
    fn finding(&self, compared: Compared, state: &mut ProtectedState) -> Option<Finding> {
        if let Some(finding) = compared.findings.into_iter().next() {
            return Some(finding);
        }
        if compared.is_whole {
            *state = ProtectedState::Lost;
            return None;
        }
        if *state != ProtectedState::TooMuch {
            *state = ProtectedState::TooMuch;
            return None;
        }
        Some(self.hidden_finding())
    }

    fn hidden_finding(&self) -> Finding {
        let (path, origin) = (self.one.path.clone(), FindingOrigin::Replaced);
        Finding { path, reason: Reason::Hidden, origin, quarantined: None, restored: false }
    }
}

/// Lists every directory on the path to a protected or hidden path.
fn directories(places: &[GuardedPath], hidden: &HiddenGuard) -> Vec<Directory> {
    let mut around = BTreeMap::new();
    for place in places {
        for path in place.one.path.ancestors().skip(1) {
            around.entry((place.boundary, path)).or_insert(Around::Protected(place.boundary));
        }
        if let Some(git) = place.one.path.parent().filter(|_| place.one.path.ends_with("config")) {
            around.insert((place.boundary, git), Around::GitConfig(place.boundary));
        }
    }
    let around = around.into_iter().map(|((_, path), around)| Directory { path: path.into(), around });
    around.chain(hidden.directories()).collect()
}

/// Returns the boundary that a directory lies in.
fn root<'a>(
    writable: &'a [WritableBoundary<'_>],
    hidden: &'a HiddenGuard,
    around: Around,
) -> Option<&'a Root> {
    match around {
        Around::Protected(number) | Around::GitConfig(number) => writable.get(number).map(|one| &one.root),
        Around::Hidden(number) => hidden.root(number),
    }
}

#[cfg(test)]
mod tests {
    use policy::plan::FileId;

    use super::*;
    use crate::boundary::protect::mounts::{Cause, FileKind};
    use crate::boundary::protect::reach::Base;

    #[test]
    fn what_cannot_be_classified_in_time_twice_in_a_row_counts_as_what_runs_something() {
        let one = ReadOnly {
            path: ".claude".into(),
            file_id: FileId { device: 1, inode: 2 },
            kind: FileKind::Directory,
            seen_as: ".claude".into(),
            cause: Cause::Listed,
            base: Base::Tree(PathBuf::new()),
        };
        let place = GuardedPath { boundary: 0, one, known_by: KnownBy::Birth(None) };
        let mut state = ProtectedState::Lost;
        let mut look = |is_whole| {
            let compared = Compared { findings: Vec::new(), is_whole };
            place.finding(compared, &mut state).map(|finding| finding.reason)
        };
        assert_eq!([look(false), look(true), look(false)], [None, None, None]);
        assert_eq!(look(false), Some(Reason::Hidden));
    }
}
