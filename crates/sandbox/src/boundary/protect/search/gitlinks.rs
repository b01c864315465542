//! The commits that superprojects name for their submodules: git brings the work trees of these there (`git submodule update`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use policy::classify::index::SUBMODULE_CONTENT;

use crate::boundary::protect::commits::NamedCommit;
use crate::boundary::protect::mounts::UnindexedFiles;
use crate::boundary::protect::path_list::PathList;

/// Commits that are named for submodules, by the work trees of these.
#[derive(Default)]
pub(super) struct Gitlinks(BTreeMap<PathBuf, Vec<NamedCommit>>);

impl Gitlinks {
    /// Notes those that the index in a directory of git's data names for submodules in its work trees.
    pub(super) fn note_staged(&mut self, git: &Path, trees: &[PathBuf], lists: &[PathList]) {
        for list in lists.iter().filter(|list| !list.gitlinks.is_empty() && list.git == git) {
            for (tree, (path, commit)) in
                trees.iter().flat_map(|tree| list.gitlinks.iter().map(move |link| (tree, link)))
            {
                self.note(tree.join(path), (git, Path::new("index")), commit);
            }
        }
    }

    /// Notes those that commits name to which git brings the work trees of a directory of its data.
    pub(super) fn note_committed(&mut self, git: &Path, unindexed: &[UnindexedFiles]) {
        for UnindexedFiles { named, tree, protected, others, .. } in unindexed {
            let git = named.superproject.as_deref().unwrap_or(git);
            for file in protected.iter().chain(others) {
                if let Some(commit) = file.number.strip_prefix(SUBMODULE_CONTENT) {
                    self.note(tree.join(&file.path), (git, &named.by), commit);
                }
            }
        }
    }

    fn note(&mut self, submodule: PathBuf, (git, by): (&Path, &Path), commit: &str) {
        let named = self.0.entry(submodule).or_default();
        if !named.iter().any(|one| one.commit.as_deref() == Some(commit)) {
            let (superproject, commit) = (Some(git.into()), Some(commit.to_owned()));
            named.push(NamedCommit { superproject, by: by.into(), commit });
        }
    }

    /// Lists those for a submodule with these work trees.
    pub(super) fn of(&self, trees: &[PathBuf]) -> Vec<NamedCommit> {
        trees.iter().filter_map(|tree| self.0.get(tree)).flatten().cloned().collect()
    }
}
