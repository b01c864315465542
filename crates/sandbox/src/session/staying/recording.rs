//! What the journal of events says of a command in a persistent sandbox: that it has started, and that it has ended.

use std::io;

use crate::session::error::StartError;
use crate::state::event::{EventKind, SandboxEvent};
use crate::state::journal::{Journal, Recorded};
use crate::state::record::RunId;
use crate::state::sandboxes::StayingSandbox;

/// A command that the journal says to have started. Dropped, it has ended, and nobody knows how.
pub(super) struct ExecRecording {
    journal: Journal,
    start: SandboxEvent,
    exec_id: RunId,
    is_over: bool,
}

impl ExecRecording {
    /// Records that a command has started.
    pub(super) fn begin(sandbox: &StayingSandbox) -> Result<(Self, Recorded), StartError> {
        let exec_id = RunId::generate().map_err(|error| {
            StartError::step("naming the command in the journal of events")(io::Error::other(error))
        })?;
        let (journal, start) =
            (sandbox.journal(), sandbox.event(EventKind::ExecStart { exec_id: exec_id.clone() }));
        let recorded = journal.add(std::slice::from_ref(&start));
        Ok((Self { journal, start, exec_id, is_over: false }, recorded))
    }

    /// Leaves it to go on: nobody of ours sees its end.
    pub(super) fn leave(mut self) {
        self.is_over = true;
    }

    /// Records that it has ended, with this status if that is known.
    pub(super) fn end(mut self, exit_code: Option<u8>) -> Recorded {
        self.is_over = true;
        self.add_end(exit_code)
    }

    fn add_end(&self, exit_code: Option<u8>) -> Recorded {
        let kind = EventKind::ExecEnd { exec_id: self.exec_id.clone(), exit_code };
        self.journal.add(&[self.start.now(kind)])
    }
}

impl Drop for ExecRecording {
    fn drop(&mut self) {
        if !self.is_over {
            // Nobody is there any more who could be warned.
            let _ = self.add_end(None);
        }
    }
}
