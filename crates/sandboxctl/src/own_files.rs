//! Our own files: the agent must not change what decides over it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use policy::Policy;
use policy::config::problem::{Location, Problem, ProblemCode};
use policy::plan::{Boundary, BoundaryKind, BoundaryMode, Plan};
use policy::rules::shared_dir::homes_around;
use policy::text::escape;
use sandbox::host::acting::ActingAs;
use sandbox::host::links;
use sandbox::host::mounted::{Mounted, OnMount};
use sandbox::state::in_force::Places;
use sandbox::state::trust::FILE_NAME;

use crate::context::{Context, OwnFiles};
use crate::error::{Code, CommandError};

/// Refuses a writable boundary that holds records or settings of ours, or lies within them, a boundary in which sockets of ours are or will be, and
/// those sockets.
pub(crate) fn refuse_shared_own_files(
    context: &Context,
    policy: &Policy,
    plan: &Plan,
) -> Result<(), CommandError> {
    let own = own_files(context, plan);
    let mut problems = Vec::new();
    let shared = plan.boundaries.iter().filter(|boundary| boundary.kind != BoundaryKind::Home);
    for Boundary { name, host, mode, .. } in shared {
        let touched = own.iter().filter(|(path, _)| path.starts_with(host) || host.starts_with(path));
        // Whoever can name a control socket can connect to it, and a read-only mount keeps nobody from that.
        let touched =
            touched.filter(|(_, what)| *mode == BoundaryMode::ReadWrite || *what == OwnFiles::Records);
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
    let records = || own.iter().filter(|(_, what)| *what == OwnFiles::Records);
    for socket in
        plan.sockets.iter().filter(|socket| records().any(|(path, _)| socket.host.starts_with(path)))
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

/// Lists where records and settings lie, with every link resolved: what variables name for the caller, and in each home the places where
/// they lie without, because a later command of that user may be called without these variables.
fn own_files(context: &Context, plan: &Plan) -> Vec<(PathBuf, OwnFiles)> {
    let of_caller = [(context.state(), OwnFiles::Records), (context.settings(), OwnFiles::Settings)];
    let shared = || plan.boundaries.iter().map(|boundary| boundary.host.as_path());
    let named = shared().chain(plan.sockets.iter().map(|socket| socket.host.as_path()));
    let known = context.other_homes().iter().map(PathBuf::as_path);
    let homes: BTreeSet<&Path> =
        context.homes().into_iter().chain(known).chain(named.flat_map(homes_around)).collect();
    // Without its first directory, such as `.local`, there is no place yet, and who could make that has all of the home, which is refused.
    let may_be_there = |home: &Path, place: &Path| {
        let below = place.strip_prefix(home).ok().and_then(|below| below.iter().next());
        let found = below.map(|below| home.join(below).symlink_metadata());
        !matches!(found, Some(Err(error)) if error.kind() == io::ErrorKind::NotFound)
    };
    let in_homes = homes.into_iter().flat_map(|home| {
        Context::default_places(home).into_iter().filter(|(place, _)| may_be_there(home, place))
    });
    let all: BTreeSet<_> = of_caller.into_iter().chain(in_homes).collect();
    let resolved = all.into_iter().filter_map(|(path, what)| Some((context.resolve(&path)?, what)));
    // What is mounted more than once lies in several places.
    let shared: Vec<_> = shared().map(OnMount::find).collect();
    let with_others = |(path, what): (PathBuf, OwnFiles)| {
        let mounted = Mounted::new(&path);
        let others = shared.iter().flat_map(|shared| mounted.other_paths(shared));
        let others: BTreeSet<_> = others.map(|other| other.path.clone()).collect();
        others.into_iter().chain([path]).map(move |path| (path, what))
    };
    resolved.flat_map(with_others).collect()
}

/// Protects the file that the plan was made from, wherever in a writable boundary it lies.
pub(crate) fn protect(config: &Path, plan: &mut Plan) -> Result<(), CommandError> {
    let inside: Vec<_> =
        writable(plan).filter_map(|boundary| config.strip_prefix(&boundary.host).ok()).collect();
    let names = inside
        .into_iter()
        .map(|path| path.to_str().map(|path| Cow::Owned(path.to_owned())))
        .collect::<Option<Vec<_>>>();
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

/// Protects the caller's own settings where a link leads from their place into a writable boundary, as to a repository of dotfiles: the
/// links that lie there, too. Refuses those that have a second name, which nobody could find there.
pub(crate) fn protect_settings(context: &Context, plan: &mut Plan) -> Result<(), CommandError> {
    let file = context.settings().join(FILE_NAME);
    let on_the_way = links::on_the_way(&file, context.caller).context("cannot look for your sandbox.toml")?;
    for path in &on_the_way {
        protect(path, plan)?;
    }
    let acting = ActingAs::user(context.caller).context("cannot look for your sandbox.toml")?;
    let is_beside = |found: &Metadata| {
        writable(plan).any(|boundary| boundary.host.metadata().is_ok_and(|root| root.dev() == found.dev()))
    };
    let has_another_name = file.metadata().is_ok_and(|found| found.nlink() > 1 && is_beside(&found));
    drop(acting);
    if has_another_name {
        let shown = escape::path(&file);
        return Err(CommandError::message(
            Code::ConfigInvalid,
            format_args!(
                "{shown} has a second name (a hard link), by which an agent may be able to change it"
            ),
        )
        .hint("make it a file of its own, or a symlink, which is protected where it leads"));
    }
    Ok(())
}

/// Protects the files that plans were made from before, and may be again: also where one is gone that an agent could make again, and where
/// the directory was moved.
pub(crate) fn protect_known(context: &Context, known: &Places, plan: &mut Plan) -> Result<(), CommandError> {
    let acting = ActingAs::user(context.caller).context("cannot look for what was in force")?;
    let roots: Vec<_> = writable(plan).flat_map(|boundary| known.paths_of(&boundary.host)).collect();
    drop(acting);
    for file in known.all_files() {
        let inside: Vec<_> = roots.iter().filter_map(|root| file.strip_prefix(root).ok()?.to_str()).collect();
        let inside: Vec<Cow<'static, str>> = inside.into_iter().map(|path| path.to_owned().into()).collect();
        for name in inside {
            // In the root of a shared directory, this name is on the list, or was taken off it.
            if name != FILE_NAME
                && !plan.protect.paths.contains(&name)
                && !plan.protect.allows(OsStr::new(&*name))
            {
                plan.protect.paths.push(name);
            }
        }
    }
    Ok(())
}

/// Lists the boundaries that the agent may write to and that programs of the host read.
pub(crate) fn writable(plan: &Plan) -> impl Iterator<Item = &Boundary> {
    plan.boundaries
        .iter()
        .filter(|boundary| boundary.kind != BoundaryKind::Home && boundary.mode == BoundaryMode::ReadWrite)
}
