//! The part of a start that only a sandbox has which stays: what PID 1 is given so that it lives without its client.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use confine::protocol::{ControlSocket, Event, Request, Stay};
use confine::report::{Finding, Report, Status};
use policy::plan::{Layer, Network, Plan};

use super::early::send;
use crate::host::identity::Identity;
use crate::provider::launch::StayLaunch;
use crate::session::agent::Agent;
use crate::session::error::StartError;
use crate::session::outcome::End;
use crate::session::remedy;
use crate::state::record::RunId;
use crate::state::sandboxes::{FirstCommand, NewSandbox, SandboxRecord, SandboxVersion, now};

/// Refuses what needs a process on the host for as long as the sandbox lives.
pub(super) fn refuse_unsupported(plan: &Plan) -> Result<(), StartError> {
    let refused = |asked: &str, remedy: &str| {
        let reason =
            "a sandbox that stays has no process on the host that would serve it, and none is built yet";
        Err(StartError::refused(asked, reason, remedy))
    };
    if matches!(plan.network, Network::Allowlist { .. }) {
        return refused("network = \"allowlist\" in a sandbox that stays", "network = \"none\", or `run`");
    }
    if !plan.sockets.is_empty() {
        return refused("sockets of the host in a sandbox that stays", "`run`, or none of them");
    }
    if !plan.agent.pass_fd.is_empty() {
        return refused("--pass-fd in a sandbox that stays", "`run`, or none of them");
    }
    Ok(())
}

/// Takes the name of the sandbox, and makes its files.
pub(super) fn begin<'a>(
    stay: StayLaunch<'a>,
    plan: &Plan,
    id: &RunId,
    caller: Identity,
    agent: &Agent,
) -> Result<NewSandbox<'a>, StartError> {
    let record = SandboxRecord {
        version: SandboxVersion::default(),
        id: id.clone(),
        name: plan.name.clone(),
        owner: caller.uid,
        created: now(),
        plan: plan.clone(),
        stay: stay.plan,
        agent: Identity { uid: agent.uid, gid: agent.gid },
        started: None,
    };
    Ok(stay.sandboxes.create(record)?)
}

/// Returns how PID 1 is to live, as it is told. The number of what it holds is that of [`held`].
pub(super) fn spec(stay: StayLaunch<'_>, held: usize) -> Result<Stay, StartError> {
    let plan = stay.plan;
    Ok(Stay {
        idle_timeout: plan.idle_timeout,
        max_duration: plan.max_duration,
        held: u8::try_from(held)
            .map_err(|error| StartError::step("passing on what is locked")(io::Error::other(error)))?,
        logs: match plan.command {
            FirstCommand::Run => Some(plan.log_bytes),
            FirstCommand::None => None,
        },
    })
}

/// Lists what PID 1 holds open, so that others see that it lives.
pub(super) fn held<'a>(
    stay: &StayLaunch<'a>,
    new: &'a NewSandbox<'_>,
    locks: [Option<BorrowedFd<'a>>; 2],
) -> Vec<BorrowedFd<'a>> {
    let own = std::iter::once(new.alive.as_fd());
    own.chain(locks.into_iter().flatten()).chain(stay.held.iter().copied()).collect()
}

/// Lists the descriptors of [`Stay`], in its order.
pub(super) fn descriptors<'a>(
    new: &'a NewSandbox<'_>,
    held: &[BorrowedFd<'a>],
    logged: &'a [OwnedFd],
) -> Vec<BorrowedFd<'a>> {
    let logs = logged.iter().zip(&new.logs).flat_map(|(pipe, file)| [pipe.as_fd(), file.as_fd()]);
    [new.listener.as_fd(), new.note.as_fd()].into_iter().chain(held.iter().copied()).chain(logs).collect()
}

/// What PID 1 has become.
pub(super) enum Began {
    /// It waits for its client to leave it.
    Ready,
    /// There is no such command, or it cannot be executed.
    Ended(End),
}

/// Waits until PID 1 is ready to stay, and returns what it has reported until then.
pub(super) fn wait(control: &mut ControlSocket, plan: &Plan) -> Result<(Began, Report), StartError> {
    let failed = StartError::step("reading events from PID 1");
    let mut report = Report::default();
    loop {
        match control.receive::<Event>().map_err(failed)? {
            Some(Event::Started { report: seen, .. }) => report = seen,
            Some(Event::Ready) => return Ok((Began::Ready, report)),
            Some(Event::Failed(failure)) => return Err(remedy::failure(plan.provider, failure)),
            Some(Event::Unexecutable { command, errno }) => {
                return Ok((Began::Ended(End::unexecutable(command, errno)), report));
            }
            Some(_) => {}
            None => return Err(failed(io::Error::other("PID 1 ended before it started anything"))),
        }
    }
}

/// Leaves PID 1, which ends with this process until it has said that it does no more.
pub(super) fn leave(control: &mut ControlSocket) -> Result<(), StartError> {
    let failed = StartError::step("leaving the sandbox");
    send(control, &Request::Leave, &[])?;
    match control.receive::<Event>().map_err(failed)? {
        Some(Event::Stays) => Ok(()),
        Some(_) => Err(failed(io::ErrorKind::InvalidData.into())),
        None => Err(failed(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Completes the report with what a sandbox lacks that nobody on the host watches.
pub(super) fn complete(plan: &Plan, report: &mut Report) {
    if plan.boundaries.is_empty() {
        return;
    }
    let reason = "nobody watches what programs of the host replace while the sandbox stays: that, and what the agent makes, is \
                  looked through by the next command after its end";
    match report.0.iter_mut().find(|line| line.layer == Layer::Protect) {
        Some(line) => {
            line.status = if line.status == Status::Enforced { Status::Partly } else { line.status };
            line.reason = format!("{}; {reason}", line.reason);
        }
        None => {
            report.add(Finding { layer: Layer::Protect, status: Status::Partly, reason: reason.to_owned() });
        }
    }
}
