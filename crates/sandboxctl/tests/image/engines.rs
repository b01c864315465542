//! The engine that an image is for: no other gets it, and one that does not answer has a code.

use crate::machine::{Feature, is_there};
use crate::project::{Project, variable};

#[test]
fn the_engine_of_another_context_gets_no_image() {
    if !is_there(Feature::Docker, "a builder of another context")
        || !is_there(Feature::Rootless, "a builder of another context")
    {
        return;
    }
    let project = Project::with_dockerfile("image-test-elsewhere:1", "");
    let rootless = format!("host={}", variable("ROOTLESS"));
    let made = project.docker(&["context", "create", "elsewhere", "--docker", &rootless]);
    assert!(made.status.success(), "{made:?}");
    // It answers, and could build it.
    let inspected = project.docker(&["buildx", "inspect", "elsewhere"]);
    assert!(String::from_utf8_lossy(&inspected.stdout).contains("running"), "{inspected:?}");

    let error = project.refused(&["--platform", "linux/amd64", "--builder", "elsewhere"]);
    assert_eq!(error["code"], "builder.missing", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("the engine of the context \"elsewhere\""), "{message}");
    assert!(error["hint"].as_str().unwrap().contains("set DOCKER_CONTEXT"), "{error}");
}

#[test]
fn an_engine_that_does_not_answer_is_distinguished_from_a_failed_build() {
    if !is_there(Feature::Docker, "an engine that does not answer") {
        return;
    }
    let project = Project::with_dockerfile("image-test-nowhere:1", "");
    // Nobody listens there, and no name server knows the other.
    for address in ["tcp://127.0.0.1:1", "tcp://engine.invalid:2375"] {
        let output = project.command(&["--format", "json"]).env("DOCKER_HOST", address).output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), &answer["error"]["code"]),
            (Some(69), &"engine.unreachable".into())
        );
        assert!(answer["error"]["message"].as_str().unwrap().contains(address), "{answer}");
        assert!(answer["error"]["hint"].as_str().unwrap().contains("DOCKER_HOST"), "{answer}");
    }
}
