//! The entrypoint that stays as PID 1, and what there is without it.

use crate::container::{SLEEPING, Start};
use crate::engine::Engine;

fn init() -> Start {
    Start::new().env("AGENT_INIT", "1")
}

#[test]
fn no_zombie_is_left() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // Twenty orphans end; then those are counted that nobody has reaped, until it is as many as expected, or a second
    // is over.
    let left = |start: Start, expected: &str| {
        let script = r"for n in $(seq 20); do (true & ) ; done
            for attempt in $(seq 100); do
                zombies=$(cat /proc/[0-9]*/status 2>/dev/null | grep -c '^State:.Z')
                [ $zombies = $0 ] && break; sleep 0.01
            done; echo $zombies";
        start.started(SLEEPING).exec("", &["sh", "-c", script, expected]).well()
    };
    assert_eq!(left(init(), "0"), "0\n");
    // The control: an agent that is PID 1 and reaps nothing.
    assert_eq!(left(Start::new(), "20"), "20\n");
}

#[test]
fn sigterm_ends_it_before_the_engine_kills_it() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // How an agent without a handler ends where the engine loses its patience after so many seconds.
    let stopped = |start: Start, patience: &str| {
        let container = start.started(SLEEPING);
        container.call(&["stop", "--time", patience]);
        container.wait().code
    };
    assert_eq!(stopped(init(), "10"), 143);
    assert_eq!(stopped(Start::new(), "1"), 137, "the control");
}

#[test]
fn signals_reach_the_agent() {
    if !Engine::Docker.is_declared() {
        return;
    }
    for signal in ["TERM", "HUP", "USR1"] {
        let script =
            format!("trap 'echo caught; exit 7' {signal}; echo started; while :; do sleep 0.01; done");
        let container = init().started(&script);
        container.call(&["kill", "--signal", signal]);
        let ended = container.wait();
        assert_eq!((ended.code, ended.out.as_str()), (7, "caught\n"), "{signal}: {ended:?}");
    }
}

#[test]
fn exit_codes_are_the_agents() {
    if !Engine::Docker.is_declared() {
        return;
    }
    for (script, code) in [("exit 3", 3), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)] {
        assert_eq!(init().sh(script).code, code, "{script}");
    }
    // The control: the kernel lets no process inside kill PID 1.
    assert_eq!(Start::new().sh("kill -KILL $$; exit 3").code, 3);
}

#[test]
fn everything_inside_ends_with_the_agent() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // The output would not end while somebody holds it open.
    assert_eq!(init().sh("sleep 300 & echo done").well(), "done\n");
}
