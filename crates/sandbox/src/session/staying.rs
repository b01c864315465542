//! Sandboxes that stay: what can be done with one that was made before.

use std::path::Path;

use crate::host::identity::Identity;
use crate::session::boundaries;
use crate::session::error::StartError;
use crate::session::outcome::Notice;
use crate::state::directory::StateDir;
use crate::state::record::Runs;

pub mod control;
pub mod exec;
pub mod logs;

/// Clears up after sandboxes that have ended: what their agents made that would run on the host is moved aside. Whoever starts
/// the next one does the same.
///
/// # Errors
///
/// The state directory cannot be used.
pub fn clear_up(state: &Path, caller: Identity, notice: &mut dyn FnMut(Notice)) -> Result<(), StartError> {
    let state = StateDir::open(state, caller).map_err(|error| StartError::recorded(error.into()))?;
    let runs = Runs::open(&state).map_err(StartError::recorded)?;
    // Where another provider has left a container, its next command removes that.
    boundaries::sweep(&runs, notice, &mut |_, _| false).map(drop).map_err(StartError::recorded)
}
