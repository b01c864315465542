//! Version 2: one hierarchy, in which a directory can be delegated to a user.

use std::path::{Path, PathBuf};
use std::{fs, io};

use policy::rules::limits::{Bytes, MilliCpus};
use policy::text::escape;
use rustix::fs::{Access, access};

use super::group::{Cgroup, CgroupVersion};
use super::hierarchy::{Controller, Hierarchy, Unified};
use super::limit::{Limit, PERIOD, UNCOUNTED, has_swap, quota, set};
use crate::report::{Finding, Status};

/// Where a group can be made, and which limits it can have there.
#[derive(Debug)]
pub(super) struct UnifiedSite<'a> {
    parent: &'a Path,
    controllers: Vec<Controller>,
    /// What was requested, and what the groups below `parent` that this process is in may use.
    limits: Vec<Limit>,
}

impl<'a> UnifiedSite<'a> {
    /// Finds the nearest group that has every requested controller, else the one that has most, else the reason why there
    /// is none.
    pub(super) fn find(hierarchy: &'a Hierarchy, wanted: &[Limit]) -> Result<Self, String> {
        let unified =
            hierarchy.v2.as_ref().ok_or("no cgroup of version 2 is mounted that shows this process")?;
        let mut best: Option<Self> = None;
        let mut reasons = Vec::new();
        for parent in candidates(unified) {
            let limits = bounded(unified, parent, wanted);
            match controllers(parent, &limits) {
                Ok(controllers)
                    if best.as_ref().is_none_or(|best| best.controllers.len() < controllers.len()) =>
                {
                    let place = Self { parent, controllers, limits };
                    if place.enforces_all() {
                        return Ok(place);
                    }
                    best = Some(place);
                }
                Ok(_) => {}
                Err(reason) => reasons.push(format!("{}: {reason}", escape::path(parent))),
            }
        }
        best.ok_or_else(|| {
            format!(
                "no cgroup is delegated to this user ({}); starting from `systemd-run --user --scope -p Delegate=yes` \
                 helps",
                reasons.join("; ")
            )
        })
    }

    pub(super) fn enforces_all(&self) -> bool {
        self.limits.iter().all(|limit| self.controllers.contains(&limit.controller()))
    }

    /// Makes one group with every limit that can be set.
    pub(super) fn create(&self, name: &str) -> Result<(Cgroup, Vec<Finding>), String> {
        let directory = self.parent.join(name);
        fs::create_dir(&directory)
            .map_err(|error| format!("no group can be made in {}: {error}", escape::path(self.parent)))?;
        let findings = self.limits.iter().map(|&limit| self.limit(&directory, limit)).collect();
        Ok((Cgroup { version: CgroupVersion::V2, directories: vec![directory] }, findings))
    }

    fn limit(&self, directory: &Path, limit: Limit) -> Finding {
        let controller = limit.controller();
        if !self.controllers.contains(&controller) {
            let reason = format!(
                "{} has no {} controller for groups below",
                escape::path(self.parent),
                controller.name()
            );
            return limit.finding(Status::Not, reason);
        }
        let (status, reason) = apply(directory, limit).unwrap_or_else(|error| {
            (Status::Not, format!("the {} controller took no limit: {error}", controller.name()))
        });
        limit.finding(status, reason)
    }
}

/// Lists where a group may be made: the own group and those above it, nearest first. Moving to anywhere else would need
/// rights on a common ancestor.
pub(super) fn candidates(unified: &Unified) -> impl Iterator<Item = &Path> {
    unified.own.ancestors().take_while(|place| place.starts_with(&unified.mount))
}

/// Lowers limits to those of the groups that this process is in below `parent`. A group in `parent` lies beside them, and is not
/// held by what the administrator, or the unit of a service, has set for them.
fn bounded(unified: &Unified, parent: &Path, wanted: &[Limit]) -> Vec<Limit> {
    let beside = || unified.own.ancestors().take_while(|group| *group != parent);
    let lowest = |controller| {
        let requested = wanted.iter().copied().find(|limit| limit.controller() == controller);
        let set = beside().filter_map(|group| Limit::of(group, controller));
        requested.into_iter().chain(set).min_by_key(|limit| limit.amount())
    };
    [Controller::Memory, Controller::Cpu, Controller::Pids].into_iter().filter_map(lowest).collect()
}

/// Returns whether no controller of ours is here, because version 1 has them.
fn offers_nothing(parent: &Path) -> bool {
    let offered = fs::read_to_string(parent.join("cgroup.controllers"));
    let is_ours = |name: &str| Controller::ALL.iter().any(|controller| controller.name() == name);
    offered.is_ok_and(|offered| !offered.split_ascii_whitespace().any(is_ours))
}

/// Returns whether a group may be made here that processes are created in.
pub(super) fn may_hold_pid_1(parent: &Path) -> bool {
    !offers_nothing(parent) && access(parent, Access::WRITE_OK).is_ok()
}

/// Returns which of the requested controllers groups in `parent` have; enables them there if need be.
fn controllers(parent: &Path, wanted: &[Limit]) -> Result<Vec<Controller>, String> {
    if offers_nothing(parent) {
        return Err("it has no controller that limits anything here".to_owned());
    }
    // A process gets in from below if its group may be left here as well: this is the common ancestor.
    for path in [parent.to_owned(), parent.join("cgroup.procs")] {
        access(&path, Access::WRITE_OK).map_err(|error| format!("not writable ({error})"))?;
    }
    let control = parent.join("cgroup.subtree_control");
    let enabled = fs::read_to_string(&control).map_err(|error| format!("cannot be read: {error}"))?;
    let holds = |list: &str, name| list.split_ascii_whitespace().any(|one| one == name);
    let usable = |controller: &Controller| {
        let name = controller.name();
        // Enabling fails where the place lacks the controller itself, and where processes are in it, unless
        // it is the root of all.
        holds(&enabled, name)
            || fs::write(&control, format!("+{name}")).is_ok()
                && fs::read_to_string(&control).is_ok_and(|enabled| holds(&enabled, name))
    };
    let usable: Vec<Controller> = wanted.iter().map(|limit| limit.controller()).filter(usable).collect();
    if usable.is_empty() {
        return Err(format!("no controller that is wanted can be used (enabled: {})", enabled.trim()));
    }
    Ok(usable)
}

fn apply(directory: &Path, limit: Limit) -> io::Result<(Status, String)> {
    let holds = format!("{} (cgroup version 2)", limit.describe());
    match limit {
        Limit::Memory(Bytes(bytes)) => {
            set(directory, "memory.max", bytes)?;
            match set(directory, "memory.swap.max", 0) {
                Ok(()) => Ok((Status::Enforced, format!("{holds}, no swap; {UNCOUNTED}"))),
                Err(_) if !has_swap() => {
                    Ok((Status::Enforced, format!("{holds}, and this machine has no swap; {UNCOUNTED}")))
                }
                Err(error) => Ok((Status::Partly, format!("{holds}, but swap is not limited: {error}"))),
            }
        }
        Limit::Cpu(cpus) => set_quota(directory, cpus).map(|()| (Status::Enforced, holds)),
        Limit::Pids(pids) => set(directory, "pids.max", u64::from(pids)).map(|()| (Status::Enforced, holds)),
    }
}

fn set_quota(directory: &Path, cpus: MilliCpus) -> io::Result<()> {
    let (path, value): (PathBuf, String) = (directory.join("cpu.max"), format!("{} {PERIOD}", quota(cpus)));
    fs::write(&path, &value)?;
    match fs::read_to_string(&path)?.trim() {
        holds if holds == value => Ok(()),
        other => Err(io::Error::other(format!("cpu.max says {other} after {value} was written"))),
    }
}
