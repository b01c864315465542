//! A command in a persistent sandbox: PID 1 forks a supervisor for it, which gets all that it is to do over one connection, the
//! streams included. No process of ours is started for it, and no engine is called.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use confine::protocol::{
    Attachment, CommandSpec, ControlSocket, EnvEntry, Event, ExecRequest, ProcessLimits, Purpose, Terminal,
};
use confine::report::Report;
use nix::sys::signal::Signal;
use policy::plan::{Plan, Provider};

use crate::host::identity::Identity;
use crate::host::terminal::Signals;
use crate::secrets::{SecretReader, SecretValue};
use crate::session::attendance::{Attendance, Parent, refuse_deserted};
use crate::session::environment::{add_of_proxy, environment, environment_in_image, umask};
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{End, Notice, Outcome, oom_killed};
use crate::session::passed::PassedDescriptor;
use crate::session::remedy;
use crate::session::staying::recording::ExecRecording;
use crate::session::streams::{Owner, Stdio, Streams};
use crate::session::supervise::{Gone, Watch, supervise};
use crate::state::journal::Recorded;
use crate::state::sandboxes::{SandboxError, StayingSandbox};

/// A command in a persistent sandbox, as the caller asks for it.
pub struct StayingExec<'a> {
    pub sandbox: &'a StayingSandbox,
    /// What the sandbox was made from, with the command that is to run now.
    pub plan: &'a Plan,
    /// Who calls: under sudo the user behind it.
    pub caller: Identity,
    /// What every command of the sandbox has in its environment because of its egress proxy.
    pub variables: Vec<EnvEntry>,
    /// Reads the values of the plan's secrets. Called once at most.
    pub secrets: &'a mut SecretReader<'a>,
    pub streams: Stdio,
    /// What the caller has left open for the command: the numbers of the plan.
    pub passed: Vec<PassedDescriptor>,
    pub attachment: Attachment,
    /// Notified of what happens while the command runs.
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
    let StayingExec {
        sandbox,
        plan,
        caller,
        variables,
        secrets,
        streams,
        passed,
        attachment,
        notice,
        parent,
    } = exec;
    for warning in sandbox.require_hiding("run a command")? {
        notice(Notice::Warning(warning));
    }
    let secrets = HeldSecrets::read(plan, secrets)?;
    // PID 1 forks the supervisor meanwhile. Not before the secrets: whoever is asked for one takes their time.
    let control = connect(sandbox)?;

    // 1. Where its streams lead.
    let agent = sandbox.agent();
    let owner = Owner { uid: agent.uid, gid: agent.gid };
    let mut streams = Streams::open(streams, plan.limits.output_bytes, owner, caller)?;
    streams.pass(plan, passed, owner)?;
    let terminal = streams.open_terminal(owner)?;
    let terminal_of_agent = terminal.as_ref().map(|terminal| Terminal::Stream(terminal.first));
    let command = command(sandbox, plan, &secrets, variables, terminal_of_agent)?;
    let command = CommandSpec { passed: streams.passed_as(), ..command };
    let timeout = plan.limits.timeout;

    // 2. From here on Ctrl-C is for the command.
    let signals = Signals::block().map_err(StartError::step("blocking signals"))?;
    let relay = streams.relay(terminal.as_ref())?;
    refuse_deserted(parent)?;

    // 3. The supervisor gets what it needs, secrets included, and nobody else has seen it.
    let began = Instant::now();
    let request = ExecRequest { command, timeout, attachment };
    let descriptors: Vec<_> = streams.passed().chain(streams.inside()).collect();
    let mut control = send(control, &request, &descriptors)?;
    drop(descriptors);
    drop((request, secrets));
    streams.close_inside();
    let (recording, recorded) = ExecRecording::begin(sandbox)?;
    warn(&recorded, notice);

    // 4. It runs until it ends, its time is over, or a signal asks to end it.
    let outcome = match attachment {
        Attachment::Detached => started(&mut control, plan)
            .map(|unexecutable| unexecutable.map(|end| Outcome::of(end, began.elapsed()))),
        Attachment::Attached => supervise(
            Watch {
                provider: plan.provider,
                control,
                end: &|| {},
                streams,
                relay,
                gone: Gone::Exec,
                // The supervisor enforces it, next to the command.
                timeout: None,
                timeout_inside: timeout,
                sockets: None,
                children: None,
                egress: None,
                attendance: Attendance::new(parent),
                complete: &|_| {},
                boundaries: None,
                notice: &mut *notice,
            },
            &signals,
        )
        .map(|ended| {
            ended.warn_of_shortages(plan, notice);
            let unknown = Report::default();
            let report = sandbox.record.started.as_ref().map_or(&unknown, |started| &started.report);
            let oom_killed = oom_killed(&ended.shortages, report);
            let outcome = Outcome::of(ended.end, began.elapsed());
            Some(Outcome { output: ended.output, usage: ended.usage, oom_killed, ..outcome })
        }),
    };
    drop(terminal);
    match &outcome {
        Ok(None) => recording.leave(),
        Ok(Some(outcome)) => warn(&recording.end(outcome.end.exit_code()), notice),
        Err(_) => warn(&recording.end(None), notice),
    }
    outcome
}

/// Warns where the journal of events does not say what has become of the command.
fn warn(recorded: &Recorded, notice: &mut dyn FnMut(Notice)) {
    if let Some(warning) = recorded.warning() {
        notice(Notice::Warning(warning));
    }
}

/// Returns what the supervisor is to run, with nothing passed but the three streams.
pub(super) fn command(
    sandbox: &StayingSandbox,
    plan: &Plan,
    secrets: &[(String, SecretValue)],
    variables: Vec<EnvEntry>,
    terminal: Option<Terminal>,
) -> Result<CommandSpec, StartError> {
    Ok(CommandSpec {
        argv: plan.agent.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        env: env(sandbox, plan, secrets, variables)?,
        workdir: plan.agent.workdir.clone(),
        umask: umask().map_err(StartError::step("reading the umask of this process"))?,
        process_limits: ProcessLimits::of(&plan.limits),
        terminal,
        passed: Vec::new(),
    })
}

/// Connects to PID 1, which forks a supervisor for the connection. That waits ten seconds for the request.
pub(super) fn connect(sandbox: &StayingSandbox) -> Result<ControlSocket, SandboxError> {
    Ok(ControlSocket::from(OwnedFd::from(sandbox.open(Purpose::Exec, None)?)))
}

/// Sends a supervisor its request, with what the command is passed and then its three streams.
pub(super) fn send(
    mut control: ControlSocket,
    request: &ExecRequest,
    descriptors: &[BorrowedFd<'_>],
) -> Result<ControlSocket, StartError> {
    match control.send(request, descriptors) {
        // It has gone already, and says why, if anything does.
        Err(error) if is_closed(&error) => Ok(control),
        sent => sent.map(|()| control).map_err(StartError::step("sending the exec request")),
    }
}

/// Returns whether the other end of a connection was closed, with or without anything unread.
pub(super) fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Returns the environment of a command.
fn env(
    sandbox: &StayingSandbox,
    plan: &Plan,
    secrets: &[(String, SecretValue)],
    of_proxy: Vec<EnvEntry>,
) -> Result<Vec<EnvEntry>, StartError> {
    let mut env = match plan.provider {
        Provider::Native | Provider::Local => environment(plan, secrets),
        Provider::Docker | Provider::Podman => environment_in_image(plan, &sandbox.record.image_env, secrets),
    };
    add_of_proxy(&mut env, plan, secrets, of_proxy)?;
    Ok(env)
}

/// Waits until a command has begun; returns how it has ended where it could not be executed, or was killed before.
pub(super) fn started(control: &mut ControlSocket, plan: &Plan) -> Result<Option<End>, StartError> {
    let failed = StartError::step("reading events from PID 1");
    let mut is_accepted = false;
    loop {
        return match control.receive::<Event>().map_err(failed)? {
            Some(Event::Ready) => {
                is_accepted = true;
                continue;
            }
            Some(Event::Started { .. }) => Ok(None),
            Some(Event::Failed(failure)) => Err(remedy::failure(plan.provider, failure)),
            Some(Event::Unexecutable { command, errno }) => Ok(Some(End::unexecutable(command, errno))),
            Some(_) => Err(failed(io::ErrorKind::InvalidData.into())),
            None if is_accepted => Ok(Some(End::Signaled(Signal::SIGKILL as i32))),
            None => Err(failed(io::Error::other("the sandbox has ended"))),
        };
    }
}
