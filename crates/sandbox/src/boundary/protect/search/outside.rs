//! Repositories and configurations out of the boundary that a work tree in it belongs to: they cannot be written, and what they name in
//! the work tree can.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use policy::classify::index::ObjectFormat;
use policy::classify::repository::{commondir, gitdir};
use policy::classify::{Reference, is_configuration, references};

use super::configured::MAX_REFERENCES;
use super::progress::Search;
use super::resolve::{Unresolved, canonical};
use crate::boundary::protect::mounts::{Cause, ProtectionGap};
use crate::boundary::protect::path_list::{self, PathList, data_outside};
use crate::host::small_file;

impl Search<'_> {
    /// Protects what the configuration of a repository names in a work tree whose `.git` leads out of the boundary to it.
    ///
    /// An agent may have written what leads there. Nothing of what is read is shown.
    pub(crate) fn outside(&mut self, repository: &Path, named: &Path, tree: Option<&Path>) {
        let Some(tree) = tree else { return };
        let git = match data_named(&self.host.join(repository), named) {
            Ok(git) => git,
            Err(Unresolved::Missing { .. }) => return,
            Err(Unresolved::Unknown) => {
                return self.notices.push(ProtectionGap::TooManySettings { config: repository.join(named) });
            }
        };
        if self.mounted.leads(&git).is_some() {
            return;
        }
        let common = common(&git);
        self.index_outside(&git, tree);
        self.links_outside(Path::new(""), &common.join("hooks"), Path::new(".git/hooks"), Cause::Named);
        self.configurations_outside(vec![common.join("config"), git.join("config.worktree")], tree);
    }

    /// Reads the index of a work tree whose repository lies out of the boundary. That may be shared beside it, and there nobody knows what
    /// lies in the work tree.
    fn index_outside(&mut self, git: &Path, tree: &Path) {
        let is_seen = |list: &PathList| list.git == git && list.trees.iter().any(|seen| seen == tree);
        if self.path_lists.iter().any(is_seen) || self.is_out_of_time() {
            return;
        }
        if let Ok(data) = data_outside(git) {
            self.path_lists.extend(PathList::outside(
                data,
                git,
                tree,
                object_format_outside(git),
                &self.budget,
            ));
        }
    }

    /// Protects what configurations out of the boundary name in a work tree, and what those name that they include.
    pub(super) fn configurations_outside(&mut self, mut ahead: Vec<PathBuf>, tree: &Path) {
        let mut seen = BTreeSet::new();
        let mut left = MAX_REFERENCES;
        while let Some(config) = ahead.pop() {
            if self.is_out_of_time() || !seen.insert(config.clone()) {
                continue;
            }
            let content = match read(&config) {
                Ok(content) if is_configuration(&content) => content,
                // Git goes on without a file that is not there, or that its user may not read.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
                    ) =>
                {
                    continue;
                }
                Ok(_) | Err(_) => {
                    self.notices.push(ProtectionGap::TooManySettings { config });
                    continue;
                }
            };
            let references = references(&content).into_iter().flat_map(|one| self.in_homes(one));
            for reference in references.collect::<Vec<_>>() {
                if left == 0 {
                    return self.notices.push(ProtectionGap::TooManySettings { config });
                }
                left -= 1;
                match reference {
                    Reference::Configuration(path) => {
                        let path = config.parent().unwrap_or(Path::new("/")).join(path);
                        self.refer(
                            Reference::Configuration(path.clone()),
                            Path::new("config"),
                            tree,
                            Some(tree),
                        );
                        ahead.push(path);
                    }
                    Reference::Hooks(_) | Reference::Program(_) | Reference::File(_) => {
                        drop(self.refer(reference, Path::new("config"), tree, Some(tree)));
                    }
                    Reference::WorkTree(_) | Reference::Repository(_) => {}
                }
            }
        }
    }
}

/// Returns whether the repository of a work tree out of the boundary lists files beneath a directory of that tree.
pub(crate) fn tracks(tree: &Path, directory: &Path) -> bool {
    let Ok(git) = data_named(tree, Path::new(".git")) else { return false };
    data_outside(&git).is_ok_and(|data| path_list::tracks(data, object_format_outside(&git), directory))
}

/// Returns where a link leads, or a file that says where git's data are, seen from a directory.
fn data_named(directory: &Path, named: &Path) -> Result<PathBuf, Unresolved> {
    canonical(directory, named).and_then(|git| match read(&git).as_deref().map(gitdir) {
        Ok(Some(named)) => canonical(directory, named),
        Ok(None) | Err(_) => Ok(git),
    })
}

/// Returns the hash that names objects in one.
pub(super) fn object_format_outside(git: &Path) -> ObjectFormat {
    ObjectFormat::of(&read(&common(git).join("config")).unwrap_or_default())
}

/// Returns the directory of the data that a directory of git's data shares with others: itself, where it shares none.
fn common(git: &Path) -> PathBuf {
    let content = read(&git.join("commondir")).ok();
    let common = content.and_then(|content| Some(git.join(commondir(&content)?)));
    common.unwrap_or_else(|| git.into())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    match canonical(Path::new("/"), path) {
        Ok(path) => small_file::read_as_this_user(&path),
        Err(Unresolved::Missing { .. }) => Err(ErrorKind::NotFound.into()),
        Err(Unresolved::Unknown) => Err(io::Error::other("it cannot be looked up")),
    }
}
