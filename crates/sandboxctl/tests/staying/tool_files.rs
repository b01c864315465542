//! Files that the file tools meet beside agents and each other: changed meanwhile, with names and permissions of their own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::place::Place;
use crate::tools::{refused, tool, write};
use crate::{Staying, error_code, everywhere, said};

#[test]
fn of_edits_at_the_same_time_none_is_lost() {
    for (caller, runner) in everywhere("edits at the same time") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/file", "end\n");
        let _sandbox = Staying::create(&place, &[]);
        let edited: Vec<usize> = std::thread::scope(|scope| {
            let one = |number: usize| {
                let new = format!("line {number}\nend");
                let output = crate::tools::fs_tool(&place, &["edit", "file", "--old", "end", "--new", &new]);
                if !output.status.success() {
                    assert_eq!(error_code(&output), "file.changed", "{output:?}");
                }
                output.status.success().then_some(number)
            };
            let all: Vec<_> = (0..16).map(|number| scope.spawn(move || one(number))).collect();
            all.into_iter().filter_map(|one| one.join().unwrap()).collect()
        });
        let text = fs::read_to_string(place.workspace().join("file")).unwrap();
        assert!(!edited.is_empty(), "{who}");
        for number in &edited {
            assert!(
                text.contains(&format!("line {number}\n")),
                "{number} of {edited:?} is lost {who}: {text}"
            );
        }
        assert_eq!(text.lines().count(), edited.len() + 1, "{who}: {text}");
        assert_eq!(fs::read_dir(place.workspace()).unwrap().count(), 1, "nothing is left beside it {who}");
    }
}

#[test]
fn what_the_system_refuses_has_its_own_reason_and_leaves_nothing() {
    for (caller, runner) in everywhere("reasons of the system and file tools") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/file", "kept\n");
        let sandbox = Staying::create(&place, &[]);
        // What a command cannot write to, no tool replaces.
        sandbox.prints(&["sh", "-c", "echo kept >read-only; chmod 444 read-only; ln -s loop loop"]);
        let by_command = sandbox.exec(&[], &["sh", "-c", "echo x >read-only"]).output().unwrap();
        let by_tool = write(&place, "read-only", b"x");
        if by_command.status.success() {
            said(&by_tool);
        } else {
            assert_eq!(error_code(&by_tool), "file.failed", "{who}: {by_tool:?}");
            assert!(
                refused(&place, &["edit", "read-only", "--old", "kept", "--new", "x"], "file.failed")
                    .contains("ermission denied"),
                "{who}"
            );
            assert_eq!(sandbox.prints(&["cat", "read-only"]), "kept\n", "{who}");
        }
        assert!(refused(&place, &["read", "file/x"], "file.failed").contains("Not a directory"), "{who}");
        assert!(refused(&place, &["read", "loop"], "file.failed").contains("symbolic links"), "{who}");
        let long = format!("new/deep/{}", "x".repeat(300));
        assert_eq!(error_code(&write(&place, &long, b"x")), "file.failed", "{who}");
        assert!(!place.workspace().join("new").exists(), "what was made on the way is removed {who}");
        let output = write(&place, "new/", b"x");
        assert_eq!(error_code(&output), "usage.invalid", "{who}: {output:?}");
        assert!(!place.workspace().join("new").exists(), "{who}");
    }
}

#[test]
fn a_path_that_is_shown_leads_to_no_other_file() {
    for (caller, runner) in everywhere("names of all kinds and file tools") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let bytes = OsStr::from_bytes(b"caf\xe9");
        fs::write(place.workspace().join(bytes), "latin\n").unwrap();
        place.write("workspace/caf\u{fffd}", "another\n");
        place.write("workspace/~home", "tilde\n");
        place.write("workspace/crlf", "one\r\ntwo\r\n");
        let _sandbox = Staying::create(&place, &[]);
        let listing = tool(&place, &["list", "--glob", "caf*"]);
        let entries: Vec<_> = listing["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (entry["path"].as_str().unwrap(), entry["spelling"].as_str()))
            .collect();
        assert_eq!(entries, [("caf\\xe9", Some("escaped")), ("caf\u{fffd}", None)], "{who}");
        refused(&place, &["read", "caf\\xe9"], "file.not_found");
        let found = tool(&place, &["search", "tilde"]);
        let path = found["files"][0]["path"].as_str().unwrap();
        assert_eq!(tool(&place, &["read", path])["text"], "tilde\n", "{who}");
        // `$` is before both characters at the end of a line, and an edit says that they are there.
        assert_eq!(tool(&place, &["search", "^one$"])["matches"], 1, "{who}");
        let said = refused(&place, &["edit", "crlf", "--old", "one\ntwo", "--new", "x"], "edit.mismatch");
        assert!(said.contains("line 1 but for the ends of its lines"), "{who}: {said}");
    }
}

#[test]
fn a_walk_obeys_the_rules_of_a_single_file_that_is_shared_within() {
    for (caller, runner) in everywhere("a single file and walks") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/sandbox.toml", "[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\" }\n\
            suffix = { host = \"../suffix.key\", guest = \"/workspace/suffix.key\", mode = \"ro\", suffixes = [\".md\"] }\n\
            size = { host = \"../size.md\", guest = \"/workspace/size.md\", mode = \"ro\", max_file_bytes = 4 }\n");
        place.write("suffix.key", "found\n");
        place.write("size.md", "found\n");
        place.write("workspace/plain.key", "found\n");
        // What they are mounted on.
        place.write("workspace/suffix.key", "");
        place.write("workspace/size.md", "");
        let sandbox = Staying::create(&place, &["--trust"]);
        assert_eq!(sandbox.prints(&["cat", "suffix.key", "size.md"]), "found\nfound\n", "the control {who}");
        let listing = tool(&place, &["list"]).to_string();
        assert!(listing.contains("plain.key") && listing.contains("size.md"), "{who}: {listing}");
        assert!(!listing.contains("suffix.key"), "{who}: {listing}");
        let found = tool(&place, &["search", "^found"]);
        assert_eq!((&found["matches"], &found["too_large"]), (&1.into(), &1.into()), "{who}: {found}");
    }
}

#[test]
fn what_is_binary_is_binary_to_a_search_too() {
    for (caller, runner) in everywhere("binary files and searches") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let late = [b"found\n".repeat(100_000).as_slice(), b"\0"].concat();
        fs::write(place.write("workspace/late", ""), late).unwrap();
        fs::write(place.write("workspace/utf16", ""), b"\xff\xfef\0o\0u\0n\0d\0\n\0").unwrap();
        fs::write(place.write("workspace/latin", ""), b"found caf\xe9\n").unwrap();
        let _sandbox = Staying::create(&place, &[]);
        let found = tool(&place, &["search", "found", "--max-matches", "1000000"]);
        assert_eq!((&found["matches"], &found["files"][0]["path"]), (&1.into(), &"latin".into()), "{who}");
        assert_eq!(tool(&place, &["search", "found", "latin"])["files"], found["files"], "{who}");
        refused(&place, &["search", "found", "late"], "file.unfit");
        refused(&place, &["read", "late"], "file.unfit");
    }
}
