//! Runs beside this one, in directories that lie in each other: what their agents have made is not what was there.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::plan::{Boundary, FileId, Protect};
use policy::text::escape;

use crate::boundary::detect::overlap::{Other, Overlap};
use crate::boundary::root::open_resolved;
use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::session::error::StartError;
use crate::state::record::Remembered;
use crate::state::runs::LivingRuns;

/// Adopts what the records of runs that live say of the same directories. The records are this user's own, and may say anything.
pub(crate) fn take_over(own: &mut Remembered, protect: &Protect, living: &LivingRuns, user: Identity) {
    let all = living.runs.iter().flat_map(|run| run.boundaries.iter().map(|one| (one, &*run.protect)));
    let mut others: Vec<Other<'_>> = all
        .filter_map(|(one, protect)| {
            Some(Other {
                overlap: overlap(&own.host, own.baseline.root(), one, user)?,
                baseline: &one.baseline,
                protect,
            })
        })
        .collect();
    // The oldest has the last word.
    others.sort_by_key(|other| std::cmp::Reverse(other.baseline.taken()));
    for other in others {
        own.baseline.take_over(&other, protect);
    }
}

/// Refuses to start beside a run whose agent has changed a link that says what is hidden or protected: what it led to would not be found again. The link is
/// put back when that run ends.
pub(crate) fn refuse_changed_links(
    boundary: &Boundary,
    living: &LivingRuns,
    user: Identity,
) -> Result<(), StartError> {
    let others = living.runs.iter().flat_map(|run| &run.boundaries);
    for other in others.filter(|other| overlap(&boundary.host, boundary.file_id, other, user).is_some()) {
        let _acting = ActingAs::user(user).map_err(StartError::step("acting as the user"))?;
        // One that cannot be opened by its path is another directory by now.
        let Ok(directory) = open_resolved(&other.host) else { continue };
        let is_it =
            rustix::fs::fstat(&directory).is_ok_and(|stat| beneath::file_id(&stat) == other.baseline.root());
        if let Some(link) = other.baseline.changed_link(directory.as_fd()).filter(|_| is_it) {
            return Err(StartError::refused(
                format!("sharing {}", escape::path(&boundary.host)),
                format!(
                    "another sandbox that runs there has changed the link {}, which says what is hidden or protected",
                    escape::path(&other.host.join(link))
                ),
                "stop that sandbox, which puts the link back, and start this one again",
            ));
        }
    }
    Ok(())
}

/// Counts changes from the start of an earlier run, of which not all was searched.
pub(crate) fn count_from(own: &mut Remembered, earlier: &Remembered, user: Identity) {
    if let Some(overlap) = overlap(&own.host, own.baseline.root(), earlier, user) {
        own.baseline.count_from(&earlier.baseline, &overlap);
    }
}

/// Returns where the directory of another run lies, if that is in this one's, or around it. Its path is looked up with the rights of the
/// user, and by no link: which directory lies where they have no way to, they learn as little as from the path itself.
fn overlap(host: &Path, own: FileId, other: &Remembered, user: Identity) -> Option<Overlap> {
    let root = other.baseline.root();
    let is_it = |path: &Path| {
        let stat = open_resolved(path).ok().and_then(|directory| rustix::fs::fstat(directory).ok());
        stat.is_some_and(|stat| beneath::file_id(&stat) == root)
    };
    if own == root {
        return Some(Overlap::Below(PathBuf::new()));
    }
    let _acting = ActingAs::user(user).ok()?;
    if let Some(above) = host.ancestors().skip(1).find(|path| is_it(path)) {
        return Some(Overlap::Above(host.strip_prefix(above).ok()?.into()));
    }
    let below = other.host.strip_prefix(host).ok().filter(|_| is_it(&other.host))?;
    Some(Overlap::Below(below.into()))
}
