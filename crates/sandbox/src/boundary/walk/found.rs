//! What a walk found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use policy::plan::FileId;

/// How many paths of a kind that may be frequent are kept as examples.
const EXAMPLES: usize = 5;

/// What a walk found. Paths are relative to the boundary; the boundary itself is the empty path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Walk {
    pub root: FileId,
    /// Directories that git takes for repositories, the outer ones first. One that may be a bare repository beside its
    /// `.git` is here twice.
    pub repositories: Vec<Repository>,
    /// Work trees of Mercurial, Jujutsu and Sapling.
    pub trees: Vec<PathBuf>,
    pub sockets: Vec<SocketFile>,
    /// Links outside git's own directories. They may lead to what was not entered.
    pub links: Vec<PathBuf>,
    /// Files and directories with names that read as options, in what is searched and was read.
    pub options: Vec<PathBuf>,
    /// Directories and links with names by which git-annex looks for programs, in what is searched.
    pub annex_programs: Vec<PathBuf>,
    /// Directories that could not be read. What is in them is not protected.
    pub unread: Vec<UnreadDirectory>,
    /// Directories deeper than the bound, which were not entered. What is in them is not protected.
    pub deeper: Unseen,
    /// Directories that were not entered because of their name, see [`SKIPPED`](policy::protect::SKIPPED). What is in them is not
    /// protected.
    pub skipped: Unseen,
    /// Directories of other file systems, which were not entered. What is in them is not protected.
    pub other_file_systems: Vec<PathBuf>,
    /// Privileged files, where they were looked for.
    pub privileged: Vec<Privileged>,
    /// How many files were not examined for it, because there are too many.
    pub unasked: usize,
    /// What was found beyond the bound, where it was looked for.
    pub beyond: Beyond,
    /// Whether it was.
    pub extent: Extent,
    /// What is in the boundary's root, in work trees and in the `.git` of each: protected paths are looked for there.
    pub names: Names,
    /// Whether there was time, and room, to look at everything.
    pub is_whole: bool,
}

/// The names in some directories, so that these need not be listed again. Those of very large ones are not kept.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Names(pub(super) BTreeMap<PathBuf, Box<[u8]>>);

impl Names {
    /// Lists the names in a directory, if they were kept.
    pub fn of(&self, directory: &Path) -> Option<impl Iterator<Item = &[u8]>> {
        self.0
            .get(directory)
            .map(|names| names.split_inclusive(|byte| *byte == 0).map(|name| &name[..name.len() - 1]))
    }
}

/// What lies in directories that are too deep, or skipped because of their name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Beyond {
    /// Repositories, and what lacks no more than one name to be one.
    pub repositories: Vec<Repository>,
    /// Directories anywhere that are no repositories and hold what git would obey beside a name that makes one: the next command
    /// may put them together, when all of it is old.
    pub parts: Vec<PathBuf>,
    /// Directories that could not be read.
    pub unread: Vec<PathBuf>,
}

/// What is done with directories beyond the bound.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Extent {
    /// They are counted.
    #[default]
    Bounded,
    /// They are searched for repositories, when everything else is done.
    Whole,
}

/// A file that is set-user-id or set-group-id, or has capabilities.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Privileged {
    pub path: PathBuf,
    pub file_id: FileId,
}

/// A directory that git takes for a repository.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repository {
    pub path: PathBuf,
    pub git: Git,
}

/// Where git keeps the data of a repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Git {
    /// In `.git`.
    Directory,
    /// Where the file `.git` says.
    File,
    /// Where the link `.git` leads.
    Link,
    /// In the directory itself: a bare repository.
    Bare,
}

/// A Unix socket.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SocketFile {
    pub path: PathBuf,
    pub file_id: FileId,
}

/// A directory that could not be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnreadDirectory {
    pub path: PathBuf,
    pub errno: i32,
}

/// Directories that were not entered: how many, and some of them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Unseen {
    pub count: usize,
    /// The first ones that were met.
    pub examples: Vec<PathBuf>,
}

impl Walk {
    pub(super) fn join(&mut self, other: Self) {
        self.repositories.extend(other.repositories);
        self.trees.extend(other.trees);
        self.sockets.extend(other.sockets);
        self.links.extend(other.links);
        self.options.extend(other.options);
        self.annex_programs.extend(other.annex_programs);
        self.unread.extend(other.unread);
        self.other_file_systems.extend(other.other_file_systems);
        self.deeper.join(other.deeper);
        self.skipped.join(other.skipped);
        self.privileged.extend(other.privileged);
        self.unasked += other.unasked;
        self.beyond.repositories.extend(other.beyond.repositories);
        self.beyond.parts.extend(other.beyond.parts);
        self.beyond.unread.extend(other.beyond.unread);
        self.names.0.extend(other.names.0);
        self.is_whole &= other.is_whole;
    }

    pub(super) fn in_order(mut self) -> Self {
        // Paths sort by component, so what lies in a directory follows it.
        self.repositories.sort_by(|a, b| a.path.cmp(&b.path));
        self.trees.sort();
        self.sockets.sort_by(|a, b| a.path.cmp(&b.path));
        self.links.sort();
        self.options.sort();
        self.annex_programs.sort();
        self.unread.sort_by(|a, b| a.path.cmp(&b.path));
        self.privileged.sort_by(|a, b| a.path.cmp(&b.path));
        self.other_file_systems.sort();
        self.beyond.repositories.sort_by(|a, b| a.path.cmp(&b.path));
        self.beyond.parts.sort();
        self.beyond.unread.sort();
        self
    }
}

impl Unseen {
    pub(super) fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(path);
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.count += other.count;
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES);
    }
}
