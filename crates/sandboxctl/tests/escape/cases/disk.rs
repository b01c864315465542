//! Filling what is in memory and looks like a disk.

use crate::attack::{Attack, Control};

#[test]
fn every_tmpfs_is_bounded() {
    Attack::new(
        r#"
def fill(directory):
    with open(directory + "/filler", "wb") as file:
        for _ in range(32):
            file.write(b"x" * (1 << 20))

for directory in ["/tmp", "/run", "/dev/shm", "/home/agent"]:
    attempt(directory, lambda: fill(directory))
"#,
    )
    .control(Control::Bubblewrap(&[
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/run",
        "--tmpfs",
        "/dev/shm",
        "--tmpfs",
        "/home",
        "--dir",
        "/home/agent",
    ]))
    .prepare(|place| {
        place.write("workspace/sandbox.toml", "[limits]\ntmp_size = \"8m\"\n");
        Vec::new()
    })
    .gets(&[
        ("/tmp", "ok", "ENOSPC"),
        ("/run", "ok", "ENOSPC"),
        ("/dev/shm", "ok", "ENOSPC"),
        ("/home/agent", "ok", "ENOSPC"),
    ]);
}
