//! Typing into a terminal on behalf of whoever sits before it (CVE-2017-5226).

use crate::attack::Attack;

#[test]
fn nothing_is_typed_into_a_terminal() {
    Attack::new(
        r#"
import fcntl, pty, termios
TIOCLINUX, TIOCSETD, N_HDLC = 0x541c, 0x5423, 13

def in_a_terminal(name, action):
    child, master = pty.fork()
    if child == 0:
        attempt(name, action)
        os._exit(0)
    text = b""
    try:
        while chunk := os.read(master, 1024):
            text += chunk
    except OSError:
        pass
    os.waitpid(child, 0)
    sys.stdout.write(text.decode().replace("\r", ""))

in_a_terminal("TIOCSTI", lambda: fcntl.ioctl(0, termios.TIOCSTI, b"\n"))
in_a_terminal("TIOCSTI with the upper half set",
    lambda: checked(libc.syscall(ctypes.c_long(16 if platform.machine() == "x86_64" else 29),
        ctypes.c_long(0), ctypes.c_long(termios.TIOCSTI | 1 << 32), ctypes.c_char_p(b"\n"))))
# A pty is no virtual console, so that the kernel itself has another answer than the filter.
in_a_terminal("TIOCLINUX", lambda: fcntl.ioctl(0, TIOCLINUX, b"\x02"))
in_a_terminal("TIOCSETD", lambda: fcntl.ioctl(0, TIOCSETD, struct.pack("i", 0)))
"#,
    )
    // A kernel may have given it up for everybody but root (dev.tty.legacy_tiocsti).
    .gets(&[
        ("TIOCSTI", "ok|EIO", "EPERM"),
        ("TIOCSTI with the upper half set", "ok|EIO", "EPERM"),
        ("TIOCLINUX", "ENOTTY", "EPERM"),
        ("TIOCSETD", "ok", "EPERM"),
    ]);
}
