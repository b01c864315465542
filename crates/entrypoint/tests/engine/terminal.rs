//! An agent on a terminal.

use crate::container::Start;
use crate::engine::Engine;

/// How the entrypoint is started: as root or not, to become the agent or to stay.
const STARTS: [&str; 4] = [
    "",
    "--env AGENT_INIT=1",
    "--user 1000:1000 --cap-drop ALL",
    "--user 1000:1000 --cap-drop ALL --env AGENT_INIT=1",
];

#[test]
fn a_terminal_is_the_agents() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let script = "tty; echo told > /dev/stderr; echo and > /dev/tty; read -r line; echo \"$line\"; id -u";
    for flags in STARTS {
        let ended =
            Start::new().flags(flags).on_a_terminal(&format!("stty -echo; echo ready; {script}"), b"typed\n");
        let expected = "ready\n/dev/pts/0\ntold\nand\ntyped\n1000\n";
        assert_eq!((ended.code, ended.out.as_str()), (0, expected), "{flags}: {ended:?}");
    }
    // The control: after a change of user alone it is still root's.
    let through = "echo ready; setpriv --reuid 1000 --clear-groups sh -c 'echo told > /dev/stderr'";
    let ended = Start::new().without_the_entrypoint().on_a_terminal(through, b"");
    assert!(ended.out.contains("Permission denied"), "{ended:?}");
}

#[test]
fn ctrl_c_reaches_what_is_in_the_foreground() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let script = "trap 'exit 7' INT; echo ready; while :; do sleep 0.01; done";
    for flags in STARTS {
        let ended = Start::new().flags(flags).on_a_terminal(script, b"\x03");
        assert_eq!(ended.code, 7, "{flags}: {ended:?}");
    }
    // The control: what is in the background hears nothing, and is still there when the line after it was read.
    let background = "set -m; (trap 'exit 7' INT; while :; do sleep 0.01; done) &
        trap '' INT; echo ready; read -r line; kill -KILL $!; wait $!";
    let ended = Start::new().on_a_terminal(background, b"\x03\n");
    assert_eq!(ended.code, 137, "{ended:?}");
}

#[test]
fn an_init_gives_the_agent_the_foreground() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // Fields of proc(5): process, group, session, terminal, foreground group.
    let look = "cut -d' ' -f1,5,6,7,8 /proc/self/stat";
    let ids = |script: &str, on_a_terminal: bool| -> Vec<i32> {
        let start = Start::new().env("AGENT_INIT", "1");
        let out = if on_a_terminal {
            start.on_a_terminal(&format!("echo ready; {script}"), b"").out.replace("ready\n", "")
        } else {
            start.sh(script).well()
        };
        out.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let there = ids(&format!("exec {look}"), true);
    assert_ne!(there[3], 0, "{there:?}");
    assert_eq!((there[1], there[4]), (there[0], there[0]), "{there:?}");
    let background = ids(&format!("set -m; {look} & wait"), true);
    assert_ne!(background[1], background[4], "the control: {background:?}");
    let without = ids(&format!("exec {look}"), false);
    assert_eq!(without[1..], [without[0], without[0], 0, -1]);
}
