//! `write`: a file is replaced as a whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use policy::query::{Denial, FileKind, Resolved};
use policy::rules::path::PathAccess;
use policy::text::escape;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, fchmod, openat, readlinkat, renameat, unlinkat};
use rustix::io::Errno;
use serde::Serialize;

use super::file_tools::{FileTools, ToolError};
use super::place::{Missing, Opened};

/// How many links at the end of a path lead from one to the next: as many as the kernel follows, see `path_resolution(7)`.
const MAX_LINKS: u32 = 40;

/// How many names of temporary files are tried.
const TRIES: u32 = 16;

/// What was written.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Written {
    /// Where: links at the end of a path are followed.
    pub path: String,
    pub bytes: usize,
    /// Whether there was no such file before.
    pub created: bool,
}

/// The place of a file that is to be written: its directory, which is open, and the name there.
pub(super) struct Target {
    directory: OwnedFd,
    name: OsString,
    pub(super) resolved: Resolved,
    /// What is there.
    pub(super) existing: Option<Opened>,
}

impl FileTools {
    /// Writes a file: readers see the old content or the new one, and never a part. Directories on the way are made where they are missing, and
    /// a file that is there keeps its permissions.
    ///
    /// # Errors
    ///
    /// A rule is against it, something else than a regular file is there, or the system refuses it.
    pub fn write(&self, path: impl AsRef<OsStr>, content: &[u8]) -> Result<Written, ToolError> {
        let _acting = self.begin()?;
        let asked = self.resolve(path.as_ref(), PathAccess::Write)?;
        // Before any directory is made for it.
        self.check_new(&asked, content.len())?;
        let target = self.target(&asked, Missing::Made)?;
        self.check_new(&target.resolved, content.len())?;
        self.replace(&target, content)
    }

    fn check_new(&self, resolved: &Resolved, size: usize) -> Result<(), Denial> {
        self.query().check_suffix(resolved, PathAccess::Write)?;
        self.check_bytes(resolved, PathAccess::Write, size as u64)
    }

    /// Finds where a file is written: where the last link leads, if there are links at the end of its path.
    pub(super) fn target(&self, asked: &Resolved, missing: Missing) -> Result<Target, ToolError> {
        let access = PathAccess::Write;
        let root = self.root(asked.place, access)?;
        let refused = |errno| self.refused(access, asked, errno);
        let mut relative = asked.relative.clone();
        for _ in 0..MAX_LINKS {
            let (Some(name), Some(above)) = (relative.file_name(), relative.parent()) else {
                // It is the boundary itself, or ends with `..`.
                return Err(wrong_kind(asked, FileKind::Directory).into());
            };
            let directory = root.directory(above, missing).map_err(refused)?;
            let really = root.relative(&directory).map_err(refused)?;
            let resolved = self.really(asked, &really.join(name), access)?;
            let existing = match Opened::at(&directory, name) {
                Ok(existing) => existing,
                Err(Errno::NOENT) => {
                    let name = name.to_owned();
                    return Ok(Target { directory, name, resolved, existing: None });
                }
                Err(errno) => return Err(refused(errno)),
            };
            match existing.kind() {
                FileKind::Link => relative = followed(&existing, &really).map_err(refused)?,
                FileKind::File => {
                    let name = name.to_owned();
                    return Ok(Target { directory, name, resolved, existing: Some(existing) });
                }
                found => return Err(wrong_kind(asked, found).into()),
            }
        }
        Err(refused(Errno::LOOP))
    }

    /// Puts new content into the place of a file.
    pub(super) fn replace(&self, target: &Target, content: &[u8]) -> Result<Written, ToolError> {
        let Target { directory, name, resolved, existing } = target;
        let path = escape::path(resolved.guest.as_path());
        let failed = |errno| self.failed(PathAccess::Write, &path, errno);
        // The kernel lets us rename over what is a mount point of the sandbox alone, which would take the mount away.
        if let Some(existing) = existing {
            if existing.is_mount_point().map_err(failed)? {
                return Err(Denial::Protected { protected: path.clone(), path }.into());
            }
        }
        let (draft, file) = draft(directory).map_err(failed)?;
        let put = || {
            write(file, content, existing.as_ref())?;
            if !is_unchanged(directory, name, existing.as_ref())? {
                return Ok(false);
            }
            renameat(directory, &draft, directory, name)?;
            Ok(true)
        };
        let put: io::Result<bool> = put();
        if !matches!(put, Ok(true)) {
            let _ = unlinkat(directory, &draft, AtFlags::empty());
        }
        match put {
            Ok(true) => Ok(Written {
                path: self.shown(resolved.guest.as_path()),
                bytes: content.len(),
                created: existing.is_none(),
            }),
            Ok(false) => Err(ToolError::Changed { path }),
            Err(source) => match source.raw_os_error().map(Errno::from_raw_os_error) {
                Some(errno) => Err(failed(errno)),
                None => Err(ToolError::System { access: PathAccess::Write.into(), path, source }),
            },
        }
    }
}

/// Returns where a link in a directory leads, as seen from the boundary. The kernel decides whether that is beneath it.
fn followed(link: &Opened, directory: &Path) -> Result<PathBuf, Errno> {
    let target = OsString::from_vec(readlinkat(&link.descriptor, c"", Vec::new())?.into_bytes());
    if Path::new(&target).is_absolute() { Err(Errno::XDEV) } else { Ok(directory.join(target)) }
}

fn wrong_kind(resolved: &Resolved, found: FileKind) -> Denial {
    Denial::WrongKind {
        access: PathAccess::Write.into(),
        path: escape::path(resolved.guest.as_path()),
        found,
        expected: FileKind::File,
    }
}

/// Makes a file beside the one that is written.
fn draft(directory: impl AsFd) -> Result<(OsString, File), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // What the caller's umask leaves of it.
    let mode = Mode::from_raw_mode(0o666);
    for _ in 0..TRIES {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name = OsString::from(format!(".{:016x}.draft", u64::from_ne_bytes(random)));
        match openat(directory.as_fd(), &name, flags, mode) {
            Err(Errno::EXIST) => {}
            opened => return Ok((name, opened?.into())),
        }
    }
    Err(Errno::EXIST)
}

fn write(mut file: File, content: &[u8], existing: Option<&Opened>) -> io::Result<()> {
    if let Some(existing) = existing {
        // Without its set-id bits: what is new is somebody else's content.
        fchmod(&file, Mode::from_raw_mode(existing.stat.st_mode & 0o777))?;
    }
    file.write_all(content)
}

/// Returns whether what is at a name is what was there.
fn is_unchanged(directory: impl AsFd, name: &OsStr, existing: Option<&Opened>) -> Result<bool, Errno> {
    let now = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => Some(now),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(errno),
    };
    let version = |stat: &Stat| {
        (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_mode)
    };
    Ok(now.as_ref().map(version) == existing.map(|existing| version(&existing.stat)))
}
