//! Repositories beyond the bound of the walk: too deep, or in a directory that is skipped.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;

use super::hooks::HOOKS;
use super::progress::{PointerTarget, Search, is};
use crate::boundary::protect::mounts::ProtectionGap;
use crate::boundary::protect::reach::Base;
use crate::boundary::walk::{Git, Repository, Walk};
use crate::host::beneath;

impl Search<'_> {
    /// Searches the data of repositories beyond the bound of the walk: their work trees nobody looks into, but git looks into
    /// them as soon as an index lists them. What is old there nobody has looked at.
    pub(super) fn beyond(&mut self, walk: &Walk) {
        let before = self.notices.len();
        for repository in &walk.beyond.repositories {
            self.reach.note_beyond(&repository.path);
        }
        for Repository { path, git } in &walk.beyond.repositories {
            if self.is_out_of_time() {
                break;
            }
            let is_bare = *git == Git::Bare;
            let base = if is_bare { Base::Git(path.clone()) } else { Base::Tree(path.clone()) };
            if is_bare && !self.is(PointerTarget::Repository, path) {
                self.part(path);
                continue;
            }
            self.reach.note(base.clone(), []);
            let outer = std::mem::replace(&mut self.base, base);
            self.data_of(path, *git, None);
            self.base = outer;
        }
        for path in &walk.beyond.parts {
            if self.is_out_of_time() {
                break;
            }
            // Many projects have `objects` beside `hooks` and a `config` that are none of git's.
            let stat = |name: &Path| beneath::stat(self.root, &path.join(name));
            let is_file = |name| stat(Path::new(name)).is_ok_and(|stat| !is(FileType::Directory, &stat));
            let is_hook = |name| stat(&Path::new("hooks").join(name)).is_ok();
            if is_file("config") || is_file("config.worktree") || HOOKS.into_iter().any(is_hook) {
                self.part(path);
            }
        }
        self.all_ahead();
        // What else is to be said of them was never promised.
        let notices = self.notices.split_off(before);
        self.notices.extend(notices.into_iter().filter(|notice| *notice == ProtectionGap::OutOfTime));
        self.hidden_beyond.extend(walk.beyond.unread.iter().cloned());
    }

    /// Looks at what of the list lies in a directory that only lacks something to be a repository.
    pub(super) fn part(&mut self, path: &Path) {
        let base = Base::Git(path.into());
        self.reach.note(base.clone(), []);
        let outer = std::mem::replace(&mut self.base, base);
        self.all(path, self.seen_from_repository(path), &Arc::clone(&self.in_git));
        self.base = outer;
    }
}
