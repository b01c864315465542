//! Starting PID 1: one `clone3` creates a user and a PID namespace, and the new process takes a short list of steps until it
//! executes the program of PID 1, which knows nothing of the host.
//!
//! The caller may have threads. From `clone3` to `execveat` the new process therefore neither allocates nor
//! locks: everything it needs lies ready in [`CloneOptions`].

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::line::Line;
use super::user_counts::NamespaceLimits;
use crate::capabilities;
use crate::mount::rootfs::unshare_namespaces;
use crate::protocol::{AGENT_ID, CONTROL_ARGUMENT, ControlSocket, Event, Failure, Step};
use crate::sys::{self, Child, ChildTable, KeptDescriptors};

/// Everything that is needed to start PID 1 of a new sandbox.
pub struct CloneOptions<'a> {
    pub identity: AgentIdentity,
    /// Standard input, output and error of PID 1.
    pub streams: [BorrowedFd<'a>; 3],
    /// A cgroup v2 directory to be created in.
    pub cgroup: Option<BorrowedFd<'a>>,
}

/// The identity of the agent on the host. Never host 0.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AgentIdentity {
    /// The caller, who is a normal user.
    Caller(Ids),
    /// A normal user for whom root calls.
    Other(Ids),
    /// An id that no user and no group of the host has, chosen by root.
    Unallocated(u32),
}

/// A user and a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ids {
    pub uid: u32,
    pub gid: u32,
}

impl AgentIdentity {
    /// Returns the ids on the host.
    pub fn outside(self) -> Ids {
        match self {
            Self::Caller(ids) | Self::Other(ids) => ids,
            Self::Unallocated(id) => Ids { uid: id, gid: id },
        }
    }

    /// Returns the ids inside: a normal user's are those outside, because programs such as git note whose a file is, and look at each
    /// again where that has changed. The group of root has no right inside, and is not shown as if it had.
    pub fn inside(self) -> Ids {
        match self {
            Self::Caller(Ids { uid, gid: 0 }) | Self::Other(Ids { uid, gid: 0 }) => {
                Ids { uid, gid: AGENT_ID }
            }
            Self::Caller(ids) | Self::Other(ids) => ids,
            Self::Unallocated(_) => Ids { uid: AGENT_ID, gid: AGENT_ID },
        }
    }
}

/// PID 1 of a new sandbox, which may not have executed its program yet.
#[derive(Debug)]
pub struct InitProcess {
    /// The process id of PID 1 on the host.
    pub pid: i32,
    /// PID 1, whatever becomes of its number.
    pub pidfd: OwnedFd,
    /// Our side of the control socket.
    pub control: ControlSocket,
}

/// The namespaces that a process can only be created in, or that have to be there before all others. The new process makes the
/// rest itself, while the caller goes on: they take four times as long.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER | libc::CLONE_NEWPID) as u64;

/// The one byte that notifies the new process that its ids are mapped.
const MAPPED: u8 = b'm';

/// Starts PID 1 of a new sandbox.
///
/// `program` is PID 1's, which is executed with nothing of the caller's, arguments and environment included. It is executed
/// from a file in memory, which the new process writes while the caller goes on: no file on a disk could be exchanged.
///
/// # Errors
///
/// The error of `clone3`, of the file, or of the maps. Failures of later steps arrive as [`Event::Failed`].
pub fn clone_init(options: &CloneOptions<'_>, program: &'static [u8]) -> io::Result<InitProcess> {
    let file = file_in_memory()?;
    let (mut ours, theirs) = ControlSocket::pair()?;
    let maps = Maps::new(options.identity);
    let all_signals = nix::sys::signal::SigSet::all();
    let before = all_signals.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
    let kept = KeptDescriptors { streams: options.streams, control: theirs.as_fd(), program: file.as_fd() };
    let start = ChildStart { identity: options.identity, maps, counts: NamespaceLimits::read(), program };
    let cloned = sys::clone3(NAMESPACES, options.cgroup, &kept, start, run_child);
    before.thread_set_mask()?;
    drop(theirs);
    let Child { pid, pidfd } = cloned?;
    let mapped = match options.identity {
        AgentIdentity::Caller(_) => Ok(()),
        AgentIdentity::Other(_) | AgentIdentity::Unallocated(_) => {
            maps.write_for(pid).and_then(|()| send_byte(&mut ours, MAPPED))
        }
    };
    if let Err(error) = mapped {
        // Without its lifeline the process ends, and it is ours to collect.
        drop(ours);
        let ended = || waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
        let _ = rustix::io::retry_on_intr(ended);
        return Err(error);
    }
    Ok(InitProcess { pid, pidfd, control: ours })
}

/// Notifies the new process of a step by one byte. One that failed early has closed its side; what it reported is still
/// there to be read.
fn send_byte(control: &mut ControlSocket, byte: u8) -> io::Result<()> {
    match control.write_raw(&[byte]) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        sent => sent,
    }
}

/// What the new process needs of the caller's memory, of which it has a copy.
#[derive(Clone, Copy)]
struct ChildStart {
    identity: AgentIdentity,
    maps: Maps,
    counts: NamespaceLimits,
    program: &'static [u8],
}

/// Runs the new process until it executes PID 1. Returns the exit code of what failed, and was reported.
///
/// Between here and `execveat` nothing allocates and nothing locks.
fn run_child(start: ChildStart, table: ChildTable<'_>) -> i32 {
    let ChildStart { identity, maps, counts, program: bytes } = start;
    // 1. Five descriptors stay, at numbers of their own: the streams, the control socket and PID 1's program. All
    //    others are closed at once. The caller's end of a control socket is a lifeline, ours or that of a sandbox
    //    which another thread was just starting, and only the caller's death may close it. A new session keyring takes the place of the
    //    caller's.
    match table {
        ChildTable::Failed { control, errno } => report_failure(control, Step::Descriptors, errno),
        ChildTable::Clean { control, program } => {
            let ready = leave_keyring()
                // 2. Write the program of PID 1. Meanwhile root maps the ids, and is seldom waited for: on a busy machine whoever waits is
                //    not woken at once.
                .and_then(|()| write_all(program.as_fd(), bytes).map_err(|errno| (Step::WriteInit, errno)))
                .and_then(|()| take_identity(identity, &maps, &counts, control.as_fd()));
            let (step, errno) = ready.err().unwrap_or_else(|| {
                // 7. Execute it. Nothing of the caller's memory and environment is left.
                let arguments = [c"entrypoint", CONTROL_ARGUMENT];
                (Step::ExecuteInit, sys::execute_file(program.as_fd(), &arguments))
            });
            report_failure(control.as_fd(), step, errno);
        }
    }
    125
}

/// Leaves the caller's session keyring, whose keys its user's processes may read and the kernel uses for them.
fn leave_keyring() -> Result<(), (Step, Errno)> {
    match sys::leave_session_keyring() {
        // A user has room for 200 keys (`/proc/sys/kernel/keys/maxkeys`), and starts more sandboxes than that. The filter refuses every call
        // that would use one.
        Ok(()) | Err(Errno::DQUOT) => Ok(()),
        Err(errno) => Err((Step::Keyring, errno)),
    }
}

/// Maps the user and the group, becomes them, and creates the other namespaces, whose capabilities it keeps.
fn take_identity(
    identity: AgentIdentity,
    maps: &Maps,
    counts: &NamespaceLimits,
    control: BorrowedFd<'_>,
) -> Result<(), (Step, Errno)> {
    let failed = |step| move |errno| (step, errno);

    // 3. Map one user and one group. A normal user may do so alone, once it has given up setgroups(2)
    //    (user_namespaces(7)); root's choice of somebody else can only be written from outside.
    match identity {
        AgentIdentity::Caller(_) => maps.write_for_self().map_err(failed(Step::IdMap))?,
        AgentIdentity::Other(_) | AgentIdentity::Unallocated(_) => {
            await_byte(control, MAPPED).map_err(failed(Step::Parent))?;
            // 4. Become that user, with no supplementary group. Capabilities in the new namespace stay, since
            //    no id 0 exists there whose loss could drop them.
            set_thread_groups(&[]).map_err(failed(Step::Ids))?;
            let Ids { uid, gid } = identity.inside();
            let id = rustix::fs::Gid::from_raw(gid);
            set_thread_res_gid(id, id, id).map_err(failed(Step::Ids))?;
            let id = rustix::fs::Uid::from_raw(uid);
            set_thread_res_uid(id, id, id).map_err(failed(Step::Ids))?;
        }
    }

    // 5. Create the namespaces that it was not created in.
    unshare_namespaces()?;
    // What is used in the user namespace counts for who made it. Its limits can be set from inside, with a capability that PID 1 does not get.
    for (path, limit) in counts.files() {
        // Where the files of the kernel are read-only, as in some containers, nothing else can be done.
        let _ = write_file(path, limit.as_bytes());
    }

    // 6. Executing a program takes all capabilities from a user who is not 0, but for those that are handed on.
    capabilities::keep_across_execution().map_err(failed(Step::AmbientCapabilities))
}

/// Copies a program to a file in memory, from which it can be executed. It has no path, so it cannot be replaced.
pub fn program_in_memory(program: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(file_in_memory()?);
    file.write_all(program)?;
    Ok(file.into())
}

fn file_in_memory() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC;
    match memfd_create(c"entrypoint", flags | MemfdFlags::EXEC) {
        // Before Linux 6.3 every file in memory could be executed, and the flag is unknown.
        Err(Errno::INVAL) => Ok(memfd_create(c"entrypoint", flags)?),
        made => Ok(made?),
    }
}

/// The id maps of one user and one group, as text.
#[derive(Clone, Copy)]
struct Maps {
    uid: Line,
    gid: Line,
}

impl Maps {
    fn new(identity: AgentIdentity) -> Self {
        let (inside, outside) = (identity.inside(), identity.outside());
        let map = |inside, outside| Line::new(&format!("{inside} {outside} 1\n"));
        Self { uid: map(inside.uid, outside.uid), gid: map(inside.gid, outside.gid) }
    }

    /// Writes them from inside. Allocates nothing.
    fn write_for_self(&self) -> Result<(), Errno> {
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", self.uid.as_bytes())?;
        write_file(c"/proc/self/gid_map", self.gid.as_bytes())
    }

    /// Writes them from outside, by root.
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

fn write_file(path: &CStr, content: &[u8]) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, content).map(drop)
}

/// Writes everything, in as many calls as it takes. Allocates nothing.
fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::retry_on_intr(|| rustix::io::write(file, bytes))? {
            0 => return Err(Errno::IO),
            written => bytes = bytes.get(written..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Waits for one byte; anything else, the end of the stream included, means that the parent is gone.
fn await_byte(control: BorrowedFd<'_>, expected: u8) -> Result<(), Errno> {
    let mut byte = [0];
    let got = rustix::io::retry_on_intr(|| rustix::io::read(control, &mut byte))?;
    if got == 1 && byte[0] == expected { Ok(()) } else { Err(Errno::PIPE) }
}

/// Reports to the parent which step failed. Allocates nothing.
fn report_failure(control: BorrowedFd<'_>, step: Step, errno: Errno) {
    let message = String::new();
    let event = Event::Failed(Failure::Step { step, errno: Some(errno.raw_os_error()), message });
    let mut frame = [0; 32];
    let (header, body) = frame.split_at_mut(4);
    let Ok(length) = postcard::to_slice(&event, body).map(|body| body.len()) else { return };
    header.copy_from_slice(&u32::try_from(length).unwrap_or(0).to_le_bytes());
    // A parent that is gone needs no report.
    let _ = rustix::io::write(control, &frame[..4 + length]);
}
