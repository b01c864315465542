//! What a run leaves on the machine, found by the name of the place it was called from.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::Place;

/// Everything that runs of this place have left: processes, mounts, records, files; and control groups of these
/// clients, since groups have no other names.
///
/// Every process inside sees the workspace as a mount, and its table of mounts names the place, if only from where its file
/// system begins.
pub(crate) fn of(place: &Place, clients: &[u32]) -> Vec<String> {
    let top = place.path("");
    let mark = top.file_name().expect("a directory with a name").to_string_lossy();
    let processes = processes().into_iter().filter(|process| {
        let holds = |file| {
            fs::read(process.join(file)).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&*mark))
        };
        holds("mountinfo") || holds("cmdline")
    });
    let groups = groups(Path::new("/sys/fs/cgroup"), 4).into_iter().filter(|group| is_of(group, clients));
    let runs = place.home().join(".local/state/sandboxctl/runs");
    let files = [runs, place.workspace(), place.home()].into_iter().flat_map(|directory| entries(&directory));
    let files = files.filter(|path| !path.ends_with(".local"));
    let other = entries(&place.path("")).into_iter();
    let other =
        other.filter(|path| !["home", "workspace", "sandboxctl"].iter().any(|known| path.ends_with(known)));
    processes.chain(groups).chain(files).chain(other).map(|path| path.display().to_string()).collect()
}

/// Waits until no process of this place is left, without helping.
pub(crate) fn until_no_process_is_left(place: &Place, patience: Duration) {
    let asked = Instant::now();
    loop {
        let traces = of(place, &[]);
        if !traces.iter().any(|trace| trace.starts_with("/proc/")) {
            return;
        }
        assert!(asked.elapsed() < patience, "by {:?}: {traces:#?}", place.caller);
    }
}

/// Ends a process by its number.
pub(crate) fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("the kernel's numbers are signed")).expect("not zero");
    // It may have ended by itself just now, and nobody has waited for it: its number is still its own.
    kill_process(pid, signal).expect("a process that was not waited for is there");
}

fn processes() -> Vec<PathBuf> {
    let number =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
    entries(Path::new("/proc")).into_iter().filter(number).collect()
}

/// The control groups of sandboxes: `sandboxctl-<pid namespace>-<pid>-<start>-<time namespace>-<count>`.
fn groups(directory: &Path, levels: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(directory).into_iter().filter(|path| path.is_dir() && !path.is_symlink()) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sandboxctl-")) {
            found.push(path);
        } else if levels > 0 {
            found.extend(groups(&path, levels - 1));
        }
    }
    found
}

/// Whether a group was made by one of these clients.
fn is_of(group: &Path, clients: &[u32]) -> bool {
    let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split('-').nth(2).and_then(|pid| pid.parse().ok()).is_some_and(|pid: u32| clients.contains(&pid))
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
