//! How many mounts all boundaries together may need.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use policy::plan::Plan;
use policy::text::escape;

use crate::boundary::protect::mounts::Mounts;
use crate::session::error::StartError;

/// So many take a quarter of a second. The kernel's own limit, `fs.mount-max`, is ten times as high and its error names
/// nothing.
const MAX_MOUNTS: usize = 10_000;

/// Refuses what would need more mounts than there may be, and says where most of them would lie.
pub(crate) fn refuse_too_many(plan: &Plan, mounts: &[Mounts]) -> Result<(), StartError> {
    let needed = |mounts: &Mounts| {
        mounts.pins.len() + mounts.read_only.len() + mounts.masked_sockets.len() + mounts.hidden.len()
    };
    let total: usize = mounts.iter().map(needed).sum();
    let fullest = plan.boundaries.iter().zip(mounts).max_by_key(|(_, mounts)| needed(mounts));
    let Some((boundary, mounts)) = fullest.filter(|_| total > MAX_MOUNTS) else { return Ok(()) };
    let sockets = mounts.masked_sockets.iter().map(|socket| socket.path.as_path());
    let protected = mounts.read_only.iter().map(|one| one.path.as_path());
    let hidden = mounts.hidden.iter().map(|one| one.path.as_path());
    let all: Vec<&Path> = sockets.chain(protected).chain(hidden).collect();
    let remedy = if mounts.hidden.len() > mounts.read_only.len() + mounts.masked_sockets.len() {
        "hide directories in place of the files in them"
    } else if mounts.masked_sockets.len() > mounts.read_only.len() {
        "remove those that nobody listens on (in that directory, `find . -type s -delete` removes all)"
    } else {
        "share a directory with fewer repositories in it"
    };
    Err(StartError::refused(
        format!("shared directory \"{}\" ({})", boundary.name, escape::path(&boundary.host)),
        format!(
            "{} sockets, {} protected and {} hidden paths lie in it, most of them in {}; covering them takes {} mounts, and \
             {MAX_MOUNTS} are the most for all shared directories together",
            mounts.masked_sockets.len(),
            mounts.read_only.len(),
            mounts.hidden.len(),
            escape::path(&boundary.host.join(where_most_lie(&all))),
            needed(mounts)
        ),
        remedy,
    ))
}

/// Returns the deepest directory in which more than half of all paths lie.
fn where_most_lie(paths: &[&Path]) -> PathBuf {
    let mut place = PathBuf::new();
    loop {
        let mut counts: HashMap<&OsStr, usize> = HashMap::new();
        for below in paths.iter().filter_map(|path| path.strip_prefix(&place).ok()) {
            let mut components = below.iter();
            if let (Some(directory), Some(_)) = (components.next(), components.next()) {
                *counts.entry(directory).or_default() += 1;
            }
        }
        match counts.into_iter().find(|(_, count)| *count > paths.len() / 2) {
            Some((directory, _)) => place.push(directory),
            None => return place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_where_most_lie_is_named_as_exactly_as_it_can_be() {
        let most = |paths: &[&str]| {
            where_most_lie(&paths.iter().map(Path::new).collect::<Vec<_>>()).display().to_string()
        };
        assert_eq!(most(&["a/b/1", "a/b/2", "a/b/3", "c/1"]), "a/b");
        assert_eq!(most(&["a/b/1", "a/c/2", "d"]), "a");
        assert_eq!(most(&["a/1", "b/1", "c"]), "");
        assert_eq!(most(&["a/b/c/one"]), "a/b/c");
    }
}
