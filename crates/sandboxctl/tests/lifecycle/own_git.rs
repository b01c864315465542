//! The caller's own configuration of git: what it names in a shared directory stays as it is, or is moved aside where it is new.

use crate::machine::callers;
use crate::place::Place;

/// The owner's, with a relative directory of hooks, a filter in the project and a file that is not there yet.
const OWN: &str = "[core]\n\thooksPath = ./.my-hooks\n[filter \"own\"]\n\tclean = sh tools/own.sh\n\
                   [include]\n\tpath = more.conf\n\tpath = ../workspace/later.conf\n[user]\n\tname = a\n\temail = a@example.org\n";

const MORE: &str = "[filter \"more\"]\n\tclean = ~/../workspace/tools/more\n";

const ATTACK: &str = r#"
for file in tools/own.sh tools/more; do echo 'touch obeyed-filter; cat' > $file || echo "kept $file"; done
mkdir .my-hooks; printf '#!/bin/sh\ntouch obeyed-hook\n' > .my-hooks/pre-commit; chmod +x .my-hooks/pre-commit
printf '[alias]\n\tx = !touch obeyed-alias\n' > later.conf
"#;

const USE: &str = "touch a; git add a; git status; git commit -q --allow-empty -m x; git x; ls -d obeyed-*";

fn prepared(caller: crate::machine::Caller) -> Place {
    let place = Place::new(caller);
    place.write("home/.gitconfig", OWN);
    place.write("home/more.conf", MORE);
    place.write("workspace/tools/own.sh", "cat\n");
    place.write("workspace/tools/more", "#!/bin/sh\ncat\n");
    place.write("workspace/.gitattributes", "a filter=own\n");
    assert!(place.outside(&["git", "init", "-q", "."]).status().unwrap().success());
    place
}

fn obeyed(place: &Place) -> String {
    let output = place.outside(&["sh", "-c", USE]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with("obeyed")).collect()
}

#[test]
fn what_the_callers_own_configuration_names_is_not_the_agents() {
    for caller in callers("the caller's own configuration of git") {
        let place = prepared(caller);
        assert!(place.outside(&["sh", "-c", ATTACK]).status().unwrap().success());
        assert_eq!(obeyed(&place), "obeyed-aliasobeyed-filterobeyed-hook", "the control, by {caller:?}");

        let place = prepared(caller);
        let output = place.inside(&[""; 0], &["sh", "-c", ATTACK]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let kept = String::from_utf8_lossy(&output.stdout);
        assert_eq!(kept, "kept tools/own.sh\nkept tools/more\n", "by {caller:?}: {said}");
        for moved in [".my-hooks", "later.conf"] {
            assert!(said.contains(moved) && !place.workspace().join(moved).exists(), "by {caller:?}: {said}");
        }
        assert_eq!(obeyed(&place), "", "by {caller:?}: {said}");
    }
}

#[test]
fn a_configuration_that_lies_in_a_shared_directory_is_not_the_agents() {
    let write = "echo '[alias]' >> gitconfig";
    for caller in callers("the caller's own configuration of git in a shared directory") {
        let place = Place::new(caller);
        place.write("workspace/gitconfig", "[user]\n\tname = a\n");
        let link = ["ln", "-s", "../workspace/gitconfig", "../home/.gitconfig"];
        assert!(
            place.inside(&[""; 0], &["sh", "-c", write]).status().unwrap().success(),
            "the control, by {caller:?}"
        );
        assert!(place.outside(&link).status().unwrap().success());
        assert!(!place.inside(&[""; 0], &["sh", "-c", write]).status().unwrap().success(), "by {caller:?}");
    }
}
