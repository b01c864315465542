//! The values of secrets while this process holds them, closed to others.

use std::ops::Deref;

use policy::plan::Plan;
use rustix::io::Errno;
use rustix::process::DumpableBehavior;

use crate::secrets::{SecretReader, SecretValue};
use crate::session::error::StartError;

/// The values of a plan's secrets, for as long as it takes to hand them over.
///
/// Until they are gone nobody but root can look into this process, neither in `/proc` nor with ptrace(2). Of root's own
/// process that is true in any case. A process that is made meanwhile is closed in the same way, and could then not map its user.
pub(crate) struct HeldSecrets {
    values: Vec<(String, SecretValue)>,
    before: Option<DumpableBehavior>,
}

impl HeldSecrets {
    /// Closes this process, and reads the values.
    pub(crate) fn read(plan: &Plan, read: &mut SecretReader<'_>) -> Result<Self, StartError> {
        let mut held = Self { values: Vec::new(), before: None };
        if plan.secrets.is_empty() {
            return Ok(held);
        }
        if !rustix::process::geteuid().is_root() {
            held.close().map_err(|errno| StartError::Step {
                step: "closing this process to others before it reads secrets".into(),
                source: errno.into(),
                remedy: None,
            })?;
        }
        held.values = read()?;
        Ok(held)
    }

    fn close(&mut self) -> Result<(), Errno> {
        let before = rustix::process::dumpable_behavior()?;
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        self.before = Some(before);
        Ok(())
    }
}

impl Deref for HeldSecrets {
    type Target = [(String, SecretValue)];

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl Drop for HeldSecrets {
    fn drop(&mut self) {
        self.values.clear();
        if let Some(before) = self.before {
            // Where that fails it stays closed.
            let _ = rustix::process::set_dumpable_behavior(before);
        }
    }
}
