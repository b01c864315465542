//! What the agent is and holds, as the kernel says.

use std::fs;

use crate::ended::{Ended, is_agent};
use crate::image::Image;
use crate::{Feature, offers};

const STATUS: &str = "cat /proc/self/status";

#[test]
fn the_agent_holds_nothing() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    is_agent(&image.start().sh(STATUS).well(), "29 44 1000");
    is_agent(&image.start().env("AGENT_INIT", "1").sh(STATUS).well(), "29 44 1000");
}

#[test]
fn root_cannot_be_regained() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let script = "import os
for attempt in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0)):
    try: attempt(); print('regained')
    except PermissionError: print('refused')";
    image.write("tmp/regain.py", script);
    image.copy("/usr/bin/id", "tmp/id");
    fs::set_permissions(image.path("tmp/id"), std::os::unix::fs::PermissionsExt::from_mode(0o4755)).unwrap();
    assert_eq!(
        image.start().sh("/usr/bin/python3 /tmp/regain.py; /tmp/id -u").well(),
        "refused\nrefused\nrefused\nrefused\n1000\n"
    );
}

#[test]
fn inheritable_and_ambient_capabilities_go_too() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let through = |through: &'static str| -> Ended { image.start().through(through).sh(STATUS) };
    is_agent(&through("setpriv --inh-caps=+chown,+setuid").well(), "29 44 1000");
    // Where it has CAP_SETUID although it is the agent already, root would be one call away.
    let ambient = "setpriv --reuid 1000 --regid 1000 --groups 29,44,1000 --inh-caps=+setuid,+setpcap --ambient-caps=+setuid,+setpcap";
    is_agent(&through(ambient).well(), "29 44 1000");
    // A change of user that takes no capability away.
    is_agent(&through("setpriv --securebits=+no_setuid_fixup").well(), "29 44 1000");
}

#[test]
fn forty_groups_are_forty_groups() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let lines = (1..=40).fold(String::new(), |text, n| format!("{text}g{n}:x:{}:x,agent\n", 2000 + n));
    image.write("etc/group", &lines);
    for mode in ["0", "1"] {
        let groups = image.start().env("AGENT_INIT", mode).sh("id -G | wc -w").well();
        assert_eq!(groups.trim(), "41");
    }
}

#[test]
fn the_filter_refuses_what_no_agent_needs() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let ended = image.start().sh("unshare --user true");
    assert!(ended.code != 0 && ended.err.contains("Operation not permitted"), "{ended:?}");
}

#[test]
fn landlock_leaves_what_was_asked_for() {
    if !offers(Feature::Root) || !offers(Feature::Landlock) {
        return;
    }
    let image = Image::new();
    let script = "for file in /tmp/file /workspace/file /proc/self/comm; do (echo x > $file) 2>/dev/null && echo wrote $file; done
        echo > /dev/null";
    fs::set_permissions(image.path("workspace"), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    assert_eq!(
        image.start().sh(script).well(),
        "wrote /tmp/file\nwrote /workspace/file\nwrote /proc/self/comm\n"
    );
    for mode in ["0", "1"] {
        let start = image.start().env("AGENT_INIT", mode).env("SANDBOX_WRITABLE", r#"["/workspace"]"#);
        assert_eq!(start.sh(script).well(), "wrote /workspace/file\n");
    }
}
