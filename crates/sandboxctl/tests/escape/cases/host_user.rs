//! Who the processes of a sandbox are on the host: never root, and nobody but the caller or a user of their own.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::machine::{Caller, callers};
use crate::place::Place;

/// Says when it is there, and lives until its input ends.
const TREE: [&str; 3] = ["sh", "-c", "sh -c 'echo ready; cat' & exec cat"];

#[test]
fn no_process_inside_is_root_on_the_host() {
    for caller in callers("users on the host") {
        let place = Place::new(caller);
        let outside = users(place.outside(&TREE));
        let flags: [&str; 0] = [];
        let inside = users(place.inside(&flags, &TREE));
        match caller {
            Caller::Root => {
                assert_eq!(outside, BTreeSet::from([0]), "the control: what root starts is root");
                assert_eq!(inside.len(), 1, "{inside:?}");
                let uid = inside.first().unwrap();
                assert!(*uid > 65_535, "{uid} may be somebody's");
            }
            Caller::Normal => assert_eq!(inside, outside, "what a caller starts is the caller's"),
        }
    }
}

/// Every user id, real, effective, saved and of the file system, of all that a command has started.
fn users(mut command: Command) -> BTreeSet<u32> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let mut family = BTreeSet::from([child.id()]);
    let mut grown = 0;
    while family.len() > grown {
        grown = family.len();
        family.extend(
            processes()
                .filter(|(_, parent, _)| family.contains(parent))
                .map(|(pid, ..)| pid)
                .collect::<Vec<_>>(),
        );
    }
    family.remove(&child.id());
    let users = processes().filter(|(pid, ..)| family.contains(pid)).flat_map(|(.., users)| users).collect();
    drop(child.stdin.take());
    child.wait().unwrap();
    users
}

/// Every process of this machine: its id, that of its parent, its users.
fn processes() -> impl Iterator<Item = (u32, u32, Vec<u32>)> {
    let statuses = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("status")).ok());
    statuses.filter_map(|status| {
        let numbers = |key: &str| -> Option<Vec<u32>> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().map(|number| number.parse().ok()).collect()
        };
        Some((numbers("Pid:")?[0], numbers("PPid:")?[0], numbers("Uid:")?))
    })
}
