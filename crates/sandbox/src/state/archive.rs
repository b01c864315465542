//! Archives of a directory that others may change meanwhile: read by descriptor, and no link in it is followed.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, major, minor};

use crate::host::beneath;

/// Writes what lies in a directory as an archive of tar(5): links as links, and sockets not at all.
pub(crate) fn write(directory: impl AsFd, out: impl Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(out);
    // Each from the top again: an agent may have nested more directories than there are descriptors.
    let mut ahead = vec![PathBuf::new()];
    while let Some(below) = ahead.pop() {
        let listing = File::from(beneath::listing(&directory, &below)?);
        if !below.as_os_str().is_empty() {
            let mut header = header(&listing.metadata()?);
            archive.append_data(&mut header, &below, io::empty())?;
        }
        for entry in beneath::entries(listing.as_fd())? {
            let (name, kind) = entry?;
            let path = below.join(&name);
            if kind == FileType::Directory {
                ahead.push(path);
            } else {
                append(&mut archive, listing.as_fd(), &name, &path)?;
            }
        }
    }
    archive.into_inner()?.flush()
}

/// Adds what has this name in a directory and is none itself.
fn append(
    archive: &mut tar::Builder<impl Write>,
    directory: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
) -> io::Result<()> {
    let metadata = File::from(beneath::hold(directory, Path::new(name))?).metadata()?;
    let kind = metadata.file_type();
    if kind.is_file() {
        let (file, _) = beneath::file(directory, Path::new(name))?;
        return archive.append_file(path, &mut File::from(file));
    }
    let mut header = header(&metadata);
    if kind.is_symlink() {
        return archive.append_link(&mut header, path, beneath::read_link(directory, Path::new(name))?);
    }
    header.set_entry_type(if kind.is_fifo() {
        tar::EntryType::Fifo
    } else if kind.is_char_device() {
        tar::EntryType::Char
    } else if kind.is_block_device() {
        tar::EntryType::Block
    } else {
        // A socket is nothing without who listens there.
        return Ok(());
    });
    header.set_size(0);
    header.set_device_major(major(metadata.rdev()))?;
    header.set_device_minor(minor(metadata.rdev()))?;
    archive.append_data(&mut header, path, io::empty())
}

fn header(metadata: &Metadata) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_metadata(metadata);
    header
}
