//! Runs beside this one, in directories that lie in each other: what their agents have made is not what was there.

use std::path::{Path, PathBuf};

use policy::plan::Protect;

use crate::boundary::detect::overlap::{Other, Overlap};
use crate::host::beneath;
use crate::state::record::{Record, Remembered};

/// Adopts what the records of runs that live say of the same directories.
pub(crate) fn take_over(own: &mut Remembered, protect: &Protect, living: &[Record]) {
    let all = living.iter().flat_map(|record| record.boundaries.iter().map(|one| (one, &record.protect)));
    let mut others: Vec<Other<'_>> = all
        .filter_map(|(one, protect)| {
            Some(Other { overlap: overlap(own, one)?, baseline: &one.baseline, protect })
        })
        .collect();
    // The oldest has the last word.
    others.sort_by_key(|other| std::cmp::Reverse(other.baseline.taken()));
    for other in others {
        own.baseline.take_over(&other, protect);
    }
}

/// Counts changes from the start of an earlier run, of which not all was searched.
pub(crate) fn count_from(own: &mut Remembered, earlier: &Remembered) {
    if let Some(overlap) = overlap(own, earlier) {
        own.baseline.count_from(&earlier.baseline, &overlap);
    }
}

/// Returns where the directory of another run lies, if that is in this one's, or around it.
fn overlap(own: &Remembered, other: &Remembered) -> Option<Overlap> {
    let root = other.baseline.root();
    let is_it = |path: &Path| rustix::fs::stat(path).is_ok_and(|stat| beneath::file_id(&stat) == root);
    if own.baseline.root() == root {
        return Some(Overlap::Below(PathBuf::new()));
    }
    if let Some(above) = own.host.ancestors().skip(1).find(|path| is_it(path)) {
        return Some(Overlap::Above(own.host.strip_prefix(above).ok()?.into()));
    }
    let below = other.host.strip_prefix(&own.host).ok().filter(|_| is_it(&other.host))?;
    Some(Overlap::Below(below.into()))
}
