//! The commits to which git brings the work trees of a boundary, and what these have that their indexes have not.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use policy::classify::index::{self, ObjectFormat, StagedKind};
use policy::classify::repository::{self, MAX_POINTER_LENGTH};

use crate::boundary::protect::commits::{self, ChangedFile, Difference, NamedCommit};
use crate::boundary::protect::mounts::{Checkout, Departure};
use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::path_list::MAX_SIZE;
use crate::boundary::protect::references::{self, References};
use crate::boundary::protect::search::outward::ListedPaths;
use crate::boundary::protect::search::progress::{Leads, Search};
use crate::boundary::protect::search::staged::Writes;
use crate::host::beneath;

/// Returns the commits that were named in a directory of git's data at the start; `None` where nobody looked then.
pub type KnownCommits<'a> = &'a dyn Fn(&Path) -> Option<Vec<NamedCommit>>;

impl Search<'_> {
    /// Notes the commits to which git brings each work tree, and in what those that are not known depart from its index.
    pub(super) fn checkouts(&self, known: Option<KnownCommits<'_>>) -> Vec<Checkout> {
        let listed = ListedPaths::of(&self.reach);
        let data = |git: &PathBuf| Some((git.clone(), beneath::directory(self.root, git).ok()?));
        let all = self.seen_git.iter().filter_map(data);
        let all = all.take_while(|_| !self.until.is_over());
        let checkouts = all.filter_map(|(git, data)| {
            let common = self.common(&git)?;
            let references = References::of(
                beneath::directory(self.root, &git).ok()?,
                beneath::directory(self.root, &common).ok()?,
            );
            let commits = commits::named(&references, &data);
            let departures =
                known.map(|known| self.departures(&git, &common, &data, &commits, known(&git), &listed));
            let departures = departures.unwrap_or_default();
            (!commits.is_empty()).then_some(Checkout { git, commits, departures })
        });
        checkouts.collect()
    }

    fn departures(
        &self,
        git: &Path,
        common: &Path,
        data: &OwnedFd,
        commits: &[NamedCommit],
        known: Option<Vec<NamedCommit>>,
        listed: &ListedPaths<'_>,
    ) -> Vec<Departure> {
        let known = known.unwrap_or_default();
        let is_known = |one: &&NamedCommit| known.iter().any(|known| known.commit == one.commit);
        let mut new = commits.iter().filter(|one| !is_known(one)).peekable();
        if new.peek().is_none() {
            return Vec::new();
        }
        let head =
            known.iter().find(|known| known.by == Path::new("HEAD")).map(|known| known.commit.as_str());
        let format = self.object_format(git);
        let Ok(objects) = beneath::directory(self.root, common) else { return Vec::new() };
        let mut objects = Objects::open(objects, &self.host.join(common), format, self.until);
        let trees = self.own_trees(git);
        let mut departures = Vec::new();
        for NamedCommit { by, commit } in new {
            let difference = commits::difference(&mut objects, head, commit);
            let is_whole = difference.is_whole;
            let files = departing(data, format, difference);
            for tree in &trees {
                let mut writes = Writes::to(self, tree, listed);
                let (protected, others) =
                    files.iter().cloned().partition(|file| writes.something_protected(&file.path, file.kind));
                departures.push(Departure {
                    by: by.clone(),
                    commit: commit.clone(),
                    tree: tree.clone(),
                    format,
                    protected,
                    others,
                    hidden: Vec::new(),
                    is_whole,
                });
            }
        }
        departures
    }

    /// Returns the directory of the data that a directory of git's data shares with others: itself, where it shares none. `None` where it lies
    /// out of the boundary, where nobody inside can write.
    fn common(&self, git: &Path) -> Option<PathBuf> {
        let content = references::read(self.root, &git.join("commondir"), MAX_POINTER_LENGTH);
        let Some(content) = content else { return Some(git.into()) };
        match self.resolve(git, repository::commondir(&content)?) {
            Ok(Leads::To { path, .. }) => Some(path),
            _ => None,
        }
    }
}

/// Lists the files that the index in a directory of git's data has not so: what it has is compared by itself.
fn departing(data: &OwnedFd, format: ObjectFormat, difference: Difference) -> Vec<ChangedFile> {
    let Difference { files, directories, .. } = difference;
    let read = |name: &str| references::read(data, Path::new(name), MAX_SIZE);
    let Some(content) = read("index").filter(|_| !files.is_empty()) else { return files };
    let of_files: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let is_wanted = |path: &Path, kind| match kind {
        // Of a sparse index: it stands for all that is in it.
        StagedKind::Directory => directories.contains_key(path),
        _ => of_files.contains(path),
    };
    let indexed = index::staged(&content, format, is_wanted, read).unwrap_or_default();
    let indexed: BTreeSet<(&Path, &str)> =
        indexed.iter().map(|(path, number)| (path.as_path(), number.as_str())).collect();
    let is_indexed = |file: &ChangedFile| {
        let mut above = file.path.ancestors().skip(1);
        indexed.contains(&(&file.path, &file.number))
            || above.any(|above| {
                let tree = directories.get(above);
                tree.is_some_and(|tree| indexed.contains(&(above, tree)))
            })
    };
    files.iter().filter(|file| !is_indexed(file)).cloned().collect()
}
