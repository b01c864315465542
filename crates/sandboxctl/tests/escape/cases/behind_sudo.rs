//! Directories of root's that the user behind sudo cannot reach, and names all the same.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

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
        command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
        command.env("XDG_STATE_HOME", place.home().join(".local/state"));
        command.env("XDG_CONFIG_HOME", place.home().join(".config"));
        let output = command.output().unwrap();
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
