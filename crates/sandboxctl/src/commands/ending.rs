//! How a command has ended, for whoever called: the exit code, and what there is to say of it.

use policy::plan::Provider;
use policy::rules::limits::Limits;
use policy::text::{escape, time};
use rustix::process::Signal;
use sandbox::session::outcome::End;

use super::not_found;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;

/// Explains an end by which the kernel says that a limit of each process was reached. A shell passes on, as its own status, what ended a
/// program that it ran.
pub(super) fn reached_limit(end: &End, limits: &Limits) -> Option<String> {
    let is = |signal: Signal| match end {
        End::Signaled(number) => *number == signal.as_raw(),
        End::Exited(status) => i32::from(*status) == 128 + signal.as_raw(),
        _ => false,
    };
    if let Some(most) = limits.cpu_time.filter(|_| is(Signal::XCPU)) {
        return Some(format!(
            "a process inside has used {} of processor time, and SIGXCPU has ended it; `--cpu-time` or `[limits] cpu_time` allows \
             more",
            time::duration(most)
        ));
    }
    let size = limits.file_size.filter(|_| is(Signal::XFSZ))?;
    Some(format!(
        "a process inside was about to write more than {size} to a file, and SIGXFSZ has ended it; `--file-size` or `[limits] \
         file_size` allows more"
    ))
}

/// Returns the exit code, and the error where it is not the command's own.
pub(super) fn exit_code(end: &End, provider: Provider) -> (ExitCode, Option<CommandError>) {
    match end {
        End::Exited(status) => (ExitCode::Command(*status), None),
        End::Signaled(signal) => (ExitCode::Signal(*signal), None),
        End::TimedOut(limit) => {
            let error = CommandError::message(
                Code::CommandTimedOut,
                format_args!("the command ran longer than {} and was ended", time::duration(*limit)),
            );
            (ExitCode::TimedOut, Some(error.hint("`--timeout` or `[limits] timeout` allows more time")))
        }
        End::Unprotected(finding) => {
            let error = CommandError::message(
                Code::CommandUnprotected,
                format_args!(
                    "a program on this host replaced a protected file while the sandbox ran, and it was ended: {finding}"
                ),
            );
            (
                ExitCode::Unprotected,
                Some(error.hint(
                    "run it again when nothing else changes that file; `[protect] on_replaced = \"warn\"` lets it run on",
                )),
            )
        }
        End::Shown(path) => {
            let error = CommandError::message(
                Code::CommandUnprotected,
                format_args!(
                    "a program on this host replaced, moved or removed {} while the sandbox ran, which had hidden it, or it cannot be looked at any \
                     more, and it was ended",
                    escape::path(path)
                ),
            );
            (
                ExitCode::Unprotected,
                Some(error.hint(
                    "run it again when nothing else changes that file; `[protect] on_replaced = \"warn\"` lets it run on",
                )),
            )
        }
        End::NotFound(command) => {
            let error = CommandError::message(
                Code::CommandNotFound,
                format_args!("{command}: no such command in the sandbox"),
            );
            let error = match provider {
                Provider::Docker | Provider::Podman => error.hint(not_found::in_image(command)),
                // What there is to be done depends on where the host has it.
                Provider::Native | Provider::Local => error,
            };
            (ExitCode::NotFound, Some(error))
        }
        End::NotExecutable(command, reason) => {
            let error = CommandError::message(
                Code::CommandNotExecutable,
                format_args!("{command}: cannot be executed: {reason}"),
            );
            (ExitCode::NotExecutable, Some(error))
        }
    }
}
