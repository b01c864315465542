//! The identity of the agent on the host.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use confine::init::clone::{AgentIdentity, Ids};

use crate::host::identity::{self, Free, HostUid};
use crate::session::error::StartError;
use crate::session::streams::Owner;

/// The agent's user on the host, held for as long as the sandbox runs.
pub(crate) struct Agent {
    /// How PID 1 becomes that user.
    pub(crate) identity: AgentIdentity,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Whether no user of this host has that id, so that files have to be mapped to their owners.
    pub(crate) is_unallocated: bool,
    /// An id of the range is ours only while it is locked.
    lock: Option<HostUid>,
}

impl Agent {
    /// Returns the unallocated one of a sandbox whose PID 1 has shared the lock of its id.
    pub(crate) fn shared(uid: u32, lock: OwnedFd) -> Self {
        Self {
            identity: AgentIdentity::Unallocated(uid),
            uid,
            gid: uid,
            is_unallocated: true,
            lock: Some(HostUid::shared(uid, lock)),
        }
    }

    /// Returns whose its streams are.
    pub(crate) fn owner(&self) -> Owner {
        Owner { uid: self.uid, gid: self.gid }
    }

    /// Returns who that is.
    pub(crate) fn user(&self) -> identity::Identity {
        identity::Identity { uid: self.uid, gid: self.gid }
    }

    /// Returns what its id is locked through, if it is: whoever has a copy of it keeps the id.
    pub(crate) fn lock(&self) -> Option<BorrowedFd<'_>> {
        self.lock.as_ref().and_then(HostUid::lock)
    }

    /// Leaves the id to whoever has a copy of its lock.
    pub(crate) fn leave(self) {
        if let Some(lock) = self.lock {
            lock.leave();
        }
    }
}

#[cfg(test)]
impl Agent {
    /// Returns a normal caller's agent.
    pub(crate) fn for_test(id: u32) -> Self {
        Self {
            identity: AgentIdentity::Caller(Ids { uid: id, gid: id }),
            uid: id,
            gid: id,
            is_unallocated: false,
            lock: None,
        }
    }
}

/// Chooses the agent's user: a normal caller's own; for root the user behind sudo; and for root alone one of a
/// range that belongs to nobody. Never host 0.
pub(crate) fn choose(caller: identity::Identity, locks: &Path) -> Result<Agent, StartError> {
    let process = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if process.0 != 0 {
        let (uid, gid) = process;
        return Ok(Agent {
            identity: AgentIdentity::Caller(Ids { uid, gid }),
            uid,
            gid,
            is_unallocated: false,
            lock: None,
        });
    }
    if caller.uid != 0 && caller.gid != 0 {
        let (uid, gid) = (caller.uid, caller.gid);
        return Ok(Agent {
            identity: AgentIdentity::Other(Ids { uid, gid }),
            uid,
            gid,
            is_unallocated: false,
            lock: None,
        });
    }
    let claimed = Free::on_this_host().and_then(|free| HostUid::claim(locks, &free)).map_err(|error| {
        StartError::Step {
            step: "claiming a user of the host for this sandbox alone".into(),
            source: std::io::Error::other(error),
            remedy: Some("call sandboxctl as a normal user, whose sandboxes need no other user".into()),
        }
    })?;
    let uid = claimed.uid();
    Ok(Agent {
        identity: AgentIdentity::Unallocated(uid),
        uid,
        gid: uid,
        is_unallocated: true,
        lock: Some(claimed),
    })
}
