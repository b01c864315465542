//! PID 1 of a sandbox.
//!
//! It is executed with nothing but its control socket, makes the inside of its sandbox, confines itself exactly as the
//! agent will be confined, proves from inside that every layer holds, starts the agent, and from then on reaps, forwards
//! signals and watches its lifeline. When the agent has ended, or the client is gone, everything inside ends.

use policy::text::escape;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::command::Command;
use crate::control::{Control, Ending, Event, Failure, Request};
use crate::inside::Failed;
use crate::lockdown::Lockdown;
use crate::reap::{Others, Reaped};
use crate::rlimit::Substitutes;
use crate::seccomp::Pid1;
use crate::start::{Inside, Start, Terminal, Users};
use crate::{capabilities, cgroup, inside, line, lockdown, probe, reap, sys, terminal};

/// How PID 1 is told that it has a control socket, as descriptor 3.
pub const CONTROL_ARGUMENT: &CStr = c"--control";

/// How PID 1 of a container is told that its client waits in the directory that comes next.
pub const MEET_ARGUMENT: &str = "--meet";

/// The name of the client's socket there.
pub const MEETING_SOCKET: &str = "control";

/// The number of the control socket.
pub(crate) const CONTROL: i32 = 3;

/// Where PID 1 gets its orders from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Orders {
    /// From the socket that it was born with.
    Inherited,
    /// From the client of its container, whom it goes to meet in this directory.
    Met(PathBuf),
}

/// The whole life of PID 1. The returned code is its exit status.
pub fn run(orders: Orders) -> io::Result<u8> {
    // 1. Nobody may look into this process: not the agent, which has the same user, and not before anything
    //    secret has arrived.
    capabilities::not_dumpable().map_err(io::Error::other)?;

    // A caller may have ignored SIGCHLD, which survives an execution; then no child's end would be heard of.
    sys::default_signal(libc::SIGCHLD);

    // A second line next to the lifeline, for when this process is stopped and cannot watch that. A client that is gone
    // already has closed the lifeline. In a container the parent is the engine's, and may end when it likes.
    if orders == Orders::Inherited {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }

    // 2. Namespaces and the part of the inside that is the same whatever is run there. An engine has made them already.
    let (mut control, root) = match orders {
        Orders::Inherited => {
            let mut control = Control::from(sys::inherited(CONTROL)?);
            if let Err(failed) = inside::leave_the_hosts() {
                return not_made(&mut control, failed);
            }
            let Some(Request::Prepare { view, hostname }) = control.receive()? else { return Ok(125) };
            match inside::begin(&view, &hostname) {
                Ok(root) => (control, Some(root)),
                Err(failed) => return not_made(&mut control, failed),
            }
        }
        Orders::Met(place) => (Control::meet(&place.join(MEETING_SOCKET))?, None),
    };

    // 3. What is to be done. The end of the stream means that the client is gone.
    let Some(Request::Start(mut start)) = control.receive()? else { return Ok(125) };
    let mut descriptors = control.take_descriptors();

    // 4. The rest of the inside, and the way into it. An engine has connected the standard streams with itself.
    match (&mut start.inside, root) {
        (Inside::Own { view, .. }, Some(root)) => {
            let mut view = std::mem::take(view);
            view.claim_trees(&mut descriptors);
            if let Err(failed) = root.complete(&view) {
                return not_made(&mut control, failed);
            }
        }
        (Inside::Engine { .. }, None) => take_streams(&mut descriptors)?,
        (Inside::Own { .. }, None) | (Inside::Engine { .. }, Some(_)) => return Ok(125),
    }
    let cgroups = descriptors;

    match start_agent(&mut control, &start, &cgroups) {
        Ok(agent) => {
            // Nothing is needed of it any more, and secrets among it are cleared.
            drop(start);
            drop(cgroups);
            supervise(&mut control, &agent)
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

/// Tells the client that there is no inside.
fn not_made(control: &mut Control, (step, errno): Failed) -> io::Result<u8> {
    control.send(&Event::SetUp { step, errno: errno.raw_os_error() }, &[])?;
    Ok(125)
}

/// Why no agent runs.
enum Refusal {
    Failed(Failure),
    Unexecutable { command: String, errno: i32 },
}

/// Turns an error of a named step into what the client is told.
fn step<E: Into<io::Error>>(name: impl Into<String>) -> impl FnOnce(E) -> Refusal {
    let name = name.into();
    move |error| {
        let error = error.into();
        Refusal::Failed(Failure::Step { step: name, errno: error.raw_os_error(), message: error.to_string() })
    }
}

/// An agent that runs.
struct Agent {
    pid: i32,
    /// Who has to end with it.
    others: Others,
    /// Its terminal ends when we say so, and not whenever nobody happens to have it open.
    _terminal: Option<OwnedFd>,
}

fn start_agent(control: &mut Control, start: &Start, cgroups: &[OwnedFd]) -> Result<Agent, Refusal> {
    // 5. A terminal of our own, unless one was opened outside, while opening devices is still nobody's question; the client gets the master.
    let slave = match start.terminal {
        Some(Terminal::Inside { size, .. }) => {
            let pair = terminal::open(size).map_err(step("opening a terminal"))?;
            control
                .send(&Event::Terminal, &[pair.master.as_fd()])
                .map_err(step("handing the terminal over"))?;
            match control.receive().map_err(step("handing the terminal over"))? {
                Some(Request::TerminalReady) => Some(pair.slave),
                _ => return Err(step("handing the terminal over")(Errno::PIPE)),
            }
        }
        Some(Terminal::Stream(_)) | None => None,
    };

    // 6. The same confinement for this process as for the agent: PID 1 has no right that the agent lacks.
    let locked = lockdown::lock_down(&Lockdown {
        substitutes: &substitutes(start),
        account: None,
        grants: Some(&start.grants),
        pid_1: Pid1::Ours,
    })
    .map_err(|error| {
        let step = error.step().into();
        Refusal::Failed(Failure::Step { step, errno: None, message: error.to_string() })
    })?;

    // 7. Look from inside, and refuse to go on without a required layer.
    let report = probe::report(start, &locked);
    if let Some(missing) = probe::missing(&report, &start.required) {
        return Err(Refusal::Failed(Failure::Layer(missing)));
    }
    control.send(&Event::Started(report), &[]).map_err(step("reporting"))?;

    // 8. Signals of ours are read from a descriptor; the agent gets an empty mask back before it is executed.
    let all = SigSet::all();
    all.thread_block().map_err(step("blocking signals"))?;

    // 9. The agent. We stand still until it has executed its command, or has failed to.
    let command = Command::new(&start.argv, &start.env).map_err(step("reading the command"))?;
    let mut failed = None;
    let pid = sys::spawn_suspended(&mut || {
        failed = Some(become_agent(start, &command, slave.as_ref(), cgroups));
        125
    });
    let pid = pid.map_err(step("starting the agent"))?;

    // 14. Our copies of the agent's streams go: whoever reads its output must see its end when the agent closes
    //     it, and not when we do.
    let_streams_go().map_err(step("closing the standard streams"))?;
    match failed {
        None => Ok(Agent { pid, others: others(&start.inside), _terminal: slave }),
        Some(Unable::Prepare(name, errno)) => Err(step(name)(errno)),
        Some(Unable::Start(errno)) => {
            Err(step(format!("{} {}", line::WORKDIR, escape::path(&start.workdir)))(errno))
        }
        Some(Unable::Execute(errno)) => {
            let command = String::from_utf8_lossy(&start.argv[0]).into_owned();
            Err(Refusal::Unexecutable { command, errno: errno.raw_os_error() })
        }
    }
}

/// Who may be beside the agent.
fn others(inside: &Inside) -> Others {
    match inside {
        Inside::Own { .. } => Others::Agents,
        Inside::Engine { .. } => Others::SecondCommands,
    }
}

/// Limits that no cgroup enforces. Whether an engine has set one can only be told from inside.
fn substitutes(start: &Start) -> Substitutes {
    match &start.inside {
        Inside::Own { substitutes, .. } => *substitutes,
        Inside::Engine { limits, users, .. } => {
            let missing = Substitutes::for_missing(limits, &cgroup::seen_from_inside(limits));
            match users {
                Users::Alone => missing,
                Users::Shared => Substitutes { pids: None, ..missing },
            }
        }
    }
}

/// Why the agent's process did not become the agent.
enum Unable {
    Prepare(&'static str, Errno),
    /// The working directory is not there, or not to be entered.
    Start(Errno),
    Execute(Errno),
}

/// The last steps of the agent before its command. Returns only what failed.
fn become_agent(start: &Start, command: &Command, slave: Option<&OwnedFd>, cgroups: &[OwnedFd]) -> Unable {
    match prepare_agent(start, slave, cgroups) {
        // 13. The command, with nothing of ours but the three streams, and signals as a program expects them.
        Ok(()) => Unable::Execute(command.hand_over()),
        Err(unable) => unable,
    }
}

fn prepare_agent(start: &Start, slave: Option<&OwnedFd>, cgroups: &[OwnedFd]) -> Result<(), Unable> {
    let failed = |name| move |errno| Unable::Prepare(name, errno);

    // 10. A session of its own, so that no terminal but its own can signal it or be pushed input.
    rustix::process::setsid().map_err(failed("starting a session"))?;
    let taken = match (start.terminal, slave) {
        (Some(Terminal::Inside { streams, .. }), Some(slave)) => {
            let mut wanted = (0..).zip(streams).filter(|(_, wanted)| *wanted);
            rustix::process::ioctl_tiocsctty(slave)
                .and_then(|()| wanted.try_for_each(|(at, _)| sys::duplicate_onto(slave.as_fd(), at)))
        }
        (Some(Terminal::Stream(0)), _) => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()),
        (Some(Terminal::Stream(1)), _) => rustix::process::ioctl_tiocsctty(rustix::stdio::stdout()),
        (Some(Terminal::Stream(_)), _) => rustix::process::ioctl_tiocsctty(rustix::stdio::stderr()),
        (Some(Terminal::Inside { .. }) | None, _) => Ok(()),
    };
    taken.map_err(failed("taking the terminal"))?;

    // 11. Into the cgroups, by the one way that costs microseconds: `0` means whoever writes.
    cgroup::enter(cgroups).map_err(failed("entering the control groups"))?;

    // 12. Where the agent starts, and the caller's umask: what it makes in a shared directory is as private as what the
    //     caller makes there.
    rustix::process::umask(Mode::from_raw_mode(start.umask));
    rustix::process::chdir(start.workdir.as_path()).map_err(Unable::Start)
}

/// Takes the agent's streams in place of those that an engine has connected with itself.
fn take_streams(descriptors: &mut Vec<OwnedFd>) -> io::Result<()> {
    let rest = descriptors.split_off(descriptors.len().min(3));
    for (stream, number) in std::mem::replace(descriptors, rest).iter().zip(0..) {
        sys::duplicate_onto(stream.as_fd(), number)?;
    }
    Ok(())
}

pub(crate) fn let_streams_go() -> Result<(), Errno> {
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    (0..3).try_for_each(|stream| sys::duplicate_onto(null.as_fd(), stream))
}

/// Reaps, forwards and watches the lifeline until the agent has ended and everything else with it.
fn supervise(control: &mut Control, agent: &Agent) -> io::Result<u8> {
    // SIGTERM is how an engine asks for the end.
    let mask = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM]);
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut waiting = false;
    loop {
        let mut ready =
            [PollFd::new(&signals, PollFlags::IN), PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        match poll(&mut ready, waiting.then_some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let told = !ready[1].revents().is_empty();
        if waiting || !ready[0].revents().is_empty() {
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
        if told {
            match control.receive() {
                Ok(Some(Request::Signal(signal))) => reap::signal_group(agent.pid, signal),
                Ok(Some(Request::TerminalReady)) => {}
                Ok(Some(Request::Kill | Request::Prepare { .. } | Request::Start(_)) | None) | Err(_) => {
                    return Ok(end(control, Ending::Signaled(libc::SIGKILL), agent.others));
                }
            }
        }
    }
}

/// Ends whatever else is inside, and only then says that it is over.
fn end(control: &mut Control, ending: Ending, others: Others) -> u8 {
    reap::kill_all(others);
    // A client that is gone needs no answer.
    let _ = control.send(&Event::Ended(ending), &[]);
    ending.exit_code()
}
