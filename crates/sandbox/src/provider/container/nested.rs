//! Shared directories that are mounted within others: where, has to be there already.
//!
//! An engine makes a mount point that is missing, as root and on the host's disk, also in a directory where only root may
//! make anything. A native sandbox makes none there.

use std::io;
use std::path::Path;

use policy::plan::{Boundary, Plan};
use policy::text::escape;
use rustix::io::Errno;

use crate::boundary::root::Root;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::session::error::StartError;

/// Refuses a shared directory within another one that has no directory there. It is looked for with the rights that the
/// agent has there, and through no link.
pub(super) fn refuse_missing_mount_points(plan: &Plan, caller: Identity) -> Result<(), StartError> {
    for boundary in &plan.boundaries {
        let Some((outer, point)) = around(plan, boundary) else { continue };
        let asked = format!("shared directory \"{}\" at {}", boundary.name, escape::path(&boundary.guest));
        let failed = |source| StartError::Step { step: asked.clone(), source, remedy: None };
        let root = Root::open(outer, caller).map_err(|error| failed(io::Error::other(error)))?;
        let looked = beneath::directory(root.enter().map_err(failed)?, point);
        looked.map_err(|errno| StartError::Refused {
            asked: asked.clone(),
            reason: match errno {
                Errno::NOENT => format!("`{}` has no such directory", escape::path(&outer.host)),
                Errno::NOTDIR | Errno::LOOP => {
                    format!("there is a link or a file on the way in `{}`", escape::path(&outer.host))
                }
                errno => format!("it cannot be looked for in `{}`: {errno}", escape::path(&outer.host)),
            },
            remedy: "a mount point inside a shared directory must exist on the host: create it first, or choose another guest \
                     path"
                .into(),
        })?;
    }
    Ok(())
}

/// Returns the innermost other boundary that a boundary is mounted in, and where in it.
fn around<'a>(plan: &'a Plan, boundary: &'a Boundary) -> Option<(&'a Boundary, &'a Path)> {
    let others = plan.boundaries.iter().filter(|outer| outer.guest != boundary.guest);
    let within = others.filter_map(|outer| Some((outer, boundary.guest.strip_prefix(&outer.guest).ok()?)));
    within.max_by_key(|(outer, _)| outer.guest.components().count())
}
