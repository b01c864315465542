//! PID 1 of a native sandbox, started before its plan is known: it makes its namespaces and mounts what every sandbox sees
//! while the client reads its configuration.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use confine::cgroup::{CgroupSite, Hierarchy};
use confine::init::clone::{CloneOptions, InitProcess, clone_init};
use confine::protocol::{ControlSocket, Request};
use policy::rules::limits::Bytes;
use rustix::process::{WaitId, WaitIdOptions};

use crate::host::identity::Identity;
use crate::host::{init_program, left};
use crate::provider::mount_plan::{self, MountPlanBuilder};
use crate::session::agent::{self, Agent};
use crate::session::closed::Open;
use crate::session::error::StartError;
use crate::session::remedy;
use crate::session::streams::{OwnTerminal, Stdio, Streams};

/// PID 1 of a sandbox that will be native and have the caller's own streams, whatever else its plan says. Dropped, it leaves
/// nothing.
///
/// What goes wrong is kept until the sandbox is run: a mistake in the configuration is reported first, and alone.
pub struct EarlyInit {
    pub(super) host: Result<HostSide, StartError>,
    pub(super) started: Option<Result<StartedInit, StartError>>,
}

impl EarlyInit {
    /// Starts it, unless it may have to be created in a cgroup: in which one, the plan says. `locks` are those of a
    /// [`Launch`](crate::provider::launch::Launch).
    pub fn start(caller: Identity, locks: &Path) -> Self {
        // Only what is captured has a limit.
        let host = HostSide::find(caller, Stdio::Inherit, Bytes(0), locks);
        let is_free = |host: &&HostSide| !CgroupSite::may_hold_pid_1(&host.hierarchy);
        let started = host.as_ref().ok().filter(is_free).map(|host| StartedInit::start(host, None));
        Self { host, started }
    }
}

/// What PID 1 is started with.
pub(super) struct HostSide {
    pub(super) agent: Agent,
    pub(super) streams: Streams,
    /// The terminal of the first command, where that was opened out here.
    pub(super) terminal: Option<OwnTerminal>,
    pub(super) hierarchy: Hierarchy,
}

impl HostSide {
    /// Finds it. Nothing of the host's is changed.
    pub(super) fn find(
        caller: Identity,
        streams: Stdio,
        output_bytes: Bytes,
        locks: &Path,
    ) -> Result<Self, StartError> {
        // 2. The identity of the agent on the host: the caller, or for root an unallocated uid.
        let agent = agent::choose(caller, locks)?;

        // 3. Where its streams lead.
        let streams = Streams::open(streams, output_bytes, agent.owner(), caller)?;

        let hierarchy = Hierarchy::detect().map_err(StartError::step("detecting cgroups"))?;
        Ok(Self { agent, streams, terminal: None, hierarchy })
    }

    /// Opens a terminal out here in the place of the caller's: in a sandbox that runs other commands beside the first one, those would have
    /// a name for one that PID 1 opens. One that is too late for that is opened by PID 1.
    pub(super) fn hide_terminal(&mut self) -> Result<(), StartError> {
        self.terminal = self.streams.open_terminal(self.agent.owner())?;
        Ok(())
    }
}

/// A PID 1 that mounts what every sandbox sees.
pub(super) struct StartedInit {
    pub(super) child: InitChild,
    pub(super) control: ControlSocket,
    pub(super) builder: MountPlanBuilder,
}

impl StartedInit {
    /// Starts it.
    pub(super) fn start(host: &HostSide, cgroup: Option<BorrowedFd<'_>>) -> Result<Self, StartError> {
        // 5. One clone3, and PID 1 is on its way. It makes its namespaces and what every sandbox sees, while its init spec is
        //    prepared.
        let options = CloneOptions { identity: host.agent.identity, streams: host.streams.inside(), cgroup };
        let open = Open::wait();
        let InitProcess { pid, pidfd, mut control } =
            clone_init(&options, init_program::bytes()).map_err(remedy::entering)?;
        drop(open);
        let child = InitChild { pidfd: Some(pidfd), pid };
        let (mounts, builder) = mount_plan::system_mounts(host.agent.identity.inside())
            .map_err(StartError::step("planning the mounts"))?;
        send(&mut control, &Request::Prepare { mounts, hostname: mount_plan::HOSTNAME.into() }, &[])?;
        Ok(Self { child, control, builder })
    }
}

/// PID 1 of a sandbox, which ends with this at the latest.
pub(super) struct InitChild {
    /// `None` once it is left to itself.
    pidfd: Option<OwnedFd>,
    pid: i32,
}

impl InitChild {
    /// Leaves it to itself: it does not end with this.
    pub(super) fn leave(mut self) {
        self.pidfd.take().into_iter().for_each(left::leave);
    }

    /// Returns its process id, as this process sees it.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Kills it, and waits until its namespace has ended: it is no zombie before that has.
    pub(super) fn end(&self) {
        let Some(pidfd) = &self.pidfd else { return };
        // One that has ended is still ours to collect, so neither call can hit anybody else.
        let _ = rustix::process::pidfd_send_signal(pidfd, rustix::process::Signal::KILL);
        let _ = rustix::io::retry_on_intr(|| {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), options)
        });
    }
}

impl Drop for InitChild {
    fn drop(&mut self) {
        self.end();
        if let Some(pidfd) = &self.pidfd {
            let _ = rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
        }
    }
}

/// Sends PID 1 a request. One that failed before has reported why itself.
pub(super) fn send(
    control: &mut ControlSocket,
    request: &Request,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), StartError> {
    match control.send(request, descriptors) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        sent => sent.map_err(StartError::step("sending the request to PID 1")),
    }
}
