//! New links to directories out of the boundary. Nothing obeys them, but whoever shares one later shares what it leads to.

use std::os::fd::AsFd;

use policy::classify::Reason;
use policy::text::escape;

use super::baseline::Baseline;
use super::finding::{Finding, Origin};
use super::origin::Touched;
use crate::boundary::protect::mounts::{Mounts, Outward};

impl Baseline {
    /// Returns the links found by the last scan that were not there at the start, or led elsewhere. They are reported and stay: many are
    /// what a project needs.
    pub fn new_links_out(&self, root: impl AsFd, mounts: &Mounts) -> Vec<Finding> {
        let root = root.as_fd();
        let is_new = |path| self.is_whole || self.touched(root, path) == Touched::Since;
        let new = mounts.outward.iter().filter(|one| !self.outward.contains(one) && is_new(&one.path));
        let finding = |one: &Outward| Finding {
            path: one.path.clone(),
            reason: Reason::LinksOut { target: escape::path(&one.target) },
            origin: Origin::Created,
            aside: None,
            restored: false,
        };
        new.map(finding).collect()
    }
}
