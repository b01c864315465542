//! Memory that leaves as a core file, or that a program of the host's takes through a pipe (core(5)).
//!
//! The machine's own `core_pattern` is left alone: what keeps the kernel from both is a limit of 1, so that is what must hold.

use crate::attack::Attack;

#[test]
fn the_kernel_makes_no_core_file_and_starts_no_program_for_one() {
    Attack::new(
        r#"
import resource, signal

def limit(name, change=lambda: None):
    def look():
        change()
        raise Held("1" if resource.getrlimit(resource.RLIMIT_CORE)[0] == 1 else "another")
    attempt(name, look)

def crash():
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    if os.WCOREDUMP(os.waitpid(child, 0)[1]):
        raise Held("dumped")

limit("the limit")
attempt("a crash", crash)
limit("lowered to 0", lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
NR = 302 if platform.machine() == "x86_64" else 261
limit("lowered to 0, from the end of memory", lambda: checked(libc.syscall(
    ctypes.c_long(NR), 0, ctypes.c_long(4), (ctypes.c_uint64 * 2)(0, 0), None)))
"#,
    )
    .after_shell("ulimit -c unlimited")
    .gets(&[
        ("the limit", "another", "1"),
        ("a crash", "dumped", "ok"),
        ("lowered to 0", "another", "1"),
        ("lowered to 0, from the end of memory", "another", "1"),
    ]);
}
