//! Our own files: the agent must not change what decides over it.

use std::path::Path;

use policy::Policy;
use policy::config::problem::{Location, Problem, ProblemCode};
use policy::plan::{Boundary, BoundaryKind, BoundaryMode, Plan};
use policy::text::escape;

use crate::context::Context;
use crate::error::{Code, CommandError};

/// Refuses a writable boundary that holds the caller's records or settings, or lies within them, a boundary in which sockets of ours are or will be, and
/// those sockets.
pub(crate) fn refuse_shared_own_files(
    context: &Context,
    policy: &Policy,
    plan: &Plan,
) -> Result<(), CommandError> {
    let own = [(context.state(), "records"), (context.settings(), "settings")];
    let own: Vec<_> = own.iter().filter_map(|(path, what)| Some((context.resolve(path)?, what))).collect();
    let mut problems = Vec::new();
    let shared = plan.boundaries.iter().filter(|boundary| boundary.kind != BoundaryKind::Home);
    for Boundary { name, host, mode, .. } in shared {
        let touched = own.iter().filter(|(path, _)| path.starts_with(host) || host.starts_with(path));
        // Whoever can name a control socket can connect to it, and a read-only mount keeps nobody from that.
        let touched = touched.filter(|(_, what)| *mode == BoundaryMode::ReadWrite || **what == "records");
        for (path, what) in touched {
            let wanted = policy.boundaries().iter().find(|wanted| wanted.name == *name);
            let location = wanted.map_or(Location::Default, |wanted| wanted.location.clone());
            let (host, path) = (escape::path(host), escape::path(path));
            let message = match mode {
                BoundaryMode::ReadWrite => {
                    format!("`{host}` gives the agent the {what} of sandboxctl in `{path}` to change")
                }
                BoundaryMode::ReadOnly => {
                    format!("`{host}` gives the agent the sockets of other sandboxes in `{path}`")
                }
            };
            problems.push(
                Problem::new(&location, format!("shared_dirs.{name}"), ProblemCode::Refused, message)
                    .hinting("share a directory that does not hold them"),
            );
        }
    }
    // What listens there takes commands from whoever connects.
    let records = context.resolve(&context.state());
    for socket in
        plan.sockets.iter().filter(|socket| records.iter().any(|path| socket.host.starts_with(path)))
    {
        let wanted = policy.sockets().iter().find(|wanted| wanted.name == socket.name);
        let location = wanted.map_or(Location::Default, |wanted| wanted.location.clone());
        let message = format!("`{}` controls sandboxes", escape::path(&socket.host));
        problems.push(
            Problem::new(&location, format!("sockets.{}", socket.name), ProblemCode::Refused, message)
                .hinting("leave it out"),
        );
    }
    if problems.is_empty() { Ok(()) } else { Err(CommandError::problems(problems)) }
}

/// Protects the file that the plan was made from, wherever in a writable boundary it lies.
pub(crate) fn protect(config: &Path, plan: &mut Plan) -> Result<(), CommandError> {
    let inside: Vec<_> =
        writable(plan).filter_map(|boundary| config.strip_prefix(&boundary.host).ok()).collect();
    let names = inside.into_iter().map(|path| path.to_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
    let names = names.ok_or_else(|| {
        CommandError::message(
            Code::ConfigInvalid,
            format_args!(
                "{}: a name that is not UTF-8 cannot be protected from the agent",
                escape::path(config)
            ),
        )
        .hint("rename the file, or keep it outside of what is shared")
    })?;
    for name in names {
        if !plan.protect.paths.contains(&name) {
            plan.protect.paths.push(name);
        }
    }
    Ok(())
}

/// Protects the files that plans were made from before, and may be again: also where one is gone that an agent could make again.
pub(crate) fn protect_known<'a>(files: impl Iterator<Item = &'a Path>, plan: &mut Plan) {
    for file in files {
        let inside: Vec<_> =
            writable(plan).filter_map(|boundary| file.strip_prefix(&boundary.host).ok()?.to_str()).collect();
        let inside: Vec<String> = inside.into_iter().map(str::to_owned).collect();
        for name in inside {
            // What is in the root of a shared directory is on the list, or was taken off it.
            if name.contains('/')
                && !plan.protect.paths.contains(&name)
                && !plan.protect.allows(name.as_ref())
            {
                plan.protect.paths.push(name);
            }
        }
    }
}

/// Lists the boundaries that the agent may write to and that programs of the host read.
pub(crate) fn writable(plan: &Plan) -> impl Iterator<Item = &Boundary> {
    plan.boundaries
        .iter()
        .filter(|boundary| boundary.kind != BoundaryKind::Home && boundary.mode == BoundaryMode::ReadWrite)
}
