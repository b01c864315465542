//! The directories in which the kernel notifies the guard of names that change (inotify(7)).
//!
//! The instance is made before the command starts, because an agent can use up those of a user. What cannot be watched, as an agent can use up
//! watches, too, and take the right to read a directory away, is tried again, and looked at meanwhile.

use std::cell::RefCell;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

use crate::boundary::detect::origin::Facts;
use crate::boundary::root::{Entered, Root};
use crate::host::beneath;

/// How many directories are watched for one run. A watch takes a kilobyte of the kernel's memory.
const MAX_WATCHED: usize = 8192;

/// Which part of a user's watches one run takes at most.
const SHARE_OF_USER: usize = 4;

/// How many watches a user may have.
const USER_LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";

/// What lies in a directory for which it is watched.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Around {
    /// Protected paths, in the writable boundary of this number.
    Protected(usize),
    /// A configuration of git that is protected.
    GitConfig(usize),
    /// Hidden paths, in the hiding boundary of this number.
    Hidden(usize),
}

/// A directory, relative to its boundary.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Directory {
    pub(super) path: PathBuf,
    pub(super) around: Around,
}

/// The directories of a run.
pub(super) struct Watches {
    /// `None` where the user has no instance left.
    inotify: Option<Inotify>,
    of_git: RefCell<Vec<(WatchDescriptor, Directory)>>,
    /// What is not watched yet.
    unwatched: RefCell<Vec<Directory>>,
    /// How many are too many.
    beyond: usize,
}

impl Watches {
    /// Prepares watches of as many directories as may be: of those that are there longest, which no agent can be first in.
    pub(super) fn new<'a>(
        mut directories: Vec<Directory>,
        root: impl Fn(Around) -> Option<&'a Root>,
    ) -> Self {
        let init = || Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok();
        let inotify = if directories.is_empty() { None } else { init() };
        let limit = limit();
        let beyond = directories.len().saturating_sub(limit);
        if beyond > 0 {
            sort_by_age(&mut directories, root);
            directories.truncate(limit);
        }
        Self { inotify, of_git: RefCell::default(), unwatched: RefCell::new(directories), beyond }
    }

    /// Returns what becomes ready when a name has changed.
    pub(super) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(Inotify::as_fd)
    }

    /// Watches what is not watched yet.
    pub(super) fn add<'a>(&self, root: impl Fn(Around) -> Option<&'a Root>) {
        let Some(inotify) = &self.inotify else { return };
        self.unwatched.borrow_mut().retain(|directory| {
            let root = root(directory.around).and_then(|root| root.enter().ok());
            let Some(watch) = root.and_then(|root| add(inotify, &root, &directory.path)) else { return true };
            if matches!(directory.around, Around::GitConfig(_)) {
                self.of_git.borrow_mut().push((watch, directory.clone()));
            }
            false
        });
    }

    /// Counts the directories that are not watched.
    pub(super) fn missing(&self) -> usize {
        self.unwatched.borrow().len() + self.beyond
    }

    /// Takes what the kernel has noted, and lists the directories in which a program has given up changing a configuration of git: git writes
    /// `config.lock`, cannot put it in the place of what is mounted, and removes it again. Nothing says which program it was.
    pub(super) fn given_up(&self) -> Vec<Directory> {
        let mut directories = Vec::new();
        let of_git = self.of_git.borrow();
        let read = || self.inotify.as_ref()?.read_events().ok();
        while let Some(events) = read().filter(|events| !events.is_empty()) {
            let given_up = events.iter().filter(|event| {
                event.mask.contains(AddWatchFlags::IN_DELETE)
                    && event.name.as_deref().is_some_and(|name| name == "config.lock")
            });
            let found = given_up.filter_map(|event| of_git.iter().find(|(watch, _)| *watch == event.wd));
            directories.extend(found.map(|(_, directory)| directory.clone()));
        }
        directories
    }
}

/// Sorts the oldest first.
fn sort_by_age<'a>(directories: &mut [Directory], root: impl Fn(Around) -> Option<&'a Root>) {
    directories.sort_by_cached_key(|one| {
        let root = root(one.around).and_then(|root| root.enter().ok());
        let born = root.and_then(|root| {
            let directory = beneath::directory(&root, &one.path).ok()?;
            Facts::of(directory.as_fd())?.btime
        });
        // A boundary itself first, and last what no file system knows the age of.
        let is_below = !one.path.as_os_str().is_empty();
        (is_below, born.is_none(), born, one.path.components().count())
    });
}

/// Returns how many directories may be watched: the user's other programs need some, too.
fn limit() -> usize {
    let of_user = fs::read_to_string(USER_LIMIT).ok().and_then(|text| text.trim().parse::<usize>().ok());
    of_user.map_or(MAX_WATCHED, |of_user| MAX_WATCHED.min(of_user / SHARE_OF_USER))
}

fn add(inotify: &Inotify, root: &Entered<'_>, path: &Path) -> Option<WatchDescriptor> {
    let directory = beneath::directory(root, path).ok()?;
    // This leads to what was opened, whatever has that name by now.
    let place = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let changes = AddWatchFlags::IN_MOVED_FROM | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_DELETE;
    inotify.add_watch(Path::new(&place), changes | AddWatchFlags::IN_ONLYDIR).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;
    use crate::host::identity::Identity;

    #[test]
    fn what_an_agent_makes_comes_after_what_was_there() {
        let top = tempfile::tempdir().unwrap();
        for path in ["there/for/long", "a"] {
            fs::create_dir_all(top.path().join(path)).unwrap();
            std::thread::sleep(Duration::from_millis(30));
        }
        let root = Root::of(File::open(top.path()).unwrap().into(), Identity::own()).unwrap();
        let directory = |path: &str| Directory { path: path.into(), around: Around::Hidden(0) };
        let mut all = ["a", "there/for/long", "there", "gone", ""].map(directory);
        sort_by_age(&mut all, |_| Some(&root));
        let sorted: Vec<_> = all.iter().map(|one| one.path.to_str().unwrap()).collect();
        assert_eq!(sorted, ["", "there", "there/for/long", "a", "gone"]);
    }
}
