//! Who made a group: its name says so, and whether that process still lives can be checked.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

/// What the names of all groups begin with.
const PREFIX: &str = "sandboxctl";

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct GroupOwner {
    /// The inode of its PID namespace: a number means nothing in another one.
    namespace: u64,
    pid: u32,
    /// When it was started, in ticks since the system was.
    started: u64,
    /// The inode of its time namespace: in another one that time is read with another offset, see `time_namespaces(7)`.
    /// Kernels before 5.6 have one time for all.
    time: u64,
}

impl GroupOwner {
    /// Returns this process as an owner.
    #[cfg(test)]
    pub(super) fn current() -> io::Result<Self> {
        Self::process(std::process::id())
    }

    /// Returns a process as an owner, by its number in the PID namespace of this one.
    pub(super) fn process(pid: u32) -> io::Result<Self> {
        let started = started(pid).ok_or_else(|| io::Error::other("/proc/<pid>/stat cannot be read"))?;
        Ok(Self { namespace: namespace("pid")?, pid, started, time: namespace("time").unwrap_or_default() })
    }

    /// Makes a name for a group that no other group has.
    pub(super) fn new_name(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("{PREFIX}-{}-{}-{}-{}-{count}", self.namespace, self.pid, self.started, self.time)
    }

    /// Parses the name of a group into its owner; `None` if the group is not one of ours.
    pub(super) fn of(name: &str) -> Option<Self> {
        let mut fields = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
        let owner = Self {
            namespace: fields.next()?.parse().ok()?,
            pid: fields.next()?.parse().ok()?,
            started: fields.next()?.parse().ok()?,
            time: fields.next()?.parse().ok()?,
        };
        fields.next()?.parse::<u32>().ok()?;
        fields.next().is_none().then_some(owner)
    }

    /// Returns whether the owner is known to be gone. In another PID or time namespace that cannot be known.
    pub(super) fn is_gone(&self, here: &Here) -> bool {
        here.namespace == Some(self.namespace)
            && here.time == self.time
            && started(self.pid) != Some(self.started)
    }
}

/// From where owners are looked at.
pub(super) struct Here {
    namespace: Option<u64>,
    time: u64,
}

impl Here {
    /// Returns the namespaces of this process.
    pub(super) fn of_this_process() -> Self {
        Self { namespace: namespace("pid").ok(), time: namespace("time").unwrap_or_default() }
    }
}

fn namespace(kind: &str) -> io::Result<u64> {
    Ok(fs::metadata(format!("/proc/self/ns/{kind}"))?.ino())
}

/// Reads the start time of a process, field 22 of `/proc/<pid>/stat`; the second is a name in parentheses that may hold
/// anything.
fn started(pid: u32) -> Option<u64> {
    // One read is enough, and there may be hundreds of groups: 52 fields, most of them short.
    let mut buffer = [0; 2048];
    let length =
        fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut buffer)).ok()?;
    let stat = &buffer[..length];
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let fields = std::str::from_utf8(&stat[after_name..]).ok()?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_holds_its_owner() {
        let owner = GroupOwner::current().unwrap();
        assert_eq!(GroupOwner::of(&owner.new_name()), Some(owner));
        assert_ne!(owner.new_name(), owner.new_name());
        assert!(!owner.is_gone(&Here::of_this_process()));
    }

    #[test]
    fn a_later_process_with_the_same_number_is_not_the_owner() {
        let owner = GroupOwner::current().unwrap();
        assert!(GroupOwner { started: owner.started - 1, ..owner }.is_gone(&Here::of_this_process()));
    }

    #[test]
    fn nobody_is_gone_from_a_namespace_that_cannot_be_seen() {
        let dead = GroupOwner { started: 0, ..GroupOwner::current().unwrap() };
        let here = Here::of_this_process();
        assert!(dead.is_gone(&here), "the control");
        assert!(!GroupOwner { namespace: 1, ..dead }.is_gone(&here));
        assert!(!GroupOwner { time: 1, ..dead }.is_gone(&here));
    }

    #[test]
    fn foreign_names_have_no_owner() {
        for name in [
            "sandboxctl", "sandboxctl-1-2-3-4", "sandboxctl-1-2-3-4-5-6", "sandboxctl-a-2-3-4-5",
            "user.slice",
        ] {
            assert_eq!(GroupOwner::of(name), None, "{name}");
        }
    }
}
