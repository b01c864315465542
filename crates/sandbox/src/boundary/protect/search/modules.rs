//! The repositories of submodules: where git keeps them, and what it takes for one there.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use policy::classify::repository::{MAX_POINTER_LENGTH, gitdir};
use policy::classify::{MAX_CONTENT, submodules};
use rustix::fs::FileType;

use crate::boundary::protect::mounts::ProtectionGap;
use crate::boundary::protect::reach::{Base, DiscoveredBy};
use crate::boundary::protect::search::progress::{Leads, OF_GIT, PointerTarget, Search, read_up_to};
use crate::host::beneath;

impl Search<'_> {
    /// Finds the repositories of submodules by the names that a configuration and the work tree have for them: they may be
    /// deeper than modules are looked for, and in directories that git has otherwise.
    pub(super) fn named_modules(&mut self, git: &Path, tree: Option<&Path>) {
        let files = [Some(git.join("config")), tree.map(|tree| tree.join(".gitmodules"))];
        for file in files.into_iter().flatten() {
            let content = beneath::file(self.root, &file).ok();
            let Some((content, _)) = content.and_then(|(file, _)| read_up_to(file, MAX_CONTENT as u64))
            else {
                continue;
            };
            for name in submodules(&content) {
                let named = Path::new("modules").join(name);
                // Git takes a file there for one that says where the repository is, whatever else lies around it.
                if self.is_git_file(&git.join(&named)) {
                    self.note_strange(git, &named);
                }
                let place = self.past_links(&git.join(named));
                let Some(place) = place.filter(|_| !self.is_out_of_time()) else { continue };
                if beneath::stat(self.root, &place.join("HEAD")).is_ok() {
                    self.git(&place, None, [DiscoveredBy::Within(Base::Git(git.into()))]);
                }
            }
        }
    }

    /// Finds the repositories of submodules: directories with a `HEAD`, whose names may be several deep. One may lie
    /// below another: git asks for the path that it knows, whatever lies on the way.
    pub(super) fn modules(&mut self, modules: &Path, levels: u32) {
        // Whatever else is there, the directory of all submodules is none itself.
        let is_repository = self.seen_git.contains(modules);
        if !is_repository {
            self.files_for_modules(modules);
            self.above_data(modules);
        }
        for directory in self.directories(modules) {
            if self.is_out_of_time() {
                return;
            }
            let is_of_git = |name: &OsStr| OF_GIT.iter().any(|of_git| name == *of_git);
            let is_in_it = directory.parent() == Some(modules);
            if is_repository && is_in_it && directory.file_name().is_some_and(is_of_git) {
                continue;
            }
            if self.seen_modules.get(&directory).is_some_and(|seen| *seen >= levels) {
                continue;
            }
            self.seen_modules.insert(directory.clone(), levels);
            if beneath::stat(self.root, &directory.join("HEAD")).is_ok() {
                self.git(&directory, None, [DiscoveredBy::Within(self.base.clone())]);
            }
            if let Some(levels) = levels.checked_sub(1) {
                self.modules(&directory, levels);
            } else if !self.is(PointerTarget::Repository, &directory) {
                // No name is that long, so what an agent makes there is moved as a whole.
                self.note_strange(modules, Path::new(directory.file_name().unwrap_or_default()));
                self.notices.push(ProtectionGap::TooDeep { path: modules.into() });
            }
        }
    }

    /// Protects what programs look for in a directory above data of git's that is none itself: git has an editor open a message in these
    /// data, and editors look for settings, and for repositories, in all directories above a file.
    pub(super) fn above_data(&mut self, directory: &Path) {
        self.tree(directory, [DiscoveredBy::Within(self.base.clone())]);
    }

    fn is_git_file(&self, path: &Path) -> bool {
        let file = beneath::file(self.root, path).ok();
        let content = file.and_then(|(file, _)| read_up_to(file, MAX_POINTER_LENGTH));
        content.is_some_and(|(content, _)| gitdir(&content).is_some())
    }

    /// Notes files where submodules have their directories, if git takes them for ones that say where these are, or would wait for them.
    fn files_for_modules(&mut self, modules: &Path) {
        let Ok(listing) = beneath::listing(self.root, modules) else { return };
        let Ok(entries) = beneath::entries(listing.as_fd()) else { return };
        let is_strange = |path: &Path, kind: FileType| match kind {
            FileType::Directory => false,
            FileType::RegularFile => self.is_git_file(path),
            // A link to a directory, or out of the boundary, is remembered.
            FileType::Symlink => match self.resolve(Path::new(""), path) {
                Ok(Leads::To { path, .. }) => self.is_git_file(&path),
                Ok(Leads::Nowhere { .. } | Leads::Unfollowed { .. }) | Err(_) => false,
            },
            _ => true,
        };
        let entries = entries.take_while(|_| !self.until.is_over()).filter_map(Result::ok);
        let strange = entries.filter(|(name, kind)| is_strange(&modules.join(name), *kind));
        for (name, _) in strange.collect::<Vec<_>>() {
            self.note_strange(modules, Path::new(&name));
        }
    }
}
