//! What a user of this host needs for control groups of their own, in words to type.

use std::path::Path;

/// Returns what gives a normal user groups of their own, so that a required limit holds.
pub(crate) fn remedy_for_limits(root: &Path) -> &'static str {
    if has_version_2(root) { SCOPE } else { VERSION_2 }
}

pub(crate) fn has_version_2(root: &Path) -> bool {
    root.join(CGROUPS).join("cgroup.controllers").exists()
}

/// Where groups are, below the root.
pub(crate) const CGROUPS: &str = "sys/fs/cgroup";

/// Handing a group to a user is only safe in version 2, see systemd.resource-control(5) on `Delegate=`.
pub(crate) const VERSION_2: &str = "boot with version 2 of cgroups: with systemd, `systemd.unified_cgroup_hierarchy=1` on the kernel's \
     command line";

/// How systemd hands a group to one command, see systemd-run(1).
pub(crate) const SCOPE: &str = "systemd-run --user --scope -p Delegate=yes -- sandboxctl run ...";

/// How systemd hands the controllers to a user's own processes, see systemd.resource-control(5).
pub(crate) const DELEGATE: &str = "sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory pids\\n' \
     | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload, then log in again";
