//! Whether a persistent sandbox still hides what it hid when it started: nobody watches that, so it is looked at before each command.

use policy::plan::OnReplaced;

use crate::session::boundaries::shown_since;
use crate::state::sandboxes::{Phase, SandboxError, StayingSandbox};

impl StayingSandbox {
    /// Checks that it still hides what it hid when it started. Returns sentences about what it shows, where it is to run on nevertheless.
    ///
    /// # Errors
    ///
    /// A program of the host has replaced, moved or removed something that was hidden.
    pub fn check_hidden(&self) -> Result<Vec<String>, SandboxError> {
        let plan = &self.record.plan;
        let covered = self.record.started.as_ref().map_or(&[][..], |started| &started.covered);
        let mut shown = shown_since(plan, self.owner(), covered);
        if plan.protect.on_replaced == OnReplaced::End && !shown.is_empty() {
            return Err(SandboxError::Shown { name: self.name().to_owned(), path: shown.swap_remove(0).1 });
        }
        Ok(shown.into_iter().map(|(warning, _)| warning).collect())
    }

    /// Requires that something can be done in it: it runs, and still hides what it hid.
    pub(crate) fn require_hiding(&self, action: &'static str) -> Result<Vec<String>, SandboxError> {
        self.require(Phase::can_exec, action)?;
        self.check_hidden()
    }
}
