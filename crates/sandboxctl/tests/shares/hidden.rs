//! What of a shared directory is hidden. That nothing of it can be read is for the escape battery to show.

use std::fs;
use std::io::Write as _;

use crate::machine::callers;
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

/// What the patterns of the next run go by must be there then.
#[test]
fn what_is_hidden_for_where_it_lies_cannot_be_moved_away_with_what_is_around_it() {
    for (place, what) in places("directories above hidden paths") {
        workspace(&place);
        let run = |hide: &str, text: &str| said(&script(&place, &["--hide", hide], text));
        // The control: what a name hides is hidden in whatever directory.
        let moved = run("secrets/", "mv config moved && echo moved; cat moved/secrets/key");
        assert_eq!(moved, "moved\n", "{what}");
        assert_eq!(
            run("secrets/", "cat moved/secrets/key; mv moved config && echo back"),
            "back\n",
            "{what}"
        );
        for hide in ["config/secrets/", "/config/**", "**/config/secrets"] {
            assert_eq!(
                run(hide, "mv config moved && echo moved; mv a b && mv b a && echo other"),
                "other\n",
                "{what} {hide}"
            );
            assert_eq!(
                run(hide, "cat */secrets/key config/secrets/key 2>/dev/null"),
                "KEY=1",
                "{what} {hide}: that in a"
            );
            assert!(place.workspace().join("config/secrets/key").exists(), "{what} {hide}");
        }
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
