//! Who commits inside: the caller, as their own configuration of git says, unless somebody says otherwise.

use std::process::Output;

use crate::machine::{Runner, callers, runners};
use crate::place::Place;

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a repository of the caller's in their workspace.
fn repository(place: &Place) {
    let made = place.outside(&["git", "init", "-q", "-b", "main", "."]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Returns who is the author of a commit that is made inside.
fn author(place: &Place, flags: &[&str]) -> String {
    let script = "git commit -q --allow-empty -m made && git log -1 --format='%an <%ae>, %cn'";
    let output = place.inside(flags, &["sh", "-c", script]).output().unwrap();
    text(&output) + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_caller_commits_inside_as_outside() {
    for caller in callers("who commits") {
        for runner in runners(caller, "who commits") {
            let place = Place::on(caller, runner);
            if runner != Runner::Native {
                // The stock test image has no git; what its programs would find is there.
                place.write("home/.gitconfig", "[user]\n\tname = A B\n\temail = a@example.org\n");
                let script = "cat \"$GIT_CONFIG_SYSTEM\"";
                let shown = text(&place.inside(&[] as &[&str], &["sh", "-c", script]).output().unwrap());
                assert!(
                    shown.contains("name = \"A B\"") && shown.contains("email = \"a@example.org\""),
                    "{shown}"
                );
                continue;
            }
            repository(&place);
            let refused = author(&place, &[]);
            assert!(refused.contains("Please tell me who you are"), "the control, by {caller:?}: {refused}");

            place.write(
                "home/.gitconfig",
                "[user]\n\tname = \"A \\\"B\\\" C\"\n\temail = a@example.org\n[include]\n\tpath = more\n",
            );
            assert_eq!(author(&place, &[]), "A \"B\" C <a@example.org>, A \"B\" C\n", "by {caller:?}");
            // As git does, what is included last counts, and a condition about the repository.
            place.write("home/more", "[user]\n\temail = b@example.org\n");
            assert_eq!(author(&place, &[]), "A \"B\" C <b@example.org>, A \"B\" C\n");
            let work = place.workspace();
            let conditional = |directory: &str| {
                format!(
                    "[user]\n\temail = b@example.org\n[includeIf \"gitdir:{directory}/\"]\n\tpath = work\n"
                )
            };
            place.write("home/work", "[user]\n\temail = work@example.org\n");
            place.write("home/more", &conditional(work.to_str().unwrap()));
            assert!(author(&place, &[]).contains("<work@example.org>"));
            place.write("home/more", &conditional("/somewhere/else"));
            assert!(author(&place, &[]).contains("<b@example.org>"));
            // A condition that is not understood could decide: better none than a wrong one.
            place.write("home/more", "[includeIf \"onbranch:x/**\"]\n\tpath = work\n");
            assert!(author(&place, &[]).contains("Please tell me who you are"));

            place.write("home/more", "");
            let said = author(&place, &["-e", "GIT_AUTHOR_NAME=Other"]);
            assert_eq!(said, "Other <a@example.org>, A \"B\" C\n", "a flag says otherwise");
            let own = place.outside(&["git", "config", "user.name", "Of the repository"]).output().unwrap();
            assert!(own.status.success());
            assert_eq!(author(&place, &[]), "Of the repository <a@example.org>, Of the repository\n");
        }
    }
}
