//! Files of the host that nobody shared.

use crate::attack::{Attack, CONTAINERS, Control};

#[test]
fn the_secrets_of_root_are_not_there() {
    Attack::new(
        r#"
attempt("/etc/shadow", lambda: read("/etc/shadow"))
attempt("/root", lambda: os.listdir("/root"))
attempt("/var", lambda: os.listdir("/var"))
attempt("/sys", lambda: os.listdir("/sys"))
attempt("/boot", lambda: os.listdir("/boot"))
attempt("kernel memory", lambda: os.close(os.open("/proc/kcore", os.O_RDONLY)))
"#,
    )
    .control(Control::OutsideByRoot)
    // An image has such files of its own.
    .elsewhere(&[
        (CONTAINERS, "/etc/shadow", "EACCES|ok"),
        (CONTAINERS, "/root", "EACCES|ok"),
        (CONTAINERS, "/var", "ok"),
        (CONTAINERS, "/sys", "ok"),
        (CONTAINERS, "/boot", "ok"),
    ])
    .gets(&[
        ("/etc/shadow", "ok", "ENOENT"),
        ("/root", "ok", "ENOENT"),
        ("/var", "ok", "ENOENT"),
        ("/sys", "ok", "ENOENT"),
        ("/boot", "ok", "ENOENT"),
        ("kernel memory", "ok|ENOENT", "EACCES|ENOENT"),
    ]);
}

#[test]
fn the_home_of_the_caller_is_not_there() {
    Attack::new(
        r#"
home = sys.argv[1]
attempt("a file of the caller", lambda: read(home + "/.ssh/id_ed25519"))
attempt("the home of the caller", lambda: os.listdir(home))
attempt("beside the workspace", lambda: os.listdir(home + "/../workspace"))
"#,
    )
    .prepare(|place| {
        place.write("home/.ssh/id_ed25519", "a key");
        vec![place.home().to_str().unwrap().to_owned()]
    })
    .gets(&[
        ("a file of the caller", "ok", "ENOENT"),
        ("the home of the caller", "ok", "ENOENT"),
        ("beside the workspace", "ok", "ENOENT"),
    ]);
}
