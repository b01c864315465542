use std::path::{Path, PathBuf};

use policy::plan::Mode;
use policy::protect::Protected;
use policy::rules::path::{Access, Boundaries, Boundary, GuestPath, PathError, normalise};
use policy::rules::verdict::{Decision, Origin, Verdict};

fn boundary(name: &str, guest: &str, mode: Mode) -> Boundary {
    let guest = guest.parse().expect("a guest path");
    Boundary { name: name.to_owned(), guest, mode, origin: Origin::Project(format!("sandbox.toml: {name}")) }
}

fn protected() -> Protected {
    Protected::new(&[], &[]).expect("the built-in list")
}

fn boundaries() -> Boundaries {
    let list = vec![
        boundary("workspace", "/workspace", Mode::ReadWrite),
        boundary("vendor", "/workspace/vendor", Mode::ReadOnly),
        boundary("cache", "/workspace/vendor/cache", Mode::ReadWrite),
        boundary("reference", "/a/b", Mode::ReadOnly),
    ];
    Boundaries::new(list, protected()).expect("boundaries")
}

fn ask(path: &str, access: Access) -> Verdict {
    boundaries().decide(Path::new(path), access)
}

fn allows(path: &str, access: Access) -> bool {
    ask(path, access).decision == Decision::Allow
}

#[test]
fn a_guest_path_has_one_normal_form() {
    for (text, normal) in [("/a", "/a"), ("/a/", "/a"), ("//a//b/./c/.", "/a/b/c"), ("/", "/"), ("/./", "/")]
    {
        let path: GuestPath = text.parse().expect(text);
        assert_eq!(path.to_string(), normal);
    }
}

#[test]
fn what_is_no_guest_path_is_refused() {
    let error = |text: &str| text.parse::<GuestPath>().expect_err(text);
    for text in ["", "a", "./a", "~/a", "workspace"] {
        assert!(matches!(error(text), PathError::Relative { .. }), "{text}");
    }
    for text in ["/..", "/a/../b", "/a/.."] {
        assert!(matches!(error(text), PathError::Parent { .. }), "{text}");
    }
    assert!(matches!(error("/a\0b"), PathError::Nul { .. }));
    assert!(matches!(error(&format!("/{}", "a".repeat(4095))), PathError::TooLong { length: 4096 }));
    assert!("/a..b/...".parse::<GuestPath>().is_ok(), "dots within a name are a name");
}

#[test]
fn nothing_is_mounted_over_the_system() {
    let mountable = |text: &str| text.parse::<GuestPath>().expect(text).as_mount_point().is_ok();
    for text in ["/", "/proc", "/proc/self", "/usr/local", "/etc/x", "/dev/shm", "/tmp", "/run", "/lib64/x"] {
        assert!(!mountable(text), "{text}");
    }
    for text in ["/workspace", "/tmp/x", "/run/x", "/home/agent", "/library", "/opt", "/usrx", "/data/etc"] {
        assert!(mountable(text), "{text}");
    }
}

#[test]
fn normalising_folds_a_path_on_its_face() {
    for (path, normal) in
        [("/var/tmp/../lib", "/var/lib"), ("/../..", "/"), ("/a/./b//c/..", "/a/b"), ("a/../b", "b")]
    {
        assert_eq!(normalise(Path::new(path)), PathBuf::from(normal), "{path}");
    }
}

#[test]
fn paths_are_compared_by_component() {
    assert!(allows("/a/b", Access::Read));
    assert!(allows("/a/b/c", Access::Read));
    for path in ["/a", "/a/bc", "/a/b c", "/", "/a/b.", "/A/b", "/etc/passwd", "/workspace2"] {
        assert!(!allows(path, Access::Read), "{path}");
    }
}

#[test]
fn the_innermost_boundary_rules() {
    assert!(allows("/workspace/x", Access::Write));
    assert!(!allows("/workspace/vendor", Access::Write));
    assert!(!allows("/workspace/vendor/x", Access::Write));
    assert!(allows("/workspace/vendor/x", Access::Read));
    assert!(allows("/workspace/vendor/cache/x/y/z", Access::Write));
    assert!(allows("/workspace/vendors", Access::Write));
    assert!(allows("/workspace/vendor/x", Access::Execute));
    assert_eq!(
        ask("/workspace/vendor/x", Access::Read).origin,
        Origin::Project("sandbox.toml: vendor".into())
    );
}

#[test]
fn a_path_that_would_have_to_be_resolved_is_denied() {
    for path in ["/workspace/../etc/passwd", "/workspace/x/../y", "workspace", "", "/workspace/\0"] {
        for access in [Access::Read, Access::Write, Access::Execute] {
            assert!(!allows(path, access), "{path:?}");
        }
    }
    assert!(allows("//workspace/.//x/", Access::Write));
}

#[test]
fn a_denial_names_what_would_be_allowed() {
    let outside = ask("/etc/passwd", Access::Write).rule;
    assert!(outside.contains("`/workspace`, `/workspace/vendor/cache`"), "{outside}");
    assert!(!outside.contains("`/a/b`"), "{outside}");
    assert!(ask("/etc/passwd", Access::Read).rule.contains("`/a/b`"));
    let read_only = ask("/a/b/x", Access::Write).rule;
    assert!(read_only.contains("`reference` is read-only"), "{read_only}");
}

#[test]
fn a_protected_path_is_read_and_never_written() {
    for path in [
        "/workspace/.git/hooks/pre-commit",
        "/workspace/.git/config",
        "/workspace/sub/.git/config",
        "/workspace/.vscode/tasks.json",
        "/workspace/vendor/cache/.bashrc",
    ] {
        assert!(!allows(path, Access::Write), "{path}");
        assert!(allows(path, Access::Read), "{path}");
    }
    let rule = ask("/workspace/.git/hooks/x", Access::Write).rule;
    assert!(rule.contains("`.git/hooks`") && rule.contains("[protect] allow"), "{rule}");
    assert!(allows("/workspace/.git/index", Access::Write));
}

#[test]
fn a_boundary_at_the_root_contains_everything() {
    let list = vec![boundary("all", "/", Mode::ReadOnly), boundary("w", "/w", Mode::ReadWrite)];
    let boundaries = Boundaries::new(list, protected()).expect("boundaries");
    let decision = |path: &str| boundaries.decide(Path::new(path), Access::Write).decision;
    assert_eq!(decision("/w/x"), Decision::Allow);
    assert_eq!(decision("/x"), Decision::Deny);
    assert_eq!(boundaries.decide(Path::new("/"), Access::Read).decision, Decision::Allow);
}

#[test]
fn without_boundaries_nothing_is_allowed() {
    let none = Boundaries::new(vec![], protected()).expect("no boundaries");
    let verdict = none.decide(Path::new("/workspace"), Access::Read);
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.rule.ends_with("allowed: nothing"), "{}", verdict.rule);
}

#[test]
fn two_boundaries_in_one_place_are_refused() {
    let list = vec![boundary("a", "/w", Mode::ReadWrite), boundary("b", "//w/", Mode::ReadOnly)];
    assert!(matches!(
        Boundaries::new(list, protected()),
        Err(PathError::Twice { first, second, .. }) if first == "a" && second == "b"
    ));
}

#[test]
fn verdicts_do_not_pass_control_characters_on_to_a_terminal() {
    for path in ["/workspace/\u{1b}[31m", "/etc/\u{1b}", "/a/b/\u{1b}", "\u{1b}", "/\u{1b}/.."] {
        for access in [Access::Read, Access::Write] {
            assert!(!ask(path, access).rule.contains('\u{1b}'), "{path:?}");
        }
    }
}
