//! The way in: one `clone3` makes every namespace, and the new process walks through a numbered list of steps
//! until it is PID 1 of a sandbox that knows nothing of the host.
//!
//! The caller may have threads. From `clone3` to `execveat` the new process therefore neither allocates nor
//! locks: everything it needs lies ready in [`Entry`].

use std::ffi::{CStr, CString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, unmount,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::control::{Control, Event};
use crate::sys::{self, Born};
use crate::view::View;

/// The user and group of the agent, as the sandbox sees them.
pub const AGENT_ID: u32 = 1000;

/// Everything that is needed to start PID 1 of a new sandbox.
pub struct Entry<'a> {
    /// Who the agent is on the host.
    pub identity: Identity,
    /// What there is to see.
    pub view: &'a View,
    /// The name of the host, as the sandbox sees it.
    pub hostname: &'a CStr,
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

/// The steps of the new process, in order, for reports of failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Waiting for its parent.
    Parent,
    /// Mapping the user and group.
    Map,
    /// Becoming the agent's user.
    User,
    /// Cutting the propagation of mounts.
    Propagation,
    /// Naming the host.
    Hostname,
    /// Bringing the loopback interface up.
    Loopback,
    /// Making the root file system.
    Root,
    /// Changing the root.
    Pivot,
    /// Letting go of the host's file systems.
    Detach,
    /// Making the root file system read-only.
    Seal,
    /// Emptying the bounding set of capabilities.
    Bounding,
    /// Ordering the descriptors.
    Descriptors,
    /// Executing PID 1.
    Execute,
    /// An operation of the view.
    View(u16),
}

impl Step {
    const PLAIN: [Self; 13] = [
        Self::Parent,
        Self::Map,
        Self::User,
        Self::Propagation,
        Self::Hostname,
        Self::Loopback,
        Self::Root,
        Self::Pivot,
        Self::Detach,
        Self::Seal,
        Self::Bounding,
        Self::Descriptors,
        Self::Execute,
    ];

    fn code(self) -> u32 {
        match self {
            Self::View(at) => 1000 + u32::from(at),
            plain => (0..).zip(Self::PLAIN).find(|(_, step)| *step == plain).map_or(999, |(code, _)| code),
        }
    }

    /// The step that a [`Event::SetUp`] names.
    pub fn from_code(code: u32) -> Option<Self> {
        match code.checked_sub(1000) {
            Some(at) => u16::try_from(at).ok().map(Self::View),
            None => Self::PLAIN.get(code as usize).copied(),
        }
    }

    /// What was being done, in words.
    pub fn describe(self, view: &View) -> String {
        match self {
            Self::Parent => "waiting for the launcher".into(),
            Self::Map => "mapping the user into a new user namespace".into(),
            Self::User => "becoming the agent's user".into(),
            Self::Propagation => "cutting the propagation of mounts".into(),
            Self::Hostname => "setting the host name".into(),
            Self::Loopback => "bringing the loopback interface up".into(),
            Self::Root => "making the root file system".into(),
            Self::Pivot => "changing the root".into(),
            Self::Detach => "letting go of the host's file systems".into(),
            Self::Seal => "making the root file system read-only".into(),
            Self::Bounding => "emptying the bounding set of capabilities".into(),
            Self::Descriptors => "ordering the descriptors".into(),
            Self::Execute => "executing PID 1".into(),
            Self::View(at) => view.describe(usize::from(at)),
        }
    }
}

/// The namespaces every sandbox has.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// Our two single-byte messages to a process that is not PID 1 yet.
const MAPPED: u8 = b'm';
const GO: u8 = b'g';

/// Starts the first process of a new sandbox.
///
/// `program` writes PID 1's program and is called while the new process builds its view on another processor.
/// It is executed with the number of its control socket as its only argument, and with no environment.
///
/// # Errors
///
/// The error of `clone3`, or of the maps. Failures of later steps arrive as [`Event::SetUp`].
pub fn enter(
    entry: &Entry<'_>,
    program: &OwnedFd,
    write: impl FnOnce() -> io::Result<()>,
) -> io::Result<Entered> {
    let (mut ours, theirs) = Control::pair()?;
    let theirs = theirs.as_fd();
    let argument = CString::new(format!("{}{}", crate::init::CONTROL_ARGUMENT, theirs.as_raw_fd()))
        .map_err(io::Error::other)?;
    let (Identity::Caller { uid, gid } | Identity::Other { uid, gid }) = entry.identity;
    let maps = Maps::new(uid, gid);
    let all_signals = nix::sys::signal::SigSet::all();
    let before = all_signals.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
    let born = sys::clone3(NAMESPACES, entry.cgroup);
    if let Ok(Born::Child) = born {
        let (step, errno) = first_process(entry, &maps, theirs, ours.as_fd(), program.as_fd(), &argument);
        report_failure(theirs, step, errno);
        // Not `exit`: nothing of the caller's may run here.
        sys::exit_now(125);
    }
    before.thread_set_mask()?;
    let Born::Parent { pid, pidfd } = born? else { return Err(io::Error::other("clone3 returned twice")) };
    let entered = |control| Entered { pid, pidfd, control };
    if let Identity::Other { .. } = entry.identity {
        maps.write_for(pid)?;
        ours.write_raw(&[MAPPED])?;
    }
    write()?;
    // A process that failed early has closed its side; what it said is still there to be read.
    match ours.write_raw(&[GO]) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(entered(ours)),
    }
}

/// The life of the new process until it executes PID 1. Returns only what failed.
///
/// Between here and `execveat` nothing allocates and nothing locks.
fn first_process(
    entry: &Entry<'_>,
    maps: &Maps,
    control: BorrowedFd<'_>,
    parents_control: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
    argument: &CStr,
) -> (Step, Errno) {
    match walk_in(entry, maps, control, parents_control) {
        Ok(()) => {}
        Err(failed) => return failed,
    }
    // 13. Execute PID 1 once its program is complete. Nothing of the caller's memory and environment is left.
    if let Err(errno) = await_byte(control, GO) {
        return (Step::Parent, errno);
    }
    (Step::Execute, sys::execute_file(program, &[c"entrypoint", argument]))
}

fn walk_in(
    entry: &Entry<'_>,
    maps: &Maps,
    control: BorrowedFd<'_>,
    parents_control: BorrowedFd<'_>,
) -> Result<(), (Step, Errno)> {
    let failed = |step| move |errno| (step, errno);

    // 1. Let go of the parent's end of the control socket: it is the lifeline, and only the parent's death may
    //    close it.
    sys::close_now(parents_control);

    // 2. Map one user and one group. A normal user may do so alone, once it has given up setgroups(2)
    //    (user_namespaces(7)); root's choice of somebody else can only be written from outside.
    match entry.identity {
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

    // 4. What is mounted here stays here, and what the host mounts later does not come in.
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(failed(Step::Propagation))?;

    // 5. A name of its own: the host's is nobody's business.
    rustix::system::sethostname(entry.hostname.to_bytes()).map_err(failed(Step::Hostname))?;

    // 6. Loopback up: test servers listen there, and nothing else is reachable.
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(failed(Step::Loopback))?;
    sys::loopback_up(socket.as_fd()).map_err(failed(Step::Loopback))?;

    // 7. An empty root. It lies on top of the old one, where absolute paths do not lead: they still start at
    //    the old root, so sources are found wherever they are, /tmp included.
    let root = empty_root().map_err(failed(Step::Root))?;

    // 8. Everything there is to see.
    rustix::process::umask(Mode::empty());
    entry
        .view
        .build(root.as_fd())
        .map_err(|(at, errno)| (Step::View(u16::try_from(at).unwrap_or(u16::MAX)), errno))?;
    rustix::process::umask(Mode::from_raw_mode(0o022));

    // 9. Make it the root, and let the host's file systems go: pivot_root(2) with both paths the same puts the
    //    old root on top, where it is unmounted from. chroot(2) would leave a way back.
    rustix::process::fchdir(&root).map_err(failed(Step::Pivot))?;
    rustix::process::pivot_root(c".", c".").map_err(failed(Step::Pivot))?;
    unmount(c".", UnmountFlags::DETACH).map_err(failed(Step::Detach))?;
    rustix::process::chdir(c"/").map_err(failed(Step::Detach))?;

    // 10. The root itself changes no more.
    let sealed = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    sys::mount_setattr(root.as_fd(), false, u64::from(sealed.bits()), None).map_err(failed(Step::Seal))?;

    // 11. The bounding set, while there is a capability that allows it: executing PID 1 as a user who is not 0
    //     takes all of them away.
    crate::capabilities::drop_bounding().map_err(|error| (Step::Bounding, error.source))?;

    // 12. Three standard streams and the control socket cross over; whatever else the caller had open does not.
    for (target, stream) in (0..).zip(entry.streams) {
        sys::duplicate_onto(stream, target).map_err(failed(Step::Descriptors))?;
    }
    sys::close_from_on_exec(3).map_err(failed(Step::Descriptors))?;
    rustix::io::fcntl_setfd(control, FdFlags::empty()).map_err(failed(Step::Descriptors))
}

/// An empty tmpfs mounted on top of `/`. Small: files of the sandbox lie in mounts of their own.
fn empty_root() -> Result<OwnedFd, Errno> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), c"mode", c"0755")?;
    fsconfig_set_string(context.as_fd(), c"size", c"4m")?;
    fsconfig_create(context.as_fd())?;
    let root = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    move_mount(root.as_fd(), c"", rustix::fs::CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(root)
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
    let event = Event::SetUp { step: step.code(), errno: errno.raw_os_error() };
    let mut frame = [0; 32];
    let (header, body) = frame.split_at_mut(4);
    let Ok(length) = postcard::to_slice(&event, body).map(|body| body.len()) else { return };
    header.copy_from_slice(&u32::try_from(length).unwrap_or(0).to_le_bytes());
    // If nobody listens any more there is nobody to tell.
    let _ = rustix::io::write(control, &frame[..4 + length]);
}
