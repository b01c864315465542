//! What of a shared directory is hidden. That nothing of it can be read is for the escape battery to show.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;

use crate::machine::{Caller, callers};
use crate::place::Place;
use crate::{error, places, ready, said, script};

/// What a shell script says of each of these paths.
const LOOK: &str = r#"
for path in .env a/.env a/.env.local config/secrets/key a/secrets/key a/file; do
    test -n "$(cat $path 2>/dev/null)" && echo "shown: $path"
done
true
"#;

fn workspace(place: &Place) {
    for name in [".env", "a/.env", "a/.env.local", "config/secrets/key", "a/secrets/key", "a/file"] {
        place.write(&format!("workspace/{name}"), "KEY=1");
    }
}

#[test]
fn what_a_pattern_names_reads_as_empty_and_all_else_is_there() {
    for (place, what) in places("hidden paths") {
        workspace(&place);
        let shown = |flags: &[&str]| {
            let output = script(&place, flags, LOOK);
            assert!(output.status.success(), "{what} {flags:?}: {output:?}");
            said(&output).replace("shown: ", "").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let all = [".env", "a/.env", "a/.env.local", "config/secrets/key", "a/secrets/key", "a/file"];
        assert_eq!(shown(&[]), all, "{what}: the control");
        assert_eq!(shown(&["--hide", ".env", "--hide", "secrets/"]), ["a/.env.local", "a/file"], "{what}");
        assert_eq!(
            shown(&["--hide", "/.env", "--hide", "config/**"]),
            all[1..3].iter().chain(&all[4..]).copied().collect::<Vec<_>>(),
            "{what}"
        );
        // What can be read only is no different.
        let read_only = ["-v", ".:/workspace:ro", "--hide", ".env*", "--hide", "secrets/"];
        assert_eq!(shown(&read_only), ["a/file"], "{what}");
        for name in all {
            assert_eq!(fs::read_to_string(place.workspace().join(name)).unwrap(), "KEY=1", "{what} {name}");
        }
    }
}

#[test]
fn nothing_is_written_to_what_is_hidden_and_nothing_made_in_its_place() {
    for (place, what) in places("writing to hidden paths") {
        workspace(&place);
        let attack = "echo evil >>.env; rm -rf a/secrets; echo evil >a/secrets/new; mkdir a/secrets; chmod 777 a/secrets; \
                      echo moved >new; mv -f new .env; cat .env; ls a/secrets";
        let output = script(&place, &["--hide", ".env", "--hide", "secrets/"], attack);
        assert_eq!(said(&output), "", "{what}: {output:?}");
        for name in [".env", "a/secrets/key"] {
            assert_eq!(fs::read_to_string(place.workspace().join(name)).unwrap(), "KEY=1", "{what} {name}");
        }
        assert_eq!(fs::read_dir(place.workspace().join("a/secrets")).unwrap().count(), 1, "{what}");
    }
}

#[test]
fn what_is_hidden_need_not_have_a_name_that_is_text() {
    for (place, what) in places("hidden paths that are not text") {
        let directory = place.workspace().join(OsStr::from_bytes(b"caf\xe9"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(".env"), "KEY=1").unwrap();
        assert_eq!(said(&script(&place, &[], "cat caf*/.env")), "KEY=1", "{what}: the control");
        let output = script(&place, &["--hide", ".env"], "cat caf*/.env && echo seen");
        // An engine takes the path for another one, and root mounts by itself.
        if place.caller == Caller::Normal && !what.starts_with("in Native") {
            let said = error(&output);
            assert!(said.contains("caf\\xe9") && said.contains("not UTF-8"), "{what}: {said}");
            assert_eq!(fs::read_dir(place.workspace()).unwrap().count(), 1, "{what}");
        } else {
            assert_eq!(said(&output), "seen\n", "{what}: {output:?}");
        }
    }
}

#[test]
fn another_name_of_a_file_that_is_protected_too_is_hidden_in_every_run() {
    for (place, what) in places("hidden files with two names") {
        place.write("workspace/.env", "KEY=1");
        place.write("workspace/a/file", "");
        fs::hard_link(place.path("workspace/.env"), place.path("workspace/a/copy")).unwrap();
        assert_eq!(said(&script(&place, &[], "cat a/copy")), "KEY=1", "{what}: the control");
        // The control has given the protected file one name alone.
        fs::remove_file(place.path("workspace/a/copy")).unwrap();
        fs::hard_link(place.path("workspace/.env"), place.path("workspace/a/copy")).unwrap();
        for _ in 0..2 {
            let output = script(&place, &["--hide", ".env"], "cat a/copy .env");
            assert!(output.status.success() && said(&output).is_empty(), "{what}: {output:?}");
        }
    }
}

/// The filter of git-lfs stores what is in a file by its SHA-256, and the agent names the filter.
#[test]
fn what_git_lfs_has_stored_of_a_hidden_file_is_hidden_too() {
    const SUM: &str = "ff7accc0f2ab87bb171e59eff4738352966ee35dbad6b9a775d3de464e6192fc";
    for (place, what) in places("what git-lfs has stored") {
        let store = format!("workspace/.git/lfs/objects/{}/{}", &SUM[..2], &SUM[2..4]);
        let nested = format!("workspace/deep/.git/lfs/objects/{}/{}", &SUM[..2], &SUM[2..4]);
        for (name, content) in [
            ("workspace/config/local.yml".to_owned(), "KEY=1"),
            (format!("{store}/{SUM}"), "KEY=1"),
            (format!("{nested}/{SUM}"), "KEY=1"),
            // Of the same size, and another file's.
            (format!("{store}/{}", SUM.replace('d', "e")), "other"),
        ] {
            place.write(&name, content);
        }
        let look = "find . -path '*/lfs/objects/*' -type f -exec cat {} +";
        let shown = |flags: &[&str]| {
            let output = script(&place, flags, look);
            assert!(output.status.success(), "{what} {flags:?}: {output:?}");
            said(&output)
        };
        assert!(shown(&[]).contains("KEY=1"), "{what}: the control");
        for hide in ["local.yml", "config/"] {
            assert_eq!(shown(&["--hide", hide]), "other", "{what} {hide}");
        }
    }
}

#[test]
fn a_link_in_the_way_of_a_pattern_is_refused() {
    for (place, what) in places("links in the way of patterns") {
        place.write("workspace/other", "");
        let hide = ["--hide", "config/prod.key"];
        let output = script(&place, &hide, "mkdir -p conf && ln -s conf config");
        assert!(output.status.success(), "{what}: {output:?}");
        place.write("workspace/conf/prod.key", "KEY=1");
        assert_eq!(said(&script(&place, &[], "cat conf/prod.key")), "KEY=1", "{what}: the control");
        let output = script(&place, &hide, "cat conf/prod.key");
        assert!(!output.status.success() && said(&output).is_empty(), "{what}: {output:?}");
        assert!(error(&output).contains("config is a symlink to"), "{what}: {output:?}");
        // As the error says, and where no pattern goes by the place.
        for hide in ["conf/prod.key", "prod.key", "con*/prod.key"] {
            let output = script(&place, &["--hide", hide], "cat conf/prod.key");
            assert!(output.status.success() && said(&output).is_empty(), "{what} {hide}: {output:?}");
        }
        // A link that leads to nothing that is shared shows nothing.
        fs::remove_file(place.path("workspace/config")).unwrap();
        std::os::unix::fs::symlink("/usr", place.path("workspace/config")).unwrap();
        assert!(script(&place, &hide, "true").status.success(), "{what}");
    }
}

/// What the patterns of the next run go by must be there then. And a run that starts meanwhile must find the file in a place, not between two.
#[test]
fn no_directory_above_a_hidden_path_is_moved() {
    const ALL: [&str; 7] = ["a", "a/secrets", "a/file", "config", "config/secrets", "other", "other/deep"];
    for (place, what) in places("directories above hidden paths") {
        workspace(&place);
        place.write("workspace/other/deep/file", "");
        fs::hard_link(place.workspace().join("a/.env.local"), place.workspace().join("other/deep/same"))
            .unwrap();
        let moved = |flags: &[&str]| {
            let text = format!(
                "for path in {}; do mv $path $path.moved && echo $path && mv $path.moved $path; done",
                ALL.join(" ")
            );
            said(&script(&place, flags, &text)).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(moved(&[]), ALL, "{what}: the control");
        for (hide, fixed) in [
            (".env", &["a"][..]),
            ("secrets/", &["a", "a/secrets", "config", "config/secrets"]),
            ("key", &["a", "a/secrets", "config", "config/secrets"]),
            ("config/secrets/", &["config", "config/secrets"]),
            ("/config/**", &["config", "config/secrets"]),
            // Its other name, too.
            (".env.local", &["a", "other", "other/deep"]),
        ] {
            let loose: Vec<&str> = ALL.into_iter().filter(|path| !fixed.contains(path)).collect();
            assert_eq!(moved(&["--hide", hide]), loose, "{what} {hide}");
        }
        let look = "cat a/secrets/key config/secrets/key 2>/dev/null";
        assert_eq!(said(&script(&place, &["--hide", "config/secrets/"], look)), "KEY=1", "{what}: that in a");
    }
}

#[test]
fn what_links_with_a_hidden_name_lead_to_stays_hidden_in_the_next_run() {
    for (place, what) in places("links with a hidden name") {
        place.write("workspace/c/file", "KEY=1");
        place.write("workspace/a/plain", "");
        place.write("workspace/b/plain", "");
        for (target, link) in [("../c", "a/d"), ("a/d/file", ".env"), ("missing", "x.env")] {
            std::os::unix::fs::symlink(target, place.workspace().join(link)).unwrap();
        }
        let look = "cat c/file moved/file .env 2>/dev/null; true";
        let run = |text: &str| script(&place, &["--hide", ".env"], text);
        assert_eq!(said(&script(&place, &[], look)), "KEY=1KEY=1", "{what}: the control");
        for (attack, is_undone) in [
            ("mv c moved", false),
            ("mv a moved", false),
            ("rm .env", true),
            ("rm a/d; ln -s ../b a/d", true),
            ("mv .env other; echo mine >.env", true),
        ] {
            let output = place.inside(&["--hide", ".env"], &["sh", "-c", attack]).output().unwrap();
            let is_said = error(&output).contains("the link that was protected here was replaced or removed");
            assert_eq!(is_said, is_undone, "{what} {attack}: {output:?}");
            assert_eq!(said(&run(look)), "", "{what} {attack}");
            let target = |link: &str| fs::read_link(place.workspace().join(link)).unwrap();
            assert_eq!(target(".env"), std::path::Path::new("a/d/file"), "{what} {attack}");
            assert_eq!(target("a/d"), std::path::Path::new("../c"), "{what} {attack}");
        }
    }
}

#[test]
fn a_file_of_the_project_hides_and_a_user_hides_more() {
    for (place, what) in places("layers of hidden paths") {
        workspace(&place);
        let settings = place.home().join(".config/sandboxctl/sandbox.toml");
        let before = fs::read_to_string(&settings).unwrap_or_default();
        place.write(
            "home/.config/sandboxctl/sandbox.toml",
            &format!("{before}\n[protect]\nhide = [\".env\"]\n"),
        );
        place.write(
            "workspace/sandbox.toml",
            "[shared_dirs]\nwork = { host = \".\", guest = \"/workspace\", hide = [\"secrets/\"] }\n\
             [protect]\nhide = [\".env.local\"]\n",
        );
        let output = script(&place, &["-w", "/workspace"], LOOK);
        assert_eq!(said(&output), "shown: a/file\n", "{what}: {output:?}");
    }
}

#[test]
fn what_one_directory_hides_no_other_one_shows() {
    for (place, what) in places("overlapping directories") {
        place.write("outer/inner/.env", "KEY=1");
        place.write("outer/inner/secrets/public/file", "KEY=1");
        fs::create_dir(place.path("beside")).unwrap();
        place.give(&place.path("beside"));
        fs::hard_link(place.path("outer/inner/.env"), place.path("beside/same")).unwrap();
        let outer =
            "{ host = \"../outer\", guest = \"/outer\", mode = \"ro\", hide = [\".env\", \"secrets/\"] }";
        let run = |inner: &str| {
            let config = format!(
                "[shared_dirs]\nouter = {outer}\ninner = {{ host = \"{inner}\", guest = \"/inner\", mode = \"ro\" }}\n\
                 beside = {{ host = \"../beside\", guest = \"/beside\" }}\n"
            );
            place.write("workspace/sandbox.toml", &config);
            script(
                &place,
                &["--trust"],
                "cat /outer/inner/.env /inner/.env /beside/same; cat /inner/secrets/public/file",
            )
        };
        let output = run("../outer/inner");
        assert_eq!(said(&output), "", "{what}: {output:?}");
        assert!(error(&output).contains("No such file"), "{what}: the command did run: {output:?}");
        let output = run("../outer/inner/secrets/public");
        assert!(error(&output).contains("which it would show"), "{what}: {output:?}");
        assert_eq!(said(&output), "", "{what}");
    }
}

#[test]
fn what_cannot_be_read_is_hidden_whole_where_something_in_it_may_have_to_be() {
    for caller in callers("closed directories") {
        use std::os::unix::fs::PermissionsExt;

        let place = Place::new(caller);
        place.write("workspace/closed/.env", "KEY=1");
        fs::set_permissions(place.workspace().join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        let open = "chmod 700 closed; cat closed/.env";
        let output = script(&place, &["--hide", ".env"], open);
        let closed = fs::Permissions::from_mode(0o700);
        fs::set_permissions(place.workspace().join("closed"), closed).unwrap();
        assert_eq!(said(&output), "", "by {caller:?}: {output:?}");
    }
}

#[test]
fn a_hidden_file_that_the_host_replaces_ends_the_sandbox_or_is_warned_of() {
    for (mode, code, warned) in
        [("end", Some(75), "and it was ended"), ("warn", Some(0), "is not hidden inside any more")]
    {
        for caller in callers("replaced hidden files") {
            for flags in [&["-v", ".:/workspace:ro"][..], &[][..]] {
                let place = Place::new(caller);
                place.write("workspace/.env", "KEY=1");
                place.write(
                    "home/.config/sandboxctl/sandbox.toml",
                    &format!("[protect]\non_replaced = \"{mode}\"\n"),
                );
                let wait = match mode {
                    "end" => "echo ready; while :; do sleep 1; done",
                    _ => "echo ready; while ! grep -q NEW .env; do sleep 0.1; done; read -r go",
                };
                let flags = [flags, &["--hide", ".env"]].concat();
                let mut client = ready::start(&mut place.inside(&flags, &["sh", "-c", wait]));
                place.write("workspace/.env.new", "NEW=1");
                fs::rename(place.workspace().join(".env.new"), place.workspace().join(".env")).unwrap();
                if mode == "warn" {
                    client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
                }
                let output = client.wait_with_output().unwrap();
                assert_eq!(output.status.code(), code, "{mode} by {caller:?}: {output:?}");
                assert!(error(&output).contains(warned), "{mode} by {caller:?}: {output:?}");
            }
        }
    }
}

/// What is renamed keeps its cover, unless that is past a directory which is a mount of its own.
#[test]
fn a_hidden_file_that_the_host_moves_is_gone_after() {
    const NEW: &str = "echo KEY=2 >new && mv new";
    const READ: &str = "echo ready; read -r go; sleep 1.5; cat *.key */*.key 2>/dev/null; true";
    for caller in callers("hidden files that are moved") {
        for (action, is_shown) in [
            ("mv sub sub2".to_owned(), false),
            (format!("mv sub sub2; {NEW} sub2/x.key"), true),
            (format!("mv sub sub2; sleep 2.5; {NEW} sub2/x.key"), true),
            (format!("mv sub sub2; ln -s sub2 sub; sleep 2.5; {NEW} sub2/x.key"), true),
            ("mv sub/x.key sub/y.key".to_owned(), false),
            (format!("mv sub/x.key sub/y.key; sleep 2.5; {NEW} sub/y.key"), true),
            ("mv sub/x.key x.key".to_owned(), true),
            ("mv sub sub2; mkdir sub; mv sub2/x.key sub".to_owned(), true),
            ("mv sub ../home/sub2".to_owned(), false),
            ("mv sub ../home/sub2; sleep 2.5; mv ../home/sub2 sub".to_owned(), false),
            ("mv sub sub2; rm sub2/x.key".to_owned(), false),
            ("rm -r sub".to_owned(), false),
            (format!("rm sub/x.key; sleep 2.5; {NEW} sub/x.key"), true),
        ] {
            let case = format!("{action}, by {caller:?}");
            let place = Place::new(caller);
            place.write("workspace/sub/x.key", "KEY=1\n");
            place.configure("[protect]\nhide = [\"*.key\"]\non_replaced = \"warn\"\n");
            let mut client = ready::start(&mut place.inside(&[""; 0], &["sh", "-c", READ]));
            let done = place.outside(&["sh", "-c", &action]).current_dir(place.workspace()).status().unwrap();
            assert!(done.success(), "{case}");
            client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
            let output = client.wait_with_output().unwrap();
            assert!(output.status.success(), "{case}: {output:?}");
            assert_eq!(said(&output).contains("KEY"), is_shown, "{case}: {output:?}");
            assert_eq!(error(&output).contains("hidden inside"), is_shown, "{case}: {output:?}");
        }
    }
}

#[test]
fn what_would_hide_nothing_is_refused() {
    for caller in callers("patterns") {
        let place = Place::new(caller);
        for (pattern, refusal) in [
            ("!.env", "nothing takes a pattern back"),
            ("a/../.env", "`.` or `..`"),
            ("id_[rd]sa", "`?` stands for any one character"),
        ] {
            let output = script(&place, &["--hide", pattern], "true");
            assert_eq!(output.status.code(), Some(2), "{pattern}: {output:?}");
            assert!(error(&output).contains(refusal), "{pattern}: {output:?}");
        }
        let output = script(&place, &["--provider", "local", "--hide", ".env"], "true");
        assert!(error(&output).contains("so nothing can be hidden"), "{output:?}");
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
fn what_was_hidden_and_is_quarantined_is_hidden_too() {
    for (place, what) in places("the quarantine of what is hidden") {
        place.write("workspace/.sandboxctl-quarantine/17-0/dot-env", "KEY=1");
        let read = |flags: &[&str]| {
            let output = script(&place, flags, "cat .sandboxctl-quarantine/17-0/dot-env 2>/dev/null; true");
            assert!(output.status.success(), "{what}: {output:?}");
            said(&output)
        };
        assert_eq!(read(&[]), "KEY=1", "{what}: the control");
        assert_eq!(read(&["--hide", ".env"]), "", "{what}");
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
            assert!(!warning.contains("filter"), "{what}: {warning}");
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
