//! A fork bomb, scaled down.

use crate::attack::Attack;
use crate::machine::Runner;

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
    // Without a control group nothing there counts the processes of one container alone, and the report says `not`.
    .not_in(&[Runner::RootlessDocker])
    .gets(&[("200 processes", "ok", "EAGAIN")]);
}
