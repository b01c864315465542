//! The local provider: no isolation. The agent runs on the host as the caller, and every report says so.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use confine::protocol::{CommandSpec, ControlSocket, HOST_ARGUMENT, HostSpec, KillSource, ProcessLimits};
use confine::report::{Finding, Report, Status};
use policy::plan::Plan;
use policy::text::escape;

use crate::host::capture::Capture;
use crate::host::child::{Group, Running, Stop};
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::host::init_program;
use crate::host::programs::DIRECTORY;
use crate::provider::launch::{Launch, Launched, StayLaunch};
use crate::provider::staying::{self, Began, Sidecars};
use crate::session::attendance::refuse_deserted;
use crate::session::environment::{environment, umask};
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{End, Notice, Outcome, Output};
use crate::session::streams::{self, Owner, Streams};
use crate::state::record::RunId;
use crate::state::sandboxes::{FirstCommand, StartedRecord};

/// What is said whenever something runs.
pub const NO_ISOLATION: &str = "provider local: no isolation, the command runs on this host as you";

/// Makes a persistent sandbox: a supervisor of this user's, which ends what it has started and nothing else.
pub(super) fn stay(launch: Launch<'_>, stay: StayLaunch<'_>) -> Result<Launched, StartError> {
    let Launch { plan, secrets, caller, parent, notice, .. } = launch;
    staying::refuse_unsupported(plan)?;
    let report = report(plan);
    notice(Notice::Warning(NO_ISOLATION.into()));
    let own = Identity::own();
    let owner = Owner { uid: own.uid, gid: own.gid };
    let mut streams = Streams::open(staying::stdio(stay), plan.limits.output_bytes, owner, caller)?;
    // Its name, before anything is done for it that has an effect or takes long.
    let id = RunId::generate().map_err(StartError::recorded)?;
    let new = staying::begin(stay, plan, &id, caller, own, Vec::new())?;
    let secrets = HeldSecrets::read(plan, secrets)?;
    let command = CommandSpec {
        argv: plan.agent.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        env: environment(plan, &secrets),
        workdir: plan.agent.workdir.clone(),
        umask: umask().map_err(StartError::step("reading the umask of this process"))?,
        process_limits: ProcessLimits::of(&plan.limits),
        terminal: None,
        passed: Vec::new(),
    };
    let command = (stay.plan.command == FirstCommand::Run).then_some(command);
    refuse_deserted(parent)?;

    let (mut control, supervisor) = supervisor().map_err(StartError::step("starting the supervisor"))?;
    let held = staying::held(&stay, &new, []);
    let spec = HostSpec { stay: staying::spec(stay, held.len(), KillSource::Uncounted)?, command };
    let descriptors =
        staying::descriptors(&new, None, &held, &streams.logged).into_iter().chain(streams.inside());
    let sent = control.send(&spec, &descriptors.collect::<Vec<_>>());
    sent.map_err(StartError::step("sending the request to the supervisor"))?;
    drop((held, spec, secrets));
    streams.close_inside();
    let (began, _) = staying::wait(&mut control, plan, None, &mut Sidecars::default())?;
    match began {
        Began::Ended(end) => Ok(Launched::ended(Outcome { report, ..Outcome::of(end, Duration::ZERO) })),
        Began::Ready => {
            notice(Notice::Started(report.clone()));
            let pid = i32::try_from(supervisor.child.id()).ok();
            let record = staying::started(
                new,
                StartedRecord { pid, report, pool: None, covered: Vec::new() },
                notice,
            )?;
            let lifeline = staying::leave(control, stay)?;
            supervisor.leave();
            Ok(Launched::Stays(Box::new(record), lifeline))
        }
    }
}

/// Starts the supervisor, with nothing of this process's.
fn supervisor() -> io::Result<(ControlSocket, Running)> {
    let (ours, theirs) = ControlSocket::pair()?;
    let program = init_program::in_memory()?;
    let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
    command.arg(HOST_ARGUMENT).env_clear().current_dir(DIRECTORY);
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
    // What the caller has left open beside the standard streams is not its own.
    confine::close_from_on_exec(3)?;
    // It makes a session of its own, which who leads a process group could not.
    Ok((ours, Running::spawn(&mut command, Group::Ours)?))
}

/// Runs a plan without any isolation.
pub(super) fn run(launch: Launch<'_>) -> Result<Outcome, StartError> {
    let Launch { plan, secrets, streams, parent, notice, .. } = launch;
    let report = report(plan);
    notice(Notice::Warning(NO_ISOLATION.into()));
    notice(Notice::Started(report.clone()));

    let Some((name, arguments)) = plan.agent.argv.split_first() else {
        return Err(StartError::step("starting the command")(io::ErrorKind::InvalidInput.into()));
    };
    let secrets = HeldSecrets::read(plan, secrets)?;
    let mut command = Command::new(name);
    command.args(arguments).current_dir(&plan.agent.workdir).env_clear();
    command.envs(plan.env.iter().map(|variable| (&variable.name, &variable.value)));
    command.envs(secrets.iter().map(|(name, value)| (name, std::ffi::OsStr::from_bytes(value.as_bytes()))));

    let mut captures = match streams {
        streams::Stdio::Inherit => Vec::new(),
        streams::Stdio::Logged | streams::Stdio::Null => {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            Vec::new()
        }
        streams::Stdio::Capture => {
            let open = || {
                Capture::open(plan.limits.output_bytes)
                    .map_err(StartError::step("opening the standard streams"))
            };
            let ((stdout, out), (stderr, err)) = (open()?, open()?);
            command.stdin(Stdio::null()).stdout(out).stderr(err);
            vec![stdout, stderr]
        }
    };
    // With a terminal the command stays in our process group, where Ctrl-C reaches it. Without, it gets one of
    // its own, so that its children can be ended with it.
    let is_apart = !captures.is_empty() || !rustix::termios::isatty(rustix::stdio::stdin());
    let group = if is_apart { Group::Own } else { Group::Ours };

    refuse_deserted(parent)?;
    let began = Instant::now();
    let outcome = |end, output| Outcome {
        end,
        report,
        init: None,
        output,
        detected: Vec::new(),
        egress: None,
        usage: None,
        oom_killed: None,
        duration: began.elapsed(),
        pool: None,
    };
    let command_name = name.to_string_lossy().into_owned();
    let mut running = match Running::spawn(&mut command, group) {
        Ok(running) => running,
        // The directory is entered in the new process, and whatever that one lacks is reported alike.
        Err(source) if !plan.agent.workdir.is_dir() => {
            let step = format!("changing to the working directory {}", escape::path(&plan.agent.workdir));
            return Err(StartError::Step { step, source, remedy: None });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(outcome(End::NotFound(command_name), None));
        }
        Err(error) => return Ok(outcome(End::NotExecutable(command_name, error.to_string()), None)),
    };
    // Our copies of the pipes' ends go with the command, or the end of its output would never come.
    drop(command);
    drop(secrets);

    let until = plan.limits.timeout.map_or(Deadline::NEVER, Deadline::after);
    let finished = running.finish(until, parent.map(AsFd::as_fd), &mut captures);
    let end = match (finished.map_err(StartError::step("watching the command"))?, plan.limits.timeout) {
        ((Stop::TimedOut, _), Some(timeout)) => End::TimedOut(timeout),
        ((_, status), _) => ended(status),
    };
    let mut streams = captures.into_iter().map(Capture::finish);
    let output = streams.next().zip(streams.next()).map(|(stdout, stderr)| Output { stdout, stderr });
    Ok(outcome(end, output))
}

/// Converts the status of a process.
fn ended(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => End::Signaled(signal.unwrap_or(0)),
    }
}

/// Reports that nothing is enforced.
fn report(plan: &Plan) -> Report {
    let mut report = Report::default();
    for layer in plan.layers.keys() {
        let reason = "provider local isolates nothing".to_owned();
        report.add(Finding { layer: *layer, status: Status::Not, reason });
    }
    report
}
