//! The way in: one `clone3` makes a user and a PID namespace, and the new process walks through a short list of steps until it
//! executes PID 1, which knows nothing of the host.
//!
//! The caller may have threads. From `clone3` to `execveat` the new process therefore neither allocates nor
//! locks: everything it needs lies ready in [`Entry`].

use std::ffi::CStr;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde::{Deserialize, Serialize};

use crate::control::{Control, Event};
use crate::sys::{self, Born};
use crate::{capabilities, init};

/// The user and group of the agent, as the sandbox sees them.
pub const AGENT_ID: u32 = 1000;

/// Everything that is needed to start PID 1 of a new sandbox.
pub struct Entry<'a> {
    /// Who the agent is on the host.
    pub identity: Identity,
    /// Standard input, output and error of PID 1.
    pub streams: [BorrowedFd<'a>; 3],
    /// A cgroup v2 directory to be born in.
    pub cgroup: Option<BorrowedFd<'a>>,
}

/// Who the agent is on the host. Inside it is always [`AGENT_ID`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Identity {
    /// The caller, who is a normal user.
    Caller {
        /// User id on the host.
        uid: u32,
        /// Group id on the host.
        gid: u32,
    },
    /// Somebody else, chosen by root. Never host 0.
    Other {
        /// User id on the host.
        uid: u32,
        /// Group id on the host.
        gid: u32,
    },
}

/// A sandbox whose first process is on its way.
#[derive(Debug)]
pub struct Entered {
    /// The process id of PID 1 on the host.
    pub pid: i32,
    /// PID 1, whatever becomes of its number.
    pub pidfd: OwnedFd,
    /// Our side of the control socket.
    pub control: Control,
}

/// What is done to make a sandbox, for reports of failure.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Step {
    /// Ordering the descriptors.
    Descriptors,
    /// Mapping the user and group.
    Map,
    /// Waiting for its parent.
    Parent,
    /// Becoming the agent's user.
    User,
    /// Keeping the capabilities that the inside is made with.
    Capabilities,
    /// Executing PID 1.
    Execute,
    /// Making the namespaces that PID 1 was not born into.
    Namespaces,
    /// Joining the mount namespace of a container.
    Join,
    /// Cutting the propagation of mounts.
    Propagation,
    /// Naming the host.
    Hostname,
    /// Bringing the loopback interface up.
    Loopback,
    /// Making the root file system.
    Root,
    /// A part of the view, in words.
    View(String),
    /// Changing the root.
    Pivot,
    /// Letting go of the host's file systems.
    Detach,
    /// Making the root file system read-only.
    Seal,
}

impl Step {
    /// What was being done, in words.
    pub fn describe(&self) -> &str {
        match self {
            Self::Descriptors => "ordering the descriptors",
            Self::Map => "mapping the user into a new user namespace",
            Self::Parent => "waiting for the launcher",
            Self::User => "becoming the agent's user",
            Self::Capabilities => "keeping the capabilities of the new namespace",
            Self::Execute => "executing PID 1",
            Self::Namespaces => "creating the namespaces",
            Self::Join => "joining the mount namespace of the container",
            Self::Propagation => "cutting the propagation of mounts",
            Self::Hostname => "setting the host name",
            Self::Loopback => "bringing the loopback interface up",
            Self::Root => "making the root file system",
            Self::View(described) => described,
            Self::Pivot => "changing the root",
            Self::Detach => "letting go of the host's file systems",
            Self::Seal => "making the root file system read-only",
        }
    }
}

/// The namespaces that a process can only be born into, or that have to be there before all others. PID 1 makes the rest
/// itself ([`crate::inside`]), while the caller prepares its orders: they take four times as long.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER | libc::CLONE_NEWPID) as u64;

/// The one byte to a process that is not PID 1 yet.
const MAPPED: u8 = b'm';

/// Where PID 1's program lies in the new process until it is executed.
const PROGRAM: i32 = init::CONTROL + 1;

/// Starts the first process of a new sandbox.
///
/// `program` is PID 1's, which is executed with nothing of the caller's, arguments and environment included.
///
/// # Errors
///
/// The error of `clone3`, or of the maps. Failures of later steps arrive as [`Event::SetUp`].
pub fn enter(entry: &Entry<'_>, program: &OwnedFd) -> io::Result<Entered> {
    let (mut ours, theirs) = Control::pair()?;
    let (Identity::Caller { uid, gid } | Identity::Other { uid, gid }) = entry.identity;
    let maps = Maps::new(uid, gid);
    let all_signals = nix::sys::signal::SigSet::all();
    let before = all_signals.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
    let born = sys::clone3(NAMESPACES, entry.cgroup);
    if let Ok(Born::Child) = born {
        let (control, step, errno) = first_process(entry, &maps, theirs.as_fd(), program.as_fd());
        report_failure(control.as_ref().map_or(theirs.as_fd(), AsFd::as_fd), step, errno);
        // Not `exit`: nothing of the caller's may run here.
        sys::exit_now(125);
    }
    before.thread_set_mask()?;
    drop(theirs);
    let Born::Parent { pid, pidfd } = born? else { return Err(io::Error::other("clone3 returned twice")) };
    let mapped = match entry.identity {
        Identity::Caller { .. } => Ok(()),
        Identity::Other { .. } => maps.write_for(pid).and_then(|()| tell_mapped(&mut ours)),
    };
    if let Err(error) = mapped {
        // Without its lifeline the process ends, and it is ours to collect.
        drop(ours);
        let ended = || waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
        let _ = rustix::io::retry_on_intr(ended);
        return Err(error);
    }
    Ok(Entered { pid, pidfd, control: ours })
}

/// A process that failed early has closed its side; what it said is still there to be read.
fn tell_mapped(control: &mut Control) -> io::Result<()> {
    match control.write_raw(&[MAPPED]) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        told => told,
    }
}

/// The life of the new process until it executes PID 1. Returns only what failed, and where to say so.
///
/// Between here and `execveat` nothing allocates and nothing locks.
fn first_process(
    entry: &Entry<'_>,
    maps: &Maps,
    control: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
) -> (Option<OwnedFd>, Step, Errno) {
    // 1. Five descriptors stay, at numbers of their own: the streams, the control socket and PID 1's program. All
    //    others are closed at once. The caller's end of a control socket is a lifeline, ours or that of a sandbox
    //    which another thread was just starting, and only the caller's death may close it.
    let (control, program) = match keep_five(entry.streams, control, program) {
        Ok(kept) => kept,
        Err(errno) => return (None, Step::Descriptors, errno),
    };
    if let Err((step, errno)) = walk_in(entry.identity, maps, control.as_fd()) {
        return (Some(control), step, errno);
    }
    // 5. Execute PID 1. Nothing of the caller's memory and environment is left.
    let errno = sys::execute_file(program.as_fd(), &[c"entrypoint", init::CONTROL_ARGUMENT]);
    (Some(control), Step::Execute, errno)
}

fn walk_in(identity: Identity, maps: &Maps, control: BorrowedFd<'_>) -> Result<(), (Step, Errno)> {
    let failed = |step| move |errno| (step, errno);

    // 2. Map one user and one group. A normal user may do so alone, once it has given up setgroups(2)
    //    (user_namespaces(7)); root's choice of somebody else can only be written from outside.
    match identity {
        Identity::Caller { .. } => maps.write_for_self().map_err(failed(Step::Map))?,
        Identity::Other { .. } => {
            await_byte(control, MAPPED).map_err(failed(Step::Parent))?;
            // 3. Become that user, with no supplementary group. Capabilities in the new namespace stay, since
            //    no id 0 exists there whose loss could drop them.
            set_thread_groups(&[]).map_err(failed(Step::User))?;
            let id = rustix::fs::Gid::from_raw(AGENT_ID);
            set_thread_res_gid(id, id, id).map_err(failed(Step::User))?;
            let id = rustix::fs::Uid::from_raw(AGENT_ID);
            set_thread_res_uid(id, id, id).map_err(failed(Step::User))?;
        }
    }

    // 4. Executing a program takes all capabilities from a user who is not 0, but for those that are handed on.
    capabilities::keep_across_execution().map_err(failed(Step::Capabilities))
}

/// Moves what PID 1 needs to the first five numbers and closes everything else. Allocates nothing.
fn keep_five(
    [input, output, error]: [BorrowedFd<'_>; 3],
    control: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
) -> Result<(OwnedFd, OwnedFd), Errno> {
    // Out of the way first: any of them may lie where another one goes.
    let aside = |fd| rustix::io::fcntl_dupfd_cloexec(fd, PROGRAM + 1);
    let kept = [aside(input)?, aside(output)?, aside(error)?, aside(control)?, aside(program)?];
    for (target, fd) in (0..).zip(&kept) {
        sys::duplicate_onto(fd.as_fd(), target)?;
    }
    drop(kept);
    sys::close_from(PROGRAM.unsigned_abs() + 1)?;
    let own = |fd| sys::inherited(fd).map_err(|_| Errno::BADF);
    let program = own(PROGRAM)?;
    rustix::io::fcntl_setfd(&program, FdFlags::CLOEXEC)?;
    Ok((own(init::CONTROL)?, program))
}

/// The id maps of one user and one group, as text.
struct Maps {
    uid: String,
    gid: String,
}

impl Maps {
    fn new(uid: u32, gid: u32) -> Self {
        Self { uid: format!("{AGENT_ID} {uid} 1\n"), gid: format!("{AGENT_ID} {gid} 1\n") }
    }

    /// From inside. Allocates nothing.
    fn write_for_self(&self) -> Result<(), Errno> {
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", self.uid.as_bytes())?;
        write_file(c"/proc/self/gid_map", self.gid.as_bytes())
    }

    /// From outside, by root.
    fn write_for(&self, pid: i32) -> io::Result<()> {
        for (name, map) in [("uid_map", &self.uid), ("gid_map", &self.gid)] {
            fs::OpenOptions::new()
                .write(true)
                .open(format!("/proc/{pid}/{name}"))?
                .write_all(map.as_bytes())?;
        }
        Ok(())
    }
}

/// A user namespace in which the user and group `inner` are `outer`, for the idmapping of mounts. Only root can make one.
pub fn id_map(inner: (u32, u32), outer: (u32, u32)) -> io::Result<OwnedFd> {
    // With every signal blocked, so that no handler of the caller's runs in a process that borrows its memory.
    let before = nix::sys::signal::SigSet::all().thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
    let namespace = sys::UserNamespace::new();
    before.thread_set_mask()?;
    let namespace = namespace?;
    let pid = namespace.pid();
    for (name, inner, outer) in [("uid_map", inner.0, outer.0), ("gid_map", inner.1, outer.1)] {
        let mut file = fs::OpenOptions::new().write(true).open(format!("/proc/{pid}/{name}"))?;
        file.write_all(format!("{inner} {outer} 1\n").as_bytes())?;
    }
    Ok(fs::File::open(format!("/proc/{pid}/ns/user"))?.into())
}

fn write_file(path: &CStr, content: &[u8]) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, content).map(drop)
}

/// Waits for one byte; anything else, the end of the stream included, means that the parent is gone.
fn await_byte(control: BorrowedFd<'_>, expected: u8) -> Result<(), Errno> {
    let mut byte = [0];
    let got = rustix::io::retry_on_intr(|| rustix::io::read(control, &mut byte))?;
    if got == 1 && byte[0] == expected { Ok(()) } else { Err(Errno::PIPE) }
}

/// Tells the parent which step failed. Allocates nothing.
fn report_failure(control: BorrowedFd<'_>, step: Step, errno: Errno) {
    let event = Event::SetUp { step, errno: errno.raw_os_error() };
    let mut frame = [0; 32];
    let (header, body) = frame.split_at_mut(4);
    let Ok(length) = postcard::to_slice(&event, body).map(|body| body.len()) else { return };
    header.copy_from_slice(&u32::try_from(length).unwrap_or(0).to_le_bytes());
    // If nobody listens any more there is nobody to tell.
    let _ = rustix::io::write(control, &frame[..4 + length]);
}
