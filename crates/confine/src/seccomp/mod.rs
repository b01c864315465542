//! The seccomp filter: an allow-list, compiled to BPF and put on for good.
//!
//! It is the last layer to be put on, because it refuses what the others are made with: first `no_new_privs`
//! (without it, or `CAP_SYS_ADMIN`, the kernel takes no filter), then landlock, then this. Every process that is created
//! afterwards inherits it, and nothing can take it off: see seccomp(2).

mod bpf;
mod syscalls;

use policy::plan::Layer;
use rustix::io::Errno;

use self::syscalls::SyscallGroup;
use crate::kernel_file::KernelFileSystem;
use crate::report::{Finding, Status};
use crate::sys;

/// A compiled filter.
pub struct SeccompFilter(Vec<libc::sock_filter>);

/// Why the filter is not on.
#[derive(Debug, thiserror::Error)]
pub enum SeccompError {
    #[error(
        "the kernel takes no seccomp filter: {0}; it needs CONFIG_SECCOMP_FILTER and no_new_privs, which comes first"
    )]
    Refused(#[source] Errno),
    #[error(
        "this program is emulated: the kernel filters system calls, and what executes this program in place of a processor \
         (such as QEMU's user mode) takes no filter for it"
    )]
    Emulated,
}

/// What PID 1 is where the filter is installed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pid1 {
    /// A program of ours, which the agent must not hold up.
    Ours,
    /// The agent may be, and does with itself what it likes.
    Agents,
}

/// Compiles the filter for the architecture this runs on.
///
/// Calls of another architecture (32-bit code on a 64-bit kernel) kill the process: their numbers mean other
/// calls, so no list fits them, and a 32-bit program could not even exit by itself. "Bad system call" says
/// what happened. Numbers of the x32 convention are unknown numbers like any other.
pub fn compile(pid_1: Pid1) -> SeccompFilter {
    let more = match pid_1 {
        Pid1::Ours => syscalls::WHERE_PID_1_IS_OURS,
        Pid1::Agents => &[],
    };
    compile_with(more)
}

/// Compiles the filter of the egress proxy: that of the agent, without listeners, other families than the internet's,
/// processes and programs.
pub fn compile_for_egress() -> SeccompFilter {
    compile_with(syscalls::OF_THE_EGRESS_PROXY)
}

/// Compiles the filter with groups that stand in place of those of the same calls.
fn compile_with(more: &[SyscallGroup]) -> SeccompFilter {
    SeccompFilter(bpf::compile(
        syscalls::ARCHITECTURE,
        syscalls::GROUPS.iter().chain(more),
        syscalls::UNKNOWN,
    ))
}

/// Installs the filter, for this thread and everything it forks.
pub fn install(filter: &SeccompFilter) -> Result<(), SeccompError> {
    sys::seccomp_filter(&filter.0).map_err(|errno| why(errno, &status()))
}

/// Returns who refused the filter, by what the kernel shows of this thread in `/proc` (proc(5)).
///
/// An emulator in user space makes this program's system calls in its place, so that a filter would meet the emulator's
/// own: QEMU answers `EINVAL` (`do_prctl` in its linux-user/syscall.c). The kernel says that of a good program only where
/// it was built without filters, and then it does not count them in `/proc`, which emulators let through. Linux counts
/// since 5.9; older kernels lack calls that are made before this one.
fn why(errno: Errno, status: &str) -> SeccompError {
    let counts = status.lines().any(|line| line.starts_with("Seccomp_filters:"));
    if errno == Errno::INVAL && counts { SeccompError::Emulated } else { SeccompError::Refused(errno) }
}

/// Probes from inside whether the filter is installed: by a harmless call that only a filter refuses in this way.
pub fn probe() -> Finding {
    // Without a filter the kernel looks at the null pointer first and says EFAULT (or ENOSYS, if built
    // without). With `kernel.io_uring_disabled` it would say EPERM too, so the mode is read as well.
    let refused = sys::io_uring_setup_without_parameters();
    let status = status();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
    let (status, reason) = match (refused, mode) {
        (Errno::PERM, Some("2")) => {
            (Status::Enforced, "an allow-list filters system calls; io_uring_setup was refused".to_owned())
        }
        (Errno::PERM, None) => {
            (Status::Partly, "io_uring_setup was refused, but /proc does not show by whom".to_owned())
        }
        (other, mode) => (
            Status::Not,
            format!("io_uring_setup answered {other}, and the filter mode is {}", mode.unwrap_or("unknown")),
        ),
    };
    Finding { layer: Layer::Seccomp, status, reason }
}

/// Reads what the kernel shows of this thread; nothing where there is no `/proc`.
fn status() -> String {
    KernelFileSystem::Processes.text("/proc/thread-self/status").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Instant;

    use libc::{SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, c_int, c_long};

    use super::bpf::interpreter::{Call, run};
    use super::syscalls::{
        ARCHITECTURE, GROUPS, OF_THE_EGRESS_PROXY, SeccompAction, Test, UNKNOWN, WHERE_PID_1_IS_OURS,
    };
    use super::*;

    /// Evaluates the table of system calls by hand, as a person reads it.
    fn expected(call: &Call, more: &[SyscallGroup]) -> u32 {
        if call.arch != ARCHITECTURE {
            return SECCOMP_RET_KILL_PROCESS;
        }
        let mut groups = more.iter().chain(GROUPS);
        let action =
            groups.find(|group| group.calls.contains(&c_long::from(call.number))).map_or(UNKNOWN, |group| {
                let holds = |test: &Test| match *test {
                    Test::OneOf { arg, mask, values } => values.contains(&(low(call, arg) & mask)),
                    Test::AnyBit { arg, mask } => low(call, arg) & mask != 0,
                    Test::NotNull { arg } => call.args[usize::from(arg)] != 0,
                };
                group
                    .cases
                    .iter()
                    .find(|case| case.when.iter().all(holds))
                    .map_or(group.otherwise, |case| case.then)
            });
        match action {
            SeccompAction::Allow => SECCOMP_RET_ALLOW,
            SeccompAction::Refuse(error) => SECCOMP_RET_ERRNO | error.unsigned_abs(),
            SeccompAction::Pretend => SECCOMP_RET_ERRNO,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
    fn low(call: &Call, arg: u8) -> u32 {
        call.args[usize::from(arg)] as u32
    }

    fn refusal(error: c_int) -> u32 {
        SECCOMP_RET_ERRNO | error.unsigned_abs()
    }

    fn answer(number: c_long, args: &[u64]) -> u32 {
        let mut call = Call { number: number.try_into().unwrap(), arch: ARCHITECTURE, args: [0; 6] };
        call.args[..args.len()].copy_from_slice(args);
        run(&compile(Pid1::Ours).0, &call).0
    }

    /// Returns values that lie on, beside and above everything a group compares with.
    fn interesting_values(group: &SyscallGroup) -> Vec<u64> {
        let mut values = BTreeSet::from([0, 1, u32::MAX]);
        for test in group.cases.iter().flat_map(|case| case.when) {
            match *test {
                Test::OneOf { values: these, .. } => {
                    values.extend(these.iter().flat_map(|&value| [value, value ^ 1]));
                }
                Test::AnyBit { mask, .. } => {
                    values.extend((0..32).map(|bit| 1 << bit).filter(|bit| mask & bit != 0));
                    values.insert(!mask);
                }
                Test::NotNull { .. } => {}
            }
        }
        values.into_iter().map(u64::from).flat_map(|value| [value, value | 1 << 32]).collect()
    }

    #[test]
    fn the_program_says_what_the_data_says_for_every_number() {
        for more in [WHERE_PID_1_IS_OURS, OF_THE_EGRESS_PROXY] {
            check_every_number(more);
        }
    }

    fn check_every_number(more: &[SyscallGroup]) {
        let program = compile_with(more).0;
        let x32 = 0x4000_0000;
        let numbers = (0..600).chain(x32..x32 + 600).chain([u32::MAX, u32::MAX - 1, x32 - 1, 1 << 31]);
        for number in numbers {
            for arch in [ARCHITECTURE, 0x4000_0003, 0x4000_0028, 0] {
                let call = Call { number, arch, args: [0; 6] };
                assert_eq!(run(&program, &call).0, expected(&call, more), "{call:x?}");
            }
            let mut groups = more.iter().chain(GROUPS);
            let group = groups.find(|group| group.calls.contains(&c_long::from(number)));
            let Some(group) = group.filter(|group| !group.cases.is_empty()) else { continue };
            let values = interesting_values(group);
            let looked_at: BTreeSet<usize> = group
                .cases
                .iter()
                .flat_map(|case| case.when)
                .map(|test| match *test {
                    Test::OneOf { arg, .. } | Test::AnyBit { arg, .. } | Test::NotNull { arg } => {
                        usize::from(arg)
                    }
                })
                .collect();
            let mut calls = vec![Call { number, arch: ARCHITECTURE, args: [0; 6] }];
            for arg in looked_at {
                calls = calls
                    .into_iter()
                    .flat_map(|call| {
                        values.iter().map(move |&value| {
                            let mut call = call;
                            call.args[arg] = value;
                            call
                        })
                    })
                    .collect();
            }
            for call in calls {
                assert_eq!(run(&program, &call).0, expected(&call, more), "{call:x?}");
            }
        }
    }

    #[test]
    fn no_number_stands_in_two_groups() {
        let mut seen = BTreeSet::new();
        for call in GROUPS.iter().flat_map(|group| group.calls) {
            assert!(seen.insert(call), "{call} twice");
        }
    }

    #[test]
    fn a_refusal_in_spite_of_the_kernel_is_an_emulators() {
        let counted = "NoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n";
        assert!(matches!(why(Errno::INVAL, counted), SeccompError::Emulated));
        // A kernel without filters; one without any of it; no `/proc`.
        for status in ["Seccomp:\t0\n", "NoNewPrivs:\t1\n", ""] {
            assert!(matches!(why(Errno::INVAL, status), SeccompError::Refused(Errno::INVAL)), "{status:?}");
        }
        // An engine's own filter, and no_new_privs that is missing.
        for errno in [Errno::PERM, Errno::ACCESS, Errno::NOSYS] {
            assert!(matches!(why(errno, counted), SeccompError::Refused(seen) if seen == errno));
        }
    }

    #[test]
    fn a_mode_counts_only_where_a_file_is_made() {
        let made = u64::from(libc::O_CREAT.unsigned_abs() | libc::O_WRONLY.unsigned_abs());
        let unnamed = u64::from(libc::O_TMPFILE.unsigned_abs() | libc::O_RDWR.unsigned_abs());
        assert_eq!(answer(libc::SYS_openat, &[0, 0, 0, 0o4755]), SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_openat, &[0, 0, made, 0o755]), SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_openat, &[0, 0, made, 0o4755]), refusal(libc::EPERM));
        assert_eq!(answer(libc::SYS_openat, &[0, 0, unnamed, 0o2755]), refusal(libc::EPERM));
        let directory = u64::from(libc::O_DIRECTORY.unsigned_abs());
        assert_eq!(answer(libc::SYS_openat, &[0, 0, directory, 0o6000]), SECCOMP_RET_ALLOW);
    }

    #[test]
    fn upper_halves_of_arguments_change_nothing() {
        let high = 1 << 32;
        let vsock = u64::from(libc::AF_VSOCK.unsigned_abs());
        assert_eq!(answer(libc::SYS_socket, &[vsock, 1, 0]), refusal(libc::EAFNOSUPPORT));
        assert_eq!(answer(libc::SYS_socket, &[vsock | high, 1, 0]), refusal(libc::EAFNOSUPPORT));
        assert_eq!(answer(libc::SYS_socket, &[2 | high, 3 | high, 0]), refusal(libc::EPERM));
        assert_eq!(answer(libc::SYS_ioctl, &[0, 0x5412 | high, 0]), refusal(libc::EPERM));
    }

    #[test]
    fn route_netlink_is_open_and_other_netlink_is_not() {
        let netlink = u64::from(libc::AF_NETLINK.unsigned_abs());
        let raw = u64::from(libc::SOCK_RAW.unsigned_abs() | libc::SOCK_CLOEXEC.unsigned_abs());
        assert_eq!(answer(libc::SYS_socket, &[netlink, raw, 0]), SECCOMP_RET_ALLOW);
        let audit = u64::from(libc::NETLINK_AUDIT.unsigned_abs());
        assert_eq!(answer(libc::SYS_socket, &[netlink, 2, audit]), refusal(libc::EAFNOSUPPORT));
    }

    #[test]
    fn the_limit_of_core_files_stays_what_it_is() {
        let (core, files) = (4, 7);
        // A pointer may be null in one half.
        for pointer in [1, 1 << 32, u64::MAX] {
            assert_eq!(answer(libc::SYS_prlimit64, &[0, core, pointer]), refusal(0), "{pointer:#x}");
            assert_eq!(
                answer(libc::SYS_prlimit64, &[7, core | 1 << 32, pointer]),
                refusal(0),
                "{pointer:#x}"
            );
            assert_eq!(answer(libc::SYS_prlimit64, &[0, files, pointer]), SECCOMP_RET_ALLOW, "{pointer:#x}");
        }
        assert_eq!(answer(libc::SYS_prlimit64, &[0, core, 0]), SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_setrlimit, &[core, 1]), refusal(0));
        assert_eq!(answer(libc::SYS_setrlimit, &[files, 1]), SECCOMP_RET_ALLOW);
    }

    #[test]
    fn of_a_file_system_nothing_is_asked_but_what_is_listed() {
        // FIONREAD; DRM_IOCTL_VERSION, for a device that was passed in; FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_GETFLAGS.
        for request in [0x541b, 0xc040_6400, 0x4004_9409, 0x4020_940d, 0xc018_9436, 0x8008_6601] {
            assert_eq!(answer(libc::SYS_ioctl, &[0, request]), SECCOMP_RET_ALLOW, "{request:#x}");
        }
        // BTRFS_IOC_SUBVOL_CREATE, _CREATE_V2, _SNAP_CREATE, _SNAP_CREATE_V2, _SNAP_DESTROY; BCH_IOCTL_SUBVOLUME_CREATE;
        // FS_IOC_SETFLAGS; FS_IOC_FSSETXATTR; FS_IOC_SET_ENCRYPTION_POLICY; FS_IOC_ENABLE_VERITY.
        for request in [
            0x5000_940e, 0x5000_9418, 0x5000_9401, 0x5000_9417, 0x5000_940f, 0x4020_bc10, 0x4008_6602,
            0x401c_5820, 0x800c_6613, 0x4080_6685,
        ] {
            assert_eq!(answer(libc::SYS_ioctl, &[0, request]), refusal(libc::ENOTTY), "{request:#x}");
        }
    }

    #[test]
    fn of_a_socket_nothing_is_asked_but_what_is_listed() {
        // SIOCATMARK, SIOCGSTAMP_NEW, SIOCGIFCONF, SIOCGIFHWADDR, SIOCGIFINDEX, SIOCOUTQNSD; FIONREAD and TIOCOUTQ are of another type.
        for request in [0x8905, 0x8010_8906, 0x8912, 0x8927, 0x8933, 0x894b, 0x541b, 0x5411] {
            assert_eq!(answer(libc::SYS_ioctl, &[0, request]), SECCOMP_RET_ALLOW, "{request:#x}");
        }
        // SIOCSIFFLAGS, SIOCGIFBR, SIOCETHTOOL, SIOCGIFVLAN, SIOCBRADDBR, SIOCPROTOPRIVATE, SIOCDEVPRIVATE.
        for request in [0x8914, 0x8940, 0x8946, 0x8982, 0x89a0, 0x89e0, 0x89f0, 0x8940 | 1 << 32] {
            assert_eq!(answer(libc::SYS_ioctl, &[0, request]), refusal(libc::EOPNOTSUPP), "{request:#x}");
        }
    }

    #[test]
    fn of_fcntl_only_what_is_listed_is_known() {
        for command in (0..=16).chain([36, 37, 38, 1025, 1027, 1030, 1031, 1032, 1033, 1034, 1036]) {
            assert_eq!(answer(libc::SYS_fcntl, &[0, command]), SECCOMP_RET_ALLOW, "{command}");
        }
        // F_SETLEASE and F_SETDELEG.
        for command in [0x400, 0x410, 0x410 | 1 << 32] {
            assert_eq!(answer(libc::SYS_fcntl, &[0, command]), refusal(libc::EPERM), "{command}");
        }
        // F_GETOWNER_UIDS, F_NOTIFY, F_CANCELLK, F_GETDELEG, and what no kernel has yet.
        for command in [17, 1026, 1029, 1039, 1041, 2000, 0xffff_ffff] {
            assert_eq!(answer(libc::SYS_fcntl, &[0, command]), refusal(libc::EINVAL), "{command}");
        }
    }

    #[test]
    fn nothing_is_put_on_top_of_tcp_and_udp_and_nothing_is_urgent() {
        // The level of UDP-Lite reaches the options of UDP, too.
        let (tcp, udp, ip6, udp_lite) = (6, 17, 41, 136);
        for (level, option) in [
            (tcp, 8),
            (tcp, 14),
            (tcp, 31),
            (tcp, 32),
            (tcp, 38),
            (udp, 1),
            (udp, 100),
            (udp_lite, 1),
            (udp_lite, 100),
            (ip6, 32),
            (ip6, 32 | 1 << 32),
        ] {
            let asked = answer(libc::SYS_setsockopt, &[0, level, option]);
            assert_eq!(asked, refusal(libc::ENOPROTOOPT), "{level} {option}");
        }
        // TCP_NODELAY, TCP_CONGESTION, TCP_FASTOPEN, UDP_SEGMENT, IPV6_V6ONLY, IPV6_JOIN_GROUP; numbers of other levels.
        for (level, option) in [
            (tcp, 1),
            (tcp, 13),
            (tcp, 23),
            (udp, 103),
            (ip6, 26),
            (ip6, 20),
            (1, 14),
            (0, 31),
            (tcp, 100),
            (0, 32),
            (1, 8),
        ] {
            let asked = answer(libc::SYS_setsockopt, &[0, level, option]);
            assert_eq!(asked, SECCOMP_RET_ALLOW, "{level} {option}");
        }
        let (urgent, no_signal) = (1, 0x4000);
        for (flags, expected) in
            [(no_signal, SECCOMP_RET_ALLOW), (urgent | no_signal, refusal(libc::EOPNOTSUPP))]
        {
            assert_eq!(answer(libc::SYS_sendto, &[0, 1, 1, flags]), expected);
            assert_eq!(answer(libc::SYS_sendmmsg, &[0, 1, 1, flags]), expected);
            assert_eq!(answer(libc::SYS_sendmsg, &[0, 1, flags]), expected);
            assert_eq!(answer(libc::SYS_recvmsg, &[0, 1, flags]), SECCOMP_RET_ALLOW);
        }
    }

    #[test]
    fn extended_attributes_are_read_and_not_set() {
        let (set_at, others_at) = (463, 464..=466);
        for call in [libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, set_at] {
            assert_eq!(answer(call, &[]), refusal(libc::EOPNOTSUPP), "{call}");
        }
        for call in [
            libc::SYS_getxattr,
            libc::SYS_lgetxattr,
            libc::SYS_fgetxattr,
            libc::SYS_listxattr,
            libc::SYS_llistxattr,
            libc::SYS_flistxattr,
            libc::SYS_removexattr,
            libc::SYS_lremovexattr,
            libc::SYS_fremovexattr,
        ]
        .into_iter()
        .chain(others_at)
        {
            assert_eq!(answer(call, &[]), SECCOMP_RET_ALLOW, "{call}");
        }
    }

    #[test]
    fn threads_are_born_and_namespaces_are_not() {
        let thread = 0x003d_0f00;
        assert_eq!(answer(libc::SYS_clone, &[thread]), SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_clone, &[0x1000_0011]), refusal(libc::EPERM));
        assert_eq!(answer(libc::SYS_clone3, &[]), refusal(libc::ENOSYS));
        assert_eq!(answer(libc::SYS_unshare, &[]), refusal(libc::EPERM));
    }

    #[test]
    fn nobody_holds_up_a_pid_1_of_ours() {
        for (number, args) in [
            (libc::SYS_sched_setscheduler, [1, 5]),
            (libc::SYS_sched_setaffinity, [1, 8]),
            (libc::SYS_sched_setattr, [1, 0]),
            (libc::SYS_prlimit64, [1, 7]),
            (libc::SYS_setpriority, [0, 1]),
            (libc::SYS_setpriority, [2, 0]),
            (libc::SYS_ioprio_set, [1, 1]),
            (libc::SYS_ioprio_set, [3, 1000]),
        ] {
            assert_eq!(answer(number, &args), refusal(libc::EPERM), "{number} {args:?}");
            let mut call = Call { number: number.try_into().unwrap(), arch: ARCHITECTURE, args: [0; 6] };
            call.args[..2].copy_from_slice(&args);
            assert_eq!(run(&compile(Pid1::Agents).0, &call).0, SECCOMP_RET_ALLOW, "{number} {args:?}");
        }
        for (number, args) in [
            (libc::SYS_sched_setscheduler, [0, 3]),
            (libc::SYS_prlimit64, [7, 7]),
            (libc::SYS_setpriority, [0, 0]),
            (libc::SYS_ioprio_set, [1, 0]),
        ] {
            assert_eq!(answer(number, &args), SECCOMP_RET_ALLOW, "{number} {args:?}");
        }
    }

    #[test]
    fn what_pid_1_lives_by_is_allowed() {
        for call in [
            libc::SYS_wait4,
            libc::SYS_waitid,
            libc::SYS_kill,
            libc::SYS_signalfd4,
            libc::SYS_rt_sigtimedwait,
            libc::SYS_ppoll,
            libc::SYS_recvmsg,
            libc::SYS_sendmsg,
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_setsid,
            libc::SYS_openat,
            libc::SYS_write,
        ] {
            assert_eq!(answer(call, &[]), SECCOMP_RET_ALLOW, "{call}");
        }
        let tiocsctty = 0x540e;
        assert_eq!(answer(libc::SYS_ioctl, &[0, tiocsctty]), SECCOMP_RET_ALLOW);
    }

    #[test]
    fn a_call_is_found_in_few_steps() {
        let program = compile(Pid1::Ours).0;
        assert!(program.len() < 1024, "{} instructions", program.len());
        for number in 0..600 {
            let steps = run(&program, &Call { number, arch: ARCHITECTURE, args: [0; 6] }).1;
            assert!(steps <= 36, "number {number} takes {steps}");
        }
    }

    /// Checks that compiling takes less than a bound that a debug build on a busy machine keeps, and prints the time.
    #[test]
    fn compiling_is_quick() {
        let best = (0..50)
            .map(|_| {
                let start = Instant::now();
                std::hint::black_box(compile(Pid1::Ours));
                start.elapsed()
            })
            .min()
            .unwrap();
        println!("{} instructions compiled in {best:?}", compile(Pid1::Ours).0.len());
        assert!(best.as_micros() < 2000, "{best:?}");
    }
}
