//! Whose files a container writes, and what of them is protected.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Stdio;

use crate::answers::error;
use crate::everywhere;
use crate::machine::{Caller, NORMAL, Runner, callers};
use crate::place::Place;

#[test]
fn files_belong_to_the_caller_or_to_the_owner_of_the_directory() {
    for (caller, runner) in everywhere("owners") {
        let place = Place::on(caller, runner);
        // Root's sandboxes work on directories of others, and what they write is those others'.
        let owner = match caller {
            Caller::Root => 4242,
            Caller::Normal => NORMAL,
        };
        chown(place.workspace(), Some(owner), Some(owner)).unwrap();
        let script =
            "echo new > file; mkdir directory; mkdir -p .git/hooks; test \"$(stat -c %U file)\" = agent";
        let output = place.inside(&[""; 0], &["sh", "-c", script]).output().unwrap();
        assert!(output.status.success(), "in {runner:?} by {caller:?}: {output:?}");
        for name in ["file", "directory"] {
            let metadata = fs::metadata(place.workspace().join(name)).unwrap();
            assert_eq!(
                (metadata.uid(), metadata.gid()),
                (owner, owner),
                "{name} in {runner:?} by {caller:?}"
            );
        }
    }
}

#[test]
fn an_agent_has_no_group_of_a_directory_that_its_owner_is_not_in() {
    let native = callers("groups of owners").into_iter().map(|caller| (caller, Runner::Native));
    for (caller, runner) in native.chain(everywhere("groups of owners")) {
        if caller != Caller::Root {
            continue;
        }
        let place = Place::on(caller, runner);
        let file = place.workspace().join("file");
        fs::write(&file, "of the group").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        // As `chown` leaves it: the owner has no right in group root. The second is the control.
        for (gid, read) in [(0, ""), (NORMAL, "of the group")] {
            chown(place.workspace(), Some(NORMAL), Some(gid)).unwrap();
            chown(&file, Some(0), Some(gid)).unwrap();
            let output =
                place.inside(&["--quiet"], &["sh", "-c", "echo new > new; cat file"]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said, read, "{gid} in {runner:?}: {output:?}");
            let made = fs::metadata(place.workspace().join("new")).unwrap();
            assert_eq!((made.uid(), made.gid()), (NORMAL, NORMAL), "{gid} in {runner:?}");
        }
    }
}

#[test]
fn what_the_agent_made_for_the_host_is_quarantined() {
    for (caller, runner) in everywhere("detection") {
        let place = Place::on(caller, runner);
        let script = "mkdir -p .git/hooks && printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit";
        let output = place.inside(&[""; 0], &["sh", "-c", script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("pre-commit"), "in {runner:?} by {caller:?}: {said}");
        assert!(!place.workspace().join(".git/hooks/pre-commit").exists(), "in {runner:?} by {caller:?}");
        assert!(place.workspace().join(".sandboxctl-quarantine").exists(), "in {runner:?} by {caller:?}");
    }
}

#[test]
fn a_directory_with_a_comma_and_a_quote_is_shared_as_it_is() {
    for (caller, runner) in everywhere("names of directories") {
        let place = Place::on(caller, runner);
        place.write("one, \"two\"/file", "content");
        let shared = format!("{}:/data:ro", place.path("one, \"two\"").display());
        let output = place.inside(&["-v", &shared], &["cat", "/data/file"]).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "content",
            "in {runner:?} by {caller:?}: {output:?}"
        );
    }
}

#[test]
fn root_does_nothing_for_a_record_that_the_user_behind_sudo_has_written() {
    for caller in callers("records under sudo") {
        if caller != Caller::Normal || !rustix::process::geteuid().is_root() {
            continue;
        }
        let place = Place::new(caller);
        // Of a client that is dead, with a directory of root's in which there was nothing before.
        let theirs = place.path("root's");
        fs::create_dir(&theirs).unwrap();
        let hook = theirs.join(".bashrc");
        fs::write(&hook, "root's own").unwrap();
        // As a killed run has left it, but for the directory.
        let mut client = place.inside(&["--quiet"], &["sh", "-c", "echo ready; exec sleep 1000"]);
        let mut client = client.stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        client.kill().unwrap();
        client.wait().unwrap();
        let mut runs = fs::read_dir(place.home().join(".local/state/sandboxctl/runs")).unwrap();
        let file = runs.next().unwrap().unwrap().path();
        let text = fs::read(&file).unwrap();
        let forge = |directory: &std::path::Path| {
            let found = fs::metadata(directory).unwrap();
            // Its rules are on another line.
            let end = text.iter().position(|byte| *byte == b'\n').unwrap();
            let mut record: serde_json::Value = serde_json::from_slice(&text[..end]).unwrap();
            let boundary = &mut record["boundaries"][0];
            boundary["host"] = serde_json::json!(directory);
            let baseline = boundary["baseline"].as_object_mut().unwrap();
            baseline["root"] = serde_json::json!({ "device": found.dev(), "inode": found.ino() });
            baseline["root_btime"] = serde_json::Value::Null;
            baseline["root_owner"] = serde_json::json!(found.uid());
            fs::write(&file, [record.to_string().as_bytes(), &text[end..]].concat()).unwrap();
            place.give(&file);
        };
        let sudo = || {
            let mut command = place.command(&place.run(&["--quiet"], &["true"]));
            command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
            command.env("XDG_STATE_HOME", place.home().join(".local/state"));
            command.env("XDG_CONFIG_HOME", place.home().join(".config"));
            assert!(command.status().unwrap().success());
        };
        forge(&theirs);
        sudo();
        assert_eq!(fs::read_to_string(&hook).unwrap(), "root's own");
        // The control: what is the user's is quarantined.
        let own = place.write("home/own/.bashrc", "the user's own");
        forge(own.parent().unwrap());
        sudo();
        assert!(!own.exists());
    }
}

#[test]
fn what_sudo_has_used_stays_the_users() {
    for (caller, runner) in everywhere("sudo") {
        if (caller, runner) != (Caller::Normal, Runner::Docker) || !rustix::process::geteuid().is_root() {
            continue;
        }
        let place = Place::on(caller, runner);
        let words = place.run(&["--quiet"], &["id", "-u"]);
        let here = |mut command: std::process::Command| {
            command.env("XDG_STATE_HOME", place.home().join("state"));
            command.env("XDG_CONFIG_HOME", place.home().join(".config")).output().unwrap()
        };
        let mut by_sudo = place.command(&words);
        by_sudo.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
        for output in [here(by_sudo), here(place.outside(&words))] {
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{NORMAL}\n"), "{output:?}");
        }
    }
}

#[test]
fn an_agent_in_a_group_that_nobody_meant_starts_nothing() {
    for (caller, runner) in everywhere("groups of agents") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        // As an engine's settings or somebody's wrapper may do it.
        for (group, code) in [("4242", Some("policy.denied")), ("", None)] {
            let more = if group.is_empty() { String::new() } else { format!("--group-add {group}") };
            let script = format!(
                "#!/bin/sh\nPATH=${{PATH#*:}}\n[ \"$1\" = run ] || exec docker \"$@\"\nshift\nexec docker run {more} \"$@\"\n"
            );
            crate::program::write(&place.path("bin/docker"), &script);
            let mut command = place.inside(&["--format=json"], &["id", "-G"]);
            command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", place.path("bin").display()));
            match code {
                Some(code) => assert_eq!(error(&mut command), code, "by {caller:?}"),
                None => assert!(command.status().unwrap().success(), "the control, by {caller:?}"),
            }
        }
    }
}
