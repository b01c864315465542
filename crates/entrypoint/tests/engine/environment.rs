//! Which variables can be seen from inside a container.

use std::collections::BTreeSet;

use rustix::io::Errno;

use crate::container::{Container, SLEEPING, Start};
use crate::engine::Engine;

const STRIPPED: [&str; 6] = [
    "SESSION_TOKEN", "SESSION_ID", "CONTROL_PLANE_URL", "SESSION_TOKEN_FILE", "AGENT_ALLOW_ROOT_FILE",
    "SANDBOX_ANYTHING",
];

const OF_PID_1: &str = r"tr '\0' '\n' < /proc/1/environ";

/// A container that was created with all of them.
fn with_all() -> Start {
    STRIPPED
        .iter()
        .fold(Start::new(), |start, name| start.env(name, "secret"))
        .env("AGENT_ID", "kept")
        .env("ANTHROPIC_API_KEY", "kept")
        .env("EMPTY", "")
        .flags("--hostname sandbox")
}

const EXPECTED: [&str; 9] = [
    "AGENT_ID=kept",
    "ANTHROPIC_API_KEY=kept",
    "EMPTY=",
    "HOME=/home/agent",
    "HOSTNAME=sandbox",
    "LOGNAME=agent",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SHELL=/bin/sh",
    "USER=agent",
];

#[track_caller]
fn is_clean(seen: &str) {
    assert_eq!(seen.lines().collect::<BTreeSet<_>>(), BTreeSet::from(EXPECTED));
}

/// Whether all of them are there.
fn shows_all(seen: &str) -> bool {
    STRIPPED.iter().all(|name| seen.lines().any(|line| line == format!("{name}=secret")))
}

#[test]
fn pid_1_shows_no_control_variable() {
    if !Engine::Docker.is_declared() {
        return;
    }
    assert!(shows_all(&with_all().without_the_entrypoint().sh(OF_PID_1).well()));
    is_clean(&with_all().sh(OF_PID_1).well());
    is_clean(&with_all().flags("--user agent --cap-drop ALL").sh(OF_PID_1).well());
    is_clean(&with_all().env("AGENT_INIT", "1").run(&["env"]).well());
}

#[test]
fn an_init_shows_nothing_to_anybody() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let of_pid_1 = |container: &Container| {
        // Root with every capability, who sees more than the agent.
        container.exec("--privileged --user 0", &["cat", "/proc/1/environ", "/proc/1/cmdline"]).well()
    };
    let agent = with_all().started(SLEEPING);
    assert!(of_pid_1(&agent).contains("ANTHROPIC_API_KEY=kept"), "the control");
    let init = with_all().env("AGENT_INIT", "1").started(SLEEPING);
    let seen = of_pid_1(&init);
    assert!(seen.starts_with("entrypoint\0--supervise="), "{seen:?}");
    assert_eq!(seen.matches('\0').count(), 2, "{seen:?}");
    let refused = init.exec("--user 1000:1000", &["cat", "/proc/1/environ"]);
    assert!(refused.code == 1 && refused.err.contains("Permission denied"), "{refused:?}");
}

#[test]
fn an_exec_goes_through_the_entrypoint() {
    if !Engine::Docker.is_declared() {
        return;
    }
    for flags in ["--env AGENT_INIT=0", "--env AGENT_INIT=1", "--user agent --cap-drop ALL --read-only"] {
        let container = with_all().flags(flags).started(SLEEPING);
        assert!(shows_all(&container.exec("", &["env"]).well()), "the control");
        is_clean(&container.exec("", &["entrypoint", "--", "env"]).well());
        is_clean(&container.exec("--env SESSION_TOKEN=again", &["entrypoint", "--", "env"]).well());
        assert_eq!(container.exec("", &["entrypoint", "--", "id", "-u"]).well(), "1000\n");
    }
}

/// An init of the engine's keeps what the container was created with, and is the agent's own process where the engine
/// starts it as the agent.
const BENEATH_AN_INIT: &str = "--init --user 1000:1000 --cap-drop ALL";

#[test]
fn beneath_an_init_of_the_engines() {
    if !Engine::Docker.is_declared() {
        return;
    }
    assert!(
        shows_all(&with_all().flags(BENEATH_AN_INIT).without_the_entrypoint().sh(OF_PID_1).well()),
        "the control"
    );
    let writable = format!("{BENEATH_AN_INIT} --env SANDBOX_WRITABLE=[\"/workspace\"]");
    let init = format!("{BENEATH_AN_INIT} --env AGENT_INIT=1");
    // Root's is out of reach anyway.
    for flags in [BENEATH_AN_INIT, &init, &writable, "--init"] {
        let ended = with_all().flags(flags).sh(OF_PID_1);
        assert!(ended.out.is_empty() && ended.err.contains("Permission denied"), "{flags}: {ended:?}");
        assert!(!ended.err.contains("note"), "{flags}: {ended:?}");
    }
}

#[test]
fn beneath_an_init_everything_else_is_as_ever() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let script = r"cd /tmp && mkdir from to && echo moved > from/file
        mv --no-copy from/file to/file && ln to/file from/link && mkfifo from/pipe && cat from/link
        kill -0 1 && echo signalled
        sh -c 'grep --count AGENT_ID=kept /proc/$PPID/environ; :'
        grep Name: /proc/1/status";
    let seen = |start: Start| start.flags(BENEATH_AN_INIT).sh(script).well();
    let expected = "moved\nsignalled\n1\nName:\tdocker-init\n";
    assert_eq!(seen(with_all()), expected);
    assert_eq!(seen(with_all().without_the_entrypoint()), expected, "the control");
}

#[test]
fn without_landlock_an_init_of_the_engines_is_warned_of() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let start = || with_all().without_a_call("landlock_create_ruleset", None, Errno::NOSYS);
    let ended = start().flags(BENEATH_AN_INIT).sh(OF_PID_1);
    assert!(shows_all(&ended.out), "{ended:?}");
    assert!(ended.err.starts_with("entrypoint: note: ") && ended.err.lines().count() == 1, "{ended:?}");
    assert!(ended.err.contains("/proc/1/environ") && ended.err.contains("no landlock"), "{ended:?}");
    // Where there is nothing to be read, there is nothing to be said.
    start().flags("--init").run(&["true"]).well();
    let container = start().flags("--user 1000:1000 --cap-drop ALL").started(SLEEPING);
    is_clean(&container.exec("", &["entrypoint", "--", "env"]).well());
}

/// Each session keeps to itself, and is no less useful for it.
#[test]
fn an_exec_cannot_inspect_the_first_command() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let script = "trap 'cat /tmp/told' USR1; trap 'exit 7' USR2; echo $$ > /tmp/agent; echo started; while :; do sleep 0.01; done";
    for flags in ["--env AGENT_INIT=0", "--env AGENT_INIT=1", BENEATH_AN_INIT] {
        let container = with_all().flags(flags).started(script);
        let look = "grep -c ANTHROPIC_API_KEY=kept /proc/$(cat /tmp/agent)/environ";
        assert_eq!(container.exec("--user 1000", &["sh", "-c", look]).well(), "1\n", "the control");
        let refused = container.exec("", &["entrypoint", "--", "sh", "-c", look]);
        assert!(refused.code == 2 && refused.err.contains("Permission denied"), "{flags}: {refused:?}");
        let work = "echo heard > /tmp/told; kill -USR1 $(cat /tmp/agent)";
        container.exec("", &["entrypoint", "--", "sh", "-c", work]).well();
        // Not by the exec, which would end with the container.
        container.call(&["kill", "--signal", "USR2"]);
        let ended = container.wait();
        assert_eq!((ended.code, ended.out.as_str()), (7, "heard\n"), "{flags}: {ended:?}");
    }
}

/// What the engine's own `exec` starts has what the container was made with, and the user of the image may be the agent.
#[test]
fn the_agent_does_not_look_into_what_the_engine_starts_later() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let script = "echo started; while ! [ -e /tmp/later ]; do sleep 0.01; done
        grep -c ANTHROPIC_API_KEY=kept /proc/$(cat /tmp/later)/environ";
    let look = |start: Start| {
        let container = start.flags("--user 1000:1000 --cap-drop ALL").started(script);
        let stay = "echo $$ > /tmp/pid && mv /tmp/pid /tmp/later && while :; do sleep 1; done";
        container.exec("--detach --user 1000", &["sh", "-c", stay]).well();
        container.wait()
    };
    let seen = look(with_all().without_the_entrypoint());
    assert_eq!(seen.out.lines().last(), Some("1"), "the control: {seen:?}");
    for init in ["0", "1"] {
        let refused = look(with_all().env("AGENT_INIT", init));
        assert!(
            refused.code == 2 && refused.err.contains("Permission denied"),
            "AGENT_INIT={init}: {refused:?}"
        );
    }
}
