//! Launching: what a caller requests of a provider, and what comes of it.

use std::os::fd::BorrowedFd;
use std::path::Path;

use confine::protocol::{Attachment, ControlSocket};
use policy::plan::Plan;

use super::native::early::EarlyInit;
use crate::engine;
use crate::host::identity::Identity;
use crate::secrets;
use crate::session::attendance::Parent;
use crate::session::egress::{EgressProgram, SecretRenewer};
use crate::session::outcome::{Notice, Outcome};
use crate::session::passed::PassedDescriptor;
use crate::session::sidecar::SidecarProgram;
use crate::session::streams::Stdio;
use crate::state::record::RunId;
use crate::state::sandboxes::{FirstCommand, SandboxRecord, Sandboxes, StayPlan};

/// One run of a plan, as the caller asks for it.
pub struct Launch<'a> {
    pub plan: &'a Plan,
    /// Reads the values of the plan's secrets. Called once at most, and as late as can be.
    pub secrets: &'a mut secrets::SecretReader<'a>,
    pub streams: Stdio,
    /// What the plan passes besides, by its numbers.
    pub passed: Vec<PassedDescriptor>,
    /// PID 1 of a native sandbox, where it was known early that there would be one; its streams are those of this process.
    pub early: Option<EarlyInit>,
    /// Who asks: under sudo not root, but the user behind it.
    pub caller: Identity,
    /// The caller's state directory: records of runs.
    pub state: &'a Path,
    /// The directory of this process's own user: what is believed without asking who has written it. Under sudo it is one of
    /// root's, else the state directory.
    pub own: &'a Path,
    /// The directory where running sandboxes of root lock their host user ids.
    pub locks: &'a Path,
    /// What the egress proxy is; without one, no plan with an allow-list of hosts is carried out.
    pub egress: Option<EgressProgram<'a>>,
    /// What relays sockets of the host for a persistent sandbox; without it, no plan with sockets becomes one.
    pub relay: Option<SidecarProgram<'a>>,
    /// What starts children of the sandbox; without it, no plan with children is carried out.
    pub children: Option<SidecarProgram<'a>>,
    /// Reads a secret of the egress proxy again; without it, each keeps its first value.
    pub renew: Option<&'a SecretRenewer<'a>>,
    pub engines: &'a engine::surroundings::Surroundings,
    /// The process that everything is to end with.
    pub parent: Option<&'a Parent>,
    /// How others find the sandbox; `None` where nobody does, and it ends with its command.
    pub stay: Option<StayLaunch<'a>>,
    /// Notified of what happens while the sandbox runs.
    pub notice: &'a mut dyn FnMut(Notice),
}

/// A sandbox that others find by its name, as the caller asks for it.
#[derive(Clone, Copy)]
pub struct StayLaunch<'a> {
    pub plan: StayPlan,
    pub sandboxes: &'a Sandboxes,
    /// The sandbox of the same name that has ended, and whose place this one takes.
    pub replaces: Option<&'a RunId>,
    /// It is made only where fewer persistent sandboxes than this are there, whoever has made them and whether they run; those count, too, whose
    /// records cannot be read. `None` makes it in any case.
    pub most: Option<usize>,
    /// What the caller has locked, and the sandbox keeps locked for as long as it lives.
    pub held: &'a [BorrowedFd<'a>],
}

impl StayLaunch<'_> {
    /// Splits what was asked for into a sandbox that this process leaves, and one whose command it waits for.
    pub(super) fn split(asked: Option<Self>) -> (Option<Self>, Option<Self>) {
        match asked.map(|stay| (stay.plan.attachment, stay.plan.command)) {
            Some((Attachment::Attached, FirstCommand::Run)) => (None, asked),
            Some((Attachment::Attached, FirstCommand::None) | (Attachment::Detached, _)) | None => {
                (asked, None)
            }
        }
    }
}

/// Containers that are to be made ahead.
pub struct Fill<'a> {
    /// What they are made from: with a pool, and whatever command.
    pub plan: &'a Plan,
    pub caller: Identity,
    /// The caller's state directory.
    pub state: &'a Path,
    /// The directory of this process's own user, see [`Launch::own`].
    pub own: &'a Path,
    /// The directory where running sandboxes of root lock their host user ids.
    pub locks: &'a Path,
    pub engines: &'a engine::surroundings::Surroundings,
    /// How often the pool had been drained when this was asked for: where it has been since, nothing is made. `None` makes them in any case.
    pub drains: Option<u64>,
    /// Notified of what should be known.
    pub notice: &'a mut dyn FnMut(Notice),
}

/// What has become of a pool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Filled {
    /// How many were made.
    pub made: usize,
    /// How many wait now that this plan can take.
    pub waiting: usize,
}

/// What became of a launch.
#[derive(Debug)]
pub enum Launched {
    /// The command has ended, and so has its sandbox.
    Ended(Box<Outcome>),
    /// The sandbox runs, and stays.
    Stays(Box<SandboxRecord>, Option<Lifeline>),
}

/// What a sandbox lives by that ends with whoever has made it: dropped, everything inside ends. So it does when this process ends, however that
/// does.
#[derive(Debug)]
pub struct Lifeline(#[expect(dead_code, reason = "PID 1 sees it close")] ControlSocket);

impl Lifeline {
    /// Keeps the connection to PID 1 where the sandbox ends with it.
    pub(super) fn of(stay: StayLaunch<'_>, control: ControlSocket) -> Option<Self> {
        (stay.plan.attachment == Attachment::Attached).then_some(Self(control))
    }
}

impl Launched {
    /// Makes it of how a command has ended.
    pub(crate) fn ended(outcome: Outcome) -> Self {
        Self::Ended(Box::new(outcome))
    }
}

/// Whose sandboxes have ended, and what leads to those that engines had.
pub struct EndedSandboxes<'a> {
    pub caller: Identity,
    /// The caller's state directory.
    pub state: &'a Path,
    /// The directory of this process's own user, see [`Launch::own`].
    pub own: &'a Path,
    /// What leads to container engines, which are queried where one has had such a sandbox.
    pub engines: &'a engine::surroundings::Surroundings,
}
