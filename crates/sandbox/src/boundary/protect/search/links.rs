//! Links that make a repository look near which lies where the walk does not go: too deep, or in `node_modules`.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use rustix::fs::FileType;

use crate::boundary::protect::search::progress::Leads;
use crate::boundary::protect::search::progress::Wanted;
use crate::boundary::protect::search::progress::{Search, is};
use crate::boundary::walk::{Git, Walk};
use crate::host::beneath;

impl Search<'_> {
    /// Protects the repositories that links lead to or into. Where git stands in one, it finds the repository above.
    ///
    /// The user's own may lie there, unprotected until an agent made a link to them. So only what is known to be new
    /// counts as the agent's.
    pub(crate) fn behind_links(&mut self, walk: &Walk) {
        let walked: BTreeSet<&Path> = walk.repositories.iter().map(|one| one.path.as_path()).collect();
        let mut seen = HashSet::new();
        for link in &walk.links {
            if self.is_out_of_time() {
                break;
            }
            // What leads out of the boundary cannot be reached from inside.
            let Ok(Leads::To { path, stat, .. }) = self.resolve(Path::new(""), link) else { continue };
            if !is(FileType::Directory, &stat) {
                continue;
            }
            for directory in path.ancestors().take_while(|directory| *directory != Path::new("")) {
                if walked.contains(directory) || !seen.insert(directory.to_path_buf()) {
                    break;
                }
                // Git looks further up where it refuses what is here.
                self.behind = Some(link.clone());
                for git in self.repositories_in(directory) {
                    self.repository(directory, git);
                }
                self.behind = None;
            }
        }
    }

    /// Lists what makes a directory a repository: a `.git`, or its own content where git refuses that, or both.
    pub(crate) fn repositories_in(&self, directory: &Path) -> impl Iterator<Item = Git> + use<> {
        let stat = beneath::stat(self.root, &directory.join(".git")).ok();
        let dot_git = match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Some(FileType::Directory) => Some(Git::Directory),
            Some(FileType::RegularFile) => Some(Git::File),
            Some(FileType::Symlink) => Some(Git::Link),
            _ => None,
        };
        dot_git.into_iter().chain(self.is(Wanted::Repository, directory).then_some(Git::Bare))
    }
}
