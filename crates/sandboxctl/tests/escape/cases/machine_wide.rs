//! What all users of a machine share, and no control group divides: who takes all of it takes it from everybody.

use std::path::Path;

use crate::attack::{Attack, CONTAINERS, Control};
use crate::machine::{Caller, Runner, callers};
use crate::place::Place;

#[test]
fn what_no_group_divides_is_refused() {
    Attack::new(
        r#"
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
# One instruction: take everything.
instruction = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xffffffff))
program = struct.pack("HxxxxxxP", 1, ctypes.addressof(instruction))
attempt("compiled filter", lambda: udp.setsockopt(socket.SOL_SOCKET, 26, program))
attempt("copies of what is sent", lambda: udp.setsockopt(socket.SOL_SOCKET, 37, struct.pack("I", 0x412)))
attempt("huge pages in a file", lambda: checked(libc.memfd_create(b"huge", 4)))
tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
attempt("whole long after it is closed", lambda: tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, 120))
def waits():
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    if tcp.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) == bytes(8):
        raise Held("it was not set")
attempt("waits when it is closed", waits)
# What in6_flowlabel_req asks for: a label for itself alone.
label = bytes(15) + b"\x01" + struct.pack("=IBBHHHI", 0, 0, 1, 1, 6, 6, 0)
udp6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
attempt("label of IPv6", lambda: udp6.setsockopt(socket.IPPROTO_IPV6, 32, label))
attempt("another option", lambda: udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1))
attempt("another file", lambda: checked(libc.memfd_create(b"small", 0)))
"#,
    )
    .gets(&[
        ("compiled filter", "ok", "EPERM"),
        ("copies of what is sent", "ok", "ENOPROTOOPT"),
        ("huge pages in a file", "ok", "EINVAL"),
        ("whole long after it is closed", "ok", "ENOPROTOOPT"),
        ("waits when it is closed", "ok", "it was not set"),
        ("label of IPv6", "ok", "ENOPROTOOPT"),
        ("another option", "ok", "ok"),
        ("another file", "ok", "ok"),
    ]);
}

/// A trigger takes the kernel ten milliseconds when it goes: hundreds of thousands of them keep it busy long after the end of a sandbox.
#[test]
fn no_trigger_of_pressure_is_set() {
    if !Path::new("/proc/pressure").exists() {
        println!("not run: triggers of pressure, because this kernel has no PSI");
        return;
    }
    Attack::new(
        r#"
def trigger(name):
    file = os.open(f"/proc/pressure/{name}", os.O_RDWR | os.O_NONBLOCK)
    os.write(file, b"some 150000 2000000\0")
    os.close(file)

for name in ["cpu", "io", "memory"]:
    attempt(name, lambda: trigger(name))
attempt("readers", lambda: read("/proc/pressure/cpu"))
"#,
    )
    // Before Linux 6.5 no normal user could.
    .control(Control::OutsideByRoot)
    .elsewhere(&[
        (&[Runner::Podman], "cpu", "ENOENT"),
        (&[Runner::Podman], "io", "ENOENT"),
        (&[Runner::Podman], "memory", "ENOENT"),
        (&[Runner::Podman], "readers", "ENOENT"),
        (CONTAINERS, "cpu", "EACCES"),
        (CONTAINERS, "io", "EACCES"),
        (CONTAINERS, "memory", "EACCES"),
    ])
    .gets(&[
        ("cpu", "ok", "EROFS"),
        ("io", "ok", "EROFS"),
        ("memory", "ok", "EROFS"),
        ("readers", "ok", "ok"),
    ]);
}

/// Opens terminals until there are no more, or more than a sandbox gets.
const TERMINALS: &str = r#"
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
opened = 0
try:
    while opened < 200:
        os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
        opened += 1
except OSError as error:
    print(error.strerror)
print(opened)
"#;

#[test]
fn a_sandbox_does_not_take_all_terminals() {
    for caller in callers("terminals") {
        let place = Place::new(caller);
        let said = |output: std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
        let outside = said(place.outside(&["python3", "-c", TERMINALS]).output().unwrap());
        assert_eq!(outside, "200\n", "the control, by {caller:?}");
        let inside = said(place.inside(&[""; 0], &["python3", "-c", TERMINALS]).output().unwrap());
        assert_eq!(inside, "No space left on device\n128\n", "by {caller:?}");
    }
}

/// Takes inotify instances and signals that wait until there are no more.
const OF_THE_USER: &str = r#"
import ctypes, os, resource, signal
libc = ctypes.CDLL(None)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
instances = 0
while instances < 1000 and libc.inotify_init1(0) >= 0:
    instances += 1
of_user = int(open("/proc/sys/fs/inotify/max_user_instances").read())
print("instances", "all" if instances > of_user * 3 // 4 else "half" if instances <= of_user // 2 else instances)
print("limit", int(open("/proc/sys/user/max_inotify_instances").read()) / of_user)
print("signals", resource.getrlimit(resource.RLIMIT_SIGPENDING)[1])
"#;

#[test]
fn half_of_what_counts_for_the_user_is_left() {
    for caller in callers("inotify instances") {
        let place = Place::new(caller);
        let run = |mut command: std::process::Command| {
            let output = command.output().unwrap();
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        // Root's would be missing in every other test meanwhile.
        if caller == Caller::Normal {
            let outside = run(place.outside(&["python3", "-c", OF_THE_USER]));
            assert_eq!(outside[0], "instances all", "the control");
        }
        let signals = |lines: &[String]| lines[2].strip_prefix("signals ").unwrap().parse::<u64>().unwrap();
        let outside = run(place.outside(&["python3", "-c", &OF_THE_USER.replace("< 1000", "< 0")]));
        let inside = run(place.inside(&[""; 0], &["python3", "-c", OF_THE_USER]));
        assert_eq!(inside[0], "instances half", "by {caller:?}");
        // Others of the user's may have taken some.
        assert_eq!(inside[1], "limit 0.5", "by {caller:?}");
        assert_eq!(signals(&inside), signals(&outside) / 2, "by {caller:?}");
    }
}
