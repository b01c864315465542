//! Shared directories that are reached through a link out of the project: an agent may have put one in the place of a directory.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use policy::Policy;
use policy::text::escape;
use sandbox::host::acting::ActingAs;
use sandbox::state::trust::FILE_NAME;

use crate::context::Context;
use crate::ui::Ui;

/// As many links as the kernel follows, see `path_resolution(7)`.
const MAX_LINKS: usize = 40;

/// Warns of shared directories that lie beyond such a link. What a project's file shares through one needs trust.
pub(crate) fn warn(ui: &Ui, context: &Context, policy: &Policy) {
    let Ok(_acting) = ActingAs::user(context.caller) else { return };
    for wanted in policy.boundaries().iter().filter(|wanted| !wanted.location.is_projects()) {
        // What is typed relative to the working directory is meant relative to how that is spelled.
        let below = wanted.host.strip_prefix(&context.cwd).ok();
        let spelled = below.zip(spelled(context)).map(|(below, directory)| directory.join(below));
        let Some((link, target)) = out_of_project(spelled.as_deref().unwrap_or(&wanted.host)) else {
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
fn out_of_project(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut at = PathBuf::from("/");
    let mut ahead: VecDeque<OsString> = names(path).collect();
    let mut followed = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        let Ok(target) = next.read_link() else {
            at = next;
            continue;
        };
        followed += 1;
        let real = next.canonicalize().ok().filter(|_| followed <= MAX_LINKS)?;
        if project(&at).is_some_and(|project| !real.starts_with(project)) {
            return Some((next, real));
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            ahead.push_front(name);
        }
    }
    None
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    let wanted = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(wanted).map(|part| part.as_os_str().to_owned())
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
        let found = |name: &str| out_of_project(&path(name));
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
