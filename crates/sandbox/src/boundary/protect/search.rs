//! The search for what is to be mounted: from each repository that the walk has found, to everything that git obeys in it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use policy::protect::table::{self, NamePattern};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

pub use self::checkouts::Start;
pub(crate) use self::checkouts::resolved;
use self::listed::{Listed, pattern_below};
pub use self::rules::SearchRules;
use crate::boundary::protect::mounts::{
    Cause, FileKind, Link, MODULE_LEVELS, MaskedSocket, Mounts, Nested, ProtectionGap, ReadOnly, on_the_way,
};
use crate::boundary::protect::path_list::ReadBudget;
use crate::boundary::protect::reach::{Base, DiscoveredBy, Reach};
use crate::boundary::protect::search::links::LINK_LEVELS;
use crate::boundary::protect::search::progress::{
    ALTERNATE_LEVELS, Ahead, DataAhead, Leads, SIGNS, Search, is,
};
use crate::boundary::root::Entered;
use crate::boundary::walk::{Extent, Git, Walk};
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::host::mounted::Mounted;

mod annex;
mod attributes;
mod beyond;
mod checkouts;
mod configured;
mod data;
mod dotted;
mod gitlinks;
mod hooks;
mod links;
mod listed;
mod modules;
mod new_repositories;
mod other_systems;
pub(crate) mod outside;
mod outward;
pub(crate) mod pointers;
mod programs;
pub(crate) mod progress;
mod resolve;
mod rules;
mod staged;

/// How often one directory of git's data leads to another one before the rest is put off: each takes a part of the stack.
const MAX_LEVELS: u32 = 8;

/// Works out what is to be mounted over a writable boundary.
///
/// `root` is the boundary, `host` its path with every link resolved: what a link or a `.git` file names with an
/// absolute path lies inside if it begins with that. Of the paths of the rules, what begins with `.git/`
/// is protected in every directory where git keeps the data of a repository found by the walk: of its
/// submodules and worktrees too, and wherever inside the boundary a `.git` file says. Where `.git/config` is on
/// the list, so are the hooks, configurations and programs that it names inside the boundary. If the deadline passes,
/// [`ProtectionGap::OutOfTime`] says that there would be more.
pub fn mounts(
    root: &Entered<'_>,
    host: &Path,
    walk: &Walk,
    rules: &SearchRules<'_>,
    until: Deadline,
) -> io::Result<Mounts> {
    mounts_since(root, host, walk, rules, None, until)
}

/// Works out the same, and which files the commits have that git brings work trees to, and the indexes have not, but for commits that are known.
pub fn mounts_since(
    root: &Entered<'_>,
    host: &Path,
    walk: &Walk,
    rules: &SearchRules<'_>,
    start: Option<&Start<'_>>,
    until: Deadline,
) -> io::Result<Mounts> {
    let mut search = Search {
        root: root.as_fd(),
        host,
        mounted: Mounted::new(host),
        protected: &rules.protect.paths,
        in_git: Arc::clone(&rules.in_git),
        in_tree: Arc::clone(&rules.in_tree),
        seen_git: BTreeSet::new(),
        seen_objects: BTreeSet::new(),
        seen_trees: BTreeSet::new(),
        seen_modules: BTreeMap::new(),
        read_only: BTreeMap::new(),
        links: BTreeSet::new(),
        hidden_beyond: BTreeSet::new(),
        unreadable: walk.unread.iter().map(|unread| unread.path.clone()).collect(),
        unfollowed: BTreeSet::new(),
        followed: BTreeSet::new(),
        pointed: BTreeMap::new(),
        loose: BTreeSet::new(),
        unexpected: BTreeSet::new(),
        path_lists: Vec::new(),
        data_outside: BTreeSet::new(),
        budget: ReadBudget::default(),
        seen_lists: BTreeSet::new(),
        ahead: Vec::new(),
        data_ahead: Vec::new(),
        annexes: Vec::new(),
        left_to_examine: programs::MAX_EXAMINED,
        levels: 0,
        work_trees: Vec::new(),
        named_trees: BTreeSet::new(),
        elsewhere: BTreeMap::new(),
        led_back: BTreeSet::new(),
        sources: Vec::new(),
        dotted: Vec::new(),
        known_names: HashMap::new(),
        outward: Vec::new(),
        leads_out: Vec::new(),
        listed_out: BTreeMap::new(),
        passing_out: BTreeSet::new(),
        inward: Vec::new(),
        notices: if walk.is_whole { Vec::new() } else { vec![ProtectionGap::OutOfTime] },
        base: Base::Tree(PathBuf::new()),
        reach: Reach::default(),
        behind: None,
        until,
        extent: walk.extent,
        names: &walk.names,
    };
    if walk.repositories.first().is_none_or(|first| first.path != Path::new("")) {
        search.tree(Path::new(""), [DiscoveredBy::Walk]);
    }
    for repository in &walk.repositories {
        if search.is_out_of_time() {
            break;
        }
        if repository.git != Git::Bare || search.may_be_bare(&repository.path) {
            search.repository(&repository.path, repository.git);
        }
    }
    for tree in &walk.trees {
        search.tree(tree, []);
    }
    search.behind_links(walk);
    search.all_ahead();
    search.beyond(walk);
    search.annexes();
    search.check_work_trees(walk);
    search.check_sources();
    search.staged();
    search.privileged(walk);
    search.closed();
    search.outward_links();
    let checkouts = search.checkouts(walk, start);
    // What was left out for want of time is said.
    search.is_out_of_time();
    let mut mounts = search.finish();
    mounts.checkouts = checkouts;
    mounts.all_links.clone_from(&walk.links);
    mounts.options.clone_from(&walk.options);
    mounts.annex_programs = annex::programs(walk, host);
    mounts.masked_sockets = walk
        .sockets
        .iter()
        .map(|socket| MaskedSocket { path: socket.path.clone(), file_id: socket.file_id })
        .collect();
    mounts.masked_sockets.sort_by(|a, b| a.path.cmp(&b.path));
    // A directory that moves further down than the next search looks would take its socket along.
    let above_sockets: BTreeSet<PathBuf> =
        mounts.masked_sockets.iter().flat_map(|socket| on_the_way(&socket.path)).collect();
    mounts.pin(above_sockets);
    Ok(mounts)
}

impl Search<'_> {
    /// Returns whether it is too late to search more, which is then noted.
    fn is_out_of_time(&mut self) -> bool {
        let over = self.until.is_over();
        if over && !self.notices.contains(&ProtectionGap::OutOfTime) {
            self.notices.push(ProtectionGap::OutOfTime);
        }
        over
    }

    /// Searches the repositories that something in another one leads to, until there is no more of them.
    fn all_ahead(&mut self) {
        loop {
            self.listed_paths();
            if self.ahead.is_empty() && self.data_ahead.is_empty() || self.is_out_of_time() {
                break;
            }
            for DataAhead { git, tree, behind } in std::mem::take(&mut self.data_ahead) {
                self.behind = behind;
                self.data_from(Base::Git(git.clone()), &git, tree.as_deref());
            }
            for Ahead { path, git, behind } in std::mem::take(&mut self.ahead) {
                self.behind = behind;
                self.repository(&path, git);
            }
        }
        self.behind = None;
    }

    /// Protects what a repository has of the list, and everything that it leads to.
    fn repository(&mut self, path: &Path, git: Git) {
        let behind = self.behind.clone().map(DiscoveredBy::Path);
        // Programs look into a tree whether or not it is a repository.
        let is_boundary = path == Path::new("");
        self.tree(path, behind.clone().into_iter().chain(is_boundary.then_some(DiscoveredBy::Walk)));
        let is_walked = git == Git::Directory && behind.is_none();
        self.data_of(path, git, if is_walked { Some(DiscoveredBy::Walk) } else { behind });
    }

    /// Protects what a repository has of the list among git's own data, wherever they are.
    fn data_of(&mut self, path: &Path, git: Git, discovered_by: Option<DiscoveredBy>) {
        let dot_git = path.join(".git");
        match git {
            Git::Directory => self.git(&dot_git, Some(path), discovered_by),
            Git::Bare => self.git(path, Some(path), discovered_by),
            Git::Link => self.linked_git(&dot_git, path, Some(path)),
            Git::File => {
                self.follow(&dot_git, Path::new(".git"));
                self.git_file(&dot_git, path, Some(path));
            }
        }
    }

    /// Protects what a work tree has of the list.
    fn tree(&mut self, tree: &Path, discovered_by: impl IntoIterator<Item = DiscoveredBy>) {
        let base = Base::Tree(tree.into());
        self.reach.note(base.clone(), discovered_by);
        let outer = std::mem::replace(&mut self.base, base);
        self.all(tree, Path::new(""), &Arc::clone(&self.in_tree));
        self.base = outer;
        self.data_in_other_systems(tree);
    }

    /// Protects what a directory of git's own data has of the list, and everything that it leads to. Its
    /// configuration is read for this work tree, where it is known.
    fn git(
        &mut self,
        git: &Path,
        tree: Option<&Path>,
        discovered_by: impl IntoIterator<Item = DiscoveredBy>,
    ) {
        if self.is_out_of_time() {
            return;
        }
        let base = Base::Git(git.into());
        self.reach.note(base.clone(), discovered_by);
        if !self.reach.is_walked(&base) {
            self.reach.note(base.clone(), SIGNS.map(|sign| DiscoveredBy::Path(git.join(sign))));
        }
        // An agent may make as long a chain of directories as it likes that lead to each other.
        if self.levels == MAX_LEVELS {
            let (git, tree, behind) = (git.into(), tree.map(Path::to_path_buf), self.behind.clone());
            return self.data_ahead.push(DataAhead { git, tree, behind });
        }
        self.levels += 1;
        self.data_from(base, git, tree);
        self.levels -= 1;
    }

    fn data_from(&mut self, base: Base, git: &Path, tree: Option<&Path>) {
        let outer = std::mem::replace(&mut self.base, base);
        self.data(git, tree);
        self.base = outer;
    }

    fn data(&mut self, git: &Path, tree: Option<&Path>) {
        if self.seen_git.insert(git.into()) {
            self.all(git, self.seen_from_repository(git), &Arc::clone(&self.in_git));
            self.linked_work_tree(git);
            // In a bare repository people put work trees and more.
            let is_gits_alone =
                self.host.join(git).iter().any(|name| name == ".git") || tree.is_some_and(|tree| tree != git);
            self.unlisted(git, is_gits_alone);
            self.alternates(&git.join("objects"), ALTERNATE_LEVELS);
            self.modules(&git.join("modules"), MODULE_LEVELS);
            self.above_data(&git.join("worktrees"));
            for worktree in self.directories(&git.join("worktrees")) {
                self.git(&worktree, None, [DiscoveredBy::Within(self.base.clone())]);
            }
        }
        if self.seen_trees.insert((git.into(), tree.map(Path::to_path_buf))) {
            self.configurations(git, tree);
            if let Some(tree) = tree {
                self.hooks(&git.join("hooks"), tree);
            }
            self.common_directory(git, tree);
            self.named_modules(git, tree);
        }
    }

    /// Protects those of the paths in a directory that exist.
    fn all(&mut self, base: &Path, seen_as: &Path, listed: &Listed<'_>) {
        let mut dotted = Vec::new();
        let names = |dotted: &mut Vec<OsString>| {
            if let Some(names) = self.names.of(base) {
                let directory = beneath::directory(self.root, base)?;
                let names = names.inspect(|name| dotted::note(dotted, name));
                let found = listed.first_names_among(&directory, names, self.until);
                return Ok((directory, found));
            }
            let directory = beneath::listing(self.root, base)?;
            let found = listed.first_names_in(&directory, self.until, |name| dotted::note(dotted, name))?;
            Ok((directory, found))
        };
        let (directory, found) = match names(&mut dotted) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return,
            // Whoever may enter it, and not see its names, finds by name what is there.
            Err(Errno::ACCESS) => match beneath::directory(self.root, base) {
                Ok(directory) => (directory, listed.without_patterns()),
                Err(errno) => return self.unreadable(base, errno),
            },
            Err(errno) => return self.unreadable(base, errno),
        };
        if self.is_out_of_time() {
            self.reach.forget(&self.base);
        }
        self.dotted(&directory, dotted);
        for (path, cause) in found {
            if let Some(pattern) = pattern_below(&path) {
                self.behind_link(base, seen_as, &pattern, cause);
                continue;
            }
            let Some(Component::Normal(first)) = path.components().next() else { continue };
            match rustix::fs::statat(&directory, first, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => self.unreadable(&base.join(first), errno),
                Ok(stat) => {
                    let kind = FileType::from_raw_mode(stat.st_mode);
                    let seen_as_path = seen_as.join(&path);
                    if path.as_os_str() == first && kind != FileType::Symlink {
                        if !is_only_data(&seen_as_path, &stat) {
                            self.protect(base.join(&path), &stat, seen_as_path, cause, self.base.clone());
                        }
                    } else {
                        self.follow_listed(&base.join(&path), &seen_as_path, cause);
                    }
                }
            }
        }
    }

    /// Protects what fits a pattern in a directory to which a link leads.
    fn behind_link(&mut self, base: &Path, seen_as: &Path, pattern: &NamePattern<'_>, cause: Cause) {
        // A link that leads elsewhere is said of the other paths of the list that lie there.
        let leads = self.resolve(Path::new(""), &base.join(pattern.directory));
        let directory = match leads {
            Ok(Leads::To { path, stat, .. }) if is(FileType::Directory, &stat) => path,
            Ok(Leads::Nowhere { missing } | Leads::Unfollowed { missing: Some(missing), .. }) => {
                // What comes to lie there was not there, however old it is.
                return self.reach.note(Base::Passed(missing.join(pattern.name())), []);
            }
            _ => return,
        };
        self.reach.note(Base::Passed(directory.join(pattern.name())), []);
        let names = || {
            let listing = beneath::listing(self.root, &directory)?;
            let entries = beneath::entries(listing.as_fd())?.take_while(|_| !self.until.is_over());
            Ok::<_, Errno>(entries.filter_map(Result::ok).map(|(name, _)| name).collect::<Vec<_>>())
        };
        for name in names().unwrap_or_default().iter().filter(|name| pattern.fits(name.as_bytes())) {
            let listed = pattern.directory.join(name);
            self.follow_listed(&base.join(&listed), &seen_as.join(&listed), cause);
        }
    }

    /// Protects one path, wherever links inside the boundary lead it, and says where that is.
    fn follow(&mut self, path: &Path, seen_as: &Path) -> Option<(PathBuf, FileKind)> {
        self.follow_listed(path, seen_as, Cause::Listed)
    }

    fn follow_listed(&mut self, path: &Path, seen_as: &Path, cause: Cause) -> Option<(PathBuf, FileKind)> {
        match self.resolve(Path::new(""), path) {
            Ok(Leads::Nowhere { .. }) => None,
            Ok(Leads::Unfollowed { links, missing, .. }) => {
                if missing.is_none() {
                    self.note_listed_out(path);
                }
                // Whatever is built beneath a link, only a link can be quarantined. Any of those on the way may be new.
                let is_classified = table::is_only_classified(seen_as);
                for link in links.iter().filter(|link| *link != path && is_classified) {
                    self.note_listed_out(link);
                    let (path, seen_as, base) = (link.clone(), seen_as.into(), self.base.clone());
                    self.links.insert(Link { path, seen_as, cause, base });
                }
                self.led_to(missing);
                self.link(path, seen_as, links, cause, |link| ProtectionGap::LinkOutside { link });
                // Of a repository not all is obeyed.
                if path.file_name() != Some(OsStr::new(".git")) {
                    self.links_outside(Path::new(""), path, seen_as, cause);
                }
                None
            }
            Ok(Leads::To { path: target, stat, links }) => {
                self.note_passing_out(path, &links);
                let base = if links.is_empty() { self.base.clone() } else { self.led_by(&target, &links) };
                self.link(path, seen_as, links, cause, |link| ProtectionGap::LinkInside {
                    link,
                    target: target.clone(),
                });
                let kind = FileType::from_raw_mode(stat.st_mode).into();
                // A whole `.git` that a link leads to must stay writable but for what is on the list.
                let is_data = path.file_name() == Some(OsStr::new(".git")) && kind == FileKind::Directory;
                if !is_data && !is_only_data(seen_as, &stat) {
                    self.protect(target.clone(), &stat, seen_as.into(), cause, base);
                }
                Some((target, kind))
            }
            Err(errno) => {
                self.unreadable(path, errno);
                None
            }
        }
    }

    /// Remembers the links on the way to a protected path. The first one lies in that path itself.
    fn link(
        &mut self,
        path: &Path,
        seen_as: &Path,
        links: Vec<PathBuf>,
        cause: Cause,
        notice: impl Fn(PathBuf) -> ProtectionGap,
    ) {
        let mut links = links.into_iter();
        let Some(link) = links.next() else { return };
        // What it leads past is noted; where it leads is known.
        let _ = self.lead(Path::new(""), path);
        // As many components from the end as the link lies above the path.
        let above = path.components().count().saturating_sub(link.components().count());
        let first = seen_as.ancestors().nth(above).unwrap_or(seen_as);
        let base = self.base.clone();
        self.links.insert(Link { path: link.clone(), seen_as: first.into(), cause, base });
        self.notices.push(notice(link));
        for path in links {
            let base = self.led(&path);
            self.links.insert(Link { path, seen_as: seen_as.into(), cause, base });
        }
    }

    /// Notes what a link or a configuration leads to.
    fn led(&mut self, path: &Path) -> Base {
        let base = Base::Led(path.into());
        self.reach.note(base.clone(), []);
        base
    }

    /// Notes what links lead to. One that is new and harmless by itself has programs obey what was there.
    fn led_by(&mut self, path: &Path, links: &[PathBuf]) -> Base {
        let base = Base::Led(path.into());
        self.reach.note(base.clone(), links.iter().cloned().map(DiscoveredBy::Path));
        base
    }

    /// Remembers that something leads to nothing in the boundary. What appears there later was not there.
    fn led_to(&mut self, missing: Option<PathBuf>) {
        if let Some(missing) = missing {
            self.led(&missing);
        }
    }

    fn protect(&mut self, path: PathBuf, stat: &Stat, seen_as: PathBuf, cause: Cause, base: Base) {
        if path == Path::new("") {
            return;
        }
        if cause != Cause::Asked && table::is_only_classified(&seen_as) {
            self.loose.insert(Link { path, seen_as, cause, base });
            return;
        }
        let kind = FileKind::from(FileType::from_raw_mode(stat.st_mode));
        if kind == FileKind::File && stat.st_nlink > 1 {
            self.notices.push(ProtectionGap::HardLinked { path: path.clone() });
        }
        let file_id = beneath::file_id(stat);
        // The user's own may lie behind a link that an agent made. What is asked for counts whatever it holds.
        let is_behind = self.behind.is_some() && cause != Cause::Asked;
        let cause = if is_behind { cause.max(Cause::Named) } else { cause };
        let one = ReadOnly { path: path.clone(), file_id, kind, seen_as, cause, base };
        // The stronger reason is the lesser one.
        let is_stronger = |before: &ReadOnly| (cause, &one.base) <= (before.cause, &before.base);
        let seen_as = one.seen_as.clone();
        let before = self.read_only.get(&path);
        let is_first = before.is_none();
        if before.is_none_or(is_stronger) {
            self.read_only.insert(path.clone(), one);
        }
        if is_first && kind == FileKind::Directory && !matches!(cause, Cause::Privileged | Cause::Closed) {
            self.links_within(&path, &seen_as, cause, LINK_LEVELS);
        }
    }

    /// Lists the directories right in a directory of git's data, in order; none where there is no such directory. Links
    /// are followed, as git does, and remembered: what they lead to it obeys, or empties as an old work tree.
    fn directories(&mut self, path: &Path) -> Vec<PathBuf> {
        let Some(path) = self.past_links(path) else { return Vec::new() };
        let list = || {
            let directory = beneath::listing(self.root, &path)?;
            let entries = beneath::entries(directory.as_fd())?.take_while(|_| !self.until.is_over());
            let may_lead = |kind: FileType| matches!(kind, FileType::Directory | FileType::Symlink);
            let entries = entries.filter(|entry| entry.as_ref().map_or(true, |(_, kind)| may_lead(*kind)));
            entries.map(|entry| entry.map(|(name, kind)| (path.join(name), kind))).collect()
        };
        let entries: Result<Vec<_>, Errno> = list();
        let mut directories = Vec::new();
        match entries {
            Ok(entries) => {
                // The listing ends early too.
                self.is_out_of_time();
                for (path, kind) in entries {
                    if self.is_out_of_time() {
                        break;
                    }
                    let is_link = kind == FileType::Symlink;
                    directories.extend(if is_link { self.past_links(&path) } else { Some(path) });
                }
                directories.sort();
                directories.dedup();
            }
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => self.unreadable(&path, errno),
        }
        directories
    }

    /// Resolves a path to a directory in the boundary. Links on the way are remembered, unless they lead to a file.
    fn past_links(&mut self, path: &Path) -> Option<PathBuf> {
        match self.lead(Path::new(""), path) {
            Ok(Leads::To { path, stat, links }) if is(FileType::Directory, &stat) => {
                self.remember(links);
                Some(path)
            }
            Ok(Leads::Unfollowed { links, missing, .. }) => {
                self.led_to(missing);
                self.notices.extend(links.first().cloned().map(|link| ProtectionGap::LinkOutside { link }));
                self.remember(links);
                None
            }
            Ok(Leads::To { .. } | Leads::Nowhere { .. }) => None,
            Err(errno) => {
                self.unreadable(path, errno);
                None
            }
        }
    }

    /// Protects privileged files as they are. One that is another file by now is nothing to protect: nobody inside can make one.
    fn privileged(&mut self, walk: &Walk) {
        for one in &walk.privileged {
            match beneath::stat(self.root, &one.path) {
                Ok(stat) if beneath::file_id(&stat) == one.file_id => {
                    self.protect(
                        one.path.clone(),
                        &stat,
                        one.path.clone(),
                        Cause::Privileged,
                        self.base.clone(),
                    );
                }
                _ => {}
            }
        }
    }

    /// Protects as a whole what cannot be searched: the agent has the same user, could open it, and change what it
    /// holds. As it is, nobody can work in it.
    fn closed(&mut self) {
        for path in self.unreadable.clone() {
            let seen = path.ancestors().filter(|path| *path != Path::new(""));
            let place =
                seen.map(|path| (path, beneath::stat(self.root, path))).find(|(_, stat)| stat.is_ok());
            if let Some((path, Ok(stat))) = place {
                self.protect(path.into(), &stat, path.into(), Cause::Closed, self.base.clone());
            }
        }
    }

    fn unreadable(&mut self, path: &Path, errno: Errno) {
        self.unreadable.insert(path.into());
        self.notices.push(ProtectionGap::Unreadable { path: path.into(), errno: errno.raw_os_error() });
    }

    /// Lists the `refs` of the repositories that were found. All that is in there may be in `packed-refs`, and without the directory git takes
    /// the repository for none, and acts on one further up.
    fn references(&self) -> Vec<PathBuf> {
        let references = self.seen_git.iter().map(|git| git.join("refs"));
        let is_directory =
            |path: &PathBuf| beneath::stat(self.root, path).is_ok_and(|stat| is(FileType::Directory, &stat));
        references.filter(is_directory).collect()
    }

    fn finish(self) -> Mounts {
        let references = if self.extent == Extent::Bounded { self.references() } else { Vec::new() };
        let mut read_only: Vec<ReadOnly> = Vec::new();
        let mut nested = Vec::new();
        let mut pins = BTreeSet::new();
        let mut last: Option<PathBuf> = None;
        // Paths sort by component, so what lies in a read-only directory follows it at once.
        for one in self.read_only.into_values() {
            if let Some(outer) = last.as_ref().filter(|outer| one.path.starts_with(outer)) {
                nested.push(Nested { outer: outer.clone(), inner: one });
                continue;
            }
            // What is known of a closed directory is looked at by itself.
            if one.cause != Cause::Closed {
                last = Some(one.path.clone());
            }
            pins.extend(on_the_way(&one.path));
            read_only.push(one);
        }
        let is_watched = |one: &Link| self.links.iter().any(|link| link.path == one.path);
        let mut loose: Vec<Link> = self.loose.into_iter().filter(|one| !is_watched(one)).collect();
        // A directory of objects is git's data, and another repository may borrow from it.
        loose.dedup_by(|one, before| one.path == before.path);
        let mut notices = self.notices;
        let mut seen = HashSet::new();
        notices.retain(|notice| seen.insert(notice.clone()));
        let mut mounts = Mounts {
            pins: pins.into_iter().collect(),
            read_only,
            nested,
            hidden: Vec::new(),
            masked_sockets: Vec::new(),
            links: self.links.into_iter().collect(),
            unreadable: self.unreadable,
            hidden_beyond: self.hidden_beyond,
            unfollowed: self.unfollowed,
            followed: self.followed,
            pointed: self.pointed,
            loose,
            unexpected: self.unexpected.into_iter().collect(),
            path_lists: self.path_lists,
            checkouts: Vec::new(),
            dotted: self.dotted,
            all_links: Vec::new(),
            options: Vec::new(),
            annex_programs: Vec::new(),
            outward: self.outward,
            elsewhere: self.elsewhere,
            led_back: self.led_back,
            listed_out: self.listed_out,
            passing_out: self.passing_out,
            shared_elsewhere: BTreeSet::new(),
            shared: Vec::new(),
            reach: self.reach,
            notices,
        };
        mounts.pin(references.iter().flat_map(|path| on_the_way(path).chain([path.clone()])));
        mounts
    }
}

/// Returns whether a directory is its program's data, where only a file of this name would be obeyed.
fn is_only_data(seen_as: &Path, stat: &Stat) -> bool {
    is(FileType::Directory, stat) && seen_as.to_str().is_some_and(table::is_only_a_file)
}
