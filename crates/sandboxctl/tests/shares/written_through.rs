//! Links that an agent leaves: what the host writes to them is written where the agent could not write.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Output;

use crate::place::Place;
use crate::{error, places, ready};

/// A repository with a commit, and a file beside it that is none of the agent's business.
fn project(place: &Place) {
    place.write("private/notes", "mine\n");
    place.write("workspace/.vscode/settings.json", "{}\n");
    place.write("private/python3", "");
    place.write("workspace/py/pyvenv.cfg", "home = /usr/bin\n");
    place.write("workspace/py/bin/activate", "");
    for words in [
        &["init", "-q", "."][..],
        &["add", ".vscode"],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "second"],
        &["config", "filter.x.clean", "sh tools/clean.sh"],
    ] {
        git(place, words);
    }
    symlink("../private/notes", place.workspace().join("known")).unwrap();
}

fn git(place: &Place, words: &[&str]) -> Output {
    let output = place.outside(&[&["git"], words].concat()).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {output:?}");
    output
}

fn format_patch(place: &Place) {
    git(place, &["format-patch", "-q", "--root"]);
}

fn hook(place: &Place) -> PathBuf {
    place.workspace().join(".git/hooks/pre-commit")
}

#[test]
fn a_new_link_to_where_an_agent_cannot_write_is_quarantined_or_reported() {
    for (place, what) in places("new links to protected paths and to files elsewhere") {
        project(&place);
        let run = |script: &str| {
            let output = place.inside(&[""; 0], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what} {script}: {output:?}");
            error(&output)
        };

        // The control: without a sandbox, git writes a hook.
        symlink(".git/hooks/pre-commit", place.workspace().join("0001-second.patch")).unwrap();
        format_patch(&place);
        assert!(fs::read_to_string(hook(&place)).unwrap().contains("Subject: [PATCH] second"), "{what}");
        fs::remove_file(hook(&place)).unwrap();
        fs::remove_file(place.workspace().join("0001-second.patch")).unwrap();

        let said = run(
            "ln -s .git/hooks/pre-commit 0001-second.patch; ln -s .git/rebase-merge/git-rebase-todo todo
             ln -s .envrc release.diff; ln -s inner outer; ln -s .husky/../.vscode/tasks.json inner
             ln -s ../private/notes main.c.orig; mkdir sub; ln -s ../.git/HEAD sub/head
             ln -s ../private/notes release.tar; ln -s ../private/new new; ln -s .vscode/settings.json settings
             ln -s /proc/self/cwd/.git/hooks/pre-commit self; ln -s ../private/nothing/new deep
             ln -s .vscode/.. here; ln -s missing none; ln -s ../private/notes 0002-third.patch
             ln -s tools/clean.sh 0003-fourth.patch; ln -s /dev/tty 0004-fifth.patch; ln -s /dev/null bin
             touch pyvenv.cfg; ln -s ../../../private/notes py/bin/python3; ln -s ../../../private/python3 py/bin/0005-sixth.patch",
        );
        let private = |name: &str| place.path("private").join(name).display().to_string();
        for (name, target) in [
            ("0001-second.patch", ".git/hooks/pre-commit".to_owned()),
            ("todo", ".git/rebase-merge/git-rebase-todo".to_owned()),
            ("release.diff", ".envrc".to_owned()),
            ("main.c.orig", private("notes")),
            ("sub/head", ".git/HEAD".to_owned()),
            ("0002-third.patch", private("notes")),
            ("0003-fourth.patch", "tools/clean.sh".to_owned()),
            ("0004-fifth.patch", "/dev/tty".to_owned()),
            ("py/bin/0005-sixth.patch", private("python3")),
        ] {
            let line =
                format!("/workspace/{name}: it is a link to {target}, which the command could not write");
            let moved = said.lines().any(|said| said.contains(&line) && said.contains("; moved to "));
            assert!(moved, "{what} {name}: {said}");
            assert!(place.workspace().join(name).symlink_metadata().is_err(), "{what}: {name} is there");
        }
        for (name, target) in [
            ("release.tar", private("notes")),
            ("py/bin/python3", private("notes")),
            ("new", private("new")),
            ("settings", ".vscode/settings.json".to_owned()),
            ("self", "/proc/self/cwd/.git/hooks/pre-commit".to_owned()),
        ] {
            let line =
                format!("/workspace/{name}: it is a link to {target}, which the command could not write");
            let stays = said.lines().any(|said| said.contains(&line) && said.ends_with("; it stays"));
            assert!(stays, "{what} {name}: {said}");
            assert!(place.workspace().join(name).symlink_metadata().is_ok(), "{what}: {name} is gone");
        }
        for name in ["known", "deep", "here", "none", "bin"] {
            assert!(!said.contains(&format!("/workspace/{name}: ")), "{what} {name}: {said}");
        }
        // What git-annex makes, of a submodule too; and an old link under a new name.
        let annex = "mkdir -p .git/modules/sub/annex/objects sub; cp .git/HEAD .git/modules/sub; mkdir .git/modules/sub/refs
             ln -s ../.git/modules/sub/annex/objects/Fk/0x/KEY/KEY sub/big; mkdir -p .git/annex/objects
             ln -s .git/annex/objects/Fk/0x/KEY/KEY big; ln -s .git/annex/objects/y other; mv known 0007-old.patch";
        let said = run(annex);
        assert!(
            !said.contains("/workspace/sub/big: ") && !said.contains("/workspace/big: "),
            "{what}: {said}"
        );
        assert!(said.contains("/workspace/0007-old.patch: it is a link to"), "{what}: {said}");
        assert!(
            said.contains("/workspace/other: it is a link to"),
            "{what}: nothing that git-annex makes: {said}"
        );

        format_patch(&place);
        assert!(!hook(&place).exists(), "{what}");
        assert!(place.workspace().join("0001-second.patch").symlink_metadata().unwrap().is_file(), "{what}");

        let said = run("rm py/bin/python3; ln -s ../../../private/python3 py/bin/python3");
        assert!(!said.contains("it is a link"), "{what}: an interpreter, and links that are known: {said}");
    }
}

#[test]
fn what_a_killed_client_did_not_see_the_next_command_quarantines() {
    for (place, what) in places("links of a sandbox whose client is killed") {
        project(&place);
        let attack = "ln -s .git/hooks/pre-commit 0001-second.patch; echo ready; sleep 1000";
        let mut client = ready::start(&mut place.inside(&[""; 0], &["sh", "-c", attack]));
        client.kill().unwrap();
        client.wait().unwrap();
        let output = place.inside(&[""; 0], &["true"]).output().unwrap();
        let said = error(&output);
        assert!(said.contains("0001-second.patch: it is a link to .git/hooks/pre-commit"), "{what}: {said}");
        format_patch(&place);
        assert!(!hook(&place).exists(), "{what}");
    }
}

/// A `.env` may be a link, whose target is classified where it lies. So it has to lie where that is done.
#[test]
fn a_link_to_what_is_not_classified_where_it_lies_is_quarantined() {
    const MADE: &[(&str, &str)] = &[
        (".env", "NODE_OPTIONS=--require ./x.js"),
        ("compile_commands.json", "[{\"directory\": \".\", \"file\": \"a.c\", \"command\": \"./evil a.c\"}]"),
        (".gitattributes", "* annex.backend=XEVIL/../x"),
    ];
    for (place, what) in places("links to what is not classified") {
        let other = place.workspace().with_file_name("other");
        place.write("other/keep", "");
        let volume = format!("{}:/other", other.display());
        for (name, content) in MADE {
            for target in
                ["/proc/self/cwd/c/x", "/proc/thread-self/cwd/c/x", "/dev/fd/../cwd/c/x", "../other/x"]
            {
                place.write("workspace/c/keep", "");
                let script = format!("printf '%s' '{content}' | tee c/x > /other/x; ln -s {target} {name}");
                let flags = ["--volume", ".:/workspace", "--volume", &volume];
                let output = place.inside(&flags, &["sh", "-c", &script]).output().unwrap();
                let said = error(&output);
                assert!(output.status.success(), "{what} {name}: {said}");
                let seen = place.outside(&["cat", name]).output().unwrap();
                assert!(!seen.status.success(), "{what}: {name} -> {target} stays: {said}");
                // The control: whoever starts here reads what the agent has written.
                symlink(target, place.workspace().join(name)).unwrap();
                let seen = place.outside(&["cat", name]).output().unwrap();
                assert_eq!(String::from_utf8_lossy(&seen.stdout), *content, "{what}: {name} -> {target}");
                assert!(
                    place
                        .outside(&["rm", "-rf", name, "c", ".sandboxctl-quarantine"])
                        .status()
                        .unwrap()
                        .success()
                );
            }
        }
        // Nor a directory that is a link, in which such a file would be looked for.
        let database = MADE[1].1;
        let script = format!(
            "mkdir c; printf '%s' '{database}' > c/compile_commands.json; ln -s /proc/self/cwd/c build"
        );
        let output = place.inside(&[""; 0], &["sh", "-c", &script]).output().unwrap();
        assert!(!place.workspace().join("build").is_symlink(), "{what}: {output:?}");
        assert!(place.outside(&["rm", "-rf", "c", ".sandboxctl-quarantine"]).status().unwrap().success());
        // One that was there, and one to a file that the agent cannot write, stay.
        place.write("private/env", "A=1\n");
        symlink("/proc/self/cwd/c/y", place.workspace().join(".env")).unwrap();
        let output =
            place.inside(&[""; 0], &["sh", "-c", "ln -s ../private/env .env.local"]).output().unwrap();
        assert!(place.workspace().join(".env").is_symlink(), "{what}: {output:?}");
        assert!(place.workspace().join(".env.local").is_symlink(), "{what}: {output:?}");
    }
}
