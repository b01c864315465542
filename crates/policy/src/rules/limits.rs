//! Limits as typed units.
//!
//! Text is parsed once, here, and a value that exists is a value that can be enforced: no zero that a
//! kernel would read as "unlimited", no number that wraps, no fraction that is silently rounded away.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::rules::verdict::shown;

/// The least memory a sandbox can have.
///
/// PID 1, a shell and what the kernel charges for them (page tables, stacks, pipes) need about 2 MiB. With
/// less the kernel kills the sandbox before it can print why.
pub const MIN_MEMORY: Bytes = Bytes(4 << 20);

/// The most processes Linux can have at once: `PID_MAX_LIMIT` of a 64-bit kernel, see proc(5).
pub const MAX_PIDS: u32 = 1 << 22;

/// The longest duration that is accepted. Longer ones are typing errors.
pub const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// A number of bytes.
///
/// Written as digits with an optional unit: `512m`, `1g`, `10_000_000`. The units `k`, `m`, `g` and `t` are
/// powers of 1024, as they are for `docker run --memory`; `kb` and `kib` mean the same as `k`, and so on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A share of processors, in thousandths of one.
///
/// Written as a decimal number of processors between 0.01 and 1024, with at most three decimal places.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct MilliCpus(pub u32);

/// What one sandbox may use.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Limits {
    /// Resident memory of everything inside together; `None` is unlimited.
    pub memory: Option<Bytes>,
    /// Processor time of everything inside together; `None` is unlimited.
    pub cpus: Option<MilliCpus>,
    /// Processes and threads alive at once; `None` is unlimited.
    pub pids: Option<u32>,
    /// How long one command may run; `None` is for ever.
    pub timeout: Option<Duration>,
    /// How much captured output is kept of each stream.
    pub output_bytes: Bytes,
    /// The size of each tmpfs.
    pub tmp_size: Bytes,
    /// What passes the egress proxy, both ways together; `None` is unlimited.
    pub network_bytes: Option<Bytes>,
    /// Processor time of each process, in whole seconds; `None` is unlimited.
    #[serde(default)]
    pub cpu_time: Option<Duration>,
    /// The size of each file that is written; `None` is unlimited.
    #[serde(default)]
    pub file_size: Option<Bytes>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: None,
            cpus: None,
            pids: Some(1024),
            timeout: None,
            output_bytes: Bytes(10 << 20),
            tmp_size: Bytes(512 << 20),
            network_bytes: None,
            cpu_time: None,
            file_size: None,
        }
    }
}

/// Whether a limit counts what a sandbox keeps in memory file systems.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TmpfsMemory {
    /// A control group does, together with everything else.
    Counted,
    /// Nothing does: the file systems, of which there are so many, have to stay within the limit by themselves.
    Uncounted { tmpfs: u64 },
}

/// What one tmpfs may hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TmpfsLimits {
    /// Content, in bytes.
    pub size: Bytes,
    /// Files, directories, links and further names of files. Each takes about a KiB of the kernel's own memory.
    pub inodes: u64,
}

/// The least that a file with content takes of a tmpfs: a page.
const PAGE: u64 = 4096;

/// The fewest inodes of a tmpfs; none would be no limit.
const MIN_INODES: u64 = 64;

impl Limits {
    /// Returns what each tmpfs may hold: `tmp_size`, and an inode for each page of it. Where nothing counts what lies there, all of
    /// them together stay within `memory`, a fifth of which is for their inodes.
    pub fn tmpfs(&self, memory: TmpfsMemory) -> TmpfsLimits {
        let size = match (self.memory, memory) {
            (Some(limit), TmpfsMemory::Uncounted { tmpfs }) => {
                let share = limit.0 / 5 * 4 / tmpfs.max(1);
                self.tmp_size.0.min((share / PAGE * PAGE).max(PAGE))
            }
            _ => self.tmp_size.0,
        };
        TmpfsLimits { size: Bytes(size), inodes: (size / PAGE).max(MIN_INODES) }
    }
}

/// Why a limit was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    #[error(
        "`{}` is not a size; expected digits and a unit of k, m, g or t, such as `512m`, `1g` or `10_000_000`", shown(.given)
    )]
    Size { given: String },
    #[error("`{}` has a fraction; write a whole number of a smaller unit, such as `1536m` for `1.5g`", shown(.given))]
    SizeFraction { given: String },
    #[error("`{given}` is too large; the largest size is 8388607t")]
    SizeRange { given: String },
    #[error("a size of zero is refused, because a tmpfs takes it for no limit; expected at least 1 byte")]
    SizeZero,
    #[error("{given} of memory is too little for PID 1 and a shell to start; expected at least {MIN_MEMORY}")]
    MemoryRange { given: Bytes },
    #[error(
        "`{}` is not a number of processors; expected a decimal with at most three places, such as `0.5`, `1` or `2.25`", shown(.given)
    )]
    Cpus { given: String },
    #[error("`{given}` processors are out of range; expected 0.01 to 1024")]
    CpusRange { given: String },
    #[error("{given} processes are out of range; expected 1 to {MAX_PIDS}")]
    PidsRange { given: i64 },
    #[error(
        "`{}` is not a duration; expected numbers with the units d, h, m, s or ms, largest first, such as `30m`, `1h30m` or `500ms`", shown(.given)
    )]
    Duration { given: String },
    #[error("`{}` is no time in whole seconds, in which the kernel counts processor time; expected one such as `90s` or `10m`", shown(.given))]
    CpuTime { given: String },
    #[error("a duration of zero is refused; leave the setting out to have no limit")]
    DurationZero,
    #[error("`{}` is too long; expected at most 366d, or leave the setting out to have no limit", shown(.given))]
    DurationRange { given: String },
}

impl Bytes {
    /// Checks that a sandbox can start within this much memory.
    pub fn as_memory(self) -> Result<Self, LimitError> {
        if self < MIN_MEMORY {
            return Err(LimitError::MemoryRange { given: self });
        }
        self.fits()
    }

    /// Checks that this is a size something can have: not zero, and within what kernels count with.
    pub fn as_size(self) -> Result<Self, LimitError> {
        if self.0 == 0 {
            return Err(LimitError::SizeZero);
        }
        self.fits()
    }

    /// Checks that the size fits a signed 64-bit number, which is what cgroups and tmpfs count with.
    fn fits(self) -> Result<Self, LimitError> {
        match i64::try_from(self.0) {
            Ok(_) => Ok(self),
            Err(_) => Err(LimitError::SizeRange { given: self.0.to_string() }),
        }
    }
}

impl FromStr for Bytes {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let malformed = || LimitError::Size { given: text.to_owned() };
        let (digits, unit) = split_number(text);
        if unit.starts_with('.') {
            return Err(LimitError::SizeFraction { given: text.to_owned() });
        }
        let shift = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(malformed()),
        };
        let too_large = || LimitError::SizeRange { given: text.to_owned() };
        number(digits)
            .ok_or_else(malformed)?
            .checked_mul(1 << shift)
            .filter(|bytes| i64::try_from(*bytes).is_ok())
            .map(Self)
            .ok_or_else(too_large)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, 't'), (30, 'g'), (20, 'm'), (10, 'k')] {
            if self.0 != 0 && self.0 % (1 << shift) == 0 {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl FromStr for MilliCpus {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let malformed = || LimitError::Cpus { given: text.to_owned() };
        let out_of_range = || LimitError::CpusRange { given: text.to_owned() };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let only_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !only_digits(whole) || !only_digits(fraction) {
            return Err(malformed());
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 3 {
            return Err(malformed());
        }
        let whole: u32 = whole.parse().map_err(|_| out_of_range())?;
        let thousandths: u32 = format!("{fraction:0<3}").parse().map_err(|_| malformed())?;
        whole
            .checked_mul(1000)
            .and_then(|milli| milli.checked_add(thousandths))
            .filter(|milli| (10..=1_024_000).contains(milli))
            .map(Self)
            .ok_or_else(out_of_range)
    }
}

impl TryFrom<f64> for MilliCpus {
    type Error = LimitError;

    /// Reads a number of processors; what is finer than a thousandth is refused, as it is in text.
    fn try_from(cpus: f64) -> Result<Self, LimitError> {
        if !(0.0..=10_000.0).contains(&cpus) {
            return Err(LimitError::CpusRange { given: cpus.to_string() });
        }
        cpus.to_string().parse()
    }
}

impl fmt::Display for MilliCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:03}", self.0 % 1000);
        write!(f, "{}", self.0 / 1000)?;
        match fraction.trim_end_matches('0') {
            "" => Ok(()),
            fraction => write!(f, ".{fraction}"),
        }
    }
}

/// Checks a number of processes and threads, as a number in a file gives it.
pub fn pids(given: i64) -> Result<u32, LimitError> {
    match u32::try_from(given) {
        Ok(pids) if (1..=MAX_PIDS).contains(&pids) => Ok(pids),
        _ => Err(LimitError::PidsRange { given }),
    }
}

/// Parses a processor time: a duration in whole seconds, in which `setrlimit(2)` takes it.
pub fn cpu_time(text: &str) -> Result<Duration, LimitError> {
    let time = duration(text)?;
    if time.subsec_nanos() == 0 { Ok(time) } else { Err(LimitError::CpuTime { given: text.to_owned() }) }
}

/// Reads a duration such as `30m`, `1h30m`, `90s` or `500ms`: whole numbers, each unit at most once, largest first. A number alone is
/// of seconds, as for timeout(1).
pub fn duration(text: &str) -> Result<Duration, LimitError> {
    let malformed = || LimitError::Duration { given: text.to_owned() };
    let too_long = || LimitError::DurationRange { given: text.to_owned() };
    let mut total: u64 = 0;
    let mut finer_than = u64::MAX;
    let mut rest = text;
    while !rest.is_empty() {
        let (digits, tail) = split_number(rest);
        let amount = number(digits).ok_or_else(malformed)?;
        let unit = &tail[..tail.bytes().take_while(u8::is_ascii_alphabetic).count()];
        let milliseconds = match unit {
            "d" => 86_400_000,
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            "" if tail.is_empty() && finer_than == u64::MAX => 1_000,
            _ => return Err(malformed()),
        };
        if milliseconds >= finer_than {
            return Err(malformed());
        }
        finer_than = milliseconds;
        total =
            amount.checked_mul(milliseconds).and_then(|part| total.checked_add(part)).ok_or_else(too_long)?;
        rest = &tail[unit.len()..];
    }
    match Duration::from_millis(total) {
        Duration::ZERO if text.is_empty() => Err(malformed()),
        Duration::ZERO => Err(LimitError::DurationZero),
        duration if duration > MAX_DURATION => Err(too_long()),
        duration => Ok(duration),
    }
}

/// Splits off the digits (with `_` between them) that `text` starts with.
fn split_number(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'_').count())
}

/// Reads digits that `_` may separate. What does not fit becomes the largest number, which no limit accepts.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return None;
    }
    Some(digits.replace('_', "").parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tmpfs_has_an_inode_for_each_page() {
        let limits = Limits::default();
        let each = TmpfsLimits { size: Bytes(512 << 20), inodes: 131_072 };
        assert_eq!(limits.tmpfs(TmpfsMemory::Counted), each);
        // Without a limit of memory there is nothing to stay within.
        assert_eq!(limits.tmpfs(TmpfsMemory::Uncounted { tmpfs: 4 }), each);
        let tiny = Limits { tmp_size: Bytes(1), ..limits };
        assert_eq!(tiny.tmpfs(TmpfsMemory::Counted), TmpfsLimits { size: Bytes(1), inodes: 64 });
    }

    #[test]
    fn where_nothing_counts_all_of_them_stay_within_the_limit_of_memory() {
        for memory in [MIN_MEMORY.0, 64 << 20, 100_000_000, 1 << 30] {
            let limits = Limits { memory: Some(Bytes(memory)), ..Limits::default() };
            let TmpfsLimits { size, inodes } = limits.tmpfs(TmpfsMemory::Uncounted { tmpfs: 4 });
            assert!(4 * (size.0 + inodes * 1024) <= memory, "{memory}: {size} and {inodes} inodes");
            assert!(4 * size.0 > memory / 2, "{memory}: {size}");
            assert_eq!(limits.tmpfs(TmpfsMemory::Counted).size, limits.tmp_size);
        }
    }
}
