//! Unpacking a tree. Each file comes into its place as a whole, and so does a directory that was not there.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, Timespec, Timestamps, fchmod, futimens, linkat, mkdirat, openat,
    renameat, renameat_with, symlinkat, unlinkat,
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
    /// Where a directory that was not there is made, and what it becomes.
    draft: Option<(OsString, OsString)>,
    copied: Copied,
}

impl Unpacked {
    /// Puts it into its place.
    ///
    /// # Errors
    ///
    /// Something has come there meanwhile.
    pub fn commit(mut self) -> Result<Copied, TreeError> {
        if let Some((draft, name)) = &self.draft {
            let directory = &self.directory;
            let renamed = match renameat_with(directory, draft, directory, name, RenameFlags::NOREPLACE) {
                // Some file systems have no such flag.
                Err(Errno::INVAL | Errno::NOSYS) => renameat(directory, draft, directory, name),
                renamed => renamed,
            };
            renamed.map_err(TreeError::at(name))?;
            self.draft = None;
        }
        Ok(self.copied)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Some((draft, _)) = &self.draft {
            let _ = remove(self.directory.as_fd(), draft, 0);
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
            Some((draft().map_err(TreeError::at(name))?, name.clone()))
        }
        _ => None,
    };
    if let Some((draft, _)) = &draft {
        top = Top::Named(draft.clone());
    }
    let mut unpacked = Unpacked { directory, draft, copied: Copied::default() };
    let mut modes = Modes { umask, later: Vec::new() };
    let allowance = Cell::new(MAX_HEADERS);
    let mut archive = Archive::new(Allowed { stream, allowance: &allowance });
    for entry in archive.entries().map_err(TreeError::at("."))? {
        let mut entry = entry.map_err(TreeError::at("."))?;
        let path = entry.path().map_err(TreeError::at("."))?.into_owned();
        allowance.set(u64::MAX);
        let added = add(unpacked.directory.as_fd(), &top, &mut entry, &path, &mut modes)?;
        // What nobody wants of its content is no header of the next one.
        io::copy(&mut entry, &mut io::sink()).map_err(TreeError::at(path))?;
        allowance.set(MAX_HEADERS);
        unpacked.copied.entries += added.entries;
        unpacked.copied.bytes += added.bytes;
        unpacked.copied.skipped += added.skipped;
    }
    // Only now: in a directory that its owner may not write to, nothing could have been made.
    for (path, mode) in modes.later.into_iter().rev() {
        let directory = walk(unpacked.directory.as_fd(), &names_of(&path)?, &path, Missing::IsAnError)?;
        fchmod(directory, mode).map_err(TreeError::at(path))?;
    }
    Ok(unpacked)
}

/// The permissions of what is made.
struct Modes {
    /// What nothing gets.
    umask: Mode,
    /// What directories get when everything is in them.
    later: Vec<(PathBuf, Mode)>,
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

/// Opens a directory beneath another one, name by name.
fn walk(root: BorrowedFd<'_>, names: &[&OsStr], path: &Path, missing: Missing) -> Result<OwnedFd, TreeError> {
    let mut directory = root.try_clone_to_owned().map_err(TreeError::at(path))?;
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
    }
    Ok(directory)
}

/// Makes what one entry says.
fn add<R: Read>(
    root: BorrowedFd<'_>,
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
    let Some((name, above)) = names.split_last() else { return Ok(Copied::default()) };
    let directory = walk(root, above, path, Missing::IsMade)?;
    match entry.header().entry_type() {
        EntryType::Directory => {
            let made = mkdirat(&directory, *name, mode | WORKABLE);
            match made {
                Ok(()) => {
                    // Whatever the umask is.
                    let made = open_directory(&directory, name).map_err(failed)?;
                    // Whoever may write in the directory above can put another one in its place.
                    if !is_empty(&made).map_err(failed)? {
                        return Err(TreeError::of(path, "another directory has come into its place"));
                    }
                    fchmod(made, mode | WORKABLE).map_err(failed)?;
                    if !mode.contains(WORKABLE) {
                        modes.later.push((within.clone(), mode));
                    }
                }
                // What is there stays as it is; something else than a directory is not followed.
                Err(Errno::EXIST) => drop(open_directory(&directory, name).map_err(|errno| match errno {
                    Errno::LOOP | Errno::NOTDIR => {
                        TreeError::of(path, "a link or a file is in its place, and copies follow no link")
                    }
                    errno => failed(errno),
                })?),
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
                let from = walk(root, above, path, Missing::IsAnError)?;
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
