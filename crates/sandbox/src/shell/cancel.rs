//! The way to end what a thread waits for, from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// A flag that is raised once and can be waited for, as a descriptor that becomes readable. Copies are the same flag.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<OwnedFd>);

impl Cancel {
    /// Makes one that is not raised.
    ///
    /// # Errors
    ///
    /// This process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Raises it, for good.
    pub fn raise(&self) {
        // It fails where it was raised so often that it could not be more so.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Returns whether it was raised.
    pub fn is_raised(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)], Some(&now))
            .is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for Cancel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_raised_with_it_and_stays_so() {
        let cancel = Cancel::new().unwrap();
        let copy = cancel.clone();
        assert!(!copy.is_raised());
        cancel.raise();
        cancel.raise();
        assert!(copy.is_raised());
        assert!(copy.is_raised());
    }
}
