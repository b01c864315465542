use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use policy::rules::env::{
    self, EnvRule, EnvRules, Name, NameError, ReservedReason, Stripped, Unnamed, apply, decide, reserved,
    split_entry,
};
use policy::rules::verdict::{Decision, Origin};

fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    list.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

const RESERVED: &[&str] = &[
    "SESSION_TOKEN", "CONTROL_PLANE_URL", "SESSION_ID", "AGENT_COMMAND", "AGENT_ARGS", "AGENT_USER",
    "AGENT_WORKDIR", "AGENT_INIT", "AGENT_ALLOW_ROOT", "AGENT_ALLOW_EMULATION", "SANDBOX_", "SANDBOX_TOKEN",
    "SANDBOX_ANYTHING_AT_ALL",
];

/// Names that look reserved and are the agent's own.
const KEPT: &[&str] = &[
    "AGENT_ID", "AGENT_", "AGENT_COMMANDS", "MY_SESSION_TOKEN", "SESSION_TOKENS", "session_token",
    "CLAUDE_CODE_SESSION_ID", "SANDBOX", "SANDBOXCTL_PROVIDER", "MY_SANDBOX_X", "ANTHROPIC_BASE_URL",
    "OLLAMA_HOST", "PATH", "LD_PRELOAD", "_FILE", "SESSION_TOKEN_FILE_FILE",
];

#[test]
fn reserved_names_are_reserved_with_file_too() {
    for name in RESERVED {
        assert!(reserved(name).is_some(), "{name}");
        assert_eq!(reserved(&format!("{name}_FILE")), reserved(name), "{name}_FILE");
    }
    for name in KEPT {
        assert_eq!(reserved(name), None, "{name}");
    }
    assert_eq!(reserved("SESSION_ID"), Some(ReservedReason::ControlPlane));
    assert_eq!(reserved("AGENT_ARGS_FILE"), Some(ReservedReason::Entrypoint));
    assert_eq!(reserved("SANDBOX_X"), Some(ReservedReason::Prefix));
}

#[test]
fn the_control_plane_is_stripped_whatever_the_rules() {
    for rules in [EnvRules::new(Unnamed::Keep), EnvRules::for_caller()] {
        for name in RESERVED {
            let environment = apply(pairs(&[(name, "secret")]), &rules);
            assert_eq!(environment.kept, vec![], "{name}");
            assert!(matches!(environment.stripped[..], [(_, Stripped::Reserved(_))]), "{name}");
            assert_eq!(decide(name, &rules).decision, Decision::Deny, "{name}");
        }
    }
}

#[test]
fn an_image_keeps_what_is_not_reserved() {
    let rules = EnvRules::new(Unnamed::Keep);
    for name in KEPT {
        assert_eq!(apply(pairs(&[(name, "x")]), &rules).kept, pairs(&[(name, "x")]));
        assert_eq!(decide(name, &rules).decision, Decision::Allow, "{name}");
    }
}

#[test]
fn every_occurrence_of_a_stripped_name_goes() {
    let given = pairs(&[
        ("SESSION_TOKEN", "1"),
        ("A", "1"),
        ("SESSION_TOKEN", "2"),
        ("SESSION_TOKEN", "3"),
        ("SESSION_TOKEN_FILE", "/x"),
    ]);
    let environment = apply(given, &EnvRules::new(Unnamed::Keep));
    assert_eq!(environment.kept, pairs(&[("A", "1")]));
    assert_eq!(environment.stripped.len(), 2, "each name is reported once");
}

#[test]
fn of_kept_duplicates_the_last_wins_once() {
    let given = pairs(&[("A", "1"), ("B", "x"), ("A", "2"), ("A", "3")]);
    assert_eq!(apply(given, &EnvRules::new(Unnamed::Keep)).kept, pairs(&[("A", "3"), ("B", "x")]));
}

#[test]
fn values_need_not_be_utf8() {
    let value = OsString::from_vec(vec![0xff, b'=', 0xfe, b'\n']);
    let given = vec![("A".into(), value.clone()), (OsString::from_vec(vec![0xff]), value.clone())];
    assert_eq!(apply(given.clone(), &EnvRules::new(Unnamed::Keep)).kept, given);
    assert_eq!(
        apply(given, &EnvRules::for_caller()).kept,
        vec![],
        "a name that is not UTF-8 cannot be named"
    );
}

#[test]
fn what_is_no_variable_goes() {
    let given = pairs(&[("", "x"), ("A=B", "x"), ("=C:", "x"), ("N\0UL", "x"), ("V", "a\0b"), ("OK", "")]);
    let environment = apply(given, &EnvRules::new(Unnamed::Keep));
    assert_eq!(environment.kept, pairs(&[("OK", "")]));
    assert!(environment.stripped.iter().all(|(_, why)| *why == Stripped::Malformed));
}

#[test]
fn a_reserved_name_does_not_hide_behind_its_form() {
    let given = pairs(&[("SESSION_TOKEN=", "x"), ("=SESSION_TOKEN", "x"), ("SESSION_TOKEN\0", "x")]);
    assert_eq!(apply(given, &EnvRules::new(Unnamed::Keep)).kept, vec![]);
}

#[test]
fn entries_split_at_the_first_equals_sign() {
    let split = |entry: &str| split_entry(entry.into());
    assert_eq!(split("A=b=c"), Some(("A".into(), "b=c".into())));
    assert_eq!(split("A="), Some(("A".into(), "".into())));
    assert_eq!(split("=A=b"), Some(("".into(), "A=b".into())));
    assert_eq!(split("A"), None);
    assert_eq!(split(""), None);
    let bytes = OsString::from_vec(vec![b'A', b'=', 0xff]);
    assert_eq!(split_entry(bytes), Some(("A".into(), OsString::from_vec(vec![0xff]))));
}

#[test]
fn nothing_of_a_caller_passes_but_what_is_harmless_or_named() {
    let mut rules = EnvRules::for_caller();
    rules.insert(name("EDITOR"), EnvRule::Pass, Origin::Project("sandbox.toml:3".to_owned()));
    let given = pairs(&[("LANG", "C"), ("EDITOR", "vi"), ("AWS_SECRET_ACCESS_KEY", "x"), ("PATH", "/evil")]);
    let environment = apply(given, &rules);
    assert_eq!(environment.kept, pairs(&[("LANG", "C"), ("EDITOR", "vi")]));
    assert_eq!(environment.stripped.len(), 2);
    assert_eq!(decide("EDITOR", &rules).origin, Origin::Project("sandbox.toml:3".to_owned()));
    assert!(decide("PATH", &rules).rule.contains("[env] pass"));
    assert_eq!(decide("", &rules).decision, Decision::Deny);
    assert_eq!(decide("A=B", &rules).decision, Decision::Deny);
}

#[test]
fn what_is_set_wins_over_what_is_given() {
    let mut rules = EnvRules::for_caller();
    rules.insert(name("LANG"), EnvRule::Set("C.UTF-8".into()), Origin::Default);
    rules.insert(name("CI"), EnvRule::Set("1".into()), Origin::Default);
    let environment = apply(pairs(&[("LANG", "de"), ("CI", "0"), ("LANG", "fr")]), &rules);
    assert_eq!(environment.kept, pairs(&[("LANG", "C.UTF-8"), ("CI", "1")]));
}

#[test]
fn the_callers_value_never_stands_in_for_a_secret() {
    let mut rules = EnvRules::new(Unnamed::Keep);
    rules.insert(name("GITHUB_TOKEN"), EnvRule::Secret("github".to_owned()), Origin::Default);
    let environment = apply(pairs(&[("GITHUB_TOKEN", "real")]), &rules);
    assert_eq!(environment.kept, vec![]);
    assert_eq!(environment.stripped, vec![(OsString::from("GITHUB_TOKEN"), Stripped::Secret)]);
    assert_eq!(decide("GITHUB_TOKEN", &rules).decision, Decision::Allow);
}

#[test]
fn the_verdict_and_the_environment_agree() {
    let mut rules = EnvRules::for_caller();
    rules.insert(name("EDITOR"), EnvRule::Pass, Origin::Default);
    for name in KEPT.iter().chain(RESERVED).chain(env::HARMLESS).chain(&["EDITOR"]) {
        let kept = apply(pairs(&[(name, "x")]), &rules).kept.iter().any(|(kept, _)| kept == OsStr::new(name));
        assert_eq!(decide(name, &rules).decision == Decision::Allow, kept, "{name}");
    }
}

#[test]
fn harmless_names_are_names_that_are_not_reserved() {
    for text in env::HARMLESS {
        assert_eq!(name(text).as_str(), *text);
    }
}

#[test]
fn a_name_that_cannot_be_given_is_refused_with_the_reason() {
    let error = |text: &str| text.parse::<Name>().expect_err(text);
    assert_eq!(error(""), NameError::Empty);
    for text in ["1A", "A-B", "A B", "A=B", "A\0", "Ä", "BASH_FUNC_x%%", "A.B", " A"] {
        assert_eq!(error(text), NameError::Malformed { given: text.to_owned() });
    }
    for text in RESERVED {
        assert!(matches!(error(text), NameError::Reserved { .. }), "{text}");
    }
    assert!(error("SESSION_TOKEN").to_string().contains("control plane"));
    for text in ["A", "_", "_1", "lower_case", "X9"] {
        assert_eq!(name(text).to_string(), text);
    }
}

#[test]
fn verdicts_do_not_pass_control_characters_on_to_a_terminal() {
    for name in ["\u{1b}[31m", "SANDBOX_\u{1b}"] {
        for rules in [EnvRules::for_caller(), EnvRules::new(Unnamed::Keep)] {
            assert!(!decide(name, &rules).rule.contains('\u{1b}'), "{name:?}");
        }
    }
}
