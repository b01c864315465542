//! The names in a directory by which git, or another system, takes it for a repository.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use policy::text::fold;
use rustix::fs::{AtFlags, FileType};

use super::found::{Extent, Git};
use crate::host::beneath::file_id;

/// What of a directory makes it a repository. What the listing cannot show is taken for what git wants: the agent may
/// change it while it runs.
#[derive(Default, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a name that is there or not")]
pub(super) struct Signs {
    git: Option<Git>,
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
    config: bool,
    is_obeyed: bool,
    pub(super) is_tree: bool,
}

impl Signs {
    const NAMES: [&'static CStr; 14] = [
        c".git", c"HEAD", c"objects", c"refs", c"commondir", c"config", c"config.worktree", c"hooks", c".hg",
        c".jj", c".sl", c".bzr", c".pijul", c"_darcs",
    ];

    /// Returns whether an entry of this name can be a sign.
    pub(super) fn concern(name: &CStr) -> bool {
        Self::NAMES.contains(&name)
    }

    /// Returns the sign that a file system may find under another name.
    fn alike(name: &CStr) -> Option<&'static CStr> {
        let bytes = name.to_bytes();
        // Most names begin with another letter.
        let begins = matches!(
            bytes.first(),
            Some(b'.' | b'_' | b'H' | b'h' | b'O' | b'o' | b'R' | b'r' | b'C' | b'c' | b'G' | b'g' | 0x80..)
        );
        if !begins || Self::concern(name) {
            return None;
        }
        if bytes.eq_ignore_ascii_case(b"git~1") {
            return Some(c".git");
        }
        let is_same = |sign: &&CStr| !bytes.is_ascii() && fold::is_same(bytes, sign.to_bytes());
        if let Some(sign) = Self::NAMES.into_iter().find(is_same) {
            return Some(sign);
        }
        // Which letters beyond ASCII are ignored is not for us to say.
        let letters = || bytes.iter().filter(|byte| byte.is_ascii()).map(u8::to_ascii_lowercase);
        Self::NAMES.into_iter().find(|sign| letters().eq(sign.to_bytes().iter().map(u8::to_ascii_lowercase)))
    }

    pub(super) fn note(&mut self, name: &CStr, kind: FileType) {
        match name.to_bytes() {
            b".git" => {
                self.git = match kind {
                    FileType::Directory => Some(Git::Directory),
                    FileType::RegularFile => Some(Git::File),
                    FileType::Symlink => Some(Git::Link),
                    _ => None,
                }
            }
            b"HEAD" => self.head = kind != FileType::Directory,
            // Git only asks whether it may execute them, as directories or as files.
            b"objects" => self.objects = true,
            b"refs" => self.refs = true,
            b"commondir" => self.common = kind != FileType::Directory,
            b"config" | b"config.worktree" => {
                self.config |= name == c"config" && kind != FileType::Directory;
                self.is_obeyed |= kind != FileType::Directory;
            }
            b"hooks" => self.is_obeyed |= kind == FileType::Directory,
            other => self.is_tree |= is_data_of_another_system(other),
        }
    }

    /// Lists what makes a directory a repository, and what may be a bare one as soon as one more name is there: times do
    /// not show when a directory that is old itself was moved to where it lies.
    pub(super) fn possible_repositories(&self) -> impl Iterator<Item = Git> {
        let is_almost = self.head || (self.objects && self.refs);
        self.git.into_iter().chain(is_almost.then_some(Git::Bare))
    }

    /// Returns whether there is something that git would obey beside a name that makes a directory a repository.
    pub(super) fn is_part(&self) -> bool {
        self.is_obeyed && (self.head || self.objects || self.refs || self.common)
    }

    /// Lists what makes a directory a repository. Before a command runs, what has `refs` and a configuration may be one, too: an agent may have
    /// taken the rest away for a while.
    pub(super) fn repositories(&self, extent: Extent) -> impl Iterator<Item = Git> {
        // So git recognises a bare repository, see `is_git_directory` of its setup.c. It prefers a `.git`, unless that is none,
        // and any `.git` may be gone or spoilt by the time git looks.
        let has_data = self.common || (self.objects && self.refs);
        let may_be_one = extent == Extent::Bounded && self.refs && self.config;
        let is_bare = self.head && has_data || may_be_one;
        self.git.into_iter().chain(is_bare.then_some(Git::Bare))
    }
}

/// Returns whether a directory of this name holds the data of another system than git, in a work tree of that.
pub(crate) fn is_data_of_another_system(name: &[u8]) -> bool {
    matches!(name, b".hg" | b".jj" | b".sl" | b".bzr" | b".pijul" | b"_darcs")
}

/// Returns the name by which git looks for an entry, where the file system takes both for the same: in upper or lower
/// case, with letters that it ignores, or by a short name.
pub(super) fn name_for_git<'a>(directory: &OwnedFd, name: &'a CStr) -> &'a CStr {
    let Some(sign) = Signs::alike(name) else { return name };
    let is_it = |name: &CStr| {
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| file_id(&stat))
    };
    let sign_id = is_it(sign);
    if sign_id.is_some() && sign_id == is_it(name) { sign } else { name }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::host::beneath::listing;

    #[test]
    fn the_data_of_other_programs_make_a_directory_a_work_tree() {
        let is_tree = |name: &CStr| {
            let mut signs = Signs::default();
            signs.note(name, FileType::Directory);
            Signs::concern(name) && signs.is_tree
        };
        for name in [c".hg", c".jj", c".sl", c".bzr", c".pijul", c"_darcs"] {
            assert!(is_tree(name), "{name:?}");
        }
        assert!(!is_tree(c"objects") && !is_tree(c".cvs"), "the control");
    }

    #[test]
    fn a_sign_is_known_under_every_name_that_a_file_system_may_find_it_by() {
        for (name, sign) in [
            (c".GIT", Some(c".git")),
            (c".g\u{200c}it", Some(c".git")),
            (c"GIT~1", Some(c".git")),
            (c"Object\u{17f}", Some(c"objects")),
            (c"head", Some(c"HEAD")),
            (c"Objects", Some(c"objects")),
            (c".git", None),
            (c".gitx", None),
            (c"git", None),
            (c"x", None),
        ] {
            assert_eq!(Signs::alike(name), sign, "{name:?}");
        }
        // Where upper and lower case differ, they are different files; a second name of one is the same.
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join(".GIT"), "").unwrap();
        let root = listing(std::fs::File::open(top.path()).unwrap(), Path::new("")).unwrap();
        assert_eq!(name_for_git(&root, c".GIT"), c".GIT");
        std::fs::hard_link(top.path().join(".GIT"), top.path().join(".git")).unwrap();
        assert_eq!(name_for_git(&root, c".GIT"), c".git");
    }
}
