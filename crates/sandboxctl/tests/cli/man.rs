//! `man`

use crate::env::TestEnv;

#[test]
fn prints_the_page_of_the_program() {
    let answer = TestEnv::new().call(&["man"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert!(answer.stdout.contains(".TH sandboxctl 1"), "{answer}");
}

#[test]
fn writes_one_page_for_every_command() {
    let env = TestEnv::new();
    let answer = env.call(&["man", "--output-dir", "man"]);
    assert_eq!(answer.code, 0, "{answer}");
    assert!(env.read("man/sandboxctl-config-validate.1").contains("Report every problem"));
    assert!(env.read("man/sandboxctl.1").contains("sandboxctl"));
}
