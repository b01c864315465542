//! The guard of hidden paths while the agent runs: it notices when a program of the host replaces one.
//!
//! The kernel takes the cover off then, as it does with what makes a protected path read-only, see `mount_namespaces(7)`, and the agent
//! can read what has taken its place.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use policy::plan::Plan;
use policy::text::escape;
use rustix::io::Errno;

use crate::boundary::protect::mounts::{HiddenPath, Mounts};
use crate::boundary::root::Root;
use crate::host::beneath;
use crate::host::identity::Identity;

/// How many files are kept open, so that no other one gets their number.
const MAX_HELD: usize = 256;

/// Watches over the hidden paths of a run.
#[derive(Default)]
pub(super) struct HiddenGuard(Vec<HidingBoundary>);

/// A boundary in which something is hidden.
struct HidingBoundary {
    root: Root,
    host: PathBuf,
    guest: PathBuf,
    paths: Vec<GuardedHidden>,
}

struct GuardedHidden {
    one: HiddenPath,
    state: Cell<CoverState>,
    /// Keeps the number of the file from being given to another one.
    _held: Option<OwnedFd>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum CoverState {
    Covered,
    /// It was removed, and its cover with it.
    Missing,
    /// Something else is there, which was reported.
    Shown,
}

impl HiddenGuard {
    /// Begins to watch.
    pub(super) fn new(plan: &Plan, caller: Identity, mounts: &[Mounts]) -> Self {
        let hiding = plan.boundaries.iter().zip(mounts).filter(|(_, mounts)| !mounts.hidden.is_empty());
        let watched = hiding.filter_map(|(boundary, mounts)| {
            let root = Root::open(boundary, caller).ok()?;
            let entered = root.enter().ok()?;
            let paths = mounts.hidden.iter().enumerate().map(|(number, one)| GuardedHidden {
                one: one.clone(),
                state: Cell::new(CoverState::Covered),
                _held: (number < MAX_HELD).then(|| beneath::hold(&entered, &one.path).ok()).flatten(),
            });
            let paths = paths.collect();
            drop(entered);
            Some(HidingBoundary { root, host: boundary.host.clone(), guest: boundary.guest.clone(), paths })
        });
        Self(watched.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether something that was hidden is not there at the moment.
    pub(super) fn is_missing_any(&self) -> bool {
        self.0.iter().flat_map(|boundary| &boundary.paths).any(|path| path.state.get() == CoverState::Missing)
    }

    /// Lists what is shown that was hidden, once: a sentence for a person, and the path inside.
    pub(super) fn shown(&self) -> Vec<(String, PathBuf)> {
        let mut all = Vec::new();
        for boundary in &self.0 {
            let Ok(root) = boundary.root.enter() else { continue };
            for GuardedHidden { one, state, .. } in &boundary.paths {
                if state.get() == CoverState::Shown {
                    continue;
                }
                match beneath::stat(&root, &one.path) {
                    Ok(stat)
                        if beneath::file_id(&stat) == one.file_id && state.get() == CoverState::Covered => {}
                    Ok(_) => {
                        state.set(CoverState::Shown);
                        let path = escape::path(&one.path);
                        let host = escape::path(&boundary.host);
                        let warning = format!(
                            "{host}: {path} was replaced on the host while the sandbox ran, and is not hidden inside any more; the \
                             next run hides it again"
                        );
                        all.push((warning, boundary.guest.join(&one.path)));
                    }
                    Err(Errno::NOENT) => state.set(CoverState::Missing),
                    Err(_) => {}
                }
            }
        }
        all
    }

    /// Lists every directory on the way to a hidden path.
    pub(super) fn directories(&self) -> Vec<(&Root, &Path)> {
        fn above(boundary: &HidingBoundary) -> BTreeSet<&Path> {
            let paths = boundary.paths.iter().flat_map(|path| path.one.path.ancestors().skip(1));
            paths.collect()
        }
        let all =
            self.0.iter().flat_map(|boundary| above(boundary).into_iter().map(|path| (&boundary.root, path)));
        all.collect()
    }
}
