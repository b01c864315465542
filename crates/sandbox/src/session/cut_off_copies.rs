//! Removing what copies to the host have left whose clients were killed.

use std::io;
use std::os::fd::AsFd;

use confine::tree::{DirectoryId, remove_draft};
use policy::text::escape;
use rustix::io::Errno;

use crate::boundary::error::BoundaryError;
use crate::boundary::root::open_resolved;
use crate::host::acting::ActingAs;
use crate::session::outcome::Notice;
use crate::state::client::ProcessError;
use crate::state::record::RecordError;
use crate::state::runs::Runs;
use crate::state::runs::copies::CopyRecord;

/// Removes the drafts of these copies, and their records. What cannot be removed is said once.
pub(crate) fn remove(
    runs: &Runs,
    dead: &[CopyRecord],
    notice: &mut dyn FnMut(Notice),
) -> Result<(), RecordError> {
    if dead.is_empty() {
        return Ok(());
    }
    // Under sudo a record is the user's, who may write anything into it.
    let acting = ActingAs::user(runs.owner())
        .map_err(|source| ProcessError { what: "the rights of the owner", source })?;
    for copy in dead {
        // Said once: a directory that was moved is not found again, and every command would say so.
        if let Err(error) = remove_one(copy) {
            let (draft, path) = (String::from(copy.draft.clone()), escape::path(&copy.path));
            notice(Notice::Warning(format!(
                "a copy that was killed may have left {draft} in {path}, which cannot be removed: {error}; remove it if it is there"
            )));
        }
        runs.forget_copy(copy)?;
    }
    drop(acting);
    Ok(())
}

fn remove_one(copy: &CopyRecord) -> io::Result<()> {
    let directory = match open_resolved(&copy.path) {
        // Gone with all that was in it.
        Err(BoundaryError::Missing(_)) => return Ok(()),
        opened => opened.map_err(io::Error::other)?,
    };
    if DirectoryId::of(&directory)? != copy.directory {
        return Err(io::Error::other("another directory is there now"));
    }
    match remove_draft(directory.as_fd(), &copy.draft, copy.made) {
        // Another command was faster.
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}
