//! The ways in which an engine may start it.

use crate::ended::{field, is_agent, is_agent_within_bounds};
use crate::image::Image;
use crate::{Feature, offers};

const STATUS: &str = "cat /proc/self/status";

#[test]
fn as_the_agent_already() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    // As `--user 1000:1000 --cap-drop ALL` does.
    let as_agent = "setpriv --bounding-set=-all --inh-caps=-all --reuid 1000 --regid 1000";
    for mode in ["0", "1"] {
        let through = format!("{as_agent} --groups 1000");
        let start = image.start().env("AGENT_INIT", mode).env("AGENT_USER", "agent").through(&through);
        is_agent(&start.sh(STATUS).well(), "1000");
        // With nobody named, it stays who it is.
        is_agent(&image.start().env("AGENT_INIT", mode).through(&through).sh(STATUS).well(), "1000");
    }
    let through = format!("{as_agent} --groups 999");
    let ended = image.start().env("AGENT_USER", "agent").through(&through).sh(STATUS);
    is_agent(&ended.out, "999");
    assert!(ended.err.contains("note: the agent keeps the supplementary groups [999]"), "{ended:?}");
}

#[test]
fn as_somebody_else_without_rights() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let through = "setpriv --bounding-set=-all --inh-caps=-all --reuid 54321 --regid 0 --groups 0";
    let message = image.start().env("AGENT_USER", "agent").through(through).sh(STATUS).refused();
    assert!(message.contains("--user 1000:1000") && message.contains("--cap-add SETUID"), "{message}");
    // An arbitrary user, as OpenShift gives every container: in group 0, which is what its images expect.
    let ended = image.start().through(through).sh(STATUS);
    assert!(ended.code == 0 && ended.err.contains("note: the agent keeps group 0"), "{ended:?}");
    let status = ended.out;
    assert_eq!(
        (field(&status, "Uid"), field(&status, "Gid")),
        ("54321 ".repeat(4).trim().into(), "0 0 0 0".into())
    );
    assert_eq!((field(&status, "CapBnd"), field(&status, "CapEff")), ("0".repeat(16), "0".repeat(16)));
}

#[test]
fn as_root_without_capabilities() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let message = image.start().through("setpriv --bounding-set=-all --inh-caps=-all").sh(STATUS).refused();
    assert!(message.contains("--user 1000:1000") && message.contains("--cap-add SETUID"), "{message}");
}

#[test]
fn as_root_with_the_two_capabilities_it_takes() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let through = "setpriv --no-new-privs --bounding-set=-all,+setuid,+setgid --inh-caps=-all";
    let ended = image.start().through(through).sh(STATUS);
    assert_eq!(ended.code, 0, "{ended:?}");
    // Emptying the bounding set would take a third one; nothing in it can be had under no_new_privs.
    assert_eq!(field(&ended.out, "CapBnd"), "00000000000000c0");
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(
        ended.err.starts_with("entrypoint: note: ") && ended.err.contains("CAP_SETPCAP"),
        "{}",
        ended.err
    );
    is_agent_within_bounds(&ended.out, "29 44 1000");
}

#[test]
fn under_no_new_privs() {
    if !offers(Feature::Root) {
        return;
    }
    is_agent(&Image::new().start().through("setpriv --no-new-privs").sh(STATUS).well(), "29 44 1000");
}

#[test]
fn on_a_read_only_root() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    for mode in ["0", "1"] {
        let status = image
            .start()
            .read_only()
            .env("AGENT_INIT", mode)
            .sh("touch /x 2>/dev/null || cat /proc/self/status");
        is_agent(&status.well(), "29 44 1000");
    }
}

#[test]
fn where_setgroups_is_denied() {
    if !offers(Feature::Root) || !offers(Feature::Userns) {
        return;
    }
    let image = Image::new();
    let ended = image.start().denying_setgroups().sh(STATUS);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.err.contains("note: ") && ended.err.contains("refuses setgroups"), "{ended:?}");
    is_agent(&ended.out, &field(&ended.out, "Groups"));
    let message = image.start().denying_setgroups().env("AGENT_USER", "70000").sh(STATUS).refused();
    assert!(message.contains("not mapped in this user namespace"), "{message}");
}

#[test]
fn beneath_another_init() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    // As `docker run --init` does: PID 1 is somebody else.
    let start = image.start().through("/bin/sh -c \"$0\"%\"$@\";exit%$?").env("AGENT_INIT", "1");
    let ended = start.sh("sh -c 'sh -c \"sleep 0.2; cut -d\\  -f4 /proc/self/stat\" &'; sleep 0.6; exit 7");
    assert_eq!((ended.code, ended.err.as_str()), (7, ""), "{ended:?}");
    // The orphan came to the supervisor, and not to PID 1.
    assert_ne!(ended.out.trim(), "1");
}
