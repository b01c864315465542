//! The probe: PID 1 reports which layers hold before the agent is executed.
//!
//! No layer is reported because it was asked for. Each line states what was seen from inside.

use policy::plan::Layer;
use policy::rules::network;

use crate::kernel_file::{KernelFileSystem, namespace_inode};
use crate::lockdown::Locked;
use crate::protocol::{Expectations, InitSpec, Rootfs};
use crate::report::{Finding, Report, Status};
use crate::{capabilities, cgroup};

mod egress;
mod mounts;

/// Reports what holds, seen from inside.
pub(crate) fn report(spec: &InitSpec, locked: &Locked) -> Report {
    let mut report = Report::default();
    for (name, theirs) in &spec.expected.foreign_namespaces {
        if let Some((name, layer)) = Expectations::NAMESPACES.into_iter().find(|(known, _)| known == name) {
            report.add(finding(layer, namespace(spec, name, *theirs, layer)));
        }
    }
    report.add(locked.landlock());
    report.add(locked.seccomp());
    report.add(capabilities::probe());
    for limit in &locked.limits {
        report.add(limit.clone());
    }
    if let Rootfs::Engine { limits, .. } = &spec.rootfs {
        for seen in cgroup::seen_from_inside(limits) {
            match report.0.iter_mut().find(|line| line.layer == seen.layer) {
                Some(line) => line.reason = format!("{} ({})", line.reason, seen.reason),
                None => report.add(seen),
            }
        }
    }
    report
}

/// Returns the first required layer that does not hold.
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

/// Identifies the namespaces that this process is in, as far as they can be.
pub(super) fn namespaces() -> Vec<(String, u64)> {
    let names = Expectations::NAMESPACES.into_iter().map(|(name, _)| name);
    names.filter_map(|name| Some((name.to_owned(), namespace_inode(name).ok()?))).collect()
}

/// Checks that a namespace is not the client's, and probes what it shows.
fn namespace(spec: &InitSpec, name: &str, theirs: u64, layer: Layer) -> Result<String, String> {
    let ours =
        namespace_inode(name).map_err(|error| format!("/proc/self/ns/{name} cannot be read: {error}"))?;
    if ours == theirs {
        return Err("this is the client's own namespace".into());
    }
    match layer {
        Layer::User => user(spec.expected.uid_inside, spec.expected.uid),
        Layer::Mount => mounts::probe(spec),
        Layer::Pid if std::process::id() != 1 => Err(format!("this is process {}", std::process::id())),
        Layer::Pid => Ok("PID 1 of its own namespace".into()),
        Layer::Net => {
            let seen = interfaces(spec.expected.network)?;
            match spec.expected.network {
                network::NetworkMode::Allowlist => {
                    let intercepted = spec.interception.as_ref().map_or_else(String::new, |interception| {
                        format!("; it reads what is sent by TLS to {}", interception.hosts.join(", "))
                    });
                    egress::probe().map(|proxy| format!("{seen}; {proxy}{intercepted}"))
                }
                network::NetworkMode::None | network::NetworkMode::Open => Ok(seen),
            }
        }
        _ => Ok("a namespace of its own".into()),
    }
}

/// Checks that the user namespace maps one user, who is the chosen one and not host root.
fn user(inside: u32, chosen: u32) -> Result<String, String> {
    let map = KernelFileSystem::Processes
        .text("/proc/self/uid_map")
        .map_err(|error| format!("uid_map: {error}"))?;
    let fields: Vec<_> = map.split_whitespace().collect();
    let expected = [inside.to_string(), chosen.to_string(), "1".to_owned()];
    if chosen == 0 || fields != expected {
        return Err(format!("the user map is \"{}\", not \"{}\"", fields.join(" "), expected.join(" ")));
    }
    Ok(format!("agent is uid {chosen} on the host and the only user"))
}

/// Checks that there is no interface but loopback, unless more was requested.
fn interfaces(wanted: network::NetworkMode) -> Result<String, String> {
    let text = KernelFileSystem::Processes
        .text("/proc/self/net/dev")
        .map_err(|error| format!("/proc/self/net/dev: {error}"))?;
    let others: Vec<_> = text
        .lines()
        .skip(2)
        .filter_map(|line| line.split(':').next())
        .map(str::trim)
        .filter(|name| *name != "lo")
        .collect();
    if others.is_empty() {
        Ok("loopback only".into())
    } else if wanted == network::NetworkMode::Open {
        Ok(format!("a network of its own that leads out, as it was asked for: {}", others.join(", ")))
    } else {
        Err(format!("interfaces {}", others.join(", ")))
    }
}
