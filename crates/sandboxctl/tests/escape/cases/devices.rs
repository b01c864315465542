//! Devices: those of the host, and nodes that the agent makes.

use crate::attack::{Attack, Control};

#[test]
fn only_harmless_devices_are_there() {
    Attack::new(
        r#"
HARMLESS = {"full", "null", "random", "tty", "urandom", "zero"}

def others():
    import stat
    found = {name for name in os.listdir("/dev") if not stat.S_ISDIR(os.stat("/dev/" + name).st_mode)
             and not os.path.islink("/dev/" + name)}
    if found <= HARMLESS:
        raise Held("harmless")

attempt("devices of the host", others)
attempt("a block device", lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)))
attempt("a character device", lambda: os.mknod("memory", 0o20600, os.makedev(1, 1)))
attempt("a whiteout", lambda: os.mknod("whiteout", 0o20600, 0))
"#,
    )
    .control(Control::OutsideByRoot)
    .gets(&[
        ("devices of the host", "ok", "harmless"),
        ("a block device", "ok", "EPERM"),
        ("a character device", "ok", "EPERM"),
        ("a whiteout", "ok", "EPERM"),
    ]);
}
