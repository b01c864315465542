//! Who the processes of a sandbox are on the host: never root, and nobody but the caller or a user of their own.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::machine::{Caller, callers, runners};
use crate::place::Place;

/// Says when it is there, and lives until its input ends: in the foreground, since a shell gives what it starts in the
/// background another input.
const TREE: [&str; 3] = ["sh", "-c", "sh -c 'echo ready; cat; : users-on-the-host'; : users-on-the-host"];
const MARK: &str = "users-on-the-host";

#[test]
fn no_process_inside_is_root_on_the_host() {
    for caller in callers("users on the host") {
        let outside = users(Place::new(caller).outside(&TREE), family);
        if caller == Caller::Root {
            assert_eq!(outside, BTreeSet::from([0]), "the control: what root starts is root");
        }
        for runner in runners(caller, "users on the host") {
            let place = Place::on(caller, runner);
            let inside = users(place.inside(&[""; 0], &TREE), in_other_namespaces);
            match caller {
                Caller::Root => {
                    assert_eq!(inside.len(), 1, "in {runner:?}: {inside:?}");
                    let uid = inside.first().unwrap();
                    assert!(*uid > 65_535, "in {runner:?}: {uid} may be somebody's");
                }
                Caller::Normal => {
                    assert_eq!(inside, outside, "in {runner:?}: what a caller starts is the caller's");
                }
            }
        }
    }
}

/// Every user id, real, effective, saved and of the file system, of those who belong to a command.
fn users(mut command: Command, belong: fn(u32) -> BTreeSet<u32>) -> BTreeSet<u32> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let belonging = belong(child.id());
    let users =
        processes().filter(|(pid, ..)| belonging.contains(pid)).flat_map(|(.., users)| users).collect();
    drop(child.stdin.take());
    child.wait().unwrap();
    users
}

/// All that a process has started.
fn family(of: u32) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([of]);
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
    family.remove(&of);
    family
}

/// All that run what the tree runs and are in another PID namespace than this process, and all who are there with them:
/// what an engine starts is no child of the caller's.
fn in_other_namespaces(_: u32) -> BTreeSet<u32> {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let ours = namespace("self");
    let places: BTreeSet<_> = processes()
        .filter(|(pid, ..)| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&arguments).contains(MARK)
        })
        .filter_map(|(pid, ..)| namespace(&pid.to_string()).filter(|place| Some(place) != ours.as_ref()))
        .collect();
    processes()
        .map(|(pid, ..)| pid)
        .filter(|pid| namespace(&pid.to_string()).is_some_and(|place| places.contains(&place)))
        .collect()
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
