//! Links at protected paths of one shared directory that lead into another one: a program that obeys the path obeys what lies there.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::plan::{Boundary, BoundaryKind, Plan};
use policy::protect::table;
use policy::text::escape;
use sandbox::boundary::protect::search::{self, SearchRules};
use sandbox::boundary::root::Root;
use sandbox::boundary::walk::{Known, walk_until};
use sandbox::host::deadline::Deadline;

use crate::context::Context;
use crate::own_files;

/// How many such links count.
const MAX_LINKS: usize = 1000;

/// How long such links are looked for. The search at the start has as long, and says what it does not reach.
const LIMIT: Duration = Duration::from_secs(10);

/// Protects what these links lead to in the other directory. Which directory is led to itself stands in the plan.
pub(crate) fn protect(context: &Context, plan: &mut Plan) {
    let writable: Vec<Boundary> = own_files::writable(plan).cloned().collect();
    let directories = plan.boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::Directory);
    let directories: Vec<Boundary> = directories.cloned().collect();
    if writable.is_empty() || directories.len() < 2 {
        return;
    }
    let until = Deadline::after(LIMIT);
    for boundary in &directories {
        // One that cannot be searched is refused at the start.
        for (link, target) in links_out(context, plan, boundary, until).unwrap_or_default() {
            let others = writable.iter().filter(|other| other.name != boundary.name);
            for (other, below) in
                others.filter_map(|other| Some((other, target.strip_prefix(&other.host).ok()?)))
            {
                if below == Path::new("") {
                    let link = boundary.host.join(&link);
                    let whole = plan.boundaries.iter_mut().filter(|one| one.name == other.name);
                    whole.for_each(|one| {
                        one.obeyed_as
                            .get_or_insert_with(|| format!("what `{}` leads to", escape::path(&link)));
                    });
                } else if let Some(below) = below.to_str() {
                    if !plan.protect.paths.iter().any(|listed| listed == below) {
                        plan.protect.paths.push(below.to_owned().into());
                    }
                }
            }
        }
    }
}

/// Lists the links at protected paths of a directory that lead out of it, each with where it leads.
fn links_out(
    context: &Context,
    plan: &Plan,
    boundary: &Boundary,
    until: Deadline,
) -> io::Result<BTreeSet<(PathBuf, PathBuf)>> {
    let root = Root::open(boundary, context.caller).map_err(io::Error::other)?;
    let root = root.enter()?;
    let walk = walk_until(&root, plan.protect.depth, until, &Known::default())?;
    let rules = SearchRules::of(&plan.protect);
    let found = search::mounts(&root, &boundary.host, &walk, &rules, until)?;
    // What stays writable, as a compilation database does, stays so there.
    let counts = |link: &Path| !table::is_only_classified(link);
    let led = found.listed_out.into_iter().filter_map(|(link, target)| Some((link, target?)));
    Ok(led.filter(|(link, _)| counts(link)).take(MAX_LINKS).collect())
}
