//! The filter as the kernel runs it: every case is refused with the filter, and ends otherwise without.
//!
//! A filter holds for one thread and what it gives birth to, so each test confines a thread of its own.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod raw;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;
use std::time::Instant;

use confine::report::Status;
use confine::{capabilities, seccomp};
use raw::{Ended, call};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, chmod, chmodat, fchmod, mkdirat, mknodat, openat,
    renameat_with,
};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

/// Runs `check` behind the filter.
fn filtered<T: Send + 'static>(check: impl FnOnce() -> T + Send + 'static) -> T {
    let confined = move || {
        capabilities::no_new_privs().unwrap();
        seccomp::install(&seccomp::compile(seccomp::Pid1::Ours)).unwrap();
        check()
    };
    thread::spawn(confined).join().unwrap()
}

/// A call with its first arguments; the others are zero.
fn number(call: libc::c_long) -> u64 {
    call.try_into().unwrap()
}

fn args(first: &[u64]) -> [u64; 6] {
    let mut args = [0; 6];
    args[..first.len()].copy_from_slice(first);
    args
}

/// Whom the kernel answers otherwise where no filter is.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Control {
    /// Everyone.
    Anyone,
    /// Root; others get the same error from the kernel, for want of a capability.
    Root,
    /// Nobody on a kernel that is built without it.
    Nobody,
}

use Control::{Anyone, Nobody, Root};

const HIGH: u64 = 1 << 32;
const BAD: u64 = u64::MAX;

/// Calls whose arguments are such that they fail or do nothing where no filter is.
#[rustfmt::skip] // a table
const DANGEROUS: &[(&str, libc::c_long, &[u64], i32, Control)] = &[
    ("io_uring_setup", libc::SYS_io_uring_setup, &[0, 0], libc::EPERM, Anyone),
    ("clone3", libc::SYS_clone3, &[0, 0], libc::ENOSYS, Anyone),
    ("openat2", libc::SYS_openat2, &[0, 0, 0, 24], libc::ENOSYS, Anyone),
    ("unshare", libc::SYS_unshare, &[0], libc::EPERM, Anyone),
    ("setns", libc::SYS_setns, &[BAD, 0], libc::EPERM, Anyone),
    ("mount", libc::SYS_mount, &[0, 0, 0, 0, 0], libc::EPERM, Anyone),
    ("umount2", libc::SYS_umount2, &[0, 0xffff], libc::EPERM, Anyone),
    ("pivot_root", libc::SYS_pivot_root, &[0, 0], libc::EPERM, Root),
    ("chroot", libc::SYS_chroot, &[0], libc::EPERM, Anyone),
    ("open_tree", libc::SYS_open_tree, &[BAD, 0, 0], libc::EPERM, Anyone),
    ("open_tree_attr", 467, &[BAD, 0, 0, 0, 0], libc::EPERM, Anyone),
    ("move_mount", libc::SYS_move_mount, &[BAD, 0, BAD, 0, BAD], libc::EPERM, Root),
    ("fsopen", libc::SYS_fsopen, &[0, 0], libc::EPERM, Root),
    ("fsconfig", libc::SYS_fsconfig, &[BAD, 0], libc::EPERM, Anyone),
    ("fsmount", libc::SYS_fsmount, &[BAD, 0], libc::EPERM, Root),
    ("fspick", libc::SYS_fspick, &[BAD, 0], libc::EPERM, Root),
    ("mount_setattr", libc::SYS_mount_setattr, &[BAD, 0, 0, 0, 0], libc::EPERM, Anyone),
    ("statmount", 457, &[0, 0, 0, 0xffff], libc::EPERM, Anyone),
    ("listmount", 458, &[0, 0, 0, 0xffff], libc::EPERM, Anyone),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, &[BAD, 0, 0], libc::EPERM, Root),
    ("keyctl", libc::SYS_keyctl, &[9999], libc::EPERM, Anyone),
    ("add_key", libc::SYS_add_key, &[0, 0, 0, 0, 0], libc::EPERM, Anyone),
    ("request_key", libc::SYS_request_key, &[0, 0, 0, 0], libc::EPERM, Anyone),
    ("bpf", libc::SYS_bpf, &[BAD, 0, 0], libc::EPERM, Root),
    ("perf_event_open", libc::SYS_perf_event_open, &[0, 0, 0, 0, 0], libc::EPERM, Root),
    ("userfaultfd", libc::SYS_userfaultfd, &[0xffff_0000], libc::EPERM, Root),
    ("fanotify_init", libc::SYS_fanotify_init, &[0xffff_0000, 0], libc::EPERM, Root),
    ("process_vm_readv", libc::SYS_process_vm_readv, &[0, 0, 0, 0, 0, 1], libc::EPERM, Anyone),
    ("process_madvise", libc::SYS_process_madvise, &[BAD, 0, 0, 0, 0], libc::EPERM, Anyone),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, &[BAD, 0, 0], libc::EPERM, Anyone),
    ("kcmp", libc::SYS_kcmp, &[0, 0, 99], libc::EPERM, Nobody),
    ("init_module", libc::SYS_init_module, &[0, 0, 0], libc::EPERM, Root),
    ("reboot", libc::SYS_reboot, &[0], libc::EPERM, Root),
    ("swapon", libc::SYS_swapon, &[0, 0xffff_0000], libc::EPERM, Root),
    ("settimeofday", libc::SYS_settimeofday, &[1, 0], libc::EPERM, Anyone),
    ("adjtimex", libc::SYS_adjtimex, &[0], libc::EPERM, Anyone),
    ("PTRACE_ATTACH", libc::SYS_ptrace, &[16, 0], libc::EPERM, Anyone),
    ("PTRACE_SEIZE", libc::SYS_ptrace, &[0x4206, 0], libc::EPERM, Anyone),
    ("PR_SET_MM", libc::SYS_prctl, &[35, 99, 0, 0, 1], libc::EPERM, Anyone),
    ("PR_SCHED_CORE", libc::SYS_prctl, &[62, 99, 0, 0, 0], libc::EPERM, Anyone),
    ("PR_SET_MEMORY_MERGE", libc::SYS_prctl, &[67, 99, 0, 0, 1], libc::EPERM, Anyone),
    ("MADV_MERGEABLE", libc::SYS_madvise, &[1, 0, 12, 0, 0], libc::EPERM, Anyone),
    ("READ_IMPLIES_EXEC", libc::SYS_personality, &[0x40_0000], libc::EPERM, Anyone),
    ("a listener", libc::SYS_seccomp, &[1, 8, 0], libc::EPERM, Anyone),
    ("TIOCSTI", libc::SYS_ioctl, &[BAD, 0x5412, 0], libc::EPERM, Anyone),
    ("TIOCSTI, upper half", libc::SYS_ioctl, &[BAD, 0x5412 | HIGH, 0], libc::EPERM, Anyone),
    ("TIOCLINUX", libc::SYS_ioctl, &[BAD, 0x541c, 0], libc::EPERM, Anyone),
    ("TIOCSETD", libc::SYS_ioctl, &[BAD, 0x5423, 0], libc::EPERM, Anyone),
    ("F_SETLEASE", libc::SYS_fcntl, &[BAD, 1024, 2], libc::EPERM, Anyone),
    ("F_NOTIFY", libc::SYS_fcntl, &[BAD, 1026, 0], libc::EINVAL, Anyone),
    ("F_SETDELEG", libc::SYS_fcntl, &[BAD, 1040, 0], libc::EPERM, Anyone),
    ("SIOCGIFBR", libc::SYS_ioctl, &[BAD, 0x8940, 0], libc::EOPNOTSUPP, Anyone),
    ("SIOCGIFVLAN", libc::SYS_ioctl, &[BAD, 0x8982, 0], libc::EOPNOTSUPP, Anyone),
    ("TCP_ULP", libc::SYS_setsockopt, &[BAD, 6, 31, 0, 0], libc::ENOPROTOOPT, Anyone),
    ("TCP_LINGER2", libc::SYS_setsockopt, &[BAD, 6, 8, 0, 0], libc::ENOPROTOOPT, Anyone),
    ("IPV6_FLOWLABEL_MGR", libc::SYS_setsockopt, &[BAD, 41, 32, 0, 0], libc::ENOPROTOOPT, Anyone),
    ("memfd_secret", libc::SYS_memfd_secret, &[0xffff_0000], libc::ENOSYS, Nobody),
    ("UDP_ENCAP", libc::SYS_setsockopt, &[BAD, 17, 100, 0, 0], libc::ENOPROTOOPT, Anyone),
    ("MSG_OOB", libc::SYS_sendto, &[BAD, 0, 0, 1, 0, 0], libc::EOPNOTSUPP, Anyone),
    ("AF_VSOCK", libc::SYS_socket, &[40, 1, 0], libc::EAFNOSUPPORT, Nobody),
    ("AF_ALG", libc::SYS_socket, &[38, 5, 0], libc::EAFNOSUPPORT, Nobody),
    ("AF_PACKET", libc::SYS_socket, &[17, 2, 0], libc::EAFNOSUPPORT, Anyone),
    ("AF_PACKET, upper half", libc::SYS_socket, &[0x11 | HIGH, 2, 0], libc::EAFNOSUPPORT, Anyone),
    ("raw socket", libc::SYS_socket, &[2, 3, 1], libc::EPERM, Root),
    ("raw socket, upper half", libc::SYS_socket, &[2 | HIGH, 3 | HIGH, 1], libc::EPERM, Root),
    ("SCTP", libc::SYS_socket, &[2, 1, 132], libc::EAFNOSUPPORT, Anyone),
    ("netlink audit", libc::SYS_socket, &[16, 2, 9], libc::EAFNOSUPPORT, Anyone),
    ("pair of netlinks", libc::SYS_socketpair, &[16, 2, 9, 0], libc::EAFNOSUPPORT, Anyone),
];

#[test]
fn dangerous_calls_are_refused_and_not_so_without_the_filter() {
    let make = |&(_, call_number, first, ..): &(_, _, &[u64], _, _)| call(number(call_number), args(first));
    let outcomes = filtered(move || DANGEROUS.iter().map(make).collect::<Vec<_>>());
    let root = rustix::process::getuid().is_root();
    for (case, outcome) in DANGEROUS.iter().zip(outcomes) {
        let (name, .., error, control) = *case;
        assert_eq!(outcome, Ended::Refused(error), "{name}");
        if control == Anyone || control == Root && root {
            assert_ne!(make(case), Ended::Refused(error), "control of {name}");
        }
    }
}

#[test]
fn a_number_that_is_no_call_is_answered_as_by_an_old_kernel() {
    assert_eq!(filtered(|| call(999, [0; 6])), Ended::Refused(libc::ENOSYS));
}

#[test]
fn what_agents_need_is_let_through() {
    let cases: [(&str, u64, [u64; 6]); 10] = [
        ("AF_UNIX", number(libc::SYS_socket), args(&[1, 1, 0])),
        ("AF_INET", number(libc::SYS_socket), args(&[2, 1, 6])),
        ("AF_INET6, datagrams", number(libc::SYS_socket), args(&[10, 2 | 0o2_000_000, 0])),
        ("AF_NETLINK, routes", number(libc::SYS_socket), args(&[16, 3 | 0o2_000_000, 0])),
        ("PTRACE_TRACEME", number(libc::SYS_ptrace), args(&[0])),
        ("setsid", number(libc::SYS_setsid), args(&[])),
        ("no randomising", number(libc::SYS_personality), args(&[0x4_0000])),
        ("the present personality", number(libc::SYS_personality), args(&[0xffff_ffff])),
        ("getrandom", number(libc::SYS_getrandom), args(&[0, 0, 0])),
        ("membarrier", number(libc::SYS_membarrier), args(&[0, 0, 0])),
    ];
    for (name, number, args) in cases {
        assert_eq!(filtered(move || call(number, args)), Ended::Done, "{name}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn other_calling_conventions_are_refused() {
    let x32_getpid = 0x4000_0000 | number(libc::SYS_getpid);
    assert_eq!(filtered(raw::call_of_i386), Ended::Killed(libc::SIGSYS));
    assert_eq!(filtered(move || call(x32_getpid, [0; 6])), Ended::Refused(libc::ENOSYS));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn control_the_32_bit_call_works_or_faults_without_the_filter() {
    assert_ne!(raw::call_of_i386(), Ended::Killed(libc::SIGSYS));
}

/// Every way to make a set-uid file or directory, each with its name.
fn set_id_attempts() -> BTreeMap<&'static str, Result<(), Errno>> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    let open = File::create(&file).unwrap();
    let set_uid = Mode::from_raw_mode(0o4755);
    let set_gid = Mode::from_raw_mode(0o2755);
    let made = OFlags::WRONLY | OFlags::CREATE;
    BTreeMap::from([
        ("chmod", chmod(&file, set_uid)),
        ("fchmod", fchmod(&open, set_gid)),
        ("fchmodat", chmodat(CWD, &file, set_uid, AtFlags::empty())),
        ("openat with O_CREAT", openat(CWD, place.path().join("a"), made, set_uid).map(drop)),
        (
            "openat with O_TMPFILE",
            openat(CWD, place.path(), OFlags::WRONLY | OFlags::TMPFILE, set_gid).map(drop),
        ),
        ("mkdirat", mkdirat(CWD, place.path().join("b"), set_gid)),
        ("mknodat", mknodat(CWD, place.path().join("c"), FileType::RegularFile, set_uid, 0)),
    ])
}

#[test]
fn set_uid_bits_are_refused_in_every_call_that_takes_a_mode() {
    for (name, outcome) in filtered(set_id_attempts) {
        assert_eq!(outcome, Err(Errno::PERM), "{name}");
    }
    for (name, outcome) in set_id_attempts() {
        assert_eq!(outcome, Ok(()), "control of {name}");
    }
}

#[test]
fn ordinary_modes_pass_and_so_does_a_stray_mode_without_a_new_file() {
    filtered(|| {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "text").unwrap();
        chmod(&file, Mode::from_raw_mode(0o755)).unwrap();
        openat(CWD, &file, OFlags::RDONLY, Mode::from_raw_mode(0o6777)).unwrap();
        mknodat(CWD, place.path().join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    });
}

#[test]
fn device_nodes_are_refused() {
    // A character device 0, 0 is a whiteout, for which no capability is needed.
    let whiteout = || {
        let place = tempfile::tempdir().unwrap();
        mknodat(CWD, place.path().join("node"), FileType::CharacterDevice, Mode::from_raw_mode(0o600), 0)
    };
    assert_eq!(filtered(whiteout), Err(Errno::PERM));
    assert_eq!(whiteout(), Ok(()));
    // One is left behind by a rename, too.
    let renamed = |flags| {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        renameat_with(CWD, place.path().join("file"), CWD, place.path().join("other"), flags)
    };
    assert_eq!(filtered(move || renamed(RenameFlags::WHITEOUT)), Err(Errno::PERM));
    assert_eq!(filtered(move || renamed(RenameFlags::NOREPLACE)), Ok(()));
    assert_eq!(renamed(RenameFlags::WHITEOUT), Ok(()), "the control");
}

#[test]
fn threads_processes_and_pipes_work() {
    filtered(|| {
        assert_eq!(thread::spawn(|| 6 * 7).join().unwrap(), 42);
        let out = Command::new("sh").args(["-c", "echo a | tr a b; (exit 3); echo $?"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "b\n3\n");
    });
}

#[test]
fn a_program_may_narrow_itself_further() {
    let status = filtered(|| {
        seccomp::install(&seccomp::compile(seccomp::Pid1::Ours)).unwrap();
        Command::new("true").status().unwrap()
    });
    assert!(status.success());
}

#[test]
fn without_no_new_privs_the_error_says_what_is_missing() {
    let error = thread::spawn(|| {
        // Root may install a filter without it, so root's capabilities go first.
        capabilities::clear().unwrap();
        seccomp::install(&seccomp::compile(seccomp::Pid1::Ours)).unwrap_err().to_string()
    });
    let error = error.join().unwrap();
    assert!(error.contains("no_new_privs"), "{error}");
}

#[test]
fn the_probe_sees_whether_the_filter_is_on() {
    let finding = filtered(seccomp::probe);
    assert_eq!(finding.status, Status::Enforced, "{}", finding.reason);
    let finding = seccomp::probe();
    assert_eq!(finding.status, Status::Not, "{}", finding.reason);
}

#[test]
fn the_egress_proxy_accepts_and_connects_and_does_nothing_else() {
    let listening = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listening.local_addr().unwrap();
    // What is tried, and how it ends.
    let tried = move || {
        let socket = |family, kind| rustix::net::socket(family, kind, None);
        let stream = socket(AddressFamily::INET, SocketType::STREAM).unwrap();
        rustix::net::bind(&stream, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let process = Command::new("true").status();
        [
            rustix::net::listen(&stream, 1).err(),
            socket(AddressFamily::UNIX, SocketType::STREAM).err(),
            socket(AddressFamily::NETLINK, SocketType::RAW).err(),
            UnixStream::pair().err().and_then(|error| Errno::from_io_error(&error)),
            process.err().and_then(|error| Errno::from_io_error(&error)),
        ]
    };
    let (control, filtered) = (tried, tried);
    assert_eq!(control(), [None; 5]);
    let confined = thread::spawn(move || {
        capabilities::no_new_privs().unwrap();
        seccomp::install(&seccomp::compile_for_egress()).unwrap();
        let refused = filtered();
        // Its work goes on: connections either way, name servers, threads.
        let outward = TcpStream::connect(address).unwrap();
        let (inward, from) = listening.accept().unwrap();
        assert_eq!(outward.local_addr().unwrap(), from);
        drop(inward);
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"question", address).unwrap();
        assert_eq!(thread::spawn(|| 6 * 7).join().unwrap(), 42);
        refused
    });
    let [perm, family] = [Errno::PERM, Errno::AFNOSUPPORT].map(Some);
    assert_eq!(confined.join().unwrap(), [perm, family, family, perm, perm]);
}

/// A figure for the reader of the output; the bound is generous, because the machine may be busy.
#[test]
fn loading_is_quick() {
    let load = || {
        let program = seccomp::compile(seccomp::Pid1::Ours);
        thread::spawn(move || {
            capabilities::no_new_privs().unwrap();
            let start = Instant::now();
            seccomp::install(&program).unwrap();
            start.elapsed()
        })
    };
    let best = (0..20).map(|_| load().join().unwrap()).min().unwrap();
    println!("filter loaded in {best:?}");
    assert!(best.as_micros() < 5000, "{best:?}");
}
