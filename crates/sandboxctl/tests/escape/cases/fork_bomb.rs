//! A fork bomb, scaled down.

use crate::attack::Attack;

#[test]
fn processes_run_out_inside_and_not_on_the_host() {
    Attack::new(
        r#"
import signal
children = []

def multiply():
    for _ in range(200):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)

attempt("200 processes", multiply)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"#,
    )
    .flags(&["--pids-limit", "32"])
    .gets(&[("200 processes", "ok", "EAGAIN")]);
}
