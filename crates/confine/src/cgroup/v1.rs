//! Version 1: each controller has a hierarchy of its own, and each limit stands for itself.

use std::path::{Path, PathBuf};
use std::{fs, io};

use policy::rules::limits::Bytes;
use policy::text::escape;

use super::group::{Cgroup, CgroupVersion};
use super::hierarchy::Hierarchy;
use super::limit::{Limit, TCP_BUFFERS, UNCOUNTED, has_swap, quota, set};
use crate::report::{Finding, Status};

/// Makes a group below this process's own one for every controller that is there.
pub(super) fn create(hierarchy: &Hierarchy, wanted: &[Limit], name: &str) -> (Option<Cgroup>, Vec<Finding>) {
    let mut directories: Vec<PathBuf> = Vec::new();
    let mut findings = Vec::new();
    for &limit in wanted {
        let controller = limit.controller().name();
        let Some(parent) = hierarchy.v1.get(&limit.controller()) else {
            let reason = format!("no cgroup has the {controller} controller on this machine");
            findings.push(limit.finding(Status::Not, reason));
            continue;
        };
        let directory = parent.join(name);
        // Controllers that are mounted together share the directory.
        let made = if directories.contains(&directory) { Ok(()) } else { fs::create_dir(&directory) };
        if let Err(error) = made {
            let reason = format!(
                "no group can be made in {} ({error}): cgroup version 1 is root's, and only version 2 can be delegated",
                escape::path(parent)
            );
            findings.push(limit.finding(Status::Not, reason));
            continue;
        }
        let (status, reason) = apply(&directory, limit).unwrap_or_else(|error| {
            (Status::Not, format!("the {controller} controller took no limit: {error}"))
        });
        findings.push(limit.finding(status, reason));
        if directories.contains(&directory) {
            continue;
        }
        if status == Status::Not {
            // Empty and seconds old: if it cannot be removed now, it is swept later.
            let _ = fs::remove_dir(&directory);
        } else {
            directories.push(directory);
        }
    }
    let group = (!directories.is_empty()).then_some(Cgroup { version: CgroupVersion::V1, directories });
    (group, findings)
}

fn apply(directory: &Path, limit: Limit) -> io::Result<(Status, String)> {
    let holds = format!("{} (cgroup version 1)", limit.describe());
    match limit {
        Limit::Memory(Bytes(bytes)) => {
            set(directory, "memory.limit_in_bytes", bytes)?;
            // Memory and swap together, so it comes second: it may not be less than memory alone. The file is
            // missing where swap is not counted.
            let (status, reason) = match set(directory, "memory.memsw.limit_in_bytes", bytes) {
                Ok(()) => (Status::Enforced, format!("{holds}, swap included")),
                Err(_) if !has_swap() => (Status::Enforced, format!("{holds}, and this machine has no swap")),
                Err(error) => (Status::Partly, format!("{holds}, but swap is not limited: {error}")),
            };
            // Neither counts these.
            Ok(match set(directory, TCP_BUFFERS, bytes) {
                Ok(()) => (status, format!("{reason}, and as much of buffers of TCP; {UNCOUNTED}")),
                Err(error) => {
                    (Status::Partly, format!("{reason}, but buffers of TCP are not limited: {error}"))
                }
            })
        }
        Limit::Cpu(cpus) => {
            set(directory, "cpu.cfs_quota_us", quota(cpus)).map(|()| (Status::Enforced, holds))
        }
        Limit::Pids(pids) => set(directory, "pids.max", u64::from(pids)).map(|()| (Status::Enforced, holds)),
    }
}
