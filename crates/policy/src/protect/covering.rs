//! Covering: which protected path a directory of the host belongs to, by the place that it is in.
//!
//! Protected paths of a boundary are looked for beneath it. A boundary that is one itself, or lies in one, has none
//! beneath: what the agent writes there is what programs outside obey. So the path that leads to it decides.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::protect::{Protected, RelativePath, table};
use crate::text::{escape, fold};

/// The directory of a repository.
const GIT: &str = ".git";

/// Where an agent keeps other checkouts in a directory of settings: what obeys the settings does not obey those.
const CHECKOUTS: &str = "worktrees";

/// A protected path, and the directory from which it is seen as one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Covered {
    pub protected: String,
    pub holder: PathBuf,
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of {}", self.protected, escape::path(&self.holder))
    }
}

/// Returns the protected path that `path` is, lies in or begins, as seen from any directory above it; `None` where programs outside
/// see nothing special in it. That a path begins one counts for names with a dot: a project may well be called `tools` or `mise`.
///
/// Built-in paths count, but for those given up: an added path is meant for its own boundary. Everything in a
/// `.git` counts, whatever it is called.
pub fn covering(path: &Path, given_up: &[RelativePath]) -> Option<Covered> {
    let components: Vec<Component<'_>> = path.components().collect();
    (0..components.len()).find_map(|at| {
        let Component::Normal(name) = components[at] else { return None };
        // Most directories have a name that nothing begins with, and need no list that is ready to be asked.
        if !table::is_first_name(name) && !fold::is_same(name.as_encoded_bytes(), GIT.as_bytes()) {
            return None;
        }
        let relative: PathBuf = components[at..].iter().collect();
        let found = Protected::built_in()
            .matches(&relative)
            .filter(|found| begins(&relative, found) && !given_up.contains(found));
        let text = match found {
            Some(found) if holds_checkout(&relative, found) => return None,
            Some(found) => found.as_str(),
            None if fold::is_same(name.as_encoded_bytes(), GIT.as_bytes()) => GIT,
            None => begun(&relative, given_up)?,
        };
        Some(Covered { protected: text.to_owned(), holder: components[..at].iter().collect() })
    })
}

/// Returns a built-in protected path that lies in this one.
fn begun(relative: &Path, given_up: &[RelativePath]) -> Option<&'static str> {
    let is_in = |row: &&str| {
        let mut names = Path::new(row).iter();
        let begins = relative.iter().all(|part| {
            names.next().is_some_and(|name| fold::is_same(name.as_encoded_bytes(), part.as_encoded_bytes()))
        });
        begins && names.next().is_some() && !given_up.iter().any(|path| path.as_str() == *row)
    };
    let has_dot = relative.as_os_str().as_encoded_bytes().starts_with(b".");
    table::built_in().find(|row| has_dot && is_in(row))
}

/// Returns whether the protected path is the beginning of this one, and not found further down.
fn begins(relative: &Path, protected: &RelativePath) -> bool {
    let mut names = relative.iter();
    protected.as_path().iter().all(|part| {
        names.next().is_some_and(|name| fold::is_same(name.as_encoded_bytes(), part.as_encoded_bytes()))
    })
}

fn holds_checkout(relative: &Path, protected: &RelativePath) -> bool {
    let mut below = relative.iter().skip(protected.as_path().iter().count());
    let is_git = protected.as_path().iter().next().is_some_and(|name| name == GIT);
    !is_git && below.next().is_some_and(|name| name == CHECKOUTS) && below.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(path: &str) -> Option<(String, String)> {
        covering(Path::new(path), &[])
            .map(|covered| (covered.protected, covered.holder.display().to_string()))
    }

    #[test]
    fn a_protected_path_is_recognised_at_any_depth_and_whatever_is_above() {
        for (path, protected, holder) in [
            ("/home/me/p/.git/hooks", ".git/hooks", "/home/me/p"),
            ("/home/me/p/.git/hooks/pre-commit.d", ".git/hooks", "/home/me/p"),
            ("/home/me/p/.git", ".git", "/home/me/p"),
            ("/home/me/p/.git/objects", ".git", "/home/me/p"),
            ("/home/me/p/.git/modules/x/hooks", ".git", "/home/me/p"),
            ("/home/me/p/.GIT/Hooks", ".git/hooks", "/home/me/p"),
            ("/home/me/p/.vscode", ".vscode", "/home/me/p"),
            ("/home/me/.claude/projects", ".claude", "/home/me"),
            ("/home/me/.config/fish/functions", ".config/fish", "/home/me"),
            ("/home/me/.claude/worktrees/one/.git/hooks", ".git/hooks", "/home/me/.claude/worktrees/one"),
            ("/home/me/p/.cargo", ".cargo/config.toml", "/home/me/p"),
            ("/home/me/p/.yarn", ".yarn/releases", "/home/me/p"),
            ("/home/me/p/.Jj/repo/store", ".jj/repo/store/git_target", "/home/me/p"),
        ] {
            assert_eq!(covered(path), Some((protected.to_owned(), holder.to_owned())), "{path}");
        }
    }

    #[test]
    fn other_directories_are_nothing_special() {
        for path in [
            "/", "/home/me/p", "/home/me/.config/other", "/home/me/p/git/hooks",
            "/home/me/.claude/worktrees/one/src", "/home/me/p/.cargo/registry", "/home/me/tools",
            "/home/me/p/mise",
        ] {
            assert_eq!(covered(path), None, "{path}");
        }
    }

    #[test]
    fn what_was_given_up_does_not_count() {
        let given_up = [".vscode".parse().unwrap()];
        assert_eq!(covering(Path::new("/p/.vscode"), &given_up), None);
        assert!(covering(Path::new("/p/.claude"), &given_up).is_some());
    }
}
