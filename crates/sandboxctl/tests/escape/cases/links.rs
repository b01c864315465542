//! Links and `..` that lead out of a boundary, and the ways /proc has round them.

use std::os::unix::fs::symlink;

use crate::attack::Attack;

#[test]
fn no_link_leads_out_of_a_boundary() {
    Attack::new(
        r#"
secret = sys.argv[1]
os.symlink(secret, "own-link")
attempt("a link of the host", lambda: read("host-link"))
attempt("a link to a directory of the host", lambda: os.listdir("host-directory"))
attempt("a link of the agent", lambda: read("own-link"))
attempt("dots", lambda: read(os.getcwd() + "/../home/secret"))
attempt("many dots", lambda: read("../" * 40 + secret.lstrip("/")))
attempt("/proc/self/root", lambda: read("/proc/self/root" + secret))
attempt("/proc/self/root and dots", lambda: read("/proc/self/root/../../.." + secret))
attempt("/proc/self/cwd", lambda: read("/proc/self/cwd/../home/secret"))
attempt("/proc/thread-self/root", lambda: read("/proc/thread-self/root" + secret))

def by_descriptor():
    workspace = os.open(".", os.O_PATH)
    os.close(os.open("../home/secret", os.O_RDONLY, dir_fd=workspace))

attempt("a descriptor and dots", by_descriptor)
"#,
    )
    .prepare(|place| {
        let secret = place.write("home/secret", "a secret");
        symlink(&secret, place.workspace().join("host-link")).unwrap();
        symlink(place.home(), place.workspace().join("host-directory")).unwrap();
        vec![secret.to_str().unwrap().to_owned()]
    })
    .gets(&[
        ("a link of the host", "ok", "ENOENT"),
        ("a link to a directory of the host", "ok", "ENOENT"),
        ("a link of the agent", "ok", "ENOENT"),
        ("dots", "ok", "ENOENT"),
        ("many dots", "ok", "ENOENT"),
        ("/proc/self/root", "ok", "ENOENT"),
        ("/proc/self/root and dots", "ok", "ENOENT"),
        ("/proc/self/cwd", "ok", "ENOENT"),
        ("/proc/thread-self/root", "ok", "ENOENT"),
        ("a descriptor and dots", "ok", "ENOENT"),
    ]);
}
