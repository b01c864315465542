//! Limits, as controllers take them.

use std::path::Path;
use std::{fs, io};

use policy::plan::Layer;
use policy::rules::limits::{Bytes, MilliCpus};

use super::hierarchy::Controller;
use crate::report::{Finding, Status};

/// The limit of buffers of TCP sockets, which version 1 counts by themselves.
pub(super) const TCP_BUFFERS: &str = "memory.kmem.tcp.limit_in_bytes";

/// Says that no version of cgroups counts what the kernel allocates without accounting (`__GFP_ACCOUNT`); docs/limits.md lists what a process
/// without rights can have it keep.
pub(super) const UNCOUNTED: &str = "some objects of the kernel are not counted";

/// A limit that a controller is to enforce.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    Memory(Bytes),
    Cpu(MilliCpus),
    Pids(u32),
}

impl Limit {
    /// Reads the limit of a group of version 2; `None` where it has none.
    pub(super) fn of(group: &Path, controller: Controller) -> Option<Self> {
        let file = match controller {
            Controller::Memory => "memory.max",
            Controller::Cpu => "cpu.max",
            Controller::Pids => "pids.max",
        };
        let text = fs::read_to_string(group.join(file)).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let first = numbers.next()?.ok()?;
        Some(match controller {
            Controller::Memory => Self::Memory(Bytes(first)),
            Controller::Cpu => {
                let period = numbers.next()?.ok().filter(|period| *period > 0)?;
                let milli = first.saturating_mul(1000) / period;
                Self::Cpu(MilliCpus(u32::try_from(milli).unwrap_or(u32::MAX)))
            }
            Controller::Pids => Self::Pids(u32::try_from(first).unwrap_or(u32::MAX)),
        })
    }

    /// Returns the number in it, which can be compared with that of another limit of the same controller.
    pub(super) fn amount(self) -> u64 {
        match self {
            Self::Memory(Bytes(bytes)) => bytes,
            Self::Cpu(MilliCpus(milli)) => milli.into(),
            Self::Pids(pids) => pids.into(),
        }
    }

    pub(super) fn controller(self) -> Controller {
        match self {
            Self::Memory(_) => Controller::Memory,
            Self::Cpu(_) => Controller::Cpu,
            Self::Pids(_) => Controller::Pids,
        }
    }

    pub(super) fn layer(self) -> Layer {
        match self {
            Self::Memory(_) => Layer::Memory,
            Self::Cpu(_) => Layer::Cpu,
            Self::Pids(_) => Layer::Pids,
        }
    }

    /// Describes the limit in words.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Memory(Bytes(bytes)) => format!("{bytes} bytes"),
            Self::Cpu(MilliCpus(milli)) => format!("{}.{:03} processors", milli / 1000, milli % 1000),
            Self::Pids(pids) => format!("{pids} processes and threads"),
        }
    }

    pub(super) fn finding(self, status: Status, reason: String) -> Finding {
        Finding { layer: self.layer(), status, reason }
    }
}

/// Microseconds in which a quota of processor time is used up and given again: the kernel's default.
pub(super) const PERIOD: u64 = 100_000;

/// Returns the microseconds of processor time in a period.
pub(super) fn quota(MilliCpus(milli): MilliCpus) -> u64 {
    u64::from(milli) * PERIOD / 1000
}

/// Writes a limit and reads back whether it holds; the kernel rounds memory down to pages.
pub(super) fn set(directory: &Path, file: &str, value: u64) -> io::Result<()> {
    let path = directory.join(file);
    fs::write(&path, value.to_string())?;
    let text = fs::read_to_string(&path)?;
    match text.trim().parse::<u64>() {
        Ok(holds) if holds <= value => Ok(()),
        _ => Err(io::Error::other(format!("{file} says {} after {value} was written", text.trim()))),
    }
}

/// Returns whether the machine has swap space.
pub(super) fn has_swap() -> bool {
    fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().nth(1).is_some())
}
