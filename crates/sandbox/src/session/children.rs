//! The process that starts the children of a sandbox: it gets the socket on which the agent asks for them.
//!
//! It is a process of its own because it reads what an agent writes, and because a sandbox that stays has no client. It makes each child by the
//! same means as every other sandbox, beside its parent, and ends with the parent.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use policy::plan::Plan;
use policy::rules::children::CHILDREN_SOCKET;
use serde::{Deserialize, Serialize};

use crate::host::identity::Identity;
use crate::session::error::StartError;
use crate::session::sidecar::{SandboxEnd, Sidecar, SidecarProcess, SidecarProgram, Until};
use crate::state::record::RunId;

/// What the process is to do.
#[derive(Debug, Deserialize, Serialize)]
struct ChildrenSpec {
    /// As JSON, which it has types for that the protocol has not.
    plan: String,
    id: RunId,
    stays: bool,
}

/// The children of a sandbox, as its client has them.
pub(crate) struct ChildrenProcess<'a> {
    sidecar: SidecarProcess<'a>,
    plan: &'a Plan,
    id: &'a RunId,
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
        Ok(Some(Self { sidecar, plan, id }))
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
        self.sidecar.start(&spec, &[listener], until)
    }

    /// Leaves it to its sandbox, which stays.
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

/// What the process that starts children has.
#[derive(Debug)]
pub struct Parent {
    /// The plan of the sandbox whose agent asks.
    pub plan: Plan,
    pub id: RunId,
    /// Whether the sandbox stays, so that nobody sees what this process prints.
    pub stays: bool,
    /// Where the agent connects.
    pub listener: UnixListener,
    /// When everything ends.
    pub end: SandboxEnd,
}

/// Receives what this process is to do over `control` from whoever has started it.
///
/// # Errors
///
/// Nobody says so.
pub fn accept(control: OwnedFd) -> io::Result<Parent> {
    let mut sidecar = Sidecar::<ChildrenSpec>::accept(control)?;
    let listener = sidecar.descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
    let listener = UnixListener::from(listener);
    let plan = serde_json::from_str(&sidecar.spec.plan).map_err(io::Error::other);
    let (id, stays) = (sidecar.spec.id.clone(), sidecar.spec.stays);
    let ready = listener.set_nonblocking(true).and(plan);
    let (plan, end) = sidecar.answer(ready)?;
    Ok(Parent { plan, id, stays, listener, end })
}
