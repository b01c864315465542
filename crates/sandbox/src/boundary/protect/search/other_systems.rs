//! The data of git that other systems keep in their own, deeper in a work tree than repositories are looked for.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use policy::classify::repository::MAX_POINTER_LENGTH;
use rustix::fs::FileType;

use crate::boundary::protect::reach::DiscoveredBy;
use crate::boundary::protect::search::progress::{Leads, Search, is};

/// Where these data lie, from the root of a work tree: hg-git's, Sapling's and Jujutsu's.
const PLACES: [&str; 3] = [".hg/git", ".sl/store/git", ".jj/repo/store/git"];

/// The store of a repository of Jujutsu, from there.
const JJ_STORE: &str = "store";

impl Search<'_> {
    /// Protects what other systems have of git's in a work tree. They run git there: it obeys the configuration, and pushes to the
    /// remotes that this names.
    pub(crate) fn data_in_other_systems(&mut self, tree: &Path) {
        for place in PLACES {
            self.data_at(Path::new(""), &tree.join(place), DiscoveredBy::Walk);
        }
        let jj = tree.join(".jj");
        let repository = jj.join("repo");
        // In a work tree that was added, a file says where the repository is.
        if let Some(named) = self.text(&repository) {
            let store = Path::new(OsStr::from_bytes(&named)).join(JJ_STORE);
            self.data_at(&jj, &store.join("git"), DiscoveredBy::Path(repository.clone()));
        }
        let store = repository.join(JJ_STORE);
        let target = store.join("git_target");
        if let Some(named) = self.text(&target) {
            self.data_at(&store, Path::new(OsStr::from_bytes(&named)), DiscoveredBy::Path(target));
        }
    }

    /// Reads a file that names a path, and nothing else.
    fn text(&mut self, file: &Path) -> Option<Vec<u8>> {
        let content = self.content(file, MAX_POINTER_LENGTH)?;
        Some(content.trim_ascii_end().to_vec()).filter(|named| !named.is_empty())
    }

    fn data_at(&mut self, base: &Path, named: &Path, discovered_by: DiscoveredBy) {
        if let Ok(Leads::To { path, stat, links }) = self.resolve(base, named) {
            if is(FileType::Directory, &stat) {
                self.remember(links);
                // That of a work tree, which both use, is searched for that one.
                let tree = path.parent().filter(|_| path.ends_with(".git")).unwrap_or(&path);
                self.git(&path, Some(tree), [discovered_by]);
            }
        }
    }
}
