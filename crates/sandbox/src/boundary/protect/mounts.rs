//! What is protected in a boundary, as data for whoever mounts it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use confine::protocol::Cover;
use policy::classify::index::ObjectFormat;
use policy::plan::FileId;
use policy::text::escape;
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use super::commits::{ChangedFile, NamedCommit};
use super::path_list::PathList;
use super::reach::{Base, Reach};
use crate::boundary::hidden_paths::{HiddenPaths, LookBudget};
use crate::host::deadline::Deadline;
use crate::host::stamp::Stamp;

/// How many directories deep submodules are looked for within one `modules` directory: their names are paths.
pub(crate) const MODULE_LEVELS: u32 = 32;

/// What is to be mounted over a writable boundary. All paths are relative to it; parents come first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Mounts {
    /// Directories between the boundary and what is protected, hidden or masked, each to be mounted over itself: a mount point
    /// cannot be renamed, so nothing else can be put in its place.
    pub pins: Vec<PathBuf>,
    pub read_only: Vec<ReadOnly>,
    /// What lies in something that becomes read-only, and so does with it.
    pub nested: Vec<Nested>,
    /// Sockets that are covered by something that does not listen. They come after the rest: reading only
    /// does not keep anybody from connecting.
    pub masked_sockets: Vec<MaskedSocket>,
    /// What is hidden: covered by something empty, after all the rest.
    pub hidden: Vec<HiddenPath>,
    /// Protected paths that are links, or lead through one. They can be replaced.
    pub links: Vec<Link>,
    /// What could not be looked at. It may hide something.
    pub unreadable: BTreeSet<PathBuf>,
    /// What could not be looked at beyond the bound of the walk, where nobody looked at the start.
    pub hidden_beyond: BTreeSet<PathBuf>,
    /// Files that lead git to something which was not searched here: out of the boundary, to nothing, or where each
    /// process finds something else.
    pub unfollowed: BTreeSet<PathBuf>,
    /// `.git` files that lead to what was searched here.
    pub followed: BTreeSet<PathBuf>,
    /// Where files, links and configurations lead git from one repository to another in the boundary.
    pub pointed: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Links in git's data at places where git itself writes: it may put a file there, and another link is news.
    pub loose: Vec<Link>,
    /// Files and directories among git's data that git does not make, and files that git writes to that have other names.
    pub unexpected: Vec<Link>,
    /// The indexes of repositories and their like, which stay writable.
    pub path_lists: Vec<PathList>,
    /// The commits to which git brings work trees.
    pub checkouts: Vec<Checkout>,
    /// Names with a leading dot at the roots of work trees.
    pub dotted: Vec<Dotted>,
    /// Every link that the walk has found, in order.
    pub all_links: Vec<PathBuf>,
    /// Files and directories with names that read as options.
    pub options: Vec<PathBuf>,
    /// Directories and links with names by which git-annex looks for programs.
    pub annex_programs: Vec<AnnexProgram>,
    /// Links to where an agent cannot write, as the last look finds them.
    pub outward: Vec<Outward>,
    /// Directories of git's data of which the work tree lies out of the boundary, with its path on the host.
    pub elsewhere: BTreeMap<PathBuf, PathBuf>,
    /// Those of them to which a `.git` file in the work tree leads back, which belongs to the same user.
    pub led_back: BTreeSet<PathBuf>,
    /// Those of them of which the work tree is shared, too.
    pub shared_elsewhere: BTreeSet<PathBuf>,
    /// The directories of the host that are shared and may be written, this one among them.
    pub shared: Vec<PathBuf>,
    /// Protected paths that lead out of the boundary, and where to: `None` where each process finds something else, or nobody knows.
    pub listed_out: BTreeMap<PathBuf, Option<PathBuf>>,
    /// Links at protected paths that lead out of the boundary and into it again: what is on the way there may be exchanged.
    pub passing_out: BTreeSet<PathBuf>,
    /// Where all this was looked for, and what leads there.
    pub reach: Reach,
    /// What could not be protected, or only in part.
    pub notices: Vec<ProtectionGap>,
}

/// The commits to which git brings the work trees of one directory of its data.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkout {
    pub git: PathBuf,
    /// The directory on the host of the data that it shares with others.
    pub(crate) common: PathBuf,
    /// The work tree on the host, if it is of one.
    pub(crate) tree: Option<PathBuf>,
    /// What `HEAD` leads to, unless that is a commit.
    pub(crate) branch: Option<String>,
    pub(crate) commits: Vec<NamedCommit>,
    /// What those that were not named at the start have, and the index has not.
    pub(crate) unindexed: Vec<UnindexedFiles>,
    pub(crate) attributes: Vec<ChangedAttributes>,
}

/// Attributes with other lines about how git converts files, or which driver it runs, than there were at the start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ChangedAttributes {
    /// The file of the work tree, or the one of git's data by which git has them.
    pub(crate) by: PathBuf,
    /// Where they are, or would be, in the work tree.
    pub(crate) path: PathBuf,
    pub(crate) change: LinesChange,
    pub(crate) lines: Vec<String>,
}

/// What has become of lines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LinesChange {
    /// They are new.
    Added,
    /// They were there, and are in the work tree, and git has recorded the file without them.
    Gone,
}

/// What a commit has that the index of a work tree has not so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct UnindexedFiles {
    /// The commit, and what names it.
    pub(crate) named: NamedCommit,
    pub(crate) tree: PathBuf,
    pub(crate) format: ObjectFormat,
    pub(crate) protected: Vec<ChangedFile>,
    pub(crate) others: Vec<ChangedFile>,
    /// What only the commit before has, and the index as well.
    pub(crate) removed: Vec<PathBuf>,
    /// Those of it that are protected.
    pub(crate) removed_protected: Vec<PathBuf>,
    /// Those of both that are hidden inside.
    pub(crate) hidden: Vec<ChangedFile>,
    /// Whether all of the commit could be read.
    pub(crate) is_whole: bool,
}

/// Names with a leading dot in one work tree.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Dotted {
    #[serde(with = "policy::text::json_bytes::path")]
    pub tree: PathBuf,
    /// The names at its root, and `.config/` with what is in that.
    #[serde(with = "policy::text::json_bytes::os_strings")]
    pub names: Vec<OsString>,
    /// What those of them lead to that no list knows, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unknown: Vec<Unknown>,
}

/// A file, link or directory at a name that no list knows.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Unknown {
    pub(crate) file: Stamped,
    /// The files and links right in it, in order, if it is a directory of which all were listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<Stamped>>,
}

/// A file by its path, and by what nobody can set.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Stamped {
    #[serde(with = "policy::text::json_bytes::path")]
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

impl Unknown {
    /// Returns the stamps of all that it is.
    pub(crate) fn stamps_mut(&mut self) -> impl Iterator<Item = &mut Stamp> {
        let files = self.files.iter_mut().flatten();
        files.chain([&mut self.file]).map(|file| &mut file.stamp)
    }

    /// Returns whether it is another file than it was, or was changed; of a directory, whether a file right in it was, or is new.
    pub(crate) fn is_changed_since(&self, before: &Self) -> bool {
        let is_as_it_was = |file: &Stamped, before: &[Stamped]| {
            let found = before.binary_search_by(|one| one.path.cmp(&file.path));
            found.is_ok_and(|at| before[at].stamp == file.stamp)
        };
        self.file.stamp != before.file.stamp
            || match (&before.files, &self.files) {
                (None, _) => false,
                // It has more of them than are listed.
                (Some(_), None) => true,
                (Some(before), Some(now)) => !now.iter().all(|file| is_as_it_was(file, before)),
            }
    }
}

/// A directory, or a link to one perhaps, by whose name git-annex may look for a program in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AnnexProgram {
    pub path: PathBuf,
    /// The repository in whose work tree it lies, relative to the boundary, if it lies in one: git-annex does nothing elsewhere.
    pub repository: Option<PathBuf>,
}

/// A link to where an agent cannot write: whoever writes to it on the host does, and whoever shares it shares that.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outward {
    pub path: PathBuf,
    /// Where it leads, with every link resolved: relative to the boundary if it lies in it. As the link has it, if
    /// nobody knows.
    pub target: PathBuf,
    pub to: LinkTarget,
}

/// What a link to where an agent cannot write leads to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkTarget {
    /// A directory out of the boundary.
    Directory,
    /// A file out of the boundary that the user may write, or make. Or nobody knows: each process finds something else there.
    File,
    /// Something protected in the boundary.
    Protected,
    /// Git's own data, or a protected path in the boundary at which nothing is. Nothing can be read there that is not read
    /// elsewhere, so the link is only good for being written through.
    Unmade,
}

/// A file or directory that becomes read-only.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReadOnly {
    pub path: PathBuf,
    /// Which file it is; what is mounted must be this one.
    pub file_id: FileId,
    pub kind: FileKind,
    /// Its path as seen from its repository, with `.git` for wherever git keeps its data: how to classify it.
    pub seen_as: PathBuf,
    pub cause: Cause,
    pub base: Base,
}

/// A file or directory within one that becomes read-only. Where the outer one is new, a repository in it is news of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Nested {
    pub outer: PathBuf,
    pub inner: ReadOnly,
}

/// Why a path is protected.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// `[protect] paths` names it: whatever appears there is news, without regard to its content.
    Asked,
    /// It is on the built-in list.
    Listed,
    /// A configuration of git names it. It may be the user's own though the configuration is not.
    Named,
    /// It is set-user-id or set-group-id, or has capabilities. A write through a shared mapping leaves these, and whoever runs it then
    /// runs what the agent wrote as its owner or with its capabilities.
    Privileged,
    /// It cannot be searched. Its owner is the agent's user, who could open it and change what it holds.
    Closed,
}

/// Lists the directories on the way from the boundary to something in it.
pub(crate) fn on_the_way(path: &Path) -> impl Iterator<Item = PathBuf> {
    path.ancestors().skip(1).filter(|above| *above != Path::new("")).map(Path::to_path_buf)
}

/// A link at a protected path, or what lies among git's data and is watched like one.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Link {
    pub path: PathBuf,
    /// Its path as seen from its repository.
    pub seen_as: PathBuf,
    pub cause: Cause,
    pub base: Base,
}

/// A socket that is covered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MaskedSocket {
    pub path: PathBuf,
    /// Which file it is; what is covered must be this one.
    pub file_id: FileId,
}

/// A path that is hidden.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HiddenPath {
    pub path: PathBuf,
    /// Which file it is; what is covered must be this one.
    pub file_id: FileId,
    pub kind: FileKind,
}

impl HiddenPath {
    /// Returns what covers it.
    pub(crate) fn cover(&self) -> Cover {
        match self.kind {
            FileKind::Directory => Cover::EmptyDirectory,
            FileKind::File => Cover::EmptyFile,
            FileKind::Special | FileKind::Link => Cover::Nothing,
        }
    }
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    File,
    Directory,
    Link,
    /// A socket, pipe or device.
    Special,
}

/// Something that is not protected, or only in part.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ProtectionGap {
    /// A protected path is a link to something inside the boundary. That is read-only; the link is not.
    LinkInside { link: PathBuf, target: PathBuf },
    /// A protected path is a link out of the boundary, which is neither followed nor protected.
    LinkOutside { link: PathBuf },
    /// A `.git` or `commondir` file names a directory outside the boundary. The sandbox cannot reach it.
    GitOutside { file: PathBuf },
    /// A protected file has other names, through which it can be written.
    HardLinked { path: PathBuf },
    /// Something could not be looked at.
    Unreadable { path: PathBuf, errno: i32 },
    /// A configuration of git is too large, includes too many others, or cannot be read, so that not all is found that it names.
    TooManySettings { config: PathBuf },
    /// A configuration of git names a directory of hooks that the repository lies in, which has to stay writable.
    HooksAround { config: PathBuf },
    /// There are too many files in a directory of git's data to look for programs among them.
    TooManyFiles { directory: PathBuf },
    /// Submodules lie too deep in a directory of them to be looked for.
    TooDeep { path: PathBuf },
    /// Time ran out before everything was looked at.
    OutOfTime,
}

impl Mounts {
    /// Pins these directories, too. What lies in something read-only cannot be renamed anyway.
    pub(crate) fn pin(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        let fixed: BTreeSet<&Path> = self.read_only.iter().map(|one| one.path.as_path()).collect();
        let is_loose = |path: &PathBuf| !path.ancestors().any(|above| fixed.contains(above));
        let mut pins: BTreeSet<PathBuf> = directories.into_iter().filter(is_loose).collect();
        pins.extend(std::mem::take(&mut self.pins));
        self.pins = pins.into_iter().collect();
    }

    /// Returns what is to be mounted where these paths are hidden: what lies in them needs no mount of its own.
    #[must_use]
    pub(crate) fn hiding(mut self, hidden: Vec<HiddenPath>, pins: BTreeSet<PathBuf>) -> Self {
        self.pin(pins);
        let all: HashSet<&Path> = hidden.iter().map(|one| one.path.as_path()).collect();
        let is_shown = |path: &Path| !path.ancestors().any(|above| all.contains(above));
        if !hidden.is_empty() {
            self.pins.retain(|path| is_shown(path));
            self.read_only.retain(|one| is_shown(&one.path));
            self.masked_sockets.retain(|one| is_shown(&one.path));
        }
        Self { hidden, ..self }
    }

    /// Returns what is to be mounted where these directories are read-only with all that is in them, though nothing on the host obeys
    /// it: programs there may go on to write in them.
    #[must_use]
    pub(crate) fn keeping(mut self, kept: Vec<ReadOnly>) -> Self {
        let is_outside = |path: &PathBuf| !kept.iter().any(|one| path.starts_with(&one.path));
        self.pins.retain(&is_outside);
        self.read_only.retain(|one| is_outside(&one.path));
        self.read_only.extend(kept);
        self.read_only.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }

    /// Notes what of lists of git's is hidden inside, for as long as there is time, and what leads git to a repository that is.
    pub(crate) fn note_hidden(&mut self, root: impl AsFd, hidden: &HiddenPaths, until: Deadline) {
        if hidden.is_empty() {
            return;
        }
        // Git would read there for the agent what it may not.
        let is_hidden = |place: &PathBuf| {
            let data = [".git", "objects", ".git/objects"].map(|data| place.join(data));
            hidden.cover(place) || data.iter().any(|data| hidden.cover(data))
        };
        for (file, _) in self.pointed.iter().filter(|(_, places)| places.iter().any(is_hidden)) {
            self.followed.remove(file);
            self.unfollowed.insert(file.clone());
        }
        let budget = LookBudget::until(until);
        for unindexed in self.checkouts.iter_mut().flat_map(|checkout| &mut checkout.unindexed) {
            let UnindexedFiles { tree, protected, others, .. } = unindexed;
            // What lies in a directory goes where git writes a file in its place.
            let is_hidden = |file: &&ChangedFile| {
                let path = tree.join(&file.path);
                hidden.cover(&path) || hidden.lie_in(root.as_fd(), &path, &budget)
            };
            unindexed.hidden = protected.iter().chain(others.iter()).filter(is_hidden).cloned().collect();
        }
        for list in &mut self.path_lists {
            if budget.is_out_of_time() {
                return self.notices.push(ProtectionGap::OutOfTime);
            }
            list.note_hidden(&root, hidden, &budget);
        }
    }

    /// Returns whether there was time to search everything.
    pub fn is_whole(&self) -> bool {
        !self.notices.contains(&ProtectionGap::OutOfTime)
    }
}

impl ProtectionGap {
    /// Returns whether the agent can change something that a program outside obeys because of it. What a link leads to is
    /// read-only or out of reach, and the link itself is watched.
    pub fn leaves_unprotected(&self) -> bool {
        match self {
            Self::LinkInside { .. } | Self::LinkOutside { .. } | Self::GitOutside { .. } => false,
            Self::HardLinked { .. }
            | Self::Unreadable { .. }
            | Self::TooManySettings { .. }
            | Self::HooksAround { .. }
            | Self::TooManyFiles { .. }
            | Self::TooDeep { .. }
            | Self::OutOfTime => true,
        }
    }
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

impl fmt::Display for ProtectionGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkInside { link, target } => write!(
                f,
                "{} is a link: {} is read-only in its place, and replacing the link is noticed afterwards",
                escape::path(link),
                escape::path(target)
            ),
            Self::LinkOutside { link } => {
                write!(
                    f,
                    "{} is a link out of the boundary, or to nothing: it is not protected",
                    escape::path(link)
                )
            }
            Self::GitOutside { file } => {
                write!(f, "{} names a git directory outside the boundary, or none", escape::path(file))
            }
            Self::HardLinked { path } => {
                write!(f, "{} has other names, through which it can be written", escape::path(path))
            }
            Self::Unreadable { path, errno } => {
                write!(
                    f,
                    "{} cannot be examined: {}",
                    escape::path(path),
                    io::Error::from_raw_os_error(*errno)
                )
            }
            Self::TooManySettings { config } => write!(
                f,
                "{} is too large, includes too much or cannot be read: not all that it names is protected",
                escape::path(config)
            ),
            Self::HooksAround { config } => write!(
                f,
                "{} names a directory of hooks that the repository itself lies in: it is not protected",
                escape::path(config)
            ),
            Self::TooManyFiles { directory } => write!(
                f,
                "{} has more files than are searched for programs, so some of those that are there may stay writable",
                escape::path(directory)
            ),
            Self::TooDeep { path } => {
                write!(
                    f,
                    "submodules deeper than {MODULE_LEVELS} directories in {} are not protected",
                    escape::path(path)
                )
            }
            Self::OutOfTime => f.write_str("not everything was examined, because there was too much of it"),
        }
    }
}
