//! Hard links: another name for a protected file, or for a file of the system.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::attack::Attack;
use crate::machine::callers;
use crate::place::Place;

#[test]
fn a_protected_file_gets_no_second_name() {
    Attack::new(
        r#"
attempt("link a protected file", lambda: os.link(".git/config", "config"))
attempt("link a file in a protected directory", lambda: os.link(".git/hooks/pre-commit", "hook"))
attempt("link a read-only file", lambda: os.link(globals().get("reference", "/reference") + "/file", "file"))
"#,
    )
    .before_the_control("reference = '../reference'\n")
    .flags(&["--volume", "../reference:/reference:ro", "--volume", ".:/workspace"])
    .prepare(|place| {
        place.write("workspace/.git/config", "[core]\n");
        place.write("workspace/.git/hooks/pre-commit", "#!/bin/sh\n");
        place.write("reference/file", "text");
        Vec::new()
    })
    .gets(&[
        ("link a protected file", "ok", "EXDEV"),
        ("link a file in a protected directory", "ok", "EXDEV"),
        ("link a read-only file", "ok", "EXDEV"),
    ]);
}

/// In one run the agent gives a file another name, to write to that in the next one: what has one is quarantined at the end
/// of the first, and where it has stayed, as when nobody looked, it is replaced by a private copy before the second.
#[test]
fn a_second_name_from_an_earlier_run_reaches_nothing() {
    const FIRST: &str = "git init -q n && ln n/.git/config spare; mkdir .vscode && echo '{}' > .vscode/tasks.json && \
                         ln .vscode/tasks.json other; test -e spare && test -e other";
    const SECOND: &str = "printf '[core]\\n\\tfsmonitor = evil\\n' > spare && echo evil > other";
    for caller in callers("second names") {
        let place = Place::new(caller);
        let reached = || {
            let read = |name: &str| fs::read_to_string(place.workspace().join(name)).unwrap();
            [read("n/.git/config"), read(".vscode/tasks.json")].map(|text| text.contains("evil"))
        };
        let output = place.inside(&[] as &[&str], &["sh", "-c", FIRST]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "by {caller:?}: the attack works in the first run: {said}");
        for path in ["n/.git/config", ".vscode/tasks.json"] {
            assert!(said.contains(path), "by {caller:?}: {said}");
            assert!(!place.workspace().join(path).exists(), "by {caller:?}: {path} has stayed");
        }
        assert!(place.outside(&["sh", "-c", "rm -rf n .vscode spare other"]).status().unwrap().success());
        assert!(place.outside(&["sh", "-c", FIRST]).status().unwrap().success());
        let before = fs::metadata(place.workspace().join("n/.git/config")).unwrap();
        assert_eq!(before.nlink(), 2, "by {caller:?}");
        let output = place.inside(&["--report"], &["sh", "-c", SECOND]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "by {caller:?}: {said}");
        assert_eq!(reached(), [false, false], "by {caller:?}: {said}");
        assert!(
            said.contains("replaced by private copies because of other names: /workspace/"),
            "by {caller:?}: {said}"
        );
        let after = fs::metadata(place.workspace().join("n/.git/config")).unwrap();
        assert_eq!((after.uid(), after.mode()), (before.uid(), before.mode()), "by {caller:?}");
        // The control: without a sandbox between, the second name reaches the file.
        fs::remove_file(place.workspace().join("spare")).unwrap();
        fs::hard_link(place.workspace().join("n/.git/config"), place.workspace().join("spare")).unwrap();
        assert!(place.outside(&["sh", "-c", SECOND]).status().unwrap().success());
        assert_eq!(reached(), [true, false], "by {caller:?}");
    }
}

/// What a git configuration of the owner's or `[protect] paths` name is a directory mostly, and what lies in it may have a second name.
#[test]
fn a_second_name_of_a_file_in_a_protected_directory_reaches_nothing() {
    const ATTACK: &str = "printf '#!/bin/sh\\ntouch owned\\n' > scripts/check";
    // How the directory comes to be protected, and where the owner's git looks for hooks.
    const WAYS: &[(&str, &str, &str)] = &[
        ("git config --global core.hooksPath .githooks", "", ".githooks"),
        ("git config core.hooksPath .githooks", "", ".githooks"),
        ("true", "[protect]\npaths = [\".githooks\"]\n", ".githooks"),
        ("true", "[protect]\npaths = [\".git\"]\n", ".git/hooks"),
        ("git config --global core.hooksPath .githooks/deep/er", "", ".githooks/deep/er"),
    ];
    for caller in callers("second names of files in protected directories") {
        for (configured, settings, hooks) in WAYS {
            let place = Place::new(caller);
            place.write("home/.config/sandboxctl/sandbox.toml", settings);
            let prepare = format!(
                "git init -q . && mkdir -p {hooks} scripts && printf '#!/bin/sh\\n' > scripts/check && chmod +x scripts/check && \
                 ln scripts/check {hooks}/pre-commit && {configured}"
            );
            let outside = |script: &str| {
                let output = place.outside(&["sh", "-c", script]).output().unwrap();
                assert!(output.status.success(), "by {caller:?}: {script}: {output:?}");
            };
            outside(&prepare);
            let commit = format!(
                "git -c core.hooksPath={hooks} -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
            );
            let is_run = || {
                outside(&commit);
                fs::remove_file(place.workspace().join("owned")).is_ok()
            };
            let output = place.inside(&["--report"], &["sh", "-c", ATTACK]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "by {caller:?}, {configured}: {said}");
            assert!(!is_run(), "by {caller:?}, {configured} {settings}: {said}");
            assert!(said.contains("private copies because of other names"), "by {caller:?}: {said}");
            // The control: without a sandbox between, the second name reaches the hook.
            outside(&format!("rm {hooks}/pre-commit && ln scripts/check {hooks}/pre-commit && {ATTACK}"));
            assert!(is_run(), "by {caller:?}, {configured}");
        }
    }
}
