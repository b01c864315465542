//! Precedence: a `sandbox.toml` that was in force stays so, until its owner says that a nearer one, or none, takes its place.
//!
//! What an agent may write lies nearer than what decides over it: a file in a directory below, or a `.git` at which the search for a
//! file ends.

use std::path::PathBuf;
use std::{io, iter};

use anyhow::Context as _;
use policy::plan::Plan;
use policy::text::escape;
use policy::text::json_bytes::JsonBytes;
use sandbox::host::acting::ActingAs;
use sandbox::state::directory::StateDir;
use sandbox::state::in_force::{InForce, Noted, Places};
use sandbox::state::trust::{SearchEnd, Searched};
use serde_json::json;

use crate::cli::ConfigSource;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::own_files;

/// Refuses what takes the place of a file further up that was in force, where nobody has agreed to that. Returns what was in force.
pub(crate) fn require(
    context: &Context,
    source: &ConfigSource,
    searched: &Searched,
) -> Result<Places, CommandError> {
    let places = known(context)?;
    let Some(place) = searched.end.as_ref().filter(|place| !places.contains(place)) else {
        return Ok(places);
    };
    let acting = ActingAs::user(context.caller).context("cannot look for what was in force")?;
    let was_in_force = |path: &&PathBuf| {
        let paths = places.paths_of(path);
        places.files().any(|known| paths.iter().any(|path| path == known))
    };
    let above = searched.above.iter().find(was_in_force);
    drop(acting);
    let Some(above) = above else { return Ok(places) };
    // Whoever trusts the content for this call has looked at the file.
    if source.trust.is_some() && matches!(place, SearchEnd::File(_)) {
        return Ok(places);
    }
    let shown = escape::path(above);
    let (path, what, hint) = match place {
        SearchEnd::File(path) => (
            path,
            format!("{} would take the place of {shown}", escape::path(path)),
            "read the file; if it is yours, `sandboxctl trust` in this directory says so",
        ),
        SearchEnd::Repository(path) => (
            path,
            format!("{} is a repository of its own, in which {shown} would not count", escape::path(path)),
            "if you have made it one, `sandboxctl trust` in this directory says so",
        ),
    };
    Err(CommandError::message(
        Code::ConfigSuperseded,
        format_args!("{what}, which was in force before; an agent may have left that"),
    )
    .hint(hint)
    .hint(format!("`--config {shown}` goes on with that file"))
    .details(json!({ "path": JsonBytes::from(path.as_path()), "above": JsonBytes::from(above.as_path()) })))
}

/// Notes that what was found is what its owner wants.
pub(crate) fn note(context: &Context, searched: &Searched) -> Result<(), CommandError> {
    match &searched.end {
        Some(end) => Ok(store(context)?.note(Noted { end: Some(end), ..Noted::default() })?),
        None => Ok(()),
    }
}

/// Notes the same of what a sandbox is started with: also the files that were named, and where its agents may write.
pub(crate) fn note_start(
    context: &Context,
    plan: &Plan,
    searched: &Searched,
    deciding: &[PathBuf],
) -> Result<(), CommandError> {
    let plans = iter::once(plan).chain(plan.workers.iter().map(|worker| &worker.plan));
    let shared: Vec<PathBuf> =
        plans.flat_map(own_files::writable).map(|boundary| boundary.host.clone()).collect();
    if searched.end.is_none() && deciding.is_empty() && shared.is_empty() {
        return Ok(());
    }
    Ok(store(context)?.note(Noted { end: searched.end.as_ref(), deciding, shared: &shared })?)
}

/// Reads what was in force. Nothing was before there is a state directory, and none is made to be read.
pub(crate) fn known(context: &Context) -> Result<Places, CommandError> {
    let acting = ActingAs::user(context.caller).context("cannot look for the state directory")?;
    let is_missing =
        context.state().symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    drop(acting);
    if is_missing { Ok(Places::default()) } else { Ok(store(context)?.read()?) }
}

fn store(context: &Context) -> Result<InForce, CommandError> {
    Ok(InForce::new(StateDir::open(&context.state(), context.caller).map_err(anyhow::Error::new)?))
}
