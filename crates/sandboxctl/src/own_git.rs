//! The caller's own configuration of git, which git obeys in every repository: what it names in a shared directory is protected
//! like what a repository's own configuration names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::classify::{Reference, references};
use policy::plan::Plan;
use policy::protect::RelativePath;
use sandbox::host::small_file;

use crate::context::Context;
use crate::own_files::writable;

/// Where git looks for the configuration of a machine, by where it is installed.
const OF_MACHINE: [&str; 3] =
    ["/etc/gitconfig", "/usr/local/etc/gitconfig", "/home/linuxbrew/.linuxbrew/etc/gitconfig"];

/// How many files are read at most, with those that they include.
const MOST_FILES: usize = 100;

/// Protects the files of the caller's configuration that lie in a writable boundary, and what they name: there, or relative to
/// the root of any work tree. What cannot be read names nothing, for git itself neither.
pub(crate) fn protect(context: &Context, plan: &mut Plan) {
    let boundaries: Vec<PathBuf> = writable(plan).map(|boundary| boundary.host.clone()).collect();
    let mut ahead = if boundaries.is_empty() { Vec::new() } else { files(context) };
    let mut seen = BTreeSet::new();
    let mut named: BTreeSet<RelativePath> = BTreeSet::new();
    while let Some(file) = ahead.pop().filter(|_| seen.len() < MOST_FILES) {
        if !seen.insert(file.clone()) {
            continue;
        }
        named.extend(inside(context, &boundaries, &file));
        for reference in references(&small_file::read(&file, context.caller).unwrap_or_default()) {
            match reference {
                Reference::Configuration(path) => {
                    let path = in_home(context, path);
                    ahead.push(file.parent().unwrap_or(Path::new("/")).join(path));
                }
                Reference::Hooks(path) | Reference::Program(path) => {
                    let path = in_home(context, path);
                    if path.is_absolute() {
                        named.extend(inside(context, &boundaries, &path));
                    } else {
                        named.extend(path.to_str().and_then(|path| path.parse().ok()));
                    }
                }
                // Which work tree and which remotes there are, each repository says for itself.
                Reference::WorkTree(_) | Reference::Repository(_) => {}
            }
        }
    }
    for path in named.iter().map(ToString::to_string) {
        if !plan.protect.paths.contains(&path) {
            plan.protect.paths.push(path);
        }
    }
}

/// Lists the files that git reads, see git-config(1), "FILES".
fn files(context: &Context) -> Vec<PathBuf> {
    let variable = |name| context.variable(name).filter(|value| !value.is_empty());
    let mut files = if let Some(path) = variable("GIT_CONFIG_GLOBAL") {
        vec![context.absolute(Path::new(path))]
    } else {
        let base = variable("XDG_CONFIG_HOME").map_or_else(|| context.home.join(".config"), PathBuf::from);
        vec![base.join("git/config"), context.home.join(".gitconfig")]
    };
    if let Some(path) = variable("GIT_CONFIG_SYSTEM") {
        files.push(context.absolute(Path::new(path)));
    } else {
        files.extend(OF_MACHINE.map(PathBuf::from));
    }
    files
}

fn in_home(context: &Context, path: PathBuf) -> PathBuf {
    path.strip_prefix("~").map(|rest| context.home.join(rest)).unwrap_or(path)
}

/// Lists the paths, as seen from each boundary, that a path leads to by its name or through links.
fn inside<'a>(
    context: &'a Context,
    boundaries: &'a [PathBuf],
    path: &Path,
) -> impl Iterator<Item = RelativePath> + use<'a> {
    let spellings = [Some(path.to_owned()), context.resolve(path)];
    let below = |path: PathBuf| {
        let inside = boundaries.iter().filter_map(|boundary| path.strip_prefix(boundary).ok());
        inside.filter_map(|path| path.to_str()?.parse().ok()).collect::<Vec<_>>()
    };
    spellings.into_iter().flatten().flat_map(below)
}
