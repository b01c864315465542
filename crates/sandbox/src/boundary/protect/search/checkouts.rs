//! The commits to which git brings the work trees of a boundary, and what these have that their indexes have not.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use policy::classify::index::{self, ObjectFormat, StagedKind};
use policy::classify::repository::{self, MAX_POINTER_LENGTH};

use crate::boundary::protect::commits::{self, ChangedFile, Difference, HEAD, Indexed, NamedCommit};
use crate::boundary::protect::mounts::{ChangedAttributes, Checkout, UnindexedFiles};
use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::path_list::{MAX_SIZE, data_outside};
use crate::boundary::protect::references::{self, References};
use crate::boundary::protect::search::gitlinks::Gitlinks;
use crate::boundary::protect::search::outside;
use crate::boundary::protect::search::outward::ListedPaths;
use crate::boundary::protect::search::progress::{Leads, Search};
use crate::boundary::protect::search::resolve::canonical;
use crate::boundary::protect::search::staged::Writes;
use crate::boundary::walk::Walk;
use crate::host::beneath;

/// What is known of the start.
pub struct Start<'a> {
    /// Returns the commits that were named in a directory of git's data; `None` where nobody looked then.
    pub commits: &'a dyn Fn(&Path) -> Option<Vec<NamedCommit>>,
    /// Returns whether what lies at a path was touched since.
    pub is_since: &'a dyn Fn(&Path) -> bool,
}

/// A directory of git's data.
pub(super) struct Data {
    /// Relative to the boundary; absolute, where it lies out of that.
    pub(super) git: PathBuf,
    pub(super) own: OwnedFd,
    /// What it shares with others: itself, where it shares nothing. It lies here on the host.
    pub(super) common: OwnedFd,
    pub(super) host: PathBuf,
    pub(super) trees: Vec<PathBuf>,
}

impl Data {
    /// Opens one out of the boundary, of a work tree in it.
    fn outside(git: &Path, tree: &Path) -> Option<Self> {
        let host = outside::common(git);
        let (own, common) = (data_outside(git).ok()?, data_outside(&host).ok()?);
        Some(Self { git: git.into(), own, common, host, trees: vec![tree.into()] })
    }
}

/// Resolves a path without asking anybody but the kernel.
pub(crate) fn resolved(base: &Path, path: &Path) -> Option<PathBuf> {
    canonical(base, path).ok()
}

impl Search<'_> {
    /// Notes the commits to which git brings each work tree, and what those that are not known have that its index has not.
    pub(super) fn checkouts(&self, walk: &Walk, start: Option<&Start<'_>>) -> Vec<Checkout> {
        let is_new = |link: &&PathBuf| start.is_some_and(|start| (start.is_since)(link));
        let links: Vec<&PathBuf> = walk.links.iter().filter(is_new).collect();
        let listed = ListedPaths::of(&self.reach);
        let inside = self.seen_git.iter().filter_map(|git| self.inside(git));
        let outside = self.data_outside.iter().filter_map(|(git, tree)| Data::outside(git, tree));
        let mut all: Vec<Data> = inside.chain(outside).collect();
        // What an agent has made takes no time from what was there. Submodules come after what names commits for them.
        if let Some(start) = start {
            all.sort_by_cached_key(|data| {
                ((start.commits)(&data.git).is_none(), data.trees.first().cloned())
            });
        }
        let mut gitlinks = Gitlinks::default();
        for data in &all {
            gitlinks.note_staged(&data.git, &data.trees, &self.path_lists);
        }
        let mut checkouts = Vec::new();
        for data in all.into_iter().take_while(|_| !self.until.is_over()) {
            let (Ok(own), Ok(common)) = (data.own.try_clone(), data.common.try_clone()) else { continue };
            let references = References::of(own, common);
            let mut commits = commits::named(&references, &data.own);
            commits.extend(self.named_by_superprojects(&data, references.format(), &gitlinks, &commits));
            let unindexed = start.map(|start| {
                let known = (start.commits)(&data.git).unwrap_or_default();
                self.unindexed(&data, references.format(), &commits, &known, &links, &listed)
            });
            let unindexed = unindexed.unwrap_or_default();
            gitlinks.note_committed(&data.git, &unindexed);
            let attributes =
                start.map(|start| self.attributes(&data, references.format(), &unindexed, start));
            let attributes = attributes.unwrap_or_default();
            // Of a bare one, what is around it is no work tree, and only the linked ones have a branch checked out.
            let is_bare = references::is_bare(&data.common) && data.host == self.host.join(&data.git);
            let tree = data.trees.first().filter(|_| !is_bare).map(|tree| self.host.join(tree));
            let (git, common, branch) = (data.git, data.host, references.branch());
            checkouts.push(Checkout { git, common, tree, branch, commits, unindexed, attributes });
        }
        checkouts
    }

    /// Opens a directory of git's data in the boundary; `None` where what it shares with others lies out of it, where nobody inside can write.
    fn inside(&self, git: &Path) -> Option<Data> {
        let common = self.common(git)?;
        let open = |git: &Path| beneath::directory(self.root, git).ok();
        let (own, shared) = (open(git)?, open(&common)?);
        let trees = match &self.own_trees(git)[..] {
            // Its work tree is none of those that are here.
            [tree] if tree == git && !references::is_bare(&shared) => vec![self.main_tree(git)],
            trees => trees.to_vec(),
        };
        Some(Data { git: git.into(), own, common: shared, host: self.host.join(common), trees })
    }

    /// Returns where on the host the main work tree is, to which a directory of git's data belongs: that directory itself, where its name does
    /// not say it.
    fn main_tree(&self, git: &Path) -> PathBuf {
        let data: PathBuf = self.host.join(git).components().collect();
        if data.ends_with(".git") { data.parent().unwrap_or(&data).to_path_buf() } else { data }
    }

    /// Lists the attributes that convert files otherwise in the work trees of a directory of git's data: none of a new repository, whose all is its own.
    fn attributes(
        &self,
        data: &Data,
        format: ObjectFormat,
        unindexed: &[UnindexedFiles],
        start: &Start<'_>,
    ) -> Vec<ChangedAttributes> {
        // A linked work tree that is new begins at a commit of its repository.
        let known = (start.commits)(&data.git).or_else(|| (start.commits)(&self.common(&data.git)?));
        let Some(known) = known else { return Vec::new() };
        let head = known.iter().find(|known| known.is_head()).and_then(|head| head.commit.as_deref());
        self.changed_attributes(data, format, head, unindexed, start)
    }

    /// Lists the commits that superprojects name for a submodule, without those that it names itself. One that it does not have yet, git must
    /// fetch before it writes anything.
    fn named_by_superprojects(
        &self,
        data: &Data,
        format: ObjectFormat,
        gitlinks: &Gitlinks,
        own: &[NamedCommit],
    ) -> Vec<NamedCommit> {
        let mut named = gitlinks.of(&data.trees);
        named.retain(|one| !own.iter().any(|own| own.commit == one.commit));
        if !named.is_empty() {
            let objects = Objects::open(&data.common, &data.host, format, &resolved, self.until);
            named.retain(|one| one.commit.as_deref().is_some_and(|commit| objects.has_prefix(commit)));
        }
        named
    }

    fn unindexed(
        &self,
        data: &Data,
        format: ObjectFormat,
        commits: &[NamedCommit],
        known: &[NamedCommit],
        links: &[&PathBuf],
        listed: &ListedPaths<'_>,
    ) -> Vec<UnindexedFiles> {
        let is_known = |one: &NamedCommit| {
            let is_same = |known: &NamedCommit| {
                // What a superproject names for a submodule, that has not checked out yet.
                let is_own = known.superproject.is_none() || one.superproject.is_some();
                is_own && known.commit == one.commit && (one.commit.is_some() || known.by == one.by)
            };
            known.iter().any(is_same)
        };
        let head = known.iter().find(|known| known.is_head());
        // One that is gone may be one that was not found.
        let is_gone = head.is_some() && !commits.iter().any(NamedCommit::is_head);
        let at_head = |commit: Option<&str>| {
            let commit = commit.map(str::to_owned);
            NamedCommit { superproject: None, by: HEAD.into(), commit }
        };
        let gone = is_gone.then(|| at_head(None));
        let new: Vec<NamedCommit> =
            commits.iter().filter(|one| !is_known(one)).cloned().chain(gone).collect();
        let trees = &data.trees;
        let has_links = links.iter().any(|link| trees.iter().any(|tree| link.starts_with(tree)));
        if new.is_empty() && !has_links {
            return Vec::new();
        }
        let head = head.and_then(|head| head.commit.as_deref());
        let mut objects = Objects::open(&data.common, &data.host, format, &resolved, self.until);
        let mut unindexed = Vec::new();
        for named in &new {
            let difference = named.commit.as_deref().map(|now| commits::difference(&mut objects, head, now));
            let difference = difference.unwrap_or_default();
            let is_whole = difference.is_whole;
            let (files, removed) = not_indexed(&data.own, format, difference);
            for tree in trees {
                let mut writes = Writes::to(self, tree, listed);
                let (protected, others) =
                    files.iter().cloned().partition(|file| writes.something_protected(&file.path, file.kind));
                let is_protected = |path: &&PathBuf| writes.something_protected(path, StagedKind::File);
                let removed_protected = removed.iter().filter(is_protected).cloned().collect();
                unindexed.push(UnindexedFiles {
                    named: named.clone(),
                    tree: tree.clone(),
                    format,
                    protected,
                    others,
                    removed: removed.clone(),
                    removed_protected,
                    hidden: Vec::new(),
                    is_whole,
                });
            }
        }
        // Of the commit that was there, links may have come to lie above files.
        let head = head.filter(|_| !new.iter().any(NamedCommit::is_head));
        for (tree, link) in trees.iter().flat_map(|tree| links.iter().map(move |link| (tree, link))) {
            let (Some(commit), Ok(link)) = (head, link.strip_prefix(tree)) else { continue };
            let difference = commits::files_in(&mut objects, commit, link);
            let is_whole = difference.is_whole;
            let (mut others, removed) = not_indexed(&data.own, format, difference);
            others.retain(|file| file.kind == StagedKind::File);
            unindexed.push(UnindexedFiles {
                named: at_head(Some(commit)),
                tree: tree.clone(),
                format,
                protected: Vec::new(),
                others,
                removed,
                removed_protected: Vec::new(),
                hidden: Vec::new(),
                is_whole,
            });
        }
        unindexed
    }

    /// Returns the directory of the data that a directory of git's data shares with others: itself, where it shares none. `None` where it lies
    /// out of the boundary, where nobody inside can write.
    pub(super) fn common(&self, git: &Path) -> Option<PathBuf> {
        let content = references::read(self.root, &git.join("commondir"), MAX_POINTER_LENGTH);
        let Some(content) = content else { return Some(git.into()) };
        match self.resolve(git, repository::commondir(&content)?) {
            Ok(Leads::To { path, .. }) => Some(path),
            _ => None,
        }
    }
}

/// Lists the files that the index in a directory of git's data has not so: what it has is compared by itself. Of those that are removed, lists what
/// the index has as before.
fn not_indexed(
    data: &OwnedFd,
    format: ObjectFormat,
    difference: Difference,
) -> (Vec<ChangedFile>, Vec<PathBuf>) {
    let Difference { files, removed, directories, .. } = difference;
    let read = |name: &str| references::read(data, Path::new(name), MAX_SIZE);
    let differs = !files.is_empty() || !removed.is_empty();
    let Some(content) = read("index").filter(|_| differs) else {
        return (files, removed.into_iter().map(|(path, _)| path).collect());
    };
    let of_files = files.iter().map(|file| file.path.as_path());
    let of_files: BTreeSet<&Path> = of_files.chain(removed.iter().map(|(path, _)| path.as_path())).collect();
    let is_wanted = |path: &Path, kind| match kind {
        // Of a sparse index: it stands for all that is in it.
        StagedKind::Directory => directories.contains_key(path),
        _ => of_files.contains(path),
    };
    let indexed = index::staged(&content, format, is_wanted, read).unwrap_or_default();
    let indexed: BTreeSet<(&Path, &str)> =
        indexed.iter().map(|(path, number)| (path.as_path(), number.as_str())).collect();
    let is_indexed = |file: &ChangedFile| {
        let mut above = file.path.ancestors().skip(1);
        indexed.contains(&(&file.path, &file.number))
            || above.any(|above| {
                let tree = directories.get(above);
                tree.is_some_and(|tree| indexed.contains(&(above, tree)))
            })
    };
    let listed: BTreeSet<&Path> = indexed.iter().map(|(path, _)| *path).collect();
    let not_indexed = files.iter().filter(|file| !is_indexed(file));
    let with_indexed = not_indexed.map(|file| {
        let is_before = |before: &String| indexed.contains(&(&file.path, before));
        let indexed = match &file.before {
            Some(before) if is_before(before) => Indexed::AsBefore,
            _ if listed.contains(&*file.path) => Indexed::Otherwise,
            _ => Indexed::Nothing,
        };
        ChangedFile { indexed, ..file.clone() }
    });
    let is_kept = |(path, number): &&(PathBuf, String)| indexed.contains(&(path.as_path(), number.as_str()));
    let removed = removed.iter().filter(is_kept).map(|(path, _)| path.clone());
    (with_indexed.collect(), removed.collect())
}
