//! A directory that is mounted twice, and so is reached by two paths: what is hidden or protected is so by both.

use std::ffi::OsString;
use std::fs;
use std::process::Output;

use crate::machine::{Caller, Feature, NORMAL, callers, is_there};
use crate::place::Place;
use crate::{error, said};

/// Runs a shell script in a sandbox of the caller, where one directory of the workspace is mounted on another one.
fn mounted(place: &Place, mount: [&str; 2], flags: &[&str], script: &str) -> Output {
    let paths = mount.map(|name| place.path(name).into_os_string());
    let words = ["unshare", "--mount", "sh", "-ec", "mount --bind \"$0\" \"$1\"; shift; exec \"$@\""];
    let id = NORMAL.to_string();
    let user = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"];
    let user = if place.caller == Caller::Normal { &user[..] } else { &[] };
    let start = words.iter().map(OsString::from).chain(paths).chain(user.iter().map(OsString::from));
    let run = place.run(flags, &["sh", "-c", script]);
    place.command(&start.chain(run).collect::<Vec<_>>()).output().unwrap()
}

/// Places of all callers, where this may mount something.
fn all(test: &str) -> Vec<Place> {
    // Root alone mounts, whoever calls then.
    let all = if is_there(Feature::Root, test) { callers(test) } else { Vec::new() };
    all.into_iter().map(Place::new).collect()
}

#[test]
fn what_is_hidden_is_hidden_by_every_mount_of_its_directory() {
    for place in all("hidden paths that are mounted twice") {
        let what = place.caller;
        place.write("workspace/a/in/token.key", "KEY=1");
        place.write("workspace/b/file", "");
        place.write("workspace/other", "");
        for (mount, path) in [("a", "b/in/token.key"), ("a/in", "b/token.key")] {
            let mount = [&format!("workspace/{mount}"), "workspace/b"];
            let output = mounted(&place, mount, &[], &format!("cat {path}"));
            assert_eq!(said(&output), "KEY=1", "the control, {path} by {what:?}: {output:?}");
            for hide in ["a/in/token.key", "/a/in/", "token.key"] {
                let output =
                    mounted(&place, mount, &["--hide", hide], &format!("cat {path} a/in/token.key; ls"));
                assert_eq!(said(&output), "a\nb\nother\n", "{path}, {hide} by {what:?}: {output:?}");
            }
        }
        // In another shared directory, too.
        place.write("second/file", "");
        let flags = ["-v", "../second:/second:ro", "--hide", "a/in/token.key"];
        let output = mounted(&place, ["workspace/a/in", "second"], &flags[..2], "cat /second/token.key");
        assert_eq!(said(&output), "KEY=1", "the control by {what:?}: {output:?}");
        let output =
            mounted(&place, ["workspace/a/in", "second"], &flags, "cat /second/token.key; ls /second");
        assert_eq!(said(&output), "token.key\n", "by {what:?}: {output:?}");
        // What lies in a hidden directory is no directory to share.
        let flags = ["-v", "../second:/second:ro", "--hide", "/a/"];
        let output = mounted(&place, ["workspace/a/in", "second"], &flags, "true");
        assert!(error(&output).contains("hides"), "by {what:?}: {output:?}");
    }
}

#[test]
fn what_is_protected_is_protected_by_every_mount_of_its_directory() {
    const DEEP: &str = "build/chroot/home/builder/src";
    for place in all("protected paths that are mounted twice") {
        let what = place.caller;
        place.write(&format!("workspace/{DEEP}/empty"), "");
        for name in [".envrc", ".mcp.json", ".claude/settings.json"] {
            place.write(&format!("workspace/{name}"), "mine\n");
        }
        place.write("workspace/src/file", "mine\n");
        let write = |mount: [&str; 2], path: &str| {
            let output = mounted(&place, mount, &["--quiet"], &format!("echo evil >{path}; cat {path}"));
            said(&output)
        };
        let deep = ["workspace", &format!("workspace/{DEEP}")];
        assert_eq!(write(deep, &format!("{DEEP}/src/file")), "evil\n", "the control by {what:?}");
        for name in [".envrc", ".mcp.json", ".claude/settings.json"] {
            assert_eq!(write(deep, &format!("{DEEP}/{name}")), "mine\n", "{name} by {what:?}");
        }
        let script = format!("mv {DEEP}/.claude {DEEP}/x; mv {DEEP}/.envrc x; rm {DEEP}/.mcp.json");
        mounted(&place, deep, &["--quiet"], &script);
        for name in [".envrc", ".mcp.json", ".claude/settings.json"] {
            let there = fs::read_to_string(place.workspace().join(name));
            assert_eq!(there.ok().as_deref(), Some("mine\n"), "{name} by {what:?}");
        }
        // A shared directory cannot be read-only because of another one: that is said.
        place.write("second/file", "");
        let second = ["workspace/.claude", "second"];
        let flags = ["-v", "../second:/second"];
        let output = mounted(&place, second, &flags, "true");
        let said = error(&output);
        assert!(said.contains("second: by another mount it is, or lies in, "), "by {what:?}: {said}");
    }
}
