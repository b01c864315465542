//! The classification of what lies at protected paths, which comes to an end however much is there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::{
    BesideKind, EntryType, MAX_CONTENT, Reason, classify_among, concerns, essence, is_inert, most_of, parts,
    repository,
};
use policy::plan::FileId;
use policy::protect::table;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::boundary::detect::baseline::{Content, Hold};
use crate::boundary::detect::classified::Classified;
use crate::boundary::protect::mounts::{Cause, Link, Mounts, ReadOnly};
use crate::boundary::protect::reach::Base;
use crate::boundary::quarantine::name::is_quarantined_in_place;
use crate::host::beneath;
use crate::host::deadline::Deadline;

mod configured;

/// How many directories deep a protected directory that appeared is classified.
const LEVELS: u32 = 8;

/// How much is classified at one time: the content of files in bytes, and [`ENTRY`] more for each. No project has as
/// much at its protected paths. Looking at it takes about a second; links to one large file, which cost an agent
/// nothing, would take hours. What is beyond it is not given the benefit of the doubt.
const MAX_CLASSIFIED: u64 = 16 << 20;

/// How much more is read at one time of the files that may be longer than [`MAX_CONTENT`]: what builds write, which is counted apart,
/// so that there is still room for everything else.
const MAX_LONG: usize = 64 << 20;

/// What an entry counts for besides its content: finding it costs as much as reading so many bytes.
const ENTRY: u64 = 256;

/// The largest file whose content is kept. Configurations and hooks are smaller.
const MAX_KEPT_FILE: usize = 64 << 10;

/// How much is kept of one boundary.
const MAX_KEPT: usize = 1 << 20;

/// Protected files that have names elsewhere, through which they can be written.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Linked {
    /// The files, by every name that was looked at.
    pub paths: Vec<PathBuf>,
    /// Whether there was too much to look at every file.
    pub may_be_more: bool,
}

/// A path to be compared, and how it is classified.
pub(crate) struct Watched<'a> {
    pub(crate) path: &'a Path,
    seen_as: &'a Path,
    pub(crate) cause: Cause,
    pub(crate) base: &'a Base,
    /// Whether it leads git to something that was not searched.
    is_unfollowed: bool,
    /// Whether it leads git to what was searched, and is classified there.
    is_followed: bool,
    /// Whether it lies among git's data, and git makes no such file.
    pub(crate) is_unexpected: bool,
    /// How it is held in its place, if it is a link.
    pub(crate) hold: Hold,
    leads_out: LeadsOut<'a>,
}

/// Where a protected path leads out of the boundary.
#[derive(Clone, Copy)]
enum LeadsOut<'a> {
    Nowhere,
    /// To this path of the host.
    To(&'a Path),
    /// Where each process finds something else, or nobody knows.
    Unknown,
}

impl<'a> Watched<'a> {
    /// Returns whether git reads it as a configuration.
    pub(crate) fn is_configuration(&self) -> bool {
        [".git/config", ".gitconfig"].iter().any(|name| self.seen_as == Path::new(name))
    }

    pub(crate) fn of(ReadOnly { path, seen_as, cause, base, .. }: &'a ReadOnly) -> Self {
        Self::at(path, seen_as, *cause, base, Hold::Fixed)
    }

    /// Returns whether it lies at a path of the boundary itself, and not of a repository in it.
    pub(crate) fn is_of_root(&self) -> bool {
        self.path == self.seen_as
    }

    /// Makes one, with what else was found of it.
    pub(crate) fn among(one: &'a ReadOnly, mounts: &Mounts) -> Self {
        Self {
            is_unfollowed: mounts.unfollowed.contains(&one.path),
            is_followed: mounts.followed.contains(&one.path),
            ..Self::of(one)
        }
    }

    /// Returns whether it is a file that is classified and not protected.
    pub(crate) fn stays_writable(&self) -> bool {
        self.cause != Cause::Asked && table::is_only_classified(self.seen_as)
    }

    fn link(Link { path, seen_as, cause, base }: &'a Link, hold: Hold, mounts: &'a Mounts) -> Self {
        let leads_out = match mounts.listed_out.get(path) {
            None => LeadsOut::Nowhere,
            Some(Some(target)) => LeadsOut::To(target),
            Some(None) => LeadsOut::Unknown,
        };
        Self { leads_out, ..Self::at(path, seen_as, *cause, base, hold) }
    }

    fn at(path: &'a Path, seen_as: &'a Path, cause: Cause, base: &'a Base, hold: Hold) -> Self {
        let (is_unfollowed, is_followed, is_unexpected) = (false, false, false);
        Self {
            path,
            seen_as,
            cause,
            base,
            is_unfollowed,
            is_followed,
            is_unexpected,
            hold,
            leads_out: LeadsOut::Nowhere,
        }
    }
}

/// Lists what is to be compared, in the order in which it is classified, each with its place among [`watched`]. What is the
/// root's own comes first, and what lies deeper later: there is an end to what is classified and recorded, and an agent can make as
/// much as it likes in directories of its own.
///
/// Of the root's own, small files come before directories, and large files last: whatever their content, they take little time.
pub(crate) fn most_important_first<'a>(
    root: BorrowedFd<'_>,
    mounts: &'a Mounts,
) -> Vec<(usize, Watched<'a>)> {
    let size = |path: &Path| match beneath::stat(root, path) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Size::Directory,
        Ok(stat) if stat.st_size > SMALL => Size::Large,
        _ => Size::Small,
    };
    let mut all: Vec<_> = watched(mounts).enumerate().collect();
    all.sort_by_cached_key(|(_, one)| {
        let git_configs = [".git/config", ".git/config.worktree"].map(Path::new);
        let size = if one.is_of_root() { size(one.path) } else { Size::Small };
        (!one.is_of_root(), size, !git_configs.contains(&one.seen_as), one.path.components().count())
    });
    all
}

/// The largest file that is surely classified in a moment, in bytes.
const SMALL: i64 = 64 << 10;

/// How much there may be to classify, in the order of that.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Size {
    Small,
    Directory,
    Large,
}

/// Lists what is to be compared.
pub(crate) fn watched(mounts: &Mounts) -> impl Iterator<Item = Watched<'_>> {
    // What cannot be searched is compared as such.
    // No privileged file is new: nobody inside can make one.
    let classified = |one: &&ReadOnly| !matches!(one.cause, Cause::Closed | Cause::Privileged);
    let open = mounts.read_only.iter().filter(classified);
    let files = open.map(|one| Watched::among(one, mounts));
    // Where a file may stand that is only classified, a build may take its link away, unless that was to stay for another reason.
    let hold = |link: &Link| match link.cause {
        Cause::Asked => Hold::Fixed,
        _ if table::is_only_classified(&link.seen_as) => Hold::Loose,
        _ => Hold::Fixed,
    };
    let links = mounts.links.iter().map(move |link| Watched::link(link, hold(link), mounts));
    let loose = mounts.loose.iter().map(|link| Watched::link(link, Hold::Loose, mounts));
    let unexpected = mounts.unexpected.iter().map(|one| Watched::link(one, Hold::Loose, mounts));
    files.chain(links).chain(loose).chain(unexpected.map(|one| Watched { is_unexpected: true, ..one }))
}

/// Whether a boundary is searched again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SearchKind {
    /// While the agent runs.
    Quick,
    /// When everything inside has ended.
    Last,
}

/// The classification of many paths, which comes to an end however much is there.
pub(crate) struct Classifier {
    verdicts: Vec<Classified>,
    /// How much of [`MAX_CLASSIFIED`] is left.
    left: u64,
    /// How much of [`MAX_LONG`] is left.
    left_long: usize,
    until: Deadline,
    /// The directories of the host that are shared and may be written.
    shared: Vec<PathBuf>,
    /// Whether there was time to look at everything.
    pub(crate) is_whole: bool,
    search: SearchKind,
    keeping: Option<Keeping>,
    configured: ConfiguredBudget,
    /// Whether there was too much, or too deep, to look at every file for several names.
    is_not_all: bool,
}

/// How much of what the settings protect is still looked at. It is counted apart: a whole directory of programs may be among it.
struct ConfiguredBudget {
    /// How many bytes are read.
    bytes: usize,
    entries: u32,
}

impl Default for ConfiguredBudget {
    fn default() -> Self {
        Self { bytes: 16 << 20, entries: 5_000 }
    }
}

/// What is remembered beside the verdicts.
#[derive(Default)]
struct Keeping {
    kept: Vec<Content>,
    bytes: usize,
    /// How many of them are of what the settings protect.
    configured_bytes: usize,
    /// Files with several names: how many, and those that were met.
    linked: BTreeMap<(u64, u64), (usize, Vec<PathBuf>)>,
}

impl Keeping {
    fn note_names(&mut self, path: &Path, stat: &Stat) {
        let several = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink > 1;
        if several {
            let FileId { device, inode } = beneath::file_id(stat);
            let names = usize::try_from(stat.st_nlink).unwrap_or(usize::MAX);
            self.linked.entry((device, inode)).or_insert((names, Vec::new())).1.push(path.into());
        }
    }

    fn note_content(&mut self, path: &Path, stat: &Stat, content: &[u8]) {
        if content.len() <= MAX_KEPT_FILE && self.bytes + content.len() <= MAX_KEPT {
            self.bytes += content.len();
            self.keep(path, stat, content);
        }
    }

    fn keep(&mut self, path: &Path, stat: &Stat, content: &[u8]) {
        self.kept.push(Content {
            path: path.into(),
            mode: stat.st_mode & 0o777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            bytes: content.into(),
        });
    }
}

impl Classifier {
    pub(crate) fn until(until: Deadline) -> Self {
        Self {
            verdicts: Vec::new(),
            left: MAX_CLASSIFIED,
            left_long: MAX_LONG,
            until,
            shared: Vec::new(),
            is_whole: true,
            search: SearchKind::Quick,
            keeping: None,
            configured: ConfiguredBudget::default(),
            is_not_all: false,
        }
    }

    /// Makes it take nothing in these directories of the host for the system's: they are shared and may be written.
    pub(crate) fn sharing(self, shared: Vec<PathBuf>) -> Self {
        Self { shared, ..self }
    }

    /// Returns whether it is too late to classify more, which is then noted.
    pub(crate) fn is_out_of_time(&mut self) -> bool {
        let over = self.until.is_over();
        self.is_whole &= !over;
        over
    }

    /// Makes it classify for a search of this kind.
    pub(crate) fn searching(self, search: SearchKind) -> Self {
        Self { search, ..self }
    }

    /// Returns whether nobody will look at what there is no more time for.
    pub(crate) fn reads_no_more(&mut self) -> bool {
        self.search == SearchKind::Last && self.is_out_of_time()
    }

    /// Makes it remember the content of what it classifies.
    pub(crate) fn keeping(self) -> Self {
        Self { keeping: Some(Keeping::default()), ..self }
    }

    /// Returns what it has remembered, and which files have names that it has not found.
    pub(crate) fn kept(self) -> (Vec<Content>, Linked) {
        let Some(keeping) = self.keeping else { return Default::default() };
        let elsewhere = keeping.linked.into_values().filter(|(names, met)| *names > met.len());
        let paths = elsewhere.flat_map(|(_, met)| met).collect();
        (keeping.kept, Linked { paths, may_be_more: self.left == 0 || self.is_not_all })
    }

    /// Says of what is at a path that nobody has looked at it.
    pub(crate) fn unread(&mut self, root: BorrowedFd<'_>, one: &Watched<'_>) -> Vec<Classified> {
        if let Ok(stat) = beneath::stat(root, one.path) {
            self.unseen(one.path, Reason::Unread, &stat);
        }
        std::mem::take(&mut self.verdicts)
    }

    /// Classifies what is at a path, and in it.
    pub(crate) fn of(&mut self, root: BorrowedFd<'_>, one: &Watched<'_>) -> Vec<Classified> {
        if one.cause == Cause::Asked {
            // What is remembered there is the user's own; of what is new, all that is there counts, whatever it holds.
            return match self.keeping {
                Some(_) => self.configured(root, one),
                None => vec![Classified::of(one.path.into(), Reason::Listed)],
            };
        }
        if let Ok((parent, name)) = beneath::parent(root, one.path) {
            self.entry(&parent, name, one.path, one.seen_as, LEVELS);
        }
        if self.leads_to_unclassified(one) && self.verdicts.is_empty() {
            let target = beneath::read_link(root, one.path).unwrap_or_default();
            let essence = Some(hex(target.as_os_str().as_bytes()));
            self.verdicts.push(Classified { essence, ..Classified::of(one.path.into(), Reason::NotAFile) });
        }
        if one.is_followed {
            self.verdicts.retain(|verdict| verdict.reason != Reason::GitElsewhere);
        }
        if one.is_unexpected && !self.verdicts.iter().any(|verdict| verdict.path == one.path) {
            let is_special = beneath::stat(root, one.path).is_ok_and(|stat| is_special(&stat));
            let reason = match replacement(one.path) {
                _ if is_special => Reason::NotAFile,
                Some(example) => Reason::NamesReferences { references: 1, example },
                None => Reason::NotOfGit,
            };
            self.verdicts.push(Classified::of(one.path.into(), reason));
        }
        if one.is_unfollowed && self.verdicts.is_empty() {
            let essence =
                content(root, one).map(|content| hex(&essence(one.seen_as, &content, &self.shared)));
            self.verdicts
                .push(Classified { essence, ..Classified::of(one.path.into(), Reason::GitElsewhere) });
        }
        std::mem::take(&mut self.verdicts)
    }

    /// Returns whether a link that may stand there leads to what is not classified where it lies, and the agent may write all the same: in
    /// another shared directory, or through `/proc` back into this one.
    fn leads_to_unclassified(&self, one: &Watched<'_>) -> bool {
        one.stays_writable()
            && match one.leads_out {
                LeadsOut::Nowhere => false,
                LeadsOut::To(target) => self.shared.iter().any(|shared| target.starts_with(shared)),
                LeadsOut::Unknown => true,
            }
    }

    fn entry(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path, seen_as: &Path, levels: u32) {
        // What is gone by now harms nobody.
        let Ok(mut stat) = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        if self.left == 0 {
            return self.unseen(path, Reason::Hidden, &stat);
        }
        self.left = self.left.saturating_sub(ENTRY);
        if let Some(keeping) = &mut self.keeping {
            keeping.note_names(path, &stat);
        }
        let mut content = Vec::new();
        let found = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => EntryType::Directory,
            FileType::Symlink => EntryType::Link,
            FileType::RegularFile => {
                if concerns(seen_as) {
                    let most = most_of(seen_as).min(MAX_CONTENT + self.left_long);
                    // Another file may have the name by now. What is said of the content is that of the one that was read.
                    match read(parent, name, most, &mut content) {
                        Some(of_what_was_read) => stat = of_what_was_read,
                        None => return self.unseen(path, Reason::NotAFile, &stat),
                    }
                    self.left_long = self.left_long.saturating_sub(content.len().saturating_sub(MAX_CONTENT));
                    if content.len() > most && most < most_of(seen_as) {
                        let reason = Reason::TooLarge { bytes: content.len() };
                        return self.unseen(path, reason, &stat);
                    }
                }
                EntryType::File { mode: stat.st_mode }
            }
            _ => EntryType::Special,
        };
        self.left = self.left.saturating_sub(content.len().min(MAX_CONTENT) as u64);
        let is_whole = content.len() <= most_of(seen_as);
        if let (Some(keeping), true) = (&mut self.keeping, is_whole && concerns(seen_as)) {
            if let EntryType::File { .. } = found {
                keeping.note_content(path, &stat, &content);
            }
        }
        // Whatever it holds, another may come to stand there.
        let is_linked = matches!(found, EntryType::File { .. }) && stat.st_nlink > 1;
        let linked = || is_linked.then_some(Reason::HardLinked);
        let reason = classify_among(seen_as, found, &content, &self.shared).or_else(linked);
        if let (Some(reason), false) = (&reason, is_whole) {
            return self.unseen(path, reason.clone(), &stat);
        }
        if let Some(reason) = reason {
            let essence = (!content.is_empty()).then(|| hex(&essence(seen_as, &content, &self.shared)));
            let parts = parts(seen_as, &content).into_iter().map(|(name, part)| (hex(&part), name)).collect();
            self.verdicts.push(Classified { path: path.into(), reason, essence, parts });
        }
        if found == EntryType::Directory && !is_inert(seen_as) {
            if let Some(levels) = levels.checked_sub(1) {
                self.directory(parent, name, path, (seen_as, &stat), levels);
            } else {
                self.is_not_all = true;
                self.unseen(path, Reason::Hidden, &stat);
            }
        }
    }

    fn directory(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        path: &Path,
        (seen_as, stat): (&Path, &Stat),
        levels: u32,
    ) {
        // One more than there is room for, so that it is seen that there are more.
        let most = usize::try_from(self.left / ENTRY).unwrap_or(usize::MAX).saturating_add(1);
        let (directory, mut entries) = match list(parent, name, most) {
            Ok(listed) => listed,
            Err(Errno::NOENT | Errno::NOTDIR) => return,
            Err(_) => return self.unseen(path, Reason::Hidden, stat),
        };
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        // Git runs hooks by their names, see githooks(5), and so not what was quarantined among them. Other programs take
        // whatever lies in a directory, and an agent can give that name to its own.
        let is_inert = |name: &OsStr| seen_as.ends_with(".git/hooks") && is_quarantined_in_place(name);
        for (name, _) in entries.into_iter().filter(|(name, _)| !is_inert(name)) {
            if self.left == 0 {
                return self.unseen(path, Reason::Hidden, stat);
            }
            if self.reads_no_more() {
                return self.unseen(path, Reason::Unread, stat);
            }
            if self.is_out_of_time() {
                return;
            }
            self.entry(&directory, &name, &path.join(&name), &seen_as.join(&name), levels);
        }
    }

    /// Adds a verdict about something of which not everything was read. Nobody knows whether what was not read is the same
    /// as before, so that is only said of the same file, untouched.
    fn unseen(&mut self, path: &Path, reason: Reason, stat: &Stat) {
        let essence = Some(hex(identity(stat).as_bytes()));
        self.verdicts.push(Classified { essence, ..Classified::of(path.into(), reason) });
    }
}

/// Opens a directory and lists what is in it, so many entries at most.
fn list(parent: &OwnedFd, name: &OsStr, most: usize) -> Result<(OwnedFd, Vec<(OsString, FileType)>), Errno> {
    let directory = beneath::listing(parent, Path::new(name))?;
    let entries = beneath::entries(directory.as_fd())?.take(most).collect::<Result<Vec<_>, _>>()?;
    Ok((directory, entries))
}

/// Reads as much of a file as is classified, and says what it is. `None` if it is none any more, or cannot be read: an agent
/// that hides what it wrote is not given the benefit of the doubt.
fn read(parent: &OwnedFd, name: &OsStr, most: usize, content: &mut Vec<u8>) -> Option<Stat> {
    let (file, stat) = beneath::file(parent, Path::new(name)).ok()?;
    std::fs::File::from(file).take(most as u64 + 1).read_to_end(content).ok()?;
    Some(stat)
}

/// Reads what is classified of a file, if it is.
fn content(root: BorrowedFd<'_>, one: &Watched<'_>) -> Option<Vec<u8>> {
    let (parent, name) = beneath::parent(root, one.path).ok().filter(|_| concerns(one.seen_as))?;
    let mut content = Vec::new();
    read(&parent, name, most_of(one.seen_as), &mut content)?;
    Some(content)
}

/// Compares a configuration of git, which runs nothing new, with the content that was in its place.
pub(crate) fn compare(root: BorrowedFd<'_>, one: &Watched<'_>, before: &[u8]) -> Option<Reason> {
    policy::classify::compare(one.seen_as, before, &content(root, one)?)
}

/// Returns the setting of a configuration of git that holds in the place of another one's.
pub(crate) fn overrides(root: BorrowedFd<'_>, one: &Watched<'_>, kind: BesideKind) -> Option<Reason> {
    policy::classify::overrides(&content(root, one)?, kind)
}

/// Returns whether it is a pipe, a socket or a device.
fn is_special(stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    !matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink)
}

/// Returns the name of the reference at a path, if it has git take another object in the place of one.
fn replacement(path: &Path) -> Option<String> {
    let mut data = path.ancestors().filter(|above| above.ends_with("refs")).filter_map(Path::parent);
    let name =
        data.find_map(|git| path.strip_prefix(git).ok().filter(|name| repository::replaces_object(name)))?;
    Some(name.to_string_lossy().into_owned())
}

/// Says which file of its file system it is, and when it was last touched, as a directory too.
fn identity(stat: &Stat) -> String {
    let (inode, size, modified, changed) = (stat.st_ino, stat.st_size, stat.st_mtime, stat.st_ctime);
    let (modified_ns, changed_ns) = (stat.st_mtime_nsec, stat.st_ctime_nsec);
    format!("{inode} {size} {modified}.{modified_ns} {changed}.{changed_ns}")
}

fn hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;

    #[test]
    fn what_is_kept_of_a_file_is_that_of_the_file_that_was_read() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        for (name, mode) in [("config", 0o600), ("other", 0o644)] {
            fs::write(path(name), format!("{mode:o}")).unwrap();
            fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
        }
        let root = File::open(top.path()).unwrap();
        let one = Watched {
            path: Path::new("config"),
            seen_as: Path::new(".git/config"),
            cause: Cause::Listed,
            base: &Base::Git(".git".into()),
            is_unfollowed: false,
            is_followed: false,
            is_unexpected: false,
            hold: Hold::Fixed,
            leads_out: LeadsOut::Nowhere,
        };
        let is_over = AtomicBool::new(false);
        let exchange = || {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, path("config"), CWD, path("other"), RenameFlags::EXCHANGE).unwrap();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(exchange);
            let kept = (0..20_000).flat_map(|_| {
                let mut classifier = Classifier::until(Deadline::NEVER).keeping();
                classifier.of(root.as_fd(), &one);
                classifier.kept().0
            });
            let kept: Vec<_> = kept
                .map(|kept| (format!("{:o}", kept.mode), String::from_utf8(kept.bytes).unwrap()))
                .collect();
            is_over.store(true, Ordering::Relaxed);
            for mode in ["600", "644"] {
                assert!(kept.iter().any(|(of, _)| of == mode), "the control: both were met");
            }
            assert_eq!(kept.iter().find(|(mode, content)| mode != content), None);
        });
    }
}
