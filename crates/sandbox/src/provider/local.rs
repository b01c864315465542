//! The local provider: no isolation. The agent runs on the host as the caller, and every report says so.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use confine::report::{Finding, Report, Status};
use policy::plan::Plan;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::{End, Launch, Notice, Outcome, Output, StartError, Streams};
use crate::capture::{Capture, Progress};

/// Runs a plan without any isolation.
pub(super) fn run(launch: Launch<'_>) -> Result<Outcome, StartError> {
    let Launch { plan, secrets, streams, notice, .. } = launch;
    let report = report(plan);
    notice(Notice::Warning("provider local: no isolation, the command runs on this host as you".into()));
    notice(Notice::Started(report.clone()));

    let Some((name, arguments)) = plan.agent.argv.split_first() else {
        return Err(step("starting the command")(io::ErrorKind::InvalidInput.into()));
    };
    let mut command = Command::new(name);
    command.args(arguments).current_dir(&plan.agent.workdir).env_clear();
    command.envs(plan.env.iter().map(|variable| (&variable.name, &variable.value)));
    command.envs(secrets.iter().map(|(name, value)| (name, std::ffi::OsStr::from_bytes(value.as_bytes()))));

    let captures = match streams {
        Streams::Inherit => None,
        Streams::Capture => {
            let open =
                || Capture::open(plan.limits.output_bytes).map_err(step("opening the standard streams"));
            let ((stdout, out), (stderr, err)) = (open()?, open()?);
            command.stdin(Stdio::null()).stdout(out).stderr(err);
            Some([stdout, stderr])
        }
    };
    // With a terminal the command stays in our process group, where Ctrl-C reaches it. Without, it gets one of
    // its own, so that its children can be ended with it.
    let own_group = captures.is_some() || !rustix::termios::isatty(rustix::stdio::stdin());
    if own_group {
        command.process_group(0);
    }

    let began = Instant::now();
    let outcome =
        |end, output| Outcome { end, report, output, detected: Vec::new(), duration: began.elapsed() };
    let command_name = name.to_string_lossy().into_owned();
    let mut child = match command.spawn() {
        Ok(child) => child,
        // The directory is entered in the new process, and whatever that one lacks is reported alike.
        Err(source) if !plan.agent.workdir.is_dir() => {
            let step = format!("changing to the working directory {}", plan.agent.workdir.display());
            return Err(StartError::Step { step, source, remedy: None });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(outcome(End::NotFound(command_name), None));
        }
        Err(error) => return Ok(outcome(End::NotExecutable(command_name, error.to_string()), None)),
    };
    // Our copies of the pipes' ends go with the command, or the end of its output would never come.
    drop(command);

    let watched = watch(child.id(), own_group, captures, plan.limits.timeout);
    let status = child.wait().map_err(step("waiting for the command"))?;
    let (timed_out, output) = watched.map_err(step("watching the command"))?;
    let end = match timed_out {
        Some(timeout) => End::TimedOut(timeout),
        None => ended(status),
    };
    Ok(outcome(end, output))
}

/// Waits for the end of the command or of its time, and reads what it writes.
pub(super) fn watch(
    pid: u32,
    own_group: bool,
    mut captures: Option<[Capture; 2]>,
    timeout: Option<Duration>,
) -> io::Result<(Option<Duration>, Option<Output>)> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut timed_out = None;
    loop {
        let gone = wait(&pidfd, captures.as_ref(), deadline.filter(|_| timed_out.is_none()))?;
        if let Some(captures) = &mut captures {
            for capture in captures {
                let _: Progress = capture.on_ready()?;
            }
        }
        if gone {
            let output =
                captures.map(|[stdout, stderr]| Output { stdout: stdout.finish(), stderr: stderr.finish() });
            return Ok((timed_out, output));
        }
        if timed_out.is_none() && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            timed_out = timeout;
            // It may have ended by itself this very moment.
            let _ = if own_group {
                kill_process_group(pid, Signal::KILL)
            } else {
                kill_process(pid, Signal::KILL)
            };
        }
    }
}

/// Waits for something to happen; whether the command is gone.
fn wait(pidfd: &OwnedFd, captures: Option<&[Capture; 2]>, deadline: Option<Instant>) -> io::Result<bool> {
    let mut fds = vec![PollFd::new(pidfd, PollFlags::IN)];
    fds.extend(captures.into_iter().flatten().map(|capture| PollFd::new(capture, PollFlags::IN)));
    let timeout = deadline.map(|deadline| {
        let left = deadline.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
        Err(errno) => Err(errno.into()),
    }
}

pub(super) fn ended(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => End::Signaled(signal.unwrap_or(0)),
    }
}

/// Nothing is enforced.
fn report(plan: &Plan) -> Report {
    let mut report = Report::default();
    for layer in plan.layers.keys() {
        let reason = "provider local isolates nothing".to_owned();
        report.add(Finding { layer: *layer, status: Status::Not, reason });
    }
    report
}

fn step(name: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::Step { step: name.into(), source, remedy: None }
}
