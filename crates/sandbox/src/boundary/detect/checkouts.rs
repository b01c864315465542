//! Commits to which git brings work trees: what those have that were not named at the start.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::classify::index::StagedKind;
use policy::text::{escape, json_bytes};
use serde::{Deserialize, Serialize};

use super::finding::{Finding, FindingOrigin};
use super::index::{Index, Start, added_numbers, all_of};
use crate::boundary::protect::commits::{ChangedFile, HEAD, Indexed, NamedCommit};
use crate::boundary::protect::mounts::{ChangedAttributes, Checkout, LinesChange, Mounts, UnindexedFiles};
use crate::boundary::protect::path_list::Staged;
use crate::host::beneath;

/// The commits that were named in a directory of git's data at the start.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct KnownCheckout {
    #[serde(with = "json_bytes::path")]
    pub(super) git: PathBuf,
    pub(super) commits: Vec<NamedCommit>,
    /// What `HEAD` led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<String>,
}

/// Lists the work trees that newly have a branch checked out which another one has, too.
pub(super) fn checked_out_twice(known: &[KnownCheckout], mounts: &Mounts) -> Vec<Finding> {
    let is_known =
        |one: &Checkout| known.iter().any(|known| known.git == one.git && known.branch == one.branch);
    let new = mounts.checkouts.iter().filter(|one| one.tree.is_some() && !is_known(one));
    let found = new.filter_map(|one| {
        let branch = one.branch.clone()?;
        let is_other = |other: &&Checkout| {
            other.git != one.git && other.common == one.common && other.branch == one.branch
        };
        let tree = mounts.checkouts.iter().filter(is_other).find_map(|other| other.tree.as_deref())?;
        let reason = Reason::ChecksOutTwice { branch, tree: escape::path(tree) };
        let (path, origin) = (one.git.join(HEAD), FindingOrigin::Earlier);
        Some(Finding { path, reason, origin, quarantined: None, restored: false })
    });
    found.collect()
}

/// Lists the attributes by which git converts files otherwise, or may run another driver on them.
pub(super) fn converted(mounts: &Mounts) -> impl Iterator<Item = Finding> {
    let attributes = mounts.checkouts.iter().flat_map(|checkout| &checkout.attributes);
    attributes.filter_map(|ChangedAttributes { by, path, change, lines }| {
        let (attributes, example) = (path.to_string_lossy().into_owned(), lines.first()?.clone());
        let lines = lines.len();
        let mut reason = match change {
            LinesChange::Added => Reason::ConvertsFiles { attributes, lines, example },
            LinesChange::Gone => Reason::ConvertsNoMore { attributes, lines, example },
        };
        reason.shorten();
        let (path, origin) = (by.clone(), FindingOrigin::Earlier);
        Some(Finding { path, reason, origin, quarantined: None, restored: false })
    })
}

/// Remembers the commits that are named in a boundary.
pub(super) fn take(mounts: &Mounts) -> Vec<KnownCheckout> {
    let known = mounts.checkouts.iter();
    let remember = |one: &Checkout| {
        let (git, commits, branch) = (one.git.clone(), one.commits.clone(), one.branch.clone());
        KnownCheckout { git, commits, branch }
    };
    known.map(remember).collect()
}

/// Lists what such commits have that neither the index nor the work tree has so. `goes` says whether what lies at a path is quarantined;
/// `is_since` says whether that was touched since.
pub(super) fn added_in_commits(
    root: BorrowedFd<'_>,
    start: &Start<'_>,
    mounts: &Mounts,
    goes: impl Fn(&Path) -> bool,
    is_since: impl Fn(&Path) -> bool,
) -> Vec<(PathBuf, Reason, FindingOrigin)> {
    let mut found = Vec::new();
    for checkout in &mounts.checkouts {
        let git = &checkout.git;
        // One that nobody searched at the start may be as old as that, and what a new one holds is its own.
        let is_unknown = !git.is_absolute() && !(start.was_searched)(git);
        if is_unknown && !is_since(git) {
            continue;
        }
        let before = start.indexes.iter().find(|index| index.path() == git.join("index"));
        let known = before.map(|before| vec![before]).or_else(|| start.others_of_linked(git));
        for unindexed in &checkout.unindexed {
            let by = unindexed.named.file(git);
            let is_elsewhere = unindexed.tree.is_absolute();
            // The boundary of a work tree that is shared says it.
            if is_elsewhere && (start.is_shared)(git) {
                continue;
            }
            let reasons = if is_elsewhere {
                moved(unindexed).into_iter().collect()
            } else if is_unknown && known.is_none() {
                let hidden = hidden(root, before, unindexed, &is_since);
                hidden.into_iter().chain(behind_links(root, unindexed)).collect()
            } else {
                added_in_one(root, before, known.as_deref().unwrap_or_default(), unindexed, &goes, &is_since)
            };
            let is_own = unindexed.named.superproject.is_none() && !unindexed.named.is_head();
            let is_new = is_own && is_since(&by);
            let origin = if is_new { FindingOrigin::Created } else { FindingOrigin::Earlier };
            found.extend(reasons.into_iter().map(|reason| (by.clone(), reason, origin)));
        }
    }
    found
}

fn added_in_one(
    root: BorrowedFd<'_>,
    before: Option<&Index>,
    known: &[&Index],
    unindexed: &UnindexedFiles,
    goes: impl Fn(&Path) -> bool,
    is_since: impl Fn(&Path) -> bool,
) -> Vec<Reason> {
    let is_link = |file: &&ChangedFile| file.kind == StagedKind::Link;
    let protected = staged(unindexed, unindexed.protected.iter());
    let links = staged(unindexed, unindexed.others.iter().filter(is_link));
    let protected = added_numbers(root, &all_of(known, Index::staged), &protected, &goes);
    let links = added_numbers(root, &all_of(known, Index::staged_links), &links, &goes);
    let unread =
        (!unindexed.is_whole).then(|| Reason::CommitUnread { commit: unindexed.named.commit.clone() });
    let reasons = [
        protected
            .map(|(files, example)| Reason::CommitsProtected { files, example: shown(unindexed, example) }),
        links.map(|(files, example)| Reason::CommitsLinks { files, example: shown(unindexed, example) }),
        no_longer_committed(root, unindexed, &goes),
        hidden(root, before, unindexed, is_since),
        behind_links(root, unindexed),
        unread,
    ];
    reasons.into_iter().flatten().collect()
}

/// Says which protected paths that lie in the work tree a commit has no more.
fn no_longer_committed(
    root: BorrowedFd<'_>,
    unindexed: &UnindexedFiles,
    goes: impl Fn(&Path) -> bool,
) -> Option<Reason> {
    let is_left = |path: &&PathBuf| {
        let place = unindexed.tree.join(path);
        beneath::stat(root, &place).is_ok() && !goes(&place)
    };
    let mut gone = unindexed.removed_protected.iter().filter(is_left).peekable();
    let example = shown(unindexed, gone.peek()?.to_string_lossy().into_owned());
    Some(Reason::CommitsNoMore { files: gone.count(), example })
}

/// Says what a commit has for hidden paths that the index had not so at the start.
fn hidden(
    root: BorrowedFd<'_>,
    before: Option<&Index>,
    unindexed: &UnindexedFiles,
    is_since: impl Fn(&Path) -> bool,
) -> Option<Reason> {
    let known = before.map_or(&[][..], Index::staged_hidden);
    let files = staged(unindexed, unindexed.hidden.iter());
    let (files, example) = added_numbers(root, known, &files, |path| !is_since(path))?;
    Some(Reason::CommitsHidden { files, example: shown(unindexed, example) })
}

/// Says what a commit has beneath links of the work tree: git looks for none on the way to a file that the index does not list.
fn behind_links(root: BorrowedFd<'_>, unindexed: &UnindexedFiles) -> Option<Reason> {
    let is_link = |path: &Path| beneath::read_link(root, &unindexed.tree.join(path)).is_ok();
    let is_behind = |file: &&ChangedFile| {
        file.path.ancestors().skip(1).any(|above| above != Path::new("") && is_link(above))
    };
    let mut behind = unindexed.protected.iter().chain(&unindexed.others).filter(is_behind).peekable();
    let example = behind.peek()?.path.to_string_lossy().into_owned();
    Some(Reason::CommitsBehindLinks { files: behind.count(), example: shown(unindexed, example) })
}

/// Returns a path of a commit as it is shown: where a superproject names the commit, with the place of the submodule.
fn shown(unindexed: &UnindexedFiles, path: String) -> String {
    match unindexed.named.superproject {
        Some(_) => unindexed.tree.join(path).to_string_lossy().into_owned(),
        None => path,
    }
}

/// Says that a commit has something that the index of a work tree elsewhere has not: whatever lies there is hidden from the agent. What the index has
/// neither so nor as before, the user has staged.
fn moved(unindexed: &UnindexedFiles) -> Option<Reason> {
    let UnindexedFiles { named, tree, protected, others, removed, is_whole, .. } = unindexed;
    let is_news = |file: &ChangedFile| file.kind != StagedKind::File || file.indexed != Indexed::Otherwise;
    let differs = !protected.is_empty() || !removed.is_empty() || others.iter().any(is_news) || !is_whole;
    let tree = escape::path(tree);
    let commit = named.commit.clone();
    (named.is_head() && differs).then_some(Reason::MovedElsewhere { tree, commit })
}

fn staged<'d>(unindexed: &UnindexedFiles, files: impl Iterator<Item = &'d ChangedFile>) -> Staged {
    Staged {
        tree: unindexed.tree.clone(),
        format: unindexed.format,
        files: files.map(|file| (file.path.clone(), file.number.clone())).collect(),
    }
}
