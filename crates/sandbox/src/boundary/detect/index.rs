//! Indexes of git and their like: what they say that they did not say at the start.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use policy::classify::index::{LINK, NO_ENTRY, ObjectFormat, Paths, SUBMODULE_CONTENT};
use policy::classify::repository::{Autostash, SymbolicReference};
use policy::classify::{FileFormat, Reason, layout};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::boundary::detect::finding::FindingOrigin;
use crate::boundary::protect::filters::{AttributesBudget, filter_of};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::path_list::{
    LinkOut, ListContent, MAX_HIDDEN, PathList, Sparse, Staged, data_outside,
};
use crate::host::beneath;
use crate::host::stamp::{ContentHash, Stamp};

/// How much is read of a file to compare it with what an index holds. One that is larger is another one.
const LARGEST_STAGED: u64 = 16 << 20;

/// How much is read to compare files with what indexes hold. What is beyond that is taken for another one.
const MAX_COMPARED: u64 = 1 << 30;

/// An index as it was at the start.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Index {
    #[serde(with = "policy::text::json_bytes::path")]
    path: PathBuf,
    pub(super) stamp: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_hash: Option<ContentHash>,
    /// What it hides, or paths with conflicts.
    hidden: Vec<String>,
    /// Paths that it lists, and to which git goes through a link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    linked: Vec<String>,
    /// Protected paths, with the numbers of the contents that git would write there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    staged: Vec<(String, String)>,
    /// Paths that are hidden inside, with the numbers of the contents that it has of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    staged_hidden: Vec<(String, String)>,
    /// Files that are hidden inside, and that commits left out because of a bit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// Whether git took the bit from files that lie there.
    #[serde(default, skip_serializing_if = "Sparse::is_no")]
    sparse: Sparse,
    /// Other files that are hidden inside, with hashes of what attributes say of their filters, where they say something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    filtered: Vec<(String, String)>,
    /// Links at other paths, with the numbers of their contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    staged_links: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links_out: Vec<LinkOut>,
}

impl Index {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what it held for protected paths.
    pub(super) fn staged(&self) -> &[(String, String)] {
        &self.staged
    }

    /// Returns what it held for paths that are hidden inside.
    pub(super) fn staged_hidden(&self) -> &[(String, String)] {
        &self.staged_hidden
    }

    /// Returns which links it held at other paths.
    pub(super) fn staged_links(&self) -> &[(String, String)] {
        &self.staged_links
    }

    /// Returns whether nobody has changed the file since.
    fn is_of(&self, list: &PathList) -> bool {
        self.stamp == list.stamp && self.content_hash == list.content_hash
    }

    /// Returns the same with other paths; `None` where it has none.
    pub(crate) fn at(&self, here: impl Fn(&Path) -> Option<PathBuf>) -> Option<Self> {
        let links = self.links_out.iter();
        let links_out = links.filter_map(|link| Some(LinkOut { path: here(&link.path)?, ..link.clone() }));
        Some(Self { path: here(&self.path)?, links_out: links_out.collect(), ..self.clone() })
    }
}

/// Remembers what the indexes in a boundary hide.
pub(crate) fn take(root: BorrowedFd<'_>, mounts: &Mounts) -> Vec<Index> {
    let budget = AttributesBudget::default();
    let remember = |list: &PathList| {
        let hidden = match &list.listed {
            // An index has the one, and a list of conflicts the other.
            ListContent::Paths(paths) => {
                paths.hidden.iter().chain(&paths.written).map(|path| text(path)).collect()
            }
            ListContent::Lines(lines) => lines.clone(),
            ListContent::References { names, stash, symbolic } => {
                let symbolic = symbolic.iter().map(SymbolicReference::known_as);
                let stash = stash.as_ref().and_then(Autostash::known_as);
                names.iter().cloned().chain(stash).chain(symbolic).collect()
            }
            ListContent::Stash(stash) => stash.known_as().into_iter().collect(),
            ListContent::Names { .. } | ListContent::TooMany | ListContent::Malformed => Vec::new(),
        };
        let numbers = |staged: &[Staged]| {
            let files = staged.iter().flat_map(|staged| &staged.files);
            files.map(|(path, number)| (text(path), number.clone())).collect()
        };
        let staged = numbers(&list.staged);
        let mut staged_hidden: Vec<_> = numbers(&list.staged_hidden);
        staged_hidden.truncate(MAX_HIDDEN);
        // What a sparse checkout leaves out does not lie there.
        let is_there = |(tree, path): &&(PathBuf, PathBuf)| beneath::stat(root, &tree.join(path)).is_ok();
        let left_out = list.left_out.iter().filter(is_there).map(|(_, path)| text(path));
        let left_out = left_out.take(MAX_HIDDEN).collect();
        let hidden_files = list
            .staged_hidden
            .iter()
            .flat_map(|staged| staged.files.iter().map(|(path, _)| (staged.tree.as_path(), path.as_path())));
        let is_file = |(_, path): &(&Path, &Path)| !path.as_os_str().as_bytes().ends_with(b"/");
        let filtered = hidden_files
            .filter(is_file)
            .take(MAX_HIDDEN)
            .filter_map(|(tree, path)| Some((text(path), filter_of(root, list, tree, path, &budget)?)));
        let filtered = filtered.collect();
        let mut staged_links: Vec<_> = numbers(&list.staged_links);
        staged_links.truncate(MAX_HIDDEN);
        let linked = list.linked.iter().map(|path| text(path)).collect();
        let links_out = list.links_out.clone();
        let (path, stamp, content_hash) = (list.path.clone(), list.stamp, list.content_hash.clone());
        Index {
            path,
            stamp,
            content_hash,
            hidden,
            linked,
            staged,
            staged_hidden,
            left_out,
            sparse: list.sparse,
            filtered,
            staged_links,
            links_out,
        }
    };
    mounts.path_lists.iter().map(remember).collect()
}

/// Lists the references that were obeyed at the start, of a directory of git's data: those in files of many, and those that led to others. Git
/// moves them from one file to another, and puts tables together.
pub(crate) fn known_references(start: &[Index], git: &Path) -> Vec<String> {
    let is_of = |index: &&Index| {
        index.path.strip_prefix(git).is_ok_and(|path| {
            let is_of_many = layout::is_reftable(path) || path == Path::new("packed-refs");
            is_of_many || layout::is_reference(path)
        })
    };
    start.iter().filter(is_of).flat_map(|index| index.hidden.iter().cloned()).collect()
}

/// Returns the directory of git's data that a file of references is in.
pub(crate) fn git_of_references(path: &Path) -> &Path {
    let directory = path.parent().unwrap_or(path);
    if is_reftable(path) { directory.parent().unwrap_or(directory) } else { directory }
}

/// Returns whether a file in git's data that lists something is a table of references.
pub(crate) fn is_reftable(path: &Path) -> bool {
    path.iter().rev().nth(1).is_some_and(|directory| {
        layout::is_reftable(&Path::new(directory).join(path.file_name().unwrap_or_default()))
    })
}

/// What is known of indexes from the start.
pub(crate) struct Start<'b> {
    pub(crate) indexes: &'b [Index],
    /// The references of a directory of git's data that were obeyed.
    pub(crate) references: &'b dyn Fn(&Path) -> Vec<String>,
    /// Whether a directory of git's data was looked at.
    pub(crate) was_searched: &'b dyn Fn(&Path) -> bool,
    /// Whether the work tree of one is another shared directory, where it is looked at too.
    pub(crate) is_shared: &'b dyn Fn(&Path) -> bool,
    /// Whether it is one elsewhere that only the user writes to.
    pub(crate) is_owners: &'b dyn Fn(&Path) -> bool,
}

impl<'b> Start<'b> {
    /// Lists the other indexes of an old repository to which a linked work tree has been added, by the directory of that one's data: what they held
    /// is nothing new in it. `None` for any other directory.
    pub(super) fn others_of_linked(&self, git: &Path) -> Option<Vec<&'b Index>> {
        let worktrees = git.parent().filter(|above| above.ends_with("worktrees"))?;
        let common = worktrees.parent().filter(|common| (self.was_searched)(common))?;
        let is_other = |index: &&Index| {
            let of = index.path.parent().filter(|_| index.path.ends_with("index"));
            of.is_some_and(|of| of == common || of.parent() == Some(worktrees))
        };
        Some(self.indexes.iter().filter(is_other).collect())
    }
}

/// Lists what is listed that was not listed then. `goes` says whether what lies at a path is quarantined; `is_since` says whether that was
/// touched since.
pub(crate) fn added_entries(
    root: BorrowedFd<'_>,
    start: &Start<'_>,
    mounts: &Mounts,
    goes: impl Fn(&Path) -> bool,
    is_since: impl Fn(&Path) -> bool,
) -> Vec<(PathBuf, Reason, FindingOrigin)> {
    let mut changes: Vec<(PathBuf, Reason, FindingOrigin)> = Vec::new();
    for list in &mounts.path_lists {
        let before = start.indexes.iter().find(|before| before.path == list.path);
        // A link is new though the index is the same.
        for LinkOut { path, target, example } in &list.links_out {
            let known = before.map_or(&[][..], |before| &before.links_out);
            let is_known = known.iter().any(|link| link.path == *path && link.target == *target);
            if !is_known && !goes(path) && !changes.iter().any(|(said, ..)| said == path) {
                let origin = if is_since(path) { FindingOrigin::Created } else { FindingOrigin::Earlier };
                changes.push((path.clone(), Reason::LeadsOut { example: text(example) }, origin));
            }
        }
        let elsewhere = |example| {
            let is_index = list.path.ends_with("index");
            if is_index { Reason::ReadsElsewhere { example } } else { Reason::WritesElsewhere { example } }
        };
        if let Some(before) = before.filter(|before| before.is_of(list)) {
            // The file is as it was, and a link may have come to lie on the way to what it lists.
            let linked = added(&before.linked, list.linked.iter().map(|path| text(path)));
            let linked = linked.map(|(_, example)| elsewhere(example));
            changes.extend(linked.map(|reason| (list.path.clone(), reason, FindingOrigin::Created)));
            // Its shared index may be another one, and what it lists may have become protected.
            if !(start.is_shared)(&list.git) {
                let staged = newly_staged(root, start, &[before], list, &goes, &is_since).into_iter();
                changes.extend(staged.map(|reason| (list.path.clone(), reason, FindingOrigin::Earlier)));
            }
            continue;
        }
        let unreadable = Reason::Unreadable { format: FileFormat::Index };
        let is_new = if before.is_some() { FindingOrigin::Replaced } else { FindingOrigin::Created };
        let known = before.map(|before| vec![before]).or_else(|| start.others_of_linked(&list.git));
        let hidden = before.map(|before| &before.hidden[..]);
        // What a new repository holds is its own. One that nobody searched at the start may be as old as that.
        let is_unknown = before.is_none() && !(start.was_searched)(&list.git) && !list.is_outside();
        let is_born = is_unknown && is_since(&list.git);
        let is_own = is_born && known.is_none();
        let is_untouched = is_unknown && !is_since(&list.path);
        // What is said of a file that stays says only so where it was there.
        let staying = match before {
            None if !is_unknown || is_born => FindingOrigin::Created,
            None | Some(_) => FindingOrigin::Earlier,
        };
        let mut found = |reason, origin| changes.push((list.path.clone(), reason, origin));
        match &list.listed {
            // Where the repository is shared, it is looked at there. Where it is not, nobody inside can write it.
            _ if list.is_outside() => {}
            // Git does not write a path that leads elsewhere, nor what cannot be read.
            ListContent::Malformed => found(unreadable, is_new),
            ListContent::TooMany => {
                let bytes = usize::try_from(list.stamp.size()).unwrap_or(usize::MAX);
                found(Reason::TooLarge { bytes }, FindingOrigin::Earlier);
            }
            ListContent::Stash(stash) if !stash.is_among(&(start.references)(&list.git)) => {
                found(Reason::AppliesStash { commit: stash.commit.clone() }, is_new);
            }
            ListContent::Stash(_) => {}
            ListContent::References { names, stash, symbolic } => {
                let known = (start.references)(&list.git);
                let added = added(&known, names.iter().cloned());
                let symbolic = symbolic.iter().find(|one| !known.contains(&one.known_as()));
                if let Some(stash) = stash.as_ref().filter(|stash| !stash.is_among(&known)) {
                    let commit = stash.commit.clone();
                    found(Reason::AppliesStash { commit }, FindingOrigin::Created);
                } else if let Some((references, example)) = added {
                    found(Reason::NamesReferences { references, example }, FindingOrigin::Created);
                } else if let Some(SymbolicReference { name, target }) = symbolic.filter(|_| !is_untouched) {
                    let (name, target) = (name.clone(), target.clone());
                    found(Reason::LeadsToReference { name, target }, FindingOrigin::Created);
                }
            }
            ListContent::Names { elsewhere } => {
                let reason = elsewhere.iter().map(|path| Reason::NamesElsewhere { example: text(path) });
                reason.for_each(|reason| found(reason, is_new));
            }
            ListContent::Paths(Paths { outside: Some(path), .. }) => {
                found(Reason::WritesElsewhere { example: text(path) }, is_new);
            }
            ListContent::Paths(Paths { read: Some(path), .. }) => {
                found(Reason::ReadsElsewhere { example: text(path) }, is_new);
            }
            ListContent::Paths(_) if !list.linked.is_empty() => {
                found(elsewhere(text(&list.linked[0])), is_new);
            }
            // Of what lies there now nothing follows: a commit of the agent's may have a link there.
            ListContent::Paths(paths) if !paths.written.is_empty() => {
                let known: BTreeSet<&String> = hidden.unwrap_or_default().iter().collect();
                let new = paths.written.iter().map(|path| text(path)).find(|path| !known.contains(path));
                if let Some(example) = new.filter(|_| !is_untouched) {
                    found(Reason::RecordsConflict { example }, is_new);
                }
            }
            ListContent::Paths(paths) => {
                let now = paths.hidden.iter().map(|path| text(path));
                if let Some((files, example)) = hidden.and_then(|before| added(before, now)) {
                    found(Reason::HidesChanges { files, example }, FindingOrigin::Earlier);
                }
            }
            ListContent::Lines(now) => {
                let lines = added(hidden.unwrap_or_default(), now.iter().cloned());
                // What is quarantined says nothing to git any more.
                let is_left = !is_own && !is_untouched && !goes(&list.path);
                if let Some((lines, example)) = lines.filter(|_| is_left) {
                    found(Reason::HidesByLines { lines, example }, staying);
                }
                if let Some(reason) = before.and_then(|before| lines_gone(before, now)) {
                    found(reason, FindingOrigin::Earlier);
                }
            }
        }
        if is_untouched || (start.is_shared)(&list.git) {
            continue;
        }
        // A new repository may lie around what is hidden.
        let reasons = if is_own {
            newly_tracked(root, before, list, &is_since).into_iter().collect()
        } else {
            newly_staged(root, start, &known.unwrap_or_default(), list, &goes, &is_since)
        };
        for reason in reasons {
            found(reason, staying);
        }
    }
    changes.extend(start.indexes.iter().filter_map(|before| removed(root, before)));
    changes
}

/// Says what an index holds for protected paths and for hidden ones, and which links it has, that none of the known ones held: itself at the
/// start, or the others of its repository.
fn newly_staged(
    root: BorrowedFd<'_>,
    start: &Start<'_>,
    known: &[&Index],
    list: &PathList,
    goes: impl Fn(&Path) -> bool,
    is_since: impl Fn(&Path) -> bool,
) -> Vec<Reason> {
    let before = known.iter().copied().find(|before| before.path == list.path);
    let first_added = |staged: &[Staged], known: &[(String, String)]| {
        staged.iter().find_map(|staged| {
            // Where only the user writes, what lies there is the user's.
            let outside =
                Some(&staged.tree).filter(|tree| tree.is_absolute() && (start.is_owners)(&list.git));
            match outside.and_then(|tree| data_outside(tree).ok()) {
                Some(tree) => {
                    let staged = Staged { tree: PathBuf::new(), ..staged.clone() };
                    added_numbers(tree.as_fd(), known, &staged, |_| false)
                }
                None => added_numbers(root, known, staged, &goes),
            }
        })
    };
    let protected = first_added(&list.staged, &all_of(known, Index::staged));
    let is_whole = known.iter().all(|known| is_whole(&known.staged_links()));
    let links =
        is_whole.then(|| first_added(&list.staged_links, &all_of(known, Index::staged_links))).flatten();
    let reasons = [
        protected.map(|(files, example)| Reason::StagesProtected { files, example }),
        before.and_then(|before| no_longer_staged(root, before, list, &goes)),
        links.map(|(files, example)| Reason::StagesLinks { files, example }),
        newly_tracked(root, before, list, &is_since),
        newly_recorded(root, before, list, &is_since),
        newly_filtered(root, before, list, &is_since),
    ];
    reasons.into_iter().flatten().collect()
}

/// Says which protected paths that lie in the work tree an index lists no more: `git clean` removes them, and so does a merge of a commit of that
/// index.
fn no_longer_staged(
    root: BorrowedFd<'_>,
    before: &Index,
    list: &PathList,
    goes: impl Fn(&Path) -> bool,
) -> Option<Reason> {
    let files = list.staged.iter().flat_map(|staged| &staged.files);
    let files = files.filter(|(_, number)| is_entry(number));
    // A directory of a sparse index ends with a slash.
    let now: BTreeSet<String> = files.map(|(path, _)| text(path).trim_end_matches('/').to_owned()).collect();
    // An agent may have made more work trees of it.
    let is_left = |path: &&String| {
        list.staged.iter().any(|staged| {
            let place = staged.tree.join(path.as_str());
            beneath::stat(root, &place).is_ok() && !goes(&place)
        })
    };
    // What stands in the place of a directory above is said of that.
    let is_listed =
        |path: &&String| Path::new(path.as_str()).ancestors().any(|above| now.contains(&text(above)));
    let were_listed = before.staged.iter().filter(|(path, number)| is_entry(number) && !path.ends_with('/'));
    let were_listed = were_listed.map(|(path, _)| path);
    let gone = were_listed.filter(|path| !is_listed(path));
    let mut gone = gone.filter(is_left).peekable();
    let example = (*gone.peek()?).clone();
    Some(Reason::ListsNoMore { files: gone.count(), example })
}

/// Says what an index holds for hidden paths that it did not hold before. A file that was there already is one that it had not, even with
/// the content that lies there now: whoever guesses that waits for what the user writes next.
fn newly_tracked(
    root: BorrowedFd<'_>,
    before: Option<&Index>,
    list: &PathList,
    is_since: impl Fn(&Path) -> bool,
) -> Option<Reason> {
    let known = Some(before.map_or(&[][..], |before| &before.staged_hidden)).filter(is_whole)?;
    let paths: BTreeSet<&str> =
        known.iter().filter(|(_, number)| is_entry(number)).map(|(path, _)| path.as_str()).collect();
    let (files, example) = list.staged_hidden.iter().find_map(|staged| {
        let was_tracked =
            |path: &Path| path.strip_prefix(&staged.tree).is_ok_and(|path| paths.contains(&*text(path)));
        added_numbers(root, known, staged, |path| !was_tracked(path) && !is_since(path))
    })?;
    Some(Reason::TracksHidden { files, example })
}

/// Says of an index that is gone what it left out: git makes another one of the last commit. Of attributes and excludes, says which they were.
fn removed(root: BorrowedFd<'_>, before: &Index) -> Option<(PathBuf, Reason, FindingOrigin)> {
    let left_out = before.left_out.first().map(|example| {
        let (files, example) = (before.left_out.len(), example.clone());
        Reason::RecordsHidden { files, example }
    });
    let reason = left_out.or_else(|| lines_gone(before, &[]))?;
    let is_in_info = before.path.parent().is_some_and(|parent| parent.ends_with("info"));
    let git = before.path.ancestors().nth(if is_in_info { 2 } else { 1 })?;
    let data = if git.is_absolute() { data_outside(git) } else { beneath::directory(root, git) }.ok()?;
    let found = beneath::stat(&data, before.path.strip_prefix(git).ok()?);
    let is_gone = matches!(found, Err(Errno::NOENT | Errno::NOTDIR));
    is_gone.then(|| (before.path.clone(), reason, FindingOrigin::Earlier))
}

/// Says which lines of `info/attributes` or `info/exclude` are gone.
fn lines_gone(before: &Index, now: &[String]) -> Option<Reason> {
    let (lines, example) = added(now, before.hidden.iter().cloned()).filter(|_| now.len() < MAX_HIDDEN)?;
    if before.path.ends_with("info/attributes") {
        return Some(Reason::AttributesGone { lines, example });
    }
    before.path.ends_with("info/exclude").then_some(Reason::ExcludesGone { lines, example })
}

/// Says of which hidden files that commits left out they take the content now.
fn newly_recorded(
    root: BorrowedFd<'_>,
    before: Option<&Index>,
    list: &PathList,
    is_since: impl Fn(&Path) -> bool,
) -> Option<Reason> {
    let before = before?;
    let is_news = |path: &&String| {
        let path = Path::new(path.as_str());
        list.staged_hidden.iter().any(|staged| is_taken(root, (before, list), staged, path, &is_since))
    };
    let mut recorded = before.left_out.iter().filter(is_news).peekable();
    let example = (*recorded.peek()?).clone();
    Some(Reason::RecordsHidden { files: recorded.count(), example })
}

/// Returns whether a commit of all changes takes the content of a hidden file, now or once the user writes it: not that of one which the
/// agent has made, as the index has it.
fn is_taken(
    root: BorrowedFd<'_>,
    (before, list): (&Index, &PathList),
    staged: &Staged,
    path: &Path,
    is_since: impl Fn(&Path) -> bool,
) -> bool {
    let Staged { tree, format, files } = staged;
    let place = tree.join(path);
    let keeps_bits = list.sparse.is_no() || before.sparse == Sparse::Yes;
    let is_left_out = keeps_bits && list.left_out.contains(&(tree.clone(), path.to_path_buf()));
    let is_held = |number: &String| files.iter().any(|(held, of)| held == path && of == number);
    let is_new =
        || !is_since(&place) || number_of(root, &place, *format).is_some_and(|number| !is_held(&number));
    !is_left_out && beneath::stat(root, &place).is_ok() && is_new()
}

/// Says of which hidden files attributes say something else than before.
fn newly_filtered(
    root: BorrowedFd<'_>,
    before: Option<&Index>,
    list: &PathList,
    is_since: impl Fn(&Path) -> bool,
) -> Option<Reason> {
    let before = before?;
    let budget = AttributesBudget::default();
    let is_exposed = |path: &Path, filter: &str| {
        list.staged_hidden.iter().any(|staged| {
            filter_of(root, list, &staged.tree, path, &budget).as_deref() != Some(filter)
                && is_taken(root, (before, list), staged, path, &is_since)
        })
    };
    let is_news = |(path, filter): &&(String, String)| is_exposed(Path::new(path), filter);
    let mut filtered = before.filtered.iter().filter(is_news).peekable();
    let (example, _) = filtered.peek()?;
    Some(Reason::FiltersHidden { example: example.clone(), files: filtered.count() })
}

/// Returns whether these are all that were there: of as many as are kept, nobody knows which are new.
fn is_whole(known: &&[(String, String)]) -> bool {
    known.len() < MAX_HIDDEN
}

/// Returns what all of these indexes held.
pub(super) fn all_of(known: &[&Index], of: impl Fn(&Index) -> &[(String, String)]) -> Vec<(String, String)> {
    known.iter().flat_map(|known| of(known)).cloned().collect()
}

/// Returns for how many paths an index holds what it did not hold before and what does not lie there, and one of them.
pub(super) fn added_numbers(
    root: BorrowedFd<'_>,
    before: &[(String, String)],
    staged: &Staged,
    goes: impl Fn(&Path) -> bool,
) -> Option<(usize, String)> {
    let known: BTreeSet<(&str, &str)> =
        before.iter().map(|(path, number)| (path.as_str(), number.as_str())).collect();
    let is_new = |(path, number): &&(PathBuf, String)| !known.contains(&(&text(path), number));
    let left = Cell::new(MAX_COMPARED);
    let is_elsewhere = |(path, number): &&(PathBuf, String)| {
        let path = staged.tree.join(path);
        let number = number.strip_prefix(NO_ENTRY).unwrap_or(number);
        let size = beneath::stat(root, &path).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
        left.set(left.get().saturating_sub(size.min(LARGEST_STAGED)));
        let is_compared = left.get() > 0;
        // A submodule that lies there was searched.
        let is_checked_out =
            || number.starts_with(SUBMODULE_CONTENT) && beneath::stat(root, &path.join(".git")).is_ok();
        if goes(&path) {
            return true;
        }
        !is_checked_out()
            && (!is_compared || number_of(root, &path, staged.format).as_deref() != Some(number))
    };
    let mut new = staged.files.iter().filter(is_new).filter(is_elsewhere).peekable();
    let example = text(&new.peek()?.0);
    Some((new.count(), example))
}

/// Returns whether what names a content is that of an entry of the index.
fn is_entry(number: &str) -> bool {
    !number.starts_with(NO_ENTRY)
}

/// Returns what names the content of a file or a link in an index: its hash, with what it is and how long it is in front.
fn number_of(root: BorrowedFd<'_>, path: &Path, format: ObjectFormat) -> Option<String> {
    let (kind, content) = if let Ok(target) = beneath::read_link(root, path) {
        (LINK, target.into_os_string().into_vec())
    } else {
        let (file, _) = beneath::file(root, path).ok()?;
        let mut content = Vec::new();
        std::fs::File::from(file).take(LARGEST_STAGED).read_to_end(&mut content).ok()?;
        ("", content)
    };
    let header = format!("blob {}\0", content.len());
    Some(match format {
        ObjectFormat::Sha1 => {
            format!("{kind}{:x}", Sha1::new().chain_update(header).chain_update(&content).finalize())
        }
        ObjectFormat::Sha256 => {
            format!("{kind}{:x}", Sha256::new().chain_update(header).chain_update(&content).finalize())
        }
    })
}

/// Returns how many are there that were not there before, and one of them.
fn added(before: &[String], now: impl Iterator<Item = String>) -> Option<(usize, String)> {
    if before.len() >= MAX_HIDDEN {
        return None;
    }
    let known: BTreeSet<&String> = before.iter().collect();
    let mut new = now.filter(|one| !known.contains(one)).peekable();
    let example = new.peek()?.clone();
    Some((new.count(), example))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
