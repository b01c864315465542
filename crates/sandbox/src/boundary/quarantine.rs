//! The quarantine: where things are moved to that a program outside would obey, beneath the boundary they were found in.
//!
//! Nothing is removed: it may be worth something to somebody who looks at it first.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use policy::classify::{Reason, reftable, repository};
use policy::text::fold;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use self::name::{QUARANTINE, is_quarantine};
use crate::boundary::detect::baseline::{Baseline, Content, Original};
use crate::boundary::detect::finding::{Finding, FindingOrigin};
use crate::boundary::detect::index;
use crate::boundary::protect::path_list;
use crate::host::beneath;
use crate::host::deadline::Deadline;

pub mod name;

/// How many names are tried in the directory of something that cannot be moved to the quarantine.
const MAX_IN_PLACE: u32 = 1000;

/// How many directories of what was moved wait to be searched, and how long their paths are, at most.
const MAX_WAITING: usize = 10_000;
const MAX_PATH_LENGTH: usize = 4096;

/// How long the name of something that was moved is, in bytes: what stays in its directory gets a longer one, and 255 are the most.
const MAX_INERT: usize = 200;

/// How many digits of a digest stand for the rest of a longer name.
const DIGEST: usize = 16;

/// What became of something that was to be moved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moved {
    /// Nothing is there any more.
    Gone,
    /// Nothing obeys it where it is.
    Inert,
    /// It was moved, and may hold repositories that git still takes for such.
    Doubtful,
}

/// Why something could not be moved.
#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    #[error("{0} was there at the start; review it and decide yourself")]
    NotCreated(PathBuf),
    #[error("{action} {path}: {source}")]
    File {
        action: &'static str,
        /// With what, relative to the boundary.
        path: PathBuf,
        source: std::io::Error,
    },
}

/// Quarantines something, and says in the finding where it is. What was there at the start, where it is known, takes its
/// place in the same moment.
///
/// It goes to `.sandboxctl-quarantine/<seconds>-<n>/` under its own path, where a leading dot of each name
/// becomes `dot-`: nothing obeys it there, and git does not list it. Where no directory can be made, because space or
/// file numbers are used up, or where another file system is mounted there, it gets an inert name in its own directory, which takes neither. Every directory on the way
/// is opened without following links, so that an agent which is still running cannot lead this anywhere else; whatever it
/// puts at the path in the meantime is moved instead. Repositories that it holds are made inert until then.
pub(crate) fn quarantine_until(
    root: impl AsFd,
    finding: &mut Finding,
    start: Option<&Baseline>,
    now: SystemTime,
    until: Deadline,
) -> Result<Moved, QuarantineError> {
    if finding.stays() {
        return Err(QuarantineError::NotCreated(finding.path.clone()));
    }
    let root = root.as_fd();
    let references = other_references(root, finding, start)?;
    let of_start = || start.filter(|_| finding.origin == FindingOrigin::Replaced)?.original(&finding.path);
    let original = references.as_ref().map(Original::File).or_else(of_start);
    let path = finding.path.clone();
    let failed = |action, path: &Path| {
        let path = path.to_path_buf();
        move |errno: Errno| QuarantineError::File { action, path, source: errno.into() }
    };
    let (from, name) = match beneath::parent(root, &path) {
        Ok(parent) => parent,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Moved::Gone),
        Err(errno) => return Err(failed("open the directory of", &finding.path)(errno)),
    };
    if let Err(Errno::NOENT) = rustix::fs::statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
        let Some(Original::Link(target)) = original else { return Ok(Moved::Gone) };
        let made = match rustix::fs::symlinkat(target, &from, name) {
            Err(Errno::ACCESS) => beneath::open_up(&from, OsStr::new("."))
                .and_then(|()| rustix::fs::symlinkat(target, &from, name)),
            made => made,
        };
        made.map_err(failed("put back", &finding.path))?;
        finding.restored = true;
        return Ok(Moved::Inert);
    }
    // The quarantine does not go into itself.
    let made = (!is_quarantine(&finding.path)).then(|| Slot::make(root, &finding.path, now));
    let slot = match made {
        None | Some(Err(Errno::NOSPC | Errno::DQUOT | Errno::MLINK | Errno::NOMEM | Errno::NAMETOOLONG)) => {
            return quarantine_in_place(root, finding, &from, name, until);
        }
        Some(made) => made.map_err(failed("make a place in", Path::new(QUARANTINE)))?,
    };
    let original = original.filter(|original| slot.fill(*original).is_ok());
    let flags = original.map_or(RenameFlags::NOREPLACE, |_| RenameFlags::EXCHANGE);
    let rename = || rustix::fs::renameat_with(&from, name, &slot.directory, &slot.name, flags);
    let moved = match rename() {
        // Where something lies, and a directory that goes elsewhere, must be writable.
        Err(Errno::ACCESS) => open_for_moving(root, &finding.path, &from, name).and_then(|()| rename()),
        moved => moved,
    };
    match moved {
        Ok(()) => {
            finding.quarantined = Some(slot.path);
            finding.restored = original.is_some();
            Ok(disarm(&slot.directory, &slot.name, until))
        }
        Err(Errno::NOENT) => Ok(Moved::Gone),
        // Another file system is mounted there.
        Err(Errno::XDEV) => quarantine_in_place(root, finding, &from, name, until),
        Err(errno) => Err(failed("quarantine", &finding.path)(errno)),
    }
}

/// Sorts what stands in the place of the quarantine before all else: once the quarantine has been made there, its path is that of another
/// thing.
pub(crate) fn its_own_first(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| finding.path != Path::new(QUARANTINE));
}

/// Returns what takes the place of a file in which there are references that are obeyed: the others, among which every branch may be, and
/// those that were there at the start.
///
/// # Errors
///
/// They cannot be read: then nothing may take their place.
fn other_references(
    root: BorrowedFd<'_>,
    finding: &Finding,
    start: Option<&Baseline>,
) -> Result<Option<Content>, QuarantineError> {
    let is_of_references = matches!(
        finding.reason,
        Reason::NamesReferences { .. } | Reason::AppliesStash { .. } | Reason::LeadsToReference { .. }
    );
    let is_table = index::is_reftable(&finding.path);
    if !is_of_references || !is_table && !finding.path.ends_with("packed-refs") {
        return Ok(None);
    }
    let path = finding.path.clone();
    let failed = |source| QuarantineError::File { action: "read", path: path.clone(), source };
    let (file, stat) = match beneath::file(root, &path) {
        // It is gone, which is seen below.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        found => found.map_err(|errno| failed(errno.into()))?,
    };
    let mut all = Vec::new();
    let read = File::from(file).take(path_list::MAX_SIZE + 1).read_to_end(&mut all).map_err(failed)?;
    if read as u64 > path_list::MAX_SIZE {
        return Err(failed(io::ErrorKind::FileTooLarge.into()));
    }
    let known = start.map(|start| start.references_of(index::git_of_references(&path))).unwrap_or_default();
    let bytes = if is_table {
        // One that cannot be made is put in the place of none: git then says that the table is missing.
        let Ok(bytes) = reftable::without_obeyed_references(&all, &known) else { return Ok(None) };
        bytes
    } else {
        repository::without_obeyed_references(&all, &known)
    };
    let (mode, uid, gid) = (stat.st_mode & 0o777, stat.st_uid, stat.st_gid);
    Ok(Some(Content { path, mode, uid, gid, bytes }))
}

/// Gives something an inert name in its own directory.
fn quarantine_in_place(
    root: BorrowedFd<'_>,
    finding: &mut Finding,
    from: &OwnedFd,
    name: &OsStr,
    until: Deadline,
) -> Result<Moved, QuarantineError> {
    let renamed = rename_in_place(root, &finding.path, from, name);
    let quarantined = renamed.map_err(|errno| QuarantineError::File {
        action: "quarantine",
        path: finding.path.clone(),
        source: errno.into(),
    })?;
    let moved = disarm(from, quarantined.file_name().unwrap_or(name), until);
    finding.quarantined = Some(quarantined);
    Ok(moved)
}

/// Quarantines something that was created. False if nothing is there any more.
pub fn quarantine(root: impl AsFd, finding: &mut Finding, now: SystemTime) -> Result<bool, QuarantineError> {
    Ok(quarantine_until(root, finding, None, now, Deadline::NEVER)? != Moved::Gone)
}

/// A place in the quarantine for one thing.
struct Slot {
    /// Where it is, relative to the boundary.
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

impl Slot {
    fn make(root: BorrowedFd<'_>, of: &Path, now: SystemTime) -> Result<Self, Errno> {
        let (mut path, mut directory) = new_place(root, now)?;
        let mut inert: Vec<OsString> = of.iter().map(inert).collect();
        let name = inert.pop().ok_or(Errno::INVAL)?;
        for above in inert {
            path.push(&above);
            directory = make_directory(&directory, &above)?;
        }
        path.push(&name);
        Ok(Self { path, directory, name })
    }

    /// Makes what is to be put back there, from where it is exchanged for what is quarantined.
    fn fill(&self, original: Original<'_>) -> Result<(), Errno> {
        let made = match original {
            Original::Link(target) => rustix::fs::symlinkat(target, &self.directory, &self.name),
            Original::File(content) => self.write(content),
        };
        made.inspect_err(|_| {
            // Half of it is of no use; that it cannot be removed adds nothing.
            let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
        })
    }

    fn write(&self, content: &Content) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, &self.name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut rest = content.bytes.as_slice();
        while !rest.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::write(&file, rest))?;
            rest = rest.get(written..).unwrap_or_default();
        }
        // Of another owner or group it is only where these rights can give it to them: the content is what protects.
        let (uid, gid) = (rustix::fs::Uid::from_raw(content.uid), rustix::fs::Gid::from_raw(content.gid));
        let _ = rustix::fs::fchown(&file, Some(uid), Some(gid))
            .or_else(|_| rustix::fs::fchown(&file, None, Some(gid)));
        rustix::fs::fchmod(&file, Mode::from_raw_mode(content.mode))
    }
}

/// Makes the repositories in a directory that was moved inert: no index and nobody who stands there leads git to them.
fn disarm(parent: &OwnedFd, name: &OsStr, until: Deadline) -> Moved {
    let mut ahead = vec![PathBuf::from(name)];
    let mut moved = Moved::Inert;
    while let Some(path) = ahead.pop() {
        match disarm_directory(parent, &path, until) {
            Ok(below) if ahead.len() + below.len() <= MAX_WAITING => ahead.extend(below),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Ok(_) | Err(_) => moved = Moved::Doubtful,
        }
    }
    moved
}

/// Renames what makes a directory a repository of git's, and says which directories are in it.
fn disarm_directory(root: &OwnedFd, path: &Path, until: Deadline) -> Result<Vec<PathBuf>, Errno> {
    if path.as_os_str().len() > MAX_PATH_LENGTH {
        return Err(Errno::NAMETOOLONG);
    }
    let directory = match beneath::listing(root, path) {
        Err(Errno::ACCESS) => {
            let (parent, name) = beneath::parent(root, path)?;
            beneath::open_up(parent, name)?;
            beneath::listing(root, path)?
        }
        opened => opened?,
    };
    let is_sign = |name: &OsStr| {
        [".git", "HEAD"].iter().any(|sign| fold::is_same(name.as_encoded_bytes(), sign.as_bytes()))
    };
    let matters = |(name, kind): &(OsString, FileType)| *kind == FileType::Directory || is_sign(name);
    let entries = beneath::entries(directory.as_fd())?.take_while(|_| !until.is_over());
    let entries = entries.filter(|entry| entry.as_ref().map_or(true, matters)).take(MAX_WAITING);
    let mut below = Vec::new();
    for (mut name, kind) in entries.collect::<Result<Vec<_>, _>>()? {
        if is_sign(&name) {
            name = disarm_sign(&directory, &name)?;
        }
        if kind == FileType::Directory {
            below.push(path.join(name));
        }
    }
    if until.is_over() { Err(Errno::TIMEDOUT) } else { Ok(below) }
}

fn disarm_sign(directory: &OwnedFd, name: &OsStr) -> Result<OsString, Errno> {
    let mut to = OsString::from("dot-");
    to.push(OsStr::from_bytes(name.as_bytes().strip_prefix(b".").unwrap_or(name.as_bytes())));
    for _ in 0..MAX_IN_PLACE {
        let rename = || rustix::fs::renameat_with(directory, name, directory, &to, RenameFlags::NOREPLACE);
        let renamed = match rename() {
            Err(Errno::ACCESS) => beneath::open_up_itself(directory).and_then(|_| rename()),
            renamed => renamed,
        };
        match renamed {
            Err(Errno::EXIST) => to.push("-"),
            renamed => return renamed.map(|()| to),
        }
    }
    Err(Errno::EXIST)
}

/// Gives something an inert name in its own directory, and says which.
fn rename_in_place(
    root: BorrowedFd<'_>,
    path: &Path,
    from: &OwnedFd,
    name: &OsStr,
) -> Result<PathBuf, Errno> {
    let inert_name = |number: u32| {
        let mut inert = inert(name);
        inert.push(QUARANTINE);
        if number > 0 {
            inert.push(format!("-{number}"));
        }
        inert
    };
    for number in 0..MAX_IN_PLACE {
        let to = inert_name(number);
        let rename = || rustix::fs::renameat_with(from, name, from, &to, RenameFlags::NOREPLACE);
        let renamed = match rename() {
            Err(Errno::ACCESS) => open_for_moving(root, path, from, name).and_then(|()| rename()),
            renamed => renamed,
        };
        match renamed {
            Err(Errno::EXIST) => {}
            renamed => return renamed.map(|()| path.with_file_name(to)),
        }
    }
    Err(Errno::EXIST)
}

/// Makes a directory of its own for one thing.
fn new_place(root: BorrowedFd<'_>, now: SystemTime) -> Result<(PathBuf, OwnedFd), Errno> {
    let quarantine = match open_or_make(root, now) {
        // The agent may have closed the boundary itself.
        Err(Errno::ACCESS) => {
            beneath::open_up(root, OsStr::new("."))?;
            open_or_make(root, now)?
        }
        opened => opened?,
    };
    let name = |number: u32| format!("{}-{number}", seconds(now));
    for number in first_free(&quarantine, name)..u32::MAX {
        let name = name(number);
        match rustix::fs::mkdirat(&quarantine, &*name, Mode::RWXU) {
            Ok(()) => {
                let place = make_directory(&quarantine, OsStr::new(&name))?;
                return Ok((Path::new(QUARANTINE).join(name), place));
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// Finds a number of which the name is not taken, and that of the number before it is. It halves the range: an agent may
/// have made so much that trying one after the other would never end.
fn first_free(directory: impl AsFd, name: impl Fn(u32) -> String) -> u32 {
    let taken = |number| rustix::fs::statat(&directory, name(number), AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let free = (0..31).map(|power| (1 << power) - 1).find(|number| !taken(*number)).unwrap_or(u32::MAX);
    let (mut taken_up_to, mut free_from) = (free / 2, free);
    while taken_up_to < free_from {
        let middle = taken_up_to + (free_from - taken_up_to) / 2;
        if taken(middle) {
            taken_up_to = middle + 1;
        } else {
            free_from = middle;
        }
    }
    free_from
}

/// Opens the quarantine, making it where it is missing.
fn open_or_make(root: BorrowedFd<'_>, now: SystemTime) -> Result<OwnedFd, Errno> {
    match beneath::open_up(root, OsStr::new(QUARANTINE)) {
        Ok(()) | Err(Errno::NOENT) => {}
        // Something else stands there, or a link: the agent's work. Out of the way with it, as it is.
        Err(_) => put_out_of_the_way(root, now)?,
    }
    let quarantine = make_directory(root, OsStr::new(QUARANTINE))?;
    // Whoever cannot make this one file can still be protected.
    let _ = hide_from_git(&quarantine);
    Ok(quarantine)
}

/// Keeps what was quarantined out of `git status` and `git add`, without touching a file of the user's. One that is
/// there already stays as it is.
fn hide_from_git(quarantine: &OwnedFd) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(quarantine, ".gitignore", flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, b"*\n").map(drop)
}

/// Gives whatever is called like the quarantine another name.
fn put_out_of_the_way(root: BorrowedFd<'_>, now: SystemTime) -> Result<(), Errno> {
    let name = |number: u32| format!("{QUARANTINE}-{}-{number}", seconds(now));
    for number in first_free(root, name)..u32::MAX {
        match rustix::fs::renameat_with(root, QUARANTINE, root, name(number), RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            renamed => return renamed,
        }
    }
    Err(Errno::EXIST)
}

/// Makes what is to be moved and the directory that it lies in writable for their owner.
fn open_for_moving(root: BorrowedFd<'_>, path: &Path, from: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    if let Some((above, directory)) = path.parent().and_then(|parent| beneath::parent(root, parent).ok()) {
        beneath::open_up(above, directory)?;
    }
    match beneath::open_up(from, name) {
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(()),
        opened => opened,
    }
}

/// Opens a directory, making it where it is missing.
fn make_directory(parent: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let parent = parent.as_fd();
    match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

/// Returns a name that nothing obeys, with room for what is added where something stays in its directory.
fn inert(name: &OsStr) -> OsString {
    let mut inert = match name.as_bytes().strip_prefix(b".") {
        Some(rest) => {
            let mut inert = OsString::from("dot-");
            inert.push(OsStr::from_bytes(rest));
            inert
        }
        None => name.to_owned(),
    };
    if inert.len() > MAX_INERT {
        let digest = format!("{:x}", Sha256::digest(name.as_bytes()));
        let kept = MAX_INERT - DIGEST;
        inert = OsStr::from_bytes(&inert.as_bytes()[..kept]).to_owned();
        inert.push(&digest[..DIGEST]);
    }
    inert
}

fn seconds(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::{self, File};

    use policy::classify::Reason;

    use super::*;
    use crate::boundary::detect::finding::FindingOrigin;

    #[test]
    fn what_stands_in_the_place_of_the_quarantine_is_moved_before_that_is_made() {
        let finding = |path: &str| Finding {
            path: path.into(),
            reason: Reason::NotAFile,
            origin: FindingOrigin::Created,
            quarantined: None,
            restored: false,
        };
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("x")).unwrap();
        std::os::unix::fs::symlink("x", top.path().join(QUARANTINE)).unwrap();
        fs::write(top.path().join(".bashrc"), "evil").unwrap();
        let root = File::open(top.path()).unwrap();
        let mut findings = [finding(".bashrc"), finding(QUARANTINE)];
        its_own_first(&mut findings);
        for finding in &mut findings {
            assert!(quarantine(&root, finding, SystemTime::now()).unwrap());
            assert!(fs::symlink_metadata(top.path().join(finding.quarantined.as_ref().unwrap())).is_ok());
        }
        assert!(findings[1].quarantined.as_ref().unwrap().starts_with(QUARANTINE), "{findings:?}");
        assert!(fs::symlink_metadata(top.path().join(QUARANTINE)).unwrap().is_dir());
        // The control: what was not there first has another place, and nothing is left of the link's name.
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_free_number_is_found_among_thousands_without_asking_for_each() {
        let top = tempfile::tempdir().unwrap();
        let directory = File::open(top.path()).unwrap();
        let asked = Cell::new(0);
        let name = |number: u32| {
            asked.set(asked.get() + 1);
            format!("17-{number}")
        };
        for taken in 0..2000 {
            asked.set(0);
            assert_eq!(first_free(&directory, name), taken);
            assert!(asked.get() <= 32, "number {taken} was asked for {} times", asked.get());
            fs::create_dir(top.path().join(format!("17-{taken}"))).unwrap();
        }
        fs::remove_dir(top.path().join("17-5")).unwrap();
        assert!([5, 2000].contains(&first_free(&directory, name)), "a number that is taken is no answer");
    }
}
