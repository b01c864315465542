//! The sidecar that starts the children of a sandbox: it serves the socket on which the agent requests them.
//!
//! It is a process of its own because it reads what an agent writes, and because a persistent sandbox has no client.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use policy::plan::Plan;
use policy::rules::children::CHILDREN_SOCKET;
use serde::{Deserialize, Serialize};

use crate::host::identity::Identity;
use crate::session::closed::Closed;
use crate::session::error::StartError;
use crate::session::sidecar::{SandboxEnd, Sidecar, SidecarProcess, SidecarProgram, Until};
use crate::state::record::RunId;

/// What the sidecar gets, with the socket.
#[derive(Debug, Deserialize, Serialize)]
struct ChildrenSpec {
    /// The plan of the parent, as JSON: postcard cannot hold all of its types.
    plan: String,
    id: RunId,
    stays: bool,
}

/// The sidecar, as the client has it.
pub(crate) struct ChildrenProcess<'a> {
    sidecar: SidecarProcess<'a>,
    plan: &'a Plan,
    id: &'a RunId,
    /// Keeps others from looking into this process while it has the environment of the sidecar, and in that credentials.
    closed: Option<Closed>,
}

impl<'a> ChildrenProcess<'a> {
    /// Prepares the process, where the plan has children.
    pub(crate) fn prepare(
        plan: &'a Plan,
        id: &'a RunId,
        program: Option<SidecarProgram<'a>>,
        caller: Identity,
    ) -> Result<Option<Self>, StartError> {
        if plan.children.is_none() {
            return Ok(None);
        }
        let program = program.ok_or_else(|| {
            StartError::refused(
                "a sandbox with children",
                "the caller of this library has named no program that starts them",
                "name one in `Launch::children`",
            )
        })?;
        let sidecar = SidecarProcess::prepare("starting the process for children", program, caller)?;
        let has_credentials = plan.credentials().next().is_some();
        let closed = has_credentials.then(Closed::close).transpose();
        let closed =
            closed.map_err(|errno| StartError::step("closing this process to others")(errno.into()))?;
        Ok(Some(Self { sidecar, plan, id, closed }))
    }

    /// Returns what PID 1 is to hold.
    pub(crate) fn lifeline(&self) -> Option<BorrowedFd<'_>> {
        self.sidecar.lifeline()
    }

    /// Starts the process with the socket that listens inside.
    pub(crate) fn start(&mut self, listener: OwnedFd, until: Until) -> Result<(), StartError> {
        let plan = serde_json::to_string(self.plan)
            .map_err(|error| StartError::step("writing the plan")(error.into()))?;
        let spec = ChildrenSpec { plan, id: self.id.clone(), stays: until == Until::Init };
        let started = self.sidecar.start(&spec, &[listener], until);
        self.closed = None;
        started
    }

    /// Leaves it to its persistent sandbox.
    pub(crate) fn leave(self) {
        self.sidecar.leave();
    }

    /// Ends it with all children.
    pub(crate) fn finish(self) {
        self.sidecar.finish();
    }
}

/// Lists where PID 1 is to listen: the sockets of the host that the plan has, and the one for children.
pub(crate) fn listening_at(plan: &Plan) -> Vec<PathBuf> {
    let children = plan.children.is_some().then(|| Path::new(CHILDREN_SOCKET));
    plan.sockets.iter().map(|socket| socket.guest.as_path()).chain(children).map(Path::to_owned).collect()
}

/// The sandbox whose agent requests children, as the sidecar has it.
#[derive(Debug)]
pub struct ParentSandbox {
    pub plan: Plan,
    pub id: RunId,
    /// Whether the sandbox is persistent, so that nobody sees what the sidecar prints.
    pub stays: bool,
    /// The socket that the agent connects to.
    pub listener: UnixListener,
    pub end: SandboxEnd,
}

/// Receives the parent over `control`, in the process of the sidecar.
///
/// # Errors
///
/// The client is gone, or has sent something else.
pub fn accept(control: OwnedFd) -> io::Result<ParentSandbox> {
    let mut sidecar = Sidecar::<ChildrenSpec>::accept(control)?;
    let listener = sidecar.descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
    let listener = UnixListener::from(listener);
    let plan = serde_json::from_str(&sidecar.spec.plan).map_err(io::Error::other);
    let (id, stays) = (sidecar.spec.id.clone(), sidecar.spec.stays);
    let ready = listener.set_nonblocking(true).and(plan);
    let (plan, end) = sidecar.answer(ready)?;
    Ok(ParentSandbox { plan, id, stays, listener, end })
}
