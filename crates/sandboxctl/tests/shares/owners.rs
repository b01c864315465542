//! Whose files are, inside and outside.

use std::ffi::OsString;
use std::fs;

use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;
use crate::{said, script};

/// Prints the user, the group, their name, and whose a new file and the home directory are.
const LOOK: &str = "id -u; id -g; id -un; touch made; stat -c '%u %U' made ~";

#[test]
fn a_normal_caller_is_the_same_user_inside() {
    for caller in callers("ids of normal callers") {
        let place = Place::new(caller);
        // Root's sandbox has a user that is nobody's on the host.
        let id = match caller {
            Caller::Root => 1000,
            Caller::Normal if rustix::process::geteuid().is_root() => NORMAL,
            Caller::Normal => rustix::process::geteuid().as_raw(),
        };
        let output = script(&place, &[], LOOK);
        let group = said(&output).lines().nth(1).unwrap_or_default().to_owned();
        let wanted = format!("{id}\n{group}\nagent\n{id} agent\n{id} agent\n");
        assert_eq!(said(&output), wanted, "by {caller:?}: {output:?}");
        assert_ne!(group, "0", "by {caller:?}");
    }
}

/// Git notes whose each file is, and reads all of them again where that has changed, on each change of side.
#[test]
fn git_finds_its_index_as_it_was_on_the_other_side() {
    for caller in callers("the index of git").into_iter().filter(|caller| *caller == Caller::Normal) {
        let place = Place::new(caller);
        let git = "git init -q . && echo text >file && touch -d 2001-01-01 file && git add file && git status --short";
        assert!(place.outside(&["sh", "-c", git]).status().unwrap().success());
        let index = || fs::read(place.workspace().join(".git/index")).unwrap();
        let before = index();
        let output = script(&place, &[], "git status --short");
        assert_eq!(said(&output), "A  file\n", "{output:?}");
        assert!(index() == before, "the index was written anew");
        // The control: what has changed is.
        let output = script(&place, &[], "touch -d 2002-01-01 file; git status --short");
        assert!(output.status.success() && index() != before, "{output:?}");
    }
}

/// Plans to share a directory of a user whose home passwd(5) names, and returns what is said against it.
fn against_sharing(place: &Place, home: &str, before: &[&str], directory: &str) -> Option<String> {
    let line =
        format!("root:x:0:0::/root:/bin/sh\nowner:x:{NORMAL}:{NORMAL}::{home}:/bin/sh\nnone:x:2:2::/:\n");
    let passwd = place.write("passwd", &line);
    let script = format!("mount --bind {} /etc/passwd && exec \"$@\"", passwd.display());
    let start = ["unshare", "--mount", "sh", "-c", &script, "sh"].into_iter().chain(before.iter().copied());
    let volume = format!("{directory}:/x");
    let plan = place.words("plan", &["-v", &volume], &["true"]);
    let words: Vec<_> = start.map(OsString::from).chain(plan).collect();
    let output = place.command(&words).output().unwrap();
    (!output.status.success()).then(|| crate::error(&output))
}

#[test]
fn the_homes_of_other_users_are_not_shared_by_root_wherever_they_lie() {
    if !callers("homes of others").contains(&Caller::Root) || !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Caller::Root);
    for name in
        [".ssh/id", ".local/state/sandboxctl/x", ".config/sandboxctl/x", ".local/share/x", "project/x"]
    {
        place.write(&format!("people/owner/{name}"), "");
    }
    std::os::unix::fs::symlink("people", place.path("led")).unwrap();
    let home = place.path("people/owner");
    let inside = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let refused = [
        ("", "it is a home directory"),
        ("..", "lies in it"),
        (".ssh", "holds credentials"),
        (".config", "in it holds credentials"),
        (".local", "in it holds credentials"),
        (".local/share", "in it holds credentials"),
        (".local/state", "the records of sandboxctl"),
        (".local/state/sandboxctl", "the records of sandboxctl"),
        (".config/sandboxctl", "the settings of sandboxctl"),
    ];
    // Also where passwd(5) has a link on the way there.
    for named in ["people/owner", "led/owner"] {
        let named = place.path(named).to_str().unwrap().to_owned();
        for (name, why) in refused {
            let said = against_sharing(&place, &named, &[], &inside(name)).unwrap_or_default();
            assert!(said.contains(why), "{name} of {named}: {said}");
        }
        assert_eq!(against_sharing(&place, &named, &[], &inside("project")), None, "in {named}");
    }
    // The control: it is because of what passwd(5) says.
    assert_eq!(against_sharing(&place, "/", &[], &inside("")), None);
    assert_eq!(against_sharing(&place, "/", &[], &inside(".local/state")), None);
}

#[test]
fn the_home_that_passwd_names_is_not_shared_whatever_the_environment_says() {
    if !callers("another HOME").contains(&Caller::Normal) || !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Caller::Normal);
    place.write("elsewhere/.local/state/sandboxctl/x", "");
    let home = place.path("elsewhere").to_str().unwrap().to_owned();
    let id = NORMAL.to_string();
    let before = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"];
    let said = against_sharing(&place, &home, &before, &home).unwrap_or_default();
    assert!(said.contains("it is a home directory"), "{said}");
    let said = against_sharing(&place, &home, &before, &format!("{home}/.local/state")).unwrap_or_default();
    assert!(said.contains("the records of sandboxctl"), "{said}");
    // The control.
    assert_eq!(against_sharing(&place, "/", &before, &home), None);
}

#[test]
fn a_home_is_not_shared_by_the_path_of_another_mount() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for caller in callers("homes that are mounted twice") {
        let place = Place::new(caller);
        for name in [".ssh/id", ".local/state/sandboxctl/x", ".local/share/x", "project/x"] {
            place.write(&format!("people/owner/{name}"), "");
        }
        place.write("other/owner/project/x", "");
        let (people, other) = (place.path("people"), place.path("other"));
        let home = people.join("owner").to_str().unwrap().to_owned();
        let mount = format!("mount --bind {} {} && exec \"$@\"", people.display(), other.display());
        let id = NORMAL.to_string();
        let user = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"];
        let rights: &[&str] = if caller == Caller::Root { &[] } else { &user };
        let mounted = [&["sh", "-c", &mount, "sh"], rights].concat();
        let inside = |name: &str| other.join(name).to_str().unwrap().to_owned();
        for (name, why) in [
            ("", "lies in it"),
            ("owner", "it is a home directory"),
            ("owner/.ssh", "holds credentials"),
            ("owner/.local/share", "in it holds credentials"),
            ("owner/.local/state", "the records of sandboxctl"),
        ] {
            let said = against_sharing(&place, &home, &mounted, &inside(name)).unwrap_or_default();
            assert!(said.contains(why), "{name} by {caller:?}: {said}");
        }
        assert_eq!(against_sharing(&place, &home, &mounted, &inside("owner/project")), None);
        // The control: it is because of what is mounted there.
        for name in ["", "owner"] {
            assert_eq!(against_sharing(&place, &home, rights, &inside(name)), None, "{name} by {caller:?}");
        }
    }
}
