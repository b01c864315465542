//! Unpacking a tree. Each file comes into its place as a whole, and so does a directory that was not there.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, StatxFlags, Timespec, Timestamps, fchmod, fstat, futimens, linkat, mkdirat,
    openat, renameat, statx, symlinkat, unlinkat,
};
use rustix::io::Errno;
use tar::{Archive, Entry, EntryType};

use super::destination::{Destination, Top};
use super::draft::{DraftDirectory, DraftName, WORKABLE, is_fresh};
use super::entry::{Copied, Kind, MAX_DEPTH, MODE, TreeError, names, open_directory, stat};

/// The mode of a directory that no stream names.
const DIRECTORY: Mode = Mode::from_raw_mode(0o755);

/// How many bytes of a stream may stand before the content of an entry: names, extended headers, the map of a file with holes. They are
/// in memory at once, whatever length they claim.
const MAX_HEADERS: u64 = 8 << 20;

/// A tree that is unpacked, and is not in its place yet. Dropped, it leaves nothing that was not there before.
#[derive(Debug)]
pub struct Unpacking {
    directory: OwnedFd,
    top: Top,
    umask: Mode,
    /// What something is called until it has its place.
    name: DraftName,
    /// Where a directory that was not there is made.
    draft: Option<DraftDirectory>,
    copied: Copied,
}

impl Unpacking {
    /// Begins to unpack a tree: a directory that is not there is made, and has the name of the draft until it is whole.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn begin(to: Destination, name: DraftName) -> Result<Self, TreeError> {
        let Destination { directory, mut top, kind, umask } = to;
        let draft = match (&top, kind) {
            (Top::Named(wanted), Kind::Directory) if stat(&directory, wanted).is_err() => {
                Some(DraftDirectory::make(&directory, name.clone(), wanted.clone())?)
            }
            _ => None,
        };
        if draft.is_some() {
            top = Top::Dropped;
        }
        Ok(Self { directory, top, umask, name, draft, copied: Copied::default() })
    }

    /// Returns the directory that was made, if one was.
    pub fn made(&self) -> Option<BorrowedFd<'_>> {
        self.draft.as_ref().map(|draft| draft.made.as_fd())
    }

    /// Reads a stream of tar, and makes what it has.
    ///
    /// # Errors
    ///
    /// The stream is damaged or leads elsewhere, or something cannot be made.
    pub fn read(&mut self, stream: impl Read) -> Result<(), TreeError> {
        let root = self.draft.as_ref().map_or(&self.directory, |draft| &draft.made).as_fd();
        let root = root.try_clone_to_owned().map_err(TreeError::at("."))?;
        let mut walk = Walk { root, opened: HashMap::new() };
        let mut modes = Modes { umask: self.umask, later: Vec::new(), of_draft: DIRECTORY - self.umask };
        let allowance = Cell::new(MAX_HEADERS);
        let mut archive = Archive::new(Allowed { stream, allowance: &allowance });
        for entry in archive.entries().map_err(TreeError::at("."))? {
            let mut entry = entry.map_err(TreeError::at("."))?;
            let path = entry.path().map_err(TreeError::at("."))?.into_owned();
            allowance.set(u64::MAX);
            let added = add(&mut walk, &self.top, &self.name, &mut entry, &path, &mut modes)?;
            // What nobody wants of its content is no header of the next one.
            io::copy(&mut entry, &mut io::sink()).map_err(TreeError::at(path))?;
            allowance.set(MAX_HEADERS);
            self.copied.entries += added.entries;
            self.copied.bytes += added.bytes;
            self.copied.skipped += added.skipped;
        }
        // Only now: in a directory that its owner may not write to, nothing could have been made.
        for (path, mode) in modes.later.into_iter().rev() {
            let directory = walk.to(&names_of(&path)?, &path, Missing::IsAnError)?;
            fchmod(directory, mode).map_err(TreeError::at(path))?;
        }
        if let Some(draft) = &self.draft {
            fchmod(&draft.made, modes.of_draft).map_err(TreeError::at(&draft.becomes))?;
            self.copied.entries += 1;
        }
        Ok(())
    }

    /// Puts it into its place.
    ///
    /// # Errors
    ///
    /// Something has come there meanwhile.
    pub fn commit(&mut self) -> Result<Copied, TreeError> {
        if let Some(draft) = &self.draft {
            draft.commit(&self.directory)?;
            self.draft = None;
        }
        Ok(self.copied)
    }

    /// Removes what was made and is not in its place.
    ///
    /// # Errors
    ///
    /// Something of it is left.
    pub fn abandon(mut self) -> Result<(), TreeError> {
        self.remove()
    }

    fn remove(&mut self) -> Result<(), TreeError> {
        match self.draft.take() {
            Some(draft) => draft.remove(&self.directory).map_err(TreeError::at(&draft.becomes)),
            None => Ok(()),
        }
    }
}

impl Drop for Unpacking {
    fn drop(&mut self) {
        let _ = self.remove();
    }
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

/// A name that a file or a link has until it is renamed.
#[derive(Clone, Copy)]
struct Draft<'a> {
    directory: &'a OwnedFd,
    name: &'a OsStr,
}

impl Draft<'_> {
    /// Gives it the name that it is to have, or removes it.
    fn commit(self, directory: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        renameat(self.directory, self.name, directory, name).inspect_err(|_| self.remove())
    }

    fn remove(self) {
        let _ = unlinkat(self.directory, self.name, AtFlags::empty());
    }
}

/// Returns the mount and the file system of a directory, between which nothing is renamed.
fn file_system(directory: &OwnedFd) -> Option<(u64, u32, u32)> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let found = statx(directory, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
    let has_mount = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    has_mount.then_some((found.stx_mnt_id, found.stx_dev_major, found.stx_dev_minor))
}

impl Walk {
    /// Returns where something is made that is to have a name in this directory: in the topmost one, where whoever removes what a killed
    /// process has left looks, or beside its place, where another file system is mounted there.
    fn draft<'a>(&'a self, directory: &'a OwnedFd, name: &'a OsStr) -> Draft<'a> {
        let own = file_system(directory);
        let is_shared = own.is_some() && own == file_system(&self.root);
        Draft { directory: if is_shared { &self.root } else { directory }, name }
    }

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
            Some(before) if *before != found => Err(TreeError::replaced(at)),
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
    draft: &DraftName,
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
                    if !is_fresh(&directory, &made).map_err(failed)? {
                        return Err(TreeError::replaced(path));
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
            let draft = || walk.draft(&directory, draft.as_os_str());
            let bytes = place(draft, &directory, name, mode, entry).map_err(TreeError::at(path))?;
            Ok(Copied { bytes, ..one })
        }
        EntryType::Symlink | EntryType::Link => {
            let target = entry.link_name().map_err(TreeError::at(path))?;
            let target = target.ok_or_else(|| TreeError::of(path, "a link without a target"))?;
            // Another name of something in the stream; or a link that may lead anywhere.
            let other = if entry.header().entry_type() == EntryType::Link {
                let within = self::within(&target, top)?;
                let names = names_of(&within)?;
                let Some((name, above)) = names.split_last() else {
                    return Err(TreeError::of(path, "a link without a target"));
                };
                Some((walk.to(above, path, Missing::IsAnError)?, (*name).to_owned()))
            } else {
                None
            };
            let draft = walk.draft(&directory, draft.as_os_str());
            let made = match other {
                Some((from, other)) => linkat(from, other, draft.directory, draft.name, AtFlags::empty()),
                None => symlinkat(target.as_ref(), draft.directory, draft.name),
            };
            made.map_err(failed)?;
            draft.commit(&directory, name).map_err(failed)?;
            Ok(one)
        }
        _ => Ok(Copied { skipped: 1, ..Copied::default() }),
    }
}

/// Puts a file at a name, in place of what is there, and returns how much there is in it.
///
/// Until it is whole it has no name, where the file system has such files (`O_TMPFILE`, open(2)): a process that is killed meanwhile
/// leaves nothing. Only a name can be renamed: one that is killed just before it replaces a file leaves the new one as the draft.
fn place<'a, R: Read>(
    draft: impl FnOnce() -> Draft<'a>,
    directory: &OwnedFd,
    name: &OsStr,
    mode: Mode,
    entry: &mut Entry<'_, R>,
) -> io::Result<u64> {
    let private = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(directory, c".", flags | OFlags::TMPFILE, private) {
        Ok(file) => {
            let mut file = File::from(file);
            let bytes = write(&mut file, mode, entry)?;
            let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
            let link = |directory: &OwnedFd, name: &OsStr| {
                linkat(CWD, &*unnamed, directory, name, AtFlags::SYMLINK_FOLLOW)
            };
            match link(directory, name) {
                Err(Errno::EXIST) => {
                    let draft = draft();
                    link(draft.directory, draft.name)?;
                    draft.commit(directory, name)?;
                }
                linked => linked?,
            }
            Ok(bytes)
        }
        // The file system has none; or it is older than they are, and takes the flags for those of a directory.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => {
            let draft = draft();
            let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let mut file = File::from(openat(draft.directory, draft.name, flags, private)?);
            let bytes = write(&mut file, mode, entry).inspect_err(|_| draft.remove())?;
            draft.commit(directory, name)?;
            Ok(bytes)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Writes a file, and returns how much there is in it.
fn write<R: Read>(file: &mut File, mode: Mode, entry: &mut Entry<'_, R>) -> io::Result<u64> {
    let size = entry.size();
    let written = io::copy(entry, file)?;
    if written != size {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream has ended within it"));
    }
    fchmod(&*file, mode)?;
    let seconds = entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok());
    if let Some(tv_sec) = seconds {
        let time = Timespec { tv_sec, tv_nsec: 0 };
        futimens(&*file, &Timestamps { last_access: time, last_modification: time })?;
    }
    Ok(written)
}
