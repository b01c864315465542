//! Limits that were requested of a container engine, as they are seen from inside the container.

use std::path::Path;

use policy::plan::Layer;
use policy::rules::limits::{Bytes, Limits, MilliCpus};

use super::limit::{TCP_BUFFERS, UNCOUNTED};
use crate::kernel_file::KernelFileSystem;
use crate::report::{Finding, Status};

/// Compares each requested limit with what the kernel enforces. Engines drop limits that they cannot set without an
/// error, so the control files are read that the kernel shows to this process, and that nobody but the kernel can have
/// written.
pub(crate) fn seen_from_inside(limits: &Limits) -> Vec<Finding> {
    let seen = |path: &str| KernelFileSystem::ControlGroups.text(Path::new("/sys/fs/cgroup").join(path)).ok();
    let memory = limits.memory.map(|Bytes(wanted)| {
        let found = number(seen, &["memory.max", MEMORY_V1]);
        let finding = compare(Layer::Memory, wanted, found, |bytes| Bytes(bytes).to_string());
        with_tcp_buffers(finding, wanted, seen)
    });
    let cpu = limits.cpus.map(|MilliCpus(wanted)| {
        let found = quota(seen);
        let shown = |milli: u64| {
            u32::try_from(milli).map_or_else(|_| milli.to_string(), |milli| MilliCpus(milli).to_string())
        };
        compare(Layer::Cpu, u64::from(wanted), found, |milli| format!("{} processors", shown(milli)))
    });
    let pids = limits.pids.map(|wanted| {
        let found = number(seen, &["pids.max", "pids/pids.max"]);
        compare(Layer::Pids, u64::from(wanted), found, |pids| pids.to_string())
    });
    [memory, cpu, pids].into_iter().flatten().collect()
}

/// The limit of memory in version 1.
const MEMORY_V1: &str = "memory/memory.limit_in_bytes";

/// Says what is not limited, where that is version 1: engines set no limit of what it counts by itself.
fn with_tcp_buffers(memory: Finding, wanted: u64, seen: impl Fn(&str) -> Option<String>) -> Finding {
    let buffers = number(&seen, &[&format!("memory/{TCP_BUFFERS}")]);
    let is_limited = seen(MEMORY_V1).is_none() || buffers.is_some_and(|bytes| bytes <= wanted);
    if memory.status != Status::Enforced {
        return memory;
    }
    if is_limited {
        let reason = format!("{}; {UNCOUNTED}", memory.reason);
        return Finding { reason, ..memory };
    }
    let reason = format!("{}, but buffers of TCP are not limited (cgroup version 1)", memory.reason);
    Finding { status: Status::Partly, reason, ..memory }
}

/// Counts the processes of this control group, which is an engine's, that the kernel has killed for lack of memory. Where it does not say,
/// there are none.
pub(crate) fn oom_kills() -> u64 {
    let read = |path: &str| KernelFileSystem::ControlGroups.text(Path::new("/sys/fs/cgroup").join(path)).ok();
    let text = ["memory.events", "memory/memory.oom_control"].into_iter().find_map(read);
    text.and_then(|text| oom_kill_count(&text)).unwrap_or(0)
}

/// Reads the number of processes that were killed for lack of memory, in `memory.events` or in `memory.oom_control` of version 1.
pub(super) fn oom_kill_count(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

fn compare(layer: Layer, wanted: u64, found: Option<u64>, show: impl Fn(u64) -> String) -> Finding {
    let (status, reason) = match found {
        Some(found) if found <= wanted => {
            (Status::Enforced, format!("{} by the engine's control group", show(found)))
        }
        Some(found) => (Status::Not, format!("the engine has set {} and not {}", show(found), show(wanted))),
        None => (
            Status::Not,
            "the engine has set no limit: it has no control group of this kind to use".to_owned(),
        ),
    };
    Finding { layer, status, reason }
}

/// Returns the number in the first of these files that exists; `None` where it says that there is no limit.
fn number(seen: impl Fn(&str) -> Option<String>, files: &[&str]) -> Option<u64> {
    let text = files.iter().find_map(|file| seen(file))?;
    // In version 1 no limit is the largest number of whole pages.
    text.trim().parse().ok().filter(|number| *number < 1 << 62)
}

/// Returns the thousandths of a processor: of version 2 `cpu.max`, of version 1 two files that may lie in either directory.
fn quota(seen: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let text = seen("cpu.max").or_else(|| {
        ["cpu", "cpu,cpuacct"].into_iter().find_map(|directory| {
            let read = |file| seen(&format!("{directory}/{file}"));
            Some(format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()))
        })
    })?;
    let (quota, period) = text.trim().split_once(' ')?;
    // `max` in version 2 and -1 in version 1 mean no limit, and neither is such a number.
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    quota.checked_mul(1000)?.checked_div(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a reader of these files.
    fn files<'a>(content: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + use<'a> {
        move |path| content.iter().find(|(one, _)| *one == path).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn both_versions_are_understood() {
        let second = [("cpu.max", "50000 100000\n"), ("pids.max", "64\n"), ("memory.max", "max\n")];
        assert_eq!(quota(files(&second)), Some(500));
        assert_eq!(number(files(&second), &["pids.max", "pids/pids.max"]), Some(64));
        assert_eq!(number(files(&second), &["memory.max"]), None);
        let first = [("memory/memory.limit_in_bytes", "9223372036854771712\n")];
        assert_eq!(number(files(&first), &["memory.max", "memory/memory.limit_in_bytes"]), None);
        let first = [("cpu/cpu.cfs_quota_us", "-1\n"), ("cpu/cpu.cfs_period_us", "100000\n")];
        assert_eq!(quota(files(&first)), None);
        let first =
            [("cpu,cpuacct/cpu.cfs_quota_us", "150000\n"), ("cpu,cpuacct/cpu.cfs_period_us", "100000\n")];
        assert_eq!(quota(files(&first)), Some(1500));
        assert_eq!(quota(files(&[])), None);
    }

    #[test]
    fn buffers_of_tcp_are_counted_apart_in_version_1() {
        let memory = || compare(Layer::Memory, 64, Some(64), |bytes| bytes.to_string());
        let limited = [(MEMORY_V1, "64\n"), ("memory/memory.kmem.tcp.limit_in_bytes", "64\n")];
        let unlimited =
            [(MEMORY_V1, "64\n"), ("memory/memory.kmem.tcp.limit_in_bytes", "9223372036854771712\n")];
        for (seen, status) in [
            (&limited[..], Status::Enforced),
            (&unlimited, Status::Partly),
            (&limited[..1], Status::Partly),
            (&[("memory.max", "64\n")], Status::Enforced),
        ] {
            assert_eq!(with_tcp_buffers(memory(), 64, files(seen)).status, status, "{seen:?}");
        }
    }

    #[test]
    fn a_limit_that_is_higher_than_asked_for_does_not_hold() {
        let found = |found| compare(Layer::Pids, 64, found, |pids| pids.to_string()).status;
        assert_eq!(
            [found(Some(64)), found(Some(32)), found(Some(65)), found(None)],
            [Status::Enforced, Status::Enforced, Status::Not, Status::Not]
        );
    }
}
