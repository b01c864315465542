//! What of a shared directory is hidden. That nothing of it can be read is for the escape battery to show.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

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
fn another_name_of_what_a_link_leads_to_is_hidden() {
    for (place, what) in places("other names of what links lead to") {
        for name in ["real", "directory/key"] {
            place.write(&format!("workspace/{name}"), "KEY=1");
        }
        symlink("real", place.path("workspace/token")).unwrap();
        symlink("directory", place.path("workspace/secrets")).unwrap();
        fs::hard_link(place.path("workspace/real"), place.path("workspace/one")).unwrap();
        fs::hard_link(place.path("workspace/directory/key"), place.path("workspace/two")).unwrap();
        let read = |flags: &[&str]| said(&script(&place, flags, "cat one two"));
        assert_eq!(read(&[]), "KEY=1KEY=1", "{what}: the control");
        assert_eq!(read(&["--hide", "token", "--hide", "secrets"]), "", "{what}");
    }
}

#[test]
fn a_link_with_the_name_of_a_quarantine_hides_nothing() {
    for (place, what) in places("links like quarantines") {
        place.write("workspace/src/file", "shown");
        let output =
            script(&place, &[], "ln -s src x.sandboxctl-quarantine; ln -s . y.sandboxctl-quarantine-1");
        assert!(output.status.success(), "{what}: {output:?}");
        let output = script(&place, &["--hide", ".env"], "cat src/file");
        assert_eq!(said(&output), "shown", "{what}: {output:?}");
        let output = script(&place, &["--hide", "*-quarantine"], "cat src/file");
        assert_eq!(said(&output), "", "{what}: the control: {output:?}");
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
        for (action, is_shown, is_said) in [
            ("mv sub sub2".to_owned(), false, false),
            (format!("mv sub sub2; {NEW} sub2/x.key"), true, true),
            (format!("mv sub sub2; sleep 2.5; {NEW} sub2/x.key"), true, true),
            (format!("mv sub sub2; ln -s sub2 sub; sleep 2.5; {NEW} sub2/x.key"), true, true),
            ("mv sub/x.key sub/y.key".to_owned(), false, false),
            (format!("mv sub/x.key sub/y.key; sleep 2.5; {NEW} sub/y.key"), true, true),
            // As editors do that keep the file of before.
            (format!("mv sub/x.key sub/x.key~; {NEW} sub/x.key"), true, true),
            ("mv sub/x.key x.key".to_owned(), true, true),
            ("mv sub sub2; mkdir sub; mv sub2/x.key sub".to_owned(), true, true),
            ("mv sub ../home/sub2".to_owned(), false, false),
            ("mv sub ../home/sub2; sleep 2.5; mv ../home/sub2 sub".to_owned(), false, false),
            // An agent that is quick has read it while it was removed.
            ("mv sub sub2; rm sub2/x.key".to_owned(), false, true),
            ("rm -r sub".to_owned(), false, true),
            (format!("rm sub/x.key; sleep 2.5; {NEW} sub/x.key"), true, true),
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
            assert_eq!(error(&output).contains("hidden inside"), is_said, "{case}: {output:?}");
        }
    }
}

/// Reads a hidden file as soon as it is another one, and does at once what keeps others from finding it where it was.
const READS_AND_COVERS_UP: &str = r#"
import os, sys, time
path, action = "sub/deep/x.key", sys.argv[1]
before = os.stat(path).st_ino
print("ready", flush=True)
while True:
    try:
        if os.stat(path).st_ino != before:
            content = open(path).read()
            exec(action)
            break
    except OSError:
        pass
print(content, flush=True)
time.sleep(1000)
"#;

#[test]
fn an_agent_that_takes_a_replaced_file_away_or_closes_its_directory_does_not_hide_that_from_the_guard() {
    for caller in callers("replaced hidden files that are taken away") {
        for action in [
            "os.unlink(path)",
            "os.rename(path, 'sub/deep/notes')",
            "os.link(path, 'sub/deep/notes'); os.unlink(path)",
            "os.chmod('sub/deep', 0)",
            "os.chmod('sub', 0)",
            // The control.
            "pass",
        ] {
            let case = format!("{action}, by {caller:?}");
            let place = Place::new(caller);
            place.write("workspace/sub/deep/x.key", "KEY=1\n");
            let argv = ["python3", "-c", READS_AND_COVERS_UP, action];
            let flags = ["--timeout", "20s", "--hide", "x.key"];
            let mut client = ready::start(&mut place.inside(&flags, &argv));
            place.write("workspace/sub/deep/new", "KEY=2\n");
            let deep = place.workspace().join("sub/deep");
            fs::rename(deep.join("new"), deep.join("x.key")).unwrap();
            drop(client.stdin.take());
            let output = client.wait_with_output().unwrap();
            for directory in ["sub", "sub/deep"] {
                let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                fs::set_permissions(place.workspace().join(directory), open).unwrap();
            }
            assert_eq!(output.status.code(), Some(75), "{case}: {output:?}");
            assert!(error(&output).contains("sub/deep/x.key"), "{case}: {output:?}");
        }
    }
}

#[test]
fn a_hidden_file_that_the_host_removes_ends_the_sandbox() {
    for caller in callers("removed hidden files") {
        for (action, code) in [("rm .env", 75), ("mv .env .env.before", 0)] {
            let case = format!("{action}, by {caller:?}");
            let place = Place::new(caller);
            place.write("workspace/.env", "KEY=1");
            let wait = "echo ready; read -r go; sleep 2";
            let mut client = ready::start(&mut place.inside(&["--hide", ".env"], &["sh", "-c", wait]));
            assert!(place.outside(&["sh", "-c", action]).status().unwrap().success(), "{case}");
            client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
            let output = client.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{case}: {output:?}");
            assert_eq!(error(&output).contains(".env was removed"), code == 75, "{case}: {output:?}");
        }
    }
}

/// What is known to be in its place stays hidden, and nothing is said of it.
#[test]
fn an_agent_may_close_the_directory_of_a_hidden_file() {
    for caller in callers("closed directories of hidden files") {
        let place = Place::new(caller);
        place.write("workspace/sub/deep/x.key", "KEY=1");
        let attack =
            "chmod 000 sub/deep && sleep 2; cat sub/deep/x.key; chmod 755 sub/deep; cat sub/deep/x.key";
        let output = script(&place, &["--hide", "x.key"], attack);
        assert!(output.status.success() && said(&output).is_empty(), "by {caller:?}: {output:?}");
        assert!(!error(&output).contains("hidden"), "by {caller:?}: {output:?}");
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

#[test]
fn what_was_hidden_and_is_quarantined_is_hidden_too() {
    for (place, what) in places("the quarantine of what is hidden") {
        // A run in a directory below leaves its own there.
        for directory in ["workspace", "workspace/a", "workspace/.git/modules/x"] {
            place.write(&format!("{directory}/.sandboxctl-quarantine/17-0/dot-env"), "KEY=1");
        }
        let read = |flags: &[&str]| {
            let output = script(&place, flags, "find . -name dot-env -exec cat {} +");
            assert!(output.status.success(), "{what}: {output:?}");
            said(&output)
        };
        assert_eq!(read(&[]), "KEY=1".repeat(3), "{what}: the control");
        for hide in [".env", "/config/prod.key"] {
            assert_eq!(read(&["--hide", hide]), "", "{what} {hide}");
        }
    }
}
