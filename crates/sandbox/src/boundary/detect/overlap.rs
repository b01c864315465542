//! Overlaps: what the agent of another run has made in the same directories before this run started.
//!
//! It is not what was there at the start. A run that begins beside another one takes over what that one's baseline knows of
//! what both look through: whichever of them ends first, or is cleared up after, compares with the older one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::plan::Protect;
use policy::protect::SKIPPED;

use crate::boundary::detect::baseline::{Baseline, Content, Earlier, Entry};
use crate::boundary::detect::checkouts::KnownCheckout;
use crate::boundary::detect::classified::Classified;
use crate::boundary::detect::references::KnownReferences;
use crate::boundary::protect::mounts::{Cause, Dotted};
use crate::boundary::protect::reach::Base;

/// Where the boundary of another run lies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Overlap {
    /// At this path in this one; the empty path is this one itself.
    Below(PathBuf),
    /// Above this one, which is at this path in it.
    Above(PathBuf),
}

impl Overlap {
    /// Translates a path in the other boundary to this one.
    fn here(&self, path: &Path) -> Option<PathBuf> {
        match self {
            Self::Below(place) => Some(place.iter().chain(path).collect()),
            Self::Above(place) => path.strip_prefix(place).ok().map(Path::to_path_buf),
        }
    }

    /// Translates a path in this boundary to the other one.
    fn there(&self, path: &Path) -> Option<PathBuf> {
        match self {
            Self::Below(place) => path.strip_prefix(place).ok().map(Path::to_path_buf),
            Self::Above(place) => Some(place.iter().chain(path).collect()),
        }
    }
}

/// What another run knows of a boundary of its own, and how it looks through it.
pub(crate) struct Other<'a> {
    pub(crate) baseline: &'a Baseline,
    pub(crate) overlap: Overlap,
    pub(crate) protect: &'a Protect,
}

impl Other<'_> {
    /// Returns whether its walk has entered the directory that something of this boundary belongs to.
    fn has_entered(&self, path: &Path) -> bool {
        let Some(path) = self.overlap.there(path) else { return false };
        let is_skipped = |name: &OsStr| SKIPPED.iter().any(|skipped| name == *skipped);
        let levels = path.iter().take_while(|name| *name != ".git").count();
        self.baseline.is_whole
            && !path.iter().any(is_skipped)
            && u32::try_from(levels).is_ok_and(|levels| levels <= self.protect.depth)
    }
}

impl Baseline {
    /// Counts changes from the start of an older one, without what that knows: only part of it was compared.
    pub(crate) fn count_from(&mut self, older: &Self, overlap: &Overlap) {
        let path = overlap.here(Path::new("")).unwrap_or_default();
        self.earlier.push(Earlier { path, taken: older.start_of(Path::new("")) });
    }

    /// Takes over what an older one knows. This one was taken of what `protect` asks for.
    pub(crate) fn take_over(&mut self, other: &Other<'_>, protect: &Protect) {
        if other.baseline.taken > self.taken {
            return;
        }
        let here = |path: &Path| other.overlap.here(path);
        let searched: BTreeSet<Base> = other
            .baseline
            .searched
            .iter()
            .filter_map(|base| {
                let path = here(base.path())?;
                Some(match base {
                    Base::Tree(_) => Base::Tree(path),
                    Base::Git(_) => Base::Git(path),
                    Base::Led(_) => Base::Led(path),
                    Base::Passed(_) => Base::Passed(path),
                })
            })
            .collect();
        // What lies right in a boundary is looked at wherever the boundary lies, and by the other one only in a repository.
        let is_own = |base: &Base| {
            let is_root = *base == Base::Tree(PathBuf::new());
            !searched.contains(base) && (is_root || !other.has_entered(base.path()))
        };
        let same_paths = other.protect.paths == protect.paths;
        let stays = |entry: &Entry| (entry.cause == Cause::Asked && !same_paths) || is_own(&entry.base);

        let theirs = |entry: &Entry| Some(Entry { path: here(&entry.path)?, ..entry.clone() });
        let mut entries: Vec<Entry> = other.baseline.entries.iter().filter_map(theirs).collect();
        let known: BTreeSet<PathBuf> = entries.iter().map(|entry| entry.path.clone()).collect();
        self.entries.retain(|entry| stays(entry) && !known.contains(&entry.path));
        self.entries.append(&mut entries);
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));

        self.kept.retain(|kept| !known.iter().any(|path| kept.path.starts_with(path)));
        let theirs = other.baseline.kept.iter();
        self.kept.extend(theirs.filter_map(|kept| Some(Content { path: here(&kept.path)?, ..kept.clone() })));
        self.kept.sort_by(|a, b| a.path.cmp(&b.path));

        self.hidden.retain(|hidden| !other.has_entered(&hidden.path));
        let theirs = other.baseline.hidden.iter().filter_map(|hidden| here(&hidden.path));
        self.hidden.extend(theirs.map(|path| Classified::of(path, Reason::Hidden)));

        self.indexes.retain(|index| index.path().is_absolute() || !other.has_entered(index.path()));
        let theirs = other.baseline.indexes.iter();
        self.indexes.extend(theirs.filter_map(|index| index.at(here)));

        self.checkouts.retain(|one| one.git.is_absolute() || !other.has_entered(&one.git));
        let theirs = other.baseline.checkouts.iter();
        self.checkouts
            .extend(theirs.filter_map(|one| Some(KnownCheckout { git: here(&one.git)?, ..one.clone() })));

        self.repositories.retain(|git| !other.has_entered(Path::new(git)));
        let theirs = other.baseline.repositories.iter();
        self.repositories.extend(theirs.filter_map(|git| here(Path::new(git)).map(PathBuf::into_os_string)));
        self.repositories.sort();

        self.references.retain(|one| !other.has_entered(&one.git));
        let theirs = other.baseline.references.iter();
        self.references
            .extend(theirs.filter_map(|one| Some(KnownReferences { git: here(&one.git)?, ..one.clone() })));

        self.dotted.retain(|one| is_own(&Base::Tree(one.tree.clone())));
        let theirs = other.baseline.dotted.iter();
        self.dotted.extend(theirs.filter_map(|one| Some(Dotted { tree: here(&one.tree)?, ..one.clone() })));

        self.searched.retain(is_own);
        self.searched.extend(searched);
        self.earlier
            .push(Earlier { path: here(Path::new("")).unwrap_or_default(), taken: other.baseline.taken });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_one_boundary_to_the_other_and_back() {
        for (overlap, here, there) in [
            (Overlap::Below("".into()), "a/b", "a/b"),
            (Overlap::Below("sub".into()), "sub/a", "a"),
            (Overlap::Above("sub".into()), "a", "sub/a"),
            (Overlap::Above("sub".into()), "", "sub"),
        ] {
            assert_eq!(overlap.here(Path::new(there)).as_deref(), Some(Path::new(here)), "{overlap:?}");
            assert_eq!(overlap.there(Path::new(here)).as_deref(), Some(Path::new(there)), "{overlap:?}");
        }
        assert_eq!(Overlap::Above("sub".into()).here(Path::new("other")), None);
        assert_eq!(Overlap::Below("sub".into()).there(Path::new("other")), None);
    }
}
