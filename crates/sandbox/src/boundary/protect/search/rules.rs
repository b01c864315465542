//! The rules by which boundaries are searched.

use std::sync::Arc;

use policy::plan::Protect;
use policy::protect::table;

use super::listed::Listed;
use crate::boundary::protect::mounts::Cause;

/// The rules by which boundaries are searched, ready to be asked. They are made once, for every search of a run.
pub struct SearchRules<'a> {
    pub(crate) protect: &'a Protect,
    /// What lies in `.git`, as seen from there.
    pub(super) in_git: Arc<Listed<'a>>,
    pub(super) in_tree: Arc<Listed<'a>>,
}

impl<'a> SearchRules<'a> {
    /// Makes those that a plan or a record asks for.
    pub fn of(protect: &'a Protect) -> Self {
        let is_asked = |path: &str| protect.read_only.iter().any(|asked| asked.eq_ignore_ascii_case(path));
        let mut is_built_in = table::built_in_in_order();
        let mut cause =
            |path: &str| if is_built_in(path) && !is_asked(path) { Cause::Listed } else { Cause::Asked };
        let (mut in_git, mut in_tree) = (Listed::default(), Listed::with_capacity(protect.paths.len()));
        for path in &protect.paths {
            match path.strip_prefix(".git/") {
                Some(below) => in_git.insert(below, cause(path)),
                None => in_tree.insert(path, cause(path)),
            }
        }
        Self { protect, in_git: Arc::new(in_git), in_tree: Arc::new(in_tree) }
    }
}
