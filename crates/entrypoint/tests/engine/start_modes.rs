//! The ways in which Docker may start it.

use crate::container::Start;
use crate::ended::{field, is_agent, is_agent_within_bounds};
use crate::engine::Engine;

/// What the agent is and holds, what a set-uid program makes of it, and whether it can write where only root can.
const FACTS: &str = "cat /proc/self/status
    echo Gained: $(id-of-root -u)
    echo Written: $(touch /etc/new 2>/dev/null && echo yes)";

/// The control: what the looks find in the same containers when nothing is taken away.
#[test]
fn without_the_entrypoint_the_same_looks_find_root() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let facts = |flags: &str| Start::new().flags(flags).without_the_entrypoint().sh(FACTS).well();
    let root = facts("");
    assert_eq!((field(&root, "Uid"), field(&root, "Written")), ("0 0 0 0".into(), "yes".into()));
    assert_ne!((field(&root, "CapEff"), field(&root, "CapBnd")), ("0".repeat(16), "0".repeat(16)));
    assert_eq!(field(&root, "NoNewPrivs"), "0");
    assert_eq!(field(&facts("--privileged"), "Seccomp"), "0");
    assert_eq!(field(&facts("--user 1000:1000"), "Gained"), "0");
}

/// The agent with its groups, out of root's reach.
#[track_caller]
fn is_locked_in(facts: &str, groups: &str) {
    is_agent(facts, groups);
    assert_eq!((field(facts, "Gained"), field(facts, "Written")), ("1000".into(), String::new()));
}

#[test]
fn as_root() {
    if !Engine::Docker.is_declared() {
        return;
    }
    for flags in ["", "--privileged", "--security-opt no-new-privileges", "--read-only", "--init"] {
        for mode in ["0", "1"] {
            let facts = Start::new().flags(flags).env("AGENT_INIT", mode).sh(FACTS).well();
            is_locked_in(&facts, "29 44 1000");
        }
    }
}

#[test]
fn as_the_agent_already() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // Docker adds the groups of the image where no group is named.
    for (user, groups) in [("1000:1000", "1000"), ("1000", "29 44 1000"), ("agent", "29 44 1000")] {
        let flags = format!("--user {user} --cap-drop ALL");
        is_locked_in(&Start::new().flags(&flags).sh(FACTS).well(), groups);
        let named = Start::new().flags(&flags).env("AGENT_USER", user).env("AGENT_INIT", "1");
        is_locked_in(&named.flags("--security-opt no-new-privileges --read-only").sh(FACTS).well(), groups);
    }
}

#[test]
fn as_the_agent_with_a_bounding_set_that_it_cannot_empty() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let ended = Start::new().flags("--user 1000:1000").sh(FACTS);
    assert_eq!((ended.code, ended.err.lines().count()), (0, 1), "{ended:?}");
    assert!(
        ended.err.starts_with("entrypoint: note: ") && ended.err.contains("CAP_SETPCAP"),
        "{}",
        ended.err
    );
    assert_ne!(field(&ended.out, "CapBnd"), "0".repeat(16));
    is_agent_within_bounds(&ended.out, "1000");
    assert_eq!(field(&ended.out, "Gained"), "1000");
}

#[test]
fn as_an_arbitrary_user() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // As OpenShift does: in group 0, which is what its images expect.
    let start = || Start::new().flags("--user 54321 --cap-drop ALL");
    let ended = start().sh(FACTS);
    assert!(ended.code == 0 && ended.err.contains("note: the agent keeps group 0"), "{ended:?}");
    let facts = ended.out;
    assert_eq!(field(&facts, "Uid"), "54321 54321 54321 54321");
    assert_eq!((field(&facts, "Gid"), field(&facts, "Gained")), ("0 0 0 0".into(), "54321".into()));
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(&facts, set), "0".repeat(16), "{set}");
    }
    let message = start().env("AGENT_USER", "agent").sh(FACTS).refused();
    assert!(message.contains("--user 1000:1000") && message.contains("--cap-add SETUID"), "{message}");
}

#[test]
fn as_root_without_capabilities() {
    if !Engine::Docker.is_declared() {
        return;
    }
    for mode in ["0", "1"] {
        let message = Start::new().flags("--cap-drop ALL").env("AGENT_INIT", mode).sh(FACTS).refused();
        assert!(message.contains("--user 1000:1000") && message.contains("--cap-add SETUID"), "{message}");
    }
}

#[test]
fn as_root_with_the_two_capabilities_it_takes() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let flags = "--cap-drop ALL --cap-add SETUID --cap-add SETGID";
    let ended = Start::new().flags(flags).sh(FACTS);
    assert_eq!((ended.code, ended.err.lines().count()), (0, 1), "{ended:?}");
    assert!(
        ended.err.starts_with("entrypoint: note: ") && ended.err.contains("CAP_SETPCAP"),
        "{}",
        ended.err
    );
    assert_eq!(field(&ended.out, "CapBnd"), "00000000000000c0");
    is_agent_within_bounds(&ended.out, "29 44 1000");
    assert_eq!(field(&ended.out, "Gained"), "1000");
}
