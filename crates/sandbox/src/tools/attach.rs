//! Attachments: files of one sandbox that are handed to another one as copies.
//!
//! Each is opened once, beneath the boundary that has it, and checked as it was opened. What the other sandbox gets is a copy, which nothing that
//! the first one does later changes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use policy::query::{Act, Denial};
use policy::rules::path::PathAccess;
use policy::rules::worker::AttachmentRules;
use policy::text::escape;
use tar::{EntryType, Header};

use super::file_tools::{FileTools, ToolError};
use crate::host::clock::now_ms;
use crate::session::staying::copy::{CopyError, unpack_from};
use crate::state::sandboxes::StayingSandbox;

/// The directory in which the other sandbox has them: in memory, and gone with it.
pub const ATTACHMENTS: &str = "/tmp/attachments";

/// A file that was read to be handed over.
#[derive(Clone, Debug)]
pub struct Attachment {
    name: OsString,
    bytes: Vec<u8>,
}

impl Attachment {
    /// Returns where the other sandbox has it.
    pub fn guest(&self) -> PathBuf {
        Path::new(ATTACHMENTS).join(&self.name)
    }
}

impl FileTools {
    /// Reads files to hand them over.
    ///
    /// # Errors
    ///
    /// There are more than the rules allow, two have the same name, or one cannot be read, by the rules of this sandbox or by these.
    pub fn attach<P: AsRef<OsStr>>(
        &self,
        paths: &[P],
        rules: &AttachmentRules,
    ) -> Result<Vec<Attachment>, ToolError> {
        rules.check_count(paths.len())?;
        let _acting = self.begin()?;
        let mut all: Vec<Attachment> = Vec::new();
        for path in paths {
            let (opened, resolved) = self.open_beneath(path.as_ref(), PathAccess::Read)?;
            let guest = resolved.guest.as_path();
            // A directory has no content, which is said there.
            let name = guest.file_name().unwrap_or_default().to_owned();
            if all.iter().any(|other| other.name == name) {
                let (path, name) = (escape::path(guest), escape::line(&name.to_string_lossy()).into_owned());
                return Err(Denial::SameName { path, name }.into());
            }
            rules.check_suffix(guest)?;
            rules.check_size(guest, u64::try_from(opened.stat.st_size).unwrap_or_default())?;
            let bytes = self.content(&opened, &resolved, PathAccess::Read).map_err(as_attached)?;
            // It may have grown since.
            rules.check_size(guest, bytes.len() as u64)?;
            all.push(Attachment { name, bytes });
        }
        Ok(all)
    }
}

/// Says of a rule of the boundary what was to be done.
fn as_attached(error: ToolError) -> ToolError {
    let access = Act::Attach;
    match error {
        ToolError::Denied(Denial::Suffix { path, allowed, .. }) => {
            Denial::Suffix { access, path, allowed }.into()
        }
        ToolError::Denied(Denial::TooLarge { path, size, limit, .. }) => {
            Denial::TooLarge { access, path, size, limit }.into()
        }
        error => error,
    }
}

/// Hands files to a sandbox that runs, in [`ATTACHMENTS`], read-only for its commands by their permissions.
///
/// # Errors
///
/// The sandbox has ended, or has no room for them.
pub fn hand_over(sandbox: &StayingSandbox, files: &[Attachment]) -> Result<(), CopyError> {
    if files.is_empty() {
        return Ok(());
    }
    let stream = archive(files).map_err(CopyError::Stream)?;
    let place = Path::new(ATTACHMENTS).parent().unwrap_or(Path::new("/"));
    unpack_from(sandbox, place, &mut stream.as_slice(), sandbox.owner()).map(drop)
}

fn archive(files: &[Attachment]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let directory = Path::new(Path::new(ATTACHMENTS).file_name().unwrap_or_default());
    let header = |kind, mode, size| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.set_mtime(now_ms() / 1000);
        header
    };
    archive.append_data(&mut header(EntryType::Directory, 0o755, 0), directory, io::empty())?;
    for file in files {
        let mut header = header(EntryType::Regular, 0o444, file.bytes.len() as u64);
        archive.append_data(&mut header, directory.join(&file.name), file.bytes.as_slice())?;
    }
    archive.into_inner()
}
