//! Calls that reach deep into the kernel, most of them root's.
//!
//! Where success would harm, the arguments are wrong on purpose: the control shows that the kernel looked at
//! them (or was built without), the case that it never got so far.

use crate::attack::{Attack, Control};

#[test]
fn the_kernel_is_not_asked() {
    Attack::new(
        r#"
text = ctypes.c_char_p
attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 128, 0), 128)
attempt("add_key", lambda: call("add_key", text(b"user"), text(b"name"), text(b"x"), 1, -2))
attempt("keyctl", lambda: call("keyctl", 0, -3, 0))
attempt("request_key", lambda: call("request_key", text(b"user"), text(b"no such key"), 0, 0))
attempt("io_setup", lambda: call("io_setup", 1, ctypes.byref(ctypes.c_ulong())))
attempt("bpf", lambda: call("bpf", 0, ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 8, 1), 128), 72))
attempt("userfaultfd", lambda: call("userfaultfd", 0))
attempt("perf_event_open", lambda: call("perf_event_open", attributes, 0, -1, -1, 0))
attempt("open_by_handle_at", lambda: call("open_by_handle_at", -1, ctypes.create_string_buffer(struct.pack("Ii", 8, 1), 64), 0))
attempt("init_module", lambda: call("init_module", ctypes.create_string_buffer(64), 64, text(b"")))
attempt("finit_module", lambda: call("finit_module", os.open("attack.py", os.O_RDONLY), text(b""), 0))
attempt("delete_module", lambda: call("delete_module", text(b"no_such_module"), 0o4000))
attempt("kexec_load", lambda: call("kexec_load", 0, 17, 0, 0xffff))
attempt("reboot", lambda: call("reboot", 0, 0, 0, 0))
attempt("swapon", lambda: call("swapon", text(b"/no/such/file"), 0))
attempt("acct", lambda: call("acct", text(b"/no/such/file")))
attempt("quotactl", lambda: call("quotactl", -1, text(b"/no/such/file"), 0, 0))
attempt("syslog", lambda: call("syslog", 10, 0, 0))
attempt("settimeofday", lambda: call("settimeofday", ctypes.byref((ctypes.c_int64 * 2)(0, -1)), 0))
attempt("personality", lambda: call("personality", 0x0400000))
"#,
    )
    .control(Control::OutsideByRoot)
    .gets(&[
        ("add_key", "ok", "EPERM"),
        ("keyctl", "ok", "EPERM"),
        ("request_key", "ENOKEY", "EPERM"),
        ("io_setup", "ok", "ENOSYS"),
        ("bpf", "ok", "EPERM"),
        ("userfaultfd", "ok", "EPERM"),
        ("perf_event_open", "ok", "EPERM"),
        ("open_by_handle_at", "EBADF", "EPERM"),
        ("init_module", "ENOEXEC|ENOSYS", "EPERM"),
        ("finit_module", "ENOEXEC|ENOSYS", "EPERM"),
        ("delete_module", "ENOENT|ENOSYS", "EPERM"),
        ("kexec_load", "EINVAL|ENOSYS", "EPERM"),
        ("reboot", "EINVAL", "EPERM"),
        ("swapon", "ENOENT", "EPERM"),
        ("acct", "ENOENT", "EPERM"),
        ("quotactl", "EINVAL", "EPERM"),
        ("syslog", "ok", "EPERM"),
        ("settimeofday", "EINVAL", "EPERM"),
        ("personality", "ok", "EPERM"),
    ]);
}
