//! The probe: PID 1 looks around before the agent does, and reports what it sees.
//!
//! Nothing is reported because it was asked for. Each line says what was seen from inside.

use std::fs;
use std::path::Path;

use policy::plan::{FileId, Layer};

use crate::capabilities;
use crate::enter::AGENT_ID;
use crate::lockdown::Locked;
use crate::report::{Finding, Report, Status};
use crate::start::{Outside, Start};
use crate::view::file_id;

/// What holds, seen from inside.
pub(crate) fn report(start: &Start, locked: &Locked) -> Report {
    let mut report = Report::default();
    for (name, layer) in Outside::NAMESPACES {
        report.add(finding(layer, namespace(start, name, layer)));
    }
    report.add(locked.landlock());
    report.add(locked.seccomp());
    report.add(capabilities::probe());
    for limit in &locked.limits {
        report.add(limit.clone());
    }
    report
}

/// The first required layer that does not hold.
///
/// A layer that holds partly does not hold, but for landlock: each kernel covers a little more than the one
/// before, and the reason names what this one leaves out.
pub(crate) fn missing(report: &Report, required: &[Layer]) -> Option<Finding> {
    required.iter().find_map(|layer| {
        let Some(line) = report.layer(*layer) else {
            let reason = "nothing was seen of it from inside".to_owned();
            return Some(Finding { layer: *layer, status: Status::Not, reason });
        };
        let holds = line.status == Status::Enforced
            || (line.status == Status::Partly && line.layer == Layer::Landlock);
        (!holds).then(|| line.clone())
    })
}

fn finding(layer: Layer, seen: Result<String, String>) -> Finding {
    match seen {
        Ok(reason) => Finding { layer, status: Status::Enforced, reason },
        Err(reason) => Finding { layer, status: Status::Not, reason },
    }
}

/// Whether a namespace is another one than the client's, and what it shows.
fn namespace(start: &Start, name: &str, layer: Layer) -> Result<String, String> {
    let ours =
        Outside::namespace(name).map_err(|error| format!("/proc/self/ns/{name} cannot be read: {error}"))?;
    let theirs = start.outside.namespaces.iter().find(|(theirs, _)| theirs == name);
    match theirs {
        None => return Err("the client did not say which namespace is its own".into()),
        Some((_, theirs)) if *theirs == ours => return Err("this is the client's own namespace".into()),
        Some(_) => {}
    }
    match layer {
        Layer::User => user(start.outside.uid),
        Layer::Mount => mounts(&start.outside.mounts),
        Layer::Pid if std::process::id() != 1 => Err(format!("this is process {}", std::process::id())),
        Layer::Pid => Ok("PID 1 of its own namespace".into()),
        Layer::Net => interfaces(),
        _ => Ok("a namespace of its own".into()),
    }
}

/// One user, who is neither host root nor anybody else than was chosen.
fn user(chosen: u32) -> Result<String, String> {
    let map = fs::read_to_string("/proc/self/uid_map").map_err(|error| format!("uid_map: {error}"))?;
    let fields: Vec<_> = map.split_whitespace().collect();
    let expected = [AGENT_ID.to_string(), chosen.to_string(), "1".to_owned()];
    if chosen == 0 || fields != expected {
        return Err(format!("the user map is \"{}\", not \"{}\"", fields.join(" "), expected.join(" ")));
    }
    Ok(format!("agent is uid {chosen} on the host and the only user"))
}

/// What was validated is what is mounted, and the root changes no more.
fn mounts(expected: &[(std::path::PathBuf, FileId)]) -> Result<String, String> {
    for (path, validated) in expected {
        let mounted = of_path(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if mounted != *validated {
            return Err(format!("{} is not the directory that was validated", path.display()));
        }
    }
    let root = rustix::fs::statvfs(c"/").map_err(|error| format!("/: {error}"))?;
    if !root.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        return Err("the root can be written".into());
    }
    Ok(format!("a root of its own, read-only; {} shared", count(expected.len(), "directory", "directories")))
}

fn of_path(path: &Path) -> Result<FileId, rustix::io::Errno> {
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
    file_id(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?)
}

/// Nothing but loopback.
fn interfaces() -> Result<String, String> {
    let text =
        fs::read_to_string("/proc/self/net/dev").map_err(|error| format!("/proc/self/net/dev: {error}"))?;
    let others: Vec<_> = text
        .lines()
        .skip(2)
        .filter_map(|line| line.split(':').next())
        .map(str::trim)
        .filter(|name| *name != "lo")
        .collect();
    if others.is_empty() {
        Ok("loopback only".into())
    } else {
        Err(format!("interfaces {}", others.join(", ")))
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
