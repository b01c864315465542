//! Where the entrypoint's own seccomp filter cannot be put on: in an emulator, and on a kernel that refuses it.
//!
//! The emulator is one of this machine's own processor, so that the program is the same as everywhere here. What the
//! entrypoint executes in it, itself included, is executed by the processor again.

use rustix::io::Errno;

use crate::container::Start;
use crate::ended::is_agent;
use crate::engine::{Engine, emulator};

const STATUS: [&str; 2] = ["cat", "/proc/self/status"];
const ALLOWED: &str = "AGENT_ALLOW_EMULATION";
const PR_SET_SECCOMP: u32 = 22; // linux/prctl.h

#[test]
fn an_emulator_is_refused_unless_it_is_asked_for() {
    let Some(emulator) = emulator() else { return };
    let start = || Start::new().emulated(&emulator);
    for flags in ["", "--privileged", "--user 1000:1000 --cap-drop ALL"] {
        let message = start().flags(flags).run(&STATUS).refused();
        assert!(message.contains("emulated") && message.contains("AGENT_ALLOW_EMULATION=1"), "{message}");
        assert!(!message.contains("CONFIG_SECCOMP_FILTER"), "{message}");
        assert_eq!(start().flags(flags).env(ALLOWED, "0").run(&STATUS).refused(), message);
    }
    assert!(start().env(ALLOWED, "yes").run(&STATUS).refused().contains(ALLOWED));
}

#[test]
fn an_emulator_that_is_asked_for_does_the_rest() {
    let Some(emulator) = emulator() else { return };
    let start = |flags: &str| Start::new().emulated(&emulator).env(ALLOWED, "1").flags(flags);
    for (flags, groups) in [("", "29 44 1000"), ("--user 1000:1000 --cap-drop ALL", "1000")] {
        for mode in ["0", "1"] {
            let ended = start(flags).env("AGENT_INIT", mode).run(&STATUS);
            assert_eq!((ended.code, ended.err.lines().count()), (0, 1), "{ended:?}");
            assert!(ended.err.starts_with("entrypoint: note: this program is emulated"), "{ended:?}");
            // Docker's filter still holds.
            is_agent(&ended.out, groups);
        }
    }
    for (mode, pid_1) in [("0", "sh\n"), ("1", "entrypoint\n")] {
        let ended = start("").env("AGENT_INIT", mode).sh("cat /proc/1/comm; env | grep AGENT_; exit 7");
        assert_eq!((ended.code, ended.out.as_str()), (7, pid_1), "{ended:?}");
    }
    let message = start("").env("SANDBOX_WRITABLE", "[\"/tmp\"]").run(&STATUS).refused();
    assert!(
        message.contains("SANDBOX_WRITABLE cannot be enforced: an emulator knows no landlock"),
        "{message}"
    );
}

#[test]
fn an_emulator_reports_what_an_init_of_the_engines_reports() {
    let Some(emulator) = emulator() else { return };
    let beneath = "--init --user 1000:1000 --cap-drop ALL --env SESSION_TOKEN=secret";
    let look = r"tr '\0' '\n' < /proc/1/environ | grep SESSION_TOKEN";
    let ended = Start::new().emulated(&emulator).env(ALLOWED, "1").flags(beneath).sh(look);
    assert_eq!(ended.out, "SESSION_TOKEN=secret\n", "{ended:?}");
    assert!(
        ended.err.contains("note: the agent can read") && ended.err.contains("/proc/1/environ"),
        "{ended:?}"
    );
}

#[test]
fn without_an_emulator_nothing_goes_without_the_filter() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let start = || Start::new().without_a_call("prctl", Some(PR_SET_SECCOMP), Errno::PERM);
    for allowed in ["0", "1"] {
        let message = start().env(ALLOWED, allowed).run(&STATUS).refused();
        assert!(message.contains("CONFIG_SECCOMP_FILTER") && !message.contains("emulat"), "{message}");
    }
    // The control: the setting alone changes nothing.
    is_agent(&Start::new().env(ALLOWED, "1").run(&STATUS).well(), "29 44 1000");
}
