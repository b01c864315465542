//! What says which sandbox a directory is of, and whether it lives.

use crate::state::directory::{HeldFile, Holder, StateDir};
use crate::state::record::RunId;

/// More than the longest name.
const NAME: usize = 64;

/// The directory of a sandbox, and the file that says its name and is held while it lives.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) id: RunId,
    pub(super) directory: StateDir,
    pub(super) alive: Option<HeldFile>,
}

impl Claim {
    pub(super) fn is_held(&self) -> bool {
        self.alive.as_ref().is_some_and(|alive| alive.holder == Holder::Lives)
    }

    /// Returns the name that its file says. One without a name is of an earlier version of this program, and its record has it.
    fn name(&self) -> Option<Vec<u8>> {
        let name = self.alive.as_ref()?.read_start(NAME).ok().flatten()?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Returns whether the sandbox may have this name or id.
    pub(super) fn may_be(&self, name: &str) -> bool {
        self.id.as_str() == name || self.name().is_none_or(|own| own == name.as_bytes())
    }

    /// Returns whether the sandbox lives and has this name, whatever its record says.
    pub(super) fn lives_as(&self, name: &str) -> bool {
        self.is_held() && self.name().is_some_and(|own| own == name.as_bytes())
    }
}
