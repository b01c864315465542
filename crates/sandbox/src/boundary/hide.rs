//! The search for what is hidden in a boundary: the whole tree is looked through, without following a link, because what is
//! not found is shown.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use policy::plan::FileId;
use policy::rules::hide::HidePatterns;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::boundary::protect::mounts::{FileKind, HiddenPath};
use crate::boundary::root::Entered;
use crate::host::beneath::{self, entries, file_id};
use crate::host::deadline::Deadline;

/// How long the name of an object of git-lfs is, its SHA-256 in hexadecimal digits.
const OBJECT_NAME_LENGTH: usize = 64;

/// How long the path of a directory is at most in which single files are hidden, in bytes from the boundary on. The kernel mounts nothing at a
/// path of 4096 (`PATH_MAX`), and that of the boundary comes before it.
const LONGEST_PATH: usize = 3072;

/// How many paths are found at most. No start covers as many.
const MAX_FOUND: usize = 100_000;

/// How many objects of git-lfs are found at most. They take a quarter of a gigabyte.
const MAX_OBJECTS: usize = 1_000_000;

/// How many entries are read between two looks at the clock.
const BETWEEN_LOOKS: usize = 1024;

/// What is looked for.
#[derive(Clone, Copy)]
pub(crate) enum HideQuery<'a> {
    /// What these patterns name.
    Named(&'a HidePatterns),
    /// These very files and directories, whatever they are called.
    SameFiles(&'a HashSet<FileId>),
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct HideSearch {
    /// Files and directories. A directory stands for all that is in it.
    pub(crate) hidden: Vec<HiddenPath>,
    /// Links that are named so: what they lead to is to be hidden in their place.
    pub(crate) links: Vec<PathBuf>,
    /// Links beneath which something is named: patterns do not follow them.
    pub(crate) in_the_way: Vec<PathBuf>,
    /// Files that have the name of an object of git-lfs, wherever its store is.
    pub(crate) objects: Vec<NamedByHash>,
    /// Files that are hidden by a name and have others.
    pub(crate) linked: HashSet<FileId>,
    /// Whether there was time to look at everything.
    pub(crate) is_whole: bool,
}

/// A file whose name is a SHA-256, as the one of its content.
#[derive(Debug)]
pub(crate) struct NamedByHash {
    pub(crate) path: PathBuf,
    pub(crate) file_id: FileId,
    pub(crate) size: u64,
}

/// Something that is hidden, by its path on the host.
pub(crate) struct HiddenOnHost {
    pub(crate) path: PathBuf,
    pub(crate) file_id: FileId,
    pub(crate) kind: FileKind,
    /// The boundary that hides it.
    pub(crate) by: String,
}

/// Looks through a boundary. A directory that the agent's user cannot read is hidden whole if something in it might have to be: its owner
/// could open it.
pub(crate) fn search(
    root: &Entered<'_>,
    wanted: HideQuery<'_>,
    until: Deadline,
) -> Result<HideSearch, Errno> {
    let mut walker = Walker {
        wanted,
        until,
        entries: 0,
        waiting: Vec::new(),
        found: HideSearch { is_whole: true, ..HideSearch::default() },
    };
    let directory = beneath::listing(root, Path::new(""))?;
    walker.read(&Rc::new(Directory { directory, path: PathBuf::new() }), Within::Shown)?;
    while let Some((parent, name, within)) = walker.waiting.pop() {
        if !walker.found.is_whole {
            break;
        }
        walker.enter(&parent, &name, within)?;
    }
    Ok(walker.found)
}

/// A directory in which others are still to be looked at.
struct Directory {
    directory: OwnedFd,
    path: PathBuf,
}

/// Where something lies.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Within {
    Shown,
    /// In a directory that is hidden.
    Hidden,
}

struct Walker<'a> {
    wanted: HideQuery<'a>,
    until: Deadline,
    entries: usize,
    waiting: Vec<(Rc<Directory>, OsString, Within)>,
    found: HideSearch,
}

impl Walker<'_> {
    fn enter(&mut self, parent: &Directory, name: &OsString, within: Within) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = parent.path.join(name);
        // No mount reaches what lies deeper, and an agent can make such directories one by one.
        if within == Within::Shown && path.as_os_str().len() > LONGEST_PATH {
            return self.hide_unsearched(parent, path, name);
        }
        match rustix::fs::openat(&parent.directory, name, flags, Mode::empty()) {
            Ok(directory) => self.read(&Rc::new(Directory { directory, path }), within),
            // One that is gone by now, or became something else, is no directory to hide anything in.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(_) if within == Within::Hidden => Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => self.hide_unsearched(parent, path, name),
            Err(errno) => Err(errno),
        }
    }

    fn read(&mut self, parent: &Rc<Directory>, within: Within) -> Result<(), Errno> {
        for entry in entries(parent.directory.as_fd())? {
            let (name, kind) = entry?;
            self.entries += 1;
            let is_looked_at = self.entries % BETWEEN_LOOKS == 0;
            let is_too_much = self.found.hidden.len() > MAX_FOUND || self.found.objects.len() > MAX_OBJECTS;
            if (is_looked_at && self.until.is_over()) || is_too_much {
                self.found.is_whole = false;
                return Ok(());
            }
            let path = parent.path.join(&name);
            let is_directory = kind == FileType::Directory;
            match self.wanted {
                _ if within == Within::Hidden && is_directory => {
                    self.waiting.push((Rc::clone(parent), name, within));
                }
                _ if within == Within::Hidden => self.note_names(parent, &name),
                HideQuery::Named(patterns) if kind == FileType::Symlink && patterns.hide_by_link(&path) => {
                    self.found.links.push(path);
                }
                HideQuery::Named(patterns)
                    if kind != FileType::Symlink && patterns.hide(&path, is_directory) =>
                {
                    if is_directory {
                        self.waiting.push((Rc::clone(parent), name.clone(), Within::Hidden));
                    } else {
                        self.note_names(parent, &name);
                    }
                    self.hide(parent, path, &name)?;
                }
                // Quarantines and objects are in any directory.
                HideQuery::Named(_) if is_directory => {
                    self.waiting.push((Rc::clone(parent), name, within));
                }
                HideQuery::Named(patterns) => {
                    // A pattern that says as much of the root says it of whatever the link leads to.
                    let root = Path::new("");
                    if kind == FileType::Symlink && patterns.hiding_beneath_link(&path, root).is_some() {
                        self.found.in_the_way.push(path);
                    } else if kind == FileType::RegularFile && is_hash(&name) {
                        self.note_object(parent, path, &name);
                    }
                }
                HideQuery::SameFiles(files) => {
                    let stat = rustix::fs::statat(&parent.directory, &name, AtFlags::SYMLINK_NOFOLLOW);
                    if stat.is_ok_and(|stat| files.contains(&file_id(&stat))) {
                        self.hide(parent, path, &name)?;
                    }
                    if is_directory {
                        self.waiting.push((Rc::clone(parent), name, within));
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes a file that has other names.
    fn note_names(&mut self, parent: &Directory, name: &OsString) {
        if let Ok(stat) = rustix::fs::statat(&parent.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            if stat.st_nlink > 1 {
                self.found.linked.insert(file_id(&stat));
            }
        }
    }

    fn note_object(&mut self, parent: &Directory, path: PathBuf, name: &OsString) {
        if let Ok(stat) = rustix::fs::statat(&parent.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            let size = u64::try_from(stat.st_size).unwrap_or_default();
            self.found.objects.push(NamedByHash { path, file_id: file_id(&stat), size });
        }
    }

    /// Hides a directory that cannot be searched, unless no pattern was given that could be of something in it.
    fn hide_unsearched(&mut self, parent: &Directory, path: PathBuf, name: &OsString) -> Result<(), Errno> {
        match self.wanted {
            HideQuery::Named(patterns) if !patterns.has_given() => Ok(()),
            HideQuery::Named(_) | HideQuery::SameFiles(_) => self.hide(parent, path, name),
        }
    }

    fn hide(&mut self, parent: &Directory, path: PathBuf, name: &OsString) -> Result<(), Errno> {
        match rustix::fs::statat(&parent.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let kind = FileType::from_raw_mode(stat.st_mode).into();
                self.found.hidden.push(HiddenPath { path, file_id: file_id(&stat), kind });
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

fn is_hash(name: &OsString) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == OBJECT_NAME_LENGTH && name.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::boundary::root::Root;
    use crate::host::identity::Identity;

    fn searched(top: &Path, wanted: HideQuery<'_>) -> (Vec<String>, HideSearch) {
        let directory = fs::File::open(top).unwrap();
        let root = Root::of(directory.into(), Identity::own()).unwrap();
        let search = search(&root.enter().unwrap(), wanted, Deadline::NEVER).unwrap();
        let mut paths: Vec<String> =
            search.hidden.iter().map(|hidden| hidden.path.display().to_string()).collect();
        paths.sort();
        (paths, search)
    }

    #[test]
    fn everything_that_is_named_so_is_found_however_deep() {
        let top = tempfile::tempdir().unwrap();
        for directory in ["a/b/c/d/e/f", "a/secrets/inner", "node_modules/x", ".git"] {
            fs::create_dir_all(top.path().join(directory)).unwrap();
        }
        for file in
            [".env", "a/b/c/d/e/f/.env", "a/secrets/.env", "node_modules/x/.env", ".git/.env", "other"]
        {
            fs::write(top.path().join(file), "").unwrap();
        }
        symlink("../other", top.path().join("a/.env")).unwrap();
        let patterns: HidePatterns = [".env", "secrets/"].iter().map(|text| text.parse().unwrap()).collect();
        let (paths, search) = searched(top.path(), HideQuery::Named(&patterns));
        assert_eq!(paths, [".env", ".git/.env", "a/b/c/d/e/f/.env", "a/secrets", "node_modules/x/.env"]);
        assert_eq!(search.links, [Path::new("a/.env")]);
        assert!(search.is_whole && search.linked.is_empty());
    }

    #[test]
    fn a_second_name_of_what_is_hidden_is_found_also_where_the_first_is_in_a_hidden_directory() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("secrets/deep")).unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        fs::write(top.path().join("secrets/deep/key"), "").unwrap();
        fs::hard_link(top.path().join("secrets/deep/key"), top.path().join("a/b/link")).unwrap();
        let patterns: HidePatterns = ["secrets/".parse().unwrap()].into_iter().collect();
        let (paths, search) = searched(top.path(), HideQuery::Named(&patterns));
        assert_eq!((paths.as_slice(), search.linked.len()), (&["secrets".to_owned()][..], 1));
        let (paths, _) = searched(top.path(), HideQuery::SameFiles(&search.linked));
        assert_eq!(paths, ["a/b/link", "secrets/deep/key"]);
    }

    #[test]
    fn a_directory_that_is_too_deep_to_be_mounted_over_is_hidden_whole() {
        let top = tempfile::tempdir().unwrap();
        let name = "d".repeat(200);
        let mut at = fs::File::open(top.path()).unwrap();
        for _ in 0..25 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).unwrap().into();
        }
        rustix::fs::openat(&at, ".env", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
        let patterns: HidePatterns = [".env".parse().unwrap()].into_iter().collect();
        let (paths, _) = searched(top.path(), HideQuery::Named(&patterns));
        assert_eq!(paths, [vec![name; 16].join("/")]);
    }

    #[test]
    fn a_search_that_has_no_time_says_so() {
        let top = tempfile::tempdir().unwrap();
        for number in 0..=BETWEEN_LOOKS {
            fs::write(top.path().join(number.to_string()), "").unwrap();
        }
        let patterns: HidePatterns = [".env".parse().unwrap()].into_iter().collect();
        let root = Root::of(fs::File::open(top.path()).unwrap().into(), Identity::own()).unwrap();
        let root = root.enter().unwrap();
        let search = |until| search(&root, HideQuery::Named(&patterns), until).unwrap().is_whole;
        assert!(search(Deadline::NEVER));
        assert!(!search(Deadline::after(std::time::Duration::ZERO)));
    }
}
