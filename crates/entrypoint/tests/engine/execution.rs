//! How the command is executed, and what it finds.

use crate::container::Start;
use crate::engine::Engine;

#[test]
fn pid_1_is_the_agent() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let look = ["sh", "-c", "cat /proc/1/comm; exec readlink /proc/self"];
    assert_eq!(Start::new().run(&look).well(), "sh\n1\n");
    // The control: what stays beside the agent is PID 1 instead.
    let init = Start::new().env("AGENT_INIT", "1").run(&look).well();
    assert!(init.starts_with("entrypoint\n") && !init.ends_with("\n1\n"), "{init}");
}

#[test]
fn only_three_descriptors_are_open() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // `ls` itself adds 3. The shell opens two more for whoever comes next.
    let leaky = |through: &str| {
        let script = format!("exec 7</etc/passwd 9</; exec {through} ls /proc/self/fd");
        Start::new().without_the_entrypoint().sh(&script).well()
    };
    assert_eq!(leaky("env"), "0\n1\n2\n3\n7\n9\n");
    assert_eq!(leaky("entrypoint"), "0\n1\n2\n3\n");
    assert_eq!(leaky("env AGENT_INIT=1 entrypoint"), "0\n1\n2\n3\n");
    assert_eq!(Start::new().run(&["ls", "/proc/self/fd"]).well(), "0\n1\n2\n3\n");
}

#[test]
fn standard_streams_can_be_opened_by_name() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let script = "echo told > /dev/stderr";
    // The control: a change of user alone leaves root the owner of the pipe.
    let through = ["setpriv", "--reuid", "1000", "--clear-groups", "sh", "-c", script];
    let ended = Start::new().without_the_entrypoint().run(&through);
    assert!(ended.code == 2 && ended.err.contains("Permission denied"), "{ended:?}");
    for flags in ["", "--env AGENT_INIT=1", "--read-only", "--user 1000:1000 --cap-drop ALL"] {
        let ended = Start::new().flags(flags).sh(script);
        assert_eq!((ended.code, ended.err.as_str()), (0, "told\n"), "{flags}: {ended:?}");
    }
}

#[test]
fn why_nothing_was_executed_is_a_code_and_a_sentence() {
    if !Engine::Docker.is_declared() {
        return;
    }
    for (command, code, why) in [
        ("no-such-command", 127, "was not found; looked in /usr/local/sbin"),
        ("/etc/passwd", 126, "executable file (chmod a+x)"),
        ("/root/secret", 126, "uid 1000"),
        ("-l", 125, "is not an option"),
    ] {
        for mode in ["0", "1"] {
            let ended = Start::new().env("AGENT_INIT", mode).run(&[command]);
            assert_eq!((ended.code, ended.out.as_str()), (code, ""), "{ended:?}");
            assert!(ended.err.starts_with("entrypoint: ") && ended.err.contains(why), "{ended:?}");
        }
    }
}

#[test]
fn a_directory_that_is_not_the_agents_is_refused() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // Root could be there.
    let root = Start::new().flags("--workdir /root").without_the_entrypoint().run(&["pwd"]);
    assert_eq!(root.well(), "/root\n");
    let message = Start::new().flags("--workdir /root").run(&["pwd"]).refused();
    assert!(message.contains("cannot enter /root as the agent"), "{message}");
    let message = Start::new().env("AGENT_WORKDIR", "/nowhere").run(&["pwd"]).refused();
    assert!(message.contains("cannot enter /nowhere"), "{message}");
}
