//! Namespaces of the agent's own, which would give back capabilities.

use crate::attack::Attack;

#[test]
fn no_namespace_is_made_or_entered() {
    Attack::new(
        r#"
import signal
KINDS = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
         "pid": 0x20000000, "net": 0x40000000, "time": 0x80}

def in_a_child(action):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise OSError(status, "refused")

USER = KINDS["user"]
for name, flag in KINDS.items():
    # Together with a user namespace, which is how a normal user gets the others.
    attempt(f"unshare {name}", lambda: in_a_child(lambda: call("unshare", flag | USER)))

def clone(flags):
    child = call("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

attempt("clone", lambda: clone(USER))
attempt("clone with the upper half set", lambda: clone(USER | 1 << 40))

def clone3():
    arguments = (ctypes.c_uint64 * 8)(USER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    child = call("clone3", ctypes.byref(arguments), 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

attempt("clone3", clone3)

def setns_user():
    namespace = os.open("/proc/self/ns/user", os.O_RDONLY)
    call("setns", namespace, 0)

# No process may call setns(2) on its own user namespace: the kernel has another answer than the filter.
attempt("setns", setns_user)
"#,
    )
    .gets(&[
        ("unshare mount", "ok", "EPERM"),
        ("unshare cgroup", "ok", "EPERM"),
        ("unshare uts", "ok", "EPERM"),
        ("unshare ipc", "ok", "EPERM"),
        ("unshare user", "ok", "EPERM"),
        ("unshare pid", "ok", "EPERM"),
        ("unshare net", "ok", "EPERM"),
        ("unshare time", "ok", "EPERM"),
        ("clone", "ok", "EPERM"),
        ("clone with the upper half set", "ok", "EPERM"),
        ("clone3", "ok", "ENOSYS"),
        ("setns", "EINVAL", "EPERM"),
    ]);
}
