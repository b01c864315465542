//! `--verbose` and `SANDBOXCTL_LOG`: what is logged on stderr, and what never is.

use crate::env::TestEnv;

const VALUE: &str = "hunter2-which-nobody-logs";

/// Secrets from everywhere that a secret can come from.
fn with_secrets() -> TestEnv {
    let secret = |name: &str, source: &str| {
        format!(
            "[secrets.{}]\nmode = \"inject\"\nenv_var = \"IN_{name}\"\nsource = \"{source}\"\n",
            name.to_lowercase()
        )
    };
    let file = secret("FILE", "file:~/token");
    let command = secret("COMMAND", "command:echo said >&2; cat ~/token");
    let env = TestEnv::with_config(&[secret("ENV", "env:HOST_TOKEN"), file, command].concat());
    let token = env.home().join("token");
    std::fs::write(&token, VALUE).expect("a file of the caller");
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("the file is ours");
    env.set("HOST_TOKEN", VALUE)
}

/// Has the command say that it has all of them, without saying them.
const GREET: [&str; 4] =
    ["--", "sh", "-c", "test $IN_ENV = $IN_FILE && test $IN_FILE = $IN_COMMAND && echo same"];

#[test]
fn everything_is_logged_at_the_highest_level_but_the_value_of_a_secret() {
    let env = with_secrets();
    let answer = env.call(&[&["run", "--trust", "--verbose", "--verbose", "--verbose"], &GREET[..]].concat());
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "same\n"), "{answer}");
    for line in [
        "INFO sandboxctl::commands::carry_out: reads secret \"env\" variable=\"IN_ENV\"",
        "DEBUG sandboxctl::commands::carry_out: shares directory \"workspace\" host=[TEMP]/project guest=/workspace",
        "DEBUG sandbox::session::boundaries: searched shared directory \"workspace\"",
        "INFO sandboxctl::commands::carry_out: layer seccomp status=\"enforced\"",
    ] {
        assert!(answer.stderr.contains(line), "{line}: {answer}");
    }
    assert!(!answer.stderr.contains(VALUE), "{answer}");
    let answer = env.set("SANDBOXCTL_LOG", "trace").call(&[&["run", "--trust"], &GREET[..]].concat());
    assert!(answer.stderr.contains("reads secret") && !answer.stderr.contains(VALUE), "{answer}");
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    let run = ["run", "--", "true"];
    for env in [
        TestEnv::new(),
        TestEnv::new().set("SANDBOXCTL_LOG", ""),
        TestEnv::new().set("SANDBOXCTL_LOG", "off"),
    ] {
        let answer = env.call(&run);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer}");
    }
    // The control, and the parts of it.
    let answer = TestEnv::new().set("SANDBOXCTL_LOG", "sandbox::session=debug").call(&run);
    assert!(answer.stderr.contains("DEBUG sandbox::session::"), "{answer}");
    assert!(!answer.stderr.contains("sandboxctl::"), "{answer}");
}

#[test]
fn a_level_that_is_none_is_refused() {
    let answer = TestEnv::new().set("SANDBOXCTL_LOG", "sandbox=loud").call(&["plan"]);
    insta::assert_snapshot!(answer, @r#"
    code: 2
    --- stderr
    error: SANDBOXCTL_LOG: "sandbox=loud" says no level
    hint: one of off, error, warn, info, debug, trace; or for parts, such as `sandbox::engine=debug,info`
    "#);
}
