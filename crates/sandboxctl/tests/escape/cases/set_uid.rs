//! Set-uid files, and files with capabilities: made in a shared directory they would run as the caller on the host, as root, or with more
//! rights than whoever runs them has.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use crate::attack::Attack;
use crate::machine::{Feature, is_there};

#[test]
fn none_is_made() {
    Attack::new(
        r#"
import subprocess
HERE, CREATE = -100, os.O_CREAT | os.O_WRONLY

def with_bit(name, action):
    """The call must do what it says, not only say so."""
    def checked_action():
        action()
        if not os.stat(name).st_mode & 0o6000:
            raise Held("no such bit")
    attempt(name, checked_action)

for name in ["chmod", "fchmod", "fchmodat", "fchmodat2", "chmod-group", "raw-fchmodat", "high-half"]:
    write(name)
with_bit("chmod", lambda: os.chmod("chmod", 0o4755))
with_bit("chmod-group", lambda: os.chmod("chmod-group", 0o2755))
with_bit("fchmod", lambda: os.fchmod(os.open("fchmod", os.O_RDONLY), 0o6755))
with_bit("fchmodat", lambda: os.chmod("fchmodat", 0o4755, dir_fd=os.open(".", os.O_RDONLY)))
with_bit("raw-fchmodat", lambda: call("fchmodat", HERE, ctypes.c_char_p(b"raw-fchmodat"), 0o4755))
with_bit("high-half", lambda: call("fchmodat", HERE, ctypes.c_char_p(b"high-half"), 0o4755 | 1 << 40))
with_bit("fchmodat2", lambda: call("fchmodat2", HERE, ctypes.c_char_p(b"fchmodat2"), 0o4755, 0))
with_bit("open", lambda: os.open("open", CREATE, 0o4755))
with_bit("openat", lambda: call("openat", HERE, ctypes.c_char_p(b"openat"), CREATE, 0o4755))
with_bit("openat2", lambda: call("openat2", HERE, ctypes.c_char_p(b"openat2"), ctypes.byref((ctypes.c_uint64 * 3)(CREATE, 0o4755, 0)), 24))
with_bit("creat", lambda: checked(libc.creat(ctypes.c_char_p(b"creat"), 0o4755)))
with_bit("mknod", lambda: os.mknod("mknod", 0o104755))
with_bit("mkfifo", lambda: os.mkfifo("mkfifo", 0o4755))

def unnamed():
    file = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o4755)
    os.link(f"/proc/self/fd/{file}", "unnamed", src_dir_fd=0, follow_symlinks=True)

with_bit("unnamed", unnamed)

def install():
    if subprocess.run(["install", "-m", "4755", "/usr/bin/id", "install"], stderr=subprocess.DEVNULL).returncode:
        raise Held("refused")

with_bit("install", install)

def unpack():
    import io, tarfile
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo("unpack")
        member.mode = 0o4755
        tar.addfile(member)
    if subprocess.run(["tar", "xp"], input=archive.getvalue(), stderr=subprocess.DEVNULL).returncode:
        raise Held("refused")

with_bit("unpack", unpack)

def copy():
    """A directory that hands its group on is no set-uid file, but the bit is the same."""
    os.mkdir("mkdir")
    os.chmod("mkdir", 0o2755)

with_bit("mkdir", copy)
"#,
    )
    .gets(&[
        ("chmod", "ok", "EPERM"),
        ("chmod-group", "ok", "EPERM"),
        ("fchmod", "ok", "EPERM"),
        ("fchmodat", "ok", "EPERM"),
        ("raw-fchmodat", "ok", "EPERM"),
        ("high-half", "ok", "EPERM"),
        ("fchmodat2", "ok", "EPERM"),
        ("open", "ok", "EPERM"),
        ("openat", "ok", "EPERM"),
        ("openat2", "ok", "ENOSYS"),
        ("creat", "ok", "EPERM"),
        ("mknod", "ok", "EPERM"),
        ("mkfifo", "ok", "EPERM"),
        ("unnamed", "ok", "EPERM"),
        ("install", "ok", "refused"),
        ("unpack", "ok", "refused"),
        ("mkdir", "ok", "EPERM"),
    ]);
}

/// The host's own set-uid programs, and one that lies in a boundary.
#[test]
fn none_has_an_effect() {
    if !is_there(Feature::Root, "a set-uid file of somebody else") {
        return;
    }
    Attack::new(
        r#"
import subprocess
def effective():
    real, effective = (subprocess.check_output(["./id", flag]) for flag in ["-ru", "-u"])
    if real == effective:
        raise Held("no effect")

attempt("a set-uid file in a boundary", effective)
"#,
    )
    .prepare(|place| {
        let program = place.workspace().join("id");
        // By another process: what this one has open for writing, a child of another test may hold open, and then
        // nobody can execute it (ETXTBSY).
        assert!(Command::new("cp").arg("/usr/bin/id").arg(&program).status().unwrap().success());
        chown(&program, Some(65534), Some(65534)).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o6755)).unwrap();
        Vec::new()
    })
    .gets(&[("a set-uid file in a boundary", "ok", "no effect")]);
}

/// The kernel takes the bits off where a file is written, but not where it is written through a shared mapping.
#[test]
fn none_that_was_there_is_written_through_a_mapping() {
    Attack::new(
        r#"
import mmap

def mapped(name):
    with open(name, "r+b") as file, mmap.mmap(file.fileno(), 4) as mapping:
        mapping[:4] = b"evil"
    if not os.stat(name).st_mode & 0o6000:
        raise Held("no such bit")

for name in ["set-uid", "deep/er/set-gid", "ordinary"]:
    attempt(name, lambda: mapped(name))
"#,
    )
    .prepare(|place| {
        for (name, mode) in [("set-uid", 0o4755), ("deep/er/set-gid", 0o2755), ("ordinary", 0o755)] {
            let path = place.write(&format!("workspace/{name}"), "text");
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        Vec::new()
    })
    .gets(&[
        ("set-uid", "ok", "EROFS"),
        ("deep/er/set-gid", "ok", "EROFS"),
        // The control: a file without the bits can be written, and has none then either.
        ("ordinary", "no such bit", "no such bit"),
    ]);
}

/// So it is with capabilities.
#[test]
fn no_capabilities_that_were_there_are_written_through_a_mapping() {
    if !is_there(Feature::Root, "a file with capabilities") {
        return;
    }
    Attack::new(
        r#"
import mmap

def capable(name, write):
    write(name)
    os.getxattr(name, "security.capability")

def mapped(name):
    with open(name, "r+b") as file, mmap.mmap(file.fileno(), 4) as mapping:
        mapping[:4] = b"evil"

def written(name):
    with open(name, "r+b") as file:
        file.write(b"evil")

attempt("mapped", lambda: capable("capable", mapped))
attempt("deep, mapped", lambda: capable("deep/er/capable", mapped))
attempt("moved", lambda: os.rename("deep", "moved"))
attempt("written", lambda: capable("capable", written))
attempt("ordinary", lambda: mapped("ordinary"))
"#,
    )
    .prepare(|place| {
        // CAP_NET_BIND_SERVICE, permitted and effective: revision 2 of `struct vfs_cap_data`.
        let words = [0x0200_0001_u32, 1 << 10, 0, 0, 0];
        let capabilities = words.map(u32::to_le_bytes).concat();
        for name in ["capable", "deep/er/capable", "ordinary"] {
            let path = place.write(&format!("workspace/{name}"), "text");
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
            if name != "ordinary" {
                let flags = rustix::fs::XattrFlags::empty();
                rustix::fs::setxattr(&path, c"security.capability", &capabilities, flags).unwrap();
            }
        }
        Vec::new()
    })
    .gets(&[
        ("mapped", "ok", "EROFS"),
        ("deep, mapped", "ok", "EROFS"),
        ("moved", "ok", "EBUSY"),
        // The kernel removes them where a file is written.
        ("written", "ENODATA", "EROFS"),
        // The control: a file without capabilities can be written.
        ("ordinary", "ok", "ok"),
    ]);
}
