//! Every unsafe block of this project: thin wrappers over system calls that have no safe form elsewhere, and the clearing of
//! memory that nothing safe can name.
//!
//! Each wrapper is as small as the call it wraps, and safe to call with any argument its types admit: none closes, replaces or
//! takes a descriptor that something else owns, and none lets two owners of memory run at once.
#![expect(unsafe_code, reason = "this is the one place where what has no safe form is done")]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::CStr;
use std::hint::black_box;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::{io, mem, ptr};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

// --- namespaces, mounts, processes -------------------------------------------------------------------------

/// The descriptors that a new process keeps.
pub(crate) struct KeptDescriptors<'a> {
    /// Numbers 0 to 2.
    pub(crate) streams: [BorrowedFd<'a>; 3],
    /// Number 3.
    pub(crate) control: BorrowedFd<'a>,
    /// Number 4, which closes when a program is executed.
    pub(crate) program: BorrowedFd<'a>,
}

/// The descriptor table of a new process.
pub(crate) enum ChildTable<'a> {
    /// It has its streams, these two, and nothing else.
    Clean { control: OwnedFd, program: OwnedFd },
    /// It could not be arranged.
    Failed { control: BorrowedFd<'a>, errno: Errno },
}

/// The process id of a new process, and a descriptor that stays true to it.
pub(crate) struct Child {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
}

/// Calls `clone3(2)` without a shared address space. The new process runs `child` and ends with what that returns.
///
/// It keeps five descriptors and closes all others at once, whoever owns them in this process: so it gets no value of this
/// process but `data`, which owns and borrows nothing.
///
/// Other threads of this process may have held any lock at this moment: until it has executed another program, `child`
/// waits forever if it allocates or locks. Signal handlers are reset in it (`CLONE_CLEAR_SIGHAND`), so that no handler of
/// the host runs there.
pub(crate) fn clone3<D: Copy + 'static>(
    namespaces: u64,
    cgroup: Option<BorrowedFd<'_>>,
    kept: &KeptDescriptors<'_>,
    data: D,
    child: fn(D, ChildTable<'_>) -> i32,
) -> io::Result<Child> {
    const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    const CLONE_PIDFD: u64 = 0x1000;
    #[repr(C)]
    struct Arguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    let mut pidfd: RawFd = -1;
    let mut flags = namespaces | CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
    if cgroup.is_some() {
        flags |= CLONE_INTO_CGROUP;
    }
    let arguments = Arguments {
        flags,
        pidfd: (&raw mut pidfd).expose_provenance() as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: cgroup.map_or(0, |fd| u64::from(fd.as_raw_fd().unsigned_abs())),
    };
    // SAFETY: `arguments` is a live clone_args of the size given; no stack is named and no memory is shared,
    // so the child goes on with its own copy of this one.
    // JUSTIFICATION: no crate here wraps clone3, and fork cannot make a PID namespace for its child.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<Arguments>()) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let table = match clean_table(kept) {
                Ok((control, program)) => ChildTable::Clean { control, program },
                Err(errno) => ChildTable::Failed { control: kept.control, errno },
            };
            // Not `exit`: no destructor of this process may run in its copy.
            exit_now(child(data, table))
        }
        pid => {
            // SAFETY: the kernel has just written this descriptor for us and nobody else knows it.
            // JUSTIFICATION: a descriptor that a raw call returns has to be given an owner somewhere.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Child { pid: i32::try_from(pid).map_err(io::Error::other)?, pidfd })
        }
    }
}

/// Moves what a new process keeps to the first five numbers and closes everything else. Allocates nothing.
fn clean_table(kept: &KeptDescriptors<'_>) -> Result<(OwnedFd, OwnedFd), Errno> {
    const CONTROL: RawFd = 3;
    const PROGRAM: RawFd = 4;
    // Out of the way first: any of them may lie where another one goes.
    let aside = |fd: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, PROGRAM + 1);
    let [input, output, error] = kept.streams;
    let moved = [aside(input)?, aside(output)?, aside(error)?, aside(kept.control)?, aside(kept.program)?];
    for (target, fd) in (0..).zip(&moved) {
        // SAFETY: this process is a copy in which no owner of any descriptor lives on but in `moved`, which lies higher.
        // JUSTIFICATION: safe forms of dup2 want an owner for the target, and here there is none.
        if unsafe { libc::dup2(fd.as_raw_fd(), target) } == -1 {
            return Err(last_errno());
        }
    }
    drop(moved);
    // SAFETY: as above, and `moved` is gone.
    // JUSTIFICATION: no crate here wraps close_range.
    if unsafe { libc::syscall(libc::SYS_close_range, PROGRAM + 1, u32::MAX, 0) } == -1 {
        return Err(last_errno());
    }
    // SAFETY: it was made above, and nothing in this process owns it.
    // JUSTIFICATION: dup2 returns no owner.
    let control = unsafe { OwnedFd::from_raw_fd(CONTROL) };
    // SAFETY: as above.
    // JUSTIFICATION: as above.
    let program = unsafe { OwnedFd::from_raw_fd(PROGRAM) };
    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::CLOEXEC)?;
    Ok((control, program))
}

/// A stack for a child, with pages below it that nothing can be written to.
struct GuardedStack(*mut libc::c_void);

impl GuardedStack {
    /// As large as the largest page of any machine.
    const GUARD: usize = 64 << 10;
    const SIZE: usize = Self::GUARD + (128 << 10);

    fn new() -> io::Result<Self> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: asks for new memory, at no given address.
        // JUSTIFICATION: an allocator gives no memory that is protected below.
        let base = unsafe { libc::mmap(ptr::null_mut(), Self::SIZE, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self(base);
        // SAFETY: the pages are those that were just mapped, and nothing lies in them.
        // JUSTIFICATION: as above.
        if unsafe { libc::mprotect(base, Self::GUARD, libc::PROT_NONE) } == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(stack)
    }

    fn top(&self) -> *mut libc::c_void {
        self.0.wrapping_byte_add(Self::SIZE)
    }
}

impl Drop for GuardedStack {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own, and whoever ran on it has ended or executed a program.
        // JUSTIFICATION: what is mapped by hand is unmapped by hand.
        unsafe { libc::munmap(self.0, Self::SIZE) };
    }
}

/// Forks a child that borrows this process's memory, and suspends this thread until the child has executed a program or
/// ended (`CLONE_VM | CLONE_VFORK`, clone(2)): no page is copied for a process that gives all of them up at once.
///
/// `child` gets its descriptor table, in which it may put what it likes. What it returns is its exit status; what it wrote to its
/// captures is there when this returns: it goes on in place of this thread. Its stack is small, and ends at a page that kills it. A
/// panic ends it.
pub(crate) fn vfork(child: &mut dyn FnMut(OwnTable) -> i32) -> io::Result<i32> {
    extern "C" fn run(argument: *mut libc::c_void) -> libc::c_int {
        let child = argument.cast::<&mut dyn FnMut(OwnTable) -> i32>();
        // SAFETY: the parent is suspended inside `vfork`, where the closure lives, until we are gone.
        // JUSTIFICATION: clone(2) passes one untyped pointer.
        let child = unsafe { &mut *child };
        child(OwnTable(()))
    }
    let mut child = child;
    let stack = GuardedStack::new()?;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours, aligned, guarded, and outlives the child's use of it, because this thread does not go on
    // before the child has executed or ended; so does the closure.
    // JUSTIFICATION: fork copies the memory of a process that needs none of it, and a safe spawn cannot set up
    // terminal, session and cgroup in between.
    match unsafe { libc::clone(run, stack.top(), flags, (&raw mut child).cast()) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(pid),
    }
}

/// The descriptor table of a process that [`vfork`] has started: a copy, in which no number belongs to anybody for longer than
/// until the process executes a program or ends.
pub(crate) struct OwnTable(());

impl OwnTable {
    /// Puts each descriptor at its number, where it stays open when a program is executed. The numbers differ; those below 3
    /// are refused. What was there before is closed.
    ///
    /// Owners in the caller that lie at one of these numbers see another file from now on, so this is the last thing before a
    /// program is executed.
    pub(crate) fn place(self, descriptors: &[(u32, BorrowedFd<'_>)]) -> Result<(), Errno> {
        // Used up: there is one table, and it is arranged once.
        let Self(()) = self;
        let number =
            |wanted: u32| RawFd::try_from(wanted).ok().filter(|number| *number > 2).ok_or(Errno::BADF);
        let is_wanted =
            |fd: &OwnedFd| descriptors.iter().any(|(wanted, _)| number(*wanted) == Ok(fd.as_raw_fd()));
        // Out of the way first: any of them may lie where another one goes.
        let mut aside = Vec::with_capacity(descriptors.len());
        for (_, descriptor) in descriptors {
            let mut moved = rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?;
            while is_wanted(&moved) {
                moved = rustix::io::fcntl_dupfd_cloexec(descriptor, moved.as_raw_fd() + 1)?;
            }
            aside.push(moved);
        }
        for ((wanted, _), moved) in descriptors.iter().zip(&aside) {
            // SAFETY: the call touches no memory. The table is this process's alone: what owns a number in the memory that it
            // borrows owns it in its parent's table, which does not change. Nothing in `aside` lies at any of the numbers.
            // JUSTIFICATION: safe forms of dup2 want an owner for the target, and here there is none.
            if unsafe { libc::dup2(moved.as_raw_fd(), number(*wanted)?) } == -1 {
                return Err(last_errno());
            }
        }
        Ok(())
    }
}

/// What executes this program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Machine {
    /// A processor, so that this program's system calls are the kernel's to answer.
    Real,
    /// Another program, which makes system calls in its place: some it refuses itself, and it has threads of its own.
    Emulated,
}

/// Calls `fork(2)` in a process with one thread; returns `None` in the child.
///
/// Fails where the process has other threads: its child could find any lock taken. An emulator's own threads stand in the
/// same list. They run none of this program's code and know none of its locks, and the emulator, which makes the call,
/// has its own in order on both sides: so the list there proves nothing, and callers must start no thread.
pub(crate) fn fork_single_threaded(machine: Machine) -> io::Result<Option<i32>> {
    if machine == Machine::Real && std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("fork in a process with threads"));
    }
    // SAFETY: this program has no other thread, so the child may do whatever the parent may.
    // JUSTIFICATION: every safe spawn executes a program at once; here the child sets its own terminal and
    // user first.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Some(pid)),
    }
}

/// A process that exists for its user namespace alone, until this is dropped.
#[derive(Debug)]
pub(crate) struct NamespaceHolder {
    pid: i32,
    /// What the child waits on: it closes its copy of the first and reads the end of the second.
    _ends: Box<[RawFd; 2]>,
    lifeline: Option<OwnedFd>,
    _stack: Vec<u128>,
}

impl NamespaceHolder {
    /// Makes one. The child borrows this process's memory, of which it uses nothing but its stack.
    pub(crate) fn new() -> io::Result<Self> {
        extern "C" fn wait(ends: *mut libc::c_void) -> libc::c_int {
            // SAFETY: the two numbers live as long as this process does, and nobody writes to them.
            // JUSTIFICATION: clone(2) passes one untyped pointer.
            let [write, read] = unsafe { *ends.cast::<[RawFd; 2]>() };
            // SAFETY: closes a descriptor in this process's own table.
            // JUSTIFICATION: its owner is in the parent.
            unsafe { libc::syscall(libc::SYS_close, write) };
            let mut byte = 0_u8;
            // SAFETY: writes at most one byte, into this process's own stack.
            // JUSTIFICATION: as above; and no wrapper may touch memory that two processes share.
            unsafe { libc::syscall(libc::SYS_read, read, &raw mut byte, 1_usize) };
            0
        }
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut ends = Box::new([write.as_raw_fd(), read.as_raw_fd()]);
        let mut stack = vec![0_u128; 1 << 10];
        let top = stack.as_mut_ptr_range().end;
        let flags = libc::CLONE_VM | libc::CLONE_NEWUSER | libc::SIGCHLD;
        // SAFETY: stack and numbers are the child's alone; they are freed after the drop below has seen it end,
        // or never.
        // JUSTIFICATION: a namespace is created with a process, and copying our memory for it costs ten times more.
        let pid = unsafe { libc::clone(wait, top.cast(), flags, (&raw mut *ends).cast()) };
        match pid {
            -1 => Err(io::Error::last_os_error()),
            pid => Ok(Self { pid, _ends: ends, lifeline: Some(write), _stack: stack }),
        }
    }

    /// Returns the number of the process.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }
}

impl Drop for NamespaceHolder {
    fn drop(&mut self) {
        self.lifeline = None;
        // Killed and not only let go: the child of another thread may hold a copy of our end of the pipe. If somebody
        // else collects our children, there is nothing to wait for.
        let pid = rustix::process::Pid::from_raw(self.pid);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = rustix::io::retry_on_intr(|| {
            rustix::process::waitpid(pid, rustix::process::WaitOptions::empty())
        });
    }
}

/// Calls `execveat(2)` on the file itself, with an empty environment and ready-made arguments. Returns only on failure.
pub(crate) fn execute_file(file: BorrowedFd<'_>, arguments: &[&CStr; 2]) -> Errno {
    let argv = [arguments[0].as_ptr(), arguments[1].as_ptr(), ptr::null()];
    let envp: [*const libc::c_char; 1] = [ptr::null()];
    // SAFETY: all three lists are live and end in a null pointer; on success nothing of this program is left.
    // JUSTIFICATION: safe wrappers collect their arguments into a vector, and here nothing may be allocated.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            file.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            envp.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    last_errno()
}

/// Calls `mount_setattr(2)` on the mount that `tree` is, and with `recursive` on all below it. Makes them private as well: a copy
/// of a shared mount is its peer (`mount_namespaces(7)`), so that what is mounted on it appears on the host, and the other way round.
///
/// `id_map` is a user namespace: owners on disk are shown as that namespace maps them.
pub(crate) fn mount_setattr(
    tree: BorrowedFd<'_>,
    recursive: bool,
    set: u64,
    id_map: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
    let attributes = Attributes {
        set: set | if id_map.is_some() { MOUNT_ATTR_IDMAP } else { 0 },
        clear: 0,
        propagation: libc::MS_PRIVATE,
        user_namespace: id_map.map_or(0, |fd| u64::from(fd.as_raw_fd().unsigned_abs())),
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: `attributes` is a live mount_attr of the size given; the path is an empty C string.
    // JUSTIFICATION: neither rustix nor nix wraps mount_setattr.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Sets close-on-exec on every descriptor from `first` up. Needs Linux 5.11 (`close_range(2)`).
pub fn close_from_on_exec(first: u32) -> Result<(), Errno> {
    // SAFETY: marking descriptors closes none of them, so no owner loses what it owns.
    // JUSTIFICATION: no crate here wraps close_range.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Leaves behind what a process has of whoever started it and keeps when it becomes another user: open descriptors, which from
/// number 3 on close when a program is executed; the session keyring, whose keys it may read (session-keyring(7)); and the
/// controlling terminal, into which it may type (`TIOCSTI`).
///
/// The keyring is the calling thread's. A process that leads its session keeps the terminal: it would hang up, and nobody of
/// that session reads there afterwards. What it starts can leave it ([`leave_behind_in`]).
pub fn leave_behind() -> Result<(), Errno> {
    // 1. The descriptors.
    close_from_on_exec(3)?;

    // 2. The keyring: a new one, which is empty.
    leave_session_keyring()?;

    // 3. The terminal. Not by a session of its own: a process can be in no group of another session, and its guard ends it by
    //    its group.
    if leads_session() {
        return Ok(());
    }
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(c"/dev/tty", flags, Mode::empty()) {
        Ok(terminal) => {
            // SAFETY: the call takes no argument and touches no memory.
            // JUSTIFICATION: no crate here wraps this ioctl.
            let left = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY as _) };
            if left == 0 { Ok(()) } else { Err(last_errno()) }
        }
        Err(Errno::NXIO) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Leaves the session keyring of whoever started this process, for a new one without a key (session-keyring(7)). Allocates
/// nothing here.
pub(crate) fn leave_session_keyring() -> Result<(), Errno> {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_int = 1;
    // SAFETY: without a name the call reads no memory.
    // JUSTIFICATION: no crate here wraps keyctl.
    let joined =
        unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, ptr::null::<libc::c_char>()) };
    if joined != -1 {
        return Ok(());
    }
    match last_errno() {
        // A kernel without keys, and a filter that refuses this call to whatever is executed, too.
        Errno::NOSYS | Errno::PERM => Ok(()),
        errno => Err(errno),
    }
}

/// Says whether this process leads its session.
///
/// By numbers: the session of a process is 0 where its leader is in another pid namespace (`pid_namespaces(7)`), which rustix
/// takes for impossible.
pub(crate) fn leads_session() -> bool {
    nix::unistd::getsid(None) == Ok(nix::unistd::getpid())
}

/// Has a child do that before it executes its program.
pub fn leave_behind_in(command: &mut std::process::Command) {
    // SAFETY: until it executes a program the child only makes system calls; it neither allocates nor locks.
    // JUSTIFICATION: nothing else runs in a child of the standard library.
    unsafe { command.pre_exec(|| Ok(leave_behind()?)) };
}

/// Has a child become a user with one group for good, and then leave behind the same, before it executes its program.
///
/// Not by the standard library's own change of user, which leaves capabilities to the secure bits that root has.
pub fn become_user_in(command: &mut std::process::Command, uid: u32, gid: u32) {
    let become_user = move || {
        crate::credentials::become_user_alone(uid, gid)?;
        Ok(leave_behind()?)
    };
    // SAFETY: until it executes a program the child only makes system calls; it neither allocates nor locks.
    // JUSTIFICATION: nothing else runs in a child of the standard library.
    unsafe { command.pre_exec(become_user) };
}

/// Brings the loopback interface of this network namespace up (`SIOCSIFFLAGS`, see netdevice(7)).
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: ifreq is plain old data for which all zeroes is a value.
    // JUSTIFICATION: ifreq has no constructor.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
    // SAFETY: the request is a live ifreq with a terminated name, which the call only reads.
    // JUSTIFICATION: no crate here wraps this ioctl without a dependency of its own.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Duplicates a descriptor that this process was executed with, close-on-exec. Fails if it is not open.
///
/// The number itself is not taken: nobody can see whether something in this process owns it. So it stays open until this
/// process ends or executes a program ([`close_from_on_exec`]).
pub(crate) fn duplicate_inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers and touches no memory, and closes no descriptor.
    // JUSTIFICATION: safe forms want a descriptor that is known to be open, which is the question here.
    let duplicate = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if duplicate == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    // JUSTIFICATION: a descriptor that a raw call returns has to be given an owner somewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(duplicate) })
}

/// Duplicates a descriptor that the caller of this program has left open for it, close-on-exec. `EBADF` if it is not open, or
/// if it closes when a program is executed: then this program has opened it itself.
///
/// As for every descriptor that is inherited, the number itself is not taken.
pub fn duplicate_passed(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers and touches no memory, and closes no descriptor.
    // JUSTIFICATION: safe forms want a descriptor that is known to be open, which is the question here.
    match unsafe { libc::fcntl(fd, libc::F_GETFD) } {
        -1 => Err(io::Error::last_os_error()),
        flags if flags & libc::FD_CLOEXEC != 0 => Err(Errno::BADF.into()),
        _ => duplicate_inherited(fd),
    }
}

/// Returns the supplementary groups of the peer of a socket, as this process's user namespace numbers them
/// (`SO_PEERGROUPS` in socket(7)).
pub(crate) fn peer_groups(socket: BorrowedFd<'_>) -> Result<Vec<u32>, Errno> {
    // asm-generic/socket.h; the same on every processor that this runs on.
    const SO_PEERGROUPS: libc::c_int = 59;
    // As many as a process may have (NGROUPS_MAX).
    let mut groups = vec![0_u32; 1 << 16];
    let mut length =
        libc::socklen_t::try_from(size_of_val(groups.as_slice())).map_err(|_| Errno::OVERFLOW)?;
    // SAFETY: `groups` is live and as long as `length` says, and the kernel writes no more than that.
    // JUSTIFICATION: neither rustix nor nix has this option.
    let got = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            ptr::from_mut(&mut length),
        )
    };
    if got == -1 {
        return Err(last_errno());
    }
    groups.truncate(length as usize / size_of::<u32>());
    Ok(groups)
}

/// Calls `_exit(2)`: ends this process and runs nothing on the way out.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: does not return, and touches no memory.
    // JUSTIFICATION: `std::process::exit` runs the exit handlers of a caller that this process is a copy of.
    unsafe { libc::_exit(code) }
}

/// Calls `rt_sigaction(2)` to give a signal its default action.
///
/// Numbers that cannot be set are refused by the kernel. A C library keeps two for itself and will not touch them, and
/// glibc's `posix_spawn` leaves them ignored in every program that it starts: hence the call itself.
pub(crate) fn default_signal(signal: i32) {
    #[repr(C)]
    struct Action {
        handler: usize,
        flags: libc::c_ulong,
        restorer: usize,
        mask: u64,
    }
    let action = Action { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
    // SAFETY: `action` is a live sigaction as the kernel of a 64-bit machine has it, and only read; no handler is named.
    // JUSTIFICATION: safe wrappers know only named signals, and those of a C library keep two back.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            signal,
            &raw const action,
            ptr::null_mut::<Action>(),
            size_of::<u64>(),
        )
    };
}

/// Returns the error of the last system call, without touching the heap.
fn last_errno() -> Errno {
    Errno::from_raw_os_error(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

// --- seccomp, capabilities, limits ---------------------------------------------------------------

/// Calls `prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER)`: puts a filter on this thread for good.
pub(crate) fn seccomp_filter(program: &[libc::sock_filter]) -> Result<(), Errno> {
    let Ok(len) = u16::try_from(program.len()) else { return Err(Errno::INVAL) };
    // The kernel only reads the instructions; the pointer is mutable for reasons of history.
    let filter = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: `filter` describes a live slice; the kernel checks every jump before it takes the program.
    // JUSTIFICATION: neither rustix nor nix wraps seccomp.
    let done = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Calls `io_uring_setup(0, NULL)`, which cannot succeed: the error shows who refused it.
pub(crate) fn io_uring_setup_without_parameters() -> Errno {
    // SAFETY: without a place for parameters nothing can be set up or written.
    // JUSTIFICATION: a call that is meant to fail has no wrapper.
    unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, ptr::null::<u8>()) };
    last_errno()
}

// --- memory ------------------------------------------------------------------------------------------------

/// An allocator that clears whatever is given back to it: copies of secrets too that are made on the way through libraries,
/// by growing, or for an environment.
#[derive(Debug)]
pub struct Clearing<A>(pub A);

// SAFETY: everything is asked of another allocator, with the arguments of the caller. `realloc` is the one that comes with
// the trait: it makes a new block and gives the old one back.
// JUSTIFICATION: the trait is unsafe, and nothing else learns what is freed.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Clearing<A> {
    // SAFETY: the caller keeps the rules of this function of the trait.
    // JUSTIFICATION: it is unsafe there.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        // JUSTIFICATION: as above.
        unsafe { self.0.alloc(layout) }
    }

    // SAFETY: the caller keeps the rules of this function of the trait.
    // JUSTIFICATION: it is unsafe there.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        // JUSTIFICATION: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    // SAFETY: the caller keeps the rules of this function of the trait.
    // JUSTIFICATION: it is unsafe there.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is as large as its layout says, and the caller does not use it any more.
        // JUSTIFICATION: memory that is being given back has no safe name.
        unsafe { block.write_bytes(0, layout.size()) };
        // Without this the compiler may leave out writes to memory that is freed next.
        black_box(block);
        // SAFETY: as above.
        // JUSTIFICATION: as above.
        unsafe { self.0.dealloc(block, layout) };
    }
}

/// Clears the values of variables in the environment that this process was started with, which `/proc/PID/environ` shows.
///
/// Does nothing where the process has other threads: they may be reading it.
pub fn clear_variables(names: &[&str]) {
    unsafe extern "C" {
        static environ: *const *mut libc::c_char;
    }
    if names.is_empty() || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count) != 1 {
        return;
    }
    // SAFETY: the C library sets it before `main`, and no other thread can be setting it.
    // JUSTIFICATION: the standard library copies variables, and never shows where they lie.
    let mut entry = unsafe { environ };
    while !entry.is_null() {
        // SAFETY: the list ends with a null pointer, which is not stepped over.
        // JUSTIFICATION: as above.
        let bytes = unsafe { *entry };
        if bytes.is_null() {
            break;
        }
        // SAFETY: each entry is a string that ends with a NUL, and lives as long as the process. Nobody else refers to it.
        // JUSTIFICATION: as above.
        let variable = unsafe { CStr::from_ptr(bytes) };
        let is_named = |name: &&str| {
            variable.to_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        };
        if let Some(name) = names.iter().find(|name| is_named(name)) {
            let (start, length) = (name.len() + 1, variable.count_bytes());
            for at in start..length {
                // SAFETY: it lies in the string, which the kernel has put into memory of this process that it may write.
                // JUSTIFICATION: as above.
                unsafe { bytes.wrapping_add(at).write_volatile(0) };
            }
        }
        // SAFETY: the entry was not the last one.
        // JUSTIFICATION: as above.
        entry = unsafe { entry.add(1) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::process::{Pid, WaitOptions, waitpid};

    use super::*;

    #[test]
    fn a_number_that_is_taken_twice_has_two_owners_and_stays_open() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let number = file.as_raw_fd();
        drop((duplicate_inherited(number).unwrap(), duplicate_inherited(number).unwrap()));
        assert!(rustix::fs::fstat(file.as_fd()).is_ok());
        assert!(duplicate_inherited(1 << 20).is_err());
    }

    #[test]
    fn a_number_is_passed_only_if_a_program_would_keep_it() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(duplicate_passed(file.as_raw_fd()).is_err());
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let passed = duplicate_passed(file.as_raw_fd()).unwrap();
        assert_eq!(rustix::io::fcntl_getfd(passed).unwrap(), rustix::io::FdFlags::CLOEXEC);
        assert!(duplicate_passed(1 << 20).is_err());
    }

    #[test]
    fn descriptors_change_places_in_a_child_and_nowhere_else() {
        let files = ["/dev/null", "/dev/zero"].map(|path| std::fs::File::open(path).unwrap());
        let [null, zero] = files.each_ref().map(|file| file.as_fd());
        let [of_null, of_zero] = [null, zero].map(|fd| fd.as_raw_fd().unsigned_abs());
        let device = |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).unwrap().st_rdev;
        let before = [device(null), device(zero)];
        let mut seen = None;
        let pid = vfork(&mut |table| {
            let placed = table.place(&[(of_zero, null), (of_null, zero)]);
            seen = Some((placed, [device(zero), device(null)], rustix::io::fcntl_getfd(null)));
            0
        });
        waitpid(Pid::from_raw(pid.unwrap()), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(seen, Some((Ok(()), before, Ok(rustix::io::FdFlags::empty()))));
        assert_eq!([device(null), device(zero)], before);
    }

    #[test]
    fn a_child_that_needs_more_stack_than_it_has_ends_alone() {
        fn deep(level: u64) -> u64 {
            let room = black_box([level; 512]);
            room[0] + if level == 0 { 0 } else { deep(level - 1) }
        }
        let mut seen = 0;
        let pid = vfork(&mut |_| {
            seen = 1;
            i32::from(deep(1 << 20) == 0)
        });
        let (_, status) = waitpid(Pid::from_raw(pid.unwrap()), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.terminating_signal(), Some(libc::SIGSEGV));
        assert_eq!(seen, 1);
    }
}
