//! Packing a tree.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use tar::{Builder, EntryType, Header};

use super::entry::{Copied, Kind, MAX_DEPTH, MODE, TreeError, kind, open_directory, stat};

/// Writes what is at a name of a directory as a stream of tar, in which its path is `root`.
///
/// # Errors
///
/// Something cannot be read, is no file, directory or link, or becomes shorter meanwhile; or the stream cannot be written.
pub fn pack(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    root: &Path,
    stream: impl Write,
) -> Result<Copied, TreeError> {
    let mut packing = Packing { builder: Builder::new(stream), copied: Copied::default() };
    packing.add(directory, name, root, 0)?;
    let finished = packing.builder.into_inner().and_then(|mut stream| stream.flush());
    finished.map_err(TreeError::at(root))?;
    if packing.copied.entries == 0 {
        return Err(TreeError::of(root, "it is neither a file nor a directory"));
    }
    Ok(packing.copied)
}

struct Packing<W: Write> {
    builder: Builder<W>,
    copied: Copied,
}

impl<W: Write> Packing<W> {
    fn add(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> Result<(), TreeError> {
        let stat = match stat(directory, name) {
            // It was removed meanwhile.
            Err(Errno::NOENT) if depth > 0 => return Ok(()),
            stat => stat.map_err(TreeError::at(path))?,
        };
        match kind(&stat) {
            None => {
                self.copied.skipped += 1;
                Ok(())
            }
            Some(Kind::File) => self.add_file(directory, name, path),
            Some(Kind::Link) => self.add_link(directory, name, path, &stat),
            Some(Kind::Directory) if depth == MAX_DEPTH => {
                Err(TreeError::of(path, "directories lie too deep in each other, 256 at most"))
            }
            Some(Kind::Directory) => self.add_directory(directory, name, path, &stat, depth),
        }
    }

    fn add_file(&mut self, directory: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<(), TreeError> {
        // What took its place meanwhile may be a pipe, at which opening would wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(directory, name, flags, Mode::empty()).map_err(TreeError::at(path))?;
        let stat = fstat(&file).map_err(TreeError::at(path))?;
        if kind(&stat) != Some(Kind::File) {
            return Err(TreeError::of(path, "it has become something else meanwhile"));
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let mut header = header(EntryType::Regular, &stat);
        header.set_size(size);
        let content = Exactly { file: file.into(), left: size };
        self.builder.append_data(&mut header, path, content).map_err(TreeError::at(path))?;
        self.copied.entries += 1;
        self.copied.bytes += size;
        Ok(())
    }

    fn add_link(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        stat: &Stat,
    ) -> Result<(), TreeError> {
        let target = readlinkat(directory, name, Vec::new()).map_err(TreeError::at(path))?;
        let target = PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes()));
        let mut header = header(EntryType::Symlink, stat);
        self.builder.append_link(&mut header, path, target).map_err(TreeError::at(path))?;
        self.copied.entries += 1;
        Ok(())
    }

    fn add_directory(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        stat: &Stat,
        depth: usize,
    ) -> Result<(), TreeError> {
        let inner = open_directory(directory, name).map_err(TreeError::at(path))?;
        let mut header = header(EntryType::Directory, stat);
        self.builder.append_data(&mut header, path, io::empty()).map_err(TreeError::at(path))?;
        self.copied.entries += 1;
        for entry in Dir::read_from(&inner).map_err(TreeError::at(path))? {
            let entry = entry.map_err(TreeError::at(path))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                self.add(inner.as_fd(), name, &path.join(name), depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Makes what stands before something in the stream. Whose it is where it comes from is nobody's business.
fn header(kind: EntryType, stat: &Stat) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(stat.st_mode & MODE);
    header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or_default());
    header.set_size(0);
    header
}

/// As much of a file as was said, and no less: the stream would go out of step.
struct Exactly {
    file: File,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..wanted])?;
        if read == 0 && wanted > 0 {
            return Err(io::Error::other("it has become shorter meanwhile"));
        }
        self.left -= read as u64;
        Ok(read)
    }
}
