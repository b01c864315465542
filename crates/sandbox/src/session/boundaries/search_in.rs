//! Searches in a boundary before the start, with the rights that count in it.

use std::io;

use policy::plan::Boundary;
use policy::text::escape;

use crate::boundary::root::{Entered, Root};
use crate::host::identity::Identity;
use crate::session::error::StartError;

/// Opens a boundary, and searches it for what `wanted` says in words.
pub(super) fn search_in<T>(
    boundary: &Boundary,
    caller: Identity,
    wanted: &str,
    search: impl FnOnce(&Entered<'_>) -> io::Result<T>,
) -> Result<T, StartError> {
    let failed = |source: io::Error| StartError::Step {
        step: format!("searching {} for {wanted}", shown(boundary)),
        remedy: (source.kind() == io::ErrorKind::TimedOut).then(|| "share a smaller directory".to_owned()),
        source,
    };
    let held = Root::open(boundary, caller).map_err(|error| failed(io::Error::other(error)))?;
    let root = held.enter().map_err(failed)?;
    search(&root).map_err(failed)
}

/// Returns how messages name a boundary.
pub(super) fn shown(boundary: &Boundary) -> String {
    format!("shared directory \"{}\" ({})", boundary.name, escape::path(&boundary.host))
}
