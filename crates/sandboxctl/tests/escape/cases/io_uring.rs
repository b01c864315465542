//! `io_uring`: a second way into the kernel that no seccomp filter sees through.

use crate::attack::Attack;

#[test]
fn there_is_no_ring() {
    Attack::new(
        r#"
parameters = ctypes.create_string_buffer(120)
attempt("io_uring_setup", lambda: call("io_uring_setup", 4, parameters))
"#,
    )
    .gets(&[("io_uring_setup", "ok", "EPERM")]);
}
