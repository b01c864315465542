//! PID 1 of a sandbox.
//!
//! It is executed with nothing but its control socket, mounts the rootfs of its sandbox, confines itself exactly as the
//! agent will be confined, probes from inside that every layer holds, starts the agent, and from then on reaps, forwards
//! signals and watches its lifeline. When the agent has ended, or the client is gone, everything inside ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use policy::rules::network::NetworkMode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::io::Errno;

use self::listeners::ProxyListeners;
use crate::lockdown::{self, Lockdown, LockdownError};
use crate::mount::rootfs::{self, FailedStep};
use crate::process::command::Command;
use crate::process::reap::{self, OtherProcesses, Reaped};
use crate::process::{stdio, terminal};
use crate::protocol::{
    CONTROL_FD, ControlSocket, Ending, Event, Failure, Grant, InitSpec, RENDEZVOUS_SOCKET, Request,
    RlimitFallback, Rootfs, Step, Terminal, UserNamespace,
};
use crate::seccomp::{Pid1, SeccompFilter};
use crate::{capabilities, cgroup, rlimit, seccomp, sys};

mod authorities;
pub mod clone;
mod listeners;
mod own_files;
mod probe;
mod shortage;
mod sockets;

/// Where PID 1 finds its client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ClientLocation {
    /// At the other end of the control socket that PID 1 was executed with.
    Inherited,
    /// At a socket in this directory, which its container sees.
    Rendezvous(PathBuf),
}

/// Runs PID 1. The returned code is its exit status.
pub fn run(client: ClientLocation) -> io::Result<u8> {
    // 1. Nobody may look into this process: not the agent, which has the same user, and not before anything
    //    secret has arrived.
    capabilities::not_dumpable().map_err(io::Error::other)?;

    // A caller may have ignored SIGCHLD, which survives an execution; then no child's end would be reported.
    sys::default_signal(libc::SIGCHLD);

    // A second guard beside the lifeline, for when this process is stopped and cannot watch that. A client that is gone
    // already has closed the lifeline. In a container the parent is the engine's, and may end when it likes.
    if client == ClientLocation::Inherited {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }

    // 2. The part of the rootfs that is the same whatever is run there. An engine has made it already.
    let (mut control, mut rootfs) = match client {
        ClientLocation::Inherited => {
            let mut control = ControlSocket::from(sys::duplicate_inherited(CONTROL_FD)?);
            let Some(Request::Prepare { mounts, hostname }) = control.receive()? else { return Ok(125) };
            match rootfs::prepare(&mounts, &hostname) {
                Ok(rootfs) => (control, Some(rootfs)),
                Err(failed) => return refuse(&mut control, failed),
            }
        }
        ClientLocation::Rendezvous(directory) => {
            (ControlSocket::connect(&directory.join(RENDEZVOUS_SOCKET))?, None)
        }
    };

    let filter = seccomp::compile(Pid1::Ours);

    // 3. What is to be done, and until then what else can be mounted. The end of the stream means that the client is gone.
    let mut spec = loop {
        let more = match (control.receive()?, &mut rootfs) {
            (Some(Request::Start(spec)), _) => break spec,
            (Some(Request::Mount(mounts)), Some(rootfs)) => rootfs.mount(&mounts),
            (Some(Request::LeaveHost), Some(rootfs)) => rootfs.pivot(),
            _ => return Ok(125),
        };
        if let Err(failed) = more {
            return refuse(&mut control, failed);
        }
    };
    let mut descriptors = control.take_descriptors();
    let rest = descriptors.split_off(descriptors.len().min(spec.passed.len()));
    let passed = std::mem::replace(&mut descriptors, rest);
    let proxy = (spec.expected.network == NetworkMode::Allowlist).then(|| descriptors.pop()).flatten();

    // 4. The rest of the rootfs, which becomes the root. An engine has connected the standard streams with itself.
    match (&mut spec.rootfs, rootfs) {
        (Rootfs::Own { mounts, .. }, Some(rootfs)) => {
            let mut mounts = std::mem::take(mounts);
            mounts.claim_trees(&mut descriptors);
            if let Err(failed) = rootfs.complete(&mounts) {
                return refuse(&mut control, failed);
            }
        }
        (Rootfs::Engine { .. }, None) => {
            let rest = descriptors.split_off(descriptors.len().min(3));
            stdio::replace(&std::mem::replace(&mut descriptors, rest))?;
        }
        (Rootfs::Own { .. }, None) | (Rootfs::Engine { .. }, Some(_)) => return Ok(125),
    }
    let given = Given { cgroups: descriptors, passed };
    let grants = given.grants(&spec);
    spec.grants.extend(grants);

    match start_agent(&mut control, &spec, &given, proxy, &filter) {
        Ok((agent, listeners)) => {
            // Nothing is needed of it any more, and secrets among it are cleared.
            drop(spec);
            drop(given);
            supervise(&mut control, &agent, listeners)
        }
        Err(Refusal::Unexecutable { command, errno }) => {
            control.send(&Event::Unexecutable { command, errno }, &[])?;
            Ok(if errno == libc::ENOENT { 127 } else { 126 })
        }
        Err(Refusal::Failed(failure)) => {
            control.send(&Event::Failed(failure), &[])?;
            Ok(125)
        }
    }
}

/// What the agent's process is given.
struct Given {
    /// The cgroups that it enters.
    cgroups: Vec<OwnedFd>,
    /// What it has besides its streams, in the order of [`InitSpec::passed`].
    passed: Vec<OwnedFd>,
}

impl Given {
    /// Lists what landlock lets the agent open again, by the numbers that this process knows it by.
    fn grants(&self, spec: &InitSpec) -> Vec<Grant> {
        let all = self.passed.iter().zip(&spec.passed);
        let grants = all.flat_map(|(fd, passed)| {
            let path = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
            passed.access.iter().map(move |access| Grant { path: path.clone(), access: *access })
        });
        grants.collect()
    }
}

/// Reports that there is no rootfs.
fn refuse(control: &mut ControlSocket, (step, errno): FailedStep) -> io::Result<u8> {
    let failure = Failure::Step { step, errno: Some(errno.raw_os_error()), message: errno.to_string() };
    control.send(&Event::Failed(failure), &[])?;
    Ok(125)
}

/// Why no agent runs.
enum Refusal {
    Failed(Failure),
    Unexecutable { command: String, errno: i32 },
}

/// Turns the error of a step into a refusal.
fn failed<E: Into<io::Error>>(step: Step) -> impl FnOnce(E) -> Refusal {
    move |error| {
        let error = error.into();
        Refusal::Failed(Failure::Step { step, errno: error.raw_os_error(), message: error.to_string() })
    }
}

/// An agent that runs.
struct RunningAgent {
    pid: i32,
    /// The processes that have to end with it.
    others: OtherProcesses,
    /// Its terminal hangs up when we close it, and not whenever nobody happens to have it open.
    _terminal: Option<OwnedFd>,
}

fn start_agent(
    control: &mut ControlSocket,
    spec: &InitSpec,
    given: &Given,
    proxy: Option<OwnedFd>,
    filter: &SeccompFilter,
) -> Result<(RunningAgent, ProxyListeners), Refusal> {
    // 5. A terminal of our own, unless one was opened outside, while nothing restricts the opening of devices; the client gets the master.
    let slave = match spec.terminal {
        Some(Terminal::New { size, .. }) => {
            let pair = terminal::open(size).map_err(failed(Step::Terminal))?;
            control.send(&Event::Terminal, &[pair.master.as_fd()]).map_err(failed(Step::Terminal))?;
            match control.receive().map_err(failed(Step::Terminal))? {
                Some(Request::TerminalReady) => Some(pair.slave),
                _ => return Err(failed(Step::Terminal)(Errno::PIPE)),
            }
        }
        Some(Terminal::Stream(_)) | None => None,
    };

    // 6. The only way out, if there is one: listeners that the egress proxy serves from outside. And files of ours: where it ends TLS
    //    itself, whom programs have to believe for that, and who commits.
    let listeners = ProxyListeners::open(proxy).map_err(failed(Step::Listeners))?;
    own_files::write(spec).map_err(failed(Step::OwnFiles))?;

    // 7. The same confinement for this process as for the agent: PID 1 has no right that the agent lacks.
    let locked = lockdown::lock_down(&Lockdown {
        rlimit_fallback: &rlimit_fallback(spec),
        account: None,
        grants: Some(&spec.grants),
        filter,
    })
    .map_err(|error| {
        let step = match error {
            LockdownError::Limits(_) => Step::Rlimits,
            LockdownError::Capabilities(_) => Step::Capabilities,
            LockdownError::Credentials(_) => Step::Credentials,
        };
        Refusal::Failed(Failure::Step { step, errno: None, message: error.to_string() })
    })?;

    //    And with no right that the agent lacks: sockets that stand for sockets of the host, which the client serves.
    let sockets = sockets::listen_at(&spec.sockets).map_err(failed(Step::Sockets))?;
    if !sockets.is_empty() {
        let descriptors: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
        control.send(&Event::Sockets, &descriptors).map_err(failed(Step::Sockets))?;
        drop(sockets);
    }

    // 8. Look from inside, and refuse to go on without a required layer.
    let report = probe::report(spec, &locked);
    if let Some(missing) = probe::missing(&report, &spec.required) {
        return Err(Refusal::Failed(Failure::Layer(missing)));
    }
    let namespaces = probe::namespaces();
    control.send(&Event::Started { report, namespaces }, &[]).map_err(failed(Step::Report))?;

    // 9. Signals of ours are read from a descriptor; the agent gets an empty mask back before it is executed.
    let all = SigSet::all();
    all.thread_block().map_err(failed(Step::Signals))?;

    // 10. The agent. We stand still until it has executed its command, or has failed to.
    let command = Command::new(&spec.argv, &spec.env).map_err(failed(Step::Command))?;
    let mut unable = None;
    let pid = sys::vfork(&mut |table| {
        unable = Some(become_agent(spec, &command, slave.as_ref(), given, table));
        125
    });
    let pid = pid.map_err(failed(Step::Fork))?;

    // 15. Our copies of the agent's streams go, and then of what else it was given: whoever reads its output must see its end
    //     when the agent closes it, and not when we do.
    stdio::replace_by_null().map_err(failed(Step::Stdio))?;
    match unable {
        None => Ok((RunningAgent { pid, others: others(&spec.rootfs), _terminal: slave }, listeners)),
        Some(Unable::Prepare(step, errno)) => Err(failed(step)(errno)),
        Some(Unable::Workdir(errno)) => Err(failed(Step::Workdir(spec.workdir.clone()))(errno)),
        Some(Unable::Execute(errno)) => {
            let command = String::from_utf8_lossy(&spec.argv[0]).into_owned();
            Err(Refusal::Unexecutable { command, errno: errno.raw_os_error() })
        }
    }
}

/// Returns which processes may be beside the agent.
fn others(rootfs: &Rootfs) -> OtherProcesses {
    match rootfs {
        Rootfs::Own { .. } => OtherProcesses::OfAgent,
        Rootfs::Engine { .. } => OtherProcesses::OfExecSessions,
    }
}

/// Returns the limits that no cgroup enforces. Whether an engine has set one is only seen from inside.
fn rlimit_fallback(spec: &InitSpec) -> RlimitFallback {
    match &spec.rootfs {
        Rootfs::Own { rlimit_fallback, .. } => *rlimit_fallback,
        Rootfs::Engine { limits, user_namespace, .. } => {
            let missing = RlimitFallback::for_missing(limits, &cgroup::seen_from_inside(limits));
            match user_namespace {
                UserNamespace::Private => missing,
                UserNamespace::Shared => RlimitFallback { pids: None, ..missing },
            }
        }
    }
}

/// Why the agent's process did not become the agent.
enum Unable {
    Prepare(Step, Errno),
    /// The working directory is not there, or not to be entered.
    Workdir(Errno),
    Execute(Errno),
}

/// Takes the last steps of the agent before its command. Returns only what failed.
fn become_agent(
    spec: &InitSpec,
    command: &Command,
    slave: Option<&OwnedFd>,
    given: &Given,
    table: sys::OwnTable,
) -> Unable {
    if let Err(unable) = prepare_agent(spec, slave, &given.cgroups) {
        return unable;
    }
    // 14. The command, with a clean descriptor table but for what the caller passes, and signals as a program expects them.
    let passed = spec.passed.iter().zip(&given.passed);
    let passed: Vec<_> = passed.map(|(passed, fd)| (passed.number, fd.as_fd())).collect();
    match sys::close_from_on_exec(3).and_then(|()| table.place(&passed)) {
        Ok(()) => Unable::Execute(command.exec_here()),
        Err(errno) => Unable::Prepare(Step::Descriptors, errno),
    }
}

fn prepare_agent(spec: &InitSpec, slave: Option<&OwnedFd>, cgroups: &[OwnedFd]) -> Result<(), Unable> {
    let failed = |step| move |errno| Unable::Prepare(step, errno);

    // 11. A session of its own, so that no terminal but its own can signal it or be pushed input.
    rustix::process::setsid().map_err(failed(Step::Session))?;
    let taken = match (spec.terminal, slave) {
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
    cgroup::enter(cgroups).map_err(failed(Step::Cgroups))?;

    // 13. Where the agent starts, and the caller's umask: what it makes in a shared directory is as private as what the
    //     caller makes there.
    rustix::process::umask(Mode::from_raw_mode(spec.umask));
    rlimit::apply_to_command(&spec.process_limits).map_err(failed(Step::Rlimits))?;
    rustix::process::chdir(spec.workdir.as_path()).map_err(Unable::Workdir)
}

/// Reaps, forwards and watches the lifeline until the agent has ended and everything else with it.
fn supervise(
    control: &mut ControlSocket,
    agent: &RunningAgent,
    mut listeners: ProxyListeners,
) -> io::Result<u8> {
    // SIGTERM is how an engine asks for the end.
    let mask = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM]);
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut waiting = false;
    loop {
        let proxy = listeners.as_fd();
        let watched = [signals.as_fd(), control.as_fd()].into_iter().chain(proxy);
        let mut ready: Vec<_> = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut ready, waiting.then_some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_requested = !ready[1].revents().is_empty();
        let is_asked = ready.get(2).is_some_and(|proxy| !proxy.revents().is_empty());
        let is_signalled = !ready[0].revents().is_empty();
        drop(ready);
        if is_asked {
            listeners.on_ready();
        }
        if waiting || is_signalled {
            // One record and a bounded number of children each time round: an agent may send us SIGCHLD, or orphans,
            // faster than we can take them, and must not keep us from our lifeline.
            if let Ok(Some(signal)) = signals.read_signal() {
                if signal.ssi_signo == libc::SIGTERM as u32 {
                    reap::signal_group(agent.pid, libc::SIGTERM);
                }
            }
            match reap::reap(agent.pid) {
                Reaped::Agent(ending) => return Ok(end(control, ending, agent.others)),
                reaped => waiting = reaped == Reaped::Some,
            }
        }
        if is_requested {
            match control.receive() {
                Ok(Some(Request::Signal(signal))) => reap::signal_group(agent.pid, signal),
                Ok(Some(Request::TerminalReady)) => {}
                Ok(
                    Some(
                        Request::Kill
                        | Request::Prepare { .. }
                        | Request::Mount(_)
                        | Request::LeaveHost
                        | Request::Start(_)
                        | Request::Exec(_),
                    )
                    | None,
                )
                | Err(_) => {
                    return Ok(end(control, Ending::Signaled(libc::SIGKILL), agent.others));
                }
            }
        }
    }
}

/// Ends whatever else is inside, and only then reports the end.
fn end(control: &mut ControlSocket, ending: Ending, others: OtherProcesses) -> u8 {
    reap::kill_all(others);
    for shortage in shortage::look() {
        let _ = control.send(&Event::Short(shortage), &[]);
    }
    // A client that is gone needs no answer.
    let _ = control.send(&Event::Ended(ending), &[]);
    ending.exit_code()
}
