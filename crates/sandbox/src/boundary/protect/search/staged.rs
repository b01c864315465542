//! What an index lists where it does harm: protected paths, which git would write, and files beneath a link out of the boundary.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::{ObjectFormat, StagedKind};
use policy::classify::repository::{self, MAX_POINTER_LENGTH};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::boundary::protect::path_list::{LinkOut, PathList, data_outside};
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::listed::would_write;
use crate::boundary::protect::search::new_repositories::NewRepositories;
use crate::boundary::protect::search::outside::object_format_outside;
use crate::boundary::protect::search::outward::ListedPaths;
use crate::boundary::protect::search::progress::{Leads, OnHost, PointerTarget, Search, is, read_up_to};
use crate::boundary::walk::{is_of_annex_program, reads_as_option};
use crate::host::beneath;

/// How many directories of a work tree are open at a time. What is deeper is resolved from the top.
const MAX_OPEN: usize = 32;

/// How many paths behind links are kept of one work tree.
const MAX_BEHIND: usize = 10_000;

impl Search<'_> {
    /// Notes what indexes hold for protected paths: `git checkout -- .` and `git stash` write it there. Notes the links out of the
    /// boundary, too, beneath which an index lists files: where git takes a directory out of a work tree as a whole, it follows them.
    pub(crate) fn staged(&mut self) {
        let mut lists = std::mem::take(&mut self.path_lists);
        let listed = ListedPaths::of(&self.reach);
        for list in &mut lists {
            let git = &list.git;
            let (data, trees, format) = if list.is_outside() {
                (data_outside(git), list.trees.clone(), object_format_outside(git))
            } else {
                (beneath::directory(self.root, git), self.own_trees(git), self.object_format(git))
            };
            let Ok(data) = data else { continue };
            for tree in trees {
                if !self.until.is_over() {
                    self.staged_in(list, &data, &tree, format, &listed);
                }
            }
        }
        self.path_lists = lists;
    }

    fn staged_in(
        &self,
        list: &mut PathList,
        data: &OwnedFd,
        tree: &Path,
        format: ObjectFormat,
        listed: &ListedPaths<'_>,
    ) {
        let mut writes = Writes::to(self, tree, listed);
        if tree.is_absolute() {
            writes.led = self.led_in_main_tree(&list.git);
        }
        let writes = RefCell::new(writes);
        let is_protected =
            |path: &Path, kind: StagedKind| writes.borrow_mut().something_protected(path, kind);
        list.stage(self.root, data, tree, format, is_protected);
        let writes = writes.into_inner();
        list.note_behind(data, tree, format, writes.behind);
        list.links_out.extend(writes.directories.links_out());
    }

    /// Lists what settings name in the main work tree of a linked one: in a work tree elsewhere they name the same.
    fn led_in_main_tree(&self, git: &Path) -> Vec<&Path> {
        let trees = self.common(git).map(|common| self.own_trees(&common)).unwrap_or_default();
        let led = self.reach.bases().filter_map(|base| match base {
            Base::Led(path) => trees.iter().find_map(|tree| path.strip_prefix(tree).ok()),
            Base::Tree(_) | Base::Git(_) | Base::Passed(_) => None,
        });
        led.filter(|path| *path != Path::new("")).collect()
    }

    /// Lists the work trees that the index in a directory of git's data is of: those whose `.git` leads right there. Of more than one nobody
    /// knows which git will be called in.
    pub(super) fn own_trees(&self, git: &Path) -> Vec<PathBuf> {
        let trees = self.seen_trees.range((git.to_path_buf(), None)..);
        let trees = trees.take_while(|(seen, _)| seen == git).filter_map(|(_, tree)| tree.clone());
        // The data of a linked work tree look like a bare repository, and are no work tree.
        let is_linked = beneath::stat(self.root, &git.join("commondir")).is_ok();
        let trees: Vec<PathBuf> = trees.filter(|tree| !is_linked || tree != git).collect();
        let is_named = |tree: &PathBuf| self.named_trees.contains(&(git.to_path_buf(), tree.clone()));
        let is_own = |tree: &&PathBuf| is_named(tree) || self.is_of(tree, git);
        let own: Vec<PathBuf> = trees.iter().filter(is_own).cloned().collect();
        // Nobody sees what lies in one out of the boundary, so whatever is new counts. An agent can make others that lead here.
        if let Some(tree) = self.elsewhere.get(git) {
            return [tree.clone()].into_iter().chain(own).collect();
        }
        if own.is_empty() { trees.into_iter().take(1).collect() } else { own }
    }

    /// Returns whether the `.git` of a work tree is this directory, or leads there without a `commondir`.
    pub(super) fn is_of(&self, tree: &Path, git: &Path) -> bool {
        let Ok(Leads::To { path, stat, .. }) = self.resolve(tree, Path::new(".git")) else {
            return tree == git;
        };
        if is(FileType::Directory, &stat) {
            return path == git;
        }
        let content = beneath::file(self.root, &path).ok();
        let content = content.and_then(|(file, _)| read_up_to(file, MAX_POINTER_LENGTH));
        let Some((content, true)) = content else { return false };
        let Some(named) = repository::gitdir(&content) else { return false };
        match self.resolve(tree, named) {
            Ok(Leads::To { path, .. }) => path == git,
            _ => self.as_seen_inside(named, PointerTarget::Repository).as_deref() == Some(git),
        }
    }
}

/// What git writes to a work tree, path by path.
pub(super) struct Writes<'s> {
    search: &'s Search<'s>,
    tree: &'s Path,
    listed: &'s ListedPaths<'s>,
    /// What settings name in the work tree, as seen from there.
    led: Vec<&'s Path>,
    directories: Directories<'s>,
    nested: NestedBases<'s>,
    new: NewRepositories<'s>,
    /// An index is sorted: what begins with the same name comes together.
    last: LastName,
    /// Paths behind links, and what they lead to in the boundary.
    behind: BTreeMap<PathBuf, PathBuf>,
}

impl<'s> Writes<'s> {
    pub(super) fn to(search: &'s Search<'s>, tree: &'s Path, listed: &'s ListedPaths<'s>) -> Self {
        let led = search.reach.bases().filter_map(|base| match base {
            Base::Led(path) => path.strip_prefix(tree).ok().filter(|path| *path != Path::new("")),
            Base::Tree(_) | Base::Git(_) | Base::Passed(_) => None,
        });
        Self {
            search,
            tree,
            listed,
            led: led.collect(),
            directories: Directories::of(search, tree),
            nested: NestedBases::within(search, tree),
            new: NewRepositories::within(search, tree),
            last: LastName::default(),
            behind: BTreeMap::new(),
        }
    }

    /// Returns whether something protected is at a path, or in a directory or submodule there.
    pub(super) fn something_protected(&mut self, path: &Path, kind: StagedKind) -> bool {
        self.directories.enter_above(path);
        // Git itself writes through no link, and `git mergetool` does.
        if let Some(real) = self.directories.behind(path) {
            let link = self.tree.join(path);
            let search = self.search;
            let is_elsewhere = search.is_of_git(&link, &real) || search.is_unmade(&link, &real, self.listed);
            if is_elsewhere || search.is_protected(&real) {
                return true;
            }
            if self.behind.len() < MAX_BEHIND {
                self.behind.insert(path.into(), real);
            }
        }
        let Some(first) = path.iter().next() else { return false };
        let LastName { name, candidates, is_unknown } = &mut self.last;
        if name != first {
            *candidates = self.search.in_tree.beginning_with(first.as_bytes());
            let led = self.led.iter().filter(|led| led.starts_with(first));
            candidates.extend(led.map(|led| led.to_path_buf()));
            *is_unknown = self.search.is_unknown_name(first);
            first.clone_into(name);
        }
        *is_unknown
            || is_obeyed_by_its_name(path)
            || candidates.iter().any(|listed| would_write(listed, path, kind))
            || self.nested.would_write(path, kind)
            || self.new.would_write(path, kind)
    }
}

/// The name with which the last path began.
#[derive(Default)]
struct LastName {
    name: OsString,
    /// The protected paths that begin with it.
    candidates: Vec<PathBuf>,
    /// Whether it begins with a dot, and no list knows it.
    is_unknown: bool,
}

/// Returns whether a path has a name that reads as an option, or lies in a directory in which git-annex looks for programs.
fn is_obeyed_by_its_name(path: &Path) -> bool {
    let mut names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    let file = names.next_back().unwrap_or_default();
    reads_as_option(file) || names.any(|name| reads_as_option(name) || is_of_annex_program(name))
}

/// The repositories within a work tree: what programs obey in them, git writes as well where an index lists it.
struct NestedBases<'s> {
    search: &'s Search<'s>,
    /// Their work trees and their directories of git's data, as seen from the outer work tree.
    trees: BTreeSet<PathBuf>,
    data: BTreeSet<PathBuf>,
    /// The directory of the last path, and those of both that it lies in.
    last: PathBuf,
    around: Vec<PathBuf>,
}

impl<'s> NestedBases<'s> {
    fn within(search: &'s Search<'s>, tree: &Path) -> Self {
        let (mut trees, mut data) = (BTreeSet::new(), BTreeSet::new());
        for base in search.reach.bases() {
            let Ok(inner) = base.path().strip_prefix(tree) else { continue };
            // An index that lists a `.git` is none of git's. Beyond the bound, nobody looked at the start.
            let is_dot_git = inner.iter().any(|name| name.eq_ignore_ascii_case(".git"));
            if inner == Path::new("") || is_dot_git || search.reach.is_beyond(base.path()) {
                continue;
            }
            match base {
                Base::Tree(_) => drop(trees.insert(inner.into())),
                Base::Git(_) => drop(data.insert(inner.into())),
                Base::Led(_) | Base::Passed(_) => {}
            }
        }
        Self { search, trees, data, last: PathBuf::new(), around: Vec::new() }
    }

    /// Returns whether git writes something that a program obeys in one of them, where it writes an entry of an index.
    fn would_write(&mut self, path: &Path, kind: StagedKind) -> bool {
        let is_above = |bases: &BTreeSet<PathBuf>| {
            bases.range(path.to_path_buf()..).next().is_some_and(|base| base.starts_with(path))
        };
        if kind == StagedKind::Directory && (is_above(&self.trees) || is_above(&self.data)) {
            return true;
        }
        let parent = path.parent().unwrap_or(path);
        if self.last != parent {
            let is_base = |path: &&Path| self.trees.contains(*path) || self.data.contains(*path);
            self.around = parent.ancestors().filter(is_base).map(Path::to_path_buf).collect();
            self.last = parent.to_path_buf();
        }
        self.around.iter().any(|base| {
            let Ok(inner) = path.strip_prefix(base) else { return false };
            let is_data = self.data.contains(base) && !is_object(inner);
            let first = inner.iter().next().filter(|_| self.trees.contains(base));
            let candidates = first.map(|first| self.search.in_tree.beginning_with(first.as_bytes()));
            is_data || candidates.into_iter().flatten().any(|listed| would_write(&listed, inner, kind))
        })
    }
}

/// Returns whether a path in git's data is that of objects, which are nothing but data.
fn is_object(in_git: &Path) -> bool {
    in_git.starts_with("objects") && !in_git.starts_with("objects/info")
}

/// The directories of a work tree, gone through in the order of an index.
struct Directories<'s> {
    search: &'s Search<'s>,
    tree: &'s Path,
    /// The directories above the last path, the outermost first.
    at: Vec<(OsString, IndexDirectory)>,
    /// The links out of the boundary that were met, with the first path beneath each.
    links_out: BTreeMap<PathBuf, PathBuf>,
}

/// What is at a directory of an index.
enum IndexDirectory {
    Directory(OwnedFd),
    /// This directory in the boundary, behind a link or very deep.
    Behind(PathBuf),
    /// None that git would find in the boundary.
    Nothing,
}

impl<'s> Directories<'s> {
    fn of(search: &'s Search<'s>, tree: &'s Path) -> Self {
        Self { search, tree, at: Vec::new(), links_out: BTreeMap::new() }
    }

    /// Enters the directories above a path of an index. A path that ends with a slash is one of a sparse index.
    fn enter_above(&mut self, path: &Path) {
        let mut names: Vec<&OsStr> = path.iter().collect();
        if !path.as_os_str().as_bytes().ends_with(b"/") {
            names.pop();
        }
        let same = self.at.iter().zip(&names).take_while(|((at, _), name)| at == *name).count();
        self.at.truncate(same);
        for name in names.into_iter().skip(same) {
            if self.search.until.is_over() {
                return;
            }
            let place = self.enter(name, path);
            self.at.push((name.to_owned(), place));
        }
    }

    /// Returns where in the boundary a path leads that lies behind a link.
    fn behind(&self, path: &Path) -> Option<PathBuf> {
        let (_, IndexDirectory::Behind(directory)) = self.at.last()? else { return None };
        Some(directory.join(path.file_name()?))
    }

    fn enter(&mut self, name: &OsStr, example: &Path) -> IndexDirectory {
        let opened = match self.at.last() {
            Some((_, IndexDirectory::Nothing)) => return IndexDirectory::Nothing,
            Some((_, IndexDirectory::Directory(parent))) => beneath::directory(parent, Path::new(name)),
            Some((_, IndexDirectory::Behind(_))) => Err(Errno::NOTDIR),
            None => beneath::directory(self.search.root, &self.tree.join(name)),
        };
        match opened {
            Ok(directory) if self.at.len() < MAX_OPEN => return IndexDirectory::Directory(directory),
            Err(Errno::NOENT) => return IndexDirectory::Nothing,
            Ok(_) | Err(_) => {}
        }
        let path: PathBuf = self.at.iter().map(|(name, _)| name.as_os_str()).chain([name]).collect();
        match self.search.resolve(self.tree, &path) {
            Ok(Leads::To { path, stat, .. }) if is(FileType::Directory, &stat) => {
                IndexDirectory::Behind(path)
            }
            // What has nothing on the host is a path inside.
            Ok(Leads::Unfollowed { links, host, missing: None }) if host != OnHost::Nothing => {
                for link in links {
                    self.links_out.entry(link).or_insert_with(|| example.to_path_buf());
                }
                IndexDirectory::Nothing
            }
            _ => IndexDirectory::Nothing,
        }
    }

    fn links_out(self) -> Vec<LinkOut> {
        let Self { search, tree, links_out, .. } = self;
        let links = links_out.into_iter().filter_map(|(path, example)| {
            let target = beneath::read_link(search.root, &path).ok()?;
            Some(LinkOut { path, target, example: tree.join(example) })
        });
        links.collect()
    }
}
