//! Attaching to another process of the agent, which might be an exec session of somebody else.

use crate::attack::Attack;

#[test]
fn nobody_attaches_to_a_process_that_runs_already() {
    Attack::new(
        r#"
import signal, subprocess
ATTACH, SEIZE = 16, 0x4206
for name, request in [("attach", ATTACH), ("seize", SEIZE)]:
    child = subprocess.Popen(["sleep", "60"])
    attempt(name, lambda: call("ptrace", request, child.pid, 0, 0))
    # Not by Popen.kill: it waits first, is told that its tracee has stopped, takes that for its end and kills nothing.
    os.kill(child.pid, signal.SIGKILL)
"#,
    )
    .gets(&[("attach", "ok", "EPERM"), ("seize", "ok", "EPERM")]);
}
