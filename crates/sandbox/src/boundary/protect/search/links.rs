//! Links: in directories that nobody inside can change, to what has to be protected too, and those that make a repository look near
//! which lies where the walk does not go: too deep, or in `node_modules`.

use std::collections::{BTreeSet, HashSet};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::boundary::protect::mounts::{Cause, Link, ProtectionGap};
use crate::boundary::protect::search::progress::Leads;
use crate::boundary::protect::search::progress::PointerTarget;
use crate::boundary::protect::search::progress::{Search, is};
use crate::boundary::protect::search::resolve::{asks_others, canonical};
use crate::boundary::walk::{Git, Walk};
use crate::host::{beneath, links};

/// How deep links are looked for in a protected directory: as deep as a new one is classified.
pub(super) const LINK_LEVELS: u32 = 8;

impl Search<'_> {
    /// Protects what links in a protected directory lead to: a hook is often one, to a script in the work tree. The links themselves
    /// cannot be changed.
    pub(super) fn links_within(&mut self, directory: &Path, seen_as: &Path, cause: Cause, levels: u32) {
        let list = || {
            let listing = beneath::listing(self.root, directory)?;
            let may_lead = |kind: FileType| matches!(kind, FileType::Directory | FileType::Symlink);
            let entries = beneath::entries(listing.as_fd())?.take_while(|_| !self.until.is_over());
            let entries = entries.filter(|entry| entry.as_ref().map_or(true, |(_, kind)| may_lead(*kind)));
            entries.collect::<Result<Vec<_>, Errno>>()
        };
        // What cannot be listed can be changed by nobody inside.
        for (name, kind) in list().unwrap_or_default() {
            if self.is_out_of_time() {
                return;
            }
            let (path, seen_as) = (directory.join(&name), seen_as.join(&name));
            if kind == FileType::Directory {
                if let Some(levels) = levels.checked_sub(1) {
                    self.links_within(&path, &seen_as, cause, levels);
                }
                continue;
            }
            self.behind_fixed(&path, directory, &seen_as, cause);
        }
    }

    /// Protects what links lead to in a directory out of the boundary, as seen from a directory in it. Programs obey what lies there.
    pub(super) fn links_outside(&mut self, base: &Path, directory: &Path, seen_as: &Path, cause: Cause) {
        // What lies around the boundary is a place to work in.
        let enters = |path: &Path| {
            let path = canonical(&self.host.join(base), path).ok()?;
            let is_here = self.mounted.leads(&path).is_some() || self.mounted.lies_in(&path);
            (!is_here && !asks_others(&path)).then_some(path)
        };
        let Some(directory) = enters(directory) else { return };
        let found = links::within_as_this_user(&directory, enters);
        for link in found.paths {
            if self.is_out_of_time() {
                return;
            }
            self.behind_fixed(&directory.join(&link), &directory, &seen_as.join(&link), cause);
        }
        if found.may_be_more {
            self.notices.push(ProtectionGap::TooManySettings { config: directory });
        }
    }

    /// Protects what a link leads to that lies in a directory which nobody inside can change. Other links on the way can be replaced, and
    /// are remembered.
    fn behind_fixed(&mut self, link: &Path, directory: &Path, seen_as: &Path, cause: Cause) {
        let links = match self.lead(Path::new(""), link) {
            Ok(Leads::To { path: target, stat, links }) if !directory.starts_with(&target) => {
                self.note_passing_out(link, &links);
                let base = self.led_by(&target, &links);
                self.protect(target, &stat, seen_as.into(), cause, base);
                links
            }
            Ok(Leads::Nowhere { missing }) => return drop(self.led(&missing)),
            Ok(Leads::Unfollowed { links, missing, .. }) => {
                if missing.is_none() && link.is_relative() {
                    self.note_listed_out(link);
                }
                self.led_to(missing);
                links
            }
            Ok(Leads::To { .. }) | Err(_) => return,
        };
        for path in links.into_iter().filter(|link| !link.starts_with(directory)) {
            let base = self.led(&path);
            self.links.insert(Link { path, seen_as: seen_as.into(), cause, base });
        }
    }

    /// Protects the repositories that links lead to or into. Where git stands in one, it finds the repository above.
    ///
    /// The user's own may lie there, unprotected until an agent made a link to them. So only what is known to be new
    /// counts as the agent's.
    pub(crate) fn behind_links(&mut self, walk: &Walk) {
        let walked: BTreeSet<&Path> = walk.repositories.iter().map(|one| one.path.as_path()).collect();
        let mut seen = HashSet::new();
        for link in &walk.links {
            if self.is_out_of_time() {
                break;
            }
            let (path, stat) = match self.resolve(Path::new(""), link) {
                Ok(Leads::To { path, stat, .. }) => (path, stat),
                // What lies there cannot be reached from inside.
                Ok(Leads::Unfollowed { missing: None, .. }) => {
                    self.leads_out.push(link.clone());
                    continue;
                }
                Ok(Leads::Unfollowed { missing: Some(missing), .. }) => {
                    self.inward.push((link.clone(), missing));
                    continue;
                }
                Ok(Leads::Nowhere { .. }) | Err(_) => continue,
            };
            self.inward.push((link.clone(), path.clone()));
            if !is(FileType::Directory, &stat) {
                continue;
            }
            for directory in path.ancestors().take_while(|directory| *directory != Path::new("")) {
                if walked.contains(directory) || !seen.insert(directory.to_path_buf()) {
                    break;
                }
                // Git looks further up where it refuses what is here.
                self.behind = Some(link.clone());
                for git in self.repositories_in(directory) {
                    self.repository(directory, git);
                }
                self.behind = None;
            }
        }
    }

    /// Lists what makes a directory a repository: a `.git`, or its own content where git refuses that, or both.
    pub(crate) fn repositories_in(&self, directory: &Path) -> impl Iterator<Item = Git> + use<> {
        let stat = beneath::stat(self.root, &directory.join(".git")).ok();
        let dot_git = match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Some(FileType::Directory) => Some(Git::Directory),
            Some(FileType::RegularFile) => Some(Git::File),
            Some(FileType::Symlink) => Some(Git::Link),
            _ => None,
        };
        dot_git.into_iter().chain(self.is(PointerTarget::Repository, directory).then_some(Git::Bare))
    }
}
