//! What leads git from one directory to another: `.git` files and links, `commondir`, alternates, work trees.
//!
//! What they lead to in the boundary is searched like any other repository. A pointer that leads to anything else is
//! remembered: the agent may have made it to hide a repository from this search.

use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use policy::classify::MAX_CONTENT;
use policy::classify::leads_to_protected;
use policy::classify::repository::{self, MAX_HEAD_LENGTH, MAX_POINTER_LENGTH};
use policy::protect::table;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::boundary::protect::mounts::{Cause, FileKind, Link, ProtectionGap};
use crate::boundary::protect::reach::{Base, DiscoveredBy};
use crate::boundary::protect::search::progress::{
    Ahead, DataAhead, Leads, MODULE, OF_GIT, OnHost, PointerTarget, Search, WorkTree, is, read_up_to,
};
use crate::boundary::protect::search::resolve::{Unresolved, canonical};
use crate::boundary::walk::{Extent, Git, Walk};
use crate::host::beneath;

/// How many alternates one file may name. Nobody needs more than a few.
const MAX_ALTERNATES: usize = 64;

/// How many parts a path has that was written inside: what is behind each of them is looked up.
const MAX_COMPONENTS_INSIDE: usize = 64;

/// How a repository sees the data of a linked work tree.
const LINKED_WORK_TREE: &str = ".git/worktrees/name";

impl Search<'_> {
    /// Searches behind a `.git` that is a link: to git's data, or to a file that says where they are.
    pub(crate) fn linked_git(&mut self, dot_git: &Path, repository: &Path, tree: Option<&Path>) {
        let found = self.follow(dot_git, Path::new(".git"));
        match &found {
            Some((target, _)) => self.pointed.entry(dot_git.into()).or_default().push(target.clone()),
            None => drop(self.unfollowed.insert(dot_git.into())),
        }
        match found {
            Some((target, FileKind::Directory)) => {
                let discovered_by = self.by(dot_git);
                self.git(&target, tree, discovered_by);
            }
            // Git takes what it says as seen from the link.
            Some((target, FileKind::File)) => self.git_file(&target, repository, tree),
            _ => self.outside(repository, Path::new(".git"), tree),
        }
    }

    /// Follows a `.git` file.
    pub(crate) fn git_file(&mut self, file: &Path, repository: &Path, tree: Option<&Path>) {
        // Git refuses a larger one.
        let Some(content) = self.content(file, MAX_POINTER_LENGTH) else { return };
        let Some(named) = repository::gitdir(&content) else { return };
        if let Some(git) = self.pointer(file, repository, named, PointerTarget::Repository) {
            self.followed.insert(file.into());
            let discovered_by = self.by(&repository.join(".git"));
            self.git(&git, tree, discovered_by);
        } else {
            self.outside(repository, named, tree);
        }
    }

    /// Follows a file in the place of a repository that a configuration names: git takes it for one that says where that is.
    pub(crate) fn file_for_repository(&mut self, base: &Path, path: &Path) {
        let Ok(Leads::To { path: file, stat, .. }) = self.lead(base, path) else { return };
        let Ok((descriptor, _)) = beneath::file(self.root, &file) else { return };
        // Git refuses a larger one.
        let Some((content, true)) = read_up_to(descriptor, MAX_POINTER_LENGTH) else { return };
        let Some(named) = repository::gitdir(&content) else { return };
        let around = path.parent().unwrap_or(Path::new(""));
        let Ok(Leads::To { path: around, .. }) = self.resolve(base, around) else { return };
        let led = self.led(&file);
        self.protect(file.clone(), &stat, ".git".into(), Cause::Named, led);
        if let Some(git) = self.pointer(&file, &around, named, PointerTarget::Repository) {
            self.followed.insert(file.clone());
            self.ahead.push(Ahead { path: git, git: Git::Bare, behind: Some(file) });
        }
    }

    /// Follows the `commondir` of a directory of git's data.
    pub(crate) fn common_directory(&mut self, git: &Path, tree: Option<&Path>) {
        let file = git.join("commondir");
        let Some(content) = self.content(&file, MAX_POINTER_LENGTH) else { return };
        let Some(named) = repository::commondir(&content) else { return };
        // Git makes none in the data of a submodule, from where it would take the paths in the configuration there.
        if self.seen_from_repository(git) == Path::new(MODULE) {
            self.unfollowed.insert(file.clone());
        }
        if let Some(common) = self.pointer(&file, git, named, PointerTarget::Common) {
            self.git(&common, tree, [DiscoveredBy::Path(file)]);
        } else {
            self.outside(git, named, tree);
        }
    }

    /// Follows the alternates of a directory of objects: nothing in them runs, but they hand over what they hold.
    pub(crate) fn alternates(&mut self, objects: &Path, levels: u32) {
        // Many may lend from the same ones, and each level of them multiplies.
        if self.is_out_of_time() || !self.seen_objects.insert(objects.into()) {
            return;
        }
        let file = objects.join("info/alternates");
        let base = self.led(&file);
        // Git follows links to it.
        let file = match self.lead(Path::new(""), &file) {
            Ok(Leads::To { path, links, .. }) => {
                self.remember(links);
                path
            }
            Ok(Leads::Unfollowed { links, .. }) => return self.remember(links),
            Ok(Leads::Nowhere { .. }) => return,
            Err(errno) => return self.unreadable(&file, errno),
        };
        let Some(content) = self.content(&file, MAX_POINTER_LENGTH) else { return };
        if let Ok(stat) = beneath::stat(self.root, &file) {
            self.protect(file.clone(), &stat, ".git/objects/info/alternates".into(), Cause::Named, base);
        }
        let named: Vec<Option<&Path>> = repository::alternates(&content).take(MAX_ALTERNATES + 1).collect();
        if named.len() > MAX_ALTERNATES || named.contains(&None) {
            self.unfollowed.insert(file.clone());
        }
        for named in named.into_iter().flatten() {
            let more = self.pointer(&file, objects, named, PointerTarget::Objects);
            if more.as_deref().is_some_and(|more| self.lends_from_elsewhere(more)) {
                self.unfollowed.insert(file.clone());
            }
            match (more, levels.checked_sub(1)) {
                (Some(more), Some(levels)) => self.alternates(&more, levels),
                (Some(_), None) => drop(self.unfollowed.insert(file.clone())),
                (None, _) => {}
            }
        }
    }

    /// Follows the `gitdir` of a linked work tree's data: `git worktree repair` writes the `.git` file that it names, and
    /// `git worktree remove` removes the directory of that file.
    pub(crate) fn linked_work_tree(&mut self, git: &Path) {
        let seen_as = self.seen_from_repository(git);
        let file = git.join("gitdir");
        let stat = beneath::stat(self.root, &file).ok().filter(|stat| is(FileType::RegularFile, stat));
        let Some(stat) = stat.filter(|_| seen_as == Path::new(LINKED_WORK_TREE)) else { return };
        self.protect(file.clone(), &stat, seen_as.join("gitdir"), Cause::Named, self.base.clone());
        let Some(content) = self.content(&file, MAX_POINTER_LENGTH) else { return };
        // It has the form of a `commondir`, but that git takes any space off its end, and not always.
        let Some(named) = repository::commondir(&content) else { return };
        if named.as_os_str().as_bytes().last().is_some_and(u8::is_ascii_whitespace) {
            self.unfollowed.insert(file);
            return;
        }
        let is_harmless = match self.lead(git, named) {
            Ok(Leads::To { links, .. }) => {
                self.remember(links);
                true
            }
            Ok(Leads::Nowhere { missing }) => {
                self.nothing_on_the_way(&missing);
                true
            }
            // `git worktree add` writes a path inside.
            Ok(Leads::Unfollowed { links, host, missing }) => {
                let is_inside = links.is_empty() && host != OnHost::Unknown;
                self.remember(links);
                if missing.is_none() {
                    self.elsewhere(git, named, |dot_git| dot_git.parent().unwrap_or(dot_git));
                    if self.leads_back(git, named, stat.st_uid) {
                        self.led_back.insert(git.into());
                    }
                }
                is_inside
            }
            Err(_) => false,
        };
        if !is_harmless {
            self.unfollowed.insert(file);
        }
    }

    /// Notes that the work tree of a directory of git's data lies out of the boundary, unless nothing is there. `tree` says where it is, by
    /// what is named.
    fn elsewhere(&mut self, git: &Path, named: &Path, tree: impl Fn(&Path) -> &Path) {
        let place = match canonical(&self.host.join(git), named) {
            Ok(place) => place,
            Err(Unresolved::Missing { .. }) => return,
            Err(Unresolved::Unknown) => self.host.join(git).join(named),
        };
        self.elsewhere.insert(git.into(), tree(&place).to_path_buf());
    }

    /// Remembers that nothing is at a path, nor at what of the way there is missing: a link that comes to lie there was not there,
    /// however old it is.
    fn nothing_on_the_way(&mut self, missing: &Path) {
        for path in missing.ancestors() {
            if beneath::stat(self.root, path).is_ok() {
                break;
            }
            self.led(path);
        }
    }

    /// Notes the work tree that a configuration names, which must lie in the boundary, though nothing need be there.
    pub(crate) fn work_tree(&mut self, config: &Path, git: &Path, named: &Path) {
        let place = match self.lead(git, named) {
            Ok(Leads::To { path, links, .. }) => {
                self.remember(links);
                Some(path)
            }
            Ok(Leads::Nowhere { missing }) => without_parents(&missing),
            Ok(Leads::Unfollowed { links, missing, .. }) => {
                self.remember(links);
                if missing.is_none() {
                    self.elsewhere(git, named, |tree| tree);
                }
                None
            }
            Err(errno) => {
                self.unreadable(&git.join(named), errno);
                None
            }
        };
        let Some(place) = place else {
            self.unfollowed.insert(config.into());
            return;
        };
        // Git takes that for its work tree, and not the directory of the `.git` file.
        if self.named_trees.insert((git.into(), place.clone())) {
            if !self.reach.contains(&Base::Tree(place.clone())) {
                self.tree(&place, [DiscoveredBy::Path(config.into())]);
            }
            let (tree, behind) = (Some(place.clone()), self.behind.clone());
            self.data_ahead.push(DataAhead { git: git.into(), tree, behind });
        }
        self.work_trees.push(WorkTree { config: config.into(), git: git.into(), place });
    }

    /// Compares the work trees that configurations name with everything that was found: whoever works in one has git write
    /// there, so it is no place among git's data, nor a protected one, nor around one or around other repositories. What is there has
    /// a `.git` that leads back: git stays where it was called otherwise, and takes relative paths from there.
    pub(crate) fn check_work_trees(&mut self, walk: &Walk) {
        let trees: Vec<&Path> = walk.repositories.iter().map(|one| one.path.as_path()).collect();
        for WorkTree { config, git, place } in std::mem::take(&mut self.work_trees) {
            let mut above = trees.iter().copied().chain([Path::new("")]);
            let is_protected = above.clone().any(|tree| {
                let covers = |rest: &Path| self.protected.iter().any(|listed| table::covers(listed, rest));
                place.strip_prefix(tree).is_ok_and(|rest| covers(rest) || leads_to_protected(rest))
            });
            let is_gits = place.iter().any(|name| name.eq_ignore_ascii_case(".git"))
                || self.seen_git.iter().any(|git| {
                    let first = place.strip_prefix(git).ok().and_then(|rest| rest.iter().next());
                    first.is_some_and(|first| OF_GIT.iter().any(|name| first == *name))
                });
            // A submodule's own directory may hold other repositories: a file there leads back to it.
            let is_own = self.is_of(&place, &git);
            let is_around = !is_own && above.any(|tree| tree.starts_with(&place));
            let is_elsewhere = !is_own && beneath::stat(self.root, &place).is_ok();
            if is_protected || is_gits || is_around || is_elsewhere {
                self.unfollowed.insert(config);
            }
        }
    }

    /// Resolves a pointer, if it leads to what is wanted there. Links on the way can be replaced, and are remembered.
    fn pointer(&mut self, file: &Path, base: &Path, named: &Path, wanted: PointerTarget) -> Option<PathBuf> {
        let found = match self.lead(base, named) {
            Ok(Leads::To { path, stat, links }) => {
                self.remember(links);
                (is(FileType::Directory, &stat) && self.is(wanted, &path)).then_some(path)
            }
            Ok(Leads::Unfollowed { links, host, missing }) => {
                self.nothing_at(missing, wanted);
                self.remember(links);
                let inside = (host == OnHost::Nothing && named.is_absolute())
                    .then(|| self.as_seen_inside(named, wanted))
                    .flatten();
                if inside.is_none() {
                    self.notices.push(ProtectionGap::GitOutside { file: file.into() });
                }
                inside
            }
            Ok(Leads::Nowhere { missing }) => {
                self.nothing_at(Some(missing), wanted);
                self.notices.push(ProtectionGap::GitOutside { file: file.into() });
                None
            }
            Err(errno) => {
                self.unreadable(file, errno);
                None
            }
        };
        match &found {
            Some(place) => self.pointed.entry(file.into()).or_default().push(place.clone()),
            None => drop(self.unfollowed.insert(file.into())),
        }
        found
    }

    /// Remembers that nothing is where a pointer leads.
    fn nothing_at(&mut self, missing: Option<PathBuf>, wanted: PointerTarget) {
        if let Some(missing) = missing.filter(|_| wanted != PointerTarget::Objects) {
            self.reach.note(Base::Git(missing), []);
        }
    }

    /// Resolves a path that was written inside, where the boundary has another path: `git worktree add` does so. On the
    /// host there is nothing at such a path, so git obeys nothing there.
    pub(super) fn as_seen_inside(&self, named: &Path, wanted: PointerTarget) -> Option<PathBuf> {
        let parts: Vec<Component> = named.components().take(MAX_COMPONENTS_INSIDE + 1).collect();
        if parts.len() > MAX_COMPONENTS_INSIDE {
            return None;
        }
        // Past the root, and past at least one directory.
        (2..parts.len()).find_map(|start| {
            let below: PathBuf = parts[start..].iter().collect();
            match self.resolve(Path::new(""), &below) {
                Ok(Leads::To { path, stat, links }) if links.is_empty() => {
                    (is(FileType::Directory, &stat) && self.is(wanted, &path)).then_some(path)
                }
                _ => None,
            }
        })
    }

    /// Returns whether git would take a directory for what is wanted. What cannot be examined might be it.
    pub(crate) fn is(&self, wanted: PointerTarget, path: &Path) -> bool {
        match wanted {
            PointerTarget::Repository => is_repository(self.root, path) || self.is_incomplete(path),
            PointerTarget::Common => has_data(self.root, path) || self.is_incomplete(path),
            PointerTarget::Objects => true,
        }
    }

    /// Returns whether a directory in which a walk has found the names for it may be a repository without a `.git`.
    pub(crate) fn may_be_bare(&self, path: &Path) -> bool {
        let has_data = || has_data(self.root, path) || is_there(self.root, &path.join("commondir"));
        is_there(self.root, &path.join("HEAD")) && has_data() || self.is_incomplete(path)
    }

    /// Returns whether a directory is a repository of git's but for its `HEAD` or `objects`, before a command runs: an agent may have taken
    /// these away for a while. Others have such names, too, and no such configuration.
    fn is_incomplete(&self, path: &Path) -> bool {
        let is_of_git = || {
            let config = beneath::file(self.root, &path.join("config")).ok();
            let content = config.and_then(|(file, _)| read_up_to(file, MAX_CONTENT as u64));
            content.is_some_and(|(content, _)| repository::is_configuration(&content))
        };
        self.extent == Extent::Bounded && is_there(self.root, &path.join("refs")) && is_of_git()
    }

    /// Reads a file that leads elsewhere; `None` where there is none, or a larger one.
    pub(super) fn content(&mut self, file: &Path, longest: u64) -> Option<Vec<u8>> {
        match beneath::file(self.root, file) {
            Ok((descriptor, _)) => {
                let content = read_up_to(descriptor, longest).filter(|(_, is_whole)| *is_whole);
                if content.is_none() {
                    self.unfollowed.insert(file.into());
                }
                content.map(|(content, _)| content)
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => None,
            Err(errno) => {
                self.unreadable(file, errno);
                None
            }
        }
    }

    /// Remembers links on the way to a repository's data.
    pub(crate) fn remember(&mut self, links: Vec<PathBuf>) {
        for path in links {
            let is_here = matches!(&self.base, Base::Git(git) if path.starts_with(git));
            let base = if is_here { self.base.clone() } else { self.led(&path) };
            self.links.insert(Link { path, seen_as: ".git".into(), cause: Cause::Named, base });
        }
    }

    /// Lists what makes programs look at what a `.git` names that is no directory: the `.git`, and the link that leads to
    /// its repository.
    fn by(&self, dot_git: &Path) -> impl Iterator<Item = DiscoveredBy> + use<> {
        [Some(dot_git.into()), self.behind.clone()].into_iter().flatten().map(DiscoveredBy::Path)
    }
}

/// Returns whether git would take a directory for a repository by what lies right in it. What cannot be examined might
/// make it one.
pub(crate) fn is_repository(root: BorrowedFd<'_>, path: &Path) -> bool {
    has_head(root, path) && (has_data(root, path) || is_there(root, &path.join("commondir")))
}

/// Returns what a directory lacks to be a repository of git's as it is. A `HEAD` that its owner may not read is none to git.
pub(crate) fn lacks(root: BorrowedFd<'_>, path: &Path) -> Option<&'static str> {
    let is_closed = || matches!(beneath::file(root, &path.join("HEAD")), Err(Errno::ACCESS));
    if !has_head(root, path) || is_closed() {
        return Some("HEAD");
    }
    let has_data_elsewhere = || is_there(root, &path.join("commondir"));
    let data = ["objects", "refs"].into_iter().find(|name| !is_there(root, &path.join(name)));
    data.filter(|_| !has_data_elsewhere())
}

fn has_data(root: BorrowedFd<'_>, path: &Path) -> bool {
    is_there(root, &path.join("objects")) && is_there(root, &path.join("refs"))
}

fn is_there(root: BorrowedFd<'_>, path: &Path) -> bool {
    !matches!(beneath::stat(root, path), Err(Errno::NOENT | Errno::NOTDIR))
}

fn has_head(root: BorrowedFd<'_>, git: &Path) -> bool {
    let head = git.join("HEAD");
    match beneath::read_link(root, &head) {
        Ok(target) => return repository::is_head_link(&target),
        Err(Errno::NOENT | Errno::NOTDIR) => return false,
        Err(_) => {}
    }
    match beneath::file(root, &head) {
        Ok((file, _)) => {
            read_up_to(file, MAX_HEAD_LENGTH).is_none_or(|(content, _)| repository::is_head(&content))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => false,
        Err(_) => true,
    }
}

/// Removes each `..` from a path that has no links; `None` where that leads out of the boundary.
pub(super) fn without_parents(path: &Path) -> Option<PathBuf> {
    path.components().try_fold(PathBuf::new(), |mut place, part| match part {
        Component::Normal(name) => Some(place.join(name)),
        _ => place.pop().then_some(place),
    })
}

impl Search<'_> {
    /// Returns a directory of git's data as its repository sees it. Names are left out, since they may be anything:
    /// `refs` too.
    pub(crate) fn seen_from_repository(&self, git: &Path) -> &'static Path {
        let is_data = |above: &Path| above.ends_with(".git") || self.is(PointerTarget::Repository, above);
        let is_modules = |above: &&Path| above.ends_with("modules") && above.parent().is_some_and(is_data);
        let above = git.parent().unwrap_or(git);
        Path::new(if above.ends_with("worktrees") {
            LINKED_WORK_TREE
        } else if above.ancestors().any(|above| is_modules(&above)) {
            MODULE
        } else {
            ".git"
        })
    }
}
