//! The keys of `[limits]`.

use std::time::Duration;

use super::macros::settings;
use crate::config::form::{CpuLimit, CpuTimeLimit, MemoryLimit, PidsLimit, Size, SizeLimit, TimeLimit};
use crate::config::key::{Flag, Key, TrustRule, ValueKind};
use crate::rules::limits::{self, Bytes, MilliCpus};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "limits",
    kind: ValueKind::Table,
    doc: "What the sandbox may use. Sizes count in powers of 1024.",
    ..Key::NONE
}];

settings! {
    /// `[limits]`; an inner `None` is unlimited.
    table LimitsTable at "limits." {
        memory: Option<Bytes> as MemoryLimit = {
            doc: "Resident memory of everything inside together.",
            trust: TrustRule::RAISED,
            default: "\"unlimited\"",
            example: "\"1g\"",
            flag: Some(Flag {
                long: "memory",
                short: Some('m'),
                value: "SIZE",
                help: "Memory of everything inside together, such as 512m or 1g",
            }),
            variable: Some("SANDBOXCTL_MEMORY"),
        }
        cpus: Option<MilliCpus> as CpuLimit = {
            doc: "Processor time of everything inside together, in processors.",
            trust: TrustRule::RAISED,
            default: "\"unlimited\"",
            example: "1.5",
            flag: Some(Flag {
                long: "cpus",
                short: None,
                value: "NUMBER",
                help: "Processors of everything inside together, such as 0.5",
            }),
            variable: Some("SANDBOXCTL_CPUS"),
        }
        pids: Option<u32> as PidsLimit = {
            doc: "Processes and threads alive at once.",
            trust: TrustRule::RAISED,
            default: "1024",
            example: "256",
            flag: Some(Flag {
                long: "pids-limit",
                short: None,
                value: "NUMBER",
                help: "Processes and threads alive at once",
            }),
            variable: Some("SANDBOXCTL_PIDS"),
        }
        timeout: Option<Duration> as TimeLimit = {
            doc: "How long one command may run.",
            trust: TrustRule::RAISED,
            default: "\"unlimited\"",
            example: "\"30m\"",
            flag: Some(Flag {
                long: "timeout",
                short: None,
                value: "TIME",
                help: "How long the command may run, such as 90s or 5m",
            }),
            variable: Some("SANDBOXCTL_TIMEOUT"),
        }
        output_bytes: Bytes as Size = {
            doc: "How much captured output is kept of each stream. A pipe or a terminal is never cut.",
            trust: TrustRule::RAISED,
            default: "\"10m\"",
            example: "\"10m\"",
        }
        tmp_size: Bytes as Size = {
            doc: "The size of each tmpfs. Space in shared directories cannot be bounded, and the report says so.",
            trust: TrustRule::RAISED,
            default: "\"512m\"",
            example: "\"256m\"",
        }
        network_bytes: Option<Bytes> as SizeLimit = {
            doc: "How many bytes pass the egress proxy of a sandbox, both ways together. Then its connections end, and it makes no other.",
            trust: TrustRule::RAISED,
            default: "\"unlimited\"",
            example: "\"10g\"",
        }
        cpu_time: Option<Duration> as CpuTimeLimit = {
            doc: "Processor time of each process, in whole seconds. Then it gets SIGXCPU, and a second later SIGKILL.",
            trust: TrustRule::RAISED,
            default: "\"unlimited\"",
            example: "\"10m\"",
            flag: Some(Flag {
                long: "cpu-time",
                short: None,
                value: "TIME",
                help: "Processor time of each process, such as 90s or 10m",
            }),
            variable: Some("SANDBOXCTL_CPU_TIME"),
        }
        file_size: Option<Bytes> as SizeLimit = {
            doc: "The size of each file that is written. Who writes more gets SIGXFSZ.",
            trust: TrustRule::RAISED,
            default: "\"unlimited\"",
            example: "\"1g\"",
            flag: Some(Flag {
                long: "file-size",
                short: None,
                value: "SIZE",
                help: "Size of each file that is written, such as 512m or 1g",
            }),
            variable: Some("SANDBOXCTL_FILE_SIZE"),
        }
    }
}

impl LimitsTable {
    /// Returns the limits that hold, defaults included.
    pub(crate) fn or_default(&self) -> limits::Limits {
        let default = limits::Limits::default();
        limits::Limits {
            memory: self.memory.as_ref().map_or(default.memory, |limit| limit.value),
            cpus: self.cpus.as_ref().map_or(default.cpus, |limit| limit.value),
            pids: self.pids.as_ref().map_or(default.pids, |limit| limit.value),
            timeout: self.timeout.as_ref().map_or(default.timeout, |limit| limit.value),
            output_bytes: self.output_bytes.as_ref().map_or(default.output_bytes, |limit| limit.value),
            tmp_size: self.tmp_size.as_ref().map_or(default.tmp_size, |limit| limit.value),
            network_bytes: self.network_bytes.as_ref().map_or(default.network_bytes, |limit| limit.value),
            cpu_time: self.cpu_time.as_ref().map_or(default.cpu_time, |limit| limit.value),
            file_size: self.file_size.as_ref().map_or(default.file_size, |limit| limit.value),
        }
    }
}
