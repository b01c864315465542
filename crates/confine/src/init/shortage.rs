//! What a command was short of, when a sandbox ends. A program says no more than `Killed` or `No space left on device`, and not which limit
//! that was; and of the network often nothing.

use std::path::Path;

use policy::rules::rootfs::TMPFS_PATHS;

use crate::cgroup;
use crate::kernel_file::KernelFileSystem;
use crate::protocol::Shortage;

/// `TMPFS_MAGIC` of linux/magic.h.
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

/// Lists what there was not enough of.
pub(super) fn detect() -> impl Iterator<Item = Shortage> {
    let memory = (cgroup::oom_kills() > 0).then_some(Shortage::Memory);
    let full = TMPFS_PATHS.iter().map(Path::new).filter(|path| is_full_tmpfs(path));
    let network = looked_for_network().then_some(Shortage::Network);
    memory.into_iter().chain(full.map(|path| Shortage::Tmpfs(path.to_owned()))).chain(network)
}

/// Returns whether a tmpfs has less room left than a 256th part of it, or no room for another file.
fn is_full_tmpfs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| {
        found.f_type == TMPFS_MAGIC && (found.f_bavail < found.f_blocks / 256 || found.f_ffree == 0)
    })
}

/// Returns whether something was sent to where no route leads, or to a port of UDP that nobody listens on, which is that for names.
fn looked_for_network() -> bool {
    let text = KernelFileSystem::Processes.text("/proc/self/net/snmp").unwrap_or_default();
    [("Ip:", "OutNoRoutes"), ("Udp:", "NoPorts")]
        .iter()
        .any(|(table, name)| counter(&text, table, name).is_some_and(|count| count > 0))
}

/// Reads a counter of `/proc/net/snmp` (`proc_pid_net(5)`): each table has a line of names and one of values.
fn counter(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table));
    let at = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.next()?.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name_in_its_table() {
        let text =
            "Ip: Forwarding OutNoRoutes\nIp: 1 7\nUdp: NoPorts\nUdp: 3\nUdpLite: NoPorts\nUdpLite: 9\n";
        assert_eq!(counter(text, "Ip:", "OutNoRoutes"), Some(7));
        assert_eq!(counter(text, "Udp:", "NoPorts"), Some(3));
        assert_eq!(counter(text, "Tcp:", "NoPorts"), None);
        assert_eq!(counter("Ip: OutNoRoutes\n", "Ip:", "OutNoRoutes"), None);
    }
}
