//! Which variables the agent sees.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::image::{Image, Start};
use crate::{Feature, offers};

const OF_PID_1: &str = r"tr '\0' '\n' < /proc/1/environ";

fn with_all(start: Start<'_>) -> Start<'_> {
    ["SESSION_TOKEN", "SESSION_ID", "CONTROL_PLANE_URL", "SESSION_TOKEN_FILE", "SANDBOX_ANYTHING"]
        .iter()
        .fold(start, |start, name| start.env(name, "secret"))
        .env("AGENT_USER", "agent")
        .env("AGENT_WORKDIR", "/workspace")
        .env("AGENT_ALLOW_ROOT", "0")
        .env("AGENT_ID", "kept")
        .env("ANTHROPIC_API_KEY", "kept")
        .env("EMPTY", "")
}

const EXPECTED: [&str; 8] = [
    "AGENT_ID=kept",
    "ANTHROPIC_API_KEY=kept",
    "EMPTY=",
    "HOME=/home/agent",
    "LOGNAME=agent",
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "SHELL=/bin/bash",
    "USER=agent",
];

#[test]
fn pid_1_shows_no_control_variable() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let seen = with_all(image.start()).env("AGENT_INIT", "0").sh(OF_PID_1).well();
    assert_eq!(seen.lines().collect::<BTreeSet<_>>(), BTreeSet::from(EXPECTED));
}

#[test]
fn an_init_shows_nothing_at_all() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let start = || with_all(image.start()).env("AGENT_INIT", "1");
    let started = start().started("exec sleep 1000");
    assert_eq!(started.of_pid_1("environ"), b"");
    let arguments = String::from_utf8(started.of_pid_1("cmdline")).unwrap();
    assert!(arguments.starts_with("entrypoint\0--supervise="), "{arguments:?}");
    assert_eq!(started.of_pid_1("comm"), b"entrypoint\n");
    started.signal(rustix::process::Signal::TERM);
    assert_eq!(started.wait().code, 143);
    let seen = start().run(&["env"]).well();
    assert_eq!(seen.lines().collect::<BTreeSet<_>>(), BTreeSet::from(EXPECTED));
}

#[test]
fn values_need_not_be_text() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let value = OsStr::from_bytes(b"\xff\xfe");
    let seen = image.start().env("ODD", value).sh("printf %s \"$ODD\" | od -An -tx1").well();
    assert_eq!(seen.trim(), "ff fe");
    let message = image.start().env("AGENT_USER", value).sh("id").refused();
    assert!(message.contains("is not UTF-8"), "{message}");
}

#[test]
fn an_agent_without_a_start_as_root_has_its_own_home() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let start = image.start().through("setpriv --reuid 1000 --regid 1000 --clear-groups");
    assert_eq!(start.sh("echo $HOME $USER $LOGNAME $SHELL").out, "/home/agent agent agent /bin/bash\n");
}
