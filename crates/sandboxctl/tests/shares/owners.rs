//! Whose files are, inside and outside.

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
