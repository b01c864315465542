//! Which variables can be seen from inside a container.

use std::collections::BTreeSet;

use crate::container::{Container, SLEEPING, Start};
use crate::engine::Engine;

const STRIPPED: [&str; 6] = [
    "SESSION_TOKEN",
    "SESSION_ID",
    "CONTROL_PLANE_URL",
    "SESSION_TOKEN_FILE",
    "AGENT_ALLOW_ROOT_FILE",
    "SANDBOX_ANYTHING",
];

const OF_PID_1: &str = r"tr '\0' '\n' < /proc/1/environ";

/// A container that was created with all of them.
fn told() -> Start {
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
    assert!(shows_all(&told().without_the_entrypoint().sh(OF_PID_1).well()));
    is_clean(&told().sh(OF_PID_1).well());
    is_clean(&told().flags("--user agent --cap-drop ALL").sh(OF_PID_1).well());
    is_clean(&told().env("AGENT_INIT", "1").run(&["env"]).well());
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
    let agent = told().started(SLEEPING);
    assert!(of_pid_1(&agent).contains("ANTHROPIC_API_KEY=kept"), "the control");
    let init = told().env("AGENT_INIT", "1").started(SLEEPING);
    let seen = of_pid_1(&init);
    assert!(seen.starts_with("entrypoint\0--supervise="), "{seen:?}");
    assert_eq!(seen.matches('\0').count(), 2, "{seen:?}");
    let refused = init.exec("--user 1000:1000", &["cat", "/proc/1/environ"]);
    assert!(refused.code == 1 && refused.err.contains("Permission denied"), "{refused:?}");
}

#[test]
fn a_second_command_goes_through_the_entrypoint() {
    if !Engine::Docker.is_declared() {
        return;
    }
    for flags in ["--env AGENT_INIT=0", "--env AGENT_INIT=1", "--user agent --cap-drop ALL --read-only"] {
        let container = told().flags(flags).started(SLEEPING);
        assert!(shows_all(&container.exec("", &["env"]).well()), "the control");
        is_clean(&container.exec("", &["entrypoint", "--", "env"]).well());
        is_clean(&container.exec("--env SESSION_TOKEN=again", &["entrypoint", "--", "env"]).well());
        assert_eq!(container.exec("", &["entrypoint", "--", "id", "-u"]).well(), "1000\n");
    }
}

/// An init of the engine's keeps what the container was created with.
#[test]
fn beneath_an_init_of_the_engines() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let seen = |flags: &str| told().flags("--init").flags(flags).sh(OF_PID_1);
    let refused = |flags: &str| {
        let ended = seen(flags);
        assert!(ended.out.is_empty() && ended.err.contains("Permission denied"), "{flags}: {ended:?}");
    };
    // It is the agent's own process where the engine starts it as the agent, and only landlock hides it then.
    let as_agent = "--user 1000:1000 --cap-drop ALL";
    assert!(shows_all(&seen(as_agent).well()), "the control");
    refused(&format!("{as_agent} --env SANDBOX_WRITABLE=[\"/workspace\"]"));
    // Root's is out of reach.
    refused("");
}
