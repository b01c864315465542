//! What the user behind sudo names, though only root may reach it or write there.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;

#[test]
fn what_the_user_behind_sudo_cannot_reach_is_neither_shared_nor_exposed() {
    if !rustix::process::geteuid().is_root() || !callers("directories under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let private = place.path("private");
    fs::create_dir_all(private.join("inner/bin")).unwrap();
    fs::write(private.join("inner/secret"), "root's own").unwrap();
    let inner = private.join("inner");
    let shared = format!("{}:/x:ro", inner.display());
    let exposed = format!("[native]\nexpose = [{inner:?}]\n");
    let sudo = |flags: &[&str], file: &str| {
        let mut command = place.command(&place.run(flags, &["cat", file]));
        let output = behind_sudo(&place, &mut command).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let secret = inner.join("secret").display().to_string();
    let settings = "home/.config/sandboxctl/sandbox.toml";
    for (mode, seen) in [(0o700, ""), (0o711, "root's own")] {
        fs::set_permissions(&private, Permissions::from_mode(mode)).unwrap();
        let (found, said) = sudo(&["-v", &shared], "/x/secret");
        assert_eq!(found, seen, "shared, {mode:o}: {said}");
        place.write(settings, &exposed);
        let (found, said) = sudo(&[], &secret);
        assert_eq!(found, seen, "exposed, {mode:o}: {said}");
        fs::remove_file(place.path(settings)).unwrap();
        assert!(!seen.is_empty() || said.contains("ermission denied"), "{said}");
    }
}

#[test]
fn a_toolchain_that_is_exchanged_after_it_was_validated_is_not_exposed() {
    if !rustix::process::geteuid().is_root() || !callers("exchanged toolchains").contains(&Caller::Normal) {
        return;
    }
    // The control: the secret's command exchanges nothing.
    for (swap, seen) in [("true", "the user's"), ("mv a b; ln -s private a", "")] {
        let place = Place::new(Caller::Normal);
        place.write("home/a/tools/file", "the user's");
        let private = place.home().join("private");
        fs::create_dir_all(private.join("tools")).unwrap();
        fs::write(private.join("tools/file"), "root's own").unwrap();
        fs::set_permissions(&private, Permissions::from_mode(0o700)).unwrap();
        let tools = place.home().join("a/tools");
        let command = format!("cd {}; {swap}; echo x", place.home().display());
        let settings = format!(
            "[native]\nexpose = [{tools:?}]\n[secrets.s]\nmode = \"inject\"\nenv_var = \"S\"\nsource = \"command:{command}\"\n"
        );
        place.write("home/.config/sandboxctl/sandbox.toml", &settings);
        let file = tools.join("file").display().to_string();
        let mut command = place.command(&place.run(&[""; 0], &["cat", &file]));
        let output = behind_sudo(&place, &mut command).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), seen, "{swap}: {said}");
        assert_eq!(place.home().join("b").exists(), seen.is_empty(), "{swap}: {said}");
    }
}

#[test]
fn nothing_is_made_where_the_user_behind_sudo_may_not_write() {
    if !rustix::process::geteuid().is_root() || !callers("files under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let closed = place.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("file"), "root's own").unwrap();
    place.write("workspace/pages/sandboxctl-run.1", "");
    fs::remove_file(place.path("workspace/pages/sandboxctl-run.1")).unwrap();
    symlink(closed.join("file"), place.path("workspace/pages/sandboxctl-run.1")).unwrap();

    let program = place.path("sandboxctl").display().to_string();
    let in_closed = |name: &str| closed.join(name).display().to_string();
    let calls = |shared: &str, pages: &str, file: &str| {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        [
            words(&[&program, "run", "--create-dirs", "-v", &format!("{shared}:/x"), "--", "true"]),
            words(&[&program, "man", "--output-dir", pages]),
            words(&[&program, "init", file]),
        ]
    };
    for call in calls(&in_closed("new"), &in_closed("pages"), &in_closed("new.toml"))
        .into_iter()
        .chain([vec![program.clone(), "man".into(), "--output-dir".into(), "pages".into()]])
    {
        assert!(!place.outside(&call).output().unwrap().status.success(), "the control: {call:?}");
        let output = behind_sudo(&place, &mut place.command(&call)).output().unwrap();
        assert!(!output.status.success(), "{call:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("ermission denied"), "{call:?}: {said}");
    }
    assert_eq!(fs::read_dir(&closed).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(closed.join("file")).unwrap(), "root's own");

    // Where they may write, what is made is theirs.
    for call in calls("../home/made", "man", "new.toml") {
        let output = behind_sudo(&place, &mut place.command(&call)).output().unwrap();
        assert!(output.status.success(), "{call:?}: {output:?}");
    }
    for made in ["../home/made", "man", "man/sandboxctl.1", "new.toml"] {
        let found = fs::metadata(place.workspace().join(made)).unwrap();
        assert_eq!((found.uid(), found.gid()), (NORMAL, NORMAL), "{made}");
    }
}

/// A command of root's, as sudo starts it for the normal user.
fn behind_sudo<'a>(place: &Place, command: &'a mut Command) -> &'a mut Command {
    command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
    command.env("XDG_STATE_HOME", place.home().join(".local/state"));
    command.env("XDG_CONFIG_HOME", place.home().join(".config"))
}
