//! What git and git-lfs keep, record or would write of paths that are hidden.

use std::fs;

use crate::machine::{Caller, callers};
use crate::place::Place;
use crate::{error, places, said, script};

/// The filter of git-lfs stores what is in a file by its SHA-256, and the agent names the filter.
#[test]
fn what_git_lfs_has_stored_of_a_hidden_file_is_hidden_too() {
    const SUM: &str = "ff7accc0f2ab87bb171e59eff4738352966ee35dbad6b9a775d3de464e6192fc";
    for (place, what) in places("what git-lfs has stored") {
        let store = |git: &str| format!("workspace/{git}/lfs/objects/{}/{}", &SUM[..2], &SUM[2..4]);
        let (own, nested, submodule) = (store(".git"), store("deep/.git"), store(".git/modules/config"));
        for (name, content) in [
            ("workspace/config/local.yml".to_owned(), "KEY=1"),
            (format!("{own}/{SUM}"), "KEY=1"),
            (format!("{nested}/{SUM}"), "KEY=1"),
            (format!("{submodule}/{SUM}"), "KEY=1"),
            // As `lfs.storage` says.
            (format!("workspace/large/{SUM}"), "KEY=1"),
            // Of the same size, and another file's.
            (format!("{own}/{}", SUM.replace('d', "e")), "other"),
        ] {
            place.write(&name, content);
        }
        let look = "find .git deep large -type f -exec cat {} +";
        let shown = |flags: &[&str]| {
            let output = script(&place, flags, look);
            assert!(output.status.success(), "{what} {flags:?}: {output:?}");
            said(&output)
        };
        assert!(shown(&[]).contains("KEY=1"), "{what}: the control");
        for hide in ["local.yml", "config/", "/config/", "config/local.yml", "config/*.yml"] {
            assert_eq!(shown(&["--hide", hide]), "other", "{what} {hide}");
        }
        // A directory that hides nothing itself.
        let two = ["-v", "./config:/workspace", "-v", "./deep:/deep", "--hide", "local.yml"];
        let output = script(&place, &two, "cat local.yml; find /deep -type f -exec cat {} +");
        assert!(output.status.success() && said(&output).is_empty(), "{what}: {output:?}");
    }
}

#[test]
fn what_may_be_a_copy_of_a_file_that_its_owner_cannot_read_is_hidden() {
    use std::os::unix::fs::PermissionsExt;

    for caller in callers("copies of what cannot be read") {
        let place = Place::new(caller);
        for (name, content) in [(".env", "KEY=1"), (&"a".repeat(64), "other"), (&"b".repeat(64), "longer")] {
            place.write(&format!("workspace/{name}"), content);
        }
        fs::set_permissions(place.path("workspace/.env"), fs::Permissions::from_mode(0o000)).unwrap();
        let output = script(&place, &["--hide", ".env"], "cat aaa* bbb*");
        assert!(output.status.success(), "{caller:?}: {output:?}");
        // Root alone can read it, and so tell that it is none.
        let is_root = caller == Caller::Root;
        assert_eq!(said(&output), if is_root { "otherlonger" } else { "longer" }, "{caller:?}");
    }
}

/// They take no space, and days to be read.
#[test]
fn files_of_any_length_hold_up_no_start() {
    const LENGTH: u64 = 1 << 42;
    for caller in callers("very long files") {
        let place = Place::new(caller);
        let object = format!("workspace/.git/lfs/objects/{}", "a".repeat(64));
        for name in ["workspace/sub/.env", &object] {
            place.write(name, "");
            fs::OpenOptions::new().write(true).open(place.path(name)).unwrap().set_len(LENGTH).unwrap();
        }
        let look = "find . -type f -size +1k";
        assert_eq!(said(&script(&place, &[], look)).lines().count(), 2, "{caller:?}: the control");
        let output = script(&place, &["--hide", ".env"], look);
        assert!(output.status.success() && said(&output).is_empty(), "{caller:?}: {output:?}");
    }
}

/// `git commit` on the host records a file that a `MERGE_RR` lists in `rr-cache`, which the agent reads, see rerere.c of git.
#[test]
fn git_on_the_host_does_not_show_the_agent_what_is_hidden() {
    const SET_UP: &str = "git init -q .; git config user.name me; git config user.email me@example.org; echo text >file; git add file; \
         git commit -qm first; mkdir s; echo KEY=1 >.env; echo KEY=1 >s/key";
    const ID: &str = "0123456789012345678901234567890123456789";
    for (place, what) in places("a MERGE_RR that lists a hidden path") {
        let outside = |text: &str| place.outside(&["sh", "-c", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        for hidden in [".env", "s/key"] {
            let attack = format!(
                "mkdir -p .git/rr-cache/{ID}; echo x >.git/rr-cache/{ID}/preimage; printf '{ID}\\t{hidden}\\0' >.git/MERGE_RR"
            );
            let recorded = || {
                assert!(outside("echo more >>file; git commit -qam more").status.success(), "{what}");
                let recorded = place.workspace().join(format!(".git/rr-cache/{ID}/postimage"));
                let text = fs::read_to_string(recorded).ok();
                assert!(outside("rm -rf .git/rr-cache .git/MERGE_RR").status.success(), "{what}");
                text
            };
            assert!(outside(&attack).status.success(), "{what}");
            assert_eq!(recorded().as_deref(), Some("KEY=1\n"), "{what}: the control");
            let flags = ["--hide", ".env", "--hide", "s/"];
            let output = place.inside(&flags, &["sh", "-c", &attack]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            assert!(error(&output).contains("MERGE_RR"), "{what} {hidden}: {output:?}");
            assert_eq!(recorded(), None, "{what} {hidden}");
        }
    }
}

#[test]
fn a_hidden_file_that_the_agent_has_git_track_is_reported() {
    const SET_UP: &str = "git init -q .; git config user.name me; git config user.email me@example.org; echo text >file; \
         mkdir s; echo KEY=1 >.env; echo KEY=1 >s/known; git add file s/known; git commit -qm first";
    for (place, what) in places("an index that lists a hidden path") {
        let outside = |text: &str| place.outside(&["sh", "-c", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        // A file that is not there yet is recorded once it is.
        for (hidden, there) in [(".env", true), ("s/key", false)] {
            let attack = format!(
                "number=$(echo x | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$number,{hidden}"
            );
            let recorded = || {
                let commit = format!("echo KEY=1 >{hidden}; git commit -qam more; git show HEAD:{hidden}");
                let shown = outside(&commit);
                let undo = format!("git reset -q --hard HEAD~; rm -f {hidden}");
                assert!(outside(&undo).status.success(), "{what}");
                said(&shown)
            };
            // Not every image has git: what it would write inside is there already.
            let forge = format!("{attack}; cp .git/index forged");
            assert!(outside(&forge).status.success(), "{what}");
            assert_eq!(recorded(), "KEY=1\n", "{what} {hidden}: the control");
            if there {
                place.write("workspace/.env", "KEY=1\n");
            }
            let flags = ["--hide", ".env", "--hide", "s/"];
            let warned = |script: &str| {
                let output = place.inside(&flags, &["sh", "-c", script]).output().unwrap();
                assert!(output.status.success(), "{what}: {output:?}");
                error(&output)
            };
            let named = format!("has git track 1 more paths that are hidden inside, such as {hidden}");
            let warning = warned("cp forged .git/index");
            assert!(warning.contains(&named), "{what} {hidden}: {warning}");
            let undo = format!("git rm -q -f --cached -- {hidden}");
            assert!(outside(&undo).status.success(), "{what}: the command that the warning names");
            // Files that were tracked before are not news, and neither is what has been said.
            let warning = warned("cp .git/index index; cp index .git/index");
            assert!(!warning.contains("has git track"), "{what} {hidden}: {warning}");
            assert!(outside("git reset -q --hard").status.success(), "{what}");
        }
    }
}

#[test]
fn a_hidden_file_that_a_commit_has_and_the_index_has_not_is_reported() {
    const SET_UP: &str = "git init -q -b main .; git config user.name me; git config user.email me@example.org; echo text >file; \
         git add file; git commit -qm first; echo KEY=1 >.env; echo .env >.git/info/exclude";
    // Not every image has git: what it would write inside is there already, but for where the branch is.
    const FORGE: &str = "GIT_INDEX_FILE=.git/forged; export GIT_INDEX_FILE; git read-tree HEAD; number=$(echo x | git hash-object -w --stdin); \
         git update-index --add --cacheinfo 100644,$number,.env; git commit-tree -p HEAD -m x $(git write-tree) >commit";
    const MOVE: &str = "cat commit >.git/refs/heads/main";
    for (place, what) in places("a commit that has a hidden path") {
        let outside = |text: &str| place.outside(&["sh", "-c", text]).output().unwrap();
        assert!(outside(&format!("{SET_UP}; ({FORGE})")).status.success(), "{what}");
        let recorded = outside(&format!("{MOVE}; echo more >>file; git stash -q; git show stash:.env"));
        assert_eq!(said(&recorded), "KEY=1\n", "{what}: the control");
        assert!(
            outside("git reset -q --hard HEAD~; git stash clear; echo KEY=1 >.env").status.success(),
            "{what}"
        );
        let run = |script: &str| {
            let output = place.inside(&["--hide", ".env"], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            error(&output)
        };
        let warning = run(MOVE);
        let named = ".git/HEAD: the commit that it leads to has 1 paths that are hidden inside";
        assert!(warning.contains(named), "{what}: {warning}");
        // What was there at the start, or has been said, is none.
        let warning = run("true");
        assert!(!warning.contains("hidden inside"), "{what}: {warning}");
        assert!(
            outside("git commit -qm untracked; ! git show HEAD:.env").status.success(),
            "{what}: what the warning names"
        );
    }
}

#[test]
fn a_link_to_what_is_hidden_above_files_that_git_tracks_is_reported() {
    const SET_UP: &str = "git init -q -b main .; git config user.name me; git config user.email me@example.org; mkdir lib secrets; \
         echo 1 >lib/key; git add lib; git commit -qm first; echo KEY=1 >secrets/key; echo /secrets >.git/info/exclude";
    const ATTACK: &str = "rm -r lib; ln -s secrets lib";
    for (place, what) in places("a link to what is hidden") {
        let outside = |text: &str| place.outside(&["sh", "-c", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        let recorded = outside(&format!("{ATTACK}; git commit -qm work .; git show HEAD:lib/key"));
        assert_eq!(said(&recorded), "KEY=1\n", "{what}: the control");
        assert!(outside("rm lib; git reset -q --hard HEAD~").status.success(), "{what}");
        let run = |script: &str| {
            let output = place.inside(&["--hide", "secrets/"], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            error(&output)
        };
        let named = "has git track 1 more paths that are hidden inside, such as lib/key";
        let warning = run(ATTACK);
        assert!(warning.contains(named), "{what}: {warning}");
        assert!(!run("true").contains(named), "{what}: it is said once");
    }
}

#[test]
fn a_hidden_file_that_a_new_repository_tracks_is_reported() {
    // A repository that is not one yet: not every image has git.
    const SET_UP: &str = "mkdir d; echo KEY=1 >d/.env; cd d; git init -q .; number=$(echo x | git hash-object -w --stdin); \
         git update-index --add --cacheinfo 100644,$number,.env; mv .git/HEAD .git/head; mv .git ../forged";
    for (place, what) in places("a new repository that tracks a hidden path") {
        let outside = |text: &str| place.outside(&["sh", "-c", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        let attack = "cp -r forged d/.git; mv d/.git/head d/.git/HEAD";
        let commit = "git -C d -c user.name=a -c user.email=a@b commit -qam x; git -C d show HEAD:.env";
        assert!(outside(attack).status.success(), "{what}");
        assert_eq!(said(&outside(commit)), "KEY=1\n", "{what}: the control");
        assert!(outside("rm -rf d/.git").status.success(), "{what}");
        for (script, expected) in [(attack, true), (&*format!("{attack}; rm d/.git/index"), false)] {
            let output = place.inside(&["--hide", ".env"], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            let named = "has git track 1 more paths that are hidden inside, such as .env";
            assert_eq!(error(&output).contains(named), expected, "{what} {script}: {output:?}");
            assert!(outside("rm -rf d/.git").status.success(), "{what}");
        }
    }
}

#[test]
fn what_leads_git_to_a_hidden_repository_is_quarantined() {
    // Repositories that are none yet: not every image has git.
    const SET_UP: &str = "git init -q -b main private; cd private; echo KEY=1 >key; git add key; git -c user.name=a -c user.email=a@b commit -qm key; \
         cd ..; git init -q -b main clone; mv clone/.git/HEAD clone/.git/head; mv clone forged";
    const CLONE: &str = "cp -r forged clone; mv clone/.git/head clone/.git/HEAD";
    let remote =
        format!("{CLONE}; printf '[remote \"origin\"]\\n\\turl = ../private\\n' >>clone/.git/config");
    let borrowed = format!("{CLONE}; echo ../../../private/.git/objects >clone/.git/objects/info/alternates");
    for (place, what) in places("what leads to a hidden repository") {
        let outside = |text: &str| place.outside(&["sh", "-c", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        let commit = said(&outside("git -C private rev-parse HEAD"));
        let shows = |name: &str| format!("git -C clone show {name}:key");
        let borrows = shows(commit.trim());
        for (attack, file, reads) in [
            (
                &*remote,
                "clone/.git/config",
                &*format!("git -C clone fetch -q origin main; {}", shows("FETCH_HEAD")),
            ),
            (&borrowed, "clone/.git/objects/info/alternates", &borrows),
            ("mkdir clone; echo 'gitdir: ../private/.git' >clone/.git", "clone/.git", &borrows),
        ] {
            assert!(outside(attack).status.success(), "{what}");
            assert_eq!(said(&outside(reads)), "KEY=1\n", "{what} {file}: the control");
            assert!(outside("rm -rf clone").status.success(), "{what}");
            for (hide, is_moved) in [("/private", true), ("private/.git/objects", true), ("other", false)] {
                let output = place.inside(&["--hide", hide], &["sh", "-c", attack]).output().unwrap();
                assert!(output.status.success(), "{what}: {output:?}");
                let is_gone = !place.workspace().join(file).exists();
                assert_eq!(is_gone, is_moved, "{what} {file} {hide}: {output:?}");
                assert_eq!(said(&outside(reads)).contains("KEY=1"), !is_moved, "{what} {file} {hide}");
                assert!(outside("rm -rf clone").status.success(), "{what}");
            }
        }
    }
}

/// The target of a symlink with a hidden name, and another name of a hidden file, are hidden as well.
#[test]
fn a_file_that_is_hidden_by_another_name_is_not_recorded_unsaid() {
    const SET_UP: &str = "git init -q .; git config user.name me; git config user.email me@example.org; echo text >file; git add file; \
         git commit -qm first; mkdir config; echo KEY=1 >config/dev.txt";
    const ID: &str = "0123456789012345678901234567890123456789";
    for link in ["ln -s config/dev.txt .env", "ln config/dev.txt .env"] {
        for (place, what) in places("a file that is hidden by another name") {
            let outside = |text: &str| place.outside(&["sh", "-c", text]).output().unwrap();
            assert!(outside(&format!("{SET_UP}; {link}")).status.success(), "{what}");
            let attack = "git update-index --add --cacheinfo 100644,$(echo x | git hash-object -w --stdin),config/dev.txt";
            let forge = format!("cp .git/index kept; {attack}; cp .git/index forged");
            assert!(outside(&forge).status.success(), "{what}");
            let commit = "git commit -qam more; git show HEAD:config/dev.txt; git reset -q --mixed HEAD~; cp kept .git/index";
            assert_eq!(said(&outside(commit)), "KEY=1\n", "{what} {link}: the control");
            let warned = |script: &str| {
                let output = place.inside(&["--hide", ".env"], &["sh", "-c", script]).output().unwrap();
                assert!(output.status.success(), "{what}: {output:?}");
                error(&output)
            };
            let named = "has git track 1 more paths that are hidden inside, such as config/dev.txt";
            let warning = warned("cp forged .git/index");
            assert!(warning.contains(named), "{what} {link}: {warning}");
            assert!(outside("cp kept .git/index").status.success(), "{what}");
            let merge = format!(
                "mkdir -p .git/rr-cache/{ID}; echo x >.git/rr-cache/{ID}/preimage; printf '{ID}\\tconfig/dev.txt\\0' >.git/MERGE_RR"
            );
            let warning = warned(&merge);
            assert!(warning.contains("MERGE_RR"), "{what} {link}: {warning}");
            assert!(!place.workspace().join(".git/MERGE_RR").exists(), "{what} {link}");
        }
    }
}

#[test]
fn a_hidden_file_that_commits_no_longer_leave_out_is_reported() {
    const SET_UP: &str = "git init -q .; git config user.name me; git config user.email me@example.org; echo text >file; \
         echo KEY= >.env; git add file .env; git commit -qm first; echo KEY=1 >.env";
    for (keep, expose) in [
        ("--skip-worktree", "git update-index --no-skip-worktree .env"),
        ("--assume-unchanged", "git update-index --no-assume-unchanged .env"),
        ("--skip-worktree", "git update-index --split-index --force-remove .env"),
        ("--skip-worktree", "rm .git/index; git reset -q"),
    ] {
        for (place, what) in places("an index that no longer leaves a hidden path out") {
            let outside = |text: &str| place.outside(&["sh", "-ec", text]).output().unwrap();
            let set_up = format!("{SET_UP}; git update-index {keep} .env; cp .git/index kept");
            assert!(outside(&set_up).status.success(), "{what}");
            let ordinary = "git add -A; git commit -qm more --allow-empty; git show HEAD:.env; git reset -q --soft HEAD~; cp kept .git/index";
            assert_eq!(said(&outside(ordinary)), "KEY=\n", "{what} {keep}: git leaves it out");
            let forge = format!("{expose}; cp .git/index forged");
            assert!(outside(&forge).status.success(), "{what} {expose}");
            assert_eq!(said(&outside(ordinary)), "KEY=1\n", "{what} {expose}: the control");
            let warned = |script: &str| {
                let output = place.inside(&["--hide", ".env"], &["sh", "-c", script]).output().unwrap();
                assert!(output.status.success(), "{what}: {output:?}");
                error(&output)
            };
            let named = "it no longer leaves 1 paths out of commits that are hidden inside";
            let warning = warned("cp forged .git/index");
            assert!(warning.contains(named), "{what} {expose}: {warning}");
            assert!(outside("cp kept .git/index").status.success(), "{what}");
            let warning = warned("rm .git/index");
            assert!(warning.contains(named), "{what} {expose}: {warning}");
            assert!(outside("cp kept .git/index").status.success(), "{what}");
            let warning = warned("cp .git/index index; cp index .git/index");
            assert!(!warning.contains("no longer leaves"), "{what} {expose}: {warning}");
        }
    }
}

#[test]
fn a_hidden_file_that_may_have_lost_the_filter_that_encrypts_it_is_reported() {
    const SET_UP: &str = "git init -q .; git config user.name me; git config user.email me@example.org; git config filter.enc.clean 'tr A-Z0-9 x'; \
         echo '.env filter=enc' >.gitattributes; mkdir s; echo 'key filter=enc' >s/.gitattributes; echo KEY=1 | tee .env >s/key; git add .; \
         git commit -qm first; cp .git/index kept";
    for (hidden, expose) in [
        (".env", "echo >.gitattributes"),
        (".env", "echo '.env !filter' >.git/info/attributes"),
        (
            "s/key",
            "rm s/.gitattributes; echo '[attr]plain -filter' >>.gitattributes; echo '*/key plain' >>.gitattributes",
        ),
        // Git reads a line up to its first NUL, and attributes from the index where the work tree has none.
        (".env", "printf '.env -filter\\0%02100d\\n' 0 >>.gitattributes"),
        (
            "s/key",
            "printf 'key -filter\\n' >x; git update-index --add --cacheinfo 100644,$(git hash-object -w x),s/.gitattributes; \
             git update-index --skip-worktree s/.gitattributes; rm s/.gitattributes x; cp .git/index kept",
        ),
    ] {
        for (place, what) in places("attributes of a hidden path") {
            let outside = |text: &str| place.outside(&["sh", "-ec", text]).output().unwrap();
            assert!(outside(SET_UP).status.success(), "{what}");
            // Git looks at the file again.
            let stale =
                format!("git update-index --cacheinfo 100644,$(git rev-parse HEAD:{hidden}),{hidden}");
            let shown = format!(
                "{stale}; git commit -qam more --allow-empty; git show HEAD:{hidden}; git reset -q --soft HEAD~; cp kept .git/index"
            );
            assert_eq!(said(&outside(&shown)), "xxx=x\n", "{what} {hidden}: it is encrypted");
            let undo = "rm -f .git/info/attributes; git checkout -q HEAD -- .gitattributes s/.gitattributes; cp kept .git/index";
            assert_eq!(
                said(&outside(&format!("{expose}; {shown}"))),
                "KEY=1\n",
                "{what} {expose}: the control"
            );
            assert!(outside(undo).status.success(), "{what}");
            let warned = |script: &str| {
                let output = place
                    .inside(&["--hide", ".env", "--hide", "key"], &["sh", "-c", script])
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{what}: {output:?}");
                error(&output)
            };
            let warning = warned(expose);
            assert!(warning.contains("may have lost their filter"), "{what} {expose}: {warning}");
            assert!(outside(undo).status.success(), "{what}");
            let warning = warned(
                "echo '*.png filter=lfs -text' >>.gitattributes; echo '* text=auto' >>s/.gitattributes",
            );
            assert!(!warning.contains("may have lost their filter"), "{what}: {warning}");
        }
    }
}

/// The content of a file that was copied from an example can be guessed, and what its owner writes into it later cannot.
#[test]
fn a_hidden_file_that_the_agent_has_git_track_as_it_is_is_reported() {
    const SET_UP: &str = "git init -q .; git config user.name me; git config user.email me@example.org; echo KEY= >.env.example; \
         echo KEY=1 >old.key; echo .env >.gitignore; git add .; git commit -qm first; cp .env.example .env";
    for (place, what) in places("an index that lists a hidden path with its content") {
        let outside = |text: &str| place.outside(&["sh", "-ec", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        let attack = "cp .git/index kept; git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:.env.example),.env; cp .git/index forged";
        assert!(outside(attack).status.success(), "{what}");
        let later = "echo KEY=1 >.env; git commit -qam later; git show HEAD:.env; git reset -q --soft HEAD~; cp .env.example .env; cp kept .git/index";
        assert_eq!(said(&outside(later)), "KEY=1\n", "{what}: the control");
        let warned = |script: &str| {
            let output =
                place.inside(&["--hide", ".env", "--hide", "*.key"], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            error(&output)
        };
        let named = "has git track 1 more paths that are hidden inside, such as .env";
        let warning = warned("cp forged .git/index");
        assert!(warning.contains(named), "{what}: {warning}");
        assert!(outside("cp kept .git/index").status.success(), "{what}");
        // What the agent itself has made is its own.
        let made = "git add new.key; cp .git/index added; cp kept .git/index; mv new.key new";
        place.write("workspace/new.key", "made\n");
        assert!(outside(made).status.success(), "{what}");
        let warning = warned("cp new new.key; cp added .git/index");
        assert!(!warning.contains("has git track"), "{what}: {warning}");
    }
}
