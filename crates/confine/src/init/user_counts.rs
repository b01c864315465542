//! What the kernel counts for each user of the host. A user namespace belongs to whoever made it, and what is used in it counts for that user as
//! well, who is root where root made it (`ucounts`). So a sandbox gets half of what a user may have.

use std::ffi::CStr;
use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::line::Line;

/// The limits of a user namespace, where a process opens them that is privileged in it, with those of each user of the host.
const IN_NAMESPACE: [(&CStr, &str); 2] = [
    (c"/proc/sys/user/max_inotify_instances", "/proc/sys/fs/inotify/max_user_instances"),
    (c"/proc/sys/user/max_inotify_watches", "/proc/sys/fs/inotify/max_user_watches"),
];

/// Half of the inotify instances and watches that a user of the host may have, as far as that is known.
#[derive(Clone, Copy)]
pub(super) struct NamespaceLimits([Option<Line>; IN_NAMESPACE.len()]);

impl NamespaceLimits {
    /// Reads what a user may have.
    pub(super) fn read() -> Self {
        Self(IN_NAMESPACE.map(|(_, of_user)| {
            let limit: u32 = fs::read_to_string(of_user).ok()?.trim().parse().ok()?;
            Some(Line::new(&(limit / 2).to_string()))
        }))
    }

    /// Lists the files of a user namespace, with what is to be written there. Allocates nothing.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static CStr, Line)> {
        let limits = IN_NAMESPACE.iter().zip(self.0);
        limits.filter_map(|((path, _), limit)| Some((*path, limit?)))
    }
}

/// Limits this process, and all that it starts, to half of the signals that it may have waiting: each one that is queued and each timer counts for
/// the user.
pub(super) fn limit_signals() {
    let Rlimit { current, maximum } = getrlimit(Resource::Sigpending);
    let half = |value: Option<u64>| value.map(|value| value / 2);
    // Everybody may lower them.
    let _ = setrlimit(Resource::Sigpending, Rlimit { current: half(current), maximum: half(maximum) });
}
