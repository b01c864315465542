//! Calls by another convention, whose numbers mean something else: a filter that looks at the number alone lets
//! them pass.

use crate::attack::Attack;
use crate::machine::{Feature, is_there};

const SOURCE: &str = r#"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <sys/syscall.h>

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "x32") == 0)
        return syscall(0x40000000 | SYS_unshare, 0) == -1 ? errno : 0;
    if (count > 1 && strcmp(words[1], "x32 getpid") == 0)
        return syscall(0x40000000 | SYS_getpid) == -1 ? errno : 0;
    long answer;
    /* 20 is getpid for 32-bit code, and writev for 64-bit code. */
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory");
    return answer == getpid() ? 0 : answer < 0 && answer > -200 ? -answer : 255;
}
"#;

#[test]
fn only_the_native_convention_is_let_in() {
    if !cfg!(target_arch = "x86_64") || !is_there(Feature::Gcc, "calls by another convention") {
        return;
    }
    Attack::new(
        r#"
import signal, subprocess
def run(*words):
    status = subprocess.run(["./convention", *words]).returncode
    if status < 0:
        raise Held(signal.Signals(-status).name)
    if status:
        raise OSError(status, "refused")

attempt("int 0x80", lambda: run())
# Most kernels are built without it, so that they refuse it by themselves.
attempt("x32", lambda: run("x32"))
attempt("x32 getpid", lambda: run("x32 getpid"))
"#,
    )
    .prepare(|place| {
        let source = place.write("convention.c", SOURCE);
        let program = place.workspace().join("convention");
        let words = ["gcc".as_ref(), "-o".as_ref(), program.as_os_str(), source.as_os_str()];
        assert!(place.outside(&words).status().unwrap().success());
        Vec::new()
    })
    .gets(&[
        ("int 0x80", "ok", "SIGSYS"),
        ("x32", "ok|ENOSYS", "ENOSYS"),
        ("x32 getpid", "ok|ENOSYS", "ENOSYS"),
    ]);
}
