//! Limits on everything inside a sandbox together: control groups of version 2 or 1 (cgroups(7)).
//!
//! The launcher makes a group before the sandbox starts and removes it afterwards; but for `inside.rs`, nothing in here
//! runs inside. Version 2 is used where it has every controller that is wanted and its directory is ours to use,
//! else version 1.
//!
//! A process is never moved by its number: writing `cgroup.procs` waits for all processors to pass a quiet
//! point, which takes milliseconds. [`CgroupEntry`] says what is done instead.

mod group;
mod hierarchy;
mod inside;
mod kills;
mod limit;
mod owner;
mod v1;
mod v2;

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use policy::rules::limits::Limits;

pub use self::group::{Cgroup, CgroupEntry, CgroupError};
pub use self::hierarchy::{Controller, Hierarchy};
pub(crate) use self::inside::{oom_kills, seen_from_inside};
pub use self::kills::KillCounter;
use self::limit::Limit;
use self::owner::{GroupOwner, Here};
use crate::report::{Finding, Status};

/// Where the groups of a sandbox are to be.
#[derive(Debug)]
pub struct CgroupSite<'a> {
    wanted: Vec<Limit>,
    place: Result<SiteVersion<'a>, String>,
}

#[derive(Debug)]
enum SiteVersion<'a> {
    V1(&'a Hierarchy),
    V2(v2::UnifiedSite<'a>),
}

impl<'a> CgroupSite<'a> {
    /// Finds a place where `limits` hold.
    ///
    /// One version or the other: a sandbox in two at once would need both ways in. Version 2 with some of the limits is taken
    /// only where version 1 has nothing to offer.
    pub fn choose(hierarchy: &'a Hierarchy, limits: &Limits) -> Self {
        let wanted: Vec<Limit> =
            [limits.memory.map(Limit::Memory), limits.cpus.map(Limit::Cpu), limits.pids.map(Limit::Pids)]
                .into_iter()
                .flatten()
                .collect();
        let place = v2::UnifiedSite::find(hierarchy, &wanted);
        let complete = place.as_ref().is_ok_and(v2::UnifiedSite::enforces_all);
        let place = if complete || hierarchy.v1.is_empty() {
            place.map(SiteVersion::V2)
        } else {
            Ok(SiteVersion::V1(hierarchy))
        };
        Self { wanted, place }
    }

    /// Returns whether PID 1 may have to be created in the groups, whatever limits are chosen in the end.
    pub fn may_hold_pid_1(hierarchy: &Hierarchy) -> bool {
        hierarchy.v2.iter().flat_map(v2::candidates).any(v2::may_hold_pid_1)
    }

    /// Returns whether PID 1 has to be created in the groups ([`CgroupEntry::V2`]), so that they come first.
    pub fn clones_into_cgroup(&self) -> bool {
        matches!(self.place, Ok(SiteVersion::V2(_)))
    }
}

impl Cgroup {
    /// Makes groups and says of each limit that is asked for how far it holds.
    ///
    /// Without limits, or without a single controller that can be used, there is no group. A limit that could
    /// not be set is `not` in the findings, with the reason; the others hold nevertheless.
    pub fn create(site: CgroupSite<'_>) -> (Option<Self>, Vec<Finding>) {
        Self::create_for(site, std::process::id())
    }

    /// Makes groups of another process: when that has ended, whoever finds them empty removes them ([`sweep`]).
    pub fn create_for(site: CgroupSite<'_>, owner: u32) -> (Option<Self>, Vec<Finding>) {
        let CgroupSite { wanted, place } = site;
        if wanted.is_empty() {
            return (None, Vec::new());
        }
        let name = match GroupOwner::process(owner) {
            Ok(owner) => owner.new_name(),
            Err(error) => return (None, all_refused(&wanted, &format!("no name for a group: {error}"))),
        };
        let made = match place {
            Ok(SiteVersion::V1(hierarchy)) => return v1::create(hierarchy, &wanted, &name),
            Ok(SiteVersion::V2(place)) => place.create(&name),
            Err(reason) => Err(reason),
        };
        match made {
            Ok((group, findings)) => (Some(group), findings),
            Err(reason) => (None, all_refused(&wanted, &reason)),
        }
    }
}

/// Moves the calling thread into the groups of version 1. Allocates nothing.
pub fn enter(tasks: &[OwnedFd]) -> Result<(), rustix::io::Errno> {
    tasks.iter().try_for_each(|file| rustix::io::write(file, b"0").map(drop))
}

/// Removes empty groups whose maker was killed before it could.
///
/// Looks beside the groups of this process and above it, where [`Cgroup::create`] makes new ones. A group
/// whose maker lives, or runs in another PID namespace, is left alone, as is one in which something still
/// runs.
pub fn sweep(hierarchy: &Hierarchy) -> SweptCgroups {
    let above = hierarchy.v2.iter().flat_map(v2::candidates);
    let mut places: Vec<&Path> = hierarchy.v1.values().map(PathBuf::as_path).chain(above).collect();
    places.sort_unstable();
    places.dedup();
    let here = Here::of_this_process();
    let stale = |entry: &fs::DirEntry| {
        entry.file_name().to_str().and_then(GroupOwner::of).is_some_and(|owner| owner.is_gone(&here))
    };
    let mut swept = SweptCgroups::default();
    for entry in places.into_iter().flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten()) {
        if stale(&entry) {
            match fs::remove_dir(entry.path()) {
                Ok(()) => swept.removed += 1,
                Err(_) => swept.left += 1,
            }
        }
    }
    swept
}

/// What became of groups whose maker is gone.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SweptCgroups {
    pub removed: usize,
    /// How many were not, since something in them is still ending.
    pub left: usize,
}

fn all_refused(wanted: &[Limit], reason: &str) -> Vec<Finding> {
    wanted.iter().map(|limit| limit.finding(Status::Not, reason.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::hierarchy::Unified;
    use policy::plan::Layer;
    use policy::rules::limits::{Bytes, MilliCpus};

    use super::limit::{has_swap, quota};
    use super::*;

    fn limits() -> Limits {
        Limits {
            memory: Some(Bytes(1 << 30)),
            cpus: Some(MilliCpus(1500)),
            pids: Some(256),
            ..Limits::default()
        }
    }

    fn status(findings: &[Finding]) -> Vec<(Layer, Status)> {
        findings.iter().map(|finding| (finding.layer, finding.status)).collect()
    }

    /// Creates a directory that looks like a delegated part of version 2: the own group has processes, its parent has
    /// not. Nothing can be enabled in it: what is written there is not what the kernel would show afterwards.
    fn delegated(enabled: &str) -> (tempfile::TempDir, Hierarchy) {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("own");
        fs::create_dir(&own).unwrap();
        fs::write(root.path().join("cgroup.procs"), "").unwrap();
        fs::write(root.path().join("cgroup.subtree_control"), enabled).unwrap();
        let v2 = Some(Unified { mount: root.path().to_owned(), own });
        (root, Hierarchy { v2, ..Hierarchy::default() })
    }

    #[test]
    fn version_2_takes_every_limit_in_the_nearest_group_that_is_delegated() {
        let (root, hierarchy) = delegated("cpu memory pids\n");
        let (group, findings) = Cgroup::create(CgroupSite::choose(&hierarchy, &limits()));
        assert!(
            findings.iter().all(|finding| finding.status == Status::Enforced || has_swap()),
            "{findings:?}"
        );
        let group = group.unwrap();
        assert!(matches!(group.attach().unwrap(), CgroupEntry::V2(_)));
        let directory = &group.directories[0];
        assert_eq!(directory.parent().unwrap(), root.path());
        let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
        assert_eq!(read("memory.max"), "1073741824");
        assert_eq!(read("memory.swap.max"), "0");
        assert_eq!(read("cpu.max"), "150000 100000");
        assert_eq!(read("pids.max"), "256");
    }

    #[test]
    fn a_group_beside_that_of_the_caller_may_use_no_more_than_that() {
        let (root, hierarchy) = delegated("cpu memory pids\n");
        let own = |file: &str, limit: &str| fs::write(root.path().join("own").join(file), limit).unwrap();
        own("memory.max", "1048576\n");
        own("cpu.max", "max 100000\n");
        own("pids.max", "1000\n");
        // Also where nobody asked for one.
        for wanted in [limits(), Limits { memory: None, ..limits() }] {
            let (group, findings) = Cgroup::create(CgroupSite::choose(&hierarchy, &wanted));
            assert_eq!(findings.len(), 3, "{findings:?}");
            let directory = group.unwrap().directories[0].clone();
            let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
            assert_eq!(
                [read("memory.max"), read("cpu.max"), read("pids.max")],
                ["1048576", "150000 100000", "256"]
            );
        }
    }

    #[test]
    fn a_missing_controller_is_named_and_the_other_limits_hold() {
        let (root, hierarchy) = delegated("memory pids\n");
        let (group, findings) = Cgroup::create(CgroupSite::choose(&hierarchy, &limits()));
        assert_eq!(
            status(&findings)[1..],
            [(Layer::Cpu, Status::Not), (Layer::Pids, Status::Enforced)],
            "{findings:?}"
        );
        assert!(findings[1].reason.contains("has no cpu controller"), "{}", findings[1].reason);
        assert_eq!(group.unwrap().directories[0].parent().unwrap(), root.path());
    }

    #[test]
    fn a_place_without_any_controller_is_not_used() {
        let (root, hierarchy) = delegated("\n");
        let before = fs::read_dir(root.path()).unwrap().count();
        let (group, findings) = Cgroup::create(CgroupSite::choose(&hierarchy, &limits()));
        assert!(group.is_none());
        assert!(findings.iter().all(|finding| finding.status == Status::Not), "{findings:?}");
        assert!(findings[0].reason.contains("no cgroup is delegated"), "{}", findings[0].reason);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), before);
    }

    #[test]
    fn without_limits_there_is_no_group() {
        let limits = Limits { pids: None, ..Limits::default() };
        let (group, findings) = Cgroup::create(CgroupSite::choose(&Hierarchy::default(), &limits));
        assert!(group.is_none() && findings.is_empty());
    }

    #[test]
    fn without_cgroups_every_limit_is_reported() {
        let (group, findings) = Cgroup::create(CgroupSite::choose(&Hierarchy::default(), &limits()));
        assert!(group.is_none());
        assert!(findings.iter().all(|finding| finding.status == Status::Not), "{findings:?}");
    }

    #[test]
    fn the_quota_is_a_share_of_the_period() {
        assert_eq!(quota(MilliCpus(1000)), 100_000);
        assert_eq!(quota(MilliCpus(250)), 25_000);
        assert_eq!(quota(MilliCpus(u32::MAX)), 429_496_729_500);
    }

    #[test]
    fn sweeping_takes_only_empty_groups_of_dead_owners() {
        let place = tempfile::tempdir().unwrap();
        let live = GroupOwner::current().unwrap().new_name();
        let fields: Vec<&str> = live.split('-').collect();
        let earlier = |started: u32| {
            let (name, namespace, pid, time) = (fields[0], fields[1], fields[2], fields[4]);
            format!("{name}-{namespace}-{pid}-{started}-{time}-0")
        };
        let (dead, busy) = (earlier(1), earlier(2));
        let foreign = "sandboxctl-1-1-1-1-0";
        for name in [live.as_str(), &dead, &busy, &format!("{busy}/inner"), foreign, "user.slice"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        let v1 = BTreeMap::from([
            (Controller::Memory, place.path().to_owned()),
            (Controller::Cpu, place.path().to_owned()),
        ]);
        assert_eq!(sweep(&Hierarchy { v1, v2: None }), SweptCgroups { removed: 1, left: 1 });
        assert!(!place.path().join(dead).exists());
        for name in [live.as_str(), &busy, foreign, "user.slice"] {
            assert!(place.path().join(name).exists(), "{name}");
        }
    }
}
