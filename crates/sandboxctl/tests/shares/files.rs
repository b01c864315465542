//! A single file that is shared.

use std::fs;

use crate::machine::callers;
use crate::place::Place;
use crate::{error, places, said, script};

/// A volume that shares `beside/x.json` of the place.
fn volume(place: &Place, guest: &str) -> String {
    format!("{}:{guest}", place.path("beside/x.json").display())
}

#[test]
fn a_single_file_is_there_alone_and_cannot_be_changed() {
    for (place, what) in places("single files") {
        place.write("beside/x.json", "shared");
        place.write("beside/secret", "not shared");
        let volume = volume(&place, "/work/x.json:ro");
        let look = "cat /work/x.json; echo; ls /work; \
                    for way in 'echo changed >/work/x.json' 'mv /tmp/other /work/x.json' 'chmod 777 /work/x.json' 'rm -f /work/x.json'; do \
                        echo other >/tmp/other; sh -c \"$way\" 2>/dev/null && echo \"possible: $way\"; done; true";
        let output = script(&place, &["-v", &volume], look);
        assert_eq!(said(&output), "shared\nx.json\n", "{what}: {output:?}");
        assert_eq!(fs::read_to_string(place.path("beside/x.json")).unwrap(), "shared", "{what}");
        // The control: what may be written can be changed in each of these ways.
        let control = look.replace("/work/x.json", "/tmp/x.json").replace("/work", "/tmp/none");
        let output = script(&place, &[], &format!("echo shared >/tmp/x.json; {control}"));
        assert_eq!(said(&output).matches("possible").count(), 4, "{what}: {output:?}");
    }
}

#[test]
fn a_single_file_in_a_shared_directory_is_mounted_on_a_file_there() {
    for (place, what) in places("files in directories") {
        place.write("beside/x.json", "shared");
        place.write("workspace/x.json", "of the workspace");
        fs::create_dir(place.workspace().join("directory")).unwrap();
        place.give(&place.workspace().join("directory"));
        let run = |guest: &str| script(&place, &["-v", &volume(&place, guest)], "cat x.json");
        let output = run("/workspace/x.json:ro");
        assert_eq!(said(&output), "shared", "{what}: {output:?}");
        for guest in ["/workspace/missing.json:ro", "/workspace/directory:ro"] {
            let output = run(guest);
            assert!(!output.status.success(), "{what} at {guest}: {output:?}");
            assert!(error(&output).contains("hint: "), "{what} at {guest}: {output:?}");
        }
        assert!(!place.workspace().join("missing.json").exists(), "{what}: the host has a new file");
    }
}

#[test]
fn a_file_that_a_link_leads_to_is_the_one_that_is_shared() {
    for (place, what) in places("links to files") {
        place.write("beside/real.json", "shared");
        std::os::unix::fs::symlink("real.json", place.path("beside/x.json")).unwrap();
        let output = script(&place, &["-v", &volume(&place, "/work/x.json:ro")], "cat /work/x.json");
        assert_eq!(said(&output), "shared", "{what}: {output:?}");
    }
}

#[test]
fn a_file_that_could_be_written_or_is_nothing_to_share_is_refused() {
    for (place, what) in places("refused files") {
        place.write("beside/x.json", "shared");
        place.write("home/.netrc", "machine");
        place.write("home/.env", "KEY=1");
        place.write("workspace/inner.json", "shared already");
        std::os::unix::fs::symlink(place.home().join(".netrc"), place.path("beside/link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(place.path("beside/socket")).unwrap();
        let path = |name: &str| place.path(name).display().to_string();
        for (volume, refusal) in [
            (format!("{}:/work/x.json", path("beside/x.json")), "it is a file, which can only be read"),
            (format!("{}:/work/x.json:rw", path("beside/x.json")), "share it read-only (`:ro`"),
            (format!("{}:/work/x:ro", path("home/.netrc")), "`.netrc` holds credentials"),
            (format!("{}:/work/x:ro", path("beside/link")), "`.netrc` holds credentials"),
            (format!("{}:/work/x:ro", path("home/.env")), "`.env` holds credentials"),
            (
                format!("{}:/work/x:ro", path("beside/socket")),
                "it is a socket, to which `--socket` and `[sockets]` let the agent connect",
            ),
            ("/etc/hosts:/work/x:ro".to_owned(), "`/etc` belongs to the system"),
            (format!("{}:/work/x:ro", path("workspace/inner.json")), "name it in `[protect] paths`"),
        ] {
            let output = script(&place, &["-v", &volume], "cat /work/x");
            assert_eq!(output.status.code(), Some(2), "{what} {volume}: {output:?}");
            assert!(error(&output).contains(refusal), "{what} {volume}: {output:?}");
        }
    }
}

#[test]
fn nothing_starts_or_lies_in_a_file() {
    for (place, what) in places("beneath files") {
        place.write("beside/x.json", "shared");
        let volume = volume(&place, "/work:ro");
        let below = format!("{}:/work/below:ro", place.path("beside").display());
        let output = script(&place, &["-v", &volume, "-v", &below], "true");
        assert!(error(&output).contains("nothing can be at /work/below"), "{what}: {output:?}");
        let output = script(&place, &["-v", &volume, "-w", "/work"], "true");
        assert!(error(&output).contains("`/work` is a file"), "{what}: {output:?}");
    }
}

#[test]
fn a_project_shares_files_of_its_own_and_no_others_without_trust() {
    for caller in callers("files of a project") {
        let place = Place::new(caller);
        place.write("beside/x.json", "shared");
        place.write("workspace/inner.json", "shared");
        for (host, answer) in [("./inner.json", "shared"), ("../beside/x.json", "")] {
            let share =
                format!("[shared_dirs]\none = {{ host = {host:?}, guest = \"/work/x\", mode = \"ro\" }}\n");
            place.write("workspace/sandbox.toml", &share);
            let output = script(&place, &[], "cat /work/x");
            assert_eq!(said(&output), answer, "{host} as {caller:?}: {output:?}");
            let is_refused = error(&output).contains("which is outside the project");
            assert_eq!(is_refused, answer.is_empty(), "{host} as {caller:?}: {output:?}");
        }
    }
}

#[test]
fn a_file_with_another_name_that_can_be_written_is_warned_of() {
    for caller in callers("hard links of files") {
        let place = Place::new(caller);
        let file = place.write("beside/x.json", "shared");
        let run = || {
            place.inside(
                &["-v", &volume(&place, "/work/x.json:ro")],
                &["sh", "-c", "echo changed >link; cat /work/x.json"],
            )
        };
        let warning = "the same file is /workspace/link, which can be written";
        let output = run().output().unwrap();
        assert!(!error(&output).contains(warning) && said(&output) == "shared", "the control: {output:?}");
        fs::remove_file(place.workspace().join("link")).unwrap();
        // A name where the agent can write nothing is none to warn of.
        fs::hard_link(&file, place.path("beside/other")).unwrap();
        let output = run().output().unwrap();
        assert!(!error(&output).contains(warning) && said(&output) == "shared", "the control: {output:?}");
        fs::remove_file(place.workspace().join("link")).unwrap();
        fs::hard_link(&file, place.workspace().join("link")).unwrap();
        let output = run().output().unwrap();
        assert!(error(&output).contains(warning), "as {caller:?}: {output:?}");
        assert_eq!(said(&output), "changed\n", "as {caller:?}: what the warning says is not so: {output:?}");
    }
}
