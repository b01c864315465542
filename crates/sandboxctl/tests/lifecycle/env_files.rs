//! Files of variables that an agent may have written: what they set, and what of their owner's they do not lead to.

use std::process::Command;

use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;

/// Everybody who runs a sandbox here, and how: alone, and root for a user behind sudo.
fn everybody(test: &str) -> Vec<(Place, bool)> {
    let callers = callers(test);
    let is_sudo = callers.len() == 2 && rustix::process::geteuid().is_root();
    let alone = callers.into_iter().map(|caller| (Place::new(caller), false));
    alone.chain(is_sudo.then(|| (Place::new(Caller::Normal), true))).collect()
}

/// Runs a script in a sandbox of theirs, with a variable of theirs that was not passed; returns what was printed, and what was said.
fn run((place, is_sudo): &(Place, bool), flags: &[&str], script: &str) -> (String, String) {
    let words = place.run(flags, &["sh", "-c", script]);
    let mut command: Command = if *is_sudo { place.command(&words) } else { place.outside(&words) };
    if *is_sudo {
        command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
        command.env("XDG_STATE_HOME", place.home().join(".local/state"));
        command.env("XDG_CONFIG_HOME", place.home().join(".config"));
    }
    let output = command.env("TOKEN", "of-the-owner").output().unwrap();
    assert_eq!(output.status.success(), !output.stdout.is_empty(), "{output:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn an_agents_link_leads_to_no_file_of_the_owners() {
    for who in everybody("links to files of variables") {
        let (place, is_sudo) = &who;
        let who_is = format!("{:?}, sudo: {is_sudo}", place.caller);
        place.write("home/other/.env", "PASSWORD=of-another\n");
        place.write("workspace/hidden/.env", "PASSWORD=hidden\n");
        place.write("workspace/.env", "A=1\n");
        let script = "echo A=$A PASSWORD=$PASSWORD";
        let flags = ["-v", ".:/workspace", "--env-file", ".env"];
        assert_eq!(run(&who, &flags, script).0, "A=1 PASSWORD=\n", "the control, {who_is}");
        for to in ["../home/other/.env", "hidden/.env"] {
            assert!(place.outside(&["ln", "-sf", to, ".env"]).status().unwrap().success());
            let (seen, said) = run(&who, &flags, script);
            assert!(seen.is_empty(), "{to}, {who_is}: {seen}");
            let why = format!("--env-file .env: cannot be read: a link in {}", place.workspace().display());
            assert!(said.contains(&why), "{to}, {who_is}: {said}");
        }
        // The control: the owner's own link, where no agent writes.
        assert!(place.outside(&["ln", "-s", "other/.env", "../home/link"]).status().unwrap().success());
        let flags = ["-v", ".:/workspace", "--env-file", "../home/link"];
        assert_eq!(run(&who, &flags, script).0, "A= PASSWORD=of-another\n", "the control, {who_is}");
    }
}

#[test]
fn a_bare_name_that_an_agent_may_have_written_passes_nothing() {
    for who in everybody("names in files of variables") {
        let (place, is_sudo) = &who;
        let who_is = format!("{:?}, sudo: {is_sudo}", place.caller);
        let script = "echo A=$A TOKEN=$TOKEN";
        let content = "A=1\nTOKEN\nexport HOME\n";
        place.write("workspace/.env", content);
        place.write("home/.env", content);
        let (seen, said) = run(&who, &["-v", ".:/workspace", "--env-file", ".env"], script);
        assert!(seen.is_empty(), "{who_is}: {seen}");
        for part in [".env:2: env.TOKEN", "`-e TOKEN`", ".env:3: env.HOME"] {
            assert!(said.contains(part), "{part}, {who_is}: {said}");
        }
        // The controls: a file of the owner's alone, and one that the agent may read and not write.
        for flags in [
            ["-v", ".:/workspace", "--env-file", "../home/.env"],
            ["-v", ".:/workspace:ro", "--env-file", ".env"],
        ] {
            let (seen, said) = run(&who, &flags, script);
            assert_eq!(seen, "A=1 TOKEN=of-the-owner\n", "{flags:?}, {who_is}: {said}");
        }
    }
}

#[test]
fn root_passes_nothing_that_another_users_file_names() {
    if callers("another user's file of variables").len() != 2 || !rustix::process::geteuid().is_root() {
        return;
    }
    let who = (Place::new(Caller::Root), false);
    let file = who.0.write("home/.env", "TOKEN\n");
    let flags = ["-v", ".:/workspace", "--env-file", "../home/.env"];
    let script = "echo TOKEN=$TOKEN";
    assert_eq!(run(&who, &flags, script).0, "TOKEN=of-the-owner\n", "the control");
    std::os::unix::fs::chown(file, Some(NORMAL), Some(NORMAL)).unwrap();
    let (seen, said) = run(&who, &flags, script);
    assert!(seen.is_empty() && said.contains("the file belongs to uid 1001"), "{seen}{said}");
}
