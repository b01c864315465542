//! Starting a command: PID 1, or whoever supervises an exec for it, forks, and the new process takes a short list of steps
//! until it executes the command.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::landlock::{self, LandlockError};
use crate::process::command::Command;
use crate::process::stdio;
use crate::protocol::{CommandSpec, Failure, Step, Terminal};
use crate::{cgroup, rlimit, sys};

/// What a command's process is given.
pub(crate) struct Given<'a> {
    /// Its terminal, where this process has opened one.
    pub(crate) terminal: Option<&'a OwnedFd>,
    pub(crate) cgroups: &'a [OwnedFd],
    /// What it has besides its streams, in the order of [`CommandSpec::passed`].
    pub(crate) passed: &'a [OwnedFd],
    pub(crate) neighbours: Neighbours,
}

/// Who else is inside when a command begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Neighbours {
    /// Nobody that it has not started.
    None,
    /// Other commands, into whose memory, environment and streams it must not look.
    Commands,
    /// Others, in a sandbox that cannot keep it from looking: there is no landlock, which the report says.
    Unprotected,
}

/// Why no command runs.
pub(crate) enum NotStarted {
    Failed(Failure),
    Unexecutable { command: String, errno: i32 },
}

/// Returns the exit code that says why a command was not executed, as shells have it.
pub(crate) fn exit_code(errno: i32) -> u8 {
    if errno == libc::ENOENT { 127 } else { 126 }
}

/// Turns the error of a step into a failure.
pub(crate) fn failed<E: Into<std::io::Error>>(step: Step) -> impl FnOnce(E) -> Failure {
    move |error| {
        let error = error.into();
        Failure::Step { step, errno: error.raw_os_error(), message: error.to_string() }
    }
}

/// Starts a command with the standard streams of this process, and returns its process when it has executed. This process must
/// have one thread, and its signals blocked.
pub(crate) fn start(spec: &CommandSpec, given: &Given<'_>) -> Result<i32, NotStarted> {
    let command =
        Command::new(&spec.argv, &spec.env).map_err(failed(Step::Command)).map_err(NotStarted::Failed)?;
    let mut unable = None;
    // We stand still until it has executed its command, or has failed to.
    let pid = sys::vfork(&mut |table| {
        unable = Some(become_command(spec, &command, given, table));
        125
    });
    let pid = pid.map_err(failed(Step::Fork)).map_err(NotStarted::Failed)?;
    match unable {
        None => Ok(pid),
        Some(Unable::Prepare(step, errno)) => Err(NotStarted::Failed(failed(step)(errno))),
        Some(Unable::Workdir(errno)) => {
            Err(NotStarted::Failed(failed(Step::Workdir(spec.workdir.clone()))(errno)))
        }
        Some(Unable::Confine(error)) => Err(NotStarted::Failed(Failure::Step {
            step: Step::Confinement,
            errno: None,
            message: error.to_string(),
        })),
        Some(Unable::Execute(errno)) => {
            let command = String::from_utf8_lossy(&spec.argv[0]).into_owned();
            Err(NotStarted::Unexecutable { command, errno: errno.raw_os_error() })
        }
    }
}

/// Why the new process did not become the command.
enum Unable {
    Prepare(Step, Errno),
    /// The working directory is not there, or not to be entered.
    Workdir(Errno),
    Confine(LandlockError),
    Execute(Errno),
}

/// Takes the last steps before the command. Returns only what failed.
fn become_command(spec: &CommandSpec, command: &Command, given: &Given<'_>, table: sys::OwnTable) -> Unable {
    if let Err(unable) = prepare(spec, given) {
        return unable;
    }
    // 14. The command, with a clean descriptor table but for what the caller passes, and signals as a program expects them.
    let passed = spec.passed.iter().zip(given.passed);
    let passed: Vec<_> = passed.map(|(passed, fd)| (passed.number, fd.as_fd())).collect();
    match sys::close_from_on_exec(3).and_then(|()| table.place(&passed)) {
        Ok(()) => Unable::Execute(command.exec_here()),
        Err(errno) => Unable::Prepare(Step::Descriptors, errno),
    }
}

fn prepare(spec: &CommandSpec, given: &Given<'_>) -> Result<(), Unable> {
    let failed = |step| move |errno| Unable::Prepare(step, errno);

    // 11. A session of its own, so that no terminal but its own can signal it or be pushed input.
    rustix::process::setsid().map_err(failed(Step::Session))?;
    let taken = match (spec.terminal, given.terminal) {
        (Some(Terminal::New { streams, .. }), Some(slave)) => {
            let mut wanted = (0..).zip(streams).filter(|(_, wanted)| *wanted);
            rustix::process::ioctl_tiocsctty(slave)
                .and_then(|()| wanted.try_for_each(|(number, _)| stdio::replace_one(number, slave.as_fd())))
        }
        (Some(Terminal::Stream(0)), _) => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()),
        (Some(Terminal::Stream(1)), _) => rustix::process::ioctl_tiocsctty(rustix::stdio::stdout()),
        (Some(Terminal::Stream(_)), _) => rustix::process::ioctl_tiocsctty(rustix::stdio::stderr()),
        (Some(Terminal::New { .. }) | None, _) => Ok(()),
    };
    taken.map_err(failed(Step::ControllingTerminal))?;

    // 12. Into the cgroups, by the one way that costs microseconds: `0` means whoever writes.
    cgroup::enter(given.cgroups).map_err(failed(Step::Cgroups))?;

    // 13. Where it starts, and the caller's umask: what it makes in a shared directory is as private as what the caller
    //    makes there.
    rustix::process::umask(Mode::from_raw_mode(spec.umask));
    rlimit::apply_to_command(&spec.process_limits).map_err(failed(Step::Rlimits))?;
    rustix::process::chdir(spec.workdir.as_path()).map_err(Unable::Workdir)?;

    //     In a sandbox with other commands a landlock domain of its own, below that of PID 1: processes of another one have the same user, and could look into
    //    this one's memory, environment and streams by way of /proc, see landlock(7), "Ptrace restrictions".
    match given.neighbours {
        Neighbours::Commands => landlock::restrict_ptrace().map_err(Unable::Confine),
        Neighbours::None | Neighbours::Unprotected => Ok(()),
    }
}
