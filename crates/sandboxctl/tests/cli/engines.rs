//! Engines that are not there, or do not do what they are asked.
#![expect(clippy::unwrap_used, reason = "a place that cannot be made has failed the test")]

use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use serde_json::Value;

use crate::env::{Answer, TestEnv};

/// A place with a `docker` command, which is looked for before a socket is, and never called here.
fn with_docker(host: &str) -> TestEnv {
    let env = TestEnv::new();
    env.program("bin/docker", "#!/bin/sh\nexit 99\n");
    let path = env.root().join("bin").display().to_string();
    env.set("PATH", &path).set("DOCKER_HOST", host)
}

fn run(env: &TestEnv) -> Answer {
    env.call(&["run", "--provider", "docker", "-v", ".:/workspace:ro", "--", "true"])
}

fn code(env: &TestEnv) -> String {
    let answer =
        env.call(&["run", "--format", "json", "--provider", "docker", "-v", ".:/workspace:ro", "--", "true"]);
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    json["error"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn an_engine_that_is_not_installed_is_named() {
    let env = TestEnv::new().set("PATH", "/nonexistent");
    for engine in ["docker", "podman"] {
        let answer = env.call(&["run", "--provider", engine, "--", "true"]);
        assert_eq!(answer.code, 69, "{answer}");
        assert!(answer.stderr.contains(&format!("no `{engine}` command")), "{answer}");
        assert!(answer.stderr.contains("--provider native"), "{answer}");
    }
    assert_eq!(code(&env), "engine.not_installed");
}

#[test]
fn an_engine_that_is_stopped_is_distinguished_from_one_elsewhere() {
    let stopped = with_docker("unix:///nonexistent/docker.sock");
    let answer = run(&stopped);
    assert_eq!(answer.code, 69, "{answer}");
    assert!(answer.stderr.contains("/nonexistent/docker.sock"), "{answer}");
    assert!(answer.stderr.contains("hint: check DOCKER_HOST"), "{answer}");
    assert_eq!(code(&stopped), "engine.unreachable");
    assert_eq!(code(&with_docker("garbage")), "engine.elsewhere");

    let elsewhere = with_docker("tcp://192.0.2.1:2375");
    let answer = run(&elsewhere);
    assert_eq!(answer.code, 69, "{answer}");
    assert!(answer.stderr.contains("tcp://192.0.2.1:2375 is on another machine"), "{answer}");
    assert_eq!(code(&elsewhere), "engine.elsewhere");
}

#[test]
fn an_engine_that_never_answers_hangs_nobody() {
    let top = tempfile::tempdir().unwrap();
    let socket = top.path().join("docker.sock");
    let _silent = UnixListener::bind(&socket).unwrap();
    let env = with_docker(&format!("unix://{}", socket.display()));
    assert_eq!(code(&env), "engine.timed_out");
}

#[test]
fn an_engine_that_takes_no_connection_hangs_nobody() {
    let top = tempfile::tempdir().unwrap();
    let socket = top.path().join("docker.sock");
    let listener = socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None).unwrap();
    socket::bind(listener.as_raw_fd(), &UnixAddr::new(&socket).unwrap()).unwrap();
    socket::listen(&listener, Backlog::new(0).unwrap()).unwrap();
    // One waits already, and there is no room for another.
    let _waiting = UnixStream::connect(&socket).unwrap();
    let env = with_docker(&format!("unix://{}", socket.display()));
    assert_eq!(code(&env), "engine.timed_out");
}

#[test]
fn a_socket_that_passes_on_somebody_elses_engine_is_reported() {
    // A mock: what passes a virtual machine's engine on answers as any other, and is a process of the user's. It has to be
    // another user than root, who is taken for the engine itself.
    let top = tempfile::tempdir().unwrap();
    let socket = top.path().join("docker.sock");
    let script = r#"
import os, socket, sys
if os.getuid() == 0:
    os.setgid(1001)
    os.setuid(1001)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(8)
print('ready', flush=True)
while True:
    client, _ = listener.accept()
    with client, client.makefile('rwb') as stream:
        # To the end: a connection that is closed with something unread is reset.
        asked = list(iter(lambda: stream.readline().strip(), b''))
        if asked:
            info = b'{"SecurityOptions":["name=seccomp,profile=builtin"]}'
            stream.write(b'HTTP/1.0 200 OK\r\n\r\n' + (b'OK' if b' /_ping ' in asked[0] else info))
"#;
    std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut server =
        Command::new("python3").args(["-c", script]).arg(&socket).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    server.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let found = code(&with_docker(&format!("unix://{}", socket.display())));
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(found, "engine.elsewhere");
}

#[test]
fn podman_that_calls_another_one_is_reported() {
    let env = with_docker("unix:///nonexistent/docker.sock");
    env.program("bin/podman", "#!/bin/sh\nexit 99\n");
    let env = env.set("CONTAINER_HOST", "ssh://me@192.0.2.1/run/podman.sock");
    let answer = env.call(&["run", "--provider", "podman", "-v", ".:/workspace:ro", "--", "true"]);
    assert_eq!(answer.code, 69, "{answer}");
    assert!(answer.stderr.contains("ssh://me@192.0.2.1") && answer.stderr.contains("unset"), "{answer}");
}

#[test]
fn what_only_containers_have_is_not_left_out_in_silence() {
    let env = with_docker("unix:///nonexistent/docker.sock");
    for flag in ["--image=box", "--runtime=runsc", "--platform=linux/arm64", "--pull=always"] {
        for provider in ["auto", "native"] {
            let answer =
                env.call(&["run", "--provider", provider, flag, "-v", ".:/workspace:ro", "--", "true"]);
            assert_eq!(answer.code, 2, "{flag} {provider}: {answer}");
            assert!(answer.stderr.contains("only containers have it"), "{flag} {provider}: {answer}");
        }
    }
    // Whoever asks for more isolation does not get less.
    env.write("sandbox.toml", "[container]\nruntime = \"runsc\"\n");
    let answer = env.call(&["run", "--trust", "-v", ".:/workspace:ro", "--", "true"]);
    assert_eq!(answer.code, 2, "{answer}");
    assert!(
        answer.stderr.contains("container.runtime") && answer.stderr.contains("no engine answers"),
        "{answer}"
    );
}

#[test]
fn an_image_that_is_ignored_is_said() {
    let env = with_docker("unix:///nonexistent/docker.sock");
    env.write("sandbox.toml", "[image]\nname = \"box\"\n");
    let answer = env.call(&["run", "-v", ".:/workspace:ro", "--", "true"]);
    assert_eq!(answer.code, 0, "{answer}");
    assert!(
        answer.stderr.contains("warning: [image] (sandbox.toml:1:2) is ignored: no docker engine"),
        "{answer}"
    );
}

#[test]
fn auto_says_why_it_took_native() {
    let env = with_docker("unix:///nonexistent/docker.sock");
    env.write("sandbox.toml", "[image]\n");
    let answer = env.call(&["plan"]);
    assert_eq!(answer.code, 0, "{answer}");
    assert!(
        answer.stdout.contains("native ([image] (sandbox.toml:1:2) is ignored: no docker engine answers"),
        "{answer}"
    );
}
