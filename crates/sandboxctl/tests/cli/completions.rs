//! `completions`

use std::io::Write;
use std::process::{Command, Stdio};

use crate::env::TestEnv;

#[test]
fn bash_accepts_the_script() {
    let script = TestEnv::new().call(&["completions", "bash"]);
    assert_eq!(script.code, 0);
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.stdout.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
    assert!(script.stdout.contains("--create-dirs"));
}

#[test]
fn every_shell_has_a_script() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = env.call(&["completions", shell]);
        assert_eq!(answer.code, 0);
        assert!(answer.stdout.contains("sandboxctl"), "{shell}");
    }
}

#[test]
fn programs_get_the_script_as_json() {
    let answer = TestEnv::new().call(&["completions", "fish", "--format", "json"]);
    assert_eq!(answer.json()["shell"], "fish");
}
