//! `config`

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn validate_reports_every_problem_at_once_with_its_place() {
    let env = TestEnv::with_config(
        r#"version = 1
[limits]
memroy = "1g"
pids = "many"
[shared_dirs]
data = { host = "data", guest = "relative" }
[env]
set = { SESSION_TOKEN = "x" }
"#,
    );
    assert_snapshot!(env.call(&["config", "validate"]), @r#"
    code: 2
    --- stderr
    error: 4 problems:
      sandbox.toml:3:1: limits.memroy: unknown key; did you mean "memory"?
      sandbox.toml:4:8: limits.pids: found text; expected a whole number of processes, or "unlimited"
      sandbox.toml:6:33: shared_dirs.data.guest: "relative" is not absolute; a path inside the sandbox begins with `/`, such as `/workspace`
      sandbox.toml:8:9: env.set.SESSION_TOKEN: `SESSION_TOKEN` is reserved: it belongs to the control plane; choose another name
    "#);
}

#[test]
fn one_problem_has_its_hint_on_a_line_of_its_own() {
    let env = TestEnv::with_config("[network]\nmdoe = \"none\"\n");
    assert_snapshot!(env.call(&["config", "validate"]), @r#"
    code: 2
    --- stderr
    error: sandbox.toml:2:1: network.mdoe: unknown key
    hint: did you mean "mode"?
    "#);
}

#[test]
fn validate_gives_programs_the_parts_of_each_problem() {
    let env = TestEnv::with_config("[limits]\nmemroy = \"1g\"\n");
    let answer = env.call(&["config", "validate", "--format", "json"]);
    assert_eq!(answer.code, 2);
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "config.invalid");
    assert_eq!(error["retryable"], false);
    let problem = &error["details"]["problems"][0];
    assert_eq!(problem["file"], "sandbox.toml");
    assert_eq!((problem["line"].as_u64(), problem["column"].as_u64()), (Some(2), Some(1)));
    assert_eq!(problem["key"], "limits.memroy");
    assert_eq!(problem["code"], "unknown_key");
    assert_eq!(answer.stderr, "");
}

#[test]
fn validate_says_what_needs_trust() {
    let env = TestEnv::with_config("[limits]\npids = 5000\n");
    assert_snapshot!(env.call(&["config", "validate"]), @r"
    code: 0
    --- stdout
    sandbox.toml is valid and needs trust, because it widens what a sandbox may do:
      sandbox.toml:2:8: limits.pids raises the limit to 5000; without the file it is 1024
    ");
}

#[test]
fn validate_takes_another_file() {
    let env = TestEnv::new();
    env.write("other.toml", "version = 2\n");
    assert_snapshot!(env.call(&["config", "validate", "other.toml"]), @r"
    code: 2
    --- stderr
    error: other.toml:1:11: version: 2 is out of range; expected 1
    ");
}

#[test]
fn validate_without_a_file_says_how_to_make_one() {
    assert_snapshot!(TestEnv::new().call(&["config", "validate"]), @r"
    code: 2
    --- stderr
    error: no sandbox.toml from the working directory upward
    hint: `sandboxctl init` writes one; `--config FILE` or an argument names another
    ");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let answer = TestEnv::new().call(&["config", "validate", "missing.toml"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("missing.toml"), "{answer}");
}

#[test]
fn bytes_that_are_not_text_are_an_error_with_a_line() {
    let env = TestEnv::new();
    std::fs::write(env.project().join("sandbox.toml"), b"version = 1\n# \xff\n").unwrap();
    assert_snapshot!(env.call(&["config", "validate"]), @r"
    code: 2
    --- stderr
    error: sandbox.toml:2: not UTF-8, as TOML must be
    ");
}

#[test]
fn show_names_the_origin_of_every_value() {
    let env = TestEnv::with_config("[limits]\npids = 100\n").set("SANDBOXCTL_MEMORY", "2g");
    let settings = env.home().join(".config/sandboxctl");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("sandbox.toml"), "[limits]\npids = 200\ncpus = 2\n").unwrap();
    let answer = env.call(&["config", "show", "--origin"]);
    assert_eq!(answer.code, 0, "{answer}");
    let limits: String = answer
        .stdout
        .lines()
        .filter(|line| line.starts_with("limits."))
        .map(|line| line.to_owned() + "\n")
        .collect();
    assert_snapshot!(limits, @r#"
    limits.memory = "2g"  # SANDBOXCTL_MEMORY
    limits.cpus = 2  # [TEMP]/home/.config/sandboxctl/sandbox.toml:3
    limits.pids = 100  # sandbox.toml:2
    limits.timeout = "unlimited"  # default
    limits.output_bytes = "10m"  # default
    limits.tmp_size = "512m"  # default
    limits.network_bytes = "unlimited"  # default
    limits.cpu_time = "unlimited"  # default
    limits.file_size = "unlimited"  # default
    "#);
}

#[test]
fn show_gives_programs_rows() {
    let answer = TestEnv::with_config("[limits]\npids = 100\n").call(&["config", "show", "--format", "json"]);
    let answer = answer.json();
    let row = answer["settings"].as_array().unwrap().iter().find(|row| row["key"] == "limits.pids").unwrap();
    assert_eq!(row["value"], "100");
    assert_eq!(row["origin"]["kind"], "project");
    assert_eq!(row["origin"]["at"], "sandbox.toml:2");
}

#[test]
fn the_schema_is_json_and_knows_the_keys() {
    let answer = TestEnv::new().call(&["config", "schema"]);
    assert_eq!(answer.code, 0);
    assert!(answer.json()["properties"]["limits"].is_object());
}

#[test]
fn an_unknown_variable_of_ours_is_an_error() {
    let env = TestEnv::new().set("SANDBOXCTL_MEMROY", "1g");
    assert_snapshot!(env.call(&["config", "show"]), @r#"
    code: 2
    --- stderr
    error: SANDBOXCTL_MEMROY: unknown variable
    hint: did you mean "SANDBOXCTL_MEMORY"?
    "#);
}

#[test]
fn validate_refuses_what_no_trust_could_make_run() {
    let env = TestEnv::with_config(
        "[shared_dirs]\netc = { host = \"/etc\", guest = \"/x\" }\nlater = { host = \"./later\", guest = \"/later\" }",
    );
    let answer = env.call(&["config", "validate"]);
    assert_eq!(answer.code, 2, "{answer}");
    assert!(answer.stderr.contains("shared_dirs.etc") && !answer.stderr.contains("later"), "{answer}");
    let narrow = TestEnv::with_config("[shared_dirs]\nlater = { host = \"./later\", guest = \"/later\" }");
    assert_eq!(narrow.call(&["config", "validate"]).code, 0);
}
