//! Mounting, unmounting and remounting, by the old interface and by the new one.

use crate::attack::{Attack, Control};

#[test]
fn the_mounts_cannot_be_changed() {
    Attack::new(
        r#"
BIND, REMOUNT, RDONLY, DETACH = 0x1000, 0x20, 1, 2
HERE = -100
text = ctypes.c_char_p
def mount(source, target, kind, flags):
    call("mount", text(source), text(target), text(kind), flags, 0)

attempt("mount a tmpfs", lambda: mount(b"none", b"/tmp", b"tmpfs", 0))
attempt("bind", lambda: mount(b"/usr", b"/tmp", None, BIND))
attempt("remount", lambda: mount(None, b"/tmp", None, BIND | REMOUNT))
attempt("mount a new /proc", lambda: mount(b"proc", b"/proc", b"proc", 0))
attempt("unmount", lambda: call("umount2", text(b"/tmp"), DETACH))
attempt("fsopen", lambda: call("fsopen", text(b"tmpfs"), 0))
attempt("fspick", lambda: call("fspick", HERE, text(b"/proc"), 0))
attempt("open_tree", lambda: call("open_tree", HERE, text(b"/usr"), 1))
attempt("move_mount", lambda: call("move_mount", call("open_tree", HERE, text(b"/usr"), 1), text(b""), HERE, text(b"/tmp"), 4))
attempt("mount_setattr", lambda: call("mount_setattr", HERE, text(b"/proc"), 0, ctypes.byref((ctypes.c_uint64 * 4)(8, 0, 0, 0)), 32))
attempt("chroot", lambda: os.chroot("/proc/self/root"))
attempt("pivot_root", lambda: call("pivot_root", text(b"/tmp"), text(b"/tmp")))
"#,
    )
    .control(Control::Namespaces(&[]))
    .gets(&[
        ("mount a tmpfs", "ok", "EPERM"),
        ("bind", "ok", "EPERM"),
        ("remount", "ok", "EPERM"),
        ("mount a new /proc", "ok", "EPERM"),
        ("unmount", "ok", "EPERM"),
        ("fsopen", "ok", "EPERM"),
        ("fspick", "ok", "EPERM"),
        ("open_tree", "ok", "EPERM"),
        ("move_mount", "ok", "EPERM"),
        ("mount_setattr", "ok", "EPERM"),
        ("pivot_root", "ok", "EPERM"),
        ("chroot", "ok", "EPERM"),
    ]);
}
