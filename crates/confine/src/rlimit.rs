//! Resource limits of processes (getrlimit(2)): those that always hold, and the fallback for a missing cgroup.
//!
//! These limits count per process, or per user, and not for a sandbox as a whole. So where one stands in for
//! a cgroup, the report says `partly`. The size of the address space is not limited at all: programs reserve
//! far more than they use (a JavaScript engine, hundreds of gigabytes), and would not start.

use policy::plan::Layer;
use policy::rules::limits::Bytes;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::protocol::{ProcessLimits, RlimitFallback};
use crate::report::{Finding, Status};

/// The size of a core file at which the kernel neither makes one nor starts a program that takes it.
const CORE_FILES: u64 = 1;

/// How many descriptors a process may have open unless it asks for more: what build tools and servers want.
pub const OPEN_FILES: u64 = 1 << 16;

/// A limit the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot limit {what} to {value}: {source}")]
pub struct RlimitError {
    what: &'static str,
    value: u64,
    source: Errno,
}

/// Sets the limits of this process and everything it forks; reports those that stand in for a cgroup.
///
/// No limit is raised above its hard limit, which takes a capability; a lower one is kept.
pub fn apply(fallback: &RlimitFallback) -> Result<Vec<Finding>, RlimitError> {
    // A core file would carry the agent's memory, secrets included, to wherever the host's core_pattern says, and what
    // an agent makes of its memory to a program that the kernel starts as root. To a pipe a limit says nothing (core(5)),
    // but for 1, by which the kernel keeps that program from dumping into itself; for a file 1 is as little as 0.
    both(Resource::Core, "core files", CORE_FILES)?;
    soft(Resource::Nofile, "open files", OPEN_FILES)?;
    // With these, which users of audio often have, processes run before all others, and past what a cgroup gives in time (sched(7)).
    both(Resource::Rtprio, "the priority of real-time processes", 0)?;
    both(Resource::Nice, "the priority that nice(2) may give back", 0)?;
    let mut findings = Vec::new();
    if let Some(Bytes(bytes)) = fallback.memory {
        let bytes = both(Resource::Data, "the memory of a process", bytes)?;
        findings.push(Finding {
            layer: Layer::Memory,
            status: Status::Partly,
            // setrlimit(2): RLIMIT_DATA counts private writable mappings.
            reason: format!(
                "{bytes} bytes for each process, not for all together, and memory that processes share (System V, memfd, \
                 shared mappings) is not limited: no cgroup can be used"
            ),
        });
    }
    if let Some(pids) = fallback.pids {
        let pids = both(Resource::Nproc, "processes", u64::from(pids))?;
        findings.push(Finding {
            layer: Layer::Pids,
            status: Status::Partly,
            reason: format!("{pids} processes of this user, PID 1 included: no cgroup can be used"),
        });
    }
    Ok(findings)
}

/// Sets the limits that a command asks for, in the process that is about to execute it: PID 1 lives longer. Allocates nothing.
///
/// At the soft limit of processor time comes a signal that a program can act on, at the hard one comes SIGKILL.
pub fn apply_to_command(limits: &ProcessLimits) -> Result<(), Errno> {
    const TO_END: u64 = 1;
    let set = |resource, soft: u64, hard: u64| {
        let lowest = |value: u64| getrlimit(resource).maximum.map_or(value, |hard| hard.min(value));
        setrlimit(resource, Rlimit { current: Some(lowest(soft)), maximum: Some(lowest(hard)) })
    };
    if let Some(seconds) = limits.cpu_seconds {
        set(Resource::Cpu, seconds, seconds.saturating_add(TO_END))?;
    }
    if let Some(Bytes(bytes)) = limits.file_size {
        set(Resource::Fsize, bytes, bytes)?;
    }
    Ok(())
}

/// Lowers the soft and the hard limit to `value`, and returns what holds then.
fn both(resource: Resource, what: &'static str, value: u64) -> Result<u64, RlimitError> {
    let value = getrlimit(resource).maximum.map_or(value, |hard| hard.min(value));
    let limit = Rlimit { current: Some(value), maximum: Some(value) };
    setrlimit(resource, limit).map_err(|source| RlimitError { what, value, source })?;
    Ok(value)
}

/// Sets the soft limit to `value` or the hard limit, whichever is less.
fn soft(resource: Resource, what: &'static str, value: u64) -> Result<(), RlimitError> {
    let maximum = getrlimit(resource).maximum;
    let value = maximum.map_or(value, |hard| hard.min(value));
    setrlimit(resource, Rlimit { current: Some(value), maximum }).map_err(|source| RlimitError {
        what,
        value,
        source,
    })
}
