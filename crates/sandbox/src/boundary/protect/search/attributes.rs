//! Attributes of git by which it newly writes files otherwise than it records them, or runs a driver on them.
//!
//! Git takes attributes from the index when it checks files out, and from the work tree where that has none, so both count, and so do those of
//! the commit at `HEAD`, which `git stash` puts into the index.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use policy::classify::index::{self, NO_ENTRY, ObjectFormat};
use policy::classify::objects::{ObjectId, ObjectKind};
use policy::classify::{MAX_CONTENT, converting_lines};

use crate::boundary::protect::commits;
use crate::boundary::protect::mounts::{ChangedAttributes, LinesChange, UnindexedFiles};
use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::path_list::{ATTRIBUTES, MAX_SIZE};
use crate::boundary::protect::references;
use crate::boundary::protect::search::checkouts::{Data, Start, resolved};
use crate::boundary::protect::search::progress::{Search, read_up_to};
use crate::host::beneath;

/// What stands for lines that were not read: attributes are too long, or an object that cannot be read.
const UNREAD: &str = "(what cannot be read)";

impl Search<'_> {
    /// Lists the attributes of the work trees of one directory of git's data with lines that convert files, or may name a driver, and that were
    /// neither in the commit which was checked out at the start, `head`, nor in a file that nobody has touched since. And those without such
    /// lines which git has recorded in the place of a file that has them.
    pub(super) fn changed_attributes(
        &self,
        data: &Data,
        format: ObjectFormat,
        head: Option<&str>,
        unindexed: &[UnindexedFiles],
        start: &Start<'_>,
    ) -> Vec<ChangedAttributes> {
        let listed = ListedAttributes::of(data, format);
        let mut read =
            Reader { objects: Objects::open(&data.common, &data.host, format, &resolved, self.until) };
        let mut found = Vec::new();
        for tree in &data.trees {
            let in_commits = in_commits(data, unindexed.iter().filter(|unindexed| unindexed.tree == *tree));
            let in_directories = listed.directories.iter().map(|directory| directory.join(ATTRIBUTES));
            let elsewhere = listed.files.keys().chain(in_commits.keys()).cloned();
            for path in in_directories.chain(elsewhere).collect::<BTreeSet<_>>() {
                if self.until.is_over() {
                    break;
                }
                let place = tree.join(&path);
                let in_tree = self.lines_in(&place);
                let is_old = in_tree.is_some() && !(start.is_since)(&place);
                let number = listed.files.get(&path).map(String::as_str);
                // What the index lists no more, `git clean` removes from the work tree.
                let may_be_gone = number.is_none() && in_tree.as_ref().is_some_and(|lines| !lines.is_empty());
                let is_gone = may_be_gone && head.is_some_and(|head| !read.lines_at(head, &path).is_empty());
                let in_index = (number.is_some() || is_gone).then(|| (data.git.join("index"), number));
                let recorded = in_index.into_iter().chain(in_commits.get(&path).cloned());
                let recorded: Vec<_> = recorded
                    .map(|(by, number)| (by, number.map(|number| read.lines(number)).unwrap_or_default()))
                    .collect();
                let in_tree = in_tree.unwrap_or_default();
                let before = if is_old { in_tree.clone() } else { Vec::new() };
                if in_tree == before && recorded.iter().all(|(_, lines)| *lines == before) {
                    continue;
                }
                let in_head = head.map(|head| read.lines_at(head, &path)).unwrap_or_default();
                let changed = changed((place, in_tree), recorded, &[before, in_head]);
                found.extend(changed.into_iter().map(|(by, change, lines)| ChangedAttributes {
                    by,
                    path: path.clone(),
                    change,
                    lines,
                }));
            }
        }
        found
    }

    /// Returns the lines that convert files of attributes in a work tree.
    fn lines_in(&self, place: &Path) -> Option<Vec<String>> {
        let (file, _) = beneath::file(self.root, place).ok()?;
        let (content, is_whole) = read_up_to(file, MAX_CONTENT as u64)?;
        Some(if is_whole { lines(&content) } else { unread() })
    }
}

/// The attributes that an index lists, with what names their contents, and the directories of which it lists files.
#[derive(Default)]
struct ListedAttributes {
    files: BTreeMap<PathBuf, String>,
    directories: BTreeSet<PathBuf>,
}

impl ListedAttributes {
    fn of(data: &Data, format: ObjectFormat) -> Self {
        let read = |name: &str| references::read(&data.own, Path::new(name), MAX_SIZE);
        let Some(content) = read("index") else { return Self::default() };
        let directories = RefCell::new(BTreeSet::new());
        let is_wanted = |path: &Path, _| {
            let above = path.parent().unwrap_or(path);
            let mut directories = directories.borrow_mut();
            if !directories.contains(above) {
                directories.extend(above.ancestors().map(Path::to_path_buf));
            }
            path.ends_with(ATTRIBUTES)
        };
        let files = index::staged(&content, format, is_wanted, read).unwrap_or_default();
        let entries = files.into_iter().filter(|(_, number)| !number.starts_with(NO_ENTRY));
        Self { files: entries.collect(), directories: directories.into_inner() }
    }
}

/// Lists the attributes that commits have otherwise than the index, with the files by which git has them and what names their contents, unless they
/// are gone.
fn in_commits<'u>(
    data: &Data,
    unindexed: impl Iterator<Item = &'u UnindexedFiles>,
) -> BTreeMap<PathBuf, (PathBuf, Option<&'u str>)> {
    let mut found = BTreeMap::new();
    for UnindexedFiles { named, protected, others, removed, .. } in unindexed {
        let files = protected.iter().chain(others).map(|file| (&file.path, Some(file.number.as_str())));
        let all = files.chain(removed.iter().map(|path| (path, None)));
        let attributes = all.filter(|(path, _)| path.ends_with(ATTRIBUTES));
        found.extend(attributes.map(|(path, number)| (path.clone(), (named.file(&data.git), number))));
    }
    found
}

/// Reads attributes that git has recorded.
struct Reader {
    objects: Objects,
}

impl Reader {
    /// Returns the lines that convert files of those that are named so in an index: none of what is no file.
    fn lines(&mut self, number: &str) -> Vec<String> {
        ObjectId::from_hex(number.as_bytes()).map(|id| self.lines_of(&id)).unwrap_or_default()
    }

    /// Returns the same of those that a commit has at a path.
    fn lines_at(&mut self, commit: &str, path: &Path) -> Vec<String> {
        let id = commits::file_at(&mut self.objects, commit, path);
        id.map(|id| self.lines_of(&id)).unwrap_or_default()
    }

    fn lines_of(&mut self, id: &ObjectId) -> Vec<String> {
        match self.objects.read(id) {
            Some((ObjectKind::Blob, content)) if content.len() <= MAX_CONTENT => lines(&content),
            _ => unread(),
        }
    }
}

/// Lists which lines are new in the attributes of a work tree and in those that git has recorded of the same place, and which of them git has
/// recorded without lines that were there `before` and still are in the work tree. The files come with their lines.
fn changed(
    in_tree: (PathBuf, Vec<String>),
    recorded: Vec<(PathBuf, Vec<String>)>,
    before: &[Vec<String>; 2],
) -> Vec<(PathBuf, LinesChange, Vec<String>)> {
    let mut found = Vec::new();
    for (by, lines) in &recorded {
        let stayed = before.iter().flatten().filter(|line| in_tree.1.contains(line));
        let gone: BTreeSet<&String> = stayed.filter(|line| !lines.contains(line)).collect();
        found.push((by.clone(), LinesChange::Gone, gone.into_iter().cloned().collect()));
    }
    let mut known = before.to_vec();
    for (by, lines) in [in_tree].into_iter().chain(recorded) {
        found.push((by, LinesChange::Added, added(&lines, &known)));
        // It is said once.
        known.push(lines);
    }
    found.retain(|(_, _, lines): &(_, _, Vec<String>)| !lines.is_empty());
    found
}

/// Returns the lines that none of the known attributes has at this place: git takes the last one that fits.
fn added(lines: &[String], known: &[Vec<String>]) -> Vec<String> {
    let beyond = |known: &Vec<String>| {
        let mut ahead = known.iter();
        let is_new = |line: &&String| !ahead.any(|known| known == *line);
        lines.iter().filter(is_new).cloned().collect::<Vec<_>>()
    };
    known.iter().map(beyond).min_by_key(Vec::len).unwrap_or_default()
}

fn lines(content: &[u8]) -> Vec<String> {
    converting_lines(content).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

fn unread() -> Vec<String> {
    vec![UNREAD.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_new_or_gone_by_what_was_there_before() {
        let all = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let compared = |in_tree: &[&str], in_index: &[&str], before: &[&str]| {
            let found = changed(
                ("tree".into(), all(in_tree)),
                vec![("index".into(), all(in_index))],
                &[all(before), Vec::new()],
            );
            found
                .into_iter()
                .map(|(by, change, lines)| (by.display().to_string(), change, lines))
                .collect::<Vec<_>>()
        };
        let one = |by: &str, change, lines: &[&str]| vec![(by.to_owned(), change, all(lines))];
        assert_eq!(compared(&["a", "b"], &["a", "b"], &["a", "b"]), []);
        assert_eq!(compared(&["a"], &[], &[]), one("tree", LinesChange::Added, &["a"]));
        assert_eq!(compared(&["a"], &["a"], &[]), one("tree", LinesChange::Added, &["a"]), "said once");
        assert_eq!(compared(&[], &["a"], &[]), one("index", LinesChange::Added, &["a"]));
        assert_eq!(compared(&["a", "b"], &["a"], &["a", "b"]), one("index", LinesChange::Gone, &["b"]));
        assert_eq!(compared(&["a"], &["a"], &["a", "b"]), [], "gone from the work tree as well");
        assert_eq!(compared(&["a", "b"], &["b", "a"], &["a", "b"]), one("index", LinesChange::Added, &["a"]));
        assert_eq!(compared(&["a"], &["a", "a"], &["a"]), one("index", LinesChange::Added, &["a"]));
    }
}
