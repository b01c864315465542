//! The guard of hidden paths while the agent runs: it notices when a program of the host replaces one, or moves it away from its cover.
//!
//! The kernel takes the cover off what is replaced, as it does with what makes a protected path read-only, see `mount_namespaces(7)`, and
//! the agent can read what has taken its place. What is renamed keeps its cover, so the guard goes after it. But a cover belongs to the
//! mount that it was put on: what is moved past a pinned directory is shown. And what is removed is shown for a moment: the kernel takes the cover
//! off before the name. An agent that is quick reads it then, or what takes its place, and takes that away before anybody looks.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::plan::{Boundary, BoundaryKind, FileId, Plan};
use policy::text::escape;
use rustix::io::Errno;

use super::watches::{Around, Directory};
use super::whereabouts::Whereabouts;
use crate::boundary::detect::origin::{Facts, born};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::root::{Entered, Root};
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::state::sandboxes::CoveredPath;

/// How many files are kept open, so that no other one gets their number, and so that they are found again where they are renamed.
const MAX_HELD: usize = 256;

/// Watches over the hidden paths of a run.
#[derive(Default)]
pub(super) struct HiddenGuard(Vec<HidingBoundary>);

/// A boundary in which something is hidden.
struct HidingBoundary {
    root: Root,
    host: PathBuf,
    guest: PathBuf,
    /// The other shared directories, by their paths on the host.
    others: Vec<PathBuf>,
    /// The directories in it that are mounts of their own.
    mounted: HashSet<FileId>,
    paths: Vec<GuardedHidden>,
}

struct GuardedHidden {
    one: CoveredPath,
    /// Where it is by now.
    place: RefCell<PathBuf>,
    state: Cell<CoverState>,
    /// Keeps the number of the file from being given to another one, and tells where the file is.
    held: Option<OwnedFd>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum CoverState {
    Covered,
    /// It was renamed with its cover, to where no notification is of it.
    Moved,
    /// It or something else is shown, which was reported.
    Shown,
}

/// What has taken a cover off.
enum Uncovered {
    /// Something else is at this place.
    Replaced(PathBuf),
    /// It is at this place, past a mount.
    Moved(PathBuf),
    /// It has no name any more, and had this one last.
    Removed(PathBuf),
    /// Nobody knows where it is.
    Lost,
    /// It cannot be looked at, as the agent can bring about by taking rights from a directory, and nothing tells that it is in its place.
    Unseen,
}

/// One inspection of a boundary.
struct Inspection<'a> {
    boundary: &'a HidingBoundary,
    root: &'a Entered<'a>,
    directories: RefCell<HashMap<PathBuf, Result<FileId, Errno>>>,
}

impl Inspection<'_> {
    /// Lists the mounts that a path lies in, from the outermost one.
    fn mounts(&self, path: &Path) -> Result<Vec<FileId>, Errno> {
        let mounted = &self.boundary.mounted;
        if mounted.is_empty() {
            return Ok(Vec::new());
        }
        let mut directories = self.directories.borrow_mut();
        let mut above = Vec::new();
        for path in path.ancestors().skip(1).filter(|path| *path != Path::new("")) {
            let directory = *directories.entry(path.to_path_buf()).or_insert_with(|| self.file_id(path));
            above.extend(Some(directory?).filter(|directory| mounted.contains(directory)));
        }
        above.reverse();
        Ok(above)
    }

    fn file_id(&self, path: &Path) -> Result<FileId, Errno> {
        beneath::stat(self.root, path).map(|stat| beneath::file_id(&stat))
    }
}

impl HidingBoundary {
    fn open(plan: &Plan, caller: Identity, boundary: &Boundary) -> Option<Self> {
        let root = Root::open(boundary, caller).ok()?;
        let others = plan
            .boundaries
            .iter()
            .filter(|other| other.kind == BoundaryKind::Directory && other.host != boundary.host);
        let others = others.map(|other| other.host.clone()).collect();
        let (host, guest) = (boundary.host.clone(), boundary.guest.clone());
        Some(Self { root, host, guest, others, mounted: HashSet::new(), paths: Vec::new() })
    }

    /// Begins to watch over what is hidden in boundary `number`.
    fn guarding(mut self, number: usize, mounts: &Mounts) -> Option<Self> {
        let root = self.root.enter().ok()?;
        let pinned = mounts.pins.iter().filter_map(|path| beneath::stat(&root, path).ok());
        let read_only = mounts.read_only.iter().map(|one| one.file_id);
        self.mounted = pinned.map(|stat| beneath::file_id(&stat)).chain(read_only).collect();
        let inspection = self.inspect(&root);
        let guarded = mounts.hidden.iter().enumerate().map(|(at, one)| {
            let one = CoveredPath {
                boundary: number,
                path: one.path.clone(),
                file_id: one.file_id,
                born: born(root.as_fd(), &one.path),
                mounts: inspection.mounts(&one.path).unwrap_or_default(),
            };
            let held = (at < MAX_HELD).then(|| beneath::hold(&root, &one.path).ok()).flatten();
            GuardedHidden::new(one, held)
        });
        let paths = guarded.collect();
        drop(root);
        Some(Self { paths, ..self })
    }

    /// Takes what was recorded when the sandbox started. All that a hidden path lies in was a mount then.
    fn remembering(self, covered: Vec<&CoveredPath>) -> Self {
        let mounted = covered.iter().flat_map(|one| &one.mounts).copied().collect();
        let paths = covered.into_iter().map(|one| GuardedHidden::new(one.clone(), None)).collect();
        Self { mounted, paths, ..self }
    }

    /// Lists what is shown that was hidden, once.
    fn uncovered(&self) -> io::Result<Vec<(&CoveredPath, Uncovered)>> {
        let root = self.root.enter()?;
        let inspection = self.inspect(&root);
        let mut all = Vec::new();
        for path in &self.paths {
            if let Some(uncovered) = path.check(&inspection) {
                path.state.set(CoverState::Shown);
                all.push((&path.one, uncovered));
            }
        }
        Ok(all)
    }

    fn inspect<'a>(&'a self, root: &'a Entered<'a>) -> Inspection<'a> {
        Inspection { boundary: self, root, directories: RefCell::default() }
    }

    /// Says what is shown of a hidden path: a sentence for a person, and the path inside.
    fn describe(&self, one: &CoveredPath, uncovered: &Uncovered) -> (String, PathBuf) {
        let host = escape::path(&self.host);
        let path = escape::path(&one.path);
        match uncovered {
            Uncovered::Replaced(place) => {
                let place_shown = escape::path(place);
                let warning = format!(
                    "{host}: {place_shown} was replaced on the host while the sandbox ran, and is not hidden inside any more; the \
                     next run hides it again"
                );
                (warning, self.guest.join(place))
            }
            Uncovered::Moved(place) => {
                let place_shown = escape::path(place);
                let warning = format!(
                    "{host}: {path} was moved to {place_shown} on the host while the sandbox ran, where it is not hidden inside; the \
                     next run hides it if a pattern names it there"
                );
                (warning, self.guest.join(place))
            }
            Uncovered::Removed(place) => {
                let place_shown = escape::path(place);
                let warning = format!(
                    "{host}: {place_shown} was removed or replaced on the host while the sandbox ran, and may not have been hidden inside \
                     at that moment; the next run hides what is there"
                );
                (warning, self.guest.join(place))
            }
            Uncovered::Unseen => {
                let warning = format!(
                    "{host}: {path} cannot be looked at any more while the sandbox runs, and may not be hidden inside any more; the next run \
                     hides it again"
                );
                (warning, self.guest.join(&one.path))
            }
            Uncovered::Lost => {
                let warning = format!(
                    "{host}: {path} was moved or removed on the host while the sandbox ran, and may not be hidden inside any more; \
                     the next run hides it if a pattern names it where it is"
                );
                (warning, self.guest.join(&one.path))
            }
        }
    }
}

impl GuardedHidden {
    fn new(one: CoveredPath, held: Option<OwnedFd>) -> Self {
        let place = RefCell::new(one.path.clone());
        Self { one, place, state: Cell::new(CoverState::Covered), held }
    }

    /// Looks where it is, and whether it is covered there.
    fn check(&self, inspection: &Inspection<'_>) -> Option<Uncovered> {
        if self.state.get() == CoverState::Shown {
            return None;
        }
        let place = self.place.borrow().clone();
        // Editors rename it to keep it, with its cover, and make another one at its old place.
        let is_another = |file_id: FileId| file_id != self.one.file_id;
        if place != self.one.path && inspection.file_id(&self.one.path).is_ok_and(is_another) {
            return Some(Uncovered::Replaced(self.one.path.clone()));
        }
        match inspection.file_id(&place) {
            Ok(file_id) if is_another(file_id) || self.is_reborn(inspection, &place) => {
                Some(Uncovered::Replaced(place))
            }
            Ok(_) => self.check_mounts(inspection, place),
            Err(errno) => self.go_after(inspection, errno),
        }
    }

    /// Checks whether it is in the same mounts in the place where it was found.
    fn check_mounts(&self, inspection: &Inspection<'_>, place: PathBuf) -> Option<Uncovered> {
        match inspection.mounts(&place) {
            Ok(mounts) => (mounts != self.one.mounts).then_some(Uncovered::Moved(place)),
            // It is being moved right now.
            Err(errno) if is_gone(errno) => {
                self.state.set(CoverState::Moved);
                None
            }
            Err(_) => Some(Uncovered::Unseen),
        }
    }

    /// Returns whether another file has its number.
    fn is_reborn(&self, inspection: &Inspection<'_>, place: &Path) -> bool {
        self.held.is_none()
            && self.one.born.is_some_and(|born| {
                Facts::at(inspection.root.as_fd(), place).is_none_or(|facts| facts.btime != Some(born))
            })
    }

    /// Asks the kernel where it is, which wants no right for that.
    fn go_after(&self, inspection: &Inspection<'_>, errno: Errno) -> Option<Uncovered> {
        let Some(held) = &self.held else {
            return Some(if is_gone(errno) { Uncovered::Lost } else { Uncovered::Unseen });
        };
        match Whereabouts::of(held, self.one.file_id, inspection.root) {
            Whereabouts::Inside(place) => {
                let path = inspection.boundary.host.join(&place);
                let was = inspection.boundary.host.join(&self.one.path);
                let is_new_to = |other: &PathBuf| path.starts_with(other) && !was.starts_with(other);
                if inspection.boundary.others.iter().any(is_new_to) {
                    return Some(Uncovered::Moved(place));
                }
                let before = self.place.replace(place.clone());
                if before != place {
                    self.state.set(CoverState::Moved);
                }
                self.check_mounts(inspection, place)
            }
            Whereabouts::Removed(place) => {
                let place = place.unwrap_or_else(|| self.place.borrow().clone());
                let is_replaced = inspection.file_id(&place).is_ok();
                Some(if is_replaced { Uncovered::Replaced(place) } else { Uncovered::Removed(place) })
            }
            Whereabouts::Outside(path) => {
                self.state.set(CoverState::Moved);
                let is_shared = inspection.boundary.others.iter().any(|other| path.starts_with(other));
                is_shared.then_some(Uncovered::Lost)
            }
            // It is being moved right now.
            Whereabouts::Moving => {
                self.state.set(CoverState::Moved);
                None
            }
            Whereabouts::Unknown => Some(Uncovered::Lost),
        }
    }
}

/// Returns whether an error says that nothing is there.
fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

impl HiddenGuard {
    /// Begins to watch.
    pub(super) fn new(plan: &Plan, caller: Identity, mounts: &[Mounts]) -> Self {
        let all = plan.boundaries.iter().zip(mounts).enumerate();
        let hiding = all.filter(|(_, (_, mounts))| !mounts.hidden.is_empty());
        let open = |(number, (boundary, mounts)): (usize, (&Boundary, &Mounts))| {
            HidingBoundary::open(plan, caller, boundary)?.guarding(number, mounts)
        };
        Self(hiding.filter_map(open).collect())
    }

    /// Lists what is hidden, for whoever looks after it when this process has ended.
    pub(super) fn covered(&self) -> Vec<CoveredPath> {
        self.0.iter().flat_map(|boundary| &boundary.paths).map(|path| path.one.clone()).collect()
    }

    /// Counts what is hidden.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|boundary| boundary.paths.len()).sum()
    }

    /// Returns whether something that is hidden lies where no notification is of it.
    pub(super) fn has_moved(&self) -> bool {
        let has_moved = |path: &GuardedHidden| path.state.get() == CoverState::Moved;
        self.0.iter().flat_map(|boundary| &boundary.paths).any(has_moved)
    }

    /// Lists what is shown that was hidden, once: a sentence for a person, and the path inside.
    pub(super) fn shown(&self) -> Vec<(String, PathBuf)> {
        let uncovered = |boundary: &HidingBoundary| {
            let all = boundary.uncovered().unwrap_or_default().into_iter();
            all.map(|(one, uncovered)| boundary.describe(one, &uncovered)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(uncovered).collect()
    }

    /// Lists every directory on the way to a hidden path.
    pub(super) fn directories(&self) -> Vec<Directory> {
        fn above(boundary: &HidingBoundary) -> BTreeSet<&Path> {
            let paths = boundary.paths.iter().flat_map(|path| path.one.path.ancestors().skip(1));
            paths.collect()
        }
        let directory = |number, path: &Path| Directory { path: path.into(), around: Around::Hidden(number) };
        let all = self.0.iter().enumerate().flat_map(|(number, boundary)| {
            above(boundary).into_iter().map(move |path| directory(number, path))
        });
        all.collect()
    }

    /// Returns the root of a boundary that such a directory lies in.
    pub(super) fn root(&self, number: usize) -> Option<&Root> {
        self.0.get(number).map(|boundary| &boundary.root)
    }
}

/// Lists what is shown of what a sandbox hid when it started, for a sandbox that nobody watches: a sentence for a person, and the path inside.
/// Nothing was kept open, so nobody knows what has become of what is gone from where it was.
pub(crate) fn shown_since(plan: &Plan, caller: Identity, covered: &[CoveredPath]) -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for (number, boundary) in plan.boundaries.iter().enumerate() {
        let in_it: Vec<_> = covered.iter().filter(|one| one.boundary == number).collect();
        if in_it.is_empty() {
            continue;
        }
        let hiding = HidingBoundary::open(plan, caller, boundary).map(|hiding| hiding.remembering(in_it));
        if let Some((hiding, Ok(uncovered))) = hiding.as_ref().map(|hiding| (hiding, hiding.uncovered())) {
            all.extend(uncovered.into_iter().map(|(one, uncovered)| hiding.describe(one, &uncovered)));
        } else {
            let warning = format!(
                "{} was moved or replaced on the host while the sandbox ran, so nobody knows whether all is hidden in it",
                escape::path(&boundary.host)
            );
            all.push((warning, boundary.guest.clone()));
        }
    }
    all
}
