//! What the rules say of a path that lies in no shared directory: the sandbox has more than those.

use std::path::Path;

use super::Policy;
use crate::plan::Provider;
use crate::rules::path::{GuestPath, PathAccess};
use crate::rules::rootfs::{DEVICES, ETC, HOST_SYSTEM, OF_THE_TERMINAL, OWN_ETC, TMPFS_PATHS};
use crate::rules::verdict::{Origin, Verdict};
use crate::text::escape;

impl Policy {
    /// Decides about a path of the rootfs; `None` where it lies in a boundary, or nowhere. What toolchains show is known on the host
    /// alone.
    pub(super) fn of_rootfs(&self, path: &Path, access: PathAccess) -> Option<Verdict> {
        let path = GuestPath::new(path).ok()?;
        let path = path.as_path();
        if self.provider == Provider::Local || self.behind(path).is_some() {
            return None;
        }
        let shown = escape::path(path);
        let within = |trees: &[&'static str]| trees.iter().find(|tree| path.starts_with(tree)).copied();
        let allow = |rule: String| Some(Verdict::allow(rule, Origin::Default));
        let only_read = |what: &str| match access {
            PathAccess::Write => {
                Some(Verdict::deny(format!("cannot write `{shown}`: {what} is read-only"), Origin::Default))
            }
            PathAccess::Read | PathAccess::Execute => {
                allow(format!("`{shown}` lies in {what}, which is read-only"))
            }
        };
        if let Some(tree) = within(&TMPFS_PATHS) {
            return allow(format!("`{shown}` lies in `{tree}`, which is the sandbox's own until it ends"));
        }
        if self.provider.runs_containers() {
            return only_read("the image");
        }
        if let Some(tree) = within(HOST_SYSTEM).or_else(|| within(ETC)) {
            return only_read(&format!("`{tree}` of the host"));
        }
        if within(OWN_ETC).is_some() {
            return only_read("the sandbox's own `/etc`");
        }
        let name = path.strip_prefix("/dev").ok().and_then(|name| name.iter().next());
        if name.is_some_and(|name| DEVICES.iter().chain(OF_THE_TERMINAL).any(|one| name == *one)) {
            return allow(format!("`{shown}` is one of the few devices that there are"));
        }
        if access == PathAccess::Read && path.starts_with("/proc") {
            return allow(format!("`{shown}` lies in `/proc`, where the kernel shows the sandbox alone"));
        }
        None
    }
}
