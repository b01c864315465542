//! A search through one boundary: what it is given, and what it has found so far.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Stat};

use super::listed::Listed;
use crate::boundary::protect::mounts::{Dotted, Link, Outward, ProtectionGap, ReadOnly};
use crate::boundary::protect::path_list::{PathList, ReadBudget};
use crate::boundary::protect::reach::{Base, Reach};
use crate::boundary::walk::{Extent, Git, Names};
use crate::host::deadline::Deadline;
use crate::host::mounted::Mounted;

/// Directories that git itself has in a repository. No other repositories are looked for in those: `objects` alone has hundreds.
pub(super) const OF_GIT: [&str; 9] =
    ["annex", "hooks", "info", "lfs", "logs", "modules", "objects", "refs", "worktrees"];

/// What makes a directory a repository by itself.
pub(super) const SIGNS: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// How often alternates lead to more of them, as in git.
pub(super) const ALTERNATE_LEVELS: u32 = 5;

/// How a repository sees the data of a submodule.
pub(super) const MODULE: &str = ".git/modules/name";

/// A search through one boundary, and what it has found so far.
pub(super) struct Search<'a> {
    pub(super) root: BorrowedFd<'a>,
    pub(super) host: &'a Path,
    /// The same with its other paths on the host.
    pub(super) mounted: Mounted,
    pub(super) protected: &'a [Cow<'static, str>],
    /// Protected paths in a directory where git keeps its data.
    pub(super) in_git: Arc<Listed<'a>>,
    /// Protected paths in a work tree.
    pub(super) in_tree: Arc<Listed<'a>>,
    /// Directories of objects of which the alternates were followed.
    pub(super) seen_objects: BTreeSet<PathBuf>,
    pub(super) seen_git: BTreeSet<PathBuf>,
    /// Directories of git's data with the work trees they were looked at for: several may share one.
    pub(super) seen_trees: BTreeSet<(PathBuf, Option<PathBuf>)>,
    /// Directories that submodules were looked for in, with the levels that were left: links may lead to one often.
    pub(super) seen_modules: BTreeMap<PathBuf, u32>,
    pub(super) read_only: BTreeMap<PathBuf, ReadOnly>,
    pub(super) links: BTreeSet<Link>,
    pub(super) unreadable: BTreeSet<PathBuf>,
    pub(super) hidden_beyond: BTreeSet<PathBuf>,
    /// Pointers that do not lead to what was searched.
    pub(super) unfollowed: BTreeSet<PathBuf>,
    /// `.git` files that lead to what was searched.
    pub(super) followed: BTreeSet<PathBuf>,
    /// Where files, links and configurations lead that lead from one repository to another.
    pub(super) pointed: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Links in git's data that are not on the list.
    pub(super) loose: BTreeSet<Link>,
    /// What git does not make among its data.
    pub(super) unexpected: BTreeSet<Link>,
    pub(super) path_lists: Vec<PathList>,
    /// Directories of git's data out of the boundary, with the work trees in it that they are of.
    pub(super) data_outside: BTreeSet<(PathBuf, PathBuf)>,
    pub(super) budget: ReadBudget,
    /// Directories of git's data and the work trees for which their lists of paths were gone through.
    pub(super) seen_lists: BTreeSet<(PathBuf, PathBuf)>,
    /// Repositories that something in another one leads to.
    pub(super) ahead: Vec<Ahead>,
    /// Directories of git's data that are still to be searched.
    pub(super) data_ahead: Vec<DataAhead>,
    /// Directories of git-annex' objects that are still to be looked at.
    pub(super) annexes: Vec<Annex>,
    /// How many more files are examined for whether they are programs.
    pub(super) left_to_examine: usize,
    /// How many directories of git's data have led to the one that is searched at the moment.
    pub(super) levels: u32,
    pub(super) work_trees: Vec<WorkTree>,
    /// Directories of git's data with the work trees that configurations name for them.
    pub(super) named_trees: BTreeSet<(PathBuf, PathBuf)>,
    /// Directories of git's data of which the work tree lies out of the boundary, with its path on the host.
    pub(super) elsewhere: BTreeMap<PathBuf, PathBuf>,
    /// Those of them to which a `.git` file in the work tree leads back.
    pub(super) led_back: BTreeSet<PathBuf>,
    /// Configurations with what they name.
    pub(super) sources: Vec<(PathBuf, Source)>,
    pub(super) dotted: Vec<Dotted>,
    /// Names with a leading dot, and whether a list knows them: most repositories have the same.
    pub(super) known_names: HashMap<OsString, bool>,
    pub(super) outward: Vec<Outward>,
    /// Links that lead out of the boundary.
    pub(super) leads_out: Vec<PathBuf>,
    /// Protected paths that lead out of the boundary, and where, unless nobody knows.
    pub(super) listed_out: BTreeMap<PathBuf, Option<PathBuf>>,
    /// Links at protected paths that lead out of the boundary and into it again.
    pub(super) passing_out: BTreeSet<PathBuf>,
    /// Links, each with the path in the boundary that it leads to, whether or not anything is there.
    pub(super) inward: Vec<(PathBuf, PathBuf)>,
    pub(super) notices: Vec<ProtectionGap>,
    /// From where paths are looked for at the moment.
    pub(super) base: Base,
    pub(super) reach: Reach,
    /// The link or index behind which repositories are looked for at the moment.
    pub(super) behind: Option<PathBuf>,
    pub(super) until: Deadline,
    /// Whether this is the last look.
    pub(super) extent: Extent,
    /// What the walk has listed already.
    pub(super) names: &'a Names,
}

/// A repository that is still to be searched.
pub(super) struct Ahead {
    pub(super) path: PathBuf,
    pub(super) git: Git,
    /// What leads there, unless it is found without.
    pub(super) behind: Option<PathBuf>,
}

/// A directory of git's data that is still to be searched, with the work tree that it is searched for.
pub(super) struct DataAhead {
    pub(super) git: PathBuf,
    pub(super) tree: Option<PathBuf>,
    /// What leads there, unless it is found without.
    pub(super) behind: Option<PathBuf>,
}

/// A directory of git-annex' objects that is still to be looked at.
pub(super) struct Annex {
    pub(super) git: PathBuf,
    /// In the directory of git's data.
    pub(super) path: PathBuf,
    /// Whether nobody but git has anything to do among these data.
    pub(super) is_gits_alone: bool,
    pub(super) base: Base,
    /// What leads to the repository, unless it is found without.
    pub(super) behind: Option<PathBuf>,
}

/// What a configuration names.
pub(super) enum Source {
    /// This, in the boundary.
    At(PathBuf),
    /// Something in a work tree of this directory of git's data, which may be found later.
    InTreeOf(PathBuf),
}

/// A work tree that a configuration names.
pub(super) struct WorkTree {
    pub(super) config: PathBuf,
    pub(super) git: PathBuf,
    pub(super) place: PathBuf,
}

/// What a pointer is to lead to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PointerTarget {
    /// All of a repository's data.
    Repository,
    /// Data that a repository with a `HEAD` of its own shares with others.
    Common,
    /// A directory of objects.
    Objects,
}

/// Where a path leads.
pub(super) enum Leads {
    /// To this path in the boundary, which has no links, past these links.
    To { path: PathBuf, stat: Box<Stat>, links: Vec<PathBuf> },
    /// To nothing at this path in the boundary, without a link on the way.
    Nowhere { missing: PathBuf },
    /// Out of the boundary, or to nothing at this path in it, past these links.
    Unfollowed { links: Vec<PathBuf>, host: OnHost, missing: Option<PathBuf> },
}

/// What is known of a path that leads out of the boundary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OnHost {
    /// There may be something.
    Unknown,
    /// There is nothing, and only root can make something there: so it is with the paths that a sandbox sees.
    Nothing,
    /// There is nothing, in a directory of root's where everybody may make something of their own.
    NothingYet,
}

pub(super) fn is(kind: FileType, stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

/// Reads the beginning of a file, and returns whether that is all of it; `None` if it cannot be read.
pub(crate) fn read_up_to(file: OwnedFd, longest: u64) -> Option<(Vec<u8>, bool)> {
    let mut content = Vec::new();
    std::fs::File::from(file).take(longest + 1).read_to_end(&mut content).ok()?;
    let is_whole = content.len() as u64 <= longest;
    content.truncate(usize::try_from(longest).unwrap_or(usize::MAX));
    Some((content, is_whole))
}
