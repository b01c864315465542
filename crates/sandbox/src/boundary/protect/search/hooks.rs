//! Hooks whose text names what they run.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;

use policy::classify::{MAX_CONTENT, configurations_of_hook};
use rustix::fs::FileType;

use super::configured::MAX_REFERENCES;
use super::progress::{Search, is, read_up_to};
use crate::boundary::protect::mounts::Cause;
use crate::boundary::protect::reach::Base;
use crate::host::beneath;

/// The names by which git runs hooks, see githooks(5).
pub(super) const HOOKS: [&str; 28] = [
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-changelist", "p4-post-changelist",
    "p4-pre-submit", "p4-prepare-changelist", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch",
    "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive",
    "prepare-commit-msg", "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate",
    "update",
];

/// What a configuration counts as that a hook of pre-commit names.
const CONFIGURATION: &str = ".pre-commit-config.yaml";

impl Search<'_> {
    /// Protects the configurations that hooks in a directory run in a work tree, if they are files inside the boundary.
    pub(super) fn hooks(&mut self, hooks: &Path, tree: &Path) {
        let Ok(listing) = beneath::listing(self.root, hooks) else { return };
        let Ok(entries) = beneath::entries(listing.as_fd()) else { return };
        // Most directories hold nothing but samples.
        let is_hook = |name: &OsString| HOOKS.iter().any(|hook| name == hook);
        let names =
            entries.take_while(|_| !self.until.is_over()).filter_map(Result::ok).map(|(name, _)| name);
        let mut configurations = Vec::new();
        for name in names.filter(is_hook) {
            let hook = beneath::file(self.root, &hooks.join(name)).ok();
            let content = hook.and_then(|(file, _)| read_up_to(file, MAX_CONTENT as u64));
            configurations.extend(content.into_iter().flat_map(|(text, _)| configurations_of_hook(&text)));
        }
        configurations.sort();
        configurations.dedup();
        for path in configurations.into_iter().take(MAX_REFERENCES) {
            let Some((target, stat)) = self.named(tree, &path, Path::new(CONFIGURATION)) else { continue };
            if is(FileType::RegularFile, &stat) {
                let base = Base::Led(target.clone());
                self.protect(target, &stat, CONFIGURATION.into(), Cause::Named, base);
            }
        }
    }
}
