//! The local provider: no isolation. The agent runs on the host as the caller, and every report says so.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use confine::report::{Finding, Report, Status};
use policy::plan::Plan;
use policy::text::escape;

use crate::host::capture::Capture;
use crate::host::child::{Group, Running, Stop};
use crate::host::deadline::Deadline;
use crate::provider::launch::Launch;
use crate::session::attendance::refuse_deserted;
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{End, Notice, Outcome, Output};
use crate::session::streams;

/// Runs a plan without any isolation.
pub(super) fn run(launch: Launch<'_>) -> Result<Outcome, StartError> {
    let Launch { plan, secrets, streams, parent, notice, .. } = launch;
    let report = report(plan);
    notice(Notice::Warning("provider local: no isolation, the command runs on this host as you".into()));
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
        duration: began.elapsed(),
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
