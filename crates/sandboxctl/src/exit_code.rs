//! Exit codes: every status that `sandboxctl` itself can end with.
//!
//! A command that ran gives its own status, and 128+n when signal n ended it. The numbers above 63 that are not
//! in the shell's tradition are those of `sysexits.h`.

/// What the process ends with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ExitCode {
    Success,
    /// 2: the command line or the configuration is wrong.
    Usage,
    /// 69 (`EX_UNAVAILABLE`): the provider, or a layer that is required, is not to be had here.
    Unavailable,
    /// 75 (`EX_TEMPFAIL`): a protection was lost and the sandbox was ended; the next run has it again.
    Unprotected,
    /// 77 (`EX_NOPERM`): policy says no; trying again changes nothing.
    Denied,
    /// 123: not every task of a batch has succeeded, as with xargs(1).
    TasksFailed,
    /// 124: the command ran out of time, as with timeout(1).
    TimedOut,
    /// 125: the tool itself failed.
    Failed,
    /// 126: the command was found but cannot be executed.
    NotExecutable,
    /// 127: there is no such command.
    NotFound,
    /// The command's own status.
    Command(u8),
    /// 128+n: signal n ended the command.
    Signal(i32),
}

impl ExitCode {
    /// Returns the number that the parent process sees.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Usage => 2,
            Self::Unavailable => 69,
            Self::Unprotected => 75,
            Self::Denied => 77,
            Self::TasksFailed => 123,
            Self::TimedOut => 124,
            Self::Failed => 125,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Command(status) => status,
            // Linux has signals 1 to 64, so the sum always fits.
            Self::Signal(signal) => u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128)),
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode;

    #[test]
    fn a_signal_counts_from_128() {
        assert_eq!(ExitCode::Signal(9).number(), 137);
        assert_eq!(ExitCode::Signal(64).number(), 192);
    }

    #[test]
    fn a_command_keeps_its_own_status() {
        assert_eq!(ExitCode::Command(2).number(), 2);
    }
}
