//! A persistent sandbox: how PID 1 lives without the client that made it, and what later clients say to it.
//!
//! They connect to a socket that the first client has bound, in a directory that no sandbox sees. One byte says what a
//! connection is for. Whatever takes longer than reading that byte is done by another process than PID 1, which has to
//! serve everybody.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attachment::Attachment;
use super::ending::Ending;
use super::init_spec::CommandSpec;

/// What a connection to PID 1 is for: the first byte that a client sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// To run a command: an [`ExecRequest`] follows.
    Exec,
    /// To copy files: a [`FileRequest`](super::FileRequest) follows.
    Files,
    /// To learn how it is: the answer is a [`StayStatus`].
    Status,
    /// To learn what it uses: the answer is a [`SandboxUsage`].
    Usage,
    /// To stop every process inside until [`Purpose::Unpause`].
    Pause,
    /// To let them go on.
    Unpause,
    /// To restart the idle time.
    Touch,
    /// To wait for the end, which closes the connection.
    Wait,
    /// To send everything inside SIGTERM, and then to wait for the end.
    Terminate,
    /// To end everything inside at once, and then to wait for the end.
    Kill,
}

impl Purpose {
    const ALL: [(Self, u8); 10] = [
        (Self::Exec, b'e'),
        (Self::Files, b'f'),
        (Self::Status, b's'),
        (Self::Usage, b'm'),
        (Self::Pause, b'p'),
        (Self::Unpause, b'u'),
        (Self::Touch, b't'),
        (Self::Wait, b'w'),
        (Self::Terminate, b'T'),
        (Self::Kill, b'K'),
    ];

    /// Returns the byte that says it.
    pub fn byte(self) -> u8 {
        // Every purpose stands in the list.
        Self::ALL.iter().find(|(purpose, _)| *purpose == self).map_or(0, |(_, byte)| *byte)
    }

    /// Reads the byte; `None` for any that says nothing.
    pub fn of(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|(_, other)| *other == byte).map(|(purpose, _)| *purpose)
    }
}

/// A command that is to run in a persistent sandbox. Descriptors: those of [`CommandSpec::passed`], then the three streams.
#[derive(Debug, Deserialize, Serialize)]
pub struct ExecRequest {
    pub command: CommandSpec,
    /// How long it may run; then all that it has started is ended, and the sandbox lives on.
    pub timeout: Option<Duration>,
    pub attachment: Attachment,
}

/// How a persistent sandbox is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct StayStatus {
    /// How many commands run, the first one included, with what they have left running.
    pub commands: u32,
    /// How long there has been none.
    pub idle: Option<Duration>,
    pub age: Duration,
}

/// What a persistent sandbox uses now, as its PID 1 sees it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct SandboxUsage {
    /// How many processes there are, those of ours included.
    pub processes: u32,
    /// Time on processors of all that are there, and of those that PID 1 has collected, in milliseconds.
    pub cpu_ms: u64,
    /// What they have in memory, in bytes: what several share counts for each.
    pub resident: u64,
}

/// What PID 1 writes about itself into the file that it was given, and who finds it killed writes in its place.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum StayNote {
    /// It can be found and used. Where it is detached, it does not end with its client any more.
    Stays,
    /// Every process inside is stopped.
    Paused,
    /// It is about to end.
    Ended(SandboxEnd),
    /// It was killed, which somebody has noticed who looked.
    Killed {
        /// When that was, in milliseconds since 1970.
        noticed: u64,
    },
}

/// How a persistent sandbox has ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SandboxEnd {
    pub cause: EndCause,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

/// Why a persistent sandbox has ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum EndCause {
    /// Its first command has ended.
    Command(Ending),
    /// Somebody has asked for it.
    Stopped,
    /// No command has run for as long as [`Stay::idle_timeout`](super::Stay::idle_timeout) says.
    Idle,
    /// It has reached [`Stay::max_duration`](super::Stay::max_duration).
    Aged,
}

/// What a command has used, with all that it has waited for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Usage {
    /// Time on processors, its own and the kernel's for it, in milliseconds.
    pub cpu_ms: u64,
    /// The most memory that one of its processes had at once, in bytes.
    pub max_rss: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_has_a_byte_of_its_own() {
        for (purpose, byte) in Purpose::ALL {
            assert_eq!((Purpose::of(byte), purpose.byte()), (Some(purpose), byte));
        }
        assert_eq!(Purpose::of(0), None);
    }
}
