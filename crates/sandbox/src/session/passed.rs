//! Descriptors that the caller of this process has left open for the agent.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use confine::rlimit::OPEN_FILES;
use rustix::fs::OFlags;
use rustix::process::{Resource, getrlimit};

use crate::host::terminal::{StreamError, StreamKind, check_stream};

/// How many are passed at most.
pub const MOST: usize = 16;

/// A descriptor that the caller has left open, which the agent gets at the same number. What it is was checked.
#[derive(Debug)]
pub struct PassedDescriptor {
    number: u32,
    descriptor: OwnedFd,
}

/// Why a descriptor is not passed.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("descriptor {0} is a standard stream, and always passed")]
    Standard(u32),
    #[error("descriptor {0} is named twice")]
    Twice(u32),
    #[error("{0} descriptors are more than the {MOST} that can be passed")]
    Many(usize),
    /// A number beyond the limit of open files (`RLIMIT_NOFILE`), here or inside.
    #[error("descriptor {number} is too high: the limit of open files is {limit}")]
    High { number: u32, limit: u64 },
    #[error("descriptor {0} is not open")]
    Closed(u32),
    /// It would hand over more than a stream.
    #[error("descriptor {number}: {reason}")]
    Refused { number: u32, reason: StreamError },
    /// Only the standard streams have a relay for terminals.
    #[error(
        "descriptor {0}: it is a terminal, which nobody hands to an agent: it could type into the shell there; only standard \
         streams are relayed from and to one"
    )]
    Terminal(u32),
    #[error(
        "descriptor {0}: it was opened as a path alone (O_PATH), and nothing can be read or written there"
    )]
    Path(u32),
    #[error("descriptor {number}: {source}")]
    System { number: u32, source: io::Error },
}

impl PassedDescriptor {
    /// Duplicates those that this process was executed with. None of them is closed here.
    pub fn inherited(numbers: &[u32]) -> Result<Vec<Self>, PassError> {
        if numbers.len() > MOST {
            return Err(PassError::Many(numbers.len()));
        }
        let limit = getrlimit(Resource::Nofile).current.map_or(OPEN_FILES, |limit| limit.min(OPEN_FILES));
        let each = numbers.iter().enumerate().map(|(at, number)| match *number {
            number if number < 3 => Err(PassError::Standard(number)),
            number if numbers[..at].contains(&number) => Err(PassError::Twice(number)),
            number if u64::from(number) >= limit => Err(PassError::High { number, limit }),
            number => Self::take(number),
        });
        each.collect()
    }

    fn take(number: u32) -> Result<Self, PassError> {
        let raw = i32::try_from(number).map_err(|_| PassError::Closed(number))?;
        let descriptor = confine::duplicate_passed(raw).map_err(|source| match source.raw_os_error() {
            Some(errno) if errno == rustix::io::Errno::BADF.raw_os_error() => PassError::Closed(number),
            _ => PassError::System { number, source },
        })?;
        match check_stream(descriptor.as_fd()) {
            Err(reason) => Err(PassError::Refused { number, reason }),
            Ok(StreamKind::Terminal) => Err(PassError::Terminal(number)),
            Ok(_) if is_path(&descriptor) => Err(PassError::Path(number)),
            Ok(_) => Ok(Self { number, descriptor }),
        }
    }

    /// Returns its number and the descriptor itself.
    pub(crate) fn into_parts(self) -> (u32, OwnedFd) {
        (self.number, self.descriptor)
    }
}

fn is_path(descriptor: &OwnedFd) -> bool {
    rustix::fs::fcntl_getfl(descriptor).map_or(true, |flags| flags.contains(OFlags::PATH))
}
