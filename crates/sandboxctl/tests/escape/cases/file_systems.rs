//! What file systems offer besides files: subvolumes, which look like another file system to whoever looks through a
//! directory from the host, and flags by which names stop meaning what they say.

use crate::attack::Attack;

#[test]
fn a_file_system_makes_nothing_but_files_and_directories() {
    Attack::new(
        r#"
import fcntl
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FICLONE, NODUMP = 0x80086601, 0x40086602, 0x40049409, 0x40
open("a", "w").close()
open("b", "w").close()
file, other = os.open("a", os.O_RDWR), os.open("b", os.O_RDWR)

def flags():
    return struct.unpack("q", fcntl.ioctl(file, FS_IOC_GETFLAGS, bytes(8)))[0]

attempt("reading flags", flags)
attempt("setting flags", lambda: fcntl.ioctl(file, FS_IOC_SETFLAGS, struct.pack("q", flags() | NODUMP)))
# Not every file system shares blocks; that it is asked is what counts.
attempt("sharing blocks", lambda: fcntl.ioctl(file, FICLONE, other))
"#,
    )
    .gets(&[
        ("reading flags", "ok", "ok"),
        ("setting flags", "ok", "ENOTTY"),
        ("sharing blocks", "ok|EOPNOTSUPP|ENOTSUP", "ok|EOPNOTSUPP|ENOTSUP"),
    ]);
}
