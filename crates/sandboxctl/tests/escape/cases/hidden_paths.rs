//! Hidden paths: what is covered is read by another name, by another way, or when it is moved.

use std::fs;
use std::os::unix::fs::symlink;

use crate::attack::Attack;

#[test]
fn what_is_hidden_is_read_in_no_way() {
    Attack::new(
        r#"
def secret(path):
    if b"KEY" not in read(path):
        raise Held("nothing")

def moved(path, other, inner=""):
    os.rename(path, other)
    try:
        secret(other + inner)
    finally:
        os.rename(other, path)

def linked(path, other):
    os.link(path, other)
    os.unlink(other)

here = os.path.realpath(".")
attempt("read it", lambda: secret(".env"))
attempt("read one far below", lambda: secret("a/b/c/d/e/f/.env"))
attempt("read it by another name", lambda: secret("a/other-name"))
attempt("read it through a link", lambda: secret("link"))
attempt("read what a hidden link leads to", lambda: secret("target"))
attempt("read it by way of /proc", lambda: secret("/proc/self/cwd/.env"))
attempt("read it from the root of the process", lambda: secret("/proc/self/root" + here + "/.env"))
attempt("read what is in a hidden directory", lambda: secret("secrets/key"))
attempt("read it by the number of a descriptor", lambda: secret("/proc/self/fd/%d" % os.open(".env", os.O_RDONLY)))
attempt("move it", lambda: moved(".env", "moved"))
attempt("move its directory", lambda: moved("a/b", "a/z", "/c/d/e/f/.env"))
attempt("move the directory of a hidden link", lambda: moved("a", "z", "/other-name"))
attempt("move the hidden directory", lambda: moved("secrets", "moved", "/key"))
attempt("give it another name", lambda: linked(".env", "second"))
attempt("put something else over it", lambda: (write("new"), os.rename("new", ".env.local")))
attempt("remove it", lambda: os.unlink("removed.env"))
"#,
    )
    .flags(&["--quiet", "--hide", ".env", "--hide", ".env.*", "--hide", "secrets/", "--hide", "*.env"])
    .prepare(|place| {
        for name in [".env", ".env.local", "removed.env", "secrets/key", "a/b/c/d/e/f/.env", "a/names/inner", "target"] {
            place.write(&format!("workspace/{name}"), "KEY=1\n");
        }
        fs::hard_link(place.workspace().join("secrets/key"), place.workspace().join("a/other-name")).unwrap();
        symlink(".env", place.workspace().join("link")).unwrap();
        symlink("../target", place.workspace().join("a/.env")).unwrap();
        Vec::new()
    })
    .gets(&[
        ("read it", "ok", "nothing"),
        ("read one far below", "ok", "nothing"),
        ("read it by another name", "ok", "nothing"),
        ("read it through a link", "ok", "nothing"),
        ("read what a hidden link leads to", "ok", "nothing"),
        ("read it by way of /proc", "ok", "nothing"),
        ("read it from the root of the process", "ok", "nothing"),
        ("read what is in a hidden directory", "ok", "ENOENT"),
        ("read it by the number of a descriptor", "ok", "nothing"),
        ("move it", "ok", "EBUSY"),
        ("move its directory", "ok", "EBUSY"),
        ("move the directory of a hidden link", "ok", "EBUSY"),
        ("move the hidden directory", "ok", "EBUSY"),
        ("give it another name", "ok", "EXDEV"),
        ("put something else over it", "ok", "EBUSY"),
        ("remove it", "ok", "EBUSY"),
    ]);
}
