//! Unpacking a tree. Each file comes into its place as a whole, and so does a directory that was not there.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, fchmod, fstat, futimens, linkat,
    mkdirat, openat, renameat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;
use tar::{Archive, Entry, EntryType};

use super::destination::{Destination, Top};
use super::entry::{Copied, Kind, MAX_DEPTH, MODE, TreeError, draft, names, open_directory, remove, stat};

/// The mode of a directory that no stream names.
const DIRECTORY: Mode = Mode::from_raw_mode(0o755);

/// The mode with which its owner can work in a directory.
const WORKABLE: Mode = Mode::RWXU;

/// How many bytes of a stream may stand before the content of an entry: names, extended headers, the map of a file with holes. They are
/// in memory at once, whatever length they claim.
const MAX_HEADERS: u64 = 8 << 20;

/// A tree that was unpacked, and is not in its place yet. Dropped, it leaves nothing that was not there before.
#[derive(Debug)]
pub struct Unpacked {
    directory: OwnedFd,
    /// Where a directory that was not there is made.
    draft: Option<Draft>,
    copied: Copied,
}

/// A directory that is made under another name than it will have. Only its owner gets into it until it is whole.
#[derive(Debug)]
struct Draft {
    name: OsString,
    becomes: OsString,
    /// The directory itself: whoever may write in the one above can give its name to another.
    made: OwnedFd,
}

impl Draft {
    fn make(directory: &OwnedFd, becomes: OsString) -> Result<Self, TreeError> {
        let make = || {
            let name = draft()?;
            mkdirat(directory, &name, WORKABLE)?;
            let made = open_directory(directory, &name)?;
            Ok::<_, Errno>((is_empty(&made)?, name, made))
        };
        match make() {
            Ok((true, name, made)) => Ok(Self { name, becomes, made }),
            Ok((false, ..)) => Err(replaced(&becomes)),
            Err(errno) => Err(TreeError::at(&becomes)(errno)),
        }
    }

    /// Gives it the name that it is to have.
    fn commit(&self, directory: &OwnedFd) -> Result<(), TreeError> {
        let Self { name, becomes, made } = self;
        let is_made = |name: &OsStr| stat(directory, name).is_ok_and(|found| is_same(made, &found));
        if !is_made(name) {
            return Err(replaced(becomes));
        }
        let renamed = match renameat_with(directory, name, directory, becomes, RenameFlags::NOREPLACE) {
            // Some file systems have no such flag.
            Err(Errno::INVAL | Errno::NOSYS) => renameat(directory, name, directory, becomes),
            renamed => renamed,
        };
        renamed.map_err(TreeError::at(becomes))?;
        if is_made(becomes) { Ok(()) } else { Err(replaced(becomes)) }
    }

    /// Removes it with all that is in it, and nothing else: another directory of its name is only removed where it is empty.
    fn remove(&self, directory: &OwnedFd) -> Result<(), Errno> {
        for entry in Dir::read_from(&self.made)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                remove(self.made.as_fd(), name, 1)?;
            }
        }
        unlinkat(directory, &self.name, AtFlags::REMOVEDIR)
    }
}

fn is_same(directory: impl AsFd, found: &Stat) -> bool {
    fstat(directory).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (found.st_dev, found.st_ino))
}

fn replaced(path: impl Into<PathBuf>) -> TreeError {
    TreeError::of(path, "another directory has come into its place")
}

impl Unpacked {
    /// Puts it into its place.
    ///
    /// # Errors
    ///
    /// Something has come there meanwhile.
    pub fn commit(mut self) -> Result<Copied, TreeError> {
        if let Some(draft) = &self.draft {
            draft.commit(&self.directory)?;
            self.draft = None;
        }
        Ok(self.copied)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = draft.remove(&self.directory);
        }
    }
}

/// Reads a stream of tar, and makes what it has.
///
/// # Errors
///
/// The stream is damaged or leads elsewhere, or something cannot be made.
pub fn unpack(to: Destination, stream: impl Read) -> Result<Unpacked, TreeError> {
    let Destination { directory, mut top, kind, umask } = to;
    let draft = match (&top, kind) {
        (Top::Named(name), Kind::Directory) if stat(&directory, name).is_err() => {
            Some(Draft::make(&directory, name.clone())?)
        }
        _ => None,
    };
    if draft.is_some() {
        top = Top::Dropped;
    }
    let mut unpacked = Unpacked { directory, draft, copied: Copied::default() };
    let root = unpacked.draft.as_ref().map_or(&unpacked.directory, |draft| &draft.made).as_fd();
    let root = root.try_clone_to_owned().map_err(TreeError::at("."))?;
    let mut walk = Walk { root, opened: HashMap::new() };
    let mut modes = Modes { umask, later: Vec::new(), of_draft: DIRECTORY - umask };
    let allowance = Cell::new(MAX_HEADERS);
    let mut archive = Archive::new(Allowed { stream, allowance: &allowance });
    for entry in archive.entries().map_err(TreeError::at("."))? {
        let mut entry = entry.map_err(TreeError::at("."))?;
        let path = entry.path().map_err(TreeError::at("."))?.into_owned();
        allowance.set(u64::MAX);
        let added = add(&mut walk, &top, &mut entry, &path, &mut modes)?;
        // What nobody wants of its content is no header of the next one.
        io::copy(&mut entry, &mut io::sink()).map_err(TreeError::at(path))?;
        allowance.set(MAX_HEADERS);
        unpacked.copied.entries += added.entries;
        unpacked.copied.bytes += added.bytes;
        unpacked.copied.skipped += added.skipped;
    }
    // Only now: in a directory that its owner may not write to, nothing could have been made.
    for (path, mode) in modes.later.into_iter().rev() {
        let directory = walk.to(&names_of(&path)?, &path, Missing::IsAnError)?;
        fchmod(directory, mode).map_err(TreeError::at(path))?;
    }
    if let Some(draft) = &unpacked.draft {
        fchmod(&draft.made, modes.of_draft).map_err(TreeError::at(&draft.becomes))?;
        unpacked.copied.entries += 1;
    }
    Ok(unpacked)
}

/// The permissions of what is made.
struct Modes {
    /// What nothing gets.
    umask: Mode,
    /// What directories get when everything is in them.
    later: Vec<(PathBuf, Mode)>,
    /// What the directory gets that everything is in.
    of_draft: Mode,
}

/// A stream of which so much may be read as is allowed at the moment.
struct Allowed<'a, R> {
    stream: R,
    allowance: &'a Cell<u64>,
}

impl<R: Read> Read for Allowed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.allowance.get();
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a header is larger than 8 MiB"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.stream.read(&mut buffer[..most])?;
        self.allowance.set(left.saturating_sub(read as u64));
        Ok(read)
    }
}

/// Returns the path beneath the destination.
fn within(path: &Path, top: &Top) -> Result<PathBuf, TreeError> {
    let names = names_of(path)?;
    Ok(match top {
        Top::Kept => names.into_iter().collect(),
        Top::Dropped => names.into_iter().skip(1).collect(),
        Top::Named(top) => std::iter::once(top.as_os_str()).chain(names.into_iter().skip(1)).collect(),
    })
}

fn names_of(path: &Path) -> Result<Vec<&OsStr>, TreeError> {
    let names = names(path).ok_or_else(|| TreeError::of(path, "the path leads elsewhere"))?;
    if names.len() > MAX_DEPTH {
        return Err(TreeError::of(path, "directories lie too deep in each other, 256 at most"));
    }
    Ok(names)
}

/// What becomes of a directory on the way that is not there.
#[derive(Clone, Copy)]
enum Missing {
    IsMade,
    IsAnError,
}

/// The directories beneath the one that a stream is unpacked in. Each is the same whenever it is opened: whoever may write in one above
/// can give its name to another, into which nobody has asked to copy anything.
struct Walk {
    root: OwnedFd,
    /// Device and inode of each that was opened, by its path.
    opened: HashMap<PathBuf, (u64, u64)>,
}

impl Walk {
    /// Opens a directory, name by name.
    fn to(&mut self, names: &[&OsStr], path: &Path, missing: Missing) -> Result<OwnedFd, TreeError> {
        let mut directory = self.root.try_clone().map_err(TreeError::at(path))?;
        let mut at = PathBuf::new();
        for name in names {
            let mut opened = open_directory(&directory, name);
            if matches!((missing, &opened), (Missing::IsMade, Err(Errno::NOENT))) {
                opened = match mkdirat(&directory, *name, DIRECTORY) {
                    Ok(()) | Err(Errno::EXIST) => open_directory(&directory, name),
                    Err(errno) => Err(errno),
                };
            }
            directory = opened.map_err(|errno| match errno {
                Errno::LOOP | Errno::NOTDIR => {
                    TreeError::of(path, "a link or a file is on the way, and copies follow no link")
                }
                errno => TreeError::at(path)(errno),
            })?;
            at.push(name);
            self.note(&at, &directory)?;
        }
        Ok(directory)
    }

    /// Notes which directory a path leads to, or refuses another one than before.
    fn note(&mut self, at: &Path, directory: &OwnedFd) -> Result<(), TreeError> {
        let stat = fstat(directory).map_err(TreeError::at(at))?;
        let found = (stat.st_dev, stat.st_ino);
        match self.opened.get(at) {
            Some(before) if *before != found => Err(replaced(at)),
            Some(_) => Ok(()),
            None => {
                self.opened.insert(at.to_owned(), found);
                Ok(())
            }
        }
    }
}

/// Makes what one entry says.
fn add<R: Read>(
    walk: &mut Walk,
    top: &Top,
    entry: &mut Entry<'_, R>,
    path: &Path,
    modes: &mut Modes,
) -> Result<Copied, TreeError> {
    let failed = |errno: Errno| TreeError::at(path)(errno);
    let within = within(path, top)?;
    let names = names_of(&within)?;
    let mode = Mode::from_raw_mode(entry.header().mode().map_err(TreeError::at(path))? & MODE) - modes.umask;
    let one = Copied { entries: 1, ..Copied::default() };
    let Some((name, above)) = names.split_last() else {
        if entry.header().entry_type() == EntryType::Directory {
            modes.of_draft = mode;
        }
        return Ok(Copied::default());
    };
    let directory = walk.to(above, path, Missing::IsMade)?;
    match entry.header().entry_type() {
        EntryType::Directory => {
            let made = mkdirat(&directory, *name, mode | WORKABLE);
            match made {
                Ok(()) => {
                    // Whatever the umask is.
                    let made = open_directory(&directory, name).map_err(failed)?;
                    // Whoever may write in the directory above can put another one in its place.
                    if !is_empty(&made).map_err(failed)? {
                        return Err(replaced(path));
                    }
                    walk.note(&within, &made)?;
                    fchmod(made, mode | WORKABLE).map_err(failed)?;
                    if !mode.contains(WORKABLE) {
                        modes.later.push((within.clone(), mode));
                    }
                }
                // What is there stays as it is; something else than a directory is not followed.
                Err(Errno::EXIST) => {
                    let there = open_directory(&directory, name).map_err(|errno| match errno {
                        Errno::LOOP | Errno::NOTDIR => {
                            TreeError::of(path, "a link or a file is in its place, and copies follow no link")
                        }
                        errno => failed(errno),
                    })?;
                    walk.note(&within, &there)?;
                }
                Err(errno) => return Err(failed(errno)),
            }
            Ok(one)
        }
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let draft = draft().map_err(failed)?;
            let written = write(&directory, &draft, mode, entry);
            let placed =
                written.and_then(|bytes| Ok((renameat(&directory, &draft, &directory, *name)?, bytes)));
            match placed {
                Ok(((), bytes)) => Ok(Copied { bytes, ..one }),
                Err(error) => {
                    let _ = unlinkat(&directory, &draft, AtFlags::empty());
                    Err(TreeError::at(path)(error))
                }
            }
        }
        EntryType::Symlink | EntryType::Link => {
            let target = entry.link_name().map_err(TreeError::at(path))?;
            let target = target.ok_or_else(|| TreeError::of(path, "a link without a target"))?;
            let draft = draft().map_err(failed)?;
            if entry.header().entry_type() == EntryType::Symlink {
                symlinkat(target.as_ref(), &directory, &draft).map_err(failed)?;
            } else {
                // Another name of something in the stream.
                let target = self::within(&target, top)?;
                let other = names_of(&target)?;
                let Some((other, above)) = other.split_last() else {
                    return Err(TreeError::of(path, "a link without a target"));
                };
                let from = walk.to(above, path, Missing::IsAnError)?;
                linkat(from, *other, &directory, &draft, AtFlags::empty()).map_err(failed)?;
            }
            renameat(&directory, &draft, &directory, *name).map_err(|errno| {
                let _ = unlinkat(&directory, &draft, AtFlags::empty());
                failed(errno)
            })?;
            Ok(one)
        }
        _ => Ok(Copied { skipped: 1, ..Copied::default() }),
    }
}

/// Returns whether nothing is in a directory.
fn is_empty(directory: &OwnedFd) -> Result<bool, Errno> {
    let mut names = Dir::read_from(directory)?;
    while let Some(entry) = names.read() {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes a file, and returns how much there is in it.
fn write<R: Read>(
    directory: &OwnedFd,
    draft: &OsStr,
    mode: Mode,
    entry: &mut Entry<'_, R>,
) -> io::Result<u64> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(directory, draft, flags, Mode::RUSR | Mode::WUSR)?);
    let size = entry.size();
    let written = io::copy(entry, &mut file)?;
    if written != size {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream has ended within it"));
    }
    fchmod(&file, mode)?;
    let seconds = entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok());
    if let Some(tv_sec) = seconds {
        let time = Timespec { tv_sec, tv_nsec: 0 };
        futimens(&file, &Timestamps { last_access: time, last_modification: time })?;
    }
    Ok(written)
}
