//! Descriptors that the caller had open.

use crate::attack::Attack;

#[test]
fn what_the_caller_had_open_stays_outside() {
    Attack::new(
        r#"
attempt("read a file of the caller", lambda: os.read(8, 10))
attempt("walk out by a directory", lambda: (os.fchdir(9), os.listdir(".")))
attempt("open beneath a directory", lambda: os.open("home/secret", os.O_RDONLY, dir_fd=9))
attempt("by /proc", lambda: os.listdir("/proc/self/fd/9"))

def leftovers():
    if not [fd for fd in range(3, 1024) if os.path.exists(f"/proc/self/fd/{fd}")]:
        raise Held("none")

attempt("anything above 2", leftovers)
"#,
    )
    .prepare(|place| {
        place.write("home/secret", "a secret");
        Vec::new()
    })
    .after_shell("exec 8<../home/secret 9<..")
    .gets(&[
        ("read a file of the caller", "ok", "EBADF"),
        ("walk out by a directory", "ok", "EBADF"),
        ("open beneath a directory", "ok", "EBADF"),
        ("by /proc", "ok", "ENOENT"),
        ("anything above 2", "ok", "none"),
    ]);
}
