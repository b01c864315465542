//! What a configuration of git names: hooks, other configurations and programs that git obeys too.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use policy::classify::{
    MAX_CONTENT, PROGRAMS, Reference, beyond_prefix, does_without_work_tree, names_relative, references,
};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::boundary::protect::mounts::{Cause, Link, ProtectionGap};
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::progress::Leads;
use crate::boundary::protect::search::progress::{OnHost, PointerTarget, Search, Source, is, read_up_to};
use crate::boundary::protect::search::resolve::canonical;
use crate::host::beneath;

/// How deep configurations may include each other, as in git.
const INCLUDE_LEVELS: u32 = 10;

/// How many paths are looked for that the configurations of one directory of git's data name.
pub(super) const MAX_REFERENCES: usize = 256;

/// Files that lead from a repository, or a directory of objects, to another one. The first is what stands in its place.
const POINTERS: [&str; 4] = ["", "commondir", "objects/info/alternates", "info/alternates"];

/// What the configurations of a repository name.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Names {
    Absolute,
    /// Something that is relative to a work tree.
    Relative,
}

/// Where something is that a configuration names.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Found {
    Inside,
    Nothing,
    /// Out of the boundary, or nobody knows where.
    Outside,
}

impl Search<'_> {
    /// Protects what the configurations in a directory of git's data name, and what those name that they include.
    pub(crate) fn configurations(&mut self, git: &Path, tree: Option<&Path>) {
        let (mut ahead, mut outside) = (Vec::new(), Vec::new());
        for name in ["config", "config.worktree"] {
            if !self.in_git.contains(Path::new(name)) {
                continue;
            }
            // What cannot be looked at is said where the list is gone through.
            match self.lead(git, Path::new(name)) {
                Ok(Leads::To { path, .. }) => ahead.push((path, INCLUDE_LEVELS)),
                Ok(Leads::Unfollowed { .. }) => outside.push(self.host.join(git).join(name)),
                Ok(Leads::Nowhere { .. }) | Err(_) => {}
            }
        }
        let mut seen = BTreeSet::new();
        let mut left = MAX_REFERENCES;
        // Git takes all of them together.
        let (mut bare, mut names) = (Vec::new(), Names::Absolute);
        while let Some((config, levels)) = ahead.pop() {
            if !seen.insert(config.clone()) {
                continue;
            }
            let content = self.configuration(&config).unwrap_or_default();
            if does_without_work_tree(&content) {
                bare.push(config.clone());
            }
            if names_relative(&content) {
                names = Names::Relative;
            }
            let references = references(&content).into_iter();
            for reference in references.flat_map(|one| self.in_homes(one)).collect::<Vec<_>>() {
                if left == 0 {
                    // What is not followed may lead anywhere.
                    self.unfollowed.insert(config.clone());
                    return self.notices.push(ProtectionGap::TooManySettings { config });
                }
                left -= 1;
                let path = match &reference {
                    Reference::Configuration(path) => {
                        config.parent().map(|base| self.host.join(base).join(path))
                    }
                    _ => None,
                };
                match (self.refer(reference, &config, git, tree), levels.checked_sub(1)) {
                    (Some(included), Some(levels)) => ahead.push((included, levels)),
                    (Some(_), None) => {
                        self.notices.push(ProtectionGap::TooManySettings { config: config.clone() });
                    }
                    (None, _) => outside.extend(path),
                }
            }
        }
        // What is relative is taken from wherever git is called.
        if tree.is_some_and(|tree| tree != git) && names == Names::Relative {
            self.unfollowed.extend(bare);
        }
        if let Some(tree) = tree {
            self.configurations_outside(outside, tree);
        }
    }

    /// Reads a configuration, if it is one that git could read.
    fn configuration(&mut self, config: &Path) -> Option<Vec<u8>> {
        let file = match beneath::file(self.root, config) {
            Ok((file, _)) => file,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => return None,
            Err(errno) => {
                self.unreadable(config, errno);
                return None;
            }
        };
        let Some((content, true)) = read_up_to(file, MAX_CONTENT as u64) else {
            self.notices.push(ProtectionGap::TooManySettings { config: config.into() });
            return None;
        };
        Some(content)
    }

    /// Lists where a reference may lead that begins with `~`, or leads out of the directory where git is installed. Whoever works in
    /// the boundary may have any directory above it for their home; others have links into it at most.
    pub(super) fn in_homes(&self, reference: Reference) -> Vec<Reference> {
        let (path, with): (_, fn(PathBuf) -> Reference) = match &reference {
            Reference::Hooks(path) => (path, Reference::Hooks),
            Reference::Configuration(path) => (path, Reference::Configuration),
            Reference::Program(path) => (path, Reference::Program),
            Reference::File(path) => (path, Reference::File),
            Reference::Repository(path) => (path, Reference::Repository),
            // Git takes it as it stands.
            Reference::WorkTree(_) => return vec![reference],
        };
        let mut parts = path.components();
        let is_home = |part: Component| part.as_os_str().as_bytes().starts_with(b"~");
        let below = match beyond_prefix(path) {
            Some(below) => below,
            None if parts.next().is_some_and(is_home) => parts.as_path().to_owned(),
            None => return vec![reference],
        };
        let leads_here = |path: &PathBuf| match self.resolve(Path::new(""), path) {
            Ok(Leads::Unfollowed { links, missing, .. }) => !links.is_empty() || missing.is_some(),
            Ok(Leads::To { .. } | Leads::Nowhere { .. }) | Err(_) => true,
        };
        // Links may lead here from a directory of hooks, and a configuration may name something here.
        let is_obeyed = |path: &PathBuf| match &reference {
            Reference::Hooks(_) | Reference::Program(_) | Reference::File(_) => {
                canonical(self.host, path).is_ok_and(|path| path.is_dir())
            }
            Reference::Configuration(_) => canonical(self.host, path).is_ok_and(|path| path.is_file()),
            Reference::Repository(_) | Reference::WorkTree(_) => false,
        };
        let homes = self.host.ancestors().skip(1).map(|home| home.join(&below));
        homes.filter(|path| leads_here(path) || is_obeyed(path)).map(with).collect()
    }

    /// Protects what a reference leads to, if it is what git expects there. Says where it is, if that is a
    /// configuration too.
    pub(super) fn refer(
        &mut self,
        reference: Reference,
        config: &Path,
        git: &Path,
        tree: Option<&Path>,
    ) -> Option<PathBuf> {
        match reference {
            Reference::Configuration(path) => {
                let (target, stat) = self.named(config.parent()?, &path, Path::new(".git/config"))?;
                is(FileType::RegularFile, &stat).then(|| {
                    let base = Base::Led(target.clone());
                    self.protect(target.clone(), &stat, ".git/config".into(), Cause::Named, base);
                    target
                })
            }
            Reference::Hooks(path) => {
                self.expect_in_reach(config, git, base_of(&path, tree), &[&path]);
                let (target, stat) = self.obeyed(base_of(&path, tree)?, &path, Path::new(".git/hooks"))?;
                if git.starts_with(&target) || tree.is_some_and(|tree| tree.starts_with(&target)) {
                    self.notices.push(ProtectionGap::HooksAround { config: config.into() });
                } else if is(FileType::Directory, &stat) {
                    let base = Base::Led(target.clone());
                    self.protect(target.clone(), &stat, ".git/hooks".into(), Cause::Named, base);
                    if let Some(tree) = tree {
                        self.hooks(&target, tree);
                    }
                }
                None
            }
            Reference::WorkTree(path) => {
                self.work_tree(config, git, &path);
                None
            }
            Reference::Repository(path) => {
                // Git finds it under both names.
                let mut bare = path.clone().into_os_string();
                bare.push(".git");
                let bare = PathBuf::from(bare);
                let base = base_of(&path, tree);
                self.expect_in_reach(config, git, base, &[&path, &bare]);
                // Whoever fetches in a superproject has git call itself in the data of its submodules, and take the path from there.
                let data = (path.is_relative() && base != Some(git)).then_some(git);
                if data.is_some_and(|data| self.find(config, data, &[&path, &bare]) == Found::Outside) {
                    self.unfollowed.insert(config.into());
                }
                for base in [base, data].into_iter().flatten() {
                    for path in [&path, &bare] {
                        self.repositories_at(base, path, config);
                        self.file_for_repository(base, path);
                    }
                }
                None
            }
            Reference::File(ref path) | Reference::Program(ref path) => {
                let seen_as = Path::new(PROGRAMS).join(path.file_name()?);
                let (target, stat) = self.obeyed(base_of(path, tree)?, path, &seen_as)?;
                // Python and make take a directory for a program, and what lies in it for its parts.
                let is_around =
                    git.starts_with(&target) || tree.is_some_and(|tree| tree.starts_with(&target));
                let may_be_directory = matches!(reference, Reference::Program(_)) && !is_around;
                let is_program = is(FileType::Directory, &stat) && may_be_directory;
                if is_program || is(FileType::RegularFile, &stat) {
                    let base = Base::Led(target.clone());
                    self.protect(target, &stat, seen_as, Cause::Named, base);
                }
                None
            }
        }
    }

    /// Notes a configuration that names what lies out of the boundary, or nowhere. Links on the way are remembered.
    ///
    /// What the host does not have, and only root could make there, is a path inside.
    fn expect_in_reach(&mut self, config: &Path, git: &Path, base: Option<&Path>, names: &[&Path]) {
        let Some(base) = base else {
            return self.sources.push((config.into(), Source::InTreeOf(git.into())));
        };
        if self.find(config, base, names) != Found::Inside {
            self.unfollowed.insert(config.into());
        }
    }

    /// Looks for what a configuration names, seen from a directory. Links on the way are remembered.
    fn find(&mut self, config: &Path, base: &Path, names: &[&Path]) -> Found {
        let (mut is_there, mut leads_out) = (false, false);
        for path in names {
            match self.lead(base, path) {
                Ok(Leads::To { path, links, .. }) => {
                    is_there = true;
                    self.remember(links);
                    self.pointed.entry(config.into()).or_default().push(path.clone());
                    self.sources.push((config.into(), Source::At(path)));
                }
                Ok(Leads::Nowhere { missing }) => drop(self.led(&missing)),
                Ok(Leads::Unfollowed { links, host, missing }) => {
                    // The boundary itself may be mounted at a path of one name.
                    let is_boundary = path.is_absolute() && path.components().count() == 2;
                    let is_inside =
                        is_boundary || self.as_seen_inside(path, PointerTarget::Objects).is_some();
                    is_there |= host == OnHost::Nothing && is_inside;
                    leads_out |= host != OnHost::Nothing || !links.is_empty();
                    self.led_to(missing);
                    self.remember(links);
                }
                Err(_) => leads_out = true,
            }
        }
        match (leads_out, is_there) {
            (true, _) => Found::Outside,
            (false, true) => Found::Inside,
            (false, false) => Found::Nothing,
        }
    }

    /// Notes configurations that name a repository which takes its data, or a part of them, from where nobody looked.
    pub(super) fn check_sources(&mut self) {
        for (config, source) in std::mem::take(&mut self.sources) {
            let leads_out = match source {
                Source::At(place) => self.takes_from_elsewhere(&place),
                // What is relative was followed from each work tree that there is.
                Source::InTreeOf(git) => {
                    !self.seen_trees.iter().any(|(of, tree)| *of == git && tree.is_some())
                }
            };
            if leads_out {
                self.unfollowed.insert(config);
            }
        }
    }

    /// Returns whether a repository takes its data, or a part of them, from where nobody looked.
    fn takes_from_elsewhere(&self, place: &Path) -> bool {
        let mut seen = BTreeSet::new();
        let mut ahead = vec![place.to_path_buf(), place.join(".git")];
        while let Some(at) = ahead.pop() {
            for file in POINTERS.map(|pointer| at.join(pointer)) {
                if self.unfollowed.contains(&file) {
                    return true;
                }
                let led = self.pointed.get(&file).into_iter().flatten();
                ahead.extend(led.filter(|place| seen.insert((*place).clone())).cloned());
            }
        }
        false
    }

    /// Resolves the path of a program or a directory of hooks. Where that is a directory out of the boundary, what links in it lead to
    /// is protected.
    fn obeyed(&mut self, base: &Path, path: &Path, seen_as: &Path) -> Option<(PathBuf, Box<Stat>)> {
        let found = self.named(base, path, seen_as);
        if found.is_none() {
            self.links_outside(base, path, seen_as, Cause::Named);
        }
        found
    }

    /// Resolves a path that a configuration names inside the boundary. Links on the way are remembered. What is not there
    /// yet is classified when it appears.
    pub(super) fn named(&mut self, base: &Path, path: &Path, seen_as: &Path) -> Option<(PathBuf, Box<Stat>)> {
        let (links, found) = match self.lead(base, path) {
            Ok(Leads::Nowhere { missing }) => {
                self.led(&missing);
                return None;
            }
            Ok(Leads::Unfollowed { links, missing, .. }) => {
                self.led_to(missing);
                (links, None)
            }
            Ok(Leads::To { path, stat, links }) => {
                self.led(&path);
                (links, Some((path, stat)))
            }
            Err(errno) => {
                self.unreadable(&base.join(path), errno);
                return None;
            }
        };
        for link in links {
            let base = self.led(&link);
            let seen_as = seen_as.into();
            self.links.insert(Link { path: link.clone(), seen_as, cause: Cause::Named, base });
            self.notices.push(match &found {
                Some((target, _)) => ProtectionGap::LinkInside { link, target: target.clone() },
                None => ProtectionGap::LinkOutside { link },
            });
        }
        found
    }
}

/// Returns what a path is relative to: nothing, where it is absolute; else the work tree, where that is known.
fn base_of<'a>(path: &Path, tree: Option<&'a Path>) -> Option<&'a Path> {
    if path.is_absolute() { Some(Path::new("")) } else { tree }
}
