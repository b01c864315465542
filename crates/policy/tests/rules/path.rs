use std::path::{Path, PathBuf};

use policy::plan::BoundaryMode;
use policy::protect::Protected;
use policy::rules::hide::HidePatterns;
use policy::rules::path::{
    GuestBoundaries, GuestBoundary, GuestPath, Obeyed, PathAccess, PathError, normalise,
};
use policy::rules::verdict::{Decision, Origin, Verdict};

fn boundary(name: &str, guest: &str, mode: BoundaryMode) -> GuestBoundary {
    let guest = guest.parse().expect("a guest path");
    GuestBoundary {
        name: name.to_owned(),
        guest,
        hidden: HidePatterns::default(),
        mode,
        worktrees: Vec::new(),
        obeyed: Obeyed::ByPrograms,
        origin: Origin::Project(format!("sandbox.toml: {name}")),
    }
}

fn protected() -> Protected {
    Protected::new(&[], &[]).expect("the built-in list")
}

fn boundaries() -> GuestBoundaries {
    let list = vec![
        boundary("workspace", "/workspace", BoundaryMode::ReadWrite),
        boundary("vendor", "/workspace/vendor", BoundaryMode::ReadOnly),
        boundary("cache", "/workspace/vendor/cache", BoundaryMode::ReadWrite),
        boundary("reference", "/a/b", BoundaryMode::ReadOnly),
    ];
    GuestBoundaries::new(list, protected()).expect("boundaries")
}

fn ask(path: &str, access: PathAccess) -> Verdict {
    boundaries().decide(Path::new(path), access)
}

fn allows(path: &str, access: PathAccess) -> bool {
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
    assert!(allows("/a/b", PathAccess::Read));
    assert!(allows("/a/b/c", PathAccess::Read));
    for path in ["/a", "/a/bc", "/a/b c", "/", "/a/b.", "/A/b", "/etc/passwd", "/workspace2"] {
        assert!(!allows(path, PathAccess::Read), "{path}");
    }
}

#[test]
fn the_innermost_boundary_rules() {
    assert!(allows("/workspace/x", PathAccess::Write));
    assert!(!allows("/workspace/vendor", PathAccess::Write));
    assert!(!allows("/workspace/vendor/x", PathAccess::Write));
    assert!(allows("/workspace/vendor/x", PathAccess::Read));
    assert!(allows("/workspace/vendor/cache/x/y/z", PathAccess::Write));
    assert!(allows("/workspace/vendors", PathAccess::Write));
    assert!(allows("/workspace/vendor/x", PathAccess::Execute));
    assert_eq!(
        ask("/workspace/vendor/x", PathAccess::Read).origin,
        Origin::Project("sandbox.toml: vendor".into())
    );
}

#[test]
fn a_path_that_would_have_to_be_resolved_is_denied() {
    for path in ["/workspace/../etc/passwd", "/workspace/x/../y", "workspace", "", "/workspace/\0"] {
        for access in [PathAccess::Read, PathAccess::Write, PathAccess::Execute] {
            assert!(!allows(path, access), "{path:?}");
        }
    }
    assert!(allows("//workspace/.//x/", PathAccess::Write));
}

#[test]
fn a_denial_names_what_would_be_allowed() {
    let outside = ask("/etc/passwd", PathAccess::Write).rule;
    assert!(outside.contains("`/workspace`, `/workspace/vendor/cache`"), "{outside}");
    assert!(!outside.contains("`/a/b`"), "{outside}");
    assert!(ask("/etc/passwd", PathAccess::Read).rule.contains("`/a/b`"));
    let read_only = ask("/a/b/x", PathAccess::Write).rule;
    assert!(read_only.contains("`reference` is read-only"), "{read_only}");
}

#[test]
fn a_protected_path_is_read_and_never_written() {
    for path in [
        "/workspace/.git/hooks/pre-commit", "/workspace/.git/config", "/workspace/sub/.git/config",
        "/workspace/.vscode/tasks.json", "/workspace/vendor/cache/.bashrc",
    ] {
        assert!(!allows(path, PathAccess::Write), "{path}");
        assert!(allows(path, PathAccess::Read), "{path}");
    }
    let rule = ask("/workspace/.git/hooks/x", PathAccess::Write).rule;
    assert!(rule.contains("`.git/hooks`") && rule.contains("[protect] allow"), "{rule}");
    assert!(allows("/workspace/.git/index", PathAccess::Write));
}

#[test]
fn a_boundary_at_the_root_contains_everything() {
    let list =
        vec![boundary("all", "/", BoundaryMode::ReadOnly), boundary("w", "/w", BoundaryMode::ReadWrite)];
    let boundaries = GuestBoundaries::new(list, protected()).expect("boundaries");
    let decision = |path: &str| boundaries.decide(Path::new(path), PathAccess::Write).decision;
    assert_eq!(decision("/w/x"), Decision::Allow);
    assert_eq!(decision("/x"), Decision::Deny);
    assert_eq!(boundaries.decide(Path::new("/"), PathAccess::Read).decision, Decision::Allow);
}

#[test]
fn without_boundaries_nothing_is_allowed() {
    let none = GuestBoundaries::new(vec![], protected()).expect("no boundaries");
    let verdict = none.decide(Path::new("/workspace"), PathAccess::Read);
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.rule.ends_with("allowed: nothing"), "{}", verdict.rule);
}

#[test]
fn two_boundaries_in_one_place_are_refused() {
    let list =
        vec![boundary("a", "/w", BoundaryMode::ReadWrite), boundary("b", "//w/", BoundaryMode::ReadOnly)];
    assert!(matches!(
        GuestBoundaries::new(list, protected()),
        Err(PathError::Twice { first, second, .. }) if first == "a" && second == "b"
    ));
}

#[test]
fn verdicts_do_not_pass_control_characters_on_to_a_terminal() {
    for path in ["/workspace/\u{1b}[31m", "/etc/\u{1b}", "/a/b/\u{1b}", "\u{1b}", "/\u{1b}/.."] {
        for access in [PathAccess::Read, PathAccess::Write] {
            assert!(!ask(path, access).rule.contains('\u{1b}'), "{path:?}");
        }
    }
}
