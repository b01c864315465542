//! `write`: a file is replaced as a whole or not at all.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use policy::query::{Denial, FileKind, Resolved};
use policy::rules::path::PathAccess;
use policy::text::escape;
use rustix::fs::readlinkat;
use rustix::io::Errno;
use serde::Serialize;

use super::draft::{Draft, Put, Replaced};
use super::file_tools::{FileTools, ToolError};
use super::place::{Made, Missing, Opened};

/// How many links at the end of a path lead from one to the next: as many as the kernel follows, see `path_resolution(7)`.
const MAX_LINKS: u32 = 40;

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
    /// What was made on the way.
    made: Made,
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
        self.query().check_names_file(path.as_ref())?;
        // Before any directory is made for it.
        self.check_new(&asked, content.len())?;
        let target = self.target(&asked, Missing::Made)?;
        self.check_new(&target.resolved, content.len())?;
        self.replace(target, content, None)
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
            let mut made = Made::default();
            let directory = root.directory(above, missing, &mut made).map_err(refused)?;
            let really = root.relative(&directory).map_err(refused)?;
            let resolved = self.really(asked, &really.join(name), access)?;
            let existing = match Opened::at(&directory, name) {
                Ok(existing) => existing,
                Err(Errno::NOENT) => {
                    let name = name.to_owned();
                    return Ok(Target { directory, name, resolved, existing: None, made });
                }
                Err(errno) => return Err(refused(errno)),
            };
            match existing.kind() {
                FileKind::Link => relative = followed(&existing, &really).map_err(refused)?,
                FileKind::File => {
                    let name = name.to_owned();
                    return Ok(Target { directory, name, resolved, existing: Some(existing), made });
                }
                found => return Err(wrong_kind(asked, found).into()),
            }
        }
        Err(refused(Errno::LOOP))
    }

    /// Puts new content into the place of a file. `read` is what was read of it, where the new content was made from that.
    pub(super) fn replace(
        &self,
        target: Target,
        content: &[u8],
        read: Option<&[u8]>,
    ) -> Result<Written, ToolError> {
        let Target { ref directory, ref name, ref resolved, ref existing, made } = target;
        let path = escape::path(resolved.guest.as_path());
        let failed = |errno| self.failed(PathAccess::Write, resolved, errno);
        // The kernel lets us rename over what is a mount point of the sandbox alone, which would take the mount away.
        if let Some(existing) = existing {
            if existing.is_mount_point().map_err(failed)? {
                return Err(Denial::Protected { protected: path.clone(), path }.into());
            }
            // Renaming asks for rights in the directory alone, and a command that writes to the file for one to the file.
            existing.check_writable().map_err(failed)?;
        }
        let replaces = existing.as_ref().map(|file| Replaced { file, content: read });
        let draft = Draft { directory: directory.as_fd(), name, content, replaces };
        match draft.put() {
            Ok(Put::Placed) => {
                made.keep();
                Ok(Written {
                    path: self.shown(resolved.guest.as_path()).path,
                    bytes: content.len(),
                    created: existing.is_none(),
                })
            }
            Ok(Put::Changed) => Err(ToolError::Changed { path }),
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
