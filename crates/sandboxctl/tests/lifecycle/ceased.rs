//! Repositories that an agent would have git take for none: git goes on to the directories above then.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::machine::{Caller, callers};
use crate::place::Place;

const NO_FLAGS: [&str; 0] = [];

/// A repository of the owner's within another one, and one whose data have a name of their own, as people have it beside work trees.
const THERE: &str = r"
git init -q -b main .; git config user.name a; git config user.email a@example.org
git commit -q --allow-empty -m around
cp -r .git .bare; git -C .bare config core.bare true; mkdir layout; mv .bare layout; echo 'gitdir: ./.bare' > layout/.git
git init -q -b main inner; git -C inner -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m inner
";

/// Runs a script of the owner's, and returns what it prints.
fn outside(place: &Place, script: &str) -> String {
    let workspace = place.workspace();
    let script = format!("cd {} && {{ {script}\n}}", workspace.display());
    let output = place.outside(&["sh", "-ec", &script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Where git finds the data of the repository in each directory.
const FOUND: &str =
    "for d in inner layout; do (cd $d; git rev-parse --absolute-git-dir | sed s,.*workspace/,,); done";

#[test]
fn what_makes_a_directory_a_repository_stays_in_its_place() {
    let script = "for git in inner/.git layout/.bare; do git -C $git pack-refs --all; mv $git/refs $git/away 2> /dev/null || echo no; \
                  rm -rf $git/refs 2> /dev/null || echo no; done";
    for caller in callers("repositories that stay") {
        let place = Place::new(caller);
        outside(&place, THERE);
        let output = place.inside(&NO_FLAGS, &["sh", "-c", script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "no\n".repeat(4), "by {caller:?}: {output:?}");
        assert_eq!(outside(&place, FOUND), "inner/.git\nlayout/.bare\n", "by {caller:?}");
        // The control: without a sandbox git takes the repository around.
        outside(&place, "rm -r inner/.git/refs layout/.bare/refs");
        assert_eq!(outside(&place, "cd inner; git rev-parse --show-prefix"), "inner/\n", "by {caller:?}");
    }
}

#[test]
fn a_repository_that_is_none_any_more_is_named() {
    for caller in callers("repositories without a HEAD") {
        for (script, lacks) in [
            ("rm inner/.git/HEAD", "HEAD"),
            ("echo nothing > inner/.git/HEAD", "HEAD"),
            // It is quarantined.
            ("rm inner/.git/HEAD; printf 'ref: refs/heads/$(id)\\n' > inner/.git/HEAD", "HEAD"),
            ("chmod 0 inner/.git/HEAD", "HEAD"),
            ("mv inner/.git/objects away", "objects"),
        ] {
            // Root reads what nobody may.
            if caller == Caller::Root && script.starts_with("chmod") {
                continue;
            }
            let place = Place::new(caller);
            outside(&place, THERE);
            let output = place.inside(&NO_FLAGS, &["sh", "-c", script]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let named = format!("inner/.git: git takes it for no repository any more, for want of `{lacks}`");
            assert_eq!(said.matches(&named).count(), 1, "{script} by {caller:?}: {said}");
            // The control: so it is.
            let prefix = outside(&place, "cd inner; git rev-parse --show-prefix");
            assert_eq!(prefix, "inner/\n", "{script} by {caller:?}");
        }
    }
}

#[test]
fn what_is_incomplete_is_protected_as_a_repository() {
    for caller in callers("repositories that lack something") {
        for sign in ["HEAD", "objects"] {
            let place = Place::new(caller);
            outside(&place, THERE);
            let run = |script: &str| {
                let output = place.inside(&NO_FLAGS, &["sh", "-c", script]).output().unwrap();
                String::from_utf8_lossy(&output.stdout).into_owned()
            };
            run(&format!("mv layout/.bare/{sign} layout/.bare/away"));
            let write =
                "echo >> layout/.bare/config || echo no; echo > layout/.bare/hooks/pre-push || echo no";
            let write = format!("{write}; mv layout/.bare/away layout/.bare/{sign}");
            assert_eq!(run(&write), "no\nno\n", "{sign} by {caller:?}");
            assert_eq!(outside(&place, FOUND), "inner/.git\nlayout/.bare\n", "{sign} by {caller:?}");
        }
    }
}

/// Others have directories of these names beside a `config`: what they do there goes on as it did.
#[test]
fn what_has_the_names_of_a_repository_and_is_none_is_left_alone() {
    for caller in callers("directories with the names of a repository") {
        let place = Place::new(caller);
        outside(
            &place,
            "mkdir -p os/refs os/objects os/tmp; printf '[core]\\nrepo_version=1\\nmode=bare\\n' > os/config",
        );
        // Not mv(1), which copies where it cannot rename.
        let script = "import os; os.rename('os/tmp', 'os/objects/y'); os.rename('os/refs', 'os/away'); \
                      open('os/config', 'a').close()";
        let output = place.inside(&NO_FLAGS, &["python3", "-c", script]).output().unwrap();
        assert!(output.status.success(), "by {caller:?}: {output:?}");
    }
}

/// As git-lfs does it, which writes objects in its own directory first.
#[test]
fn objects_are_renamed_into_their_place_from_elsewhere_in_the_repository() {
    for caller in callers("objects from elsewhere") {
        let place = Place::new(caller);
        outside(&place, THERE);
        let script = "import os; os.makedirs('.git/lfs/tmp'); open('.git/lfs/tmp/x', 'w').close(); \
                      os.makedirs('.git/objects/00', exist_ok=True); os.rename('.git/lfs/tmp/x', '.git/objects/00/' + '1' * 38)";
        let output = place.inside(&NO_FLAGS, &["python3", "-c", script]).output().unwrap();
        assert!(output.status.success(), "by {caller:?}: {output:?}");
    }
}

/// What the next command says of a run that could say nothing itself.
#[test]
fn what_a_killed_run_did_to_a_repository_is_named() {
    for caller in callers("repositories of killed runs") {
        let place = Place::new(caller);
        outside(&place, &format!("{THERE}\ngit update-ref refs/remotes/origin/main HEAD"));
        let script =
            "git update-ref refs/tags/origin/main HEAD; rm inner/.git/HEAD; echo ready; exec sleep 1000";
        let mut client =
            place.inside(&NO_FLAGS, &["sh", "-ec", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "by {caller:?}");
        client.kill().unwrap();
        client.wait().unwrap();
        let output = place.inside(&NO_FLAGS, &["true"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        for named in [
            "inner/.git: git takes it for no repository any more",
            "takes the new tag `origin/main` in the place of",
        ] {
            assert_eq!(said.matches(named).count(), 1, "{named} by {caller:?}: {said}");
        }
    }
}
