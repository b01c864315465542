//! The environment, memory, descriptors and directories of PID 1, which is the agent's user too.

use crate::attack::Attack;
use crate::machine::Runner;

#[test]
fn pid_1_shows_nothing_of_itself() {
    Attack::new(
        r#"
target = globals().get("victim", 1)
attempt("environ", lambda: read(f"/proc/{target}/environ"))
attempt("maps", lambda: read(f"/proc/{target}/maps"))
attempt("mem", lambda: os.close(os.open(f"/proc/{target}/mem", os.O_RDONLY)))
attempt("mem for writing", lambda: os.close(os.open(f"/proc/{target}/mem", os.O_RDWR)))
attempt("auxv", lambda: read(f"/proc/{target}/auxv"))
attempt("descriptors", lambda: os.listdir(f"/proc/{target}/fd"))
attempt("a descriptor", lambda: os.readlink(f"/proc/{target}/fd/0"))
attempt("root", lambda: os.listdir(f"/proc/{target}/root/"))
attempt("cwd", lambda: os.readlink(f"/proc/{target}/cwd"))
attempt("exe", lambda: os.readlink(f"/proc/{target}/exe"))
attempt("namespaces", lambda: os.readlink(f"/proc/{target}/ns/mnt"))
attempt("ptrace", lambda: call("ptrace", 0x4206, target, 0, 0))

class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

def copy_memory():
    buffer = ctypes.create_string_buffer(8)
    # Its own addresses serve as those of the other: both run without knowing better.
    line = next(line for line in open(f"/proc/{target}/maps") if "[stack]" in line) if target != 1 else "7fff0000-0"
    ours, theirs = Vector(ctypes.addressof(buffer), 8), Vector(int(line.split("-")[0], 16), 8)
    call("process_vm_readv", target, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)

attempt("process_vm_readv", copy_memory)
attempt("pidfd_getfd", lambda: call("pidfd_getfd", call("pidfd_open", target, 0), 0, 0))
"#,
    )
    .before_the_control(
        r#"
import atexit, signal, subprocess
child = subprocess.Popen(["sleep", "60"])
# By its number: Popen.kill waits first, and may take a stop of what it traces for its end.
atexit.register(os.kill, child.pid, signal.SIGKILL)
victim = child.pid
while open(f"/proc/{victim}/comm").read() != "sleep\n":
    pass
"#,
    )
    // There the agent has the number 0, to which /proc gives what nobody may look into. The list of numbers is all it
    // shows; what one of them is, it does not.
    .elsewhere(&[(&[Runner::RootlessDocker], "descriptors", "ok")])
    .gets(&[
        ("environ", "ok", "EACCES"),
        ("maps", "ok", "EACCES"),
        ("mem", "ok", "EACCES"),
        ("mem for writing", "ok", "EACCES"),
        ("auxv", "ok", "EACCES"),
        ("descriptors", "ok", "EACCES"),
        ("a descriptor", "ok", "EACCES"),
        ("root", "ok", "EACCES"),
        ("cwd", "ok", "EACCES"),
        ("exe", "ok", "EACCES"),
        ("namespaces", "ok", "EACCES"),
        ("ptrace", "ok", "EPERM"),
        ("process_vm_readv", "ok", "EPERM"),
        ("pidfd_getfd", "ok", "EPERM"),
    ]);
}

#[test]
fn pid_1_is_not_held_up() {
    // The control is that of another process of the same user. Inside it is PID 1, which has to end the sandbox in time.
    Attack::new(
        r#"
import resource
target = globals().get("victim", 1)
attempt("scheduled as idle", lambda: os.sched_setscheduler(target, os.SCHED_IDLE, os.sched_param(0)))
attempt("on one processor", lambda: os.sched_setaffinity(target, {min(os.sched_getaffinity(0))}))
attempt("without priority", lambda: os.setpriority(os.PRIO_PROCESS, target, 19))
# Of a user who has no process here: in the control this must not slow the whole machine down.
attempt("a user without priority", lambda: os.setpriority(os.PRIO_USER, 54321, 19))
attempt("without descriptors", lambda: resource.prlimit(target, resource.RLIMIT_NOFILE, (0, 0)))
attempt("itself", lambda: os.setpriority(os.PRIO_PROCESS, 0, 5))
"#,
    )
    .before_the_control(
        r#"
import atexit, signal, subprocess
child = subprocess.Popen(["sleep", "60"])
atexit.register(os.kill, child.pid, signal.SIGKILL)
victim = child.pid
"#,
    )
    .gets(&[
        ("scheduled as idle", "ok", "EPERM"),
        ("on one processor", "ok", "EPERM"),
        ("without priority", "ok", "EPERM"),
        ("a user without priority", "ESRCH", "EPERM"),
        ("without descriptors", "ok", "EPERM"),
        ("itself", "ok", "ok"),
    ]);
}
