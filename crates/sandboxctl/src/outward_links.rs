//! Shared directories that are reached through a link out of the project: an agent may have put one in the place of a directory.

use std::path::{Path, PathBuf};

use policy::Policy;
use policy::text::escape;
use sandbox::host::acting::ActingAs;
use sandbox::host::identity::Identity;
use sandbox::state::trust::FILE_NAME;
use sandbox::state::writable::places;

use crate::context::Context;
use crate::ui::Ui;

/// Warns of shared directories that lie beyond such a link. What a project's file shares through one needs trust.
pub(crate) fn warn(ui: &Ui, context: &Context, policy: &Policy) {
    let Ok(_acting) = ActingAs::user(context.caller) else { return };
    for wanted in policy.boundaries().iter().filter(|wanted| !wanted.location.is_projects()) {
        // What is typed relative to the working directory is meant relative to how that is spelled.
        let below = wanted.host.strip_prefix(&context.cwd).ok();
        let spelled = below.zip(spelled(context)).map(|(below, directory)| directory.join(below));
        let Some((link, target)) = out_of_project(spelled.as_deref().unwrap_or(&wanted.host), context.caller)
        else {
            continue;
        };
        let (link, target) = (escape::path(&link), escape::path(&target));
        ui.warning(format_args!(
            "\"{}\" is shared through {link}, a link out of its project, which leads to {target}; name that, if it is meant",
            wanted.name
        ));
    }
}

/// Returns the working directory as the shell spells it, which may have links in it (`pwd -L`).
fn spelled(context: &Context) -> Option<PathBuf> {
    let spelled = PathBuf::from(context.variable("PWD")?);
    let is_same = spelled.is_absolute() && spelled.canonicalize().is_ok_and(|real| real == context.cwd);
    is_same.then_some(spelled)
}

/// Finds the first link on the way that leads out of the project which it lies in, and where it leads.
fn out_of_project(path: &Path, caller: Identity) -> Option<(PathBuf, PathBuf)> {
    places(path, caller).ok()?.into_iter().find_map(|link| {
        let target = link.canonicalize().ok()?;
        let project = project(link.parent()?)?;
        // What is no link leads to itself.
        (!target.starts_with(project)).then_some((link, target))
    })
}

/// Returns the nearest directory above that is a repository or has a `sandbox.toml`. `directory` has no links.
fn project(directory: &Path) -> Option<&Path> {
    let is_root =
        |path: &&Path| [".git", FILE_NAME].iter().any(|name| path.join(name).symlink_metadata().is_ok());
    directory.ancestors().find(is_root)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_link_out_of_a_project_counts() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        for directory in ["project/.git", "project/a/b", "private", "plain"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        for (target, link) in [
            ("../private", "project/out"),
            ("a", "project/within"),
            ("../../../project/a", "project/a/b/back"),
            ("out", "project/chain"),
            ("../private", "plain/out"),
            ("project", "project-by-link"),
        ] {
            symlink(target, path(link)).unwrap();
        }
        let found = |name: &str| out_of_project(&path(name), Identity::own());
        for name in
            ["project/a", "project/within/b", "project/a/b/back", "plain/out", "project-by-link/a", "private"]
        {
            assert_eq!(found(name), None, "{name}");
        }
        for (name, link) in [
            ("project/out", "project/out"),
            ("project/out/x/y", "project/out"),
            ("project/a/../out", "project/out"),
            ("project/chain", "project/chain"),
            ("project-by-link/out", "project/out"),
        ] {
            assert_eq!(found(name), Some((path(link), path("private"))), "{name}");
        }
    }
}
