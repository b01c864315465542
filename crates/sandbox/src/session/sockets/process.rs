//! The process that relays for a persistent sandbox: it has nothing but the relays, is the caller, and ends with PID 1.
//!
//! While a client waits for its command, the relays are threads of the client. A persistent sandbox has no client, so a sidecar has them.

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use policy::plan::{Plan, Socket};
use serde::{Deserialize, Serialize};

use super::SocketRelays;
use crate::host::identity::Identity;
use crate::session::error::StartError;
use crate::session::sidecar::{Sidecar, SidecarProcess, SidecarProgram, Until};

/// What the sidecar gets, with the sockets that listen inside, in the same order.
#[derive(Debug, Deserialize, Serialize)]
struct RelaySpec {
    /// The paths of the sockets on the host.
    hosts: Vec<Vec<u8>>,
}

/// The relays of a sandbox that is going to stay. The process ends with this, unless it is left.
pub(crate) struct RelayProcess<'a> {
    sidecar: SidecarProcess<'a>,
    sockets: &'a [Socket],
}

impl<'a> RelayProcess<'a> {
    /// Prepares one, where the plan has sockets of the host.
    pub(crate) fn prepare(
        plan: &'a Plan,
        program: Option<SidecarProgram<'a>>,
        caller: Identity,
    ) -> Result<Option<Self>, StartError> {
        if plan.sockets.is_empty() {
            return Ok(None);
        }
        let program = program.ok_or_else(|| {
            StartError::refused(
                "sockets of the host in a persistent sandbox",
                "the caller of this library has named no program that relays them",
                "name one in `Launch::relay`",
            )
        })?;
        let sidecar = SidecarProcess::prepare("starting the socket relay", program, caller)?;
        Ok(Some(Self { sidecar, sockets: &plan.sockets }))
    }

    /// Returns what PID 1 is to hold.
    pub(crate) fn lifeline(&self) -> Option<BorrowedFd<'_>> {
        self.sidecar.lifeline()
    }

    /// Starts the process with the sockets that listen inside, once PID 1 holds its end of the pipe, and waits until it serves.
    pub(crate) fn start(&mut self, listeners: &[OwnedFd]) -> Result<(), StartError> {
        let hosts = self.sockets.iter().map(|socket| socket.host.as_os_str().as_bytes().to_vec()).collect();
        self.sidecar.start(&RelaySpec { hosts }, listeners, Until::Init)
    }

    /// Leaves it to its persistent sandbox: it ends with PID 1.
    pub(crate) fn leave(self) {
        self.sidecar.leave();
    }
}

/// Relays until the sandbox has ended, as the user of this process, what the client sends over `control`.
///
/// # Errors
///
/// The client is gone, has sent something else, or nothing can be relayed.
pub fn serve(control: OwnedFd) -> io::Result<()> {
    let mut sidecar = Sidecar::<RelaySpec>::accept(control)?;
    let hosts = std::mem::take(&mut sidecar.spec.hosts).into_iter();
    let hosts = hosts.map(|host| OsString::from_vec(host).into()).collect();
    let listeners = std::mem::take(&mut sidecar.descriptors);
    let relays = SocketRelays::start(hosts, listeners, Identity::own());
    let (relays, end) = sidecar.answer(relays)?;
    end.wait()?;
    relays.finish();
    Ok(())
}
