//! References that git takes in the place of others: those that are new, and were none at the start.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::{Reason, ambiguous};

use super::Compared;
use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::references::{Data, KnownReferences};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::references::Budget;
use crate::host::deadline::Deadline;

impl Baseline {
    /// Lists the new references that git takes in the place of one that was there, of `HEAD` or of an object. `host` is where the boundary lies.
    pub fn ambiguous(&self, root: impl AsFd, host: &Path, mounts: &Mounts, until: Deadline) -> Compared {
        let root = root.as_fd();
        let mut all = Compared { findings: Vec::new(), is_whole: true };
        let mut budget = Budget::default();
        for base in mounts.reach.bases() {
            let Base::Git(git) = base else { continue };
            let Some(data) = Data::open(root, git) else { continue };
            let common = data.common.as_ref().map(|(common, _)| common.as_path());
            let of_this = |one: &&KnownReferences| one.git == *git || Some(one.git.as_path()) == common;
            let known = self.references.iter().filter(of_this);
            let known: BTreeSet<&[u8]> =
                known.flat_map(|one| &one.names).map(|name| name.as_bytes()).collect();
            // What a new repository holds is its own, and in an empty one there is nothing to take.
            if known.is_empty() {
                continue;
            }
            // That there are too many is said of their file.
            let Some(mut now) = data.references(&mut budget, usize::MAX, until) else { continue };
            now.extend(data.beside(known.iter().copied()));
            let new = now.into_iter().filter(|(name, _)| !known.contains(name.as_slice()));
            let mut by_file: BTreeMap<PathBuf, Vec<Taken>> = BTreeMap::new();
            let mut objects = None;
            for (name, path) in new.take_while(|_| !until.is_over()) {
                let mut is_object = |digits: &String| {
                    let objects = objects.get_or_insert_with(|| data.objects(git, host, until));
                    objects.has_prefix(digits)
                };
                let taken =
                    ambiguous::behind(&name).into_iter().find(|other| known.contains(other.as_slice()));
                let instead_of = taken
                    .or_else(|| ambiguous::mistaken_for(&name).map(<[u8]>::to_vec))
                    .or_else(|| ambiguous::abbreviated(&name).filter(&mut is_object).map(String::into_bytes));
                if let Some(instead_of) = instead_of {
                    by_file.entry(path).or_default().push(Taken { name, instead_of });
                }
            }
            for (path, names) in by_file {
                let Some(Taken { name, instead_of }) = names.first() else { continue };
                let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                // Files of many references hold those of the user, too.
                let is_one = path.as_os_str().as_bytes() == name.as_slice();
                let origin = if is_one { FindingOrigin::Created } else { FindingOrigin::Earlier };
                let mut reason = Reason::Ambiguous {
                    references: names.len(),
                    reference: text(name),
                    instead_of: text(instead_of),
                };
                reason.shorten();
                let path = git.join(path);
                all.findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
            }
        }
        all.is_whole = !until.is_over();
        all
    }
}

/// A reference that git takes in the place of another one.
struct Taken {
    name: Vec<u8>,
    instead_of: Vec<u8>,
}
