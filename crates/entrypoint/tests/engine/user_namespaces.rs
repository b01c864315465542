//! Containers in which root is not the host's.

use crate::container::Start;
use crate::ended::{field, is_agent, is_agent_within_bounds};
use crate::engine::Engine;
use crate::image::Image;

// Without a shell: that of Alpine ignores SIGQUIT.
const STATUS: [&str; 2] = ["cat", "/proc/self/status"];

/// Engine, and the flags by which root of the container is somebody else outside.
const ROOTS: [(Engine, &str); 3] = [
    (Engine::RootlessDocker, ""),
    (Engine::Podman, "--uidmap 0:200000:65536 --gidmap 0:200000:65536"),
    (Engine::RootlessPodman, ""),
];

#[test]
fn root_of_a_user_namespace_becomes_the_agent() {
    for (engine, flags) in ROOTS {
        if !engine.is_declared() {
            continue;
        }
        let start = || Start::with(engine, Image::Alpine).flags(flags);
        let control =
            start().without_the_entrypoint().run(&["cat", "/proc/self/status", "/proc/self/uid_map"]).well();
        assert_eq!(field(&control, "Uid"), "0 0 0 0", "{engine:?}");
        let outside: Vec<_> = control.lines().last().unwrap().split_whitespace().collect();
        assert_ne!(outside[1], "0", "{engine:?} maps root to root");
        for mode in ["0", "1"] {
            is_agent(&start().env("AGENT_INIT", mode).run(&STATUS).well(), "29 44 1000");
        }
        // Nobody whom the namespace does not know.
        let message = start().env("AGENT_USER", "70000").run(&STATUS).refused();
        assert!(message.contains("not mapped in this user namespace"), "{message}");
    }
}

#[test]
fn podman_lets_the_caller_be_the_agent() {
    if !Engine::RootlessPodman.is_declared() {
        return;
    }
    let start =
        || Start::with(Engine::RootlessPodman, Image::Alpine).flags("--userns=keep-id:uid=1000,gid=1000");
    is_agent(&start().flags("--cap-drop ALL").env("AGENT_USER", "agent").run(&STATUS).well(), "1000");
    is_agent_within_bounds(&start().env("AGENT_INIT", "1").run(&STATUS).out, "1000");
}

#[test]
fn root_without_capabilities_may_be_the_agent_where_that_is_asked_for() {
    if !Engine::RootlessDocker.is_declared() {
        return;
    }
    // In a rootless engine this root is the caller outside.
    let start = || Start::with(Engine::RootlessDocker, Image::Alpine).flags("--cap-drop ALL");
    start().run(&STATUS).refused();
    let status = start().env("AGENT_USER", "root").env("AGENT_ALLOW_ROOT", "1").run(&STATUS).well();
    assert_eq!((field(&status, "Uid"), field(&status, "NoNewPrivs")), ("0 0 0 0".into(), "1".into()));
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(&status, set), "0".repeat(16), "{set}");
    }
}

#[test]
fn a_namespace_in_the_container_that_denies_setgroups() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // Docker's own filter lets only CAP_SYS_ADMIN make namespaces, and this one has no other groups to give.
    let start = |flags: &str, argv: &[&str]| {
        let within = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps"];
        let flags = format!("--security-opt seccomp=unconfined --env AGENT_USER=agent {flags}");
        Start::new().flags(&flags).without_the_entrypoint().run(&[&within[..], argv].concat())
    };
    assert_eq!(start("", &["cat", "/proc/self/setgroups"]).well(), "deny\n");
    let entrypoint = [&["entrypoint"], &STATUS[..]].concat();
    for (flags, groups, note) in [
        ("", "1000", "supplementary groups are left as they are: this user namespace refuses setgroups"),
        ("--group-add 44", "1000 65534", "the agent keeps the supplementary groups [65534]"),
    ] {
        let ended = start(flags, &entrypoint);
        assert_eq!(ended.code, 0, "{ended:?}");
        assert!(ended.err.contains(&format!("entrypoint: note: {note}")), "{ended:?}");
        is_agent(&ended.out, groups);
    }
}
