//! Links to where an agent cannot write: out of the boundary, or to something protected in it. Programs of the host write through them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use policy::protect::table;
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::progress::Search;
use super::resolve::{Unresolved, asks_others, canonical};
use crate::boundary::protect::mounts::{LeadsTo, Outward};
use crate::boundary::protect::reach::Base;
use crate::host::beneath;

impl Search<'_> {
    /// Remembers a link that leads out of the boundary: to a directory, or to what this user may write or make.
    pub(super) fn outward(&mut self, link: &Path) {
        let as_it_is = || beneath::read_link(self.root, link).unwrap_or_default();
        let (target, to) = match canonical(self.host, &self.host.join(link)) {
            Ok(target) if target.starts_with(self.host) => return,
            // To ask what is there would ask others.
            Ok(target) if asks_others(&target) => (target, LeadsTo::File),
            Ok(target) if target.is_dir() => (target, LeadsTo::Directory),
            Ok(target) if target == Path::new("/dev/null") || self.is_of_environment(link, &target) => return,
            // A terminal takes what is written to it for commands, and whoever reads from a pipe may.
            Ok(target) if may(&target, Access::WRITE_OK) => (target, LeadsTo::File),
            Ok(_) => return,
            Err(Unresolved::Missing { at }) => {
                let is_makeable = at.parent().is_some_and(|parent| may(parent, Access::WRITE_OK));
                if !is_makeable
                    || at.symlink_metadata().map_err(|error| error.kind()).err() != Some(ErrorKind::NotFound)
                {
                    return;
                }
                (at, LeadsTo::File)
            }
            Err(Unresolved::Unknown) => (as_it_is(), LeadsTo::File),
        };
        self.remember_outward(link, &target, to);
    }

    /// Remembers the links in the boundary that lead to git's own data, or to something else that is protected.
    pub(super) fn links_to_protected(&mut self) {
        let bases: Vec<Base> = self.reach.bases().cloned().collect();
        let of = |is_one: fn(&Base) -> bool| -> BTreeSet<&Path> {
            bases.iter().filter(|base| is_one(base)).map(Base::path).collect()
        };
        let trees = of(|base| matches!(base, Base::Tree(_)));
        // What a configuration or a link names is obeyed as soon as it is there.
        let led = of(|base| matches!(base, Base::Led(_)));
        for (link, target) in std::mem::take(&mut self.inward) {
            if self.is_out_of_time() {
                return;
            }
            if self.is_of_git(&link, &target) || self.is_unmade(&target, &trees, &led) {
                self.remember_outward(&link, &target, LeadsTo::Unmade);
            } else if target.ancestors().any(|above| self.read_only.contains_key(above)) {
                self.remember_outward(&link, &target, LeadsTo::Protected);
            }
        }
    }

    /// Remembers one. There are no more of them than the walk keeps links.
    fn remember_outward(&mut self, link: &Path, target: &Path, to: LeadsTo) {
        self.outward.push(Outward { path: link.into(), target: target.into(), to });
    }

    /// Returns whether a link outside of git's data leads into it. git-annex links to the content that it keeps there.
    fn is_of_git(&self, link: &Path, target: &Path) -> bool {
        let is_data = |git: &Path| {
            let is_annexed = target.starts_with(git.join("annex/objects"));
            self.seen_git.contains(git) && !link.starts_with(git) && !is_annexed
        };
        target.ancestors().take_while(|above| *above != Path::new("")).any(is_data)
    }

    /// Returns whether a path is on the list and nothing is there.
    fn is_unmade(&self, target: &Path, trees: &BTreeSet<&Path>, led: &BTreeSet<&Path>) -> bool {
        let is_listed = |tree: &Path| {
            let Ok(relative) = target.strip_prefix(tree) else { return false };
            let Some(first) = relative.iter().next() else { return false };
            // On some file systems upper and lower case are the same.
            let folded = Path::new(relative).to_string_lossy().to_ascii_lowercase();
            let covers = |listed: &Path| {
                table::covers(&listed.to_string_lossy().to_ascii_lowercase(), Path::new(&folded))
            };
            self.in_tree.beginning_with(first.as_encoded_bytes()).iter().any(|listed| covers(listed))
        };
        let is_led = target.ancestors().any(|above| led.contains(above));
        let is_listed = target.ancestors().skip(1).filter(|above| trees.contains(above)).any(is_listed);
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
