//! `doctor`

use crate::env::TestEnv;

#[test]
fn its_exit_code_says_what_its_data_says() {
    let answer = TestEnv::new().call(&["doctor", "--format", "json"]);
    let diagnosis = answer.json();
    let healthy = diagnosis["healthy"].as_bool().unwrap();
    assert_eq!(answer.code, if healthy { 0 } else { 69 }, "{answer}");
    assert!(diagnosis["host"].as_array().is_some_and(|checks| !checks.is_empty()), "{answer}");
    // Either the throw-away sandbox told of its layers, or there is a reason why not.
    let layers = diagnosis["layers"].as_array().unwrap().len();
    assert_eq!(layers == 0, !diagnosis["failure"].is_null(), "{answer}");
}

#[test]
fn leaves_nothing_behind() {
    let env = TestEnv::new();
    let scratch = env.root().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let env = env.set("TMPDIR", scratch.to_str().unwrap());
    assert!([0, 69].contains(&env.call(&["doctor"]).code));
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}
