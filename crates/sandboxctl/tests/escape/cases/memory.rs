//! Memory until there is none, scaled down.

use crate::attack::Attack;

#[test]
fn memory_runs_out_inside_and_not_on_the_host() {
    Attack::new(
        r#"
def exhaust():
    child = os.fork()
    if child == 0:
        try:
            memory = bytearray(256 << 20)
            for page in range(0, len(memory), 4096):
                memory[page] = 1
            os._exit(0)
        except MemoryError:
            os._exit(1)
    # By a control group it is killed; by a limit of its own it is told.
    if os.waitpid(child, 0)[1]:
        raise Held("stopped")

attempt("256 MiB", exhaust)
"#,
    )
    .flags(&["--memory", "64m"])
    .gets(&[("256 MiB", "ok", "stopped")]);
}
