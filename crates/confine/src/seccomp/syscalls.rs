//! The allow-list as data: which system call may be made, and with which arguments.
//!
//! A number that stands nowhere here gets ENOSYS, which is what an older kernel would say: every libc then
//! falls back to what it did before the call existed. Calls that are refused on purpose get EPERM, so that
//! whoever reads a trace sees a decision and not an old kernel.
//!
//! Only the low 32 bits of an argument are compared. Every argument looked at here is an `int`, an `unsigned
//! int` or a `umode_t` in the kernel, which drops the rest: a comparison of all 64 bits would let `AF_PACKET
//! | 1 << 32` pass for an unknown family. `ptrace` alone reads a `long`; there the low half refuses a little
//! more. Whether a pointer is null is asked of both halves.

#![cfg_attr(
    not(test), // where clippy does not look for it
    expect(clippy::wildcard_imports, reason = "three hundred names, each of them spelt out below")
)]
#![expect(non_upper_case_globals, reason = "the names of the libc crate, also where it has none yet")]

use libc::*;

/// What the filter answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SeccompAction {
    Allow,
    /// The call is not made and returns this error.
    Refuse(c_int),
    /// The call is not made and returns 0: what it asks for holds already, or programs work without it and fail by an error.
    Pretend,
}

/// A question about one argument.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Test {
    /// The masked low half of argument `arg` is one of `values`.
    OneOf { arg: u8, mask: u32, values: &'static [u32] },
    /// The low half of argument `arg` has at least one bit of `mask`.
    AnyBit { arg: u8, mask: u32 },
    /// Argument `arg`, a pointer, is not null: all of its 64 bits count.
    NotNull { arg: u8 },
}

/// An answer that is given when all tests say yes.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Case {
    pub(super) when: &'static [Test],
    pub(super) then: SeccompAction,
}

/// System calls that get the same answer: that of the first case that holds, else `otherwise`.
#[derive(Debug)]
pub(super) struct SyscallGroup {
    pub(super) calls: &'static [c_long],
    pub(super) cases: &'static [Case],
    pub(super) otherwise: SeccompAction,
}

/// The answer to a number that is in no group.
pub(super) const UNKNOWN: SeccompAction = SeccompAction::Refuse(ENOSYS);

/// What holds besides where PID 1 is ours: scheduled as idle on a processor that is busy, or out of its limits, it could not
/// end the sandbox when that is due. It has the agent's user, and its number is the same in every sandbox. The kernel's other
/// ways to name it are its group, whose number nobody inside knows, and its user.
#[rustfmt::skip] // a paragraph for each group, not a line for each call
pub(super) static WHERE_PID_1_IS_OURS: &[SyscallGroup] = &[
    checked(
        &[SYS_sched_setaffinity, SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr],
        &[Case { when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[1] }], then: REFUSED }],
    ),
    checked(&[SYS_prlimit64], &[
        Case { when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[1] }], then: REFUSED },
        CORE_LIMIT_STAYS,
        Case { when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[0] }], then: SeccompAction::Allow },
        // Nor a limit of another process, which may be a supervisor of a command.
        Case { when: &[Test::NotNull { arg: 2 }], then: REFUSED },
    ]),
    checked(&[SYS_setpriority], &[
        Case { when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[PRIO_USER] }], then: REFUSED },
        Case { when: &[Test::OneOf { arg: 1, mask: WHOLE, values: &[1] }], then: REFUSED },
    ]),
    checked(&[SYS_ioprio_set], &[
        Case { when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[IOPRIO_WHO_USER] }], then: REFUSED },
        Case { when: &[Test::OneOf { arg: 1, mask: WHOLE, values: &[1] }], then: REFUSED },
    ]),
];

/// What the egress proxy may not do either: it reads hostile bytes and holds credentials, and once it is confined it only
/// accepts what PID 1 listens for, looks names up and connects. `bind` stays, because whoever asks a name server of DNS
/// takes a port of its own first.
#[rustfmt::skip] // a paragraph for each group, not a line for each call
pub(super) static OF_THE_EGRESS_PROXY: &[SyscallGroup] = &[
    refused(&[SYS_listen, SYS_socketpair, SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev], EPERM),
    SyscallGroup { calls: &[SYS_socket], cases: &[OF_THE_INTERNET], otherwise: NO_FAMILY },
    // Threads alone.
    SyscallGroup {
        calls: &[SYS_clone],
        cases: &[
            Case { when: &[Test::AnyBit { arg: 0, mask: NEW_NAMESPACE }], then: REFUSED },
            Case { when: &[Test::AnyBit { arg: 0, mask: CLONE_THREAD as u32 }], then: SeccompAction::Allow },
        ],
        otherwise: REFUSED,
    },
    #[cfg(target_arch = "x86_64")]
    refused(&[SYS_fork, SYS_vfork], EPERM),
];

/// A socket of the protocols that every kernel has built in.
const OF_THE_INTERNET: Case = Case {
    when: &[
        Test::OneOf { arg: 0, mask: WHOLE, values: &[AF_INET as u32, AF_INET6 as u32] },
        Test::OneOf { arg: 1, mask: SOCKET_TYPE, values: &[SOCK_STREAM as u32, SOCK_DGRAM as u32] },
        Test::OneOf { arg: 2, mask: WHOLE, values: INTERNET_PROTOCOLS },
    ],
    then: SeccompAction::Allow,
};

/// asm-generic/socket.h; the libc crate has it for few libcs.
const SO_ATTACH_REUSEPORT_CBPF: u32 = 51;
/// `SO_TIMESTAMPING` of asm-generic/socket.h, old and new.
const TIME_STAMPS: &[u32] = &[37, 65];
/// linux/resource.h; libcs do not agree on its type.
const PRIO_USER: u32 = 2;
/// asm-generic/resource.h, likewise.
const RLIMIT_CORE: u32 = 4;
/// linux/ioprio.h.
const IOPRIO_WHO_USER: u32 = 3;

/// The value of `AUDIT_ARCH_*` (linux/audit.h) for the only calling convention that is let in.
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
/// The value of `AUDIT_ARCH_*` (linux/audit.h) for the only calling convention that is let in.
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;

/// The limit of core files is 1, which alone keeps a program of the host's from being started for a crash (see
/// `rlimit.rs`): lowered to 0 it would not. Whoever sets it wants fewer core files, and there are none.
const CORE_LIMIT_STAYS: Case = Case {
    when: &[Test::OneOf { arg: 1, mask: WHOLE, values: &[RLIMIT_CORE] }, Test::NotNull { arg: 2 }],
    then: SeccompAction::Pretend,
};

const REFUSED: SeccompAction = SeccompAction::Refuse(EPERM);
const NO_FAMILY: SeccompAction = SeccompAction::Refuse(EAFNOSUPPORT);
const WHOLE: u32 = u32::MAX;

/// Every group; no number stands in two of them.
#[rustfmt::skip] // a paragraph for each group, not a line for each call
pub(super) static GROUPS: &[SyscallGroup] = &[
    // Descriptors that are open already: what may be opened was decided elsewhere.
    allowed(&[
        SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev,
        SYS_preadv2, SYS_pwritev2, SYS_close, SYS_close_range, SYS_lseek, SYS_dup, SYS_dup3,
        SYS_flock, SYS_fstat, SYS_fstatfs, SYS_fsync, SYS_fdatasync, SYS_sync_file_range, SYS_syncfs,
        SYS_sync, SYS_fallocate, SYS_fadvise64, SYS_readahead, SYS_ftruncate, SYS_copy_file_range,
        SYS_sendfile, SYS_splice, SYS_tee, SYS_vmsplice, SYS_getdents64, SYS_cachestat, SYS_fchdir,
        SYS_fchown,
    ]),
    // A lease, and a delegation of a file or directory, have every program of the host that opens or changes it wait until it is given back, for
    // 45 seconds. Commands that are not listed get the answer of a kernel that does not know them: each new kernel may have some.
    SyscallGroup {
        calls: &[SYS_fcntl],
        cases: &[
            Case { when: &[Test::OneOf { arg: 1, mask: ALL_BUT_16, values: &[0] }], then: SeccompAction::Allow },
            Case { when: &[Test::OneOf { arg: 1, mask: WHOLE, values: OF_DESCRIPTORS }], then: SeccompAction::Allow },
            Case { when: &[Test::OneOf { arg: 1, mask: WHOLE, values: &[F_SETLEASE as u32, F_SETDELEG] }], then: REFUSED },
        ],
        otherwise: SeccompAction::Refuse(EINVAL),
    },
    // Paths, where no mode is given: mounts, landlock and file modes say what may be touched.
    allowed(&[
        SYS_faccessat, SYS_faccessat2, SYS_statx, SYS_newfstatat, SYS_statfs, SYS_readlinkat, SYS_linkat,
        SYS_symlinkat, SYS_unlinkat, SYS_renameat, SYS_truncate, SYS_fchownat, SYS_utimensat,
        SYS_chdir, SYS_getcwd, SYS_umask, SYS_name_to_handle_at, SYS_inotify_init1, SYS_inotify_add_watch,
        SYS_inotify_rm_watch,
    ]),
    // Extended attributes are read and removed. Setting one gets the answer of a file system without them: which one is in memory, where a
    // filter cannot look, and access lists of files in a tmpfs (`system.posix_acl_access`, 64 KiB each) are counted by no cgroup.
    allowed(&[
        SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_getxattrat, SYS_listxattr, SYS_llistxattr, SYS_flistxattr,
        SYS_listxattrat, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_removexattrat,
    ]),
    refused(&[SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_setxattrat], EOPNOTSUPP),
    // Set-uid and set-gid bits: in a shared directory they would hand the host a program that runs as the
    // owner of the file, or as root. The mode counts only where a file is made, so with `open` only beside
    // O_CREAT or O_TMPFILE; otherwise the register holds whatever was left there.
    checked(&[SYS_fchmod], &[Case { when: &[Test::AnyBit { arg: 1, mask: SET_ID }], then: REFUSED }]),
    checked(&[SYS_fchmodat, SYS_fchmodat2, SYS_mkdirat], &[Case { when: &[Test::AnyBit { arg: 2, mask: SET_ID }], then: REFUSED }]),
    checked(&[SYS_openat], &[Case { when: &[Test::AnyBit { arg: 2, mask: MAKES_A_FILE }, Test::AnyBit { arg: 3, mask: SET_ID }], then: REFUSED }]),
    checked(&[SYS_mq_open], &[Case { when: &[Test::AnyBit { arg: 1, mask: O_CREAT as u32 }, Test::AnyBit { arg: 2, mask: SET_ID }], then: REFUSED }]),
    // Device nodes besides: a whiteout (0, 0) needs no capability, and a device is never what an agent works
    // on.
    SyscallGroup {
        calls: &[SYS_mknodat],
        cases: &[
            Case { when: &[Test::AnyBit { arg: 2, mask: SET_ID }], then: REFUSED },
            Case { when: &[Test::OneOf { arg: 2, mask: S_IFMT, values: DEVICES }], then: REFUSED },
        ],
        otherwise: SeccompAction::Allow,
    },
    // A whiteout in the place of what is renamed is such a node, too.
    checked(&[SYS_renameat2], &[Case { when: &[Test::AnyBit { arg: 4, mask: RENAME_WHITEOUT }], then: REFUSED }]),
    // Memory of this process itself. `move_pages` and `migrate_pages` reach into others and are left out.
    allowed(&[
        SYS_munmap, SYS_mprotect, SYS_mremap, SYS_remap_file_pages, SYS_brk,
        SYS_mincore, SYS_msync, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_mlockall, SYS_munlockall,
        SYS_pkey_mprotect, SYS_pkey_alloc, SYS_pkey_free, SYS_mseal,
        SYS_map_shadow_stack, SYS_membarrier,
    ]),
    // But nothing that the kernel is to merge with the same memory of others: how long a write takes then says what they have.
    checked(&[SYS_madvise], &[Case { when: &[Test::OneOf { arg: 2, mask: WHOLE, values: &[MADV_MERGEABLE as u32] }], then: REFUSED }]),
    // A policy for a part of a file in memory stays in the file, as many as it has pages, used or not, and no cgroup counts them.
    // All of them are refused: that is how libraries recognise a kernel without NUMA.
    refused(&[SYS_mbind, SYS_set_mempolicy_home_node, SYS_get_mempolicy, SYS_set_mempolicy], ENOSYS),
    // The machine cannot hibernate while there is a file of this.
    refused(&[SYS_memfd_secret], ENOSYS),
    // But no huge pages that somebody has reserved: no cgroup of memory counts them, and what one takes the others lack.
    checked(&[SYS_mmap], &[Case { when: &[Test::AnyBit { arg: 3, mask: MAP_HUGETLB as u32 }], then: SeccompAction::Refuse(ENOMEM) }]),
    checked(&[SYS_memfd_create], &[Case { when: &[Test::AnyBit { arg: 1, mask: MFD_HUGETLB }], then: SeccompAction::Refuse(EINVAL) }]),
    checked(&[SYS_shmget], &[Case { when: &[Test::AnyBit { arg: 2, mask: SHM_HUGETLB as u32 }], then: SeccompAction::Refuse(ENOMEM) }]),
    // Processes and threads: run, wait, end. PID 1 needs them too.
    allowed(&[
        SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_set_tid_address,
        SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_restart_syscall, SYS_futex, SYS_futex_waitv,
        SYS_futex_wait, SYS_futex_wake, SYS_futex_requeue, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgid,
        SYS_setpgid, SYS_getsid, SYS_setsid, SYS_pidfd_open, SYS_pidfd_send_signal,
    ]),
    // Signals: the PID namespace bounds whom they reach.
    allowed(&[
        SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending,
        SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_rt_sigreturn, SYS_rt_sigqueueinfo,
        SYS_rt_tgsigqueueinfo, SYS_sigaltstack, SYS_signalfd4,
    ]),
    // Scheduling and resource limits: without capabilities all of them can only lower.
    allowed(&[
        SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam,
        SYS_sched_setparam, SYS_sched_getscheduler, SYS_sched_setscheduler, SYS_sched_getattr,
        SYS_sched_setattr, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
        SYS_sched_rr_get_interval, SYS_getpriority, SYS_setpriority, SYS_ioprio_get, SYS_ioprio_set,
        SYS_getrlimit, SYS_getrusage, SYS_getcpu,
    ]),
    checked(&[SYS_prlimit64], &[CORE_LIMIT_STAYS]),
    checked(&[SYS_setrlimit], &[
        Case { when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[RLIMIT_CORE] }], then: SeccompAction::Pretend },
    ]),
    // Who one is. With one id mapped and no capability, the kernel refuses every change by itself.
    allowed(&[
        SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups,
        SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid,
        SYS_setfsgid, SYS_setgroups, SYS_capget, SYS_capset,
    ]),
    // What the machine says about itself.
    allowed(&[SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_lsm_get_self_attr, SYS_lsm_list_modules]),
    // Reading clocks and waiting. Those that can set one stand below.
    allowed(&[
        SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
        SYS_times, SYS_getitimer, SYS_setitimer, SYS_timer_create, SYS_timer_delete, SYS_timer_gettime,
        SYS_timer_settime, SYS_timer_getoverrun, SYS_timerfd_create, SYS_timerfd_gettime,
        SYS_timerfd_settime,
    ]),
    // Waiting for descriptors, and pipes.
    allowed(&[
        SYS_pipe2, SYS_eventfd2, SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait,
        SYS_epoll_pwait2,
    ]),
    // System V and POSIX IPC: objects live in the sandbox's own IPC namespace.
    allowed(&[
        SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
        SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_unlink, SYS_mq_timedsend,
        SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr,
    ]),
    // Sockets once they exist.
    allowed(&[
        SYS_bind, SYS_connect, SYS_listen, SYS_accept, SYS_accept4, SYS_getsockname, SYS_getpeername,
        SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_getsockopt, SYS_shutdown,
    ]),
    // No urgent data, which few programs send and which between local sockets is young code (CVE-2025-38236).
    checked(&[SYS_sendmsg], &[Case { when: &[Test::AnyBit { arg: 2, mask: MSG_OOB as u32 }], then: SeccompAction::Refuse(EOPNOTSUPP) }]),
    checked(&[SYS_sendto, SYS_sendmmsg], &[Case { when: &[Test::AnyBit { arg: 3, mask: MSG_OOB as u32 }], then: SeccompAction::Refuse(EOPNOTSUPP) }]),
    // No programs that choose packets: the kernel compiles each, all users of the machine share one bound for that
    // (`net.core.bpf_jit_limit`), and where it is used up nobody gets a seccomp filter any more, no other sandbox and no browser. And no time stamps of
    // all that is sent, whose copies no cgroup counts; for a single message they can still be asked. Nor other protocols on top of TCP and UDP,
    // which load modules (`TCP_ULP`), or keys of TCP, which routers have. Nor datagrams that are put together and never sent (`UDP_CORK`), which no cgroup
    // counts; `MSG_MORE` does the same, and for TCP it is in use. Nor what takes of bounds that all network namespaces share: sockets that stay
    // whole for minutes after they were closed (`TCP_LINGER2`, `net.ipv4.tcp_max_orphans`), and leases of labels of IPv6, of which there are 4096.
    // A socket that is to wait in close(2) until all of it was sent (`SO_LINGER`) has the kernel's thread wait that closes files for the whole machine,
    // if it is closed there (on its way in a Unix socket that nobody has any more): for years, and after the end of the sandbox. Some clients
    // set it, and fail where they may not.
    checked(&[SYS_setsockopt], &[
        Case {
            when: &[
                Test::OneOf { arg: 1, mask: WHOLE, values: &[SOL_SOCKET as u32] },
                Test::OneOf { arg: 2, mask: WHOLE, values: &[SO_LINGER as u32] },
            ],
            then: SeccompAction::Pretend,
        },
        Case {
            when: &[
                Test::OneOf { arg: 1, mask: WHOLE, values: &[SOL_SOCKET as u32] },
                Test::OneOf { arg: 2, mask: WHOLE, values: &[SO_ATTACH_FILTER as u32, SO_ATTACH_REUSEPORT_CBPF] },
            ],
            then: REFUSED,
        },
        Case {
            when: &[
                Test::OneOf { arg: 1, mask: WHOLE, values: &[SOL_SOCKET as u32] },
                Test::OneOf { arg: 2, mask: WHOLE, values: TIME_STAMPS },
            ],
            then: SeccompAction::Refuse(ENOPROTOOPT),
        },
        Case {
            when: &[
                Test::OneOf { arg: 1, mask: WHOLE, values: &[IPPROTO_TCP as u32] },
                Test::OneOf { arg: 2, mask: WHOLE, values: REFUSED_OF_TCP },
            ],
            then: SeccompAction::Refuse(ENOPROTOOPT),
        },
        Case {
            when: &[
                Test::OneOf { arg: 1, mask: WHOLE, values: &[IPPROTO_IPV6 as u32] },
                Test::OneOf { arg: 2, mask: WHOLE, values: &[IPV6_FLOWLABEL_MGR] },
            ],
            then: SeccompAction::Refuse(ENOPROTOOPT),
        },
        Case {
            when: &[
                Test::OneOf { arg: 1, mask: WHOLE, values: &[IPPROTO_UDP as u32, IPPROTO_UDPLITE as u32] },
                Test::OneOf { arg: 2, mask: WHOLE, values: &[UDP_CORK, UDP_ENCAP] },
            ],
            then: SeccompAction::Refuse(ENOPROTOOPT),
        },
    ]),
    // Making sockets: local ones, the internet, and the netlink that shows which interfaces there are.
    // Everything else (packet, vsock, alg, xdp, bluetooth, can, tipc ...) is kernel code no build needs,
    // often behind a module that loads itself, and vsock leads out of a virtual machine past every namespace.
    // Of the internet protocols only those every kernel has built in: a socket of SCTP, DCCP or L2TP would
    // load its module. Netlink comes before raw types, because libcs open it as one; other netlink protocols
    // get the answer of a kernel without them, which is what libaudit understands.
    SyscallGroup {
        calls: &[SYS_socket, SYS_socketpair],
        cases: &[
            Case {
                when: &[
                    Test::OneOf { arg: 0, mask: WHOLE, values: &[AF_NETLINK as u32] },
                    Test::OneOf { arg: 2, mask: WHOLE, values: &[NETLINK_ROUTE as u32] },
                ],
                then: SeccompAction::Allow,
            },
            Case {
                when: &[Test::OneOf { arg: 1, mask: SOCKET_TYPE, values: &[SOCK_RAW as u32, SOCK_PACKET] }],
                then: REFUSED,
            },
            Case {
                when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[AF_UNIX as u32] }],
                then: SeccompAction::Allow,
            },
            OF_THE_INTERNET,
        ],
        otherwise: NO_FAMILY,
    },
    // Devices and terminals, except what puts bytes into a terminal's input as if they had been typed
    // (TIOCSTI; TIOCLINUX does it by selecting and pasting: CVE-2017-5226 and its kin), and TIOCSETD, which
    // loads line disciplines: a long row of kernel bugs and no use for an agent. Of what file systems offer, sharing
    // blocks between files and two questions. The rest gets the answer of one that does not know the request: there are
    // requests that make a subvolume, which looks like another file system to whoever looks through a shared directory
    // on the host, and that make a directory whose names are matched without case, or can be read only with a key. Of sockets, what reads
    // addresses and states; others have the kernel load a module (bridge, 8021q) before it asks who asks.
    SyscallGroup {
        calls: &[SYS_ioctl],
        cases: &[
            Case {
                when: &[Test::OneOf { arg: 1, mask: WHOLE, values: &[TIOCSTI, TIOCLINUX, TIOCSETD] }],
                then: REFUSED,
            },
            Case { when: &[Test::OneOf { arg: 1, mask: WHOLE, values: OF_FILES }], then: SeccompAction::Allow },
            Case {
                when: &[Test::OneOf { arg: 1, mask: REQUEST_TYPE, values: OF_FILE_SYSTEMS }],
                then: SeccompAction::Refuse(ENOTTY),
            },
            Case {
                when: &[
                    Test::OneOf { arg: 1, mask: REQUEST_TYPE, values: &[TYPE_OF_SOCKETS] },
                    Test::OneOf { arg: 1, mask: WHOLE, values: OF_SOCKETS },
                ],
                then: SeccompAction::Allow,
            },
            Case {
                when: &[Test::OneOf { arg: 1, mask: REQUEST_TYPE, values: &[TYPE_OF_SOCKETS] }],
                then: SeccompAction::Refuse(EOPNOTSUPP),
            },
        ],
        otherwise: SeccompAction::Allow,
    },
    // New processes and threads, but no namespaces: a user namespace gives back capabilities, and with them
    // most of the kernel's attack surface.
    SyscallGroup {
        calls: &[SYS_clone],
        cases: &[Case { when: &[Test::AnyBit { arg: 0, mask: NEW_NAMESPACE }], then: REFUSED }],
        otherwise: SeccompAction::Allow,
    },
    // clone3 has its flags in memory, where a filter cannot look; libcs fall back to clone. openat2 likewise
    // hides the mode; its callers fall back to openat.
    refused(&[SYS_clone3, SYS_openat2], ENOSYS),
    // A process may be traced if it asks for it (PTRACE_TRACEME), so a debugger can start its program.
    // Attaching to what runs already would lead into PID 1 or an exec session of somebody else.
    SyscallGroup {
        calls: &[SYS_ptrace],
        cases: &[Case {
            when: &[Test::OneOf {
                arg: 0,
                mask: WHOLE,
                values: &[PTRACE_ATTACH, PTRACE_SEIZE],
            }],
            then: REFUSED,
        }],
        otherwise: SeccompAction::Allow,
    },
    // Programs may narrow themselves further: filters only ever add up, and browsers install their own. A
    // listener is refused: it parks calls of others in the kernel for a supervisor, which nothing inside is
    // to be.
    SyscallGroup {
        calls: &[SYS_seccomp],
        cases: &[Case {
            when: &[
                Test::OneOf { arg: 0, mask: WHOLE, values: &[SECCOMP_SET_MODE_FILTER] },
                Test::AnyBit { arg: 1, mask: SECCOMP_FILTER_FLAG_NEW_LISTENER },
            ],
            then: REFUSED,
        }],
        otherwise: SeccompAction::Allow,
    },
    // See above: landlock rules only add up, too.
    allowed(&[SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self]),
    // What prctl offers is about the caller itself and needs a capability where it widens, but for three things. PR_SET_MM
    // lies to others: it moves what /proc shows as the program and its arguments. PR_SET_MEMORY_MERGE is MADV_MERGEABLE, above. And a
    // thread that shares its core with nobody (PR_SCHED_CORE) has the other half of it idle, for which no limit of `cpus` counts.
    SyscallGroup {
        calls: &[SYS_prctl],
        cases: &[Case {
            when: &[Test::OneOf { arg: 0, mask: WHOLE, values: &[PR_SET_MM as u32, PR_SCHED_CORE as u32, PR_SET_MEMORY_MERGE] }],
            then: REFUSED,
        }],
        otherwise: SeccompAction::Allow,
    },
    // Personalities that change how the kernel counts its name or lays out an address space (debuggers turn
    // the randomising off). READ_IMPLIES_EXEC, MMAP_PAGE_ZERO and foreign systems undo hardening.
    SyscallGroup {
        calls: &[SYS_personality],
        cases: &[Case {
            when: &[Test::OneOf { arg: 0, mask: WHOLE, values: PERSONALITIES }],
            then: SeccompAction::Allow,
        }],
        otherwise: REFUSED,
    },
    // The old asynchronous I/O: all users of the machine share one number of its contexts (`fs.aio-max-nr`), so an agent could take it from
    // those who need it. Most databases do without where the kernel has none.
    refused(
        &[SYS_io_setup, SYS_io_destroy, SYS_io_submit, SYS_io_cancel, SYS_io_getevents, SYS_io_pgetevents],
        ENOSYS,
    ),
    // A second way to make every call above, without a filter in between (CVE-2022-29582 and many more).
    refused(&[SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register], EPERM),
    // Namespaces and mounts: the rootfs was mounted before, and nothing inside changes it.
    refused(
        &[
            SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree,
            SYS_open_tree_attr, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
            SYS_mount_setattr, SYS_statmount, SYS_listmount, SYS_open_by_handle_at,
        ],
        EPERM,
    ),
    // Memory and descriptors of other processes; `kcmp` reveals where the kernel keeps them.
    refused(
        &[
            SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_process_mrelease,
            SYS_pidfd_getfd, SYS_kcmp, SYS_move_pages, SYS_migrate_pages,
        ],
        EPERM,
    ),
    // Keyrings are not namespaced: they are shared with everything of the same uid.
    refused(&[SYS_keyctl, SYS_add_key, SYS_request_key], EPERM),
    // Kernel code with a long record of bugs, for tracing and for watching whole file systems. A page fault
    // that waits for user space (userfaultfd) is how races in the kernel are won.
    refused(
        &[
            SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_fanotify_init, SYS_fanotify_mark,
            SYS_lookup_dcookie, SYS_lsm_set_self_attr,
        ],
        EPERM,
    ),
    // The machine itself: its kernel, clock, swap, names, log. adjtimex reads as well as sets, but which of
    // both is in memory, where a filter cannot look.
    refused(
        &[
            SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module,
            SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_quotactl_fd, SYS_syslog,
            SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
            SYS_setdomainname, SYS_vhangup,
        ],
        EPERM,
    ),
    #[cfg(target_arch = "x86_64")]
    // What x86-64 has besides: the same calls in their first form, still used by musl, Go and old programs.
    allowed(&[
        SYS_stat, SYS_lstat, SYS_access, SYS_rename, SYS_rmdir, SYS_link, SYS_symlink, SYS_unlink,
        SYS_readlink, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_getdents, SYS_dup2,
        SYS_pipe, SYS_poll, SYS_select, SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_signalfd,
        SYS_inotify_init, SYS_fork, SYS_vfork, SYS_getpgrp, SYS_pause, SYS_alarm, SYS_time, SYS_arch_prctl,
    ]),
    #[cfg(target_arch = "x86_64")]
    checked(&[SYS_chmod, SYS_creat, SYS_mkdir], &[Case { when: &[Test::AnyBit { arg: 1, mask: SET_ID }], then: REFUSED }]),
    #[cfg(target_arch = "x86_64")]
    checked(&[SYS_open], &[Case { when: &[Test::AnyBit { arg: 1, mask: MAKES_A_FILE }, Test::AnyBit { arg: 2, mask: SET_ID }], then: REFUSED }]),
    #[cfg(target_arch = "x86_64")]
    SyscallGroup {
        calls: &[SYS_mknod],
        cases: &[
            Case { when: &[Test::AnyBit { arg: 1, mask: SET_ID }], then: REFUSED },
            Case { when: &[Test::OneOf { arg: 1, mask: S_IFMT, values: DEVICES }], then: REFUSED },
        ],
        otherwise: SeccompAction::Allow,
    },
    #[cfg(target_arch = "x86_64")]
    // Ports of the machine, and segments that only 16- and 32-bit code needs.
    refused(&[SYS_ioperm, SYS_iopl, SYS_modify_ldt], EPERM),
];

const SET_ID: u32 = S_ISUID | S_ISGID;
/// `O_TMPFILE` is this bit and `O_DIRECTORY`; the kernel asks for the bit (asm-generic/fcntl.h).
const TMPFILE_BIT: u32 = 0o20_000_000;
const MAKES_A_FILE: u32 = O_CREAT as u32 | TMPFILE_BIT;
const DEVICES: &[u32] = &[S_IFCHR, S_IFBLK];
/// `SOCK_TYPE_MASK` (linux/net.h): what of the second argument is a type.
const SOCKET_TYPE: u32 = 0xf;
// What the libc crate lacks for one libc, or has with another type.
const SOCK_PACKET: u32 = 10; // linux/net.h, obsolete
const TIOCSTI: u32 = 0x5412; // asm-generic/ioctls.h, as the next two
const TIOCLINUX: u32 = 0x541c;
const TIOCSETD: u32 = 0x5423;
/// Requests to files (linux/fs.h). The directions are those of asm-generic/ioctl.h, which both architectures use.
const OF_FILES: &[u32] = &[
    0x4004_9409, // FICLONE
    0x4020_940d, // FICLONERANGE
    0xc018_9436, // FIDEDUPERANGE
    0xc020_660b, // FS_IOC_FIEMAP
    0x8008_6601, // FS_IOC_GETFLAGS
    0x801c_581f, // FS_IOC_FSGETXATTR
];
/// `_IOC_TYPE` (asm-generic/ioctl.h): whose request it is.
const REQUEST_TYPE: u32 = 0xff00;
/// Every file system's (`f`), XFS's (`X`), btrfs's, bcachefs's: Documentation/userspace-api/ioctl/ioctl-number.rst.
const OF_FILE_SYSTEMS: &[u32] = &[0x6600, 0x5800, 0x9400, 0xbc00];
/// linux/sockios.h, as the following.
const TYPE_OF_SOCKETS: u32 = 0x8900;
/// Requests to sockets that read, and that say who gets their signals.
const OF_SOCKETS: &[u32] = &[
    0x8901,      // FIOSETOWN
    0x8902,      // SIOCSPGRP
    0x8903,      // FIOGETOWN
    0x8904,      // SIOCGPGRP
    0x8905,      // SIOCATMARK
    0x8906,      // SIOCGSTAMP
    0x8907,      // SIOCGSTAMPNS
    0x8010_8906, // SIOCGSTAMP_NEW
    0x8010_8907, // SIOCGSTAMPNS_NEW
    0x8910,      // SIOCGIFNAME
    0x8912,      // SIOCGIFCONF
    0x8913,      // SIOCGIFFLAGS
    0x8915,      // SIOCGIFADDR
    0x8917,      // SIOCGIFDSTADDR
    0x8919,      // SIOCGIFBRDADDR
    0x891b,      // SIOCGIFNETMASK
    0x891d,      // SIOCGIFMETRIC
    0x8921,      // SIOCGIFMTU
    0x8927,      // SIOCGIFHWADDR
    0x8933,      // SIOCGIFINDEX
    0x8942,      // SIOCGIFTXQLEN
    0x894b,      // SIOCOUTQNSD
    0x8970,      // SIOCGIFMAP
];
/// Options of TCP (linux/tcp.h): `TCP_LINGER2`, `TCP_MD5SIG`, `TCP_ULP`, `TCP_MD5SIG_EXT`, `TCP_AO_ADD_KEY`, `TCP_AO_DEL_KEY`, `TCP_AO_INFO` and
/// `TCP_AO_REPAIR`.
const REFUSED_OF_TCP: &[u32] = &[8, 14, 31, 32, 38, 39, 40, 42];
/// linux/in6.h.
const IPV6_FLOWLABEL_MGR: u32 = 32;
/// linux/udp.h.
const UDP_CORK: u32 = 1;
const UDP_ENCAP: u32 = 100;
/// Commands of fcntl from `F_DUPFD` to `F_GETOWN_EX`, but the last.
const ALL_BUT_16: u32 = !0xf;
/// Commands of fcntl beside those (linux/fcntl.h).
const OF_DESCRIPTORS: &[u32] = &[
    1030, // F_DUPFD_CLOEXEC
    16,   // F_GETOWN_EX
    36,   // F_OFD_GETLK
    37,   // F_OFD_SETLK
    38,   // F_OFD_SETLKW
    1025, // F_GETLEASE
    1027, // F_DUPFD_QUERY
    1028, // F_CREATED_QUERY
    1031, // F_SETPIPE_SZ
    1032, // F_GETPIPE_SZ
    1033, // F_ADD_SEALS
    1034, // F_GET_SEALS
    1035, // F_GET_RW_HINT
    1036, // F_SET_RW_HINT
    1037, // F_GET_FILE_RW_HINT
    1038, // F_SET_FILE_RW_HINT
];
/// Linux 6.19.
const F_SETDELEG: u32 = 1040;
const PR_SET_MEMORY_MERGE: u32 = 67; // linux/prctl.h
const PTRACE_ATTACH: u32 = 16; // linux/ptrace.h
const PTRACE_SEIZE: u32 = 0x4206; // linux/ptrace.h
const SECCOMP_FILTER_FLAG_NEW_LISTENER: u32 = 1 << 3; // linux/seccomp.h

const INTERNET_PROTOCOLS: &[u32] = &[
    IPPROTO_IP as u32, IPPROTO_ICMP as u32, IPPROTO_TCP as u32, IPPROTO_UDP as u32, IPPROTO_ICMPV6 as u32,
    // Go listens with it unasked.
    IPPROTO_MPTCP as u32,
];
/// `PER_LINUX`, `PER_LINUX32`, both with `UNAME26` or `ADDR_NO_RANDOMIZE`, and the question for the present
/// one.
const PERSONALITIES: &[u32] = &[0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0x4_0008, u32::MAX];
/// `CLONE_NEWTIME` is missing on purpose: in `clone` its bit belongs to the signal number.
const NEW_NAMESPACE: u32 = (CLONE_NEWNS
    | CLONE_NEWCGROUP
    | CLONE_NEWUTS
    | CLONE_NEWIPC
    | CLONE_NEWUSER
    | CLONE_NEWPID
    | CLONE_NEWNET) as u32;

// Calls newer than the libc crate's lists; from 424 on a number is the same on every architecture.
const SYS_cachestat: c_long = 451; // Linux 6.5
const SYS_fchmodat2: c_long = 452; // Linux 6.6
const SYS_map_shadow_stack: c_long = 453; // Linux 6.6
const SYS_futex_wake: c_long = 454; // Linux 6.7
const SYS_futex_wait: c_long = 455; // Linux 6.7
const SYS_futex_requeue: c_long = 456; // Linux 6.7
const SYS_statmount: c_long = 457; // Linux 6.8
const SYS_listmount: c_long = 458; // Linux 6.8
const SYS_lsm_get_self_attr: c_long = 459; // Linux 6.8
const SYS_lsm_set_self_attr: c_long = 460; // Linux 6.8
const SYS_lsm_list_modules: c_long = 461; // Linux 6.8
const SYS_setxattrat: c_long = 463; // Linux 6.13
const SYS_getxattrat: c_long = 464; // Linux 6.13
const SYS_listxattrat: c_long = 465; // Linux 6.13
const SYS_removexattrat: c_long = 466; // Linux 6.13
const SYS_open_tree_attr: c_long = 467; // Linux 6.15

// Calls that the libc crate has for one libc and not for the other.
#[cfg(target_arch = "x86_64")]
const SYS_io_pgetevents: c_long = 333;
#[cfg(target_arch = "aarch64")]
const SYS_io_pgetevents: c_long = 292;
#[cfg(target_arch = "aarch64")]
const SYS_renameat: c_long = 38;
#[cfg(target_arch = "aarch64")]
const SYS_sync_file_range: c_long = 84;
#[cfg(target_arch = "aarch64")]
const SYS_getrlimit: c_long = 163;
#[cfg(target_arch = "aarch64")]
const SYS_setrlimit: c_long = 164;
#[cfg(target_arch = "aarch64")]
const SYS_kexec_file_load: c_long = 294;

const fn allowed(calls: &'static [c_long]) -> SyscallGroup {
    SyscallGroup { calls, cases: &[], otherwise: SeccompAction::Allow }
}

const fn checked(calls: &'static [c_long], cases: &'static [Case]) -> SyscallGroup {
    SyscallGroup { calls, cases, otherwise: SeccompAction::Allow }
}

const fn refused(calls: &'static [c_long], error: c_int) -> SyscallGroup {
    SyscallGroup { calls, cases: &[], otherwise: SeccompAction::Refuse(error) }
}
