//! New links to where an agent cannot write. Nothing obeys them, but whoever writes to one later writes there, and whoever shares one
//! shares what it leads to.

use std::os::fd::AsFd;
use std::path::Path;

use policy::classify::Reason;
use policy::text::escape;

use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::origin::Touched;
use crate::boundary::protect::mounts::{LinkTarget, Mounts, Outward};

impl Baseline {
    /// Returns the links found by the last scan that were not there at the start, or led elsewhere. Most are reported and stay: many are
    /// what a project needs. Those that are only good for being written through are to be quarantined.
    pub fn new_links_out(&self, root: impl AsFd, mounts: &Mounts) -> Vec<Finding> {
        let root = root.as_fd();
        let was_there =
            |path: &Path| self.links.binary_search_by(|link| link.as_os_str().cmp(path.as_os_str())).is_ok();
        let mut found = Vec::new();
        for one in &mounts.outward {
            let origin = match self.touched(root, &one.path) {
                Touched::Since => FindingOrigin::Created,
                // An old one, in a directory that has been moved.
                Touched::Before | Touched::Unknown if self.is_whole && !was_there(&one.path) => {
                    FindingOrigin::Earlier
                }
                Touched::Before | Touched::Unknown => continue,
            };
            // What has become protected only now the command could write.
            let was_protected = || one.target.ancestors().any(|above| self.entry(above).is_some());
            if one.to == LinkTarget::Protected && !was_protected() {
                continue;
            }
            let path = one.path.clone();
            found.push(Finding { path, reason: reason(one), origin, quarantined: None, restored: false });
        }
        // Not all may be named, and those that are moved matter more.
        found.sort_by_key(Finding::stays);
        found
    }
}

fn reason(one: &Outward) -> Reason {
    let target = escape::path(&one.target);
    match one.to {
        LinkTarget::Directory => Reason::LinksOut { target },
        LinkTarget::Unmade => Reason::WritesThrough { target },
        LinkTarget::File | LinkTarget::Protected if is_made_by_git(&one.path) => {
            Reason::WritesThrough { target }
        }
        LinkTarget::File | LinkTarget::Protected => Reason::LinksTo { target },
    }
}

/// Returns whether a command of git's makes a file of this name in a work tree by itself, and writes through a link there: a patch of
/// `git format-patch`, what `git apply --reject` leaves, or what `git mergetool` keeps of a file in conflict.
fn is_made_by_git(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_kept = name.ends_with(b".orig") || name.ends_with(b".rej");
    // With `--reroll-count`, `v2-` comes first.
    let version = name.strip_prefix(b"v").and_then(|rest| rest.split(|byte| *byte == b'-').next());
    let number = match version {
        Some(version) => name.get(version.len() + 2..).unwrap_or_default(),
        None => name,
    };
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_numbered = digits >= 4 && number.get(digits) == Some(&b'-');
    // A year begins with no zero, and nobody has a thousand patches under another ending.
    let is_patch = digits == 4 && number.starts_with(b"0") || number.ends_with(b".patch");
    is_kept || is_numbered && is_patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_makes_are_known() {
        for name in [
            "0001-fix.patch", "0000-cover-letter.patch", "12345-x.patch", "v2-0001-fix.patch",
            "v1.1-0001-x.patch", "sub/0003-a.eml", "main.c.orig", "x.rej",
        ] {
            assert!(is_made_by_git(Path::new(name)), "{name}");
        }
        for name in [
            "001-fix.patch", "fix.patch", "v2-notes", "origin", "v-0001", "0001", "2024-01-15-post.md",
            "20240101-a.tar",
        ] {
            assert!(!is_made_by_git(Path::new(name)), "{name}");
        }
    }
}
