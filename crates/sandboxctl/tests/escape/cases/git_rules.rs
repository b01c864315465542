//! Repositories in forms that only git itself knows, and pointers to where no search goes: what git obeys in them stays as it
//! is where it exists, and is quarantined where it is new.

use crate::attack::Attack;
use crate::machine::{Caller, callers};
use crate::place::Place;

/// Makes a configuration with a command in it, and an operation that goes on with one, in many forms of repositories.
const MADE: &str = r#"
here=$(basename "$1")
evil() { printf '[core]\n\trepositoryformatversion = 0\n[alias]\n\tx = !touch %s\n' "$1/obeyed" > "$2"; }
far() {
    mkdir -p "node_modules/.git/modules/$1/objects" "node_modules/.git/modules/$1/refs" "$1"
    echo 'ref: refs/heads/main' > "node_modules/.git/modules/$1/HEAD"
    evil "$ROOT/$1" "node_modules/.git/modules/$1/config"
}
ROOT=$1
mkdir files split common common/objects common/refs
echo 'ref: refs/heads/main' | tee files/HEAD split/HEAD > /dev/null
touch files/objects files/refs && chmod +x files/objects files/refs
evil "$ROOT/files" files/config
echo ../common > split/commondir
evil "$ROOT/split" common/config
far around; echo "gitdir: ../../$here/node_modules/.git/modules/around" > around/.git
far absolute; echo "gitdir: $1/../$here/node_modules/.git/modules/absolute" > absolute/.git
far cwd; echo "gitdir: /proc/self/cwd/../node_modules/.git/modules/cwd" > cwd/.git
far padded; { echo 'gitdir: ../node_modules/.git/modules/padded'; head -c 20000 /dev/zero | tr '\0' '\n'; } > padded/.git
far nul; printf 'gitdir: ../node_modules/.git/modules/nul\0 and more' > nul/.git
far linked; echo "gitdir: ../node_modules/.git/modules/linked" > pointer; ln -s ../pointer linked/.git
far refs; echo "gitdir: ../node_modules/.git/modules/refs" > refs/.git
"#;

const SHAPES: [&str; 9] = ["files", "split", "around", "absolute", "cwd", "padded", "nul", "linked", "refs"];

/// Those that the caller's git obeys: it is made to run what the configuration says.
fn obeyed(place: &Place) -> Vec<&'static str> {
    let obeys = |shape: &&str| {
        let _ = place.outside(&["git", "-C", shape, "x"]).output().unwrap();
        place.workspace().join(shape).join("obeyed").exists()
    };
    SHAPES.into_iter().filter(obeys).collect()
}

#[test]
fn git_obeys_nothing_that_is_new() {
    for caller in callers("repositories in every form") {
        let words = |place: &Place| {
            let root = place.workspace().display().to_string();
            ["sh", "-ec", MADE, "sh", &root].map(str::to_owned)
        };
        let place = Place::new(caller);
        assert!(place.outside(&words(&place)).status().unwrap().success());
        assert_eq!(obeyed(&place), SHAPES, "the control, by {caller:?}");

        let place = Place::new(caller);
        let output = place.inside(&[""; 0], &words(&place)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "by {caller:?}: {said}");
        assert_eq!(obeyed(&place), [""; 0], "by {caller:?}: {said}");
    }
}

#[test]
fn what_git_obeys_stays_as_it_is() {
    for caller in callers("repositories in every form that are there") {
        let place = Place::new(caller);
        let root = place.workspace().display().to_string();
        assert!(place.outside(&["sh", "-ec", MADE, "sh", &root]).status().unwrap().success());
        let configurations = "files/config common/config node_modules/.git/modules/*/config";
        let script =
            format!("for file in {configurations}; do (: >> $file) 2> /dev/null && echo $file; done; true");
        let written = |output: std::process::Output| {
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let outside = written(place.outside(&["sh", "-c", &script]).output().unwrap());
        assert_eq!(outside.len(), SHAPES.len(), "the control, by {caller:?}: {outside:?}");
        // What leads through `/proc` leads each process elsewhere, and is not followed.
        let inside = written(place.inside(&[""; 0], &["sh", "-c", &script]).output().unwrap());
        assert_eq!(inside, ["node_modules/.git/modules/cwd/config"], "by {caller:?}");
    }
}

#[test]
fn an_interrupted_operation_goes_on_without_what_is_new() {
    let made = "git init -q . && git config user.name a && git config user.email a@example.org
        git commit -q --allow-empty -m 1 && git commit -q --allow-empty -m 2
        GIT_SEQUENCE_EDITOR='printf \"break\\nexec touch obeyed\\n\" >' git rebase -q -i HEAD~1";
    for caller in callers("an interrupted rebase") {
        let go_on = |place: &Place| {
            let _ = place.outside(&["git", "rebase", "--continue"]).output().unwrap();
            place.workspace().join("obeyed").exists()
        };
        let place = Place::new(caller);
        assert!(place.outside(&["sh", "-c", made]).status().unwrap().success());
        assert!(go_on(&place), "the control, by {caller:?}");

        let place = Place::new(caller);
        let output = place.inside(&[""; 0], &["sh", "-c", made]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "by {caller:?}: {said}");
        assert!(!go_on(&place), "by {caller:?}: {said}");

        // The same where it is there already, and the agent adds to it.
        let place = Place::new(caller);
        let without = made.replace("exec touch obeyed", "break");
        let add = "echo 'exec touch obeyed' >> .git/rebase-merge/git-rebase-todo";
        assert!(place.outside(&["sh", "-c", &without]).status().unwrap().success());
        let output = place.inside(&[""; 0], &["sh", "-c", add]).output().unwrap();
        assert!(!output.status.success(), "by {caller:?}");
        assert!(place.outside(&["sh", "-c", add]).status().unwrap().success(), "the control, by {caller:?}");
    }
}

#[test]
fn a_closed_directory_keeps_what_it_holds() {
    Attack::new(
        r#"
attempt("open it", lambda: os.chmod("closed", 0o700))
attempt("write in it", lambda: write("closed/.git/config"))
attempt("rename it", lambda: os.rename("closed", "away"))
"#,
    )
    .prepare(|place| {
        place.write("workspace/closed/.git/HEAD", "ref: refs/heads/main\n");
        place.write("workspace/closed/.git/config", "[core]\n");
        if place.caller == Caller::Normal {
            assert!(place.outside(&["chmod", "0", "closed"]).status().unwrap().success());
        }
        Vec::new()
    })
    // Root has searched it, and protects what it has found there.
    .gets(&[
        ("open it", "ok", "ok|EROFS"),
        ("write in it", "ok", "EACCES|EROFS"),
        ("rename it", "ok", "EBUSY"),
    ]);
}
