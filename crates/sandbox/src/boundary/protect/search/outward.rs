//! Links to where an agent cannot write: out of the boundary, or to something protected in it. Programs of the host write through them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use policy::protect::table;
use policy::text::fold;
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::progress::Search;
use super::resolve::{Unresolved, asks_others, canonical};
use crate::boundary::protect::mounts::{LinkTarget, Outward};
use crate::boundary::protect::reach::{Base, Reach};
use crate::boundary::walk::Extent;
use crate::host::beneath;
use crate::host::follow::traversed_paths;

/// Where paths of the list are looked for.
pub(super) struct ListedPaths<'r> {
    trees: BTreeSet<&'r Path>,
    /// What a configuration or a link names: it is obeyed as soon as it is there.
    led: BTreeSet<&'r Path>,
}

impl<'r> ListedPaths<'r> {
    pub(super) fn of(reach: &'r Reach) -> Self {
        let mut listed = Self { trees: BTreeSet::new(), led: BTreeSet::new() };
        for base in reach.bases() {
            match base {
                Base::Tree(path) => drop(listed.trees.insert(path)),
                // Whatever leads to the boundary itself says nothing of a path in it.
                Base::Led(path) if path == Path::new("") => {}
                Base::Led(path) => drop(listed.led.insert(path)),
                Base::Git(_) | Base::Passed(_) => {}
            }
        }
        listed
    }
}

impl Search<'_> {
    /// Notes where a protected path leads that leads out of the boundary.
    pub(super) fn note_listed_out(&mut self, path: &Path) {
        let target = match canonical(self.host, &self.host.join(path)) {
            Ok(target) | Err(Unresolved::Missing { at: target }) => Some(target),
            Err(Unresolved::Unknown) => None,
        };
        self.listed_out.insert(path.into(), target);
    }

    /// Notes a link at a protected path that leads out of the boundary and into it again.
    pub(super) fn note_passing_out(&mut self, path: &Path, links: &[PathBuf]) {
        let is_outside = |place: &PathBuf| !place.starts_with(self.host) && place.is_symlink();
        if !path.is_relative() || links.is_empty() {
            return;
        }
        let at = self.host.join(path);
        // What another machine or program would have to answer for is not on this way.
        if canonical(self.host, &at).is_ok() && traversed_paths(&at).0.iter().any(is_outside) {
            self.passing_out.insert(path.into());
        }
    }

    /// Looks where the links lead that lead out of the boundary, or to something in it: in the last look, when all else is known.
    pub(super) fn outward_links(&mut self) {
        if self.extent == Extent::Bounded {
            return;
        }
        let (inward, leads_out) = (std::mem::take(&mut self.inward), std::mem::take(&mut self.leads_out));
        let listed = ListedPaths::of(&self.reach);
        let inside = inward.into_iter().filter_map(|(path, target)| {
            let to = self.target_inside(&path, &target, &listed)?;
            Some(Outward { path, target, to })
        });
        let outside = leads_out.into_iter().filter_map(|path| {
            let (target, to) = self.target_outside(&path)?;
            Some(Outward { path, target, to })
        });
        self.outward = inside.chain(outside).take_while(|_| !self.until.is_over()).collect();
        self.is_out_of_time();
    }

    /// Returns what a link leads to that leads to this path in the boundary, if an agent cannot write there.
    fn target_inside(&self, link: &Path, target: &Path, listed: &ListedPaths<'_>) -> Option<LinkTarget> {
        if self.is_of_git(link, target) || self.is_unmade(link, target, listed) {
            return Some(LinkTarget::Unmade);
        }
        self.is_protected(target).then_some(LinkTarget::Protected)
    }

    /// Returns where a link leads that leads out of the boundary: to a directory, or to what this user may write or make.
    fn target_outside(&self, link: &Path) -> Option<(PathBuf, LinkTarget)> {
        match canonical(self.host, &self.host.join(link)) {
            Ok(target) if self.mounted.leads(&target).is_some() => None,
            // To ask what is there would ask others.
            Ok(target) if asks_others(&target) => Some((target, LinkTarget::File)),
            Ok(target) if target.is_dir() => Some((target, LinkTarget::Directory)),
            Ok(target) if target == Path::new("/dev/null") || self.is_of_environment(link, &target) => None,
            // A terminal takes what is written to it for commands, and whoever reads from a pipe may.
            Ok(target) => may(&target, Access::WRITE_OK).then_some((target, LinkTarget::File)),
            Err(Unresolved::Missing { at }) => {
                let is_makeable = at.parent().is_some_and(|parent| may(parent, Access::WRITE_OK));
                let found = at.symlink_metadata().map_err(|error| error.kind());
                (is_makeable && found.err() == Some(ErrorKind::NotFound)).then_some((at, LinkTarget::File))
            }
            Err(Unresolved::Unknown) => Some((beneath::read_link(self.root, link).ok()?, LinkTarget::File)),
        }
    }

    /// Returns whether something in the boundary is protected, by itself or with a directory that it lies in.
    pub(super) fn is_protected(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.read_only.contains_key(above))
    }

    /// Returns whether a link outside of git's data leads into it. git-annex links to the content of files that it keeps there.
    pub(super) fn is_of_git(&self, link: &Path, target: &Path) -> bool {
        let git = self.data_around(target);
        git.is_some_and(|git| !link.starts_with(git)) && self.annex_around(target).is_none()
    }

    /// Returns whether a path is on the list and nothing is there. A link that lies beneath the same path of the list is the work of
    /// whoever works there.
    pub(super) fn is_unmade(&self, link: &Path, target: &Path, listed: &ListedPaths<'_>) -> bool {
        let is_listed = |tree: &Path| {
            let Ok(relative) = target.strip_prefix(tree) else { return false };
            let Some(first) = relative.iter().next() else { return false };
            let link = link.strip_prefix(tree).unwrap_or(Path::new(""));
            // On some file systems upper and lower case are the same.
            let (target, link) = (fold::path(relative), fold::path(link));
            let covers = |listed: &str| {
                table::covers(listed, Path::new(&target)) && !table::covers(listed, Path::new(&link))
            };
            self.in_tree
                .beginning_with(first.as_encoded_bytes())
                .iter()
                .any(|listed| covers(&fold::path(listed)))
        };
        // That a repository as a whole is led to says nothing of the content of files that git-annex keeps in it.
        let annex = self.annex_around(target);
        let mut around = target.ancestors().take_while(|above| Some(*above) != annex);
        let is_led = around.any(|above| listed.led.contains(above));
        let is_listed =
            target.ancestors().skip(1).filter(|above| listed.trees.contains(above)).any(is_listed);
        (is_led || is_listed) && beneath::stat(self.root, target).err() == Some(Errno::NOENT)
    }

    /// Returns whether a link is the interpreter of a virtual environment of Python's: in the `bin` beside its settings, by the names of
    /// both.
    fn is_of_environment(&self, link: &Path, target: &Path) -> bool {
        let is_interpreter = |path: &Path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            [&b"python"[..], b"pypy"].iter().filter_map(|start| name.strip_prefix(*start)).any(|version| {
                version.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b't'))
            })
        };
        let directory = link.parent().filter(|parent| parent.ends_with("bin")).and_then(Path::parent);
        let has_settings =
            directory.is_some_and(|above| beneath::stat(self.root, &above.join("pyvenv.cfg")).is_ok());
        has_settings && is_interpreter(link) && is_interpreter(target)
    }
}

/// Returns whether this thread has a right to something. Where the kernel does not say, it has.
fn may(path: &Path, access: Access) -> bool {
    let refused = [Errno::ACCESS, Errno::ROFS, Errno::PERM, Errno::NOENT, Errno::NOTDIR];
    let answer = rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS);
    answer.err().is_none_or(|errno| !refused.contains(&errno))
}
