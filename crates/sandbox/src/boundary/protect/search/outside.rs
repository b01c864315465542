//! Repositories and configurations out of the boundary that a work tree in it belongs to: they cannot be written, and what they name in
//! the work tree can.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use policy::classify::index::ObjectFormat;
use policy::classify::repository::{commondir, gitdir};
use policy::classify::{Reference, is_configuration, references};

use super::configured::MAX_REFERENCES;
use super::pointers::without_parents;
use super::progress::Search;
use super::resolve::{Unresolved, canonical};
use crate::boundary::protect::mounts::{Cause, ProtectionGap};
use crate::boundary::protect::path_list::{self, PathList, TooLarge, data_outside};
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
        self.data_outside.insert((git.clone(), tree.into()));
        self.links_outside(Path::new(""), &common.join("hooks"), Path::new(".git/hooks"), Cause::Named);
        self.configurations_outside(vec![common.join("config"), git.join("config.worktree")], tree);
    }

    /// Returns whether a path, seen from the data of a linked work tree, leads out of the boundary to a `.git` file of this user's that leads back
    /// there, as `git worktree add` makes both. No link is on the way to it: that could lead elsewhere later.
    pub(super) fn leads_back(&self, git: &Path, named: &Path, owner: u32) -> bool {
        let git_on_host = self.host.join(git);
        let is_plain = |dot_git: &PathBuf| {
            let named = git_on_host.join(named);
            let plain = named.strip_prefix("/").ok().and_then(without_parents);
            plain.is_some_and(|plain| Path::new("/").join(plain) == *dot_git)
        };
        let dot_git = canonical(&git_on_host, named).ok().filter(is_plain);
        let Some(dot_git) = dot_git.filter(|dot_git| dot_git.ends_with(".git")) else { return false };
        let is_file = |metadata: Metadata| metadata.is_file() && metadata.uid() == owner;
        let content = read(&dot_git).ok().filter(|_| dot_git.symlink_metadata().is_ok_and(is_file));
        let back = content.as_deref().and_then(gitdir).zip(dot_git.parent());
        let back = back.and_then(|(named, tree)| canonical(tree, named).ok());
        back.and_then(|back| self.mounted.leads(&back)).as_deref() == Some(git)
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

/// Finds the repository that git takes in the directory above a boundary, and returns its work tree and those of the directories beneath which it lists
/// files. git looks on no other file system, and in no directory of another user (git-config(1), `safe.directory`).
pub(crate) fn tracked(
    host: &Path,
    directories: &BTreeSet<PathBuf>,
) -> Option<(PathBuf, Result<BTreeSet<PathBuf>, TooLarge>)> {
    let own = host.metadata().ok()?;
    let is_own = |tree: &&Path| {
        let of_own = |found: Metadata| found.dev() == own.dev() && found.uid() == own.uid();
        tree.metadata().is_ok_and(of_own)
    };
    let mut around = host.ancestors().skip(1).take_while(is_own);
    let data = |tree: &Path| data_named(tree, Path::new(".git")).ok().filter(|git| is_data(git));
    let (tree, git) = around.find_map(|tree| Some((tree, data(tree)?)))?;
    let below: BTreeSet<_> = directories.iter().map(|directory| host.join(directory)).collect();
    let data = data_outside(&git).ok()?;
    let found = path_list::tracked(data, object_format_outside(&git), tree, &below);
    let relative = |directory: &PathBuf| directory.strip_prefix(host).map(Path::to_path_buf).ok();
    Some((tree.to_path_buf(), found.map(|found| found.iter().filter_map(relative).collect())))
}

/// Returns whether git takes a directory for its data.
fn is_data(git: &Path) -> bool {
    let common = common(git);
    git.join("HEAD").symlink_metadata().is_ok()
        && common.join("objects").is_dir()
        && common.join("refs").is_dir()
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
pub(super) fn common(git: &Path) -> PathBuf {
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
