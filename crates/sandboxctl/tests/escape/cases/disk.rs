//! Filling what is in memory and looks like a disk.

use crate::attack::{Attack, CONTAINERS, Control};
use crate::machine::Runner;

#[test]
fn every_tmpfs_has_a_bounded_number_of_files() {
    Attack::new(
        r#"
def fill(directory):
    for number in range(4096):
        os.symlink("nowhere", f"{directory}/{number}")

for directory in ["/tmp", "/run", "/dev/shm", "/home/agent"]:
    attempt(directory, lambda: fill(directory))
"#,
    )
    .control(Control::Bubblewrap(TMPFS))
    .prepare(|place| {
        place.write("workspace/sandbox.toml", "[limits]\ntmp_size = \"8m\"\n");
        Vec::new()
    })
    // What the engines do not take from us.
    .elsewhere(&[
        (CONTAINERS, "/dev/shm", "ok"),
        (&[Runner::Podman], "/tmp", "ok"),
        (&[Runner::Podman], "/run", "ok"),
        (&[Runner::Podman], "/home/agent", "ok"),
    ])
    .gets(&[
        ("/tmp", "ok", "ENOSPC"),
        ("/run", "ok", "ENOSPC"),
        ("/dev/shm", "ok", "ENOSPC"),
        ("/home/agent", "ok", "ENOSPC"),
    ]);
}

const TMPFS: &[&str] =
    &["--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--tmpfs", "/home", "--dir", "/home/agent"];

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
    .control(Control::Bubblewrap(TMPFS))
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
