//! The part of a start that only a persistent sandbox has: what PID 1 is given so that it lives without its client.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use confine::protocol::{Attachment, ControlSocket, Event, KillSource, Request, Stay};
use confine::report::{Finding, Report, Status};
use policy::plan::{Layer, Plan};

use crate::host::clock::now;
use crate::host::identity::Identity;
use crate::provider::launch::{Lifeline, StayLaunch};
use crate::session::children::ChildrenProcess;
use crate::session::egress::EgressProxy;
use crate::session::error::StartError;
use crate::session::outcome::{End, Notice};
use crate::session::remedy;
use crate::session::sidecar::Until;
use crate::session::sockets::process::RelayProcess;
use crate::session::streams::Stdio;
use crate::state::journal::Recorded;
use crate::state::record::RunId;
use crate::state::sandboxes::create::NewSandbox;
use crate::state::sandboxes::{FirstCommand, SandboxError, SandboxRecord, SandboxVersion, StartedRecord};

/// Refuses what needs a process on the host for as long as the sandbox lives.
pub(super) fn refuse_unsupported(plan: &Plan) -> Result<(), StartError> {
    if plan.agent.pass_fd.is_empty() {
        return Ok(());
    }
    Err(StartError::refused(
        "--pass-fd for the first command of a persistent sandbox",
        "a pipe is relayed by the client, and nobody waits for that command",
        "`exec --pass-fd` when the sandbox runs",
    ))
}

/// Returns where the streams of the first command lead.
pub(super) fn stdio(stay: StayLaunch<'_>) -> Stdio {
    match stay.plan.command {
        FirstCommand::Run => Stdio::Logged,
        FirstCommand::None => Stdio::Null,
    }
}

/// Takes the name of the sandbox, and makes its files.
pub(super) fn begin<'a>(
    stay: StayLaunch<'a>,
    plan: &Plan,
    id: &RunId,
    caller: Identity,
    agent: Identity,
    image_env: Vec<String>,
) -> Result<NewSandbox<'a>, StartError> {
    let record = SandboxRecord {
        version: SandboxVersion::default(),
        id: id.clone(),
        name: plan.name.clone(),
        owner: caller.uid,
        created: now(),
        plan: plan.clone(),
        stay: stay.plan,
        image_env,
        agent: agent.into(),
        started: None,
        birth: None,
    };
    Ok(stay.sandboxes.create(record, stay.replaces, stay.most)?)
}

/// Returns how PID 1 is to live, as its init spec says. The number of what it holds is that of [`held`].
pub(super) fn spec(stay: StayLaunch<'_>, held: usize, kills: KillSource) -> Result<Stay, StartError> {
    let plan = stay.plan;
    let is_logged = plan.command == FirstCommand::Run && plan.attachment == Attachment::Detached;
    Ok(Stay {
        attachment: plan.attachment,
        idle_timeout: plan.idle_timeout,
        max_duration: plan.max_duration,
        kills,
        held: u8::try_from(held)
            .map_err(|error| StartError::step("passing on what is locked")(io::Error::other(error)))?,
        logs: is_logged.then_some(plan.log_bytes),
    })
}

/// Lists what PID 1 holds open, so that others see that it lives.
pub(super) fn held<'a>(
    stay: &StayLaunch<'a>,
    new: &'a NewSandbox<'_>,
    locks: impl IntoIterator<Item = Option<BorrowedFd<'a>>>,
) -> Vec<BorrowedFd<'a>> {
    let own = std::iter::once(new.alive.as_fd());
    own.chain(locks.into_iter().flatten()).chain(stay.held.iter().copied()).collect()
}

/// Lists the descriptors of [`Stay`], in its order.
pub(super) fn descriptors<'a>(
    new: &'a NewSandbox<'_>,
    kills: Option<BorrowedFd<'a>>,
    held: &[BorrowedFd<'a>],
    logged: &'a [OwnedFd],
) -> Vec<BorrowedFd<'a>> {
    let logs = logged.iter().zip(&new.logs).flat_map(|(pipe, file)| [pipe.as_fd(), file.as_fd()]);
    let listener = new.listener.iter().map(AsFd::as_fd);
    listener.chain([new.note.as_fd()]).chain(kills).chain(held.iter().copied()).chain(logs).collect()
}

/// A sandbox that is found by its name while its client waits for its command, and that is removed when that has ended.
pub(super) struct Attached<'a>(Option<NewSandbox<'a>>);

impl<'a> Attached<'a> {
    /// Takes its name, where it is to be found.
    pub(super) fn begin(
        stay: Option<StayLaunch<'a>>,
        plan: &Plan,
        id: &RunId,
        caller: Identity,
        agent: Identity,
        image_env: &[String],
    ) -> Result<Self, StartError> {
        let begin = |stay| begin(stay, plan, id, caller, agent, image_env.to_vec());
        stay.map(begin).transpose().map(Self)
    }

    /// Returns what PID 1 is told of it, and the descriptors for that, which come first.
    pub(super) fn spec<'d>(
        &'d mut self,
        stay: Option<StayLaunch<'d>>,
        kills: KillSource,
        counter: Option<BorrowedFd<'d>>,
    ) -> Result<(Option<Stay>, Vec<BorrowedFd<'d>>), StartError> {
        let Some((new, stay)) = self.0.as_mut().zip(stay) else { return Ok((None, Vec::new())) };
        new.begin_attached();
        let new = &*new;
        let held = held(&stay, new, []);
        let spec = spec(stay, held.len(), kills)?;
        Ok((Some(spec), descriptors(new, counter, &held, &[])))
    }

    /// Leaves its control socket to PID 1, which has been sent it.
    pub(super) fn sent(&mut self) {
        if let Some(new) = &mut self.0 {
            new.listener = None;
        }
    }

    /// Notes that it runs.
    pub(super) fn started(&mut self, started: StartedRecord, notice: &mut dyn FnMut(Notice)) {
        let noted = self.0.as_mut().map_or(Ok(()), |new| new.note_attached(started));
        if let Err(error) = noted {
            notice(Notice::Warning(format!("other commands do not find this sandbox: {error}")));
        }
    }

    /// Removes it.
    pub(super) fn remove(self, notice: &mut dyn FnMut(Notice)) {
        match self.0.map(NewSandbox::remove).transpose() {
            Ok(recorded) => {
                if let Some(warning) = recorded.as_ref().and_then(Recorded::warning) {
                    notice(Notice::Warning(warning));
                }
            }
            // Somebody else has removed it, or will.
            Err(SandboxError::NotFound(_)) => {}
            Err(error) => {
                notice(Notice::Warning(format!("the files of this sandbox were not removed: {error}")));
            }
        }
    }
}

/// The processes that serve the sockets of a persistent sandbox. They end with this, unless they are left.
#[derive(Default)]
pub(super) struct Sidecars<'a> {
    relay: Option<RelayProcess<'a>>,
    children: Option<ChildrenProcess<'a>>,
}

impl<'a> Sidecars<'a> {
    pub(super) fn new(relay: Option<RelayProcess<'a>>, children: Option<ChildrenProcess<'a>>) -> Self {
        Self { relay, children }
    }

    /// Returns what PID 1 is to hold, so that they see its end.
    pub(super) fn lifelines(&self) -> [Option<BorrowedFd<'_>>; 2] {
        let relay = self.relay.as_ref().and_then(RelayProcess::lifeline);
        [relay, self.children.as_ref().and_then(ChildrenProcess::lifeline)]
    }

    /// Starts them with what listens inside, in the order in which PID 1 was told to listen.
    fn start(&mut self, mut listeners: Vec<OwnedFd>) -> Result<(), StartError> {
        if let Some(children) = &mut self.children {
            let listener = listeners.pop().ok_or(io::ErrorKind::InvalidData);
            let listener =
                listener.map_err(|kind| StartError::step("reading events from PID 1")(kind.into()))?;
            children.start(listener, Until::Init)?;
        }
        match &mut self.relay {
            Some(relay) => relay.start(&listeners),
            None if listeners.is_empty() => Ok(()),
            None => {
                let unasked = io::Error::other("sockets nobody asked for");
                Err(StartError::step("reading events from PID 1")(unasked))
            }
        }
    }

    /// Leaves them to the sandbox: they end with PID 1.
    pub(super) fn leave(self) {
        self.relay.into_iter().for_each(RelayProcess::leave);
        self.children.into_iter().for_each(ChildrenProcess::leave);
    }
}

/// What PID 1 has become.
pub(super) enum Began {
    /// It waits for its client to leave it.
    Ready,
    /// There is no such command, or it cannot be executed.
    Ended(End),
}

/// Waits until PID 1 is ready to stay, and returns what it has reported until then.
pub(super) fn wait(
    control: &mut ControlSocket,
    plan: &Plan,
    egress: Option<&mut EgressProxy>,
    sidecars: &mut Sidecars<'_>,
) -> Result<(Began, Report), StartError> {
    let waited = wait_for_init(control, plan, sidecars);
    match egress.and_then(EgressProxy::failure) {
        // Whatever PID 1 says has come of that.
        Some(reason) => Err(StartError::step("starting the egress proxy")(io::Error::other(reason))),
        None => waited,
    }
}

fn wait_for_init(
    control: &mut ControlSocket,
    plan: &Plan,
    sidecars: &mut Sidecars<'_>,
) -> Result<(Began, Report), StartError> {
    let failed = StartError::step("reading events from PID 1");
    let mut report = Report::default();
    loop {
        match control.receive::<Event>().map_err(failed)? {
            Some(Event::Started { report: seen, .. }) => report = seen,
            Some(Event::Ready) => return Ok((Began::Ready, report)),
            Some(Event::Sockets) => sidecars.start(control.take_descriptors())?,
            Some(Event::Failed(failure)) => return Err(remedy::failure(plan.provider, failure)),
            Some(Event::Unexecutable { command, errno }) => {
                return Ok((Began::Ended(End::unexecutable(command, errno)), report));
            }
            Some(_) => {}
            None => return Err(failed(io::Error::other("PID 1 ended before it started anything"))),
        }
    }
}

/// Notes that it runs.
pub(super) fn started(
    new: NewSandbox<'_>,
    started: StartedRecord,
    notice: &mut dyn FnMut(Notice),
) -> Result<SandboxRecord, StartError> {
    let (record, recorded) = new.started(started)?;
    if let Some(warning) = recorded.warning() {
        notice(Notice::Warning(warning));
    }
    Ok(record)
}

/// Leaves PID 1, which ends with this thread until it has said that it does no more; returns what it ends with from then on, if anything.
pub(super) fn leave(
    mut control: ControlSocket,
    stay: StayLaunch<'_>,
) -> Result<Option<Lifeline>, StartError> {
    let failed = StartError::step("leaving the sandbox");
    control.send(&Request::Leave, &[]).map_err(failed)?;
    match control.receive::<Event>().map_err(failed)? {
        Some(Event::Stays) => Ok(Lifeline::of(stay, control)),
        Some(_) => Err(failed(io::ErrorKind::InvalidData.into())),
        None => Err(failed(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Completes the report with what a sandbox lacks that nobody on the host watches.
pub(super) fn complete(plan: &Plan, report: &mut Report) {
    if plan.boundaries.is_empty() {
        return;
    }
    let reason = "nobody watches what programs of the host replace while a persistent sandbox lives: that, and what the agent makes, is \
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
