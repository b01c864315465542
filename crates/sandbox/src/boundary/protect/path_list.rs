//! Files of git's data that say what it writes or shows: indexes, what `git rerere` goes on with, references that lead to others, and
//! lines that hide files. They stay writable, or git could not work, so what they come to say is checked.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::ops::Bound;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::file_lists::{self, PackNames};
use policy::classify::index::{
    self, CachedDirectory, MalformedIndex, ObjectFormat, Paths, SUBMODULE_CONTENT, StagedKind,
};
use policy::classify::reftable::{self, MalformedTable};
use policy::classify::repository::{Autostash, ObeyedReference, SymbolicReference};
use policy::classify::{MAX_CONTENT, has_sparse_checkout, layout, repository};
use policy::text::json_bytes;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::boundary::hidden_paths::{HiddenPaths, LookBudget};
use crate::boundary::protect::objects;
use crate::host::beneath;
use crate::host::stamp::{ContentHash, Stamp};

/// The largest file that is read, in bytes. An index of a million files has some 100 MB.
pub(crate) const MAX_SIZE: u64 = 64 << 20;

/// How much of such files of more than [`MAX_CONTENT`] one search reads, in bytes. What is beyond that counts as too large: they may be
/// sparse, and so cost nothing.
pub(crate) const MAX_TOTAL: u64 = 256 << 20;

/// How long the names of all packs together are at most, in bytes. One has some 50.
const MAX_PACK_NAMES: usize = 16 << 20;

/// How much of a reference is read: a name of one is shorter.
const MAX_REFERENCE_LENGTH: u64 = 4096;

/// How many hidden paths of one index are kept. A sparse checkout hides more, and is not compared.
pub(crate) const MAX_HIDDEN: usize = 1000;

/// The attributes of git in a directory of a work tree.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";

/// A file that says what git writes or shows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathList {
    /// Relative to the boundary, as all of them are; absolute, where it lies out of that.
    pub path: PathBuf,
    /// The directory of git's data that it belongs to.
    pub git: PathBuf,
    pub listed: ListContent,
    /// Paths that it lists, and to which git goes through a link in the work tree.
    pub(crate) linked: Vec<PathBuf>,
    /// The work trees that it is of, as far as they are known.
    pub(crate) trees: Vec<PathBuf>,
    /// Of an index, each work tree, and what would be written to protected paths in it: names of contents.
    pub(crate) staged: Vec<Staged>,
    /// Of an index, the same for paths that are hidden inside: a commit would record what lies there.
    pub(crate) staged_hidden: Vec<Staged>,
    /// Of an index, what it has for paths behind links of a work tree, and what these lead to in the boundary.
    pub(crate) behind: Vec<(Staged, BTreeMap<PathBuf, PathBuf>)>,
    /// Of an index, what it has for the attributes above files that are hidden inside.
    pub(crate) attributes: Vec<Staged>,
    /// Of an index, the files that are hidden inside and that commits leave out because of a bit, with their work trees.
    pub(crate) left_out: BTreeSet<(PathBuf, PathBuf)>,
    /// Of an index, whether the configuration of its work tree alone has it sparse.
    pub(crate) sparse: Sparse,
    /// Of an index, the links that are at no protected path.
    pub(crate) staged_links: Vec<Staged>,
    /// Of an index, its submodules, with the commits that it names for them.
    pub(crate) gitlinks: Vec<(PathBuf, String)>,
    /// Of an index, the links out of the boundary beneath which it lists files.
    pub(crate) links_out: Vec<LinkOut>,
    pub(crate) stamp: Stamp,
    /// A hash of its content, where the stamp does not tell whether that is the same.
    pub(crate) content_hash: Option<ContentHash>,
}

/// A link out of the boundary, beneath which an index lists files.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct LinkOut {
    #[serde(with = "json_bytes::path")]
    pub(crate) path: PathBuf,
    #[serde(with = "json_bytes::path")]
    pub(crate) target: PathBuf,
    /// One of the files.
    #[serde(with = "json_bytes::path")]
    pub(crate) example: PathBuf,
}

/// Whether a configuration of a work tree has git check out a part of it. Git then takes `skip-worktree` from each file that lies there.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sparse {
    #[default]
    No,
    Yes,
}

impl Sparse {
    /// Reads it in a directory of git's data.
    fn of(data: &OwnedFd) -> Self {
        let config = beneath::file(data, Path::new("config.worktree")).ok();
        let content = config.and_then(|(file, _)| up_to(&file.into(), MAX_CONTENT as u64));
        if content.is_some_and(|content| has_sparse_checkout(&content)) { Self::Yes } else { Self::No }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn is_no(&self) -> bool {
        *self == Self::No
    }
}

/// What an index holds for some paths.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Staged {
    pub(crate) tree: PathBuf,
    pub(crate) format: ObjectFormat,
    /// Paths in it, with the numbers of the contents.
    pub(crate) files: Vec<(PathBuf, String)>,
}

/// What a file lists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ListContent {
    /// These paths.
    Paths(Paths),
    /// Names of files beside it, but for this one, which lies elsewhere.
    Names {
        elsewhere: Option<PathBuf>,
    },
    /// These lines, without those that say nothing.
    Lines(Vec<String>),
    Stash(Autostash),
    /// References that git or programs do more with than with any other: those in a file of many, or one that leads to another.
    References {
        /// The stash among them that git applies by itself.
        stash: Option<Autostash>,
        /// Those of which the name alone is, up to a bound.
        names: Vec<String>,
        /// Those that lead to others, up to the same bound.
        symbolic: Vec<SymbolicReference>,
    },
    /// It is too large to be read.
    TooMany,
    /// It is none that git could have written.
    Malformed,
}

/// How much of such files a search may still read, in bytes.
pub(crate) struct ReadBudget(Cell<u64>);

impl Default for ReadBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_TOTAL))
    }
}

impl ReadBudget {
    /// Takes what reading a file costs. Returns whether there is as much.
    fn take(&self, stat: &Stat, longest: u64) -> bool {
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX).min(longest);
        if size <= MAX_CONTENT as u64 {
            return true;
        }
        let left = self.0.get().checked_sub(size);
        left.inspect(|left| self.0.set(*left)).is_some()
    }
}

impl PathList {
    /// Reads a file in a directory of git's data, if it is one.
    pub(crate) fn read(
        root: impl AsFd,
        git: &Path,
        in_git: &Path,
        format: impl FnOnce() -> ObjectFormat,
        budget: &ReadBudget,
    ) -> Option<Self> {
        let kind = ListKind::of(in_git)?;
        let path = git.join(in_git);
        let (file, stat) = beneath::file(&root, &path).ok()?;
        let (file, stamp) = (File::from(file), Stamp::of(&stat));
        let is_shared_read = Cell::new(true);
        let shared = |name: &str| {
            let (file, stat) = beneath::file(&root, &path.with_file_name(name)).ok()?;
            is_shared_read.set(budget.take(&stat, MAX_SIZE));
            up_to(&file.into(), if is_shared_read.get() { MAX_SIZE + 1 } else { 0 })
        };
        let is_read = budget.take(&stat, kind.longest());
        let listed = match kind {
            ListKind::Merged if !is_read => ListContent::Malformed,
            _ if !is_read => ListContent::TooMany,
            ListKind::Reference => {
                let content = up_to(&file, MAX_REFERENCE_LENGTH)?;
                match repository::leads_out(&content) {
                    // Whatever is behind so much space, git drops the space.
                    None if content.len() as u64 == MAX_REFERENCE_LENGTH && is_space(&content) => {
                        ListContent::Malformed
                    }
                    None => {
                        let mut found = ObeyedReferences::default();
                        let symbolic = SymbolicReference::of_file(in_git.as_os_str().as_bytes(), &content)?;
                        found.add(ObeyedReference::Symbolic(symbolic));
                        found.listed()?
                    }
                    leads => {
                        let outside = leads.map(Path::to_path_buf);
                        ListContent::Paths(Paths { outside, ..Paths::default() })
                    }
                }
            }
            ListKind::Packs => packs(&file).unwrap_or(ListContent::Malformed),
            ListKind::Tables => {
                ListContent::Names { elsewhere: file_lists::table_elsewhere(&up_to(&file, MAX_SIZE)?) }
            }
            ListKind::Graphs => {
                ListContent::Names { elsewhere: file_lists::graph_elsewhere(&up_to(&file, MAX_SIZE)?) }
            }
            ListKind::Lines => ListContent::Lines(lines(&up_to(&file, MAX_CONTENT as u64)?)),
            ListKind::Stash => ListContent::Stash(Autostash::of(&up_to(&file, MAX_REFERENCE_LENGTH)?)),
            ListKind::Packed | ListKind::Reftable => match (kind, up_to(&file, MAX_SIZE + 1)?) {
                (_, content) if content.len() as u64 > MAX_SIZE => ListContent::TooMany,
                (ListKind::Packed, content) => packed(&content)?,
                (_, content) => in_table(&content)?,
            },
            ListKind::Index | ListKind::Merged => {
                let content = up_to(&file, MAX_SIZE + 1)?;
                let read = match kind {
                    // It has a line for each file of a merge.
                    ListKind::Merged if content.len() as u64 > MAX_SIZE => Err(MalformedIndex),
                    _ if content.len() as u64 > MAX_SIZE => Ok(None),
                    ListKind::Merged => index::merged(&content).map(Some),
                    _ => index::read(&content, format(), MAX_HIDDEN, shared).map(Some),
                };
                match read {
                    _ if !is_shared_read.get() => ListContent::TooMany,
                    Ok(Some(paths)) => ListContent::Paths(paths),
                    Ok(None) => ListContent::TooMany,
                    Err(MalformedIndex) => ListContent::Malformed,
                }
            }
        };
        let content_hash = is_read.then(|| ContentHash::of(&file, kind.longest())).flatten();
        let (linked, trees, links_out, left_out, attributes, sparse, behind) = Default::default();
        let (staged, staged_hidden, staged_links, gitlinks) = Default::default();
        Some(Self {
            path,
            git: git.into(),
            listed,
            linked,
            trees,
            staged,
            staged_hidden,
            behind,
            attributes,
            left_out,
            sparse,
            staged_links,
            gitlinks,
            links_out,
            stamp,
            content_hash,
        })
    }

    /// Reads the index in a directory of git's data out of the boundary, of a work tree in it.
    pub(crate) fn outside(
        data: impl AsFd,
        git: &Path,
        tree: &Path,
        format: ObjectFormat,
        budget: &ReadBudget,
    ) -> Option<Self> {
        let index = Path::new("index");
        let read = Self::read(data, Path::new(""), index, || format, budget)?;
        Some(Self { path: git.join(index), git: git.into(), trees: vec![tree.into()], ..read })
    }

    /// Returns whether it is the index of a work tree.
    pub(crate) fn is_index_of(&self, tree: &Path) -> bool {
        self.path.ends_with("index") && self.trees.iter().any(|one| one == tree)
    }

    /// Returns those of the directories beneath which it lists files of this work tree. `root` is the boundary.
    pub(crate) fn tracked(
        &self,
        root: impl AsFd,
        tree: &Path,
        directories: &BTreeSet<PathBuf>,
    ) -> Result<BTreeSet<PathBuf>, TooLarge> {
        let data =
            if self.is_outside() { data_outside(&self.git) } else { beneath::directory(root, &self.git) };
        match (data, self.staged.first()) {
            (Ok(data), Some(staged)) => tracked(data, staged.format, tree, directories),
            // What cannot be read may list anything.
            _ => Ok(directories.clone()),
        }
    }

    /// Returns whether it lies out of the boundary.
    pub(crate) fn is_outside(&self) -> bool {
        self.git.is_absolute()
    }

    /// Takes a path that is hidden inside for one where git must not write: it would record its content where the agent reads it. Reads
    /// what an index holds for such paths: a commit records what lies there.
    pub(crate) fn note_hidden(&mut self, root: impl AsFd, hidden: &HiddenPaths, budget: &LookBudget) {
        let root = root.as_fd();
        let ListContent::Paths(paths) = &mut self.listed else { return };
        let is_hidden = |path: &&PathBuf| self.trees.iter().any(|tree| hidden.cover(&tree.join(path)));
        if paths.outside.is_none() {
            paths.outside = paths.written.iter().find(is_hidden).cloned();
        }
        if self.staged.is_empty() {
            return;
        }
        // Of a linked work tree the data lie elsewhere, and are shared with it.
        let data =
            if self.is_outside() { data_outside(&self.git) } else { beneath::directory(root, &self.git) };
        let Ok(data) = data else { return };
        let Some(content) = self.content(&data) else { return };
        for Staged { tree, format, .. } in &self.staged {
            let is_hidden = |path: &Path, kind: StagedKind| {
                let path = tree.join(path);
                hidden.cover(&path) || kind == StagedKind::Directory && hidden.lie_in(root, &path, budget)
            };
            let Some(mut files) = self.held(&data, &content, *format, is_hidden) else { continue };
            for (behind, leads) in self.behind.iter().filter(|(behind, _)| behind.tree == *tree) {
                let is_hidden = |path: &PathBuf| leads.get(path).is_some_and(|real| hidden.cover(real));
                files.extend(behind.files.iter().filter(|(path, _)| is_hidden(path)).cloned());
            }
            let sorted: BTreeSet<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
            let is_above = |directory: &Path| {
                let mut below = sorted.range::<Path, _>((Bound::Excluded(directory), Bound::Unbounded));
                below.next().is_some_and(|path| path.starts_with(directory))
            };
            let attributes = self.held(&data, &content, *format, |path, _| {
                path.ends_with(ATTRIBUTES) && path.parent().is_some_and(is_above)
            });
            let staged = |files| Staged { tree: tree.clone(), format: *format, files };
            self.attributes.push(staged(attributes.unwrap_or_default()));
            self.staged_hidden.push(staged(files));
            let shared = |name: &str| self.beside(&data, &self.path.with_file_name(name));
            let left_out = index::left_out(&content, *format, |path| hidden.cover(&tree.join(path)), shared);
            self.sparse = Sparse::of(&data);
            self.left_out.extend(left_out.unwrap_or_default().into_iter().map(|path| (tree.clone(), path)));
        }
    }

    /// Returns what an index has for attributes in a work tree, as far as files that are hidden inside are below.
    pub(crate) fn attributes_at(&self, tree: &Path, path: &Path) -> Option<&str> {
        let of_tree = self.attributes.iter().filter(|staged| staged.tree == tree);
        let mut files = of_tree.flat_map(|staged| &staged.files);
        files.find(|(attributes, _)| attributes == path).map(|(_, number)| number.as_str())
    }

    /// Reads what it holds for protected paths of a work tree, if it is an index. `root` is the boundary, `data` the directory of git's
    /// data.
    pub(crate) fn stage(
        &mut self,
        root: impl AsFd,
        data: impl AsFd,
        tree: &Path,
        format: ObjectFormat,
        is_protected: impl Fn(&Path, StagedKind) -> bool,
    ) {
        if !self.path.ends_with("index") || !matches!(self.listed, ListContent::Paths(_)) {
            return;
        }
        let Some(content) = self.content(&data) else { return };
        let others = RefCell::new(BTreeSet::new());
        let is_wanted = |path: &Path, kind: StagedKind| {
            let is_other = matches!(kind, StagedKind::Link | StagedKind::Submodule);
            is_protected(path, kind) || is_other && others.borrow_mut().insert(path.to_path_buf())
        };
        let files = self.held(&data, &content, format, is_wanted);
        self.note_cached(&root, tree, &content, format);
        let others = others.into_inner();
        let staged = |files| Staged { tree: tree.into(), format, files };
        if let Some(mut files) = files {
            let commit = |number: &str| number.strip_prefix(SUBMODULE_CONTENT).map(str::to_owned);
            let gitlinks = files.iter().filter_map(|(path, number)| Some((path.clone(), commit(number)?)));
            self.gitlinks = gitlinks.collect();
            files.retain(|(path, number)| commit(number).is_none() || !others.contains(path));
            let (links, files) = files.into_iter().partition(|(path, _)| others.contains(path));
            self.staged.push(staged(files));
            self.staged_links.push(staged(links));
        }
    }

    /// Reads what it holds for paths of a work tree that lead elsewhere in the boundary.
    pub(crate) fn note_behind(
        &mut self,
        data: impl AsFd,
        tree: &Path,
        format: ObjectFormat,
        behind: BTreeMap<PathBuf, PathBuf>,
    ) {
        if behind.is_empty() {
            return;
        }
        let Some(content) = self.content(&data) else { return };
        let files = self.held(&data, &content, format, |path, _| behind.contains_key(path));
        let staged = Staged { tree: tree.into(), format, files: files.unwrap_or_default() };
        self.behind.push((staged, behind));
    }

    /// Reads it in its directory of git's data.
    fn content(&self, data: impl AsFd) -> Option<Vec<u8>> {
        self.beside(data, &self.path)
    }

    fn beside(&self, data: impl AsFd, path: &Path) -> Option<Vec<u8>> {
        up_to(&beneath::file(data, path.strip_prefix(&self.git).ok()?).ok()?.0.into(), MAX_SIZE)
    }

    /// Returns what it holds for the paths that are wanted, as an index with this content.
    fn held(
        &self,
        data: impl AsFd,
        content: &[u8],
        format: ObjectFormat,
        is_wanted: impl Fn(&Path, StagedKind) -> bool,
    ) -> Option<Vec<(PathBuf, String)>> {
        let shared = |name: &str| self.beside(data, &self.path.with_file_name(name));
        index::staged(content, format, is_wanted, shared).ok()
    }

    /// Notes links in the place of directories that git has cached: it follows one where the directory above looks as it did.
    fn note_cached(&mut self, root: impl AsFd, tree: &Path, content: &[u8], format: ObjectFormat) {
        let stat = |path: &Path| match path.file_name() {
            Some(_) => beneath::stat(&root, path).ok(),
            None => rustix::fs::fstat(&root).ok(),
        };
        // What cannot be read is said of the index.
        let _ = index::cached(content, format, |CachedDirectory { path, above, .. }| {
            let place = tree.join(path);
            let is_link = stat(&place).is_some_and(|stat| is_link(&stat));
            if !is_link || self.linked.len() == MAX_HIDDEN {
                return;
            }
            let modified = place.parent().and_then(stat).map(|stat| stat.st_mtime);
            // Git keeps no more of a time than this.
            if above.is_some_and(|above| modified.is_some_and(|time| time & 0xffff_ffff == i64::from(above)))
            {
                self.linked.push(path.into());
            }
        });
    }
}

/// Returns whether a reference, as far as it was read, has nothing but space, also where its text leads to another one.
fn is_space(reference: &[u8]) -> bool {
    let text = reference.strip_prefix(b"ref:").unwrap_or(reference);
    // As isspace(3) has it.
    text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0b)
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

/// The largest index that is read for the files it lists alone, in bytes. One of two million files has some 200 MB.
const MAX_TRACKED_SIZE: u64 = 256 << 20;

/// An index is too large to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLarge;

/// Returns those of the directories beneath which the index in a directory of git's data lists files: all, if git could not have written it. The
/// paths of the index are relative to the work tree.
pub(crate) fn tracked(
    data: impl AsFd,
    format: ObjectFormat,
    tree: &Path,
    directories: &BTreeSet<PathBuf>,
) -> Result<BTreeSet<PathBuf>, TooLarge> {
    let found = RefCell::new(BTreeSet::new());
    let note = |path: &Path, kind: StagedKind| {
        let path = tree.join(path);
        let above = path.ancestors().skip(1).filter(|above| directories.contains(*above));
        found.borrow_mut().extend(above.map(Path::to_path_buf));
        if kind == StagedKind::Directory {
            let behind = directories.range::<Path, _>((Bound::Included(path.as_path()), Bound::Unbounded));
            found.borrow_mut().extend(behind.take_while(|directory| directory.starts_with(&path)).cloned());
        }
        false
    };
    let (file, stat) = match beneath::file(&data, Path::new("index")) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(BTreeSet::new()),
        Err(_) => return Ok(directories.clone()),
    };
    if u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_TRACKED_SIZE) {
        return Err(TooLarge);
    }
    let shared = |name: &str| up_to(&beneath::file(&data, Path::new(name)).ok()?.0.into(), MAX_TRACKED_SIZE);
    let content = up_to(&file.into(), MAX_TRACKED_SIZE).unwrap_or_default();
    let is_read = index::staged(&content, format, note, shared).is_ok();
    Ok(if is_read { found.into_inner() } else { directories.clone() })
}

/// Opens a directory out of the boundary, to which no link leads: of git's data, or a work tree.
pub(crate) fn data_outside(git: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(git, flags, Mode::empty())
}

/// What a file is, by its place in git's data.
#[derive(Clone, Copy)]
enum ListKind {
    Index,
    /// The paths that `git rerere` is to write.
    Merged,
    Reference,
    /// The packs that an index is of.
    Packs,
    /// The tables of references that are in force.
    Tables,
    /// The graphs of commits that are in force.
    Graphs,
    /// Lines that have git show something else.
    Lines,
    /// A stash that git applies by itself.
    Stash,
    /// References in one file, as lines.
    Packed,
    /// References in a table.
    Reftable,
}

impl ListKind {
    /// Returns how much of such a file is read, in bytes.
    fn longest(self) -> u64 {
        match self {
            Self::Reference | Self::Stash => MAX_REFERENCE_LENGTH,
            Self::Lines => MAX_CONTENT as u64,
            Self::Packs => MAX_PACK_NAMES as u64,
            Self::Index | Self::Merged | Self::Tables | Self::Graphs | Self::Packed | Self::Reftable => {
                MAX_SIZE
            }
        }
    }

    fn of(in_git: &Path) -> Option<Self> {
        let name = in_git.as_os_str().as_bytes();
        match name {
            b"MERGE_RR" => Some(Self::Merged),
            // The name of a branch, to which `git bisect reset` goes back.
            b"BISECT_START" => Some(Self::Reference),
            b"index" => Some(Self::Index),
            b"MERGE_AUTOSTASH" => Some(Self::Stash),
            b"packed-refs" => Some(Self::Packed),
            b"reftable/tables.list" => Some(Self::Tables),
            _ if layout::is_reftable(in_git) => Some(Self::Reftable),
            _ if layout::lists_packs(in_git) => Some(Self::Packs),
            _ if layout::lists_graphs(in_git) => Some(Self::Graphs),
            _ if name.starts_with(b"sharedindex.") => Some(Self::Index),
            _ if layout::alters_what_git_shows(in_git) => Some(Self::Lines),
            _ => layout::is_reference(in_git).then_some(Self::Reference),
        }
    }
}

/// Lists the packed references that are obeyed; `None` where there is none.
fn packed(content: &[u8]) -> Option<ListContent> {
    let mut found = ObeyedReferences::default();
    let obeyed = content.split(|byte| *byte == b'\n').filter_map(repository::obeyed_reference);
    obeyed.for_each(|obeyed| found.add(obeyed));
    found.listed()
}

/// Lists the references in a table that are obeyed; `None` where there is none.
fn in_table(content: &[u8]) -> Option<ListContent> {
    let mut found = ObeyedReferences::default();
    match reftable::obeyed_references(content, |obeyed| found.add(obeyed)) {
        Ok(()) => found.listed(),
        Err(MalformedTable) => Some(ListContent::Malformed),
    }
}

#[derive(Default)]
struct ObeyedReferences {
    stash: Option<Autostash>,
    names: Vec<String>,
    symbolic: Vec<SymbolicReference>,
}

impl ObeyedReferences {
    fn add(&mut self, obeyed: ObeyedReference<'_>) {
        match obeyed {
            ObeyedReference::Stash(stash) => self.stash = Some(stash),
            ObeyedReference::Name(name) if self.names.len() < MAX_HIDDEN => {
                self.names.push(String::from_utf8_lossy(name).into_owned());
            }
            ObeyedReference::Symbolic(symbolic) if self.symbolic.len() < MAX_HIDDEN => {
                self.symbolic.push(symbolic);
            }
            ObeyedReference::Name(_) | ObeyedReference::Symbolic(_) => {}
        }
    }

    fn listed(self) -> Option<ListContent> {
        let Self { stash, names, symbolic } = self;
        let is_any = stash.is_some() || !names.is_empty() || !symbolic.is_empty();
        is_any.then_some(ListContent::References { stash, names, symbolic })
    }
}

/// Reads the names of packs in an index of several; `None` where git could not have written it.
fn packs(file: &File) -> Option<ListContent> {
    let read = |at: u64, length: usize| objects::up_to(file, at, length);
    let names = PackNames::find(&read(0, file_lists::MAX_TABLE)?)?;
    let length =
        usize::try_from(names.at.end - names.at.start).ok().filter(|length| *length <= MAX_PACK_NAMES)?;
    let chunk = read(names.at.start, length).filter(|chunk| chunk.len() == length)?;
    let elsewhere = names.leads_elsewhere(&chunk);
    let is_broken = elsewhere.as_deref() == Some(Path::new(""));
    (!is_broken).then_some(ListContent::Names { elsewhere })
}

fn up_to(file: &File, longest: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    file.take(longest).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Returns the lines of a text that say something, as many as are kept.
fn lines(content: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(content);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.take(MAX_HIDDEN).map(str::to_owned).collect()
}
