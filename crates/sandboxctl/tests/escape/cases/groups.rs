//! Files of a supplementary group, which a normal user cannot drop: the report says so and names the group.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};

use crate::machine::{Caller, Feature, NORMAL, is_there};
use crate::place::Place;

const GROUP: u32 = 424_242;

#[test]
fn a_group_that_cannot_be_dropped_is_named() {
    if !is_there(Feature::Root, "a caller with a supplementary group") {
        return;
    }
    let place = Place::new(Caller::Normal);
    let file = place.write("workspace/of-the-group", "text");
    chown(&file, Some(0), Some(GROUP)).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o040)).unwrap();
    chown(place.workspace(), Some(NORMAL), Some(GROUP)).unwrap();

    let with = |groups: &str| {
        let (user, group) = (NORMAL.to_string(), GROUP.to_string());
        let run = place.run(&["--report"], &["cat", "of-the-group"]);
        let mut words = ["setpriv", "--reuid", &user, "--regid", &user].map(Into::into).to_vec();
        words.extend(match groups {
            "none" => vec!["--clear-groups".into()],
            _ => vec!["--groups".into(), group.into()],
        });
        words.extend(run);
        place.command(&words).output().unwrap()
    };
    let line = |stderr: Vec<u8>| {
        let text = String::from_utf8(stderr).unwrap();
        text.lines().find(|line| line.starts_with("groups ")).map_or_else(|| panic!("{text}"), str::to_owned)
    };
    let without = with("none");
    assert!(!without.status.success(), "the file is for the group alone");
    assert!(line(without.stderr).contains(" enforced "));

    let within = with("one");
    assert!(within.status.success(), "the group cannot be dropped, so the file can be read");
    let line = line(within.stderr);
    assert!(
        line.contains(" partly ") && line.contains(&GROUP.to_string()) && line.contains("/workspace"),
        "{line}"
    );
}
