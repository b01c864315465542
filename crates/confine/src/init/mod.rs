//! PID 1 of a sandbox.
//!
//! It is executed with nothing but its control socket, mounts the rootfs of its sandbox, confines itself exactly as the
//! agent will be confined, probes from inside that every layer holds, starts the agent, and from then on reaps, forwards
//! signals and watches its lifeline. When the agent has ended, or the client is gone, everything inside ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use policy::plan::Layer;
use policy::rules::network::NetworkMode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use self::descriptors::{Descriptors, StayDescriptors};
use self::listeners::ProxyListeners;
use self::scope::Scope;
use self::stay::{InitialCommand, Staying};
use crate::lockdown::{self, Lockdown, LockdownError};
use crate::mount::rootfs::{self, FailedStep};
use crate::process::reap::{self, OtherProcesses, Reaped};
use crate::process::start::{self, Neighbours, NotStarted, failed};
use crate::process::{stdio, terminal};
use crate::protocol::{
    CONTROL_FD, ControlSocket, Ending, Event, Failure, InitSpec, RENDEZVOUS_SOCKET, Request, RlimitFallback,
    Rootfs, Step, Terminal, UserNamespace,
};
use crate::report::Status;
use crate::seccomp::{Pid1, SeccompFilter};
use crate::{capabilities, cgroup, seccomp, sys};

mod authorities;
pub mod clone;
mod deadlines;
mod descriptors;
mod exec;
mod files;
pub mod host;
mod line;
mod listeners;
mod logs;
mod own_files;
mod probe;
mod scope;
mod shortage;
mod sockets;
mod stay;
mod user_counts;
mod warm;

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

    reap::keep_ended_children();

    // A second guard beside the lifeline, for when this process is stopped and cannot watch that. A client that is gone
    // already has closed the lifeline. In a container the parent is the engine's, and may end when it likes.
    if client == ClientLocation::Inherited {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }

    // Before anything is started that could have signals waiting.
    user_counts::limit_signals();

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
    //    A sandbox that is made ahead waits here for another client.
    let mut spec = loop {
        let more = match (control.receive()?, &mut rootfs) {
            (Some(Request::Start(spec)), _) => break spec,
            (Some(Request::Wait(warm)), _) => match warm::wait_for_client(control, warm)? {
                Some(taken) => {
                    control = taken.control;
                    // The kernel closes them with this process, and not before.
                    std::mem::forget(taken.held);
                    continue;
                }
                None => return Ok(0),
            },
            (Some(Request::Mount(mounts)), Some(rootfs)) => rootfs.mount(&mounts),
            (Some(Request::LeaveHost), Some(rootfs)) => rootfs.pivot(),
            _ => return Ok(125),
        };
        if let Err(failed) = more {
            return refuse(&mut control, failed);
        }
    };
    let mut descriptors = control.take_descriptors();
    let stays = spec.stay.map(|stay| StayDescriptors::take(stay, &mut descriptors)).transpose()?;
    let passed = spec.command.as_ref().map_or(0, |command| command.passed.len());
    let rest = descriptors.split_off(descriptors.len().min(passed));
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
    let given = Descriptors { cgroups: descriptors, passed };
    let grants = given.grants(&spec);
    spec.grants.extend(grants);

    let refused = match confine(&mut control, &spec, proxy, &filter) {
        Err(failure) => NotStarted::Failed(failure),
        Ok(Confined { terminal, listeners, neighbours }) => match stays {
            None => match start_agent(&spec, &given, terminal.as_ref()) {
                Ok(pid) => {
                    let others = others(&spec.rootfs);
                    let agent = RunningAgent { pid, others, _terminal: terminal };
                    // Nothing is needed of it any more, and secrets among it are cleared.
                    drop(spec);
                    drop(given);
                    return supervise(&mut control, &agent, listeners);
                }
                Err(refused) => refused,
            },
            Some(stays) => {
                let first = spec.command.take().map(|command| InitialCommand { command, terminal });
                let scope = Scope::Namespace(others(&spec.rootfs));
                drop(spec);
                match Staying::begin(stays, first, given, neighbours, listeners, scope, &control) {
                    Ok(staying) => return staying.serve(control),
                    Err(refused) => refused,
                }
            }
        },
    };
    match refused {
        NotStarted::Unexecutable { command, errno } => {
            control.send(&Event::Unexecutable { command, errno }, &[])?;
            Ok(start::exit_code(errno))
        }
        NotStarted::Failed(failure) => {
            control.send(&Event::Failed(failure), &[])?;
            Ok(125)
        }
    }
}

/// Reports that there is no rootfs.
fn refuse(control: &mut ControlSocket, (step, errno): FailedStep) -> io::Result<u8> {
    let failure = Failure::Step { step, errno: Some(errno.raw_os_error()), message: errno.to_string() };
    control.send(&Event::Failed(failure), &[])?;
    Ok(125)
}

/// An agent that runs.
struct RunningAgent {
    pid: i32,
    /// The processes that have to end with it.
    others: OtherProcesses,
    /// Its terminal hangs up when we close it, and not whenever nobody happens to have it open.
    _terminal: Option<OwnedFd>,
}

/// What a confined PID 1 has.
struct Confined {
    /// The terminal of the agent, where it was opened in here.
    terminal: Option<OwnedFd>,
    listeners: ProxyListeners,
    /// What a command has to keep other ones away from it.
    neighbours: Neighbours,
}

/// Confines this process, and reports how.
fn confine(
    control: &mut ControlSocket,
    spec: &InitSpec,
    proxy: Option<OwnedFd>,
    filter: &SeccompFilter,
) -> Result<Confined, Failure> {
    // 5. A terminal of our own, unless one was opened outside, while nothing restricts the opening of devices; the client gets the master.
    let terminal = match spec.command.as_ref().and_then(|command| command.terminal) {
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
        Failure::Step { step, errno: None, message: error.to_string() }
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
        return Err(Failure::Layer(missing));
    }
    let has_landlock = report.layer(Layer::Landlock).is_some_and(|line| line.status != Status::Not);
    let neighbours = if has_landlock { Neighbours::Commands } else { Neighbours::Unprotected };
    let namespaces = probe::namespaces();
    control.send(&Event::Started { report, namespaces }, &[]).map_err(failed(Step::Report))?;

    // 9. Signals of ours are read from a descriptor; the agent gets an empty mask back before it is executed.
    SigSet::all().thread_block().map_err(failed(Step::Signals))?;
    Ok(Confined { terminal, listeners, neighbours })
}

/// Starts the agent as a child of this process.
fn start_agent(spec: &InitSpec, given: &Descriptors, terminal: Option<&OwnedFd>) -> Result<i32, NotStarted> {
    // 10. The agent: steps 11 to 14 are those of its process, in `process/start.rs`.
    let command = spec.command.as_ref().ok_or_else(|| failed(Step::Command)(Errno::INVAL));
    let command = command.map_err(NotStarted::Failed)?;
    let (cgroups, passed) = (&given.cgroups, &given.passed);
    // No other command of ours runs beside it: a sandbox that others find has a PID 1 that serves them (`stay.rs`).
    let started =
        start::start(command, &start::Given { terminal, cgroups, passed, neighbours: Neighbours::None });

    // 15. Our copies of the agent's streams go, and then of what else it was given: whoever reads its output must see its end
    //     when the agent closes it, and not when we do.
    match stdio::replace_by_null().map_err(failed(Step::Stdio)) {
        Err(failure) if started.is_ok() => Err(NotStarted::Failed(failure)),
        _ => started,
    }
}

/// Returns which processes may be beside the agent.
fn others(rootfs: &Rootfs) -> OtherProcesses {
    match rootfs {
        Rootfs::Own { .. } => OtherProcesses::OfAgent,
        Rootfs::Engine { .. } => OtherProcesses::OfEngine,
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
                        | Request::Leave
                        | Request::Wait(_)
                        | Request::Prepare { .. }
                        | Request::Mount(_)
                        | Request::LeaveHost
                        | Request::Start(_),
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
    for shortage in shortage::detect() {
        let _ = control.send(&Event::Short(shortage), &[]);
    }
    // A client that is gone needs no answer.
    let _ = control.send(&Event::Ended(ending), &[]);
    ending.exit_code()
}
