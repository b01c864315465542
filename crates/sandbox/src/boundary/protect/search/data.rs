//! What lies in a directory of git's data beside the list: links, which git would read and write through; files that list
//! paths of the work tree; and repositories where nobody looks for one.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::MAX_CONTENT;
use policy::classify::index::ObjectFormat;
use policy::classify::layout;
use policy::classify::repository::{self, MAX_POINTER_LENGTH, SymbolicReference};
use policy::protect::QUARANTINE;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::boundary::protect::mounts::{Cause, Link};
use crate::boundary::protect::path_list::{ListContent, MAX_HIDDEN, PathList};
use crate::boundary::protect::references::{self, MAX_REFERENCE};
use crate::boundary::protect::search::programs::is_of_unknown_tool;
use crate::boundary::protect::search::progress::Leads;
use crate::boundary::protect::search::progress::MODULE;
use crate::boundary::protect::search::progress::{Ahead, Search, read_up_to};
use crate::boundary::walk::{Extent, Git};
use crate::host::beneath;

/// Names that make a directory a repository.
const SIGNS: [&str; 5] = [".git", "HEAD", "commondir", "objects", "refs"];

/// What git obeys in one.
const OBEYED: [&str; 3] = ["config", "config.worktree", "hooks"];

/// The socket of git's file system monitor.
const MONITOR: &str = "fsmonitor--daemon.ipc";

/// How long the names are, at most, of the directories over which git-annex spreads its `objects`.
const MAX_SPREAD_LENGTH: usize = 3;

impl Search<'_> {
    /// Goes through a directory of git's data, but for what is on the list, and for repositories.
    ///
    /// Where nobody but git has anything to do there, what it does not make is noted.
    pub(crate) fn unlisted(&mut self, git: &Path, is_gits_alone: bool) {
        let Ok(root) = beneath::directory(self.root, git) else { return };
        if !self.unlisted_in(&root, git, is_gits_alone, vec![PathBuf::new()]) {
            self.reach.forget(&self.base);
        }
    }

    /// Goes through directories of git's data like [`Self::unlisted`]. Returns whether there was time for all of them.
    pub(super) fn unlisted_in(
        &mut self,
        root: &OwnedFd,
        git: &Path,
        is_gits_alone: bool,
        mut ahead: Vec<PathBuf>,
    ) -> bool {
        // The name of a submodule may lead through the data of another one, by directories that hold no file.
        let is_module = self.seen_from_repository(git) == Path::new(MODULE);
        let mut work_trees = Vec::new();
        while let Some(directory) = ahead.pop() {
            // Nothing obeys what is there, but a repository.
            let is_quarantined = directory.starts_with(QUARANTINE);
            let may_have_programs = is_gits_alone && is_of_unknown_tool(&directory);
            let Some(entries) = self.entries_of_data(root, git, &directory, may_have_programs) else {
                continue;
            };
            // The listing ends early too.
            if self.is_out_of_time() {
                return false;
            }
            if directory != Path::new("") {
                if self.is_repository_in_data(&git.join(&directory), &entries) {
                    continue;
                }
                self.part_in_data(&git.join(&directory), &entries);
            }
            let may_lead_to_module =
                is_module && entries.iter().all(|(_, kind)| *kind == FileType::Directory);
            if is_gits_alone && !may_lead_to_module && !layout::is_known_directory(&directory) {
                self.note_strange(git, &directory);
            }
            // What is on the list is classified as such with all that is in it. A repository in it is one all the same.
            let is_listed = directory.ancestors().any(|above| self.in_git.contains(above));
            if entries.iter().any(|(name, _)| name == ".git") {
                work_trees.push(directory.clone());
            }
            let has_programs =
                may_have_programs && !is_listed && !work_trees.iter().any(|tree| directory.starts_with(tree));
            for (name, kind) in entries {
                let path = directory.join(name);
                match kind {
                    FileType::Directory if is_searched_elsewhere(&path) => {}
                    FileType::Directory if repository::is_hostile_remote(&path) => {
                        self.note_strange(git, &path);
                    }
                    FileType::Directory if is_annex(&path) => self.put_off(git, path, is_gits_alone),
                    FileType::Directory if !is_spread(&path, self.extent) => ahead.push(path),
                    FileType::Directory => {}
                    _ if is_quarantined => {}
                    FileType::RegularFile if layout::alters_what_git_shows(&path) => {
                        let list =
                            PathList::read(self.root, git, &path, || self.object_format(git), &self.budget);
                        self.path_lists.extend(list);
                    }
                    _ if is_listed || self.in_git.contains(&path) || is_searched_elsewhere(&path) => {}
                    FileType::Symlink
                        if is_reference(root, &path) && !repository::is_hostile_reference(&path) => {}
                    FileType::Symlink => {
                        let link = self.unlisted_one(git, &path);
                        self.loose.insert(link);
                    }
                    FileType::RegularFile if has_programs => self.program_in_data(root, git, &path),
                    _ if is_gits_alone && !layout::is_known_file(&path) => self.note_strange(git, &path),
                    FileType::RegularFile => {
                        // Only what lies right in it has such a name.
                        let is_linked =
                            path.to_str().is_some_and(layout::is_written_in_place) && has_names(root, &path);
                        if is_linked
                            || repository::is_hostile_reference(&path)
                            || is_gits_alone && is_unknown_reference(root, &path)
                        {
                            self.note_strange(git, &path);
                        }
                        let list =
                            PathList::read(self.root, git, &path, || self.object_format(git), &self.budget);
                        self.path_lists.extend(list);
                    }
                    // Git would wait for ever for what it reads from a pipe. It makes a socket for its monitor alone.
                    _ if path == Path::new(MONITOR) || kind == FileType::Unknown => {}
                    _ if is_gits_alone || is_gits_own(&path) => self.note_strange(git, &path),
                    _ => {}
                }
            }
        }
        true
    }

    /// Goes through a directory of objects that another one borrows from, for links and what git would wait for. Returns whether a link leads
    /// out of the boundary, or nowhere.
    pub(crate) fn lends_from_elsewhere(&mut self, objects: &Path) -> bool {
        let Ok(root) = beneath::directory(self.root, objects) else { return false };
        let mut leads_out = false;
        let mut ahead = vec![PathBuf::new()];
        while let Some(directory) = ahead.pop() {
            let Some(entries) = self.entries_of_data(&root, objects, &directory, false) else { continue };
            for (name, kind) in entries {
                if self.is_out_of_time() {
                    return leads_out;
                }
                let path = directory.join(name);
                let in_git = Path::new("objects").join(&path);
                // A directory of the user's may hold anything else.
                if directory == Path::new("") && !layout::is_known_directory(&in_git) {
                    continue;
                }
                let place = objects.join(&path);
                match kind {
                    FileType::Directory if !is_spread(&in_git, self.extent) => ahead.push(path),
                    FileType::RegularFile if !layout::lists_packs(&path) && !layout::lists_graphs(&path) => {}
                    FileType::RegularFile => {
                        let list =
                            PathList::read(self.root, objects, &path, || ObjectFormat::Sha1, &self.budget);
                        self.path_lists.extend(list);
                    }
                    FileType::Directory | FileType::Unknown => {}
                    kind => {
                        leads_out |= !matches!(self.resolve(Path::new(""), &place), Ok(Leads::To { .. }));
                        let (base, seen_as) = (self.led(&place), Path::new(".git").join(in_git));
                        let is_link = kind == FileType::Symlink;
                        let noted = if is_link { &mut self.loose } else { &mut self.unexpected };
                        noted.insert(Link { path: place, seen_as, cause: Cause::Named, base });
                    }
                }
            }
        }
        leads_out
    }

    fn unlisted_one(&self, git: &Path, path: &Path) -> Link {
        let seen_as = self.seen_from_repository(git).join(path);
        Link { path: git.join(path), seen_as, cause: Cause::Listed, base: self.base.clone() }
    }

    pub(crate) fn note_strange(&mut self, git: &Path, path: &Path) {
        let unexpected = self.unlisted_one(git, path);
        self.unexpected.insert(unexpected);
    }

    /// Lists the entries of a directory of git's data beneath `base` that may matter, or all; `None` where there is none, or where it
    /// cannot be read, which is noted.
    fn entries_of_data(
        &mut self,
        root: &OwnedFd,
        base: &Path,
        directory: &Path,
        all_matter: bool,
    ) -> Option<Vec<(OsString, FileType)>> {
        // Elsewhere all files are data.
        let is_classified = all_matter
            || directory == Path::new("")
            || directory == Path::new("info")
            || directory.starts_with("refs");
        let matters = |name: &OsStr, kind: FileType| {
            is_classified || kind != FileType::RegularFile || name_lists(directory, name) || is_sign(name)
        };
        let list = || {
            let listing = beneath::listing(root, directory)?;
            let entries = beneath::entries(listing.as_fd())?.take_while(|_| !self.until.is_over());
            let entries =
                entries.filter(|entry| entry.as_ref().map_or(true, |(name, kind)| matters(name, *kind)));
            entries.collect::<Result<Vec<_>, Errno>>()
        };
        match list() {
            Ok(entries) => Some(entries),
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            Err(errno) => {
                let path = base.join(directory);
                if self.reach.is_beyond(&path) {
                    self.hidden_beyond.insert(path);
                } else {
                    self.unreadable(&path, errno);
                }
                None
            }
        }
    }

    /// Returns the hash that names objects: of a linked work tree, the repository that it belongs to says it, and nothing
    /// beside its index.
    pub(super) fn object_format(&self, git: &Path) -> ObjectFormat {
        let content = |path: &Path, longest| {
            beneath::file(self.root, path).ok().and_then(|(file, _)| read_up_to(file, longest))
        };
        let common = content(&git.join("commondir"), MAX_POINTER_LENGTH).and_then(|(content, _)| match self
            .resolve(git, repository::commondir(&content)?)
        {
            Ok(Leads::To { path, .. }) => Some(path),
            _ => None,
        });
        let config = content(&common.as_deref().unwrap_or(git).join("config"), MAX_CONTENT as u64);
        ObjectFormat::of(&config.unwrap_or_default().0)
    }

    /// Returns whether a directory among git's data is a bare repository, which is then searched as such, as one is that
    /// it holds.
    fn is_repository_in_data(&mut self, directory: &Path, entries: &[(OsString, FileType)]) -> bool {
        let has = |sign: &str| entries.iter().any(|(name, _)| name == sign);
        // Git asks for no `HEAD` where a `commondir` leads it, and may come to write one itself.
        let is_common = has("objects") && has("refs");
        if !(has(".git") || is_common || has("HEAD") && has("commondir")) {
            return false;
        }
        let mut repositories: Vec<Git> = self.repositories_in(directory).collect();
        if is_common && !repositories.contains(&Git::Bare) {
            repositories.push(Git::Bare);
        }
        for git in &repositories {
            self.ahead.push(Ahead { path: directory.into(), git: *git, behind: self.behind.clone() });
        }
        repositories.contains(&Git::Bare)
    }

    /// Looks at a directory among git's data that only lacks something to be a repository.
    fn part_in_data(&mut self, directory: &Path, entries: &[(OsString, FileType)]) {
        let has = |names: &[&str]| names.iter().any(|name| entries.iter().any(|(there, _)| there == name));
        if self.extent == Extent::Bounded || !has(&OBEYED) || !has(&SIGNS) {
            return;
        }
        // Below `refs` and `logs`, these may be names of branches.
        let hooks = directory.join("hooks");
        let listing = beneath::listing(self.root, &hooks).ok();
        let listed = listing.as_ref().and_then(|listing| beneath::entries(listing.as_fd()).ok());
        let named = listed.into_iter().flatten().filter_map(Result::ok).map(|(name, _)| hooks.join(name));
        let files = OBEYED.iter().map(|name| directory.join(name)).chain(named);
        let is_obeyed = |path: PathBuf| {
            let file = beneath::file(self.root, &path).ok();
            let content = file.and_then(|(file, _)| read_up_to(file, MAX_POINTER_LENGTH));
            content.is_some_and(|(content, _)| !repository::is_reference_or_log(&content))
        };
        if files.take_while(|_| !self.until.is_over()).any(is_obeyed) {
            self.part(directory);
        }
    }

    /// Searches what the files lead git to that list paths: it asks each submodule for its state, wherever it lies.
    pub(crate) fn listed_paths(&mut self) {
        for (git, tree) in self.seen_trees.clone() {
            let Some(tree) = tree.filter(|tree| self.seen_lists.insert((git.clone(), tree.clone()))) else {
                continue;
            };
            let mut lists = std::mem::take(&mut self.path_lists);
            for list in lists.iter_mut().filter(|list| list.git == git) {
                list.trees.push(tree.clone());
                let ListContent::Paths(paths) = &mut list.listed else { continue };
                // Those of a repository beyond the bound lie beyond it too, and were found there.
                let is_beyond = self.reach.is_beyond(&list.path);
                for submodule in paths.submodules.iter().filter(|_| !is_beyond) {
                    self.repositories_at(&tree, submodule, &list.path);
                }
                let is_plain = |path: &&PathBuf| match self.resolve(&tree, path) {
                    Ok(Leads::To { links, .. } | Leads::Unfollowed { links, .. }) => links.is_empty(),
                    Ok(Leads::Nowhere { .. }) | Err(_) => true,
                };
                let written = paths.written.iter().take_while(|_| !self.until.is_over());
                list.linked.extend(written.filter(|path| !is_plain(path)).take(MAX_HIDDEN).cloned());
            }
            self.path_lists = lists;
            if self.is_out_of_time() {
                break;
            }
        }
        self.merged_elsewhere();
    }

    /// Notes of each `MERGE_RR` whose work tree does not lie here that it lists what lies elsewhere: nobody can say whether a link is on
    /// the way to that, and of a main work tree the agent of a linked one may have nothing.
    fn merged_elsewhere(&mut self) {
        let is_here = |git: &PathBuf| {
            let mut trees = self.seen_trees.range((git.clone(), None)..).take_while(|(seen, _)| seen == git);
            // That of a bare one is taken to be git's data themselves.
            trees.any(|(_, tree)| tree.as_ref().is_some_and(|tree| !tree.starts_with(git)))
        };
        for list in &mut self.path_lists {
            let ListContent::Paths(paths) = &mut list.listed else { continue };
            if list.path.ends_with("MERGE_RR") && paths.outside.is_none() && !is_here(&list.git) {
                paths.outside = paths.written.first().cloned();
            }
        }
    }

    /// Queues the repositories at a path to which a file leads git.
    pub(crate) fn repositories_at(&mut self, base: &Path, path: &Path, by: &Path) {
        if self.is_out_of_time() {
            return;
        }
        if let Ok(Leads::To { path, .. }) = self.resolve(base, path) {
            for git in self.repositories_in(&path) {
                self.ahead.push(Ahead { path: path.clone(), git, behind: Some(by.into()) });
            }
        }
    }
}

/// Returns whether a name is one by which git knows a repository, or of what it obeys in one.
pub(super) fn is_sign(name: &OsStr) -> bool {
    SIGNS.iter().chain(&OBEYED).any(|sign| name == *sign)
}

/// Returns whether a link is the form of a reference that git makes with `core.preferSymlinkRefs`: it takes the text for
/// a name, and follows no such link.
fn is_reference(root: &OwnedFd, path: &Path) -> bool {
    let in_place = path == Path::new("HEAD") || path.starts_with("refs");
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let is_gits_own = |target: PathBuf| SymbolicReference::of(&bytes(path), &bytes(&target)).is_none();
    in_place && beneath::read_link(root, path).is_ok_and(is_gits_own)
}

/// Returns whether a file among what else is data names other files beside it.
fn name_lists(directory: &Path, name: &OsStr) -> bool {
    let is_of_packs =
        matches!(name.as_bytes(), [b'm', b'u', ..]) && layout::lists_packs(&directory.join(name));
    let is_of_graphs = name == "commit-graph-chain" && layout::lists_graphs(&directory.join(name));
    is_of_packs
        || is_of_graphs
        || directory == Path::new("reftable")
            && (name == "tables.list" || layout::is_reftable(&directory.join(name)))
}

/// Returns whether a directory of git's data is searched for repositories by itself.
fn is_searched_elsewhere(path: &Path) -> bool {
    path == Path::new("modules") || path == Path::new("worktrees")
}

/// Returns whether git itself reads what lies there, also in a bare repository in which people have more.
fn is_gits_own(path: &Path) -> bool {
    let is_at_top = path.parent() == Some(Path::new(""));
    is_at_top && layout::is_known_file(path)
        || layout::is_reference(path)
        || layout::alters_what_git_shows(path)
}

/// Returns whether a file right in git's data is one that git does not make, and that it takes for a reference.
fn is_unknown_reference(root: &OwnedFd, path: &Path) -> bool {
    let is_unknown =
        |name: &str| layout::is_written_in_place(name) && !layout::is_known_reference_or_text(name);
    path.to_str().is_some_and(is_unknown)
        && references::read(root, path, MAX_REFERENCE).is_some_and(|content| repository::is_head(&content))
}

/// Returns whether a file has more than one name.
fn has_names(root: &OwnedFd, path: &Path) -> bool {
    beneath::stat(root, path).is_ok_and(|stat| stat.st_nlink > 1)
}

/// Returns whether a directory is one of many that hold objects of git and nothing else. Those of git-lfs are few, and are
/// copied through links. The last search goes into them: the next command could move a directory out of there.
fn is_spread(path: &Path, extent: Extent) -> bool {
    let names: Vec<&[u8]> = path.iter().map(OsStr::as_bytes).collect();
    matches!(names.as_slice(), [b"objects", name]
        if extent == Extent::Bounded && name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit))
}

/// Returns whether a directory is one of many in which git-annex has a directory for each file.
fn is_annex(path: &Path) -> bool {
    let names: Vec<&[u8]> = path.iter().map(OsStr::as_bytes).collect();
    matches!(names.as_slice(), [b"annex", b"objects", name] if name.len() <= MAX_SPREAD_LENGTH)
}
