//! Engines that are not there, or do not do what they are asked.
#![expect(clippy::unwrap_used, reason = "a place that cannot be made has failed the test")]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use serde_json::Value;

use crate::env::{Answer, TestEnv};

/// A place with a `docker` command, which is looked for before a socket is, and never called here.
fn with_docker(host: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("bin/docker", "#!/bin/sh\nexit 99\n");
    let program = env.project().join("bin/docker");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = program.parent().unwrap().display().to_string();
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
fn an_engine_that_is_stopped_is_told_from_one_elsewhere() {
    let stopped = with_docker("unix:///nonexistent/docker.sock");
    let answer = run(&stopped);
    assert_eq!(answer.code, 69, "{answer}");
    assert!(answer.stderr.contains("/nonexistent/docker.sock"), "{answer}");
    assert!(answer.stderr.contains("systemctl start docker"), "{answer}");
    assert_eq!(code(&stopped), "engine.unreachable");

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
fn auto_says_why_it_took_native() {
    let env = with_docker("unix:///nonexistent/docker.sock");
    env.write("sandbox.toml", "[image]\n");
    let answer = env.call(&["plan"]);
    assert_eq!(answer.code, 0, "{answer}");
    assert!(
        answer.stdout.contains("native ([image] (sandbox.toml:1:2) is left aside: no docker engine answers"),
        "{answer}"
    );
}
