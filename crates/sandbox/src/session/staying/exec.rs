//! A command in a sandbox that stays: PID 1 forks a supervisor for it, which gets all that it is to do over one connection, the
//! streams included. No process of ours is started for it, and no engine is asked.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use confine::protocol::{
    CommandSpec, ControlSocket, Event, ExecClient, ExecRequest, ProcessLimits, Purpose, Terminal,
};
use nix::sys::signal::Signal;
use policy::plan::Plan;

use crate::host::identity::Identity;
use crate::host::terminal::Signals;
use crate::secrets::SecretReader;
use crate::session::attendance::{Attendance, Parent, refuse_deserted};
use crate::session::environment::{environment, umask};
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{End, Notice, Outcome};
use crate::session::remedy;
use crate::session::streams::{Owner, Stdio, Streams};
use crate::session::supervise::{Gone, Watch, supervise};
use crate::state::sandboxes::{Phase, StayingSandbox};

/// A command in a sandbox that stays, as the caller asks for it.
pub struct StayingExec<'a> {
    pub sandbox: &'a StayingSandbox,
    /// What the sandbox was made from, with the command that is to run now.
    pub plan: &'a Plan,
    /// Who calls: under sudo the user behind it.
    pub caller: Identity,
    /// Reads the values of the plan's secrets. Called once at most.
    pub secrets: &'a mut SecretReader<'a>,
    /// Where the standard streams lead.
    pub streams: Stdio,
    /// What becomes of the command without this process.
    pub client: ExecClient,
    /// Told what happens while the command runs.
    pub notice: &'a mut dyn FnMut(Notice),
    /// The process that the command is to end with.
    pub parent: Option<&'a Parent>,
}

/// Runs a command to its end; `None` where it goes on without this process.
///
/// # Errors
///
/// The sandbox is not running, PID 1 does not answer, or the command could not be started.
pub fn exec(exec: StayingExec<'_>) -> Result<Option<Outcome>, StartError> {
    let StayingExec { sandbox, plan, caller, secrets, streams, client, notice, parent } = exec;
    sandbox.require(Phase::can_exec, "run a command")?;
    let secrets = HeldSecrets::read(plan, secrets)?;

    // 1. Where its streams lead.
    let agent = sandbox.record.agent;
    let owner = Owner { uid: agent.uid, gid: agent.gid };
    let mut streams = Streams::open(streams, plan.limits.output_bytes, owner, caller)?;
    let terminal = streams.open_terminal(owner)?;
    let command = CommandSpec {
        argv: plan.agent.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        env: environment(plan, &secrets),
        workdir: plan.agent.workdir.clone(),
        umask: umask().map_err(StartError::step("reading the umask of this process"))?,
        process_limits: ProcessLimits::of(&plan.limits),
        terminal: terminal.as_ref().map(|terminal| Terminal::Stream(terminal.first)),
        passed: Vec::new(),
    };
    let timeout = plan.limits.timeout;

    // 2. From here on Ctrl-C is for the command.
    let signals = Signals::block().map_err(StartError::step("blocking signals"))?;
    let relay = streams.relay(terminal.as_ref())?;
    refuse_deserted(parent)?;

    // 3. The supervisor gets what it needs, secrets included, and nobody else has seen it.
    let began = Instant::now();
    let mut control = ControlSocket::from(OwnedFd::from(sandbox.open(Purpose::Exec, None)?));
    let request = ExecRequest { command, timeout, client };
    match control.send(&request, &streams.inside()) {
        // It has gone already, and says why, if anything does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        sent => sent.map_err(StartError::step("sending the exec request"))?,
    }
    drop((request, secrets));
    streams.close_inside();
    if client == ExecClient::Detached {
        return started(&mut control, plan, began);
    }

    // 4. It runs until it ends, its time is over, or we are told to end it.
    let gone = || Ok(End::Signaled(Signal::SIGKILL as i32));
    let ended = supervise(
        Watch {
            provider: plan.provider,
            control,
            end: &|| {},
            streams,
            relay,
            gone: Gone::Exec(&gone),
            // The supervisor enforces it, next to the command.
            timeout: None,
            timeout_inside: timeout,
            sockets: None,
            egress: None,
            attendance: Attendance::new(parent),
            complete: &|_| {},
            boundaries: None,
            notice,
        },
        &signals,
    )?;
    drop(terminal);
    Ok(Some(Outcome { output: ended.output, usage: ended.usage, ..Outcome::of(ended.end, began.elapsed()) }))
}

/// Waits until a command that goes on without this process has begun.
fn started(control: &mut ControlSocket, plan: &Plan, began: Instant) -> Result<Option<Outcome>, StartError> {
    let failed = StartError::step("reading events from PID 1");
    match control.receive::<Event>().map_err(failed)? {
        Some(Event::Started { .. }) => Ok(None),
        Some(Event::Failed(failure)) => Err(remedy::failure(plan.provider, failure)),
        Some(Event::Unexecutable { command, errno }) => {
            Ok(Some(Outcome::of(End::unexecutable(command, errno), began.elapsed())))
        }
        Some(_) => Err(failed(io::ErrorKind::InvalidData.into())),
        None => Err(failed(io::Error::other("the sandbox has ended"))),
    }
}
