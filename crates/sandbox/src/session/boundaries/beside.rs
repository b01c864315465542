//! Runs beside this one, in directories that lie in each other: what their agents have made is not what was there.

use std::path::{Path, PathBuf};

use policy::plan::Protect;

use crate::boundary::detect::overlap::{Other, Overlap};
use crate::boundary::root::open_resolved;
use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::state::record::Remembered;
use crate::state::runs::LivingRuns;

/// Adopts what the records of runs that live say of the same directories. The records are this user's own, and may say anything.
pub(crate) fn take_over(own: &mut Remembered, protect: &Protect, living: &LivingRuns, user: Identity) {
    let all = living.runs.iter().flat_map(|run| run.boundaries.iter().map(|one| (one, &*run.protect)));
    let mut others: Vec<Other<'_>> = all
        .filter_map(|(one, protect)| {
            Some(Other { overlap: overlap(own, one, user)?, baseline: &one.baseline, protect })
        })
        .collect();
    // The oldest has the last word.
    others.sort_by_key(|other| std::cmp::Reverse(other.baseline.taken()));
    for other in others {
        own.baseline.take_over(&other, protect);
    }
}

/// Counts changes from the start of an earlier run, of which not all was searched.
pub(crate) fn count_from(own: &mut Remembered, earlier: &Remembered, user: Identity) {
    if let Some(overlap) = overlap(own, earlier, user) {
        own.baseline.count_from(&earlier.baseline, &overlap);
    }
}

/// Returns where the directory of another run lies, if that is in this one's, or around it. Its path is looked up with the rights of the
/// user, and by no link: which directory lies where they have no way to, they learn as little as from the path itself.
fn overlap(own: &Remembered, other: &Remembered, user: Identity) -> Option<Overlap> {
    let root = other.baseline.root();
    let is_it = |path: &Path| {
        let stat = open_resolved(path).ok().and_then(|directory| rustix::fs::fstat(directory).ok());
        stat.is_some_and(|stat| beneath::file_id(&stat) == root)
    };
    if own.baseline.root() == root {
        return Some(Overlap::Below(PathBuf::new()));
    }
    let _acting = ActingAs::user(user).ok()?;
    if let Some(above) = own.host.ancestors().skip(1).find(|path| is_it(path)) {
        return Some(Overlap::Above(own.host.strip_prefix(above).ok()?.into()));
    }
    let below = other.host.strip_prefix(&own.host).ok().filter(|_| is_it(&other.host))?;
    Some(Overlap::Below(below.into()))
}
