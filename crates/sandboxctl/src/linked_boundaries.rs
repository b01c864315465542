//! Links at protected paths of one shared directory that lead into another one: a program that obeys the path obeys what lies there.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::plan::{Boundary, BoundaryKind, Plan};
use policy::text::escape;
use sandbox::boundary::protect::search::{self, SearchRules};
use sandbox::boundary::root::Root;
use sandbox::boundary::walk::{Known, walk_until};
use sandbox::host::deadline::Deadline;
use sandbox::host::links;

use crate::context::Context;
use crate::own_files;
use crate::ui::Ui;

/// How many places count to which such links lead.
const MAX_LINKS: usize = 1000;

/// How long such links are looked for.
const LIMIT: Duration = Duration::from_secs(10);

/// Protects what these links lead to in the other directory, and warns where not all of them were found. Which directory is led to itself
/// stands in the plan.
pub(crate) fn protect(ui: &Ui, context: &Context, plan: &mut Plan) {
    let writable: Vec<Boundary> = own_files::writable(plan).cloned().collect();
    let directories = plan.boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::Directory);
    let directories: Vec<Boundary> = directories.cloned().collect();
    if writable.is_empty() || directories.len() < 2 {
        return;
    }
    let until = Deadline::after(LIMIT);
    for boundary in &directories {
        // One that cannot be searched is refused at the start.
        let Ok(found) = links_out(context, plan, boundary, until) else { continue };
        if !found.is_whole {
            ui.warning(format_args!(
                "not all links of \"{}\" into other shared directories were found, there is too much in it: what they lead to may be writable",
                boundary.name
            ));
        }
        for (link, target) in found.links {
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
                } else {
                    let Some(below) = below.to_str() else {
                        let (link, name) = (escape::path(&boundary.host.join(&link)), &other.name);
                        ui.warning(format_args!(
                            "what `{link}` leads to in \"{name}\" is writable: its name is not UTF-8"
                        ));
                        continue;
                    };
                    if !plan.protect.paths.iter().any(|listed| listed == below) {
                        plan.protect.paths.push(below.to_owned().into());
                    }
                }
            }
        }
    }
}

/// Links at protected paths of a directory that lead out of it.
struct LinksOut {
    /// Each with the links on the way, and with where it leads in the end.
    links: BTreeSet<(PathBuf, PathBuf)>,
    /// Whether these are all.
    is_whole: bool,
}

/// Finds the links at protected paths of a directory that lead out of it.
fn links_out(context: &Context, plan: &Plan, boundary: &Boundary, until: Deadline) -> io::Result<LinksOut> {
    let root = Root::open(boundary, context.caller).map_err(io::Error::other)?;
    let root = root.enter()?;
    let walk = walk_until(&root, plan.protect.depth, until, &Known::default())?;
    let rules = SearchRules::of(&plan.protect);
    let found = search::mounts(&root, &boundary.host, &walk, &rules, until)?;
    let is_searched = found.is_whole();
    let led = found.listed_out.into_iter().filter_map(|(link, target)| target.map(|_| link));
    let mut links = BTreeSet::new();
    for link in led.chain(found.passing_out) {
        // What such a link leads to may be a link again, which whoever writes there exchanges.
        let places = links::on_the_way(&boundary.host.join(&link), context.caller)?;
        links.extend(places.into_iter().map(|place| (link.clone(), place)));
        if links.len() > MAX_LINKS {
            break;
        }
    }
    let is_whole = is_searched && links.len() <= MAX_LINKS;
    Ok(LinksOut { links, is_whole })
}
