//! The home directory of a persistent sandbox: where it is on the host, and opening it for a run.

use std::ffi::OsStr;
use std::path::Path;

use policy::config::defaults::HOME;
use policy::plan::{Boundary, BoundaryKind, Plan};
use policy::rules::home::Home;
use policy::rules::shared_dir::PathKind;
use policy::{HostHome, Policy};
use sandbox::boundary::resolve::Lead;
use sandbox::host::project;
use sandbox::state::directory::StateDir;
use sandbox::state::homes::{self, HomeError, Homes, MountPoint, OpenHome};

use crate::context::Context;
use crate::error::CommandError;

/// Returns where the home directory of a policy is, if it has a persistent one. Nothing is made.
pub(crate) fn find(context: &Context, policy: &Policy, project: &Path) -> Option<HostHome> {
    let name = match policy.home() {
        Home::Temporary => return None,
        Home::OfProject => project::name(project),
        Home::Named(name) => name.clone(),
    };
    // Which directory it is, is known when it is opened: it may have to be made.
    Some(HostHome { host: homes::path(&context.state(), &name), name, file_id: None })
}

/// Opens the home directory of a plan, and makes it where there is none. What is to be mounted in it gets a place.
pub(crate) fn open(
    context: &Context,
    plan: &mut Plan,
    project: Option<&Path>,
) -> Result<Option<OpenHome>, CommandError> {
    let is_home = |boundary: &&mut Boundary| boundary.kind == BoundaryKind::Home;
    let Some(home) = plan.boundaries.iter_mut().find(is_home) else { return Ok(None) };
    let opened = homes(context)?.take(&home.name, project)?;
    home.file_id = opened.file_id()?;
    let kind = |kind| if kind == BoundaryKind::File { MountPoint::File } else { MountPoint::Directory };
    let shared = plan.boundaries.iter().map(|boundary| (&boundary.guest, kind(boundary.kind)));
    // Toolchains lie where they lie on the host, and so they may lie in a home directory of that name.
    let exposed = plan.expose.iter().map(|exposed| {
        let lead = Lead::of(&exposed.host, context.caller);
        let is_file = matches!(lead, Ok(Lead::Found(found)) if found.kind == PathKind::File);
        let kind = if is_file { MountPoint::File } else { MountPoint::Directory };
        (&exposed.guest, kind)
    });
    for (guest, kind) in shared.chain(exposed) {
        match guest.strip_prefix(HOME) {
            Ok(path) if path.as_os_str() != OsStr::new("") => {
                opened.make_mount_point(path, kind)?;
            }
            _ => {}
        }
    }
    Ok(Some(opened))
}

/// Opens the home directories of the caller's sandboxes.
pub(crate) fn homes(context: &Context) -> Result<Homes, CommandError> {
    let state = StateDir::open(&context.state(), context.caller).map_err(HomeError::from)?;
    Ok(Homes::open(&state)?)
}
