//! Writing where there is only something to read.

use crate::attack::{Attack, CONTAINERS, Control};

#[test]
fn a_read_only_boundary_stays_as_it_is() {
    Attack::new(
        r#"
top = sys.argv[1] if "host" in globals() else "/reference"
attempt("write", lambda: write(top + "/file"))
attempt("append", lambda: os.open(top + "/file", os.O_WRONLY | os.O_APPEND))
attempt("truncate", lambda: os.truncate(top + "/file", 0))
attempt("create", lambda: write(top + "/new"))
attempt("mkdir", lambda: os.mkdir(top + "/directory"))
attempt("chmod", lambda: os.chmod(top + "/file", 0o777))
attempt("utime", lambda: os.utime(top + "/file"))
attempt("xattr", lambda: os.removexattr(top + "/file", "user.test"))
attempt("link", lambda: os.link(top + "/file", top + "/second"))
attempt("symlink", lambda: os.symlink("file", top + "/link"))
attempt("rename", lambda: os.rename(top + "/file", top + "/renamed"))
attempt("remove", lambda: os.remove(top + "/renamed" if "host" in globals() else top + "/file"))

def by_descriptor():
    file = os.open(top + "/other", os.O_RDONLY)
    os.close(os.open(f"/proc/self/fd/{file}", os.O_WRONLY))

attempt("reopen by /proc", by_descriptor)
"#,
    )
    .before_the_control("host = True\n")
    .prepare(|place| {
        let file = place.write("reference/file", "text");
        rustix::fs::setxattr(&file, c"user.test", b"x", rustix::fs::XattrFlags::empty()).unwrap();
        let other = place.write("reference/other", "text");
        vec![other.parent().unwrap().to_str().unwrap().to_owned()]
    })
    .flags(&["--volume", "../reference:/reference:ro", "--volume", ".:/workspace"])
    .gets(&[
        ("write", "ok", "EROFS"),
        ("append", "ok", "EROFS"),
        ("truncate", "ok", "EROFS"),
        ("create", "ok", "EROFS"),
        ("mkdir", "ok", "EROFS"),
        ("chmod", "ok", "EROFS"),
        ("utime", "ok", "EROFS"),
        ("xattr", "ok", "EROFS"),
        ("link", "ok", "EROFS"),
        ("symlink", "ok", "EROFS"),
        ("rename", "ok", "EROFS"),
        ("remove", "ok", "EROFS"),
        ("reopen by /proc", "ok", "EROFS"),
    ]);
}

/// An unnamed file is gone when it is closed, so that the control changes nothing.
#[test]
fn the_system_stays_as_it_is() {
    Attack::new(
        r#"
def unnamed(directory):
    os.close(os.open(directory, os.O_TMPFILE | os.O_WRONLY, 0o600))

for directory in ["/usr", "/usr/bin", "/usr/local", "/etc", "/etc/ssl/certs"]:
    attempt(directory, lambda: unnamed(directory))
"#,
    )
    .control(Control::OutsideByRoot)
    // The image of the tests has no certificates.
    .elsewhere(&[(CONTAINERS, "/etc/ssl/certs", "ENOENT|EROFS")])
    .gets(&[
        ("/usr", "ok", "EROFS"),
        ("/usr/bin", "ok", "EROFS"),
        ("/usr/local", "ok", "EROFS"),
        ("/etc", "ok", "EROFS"),
        ("/etc/ssl/certs", "ok", "EROFS"),
    ]);
}
