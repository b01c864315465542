//! Signals as events of a poll loop, so that whatever they end is tidied up first.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// The signals that a client of a sandbox handles.
///
/// `SIGTTIN` and `SIGTTOU` are among them so that they are blocked: then the terminal can be asked and put in
/// order from the background, which would stop the process otherwise.
const SIGNALS: [Signal; 11] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGCONT,
    Signal::SIGWINCH,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Signals of this thread that wait to be read, until this is dropped.
///
/// The mask belongs to the thread and is inherited by what it starts: whoever executes a program restores it.
/// In a process with several threads a signal for the process goes to one that does not block it, so their
/// owner must block these signals before making any.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    before: SigSet,
}

impl Signals {
    /// Blocks the signals, from here on they are read.
    pub fn block() -> io::Result<Self> {
        let set: SigSet = SIGNALS.into_iter().collect();
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { descriptor, before: set.thread_swap_mask(SigmaskHow::SIG_BLOCK)? })
    }

    /// Returns the next signal that has arrived; `None` if there is none. Never waits.
    pub fn read(&self) -> io::Result<Option<Signal>> {
        let Some(info) = self.descriptor.read_signal()? else { return Ok(None) };
        let number = i32::try_from(info.ssi_signo).map_err(io::Error::other)?;
        Ok(Some(Signal::try_from(number)?))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // It was a valid mask when it was read.
        let _ = self.before.thread_set_mask();
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;

    #[test]
    fn a_signal_is_read_instead_of_ending_the_process() {
        let signals = Signals::block().unwrap();
        assert_eq!(signals.read().unwrap(), None);
        raise(Signal::SIGTERM).unwrap();
        raise(Signal::SIGWINCH).unwrap();
        let mut read = [signals.read().unwrap().unwrap(), signals.read().unwrap().unwrap()];
        read.sort();
        assert_eq!(read, [Signal::SIGTERM, Signal::SIGWINCH]);
        assert_eq!(signals.read().unwrap(), None);
    }

    #[test]
    fn the_mask_is_as_before_afterwards() {
        let before = SigSet::thread_get_mask().unwrap();
        let signals = Signals::block().unwrap();
        assert_eq!(signals.before, before);
        assert!(SigSet::thread_get_mask().unwrap().contains(Signal::SIGHUP));
        drop(signals);
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
    }
}
