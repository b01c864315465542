//! Limits of a native sandbox: by cgroup where there is one for us, by rlimits where not.

use std::os::fd::{AsFd, BorrowedFd};

use confine::cgroup::{Cgroup, CgroupEntry, CgroupSite, Hierarchy, KillCounter, SweptCgroups, sweep};
use confine::protocol::RlimitFallback;
use confine::report::{Finding, Report, Status};
use policy::plan::{Layer, Need, Plan};
use policy::rules::limits::{TmpfsLimits, TmpfsMemory};
use policy::rules::rootfs::TMPFS_PATHS;

use crate::session::error::StartError;
use crate::session::remedy;

/// The limits of one sandbox, in force until this is dropped.
pub(super) struct LimitEnforcement<'a> {
    plan: &'a Plan,
    hierarchy: &'a Hierarchy,
    /// Where groups are still to be made.
    site: Option<CgroupSite<'a>>,
    group: Option<Cgroup>,
    /// How the agent gets into the group.
    attach: Option<CgroupEntry>,
    findings: Vec<Finding>,
}

impl<'a> LimitEnforcement<'a> {
    /// Chooses where the groups will be. Groups that PID 1 has to be created in are made at once; others by [`Self::apply`].
    pub(super) fn choose(plan: &'a Plan, hierarchy: &'a Hierarchy) -> Result<Self, StartError> {
        let site = CgroupSite::choose(hierarchy, &plan.limits);
        let comes_first = site.clones_into_cgroup();
        let mut limits =
            Self { plan, hierarchy, site: Some(site), group: None, attach: None, findings: Vec::new() };
        if comes_first {
            // PID 1 is in them, so nobody finds them empty while it lives.
            limits.apply(std::process::id())?;
        }
        Ok(limits)
    }

    /// Makes the groups of a process, unless that was done.
    pub(super) fn apply(&mut self, owner: u32) -> Result<(), StartError> {
        let Some(site) = self.site.take() else { return Ok(()) };
        (self.group, self.findings) = Cgroup::create_for(site, owner);
        let needs = &self.plan.layers;
        let is_missing = |finding: &&Finding| {
            needs.get(&finding.layer) == Some(&Need::Required) && finding.status != Status::Enforced
        };
        if let Some(missing) = self.findings.iter().find(is_missing) {
            return Err(remedy::layer(self.plan.provider, missing.layer, missing.reason.clone()));
        }
        let attach = self.group.as_ref().map(Cgroup::attach).transpose();
        self.attach = attach.map_err(|error| StartError::Step {
            step: "entering the control groups".into(),
            source: std::io::Error::other(error),
            remedy: None,
        })?;
        Ok(())
    }

    /// Returns what each tmpfs of the sandbox may hold.
    pub(super) fn tmpfs(&self) -> TmpfsLimits {
        let counts = |finding: &Finding| finding.layer == Layer::Memory && finding.status != Status::Not;
        let tmpfs = u64::try_from(TMPFS_PATHS.len()).unwrap_or(u64::MAX);
        self.plan.limits.tmpfs(if self.findings.iter().any(counts) {
            TmpfsMemory::Counted
        } else {
            TmpfsMemory::Uncounted { tmpfs }
        })
    }

    /// Returns the rlimits that stand in for limits of cgroups.
    pub(super) fn rlimit_fallback(&self) -> RlimitFallback {
        RlimitFallback::for_missing(&self.plan.limits, &self.findings)
    }

    /// Removes the empty groups of runs whose clients were killed. Nobody waits for it: it is done while PID 1
    /// confines itself, and once more at the end where something was left.
    pub(super) fn sweep_others(&self) -> SweptCgroups {
        sweep(self.hierarchy)
    }

    /// Completes what PID 1 has seen. A limit that neither holds is `not`; one that rlimits stand in for keeps
    /// their line, with the reason why it is not more.
    pub(super) fn complete(&self, report: &mut Report) {
        for finding in &self.findings {
            match report.0.iter_mut().find(|line| line.layer == finding.layer) {
                Some(line) => line.reason = format!("{} ({})", line.reason, finding.reason),
                None => report.add(finding.clone()),
            }
        }
        let tmpfs = self.tmpfs();
        report.add(Finding {
            layer: Layer::Disk,
            status: Status::Partly,
            reason: format!(
                "each tmpfs holds at most {} and {} files; space in shared directories is not bounded",
                tmpfs.size, tmpfs.inodes
            ),
        });
    }

    /// Returns whether the kernel has killed a process inside because the limit of memory was reached.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.group.as_ref().and_then(Cgroup::oom_kills).is_some_and(|kills| kills > 0)
    }

    /// Opens what counts those processes, where anything does.
    pub(super) fn kill_counter(&self) -> Option<KillCounter> {
        self.group.as_ref().and_then(Cgroup::kill_counter)
    }

    /// Returns the cgroup v2 directory that PID 1 is created in.
    pub(super) fn clone_into_cgroup(&self) -> Option<BorrowedFd<'_>> {
        match &self.attach {
            Some(CgroupEntry::V2(directory)) => Some(directory.as_fd()),
            _ => None,
        }
    }

    /// Lists the cgroup v1 files by which the agent enters its groups.
    pub(super) fn tasks(&self) -> Vec<BorrowedFd<'_>> {
        match &self.attach {
            Some(CgroupEntry::V1(tasks)) => tasks.iter().map(AsFd::as_fd).collect(),
            _ => Vec::new(),
        }
    }

    /// Removes groups that only the agent was in, once it has ended. Those that PID 1 is in go when this is dropped.
    pub(super) fn remove_agents(&mut self) {
        if matches!(self.attach, Some(CgroupEntry::V1(_))) {
            self.attach = None;
            self.remove();
        }
    }

    /// Leaves the groups to a persistent sandbox: another command sweeps them when that has ended.
    pub(super) fn leave(mut self) {
        self.group = None;
    }

    fn remove(&mut self) {
        // Everything inside has ended; a group that resists is empty soon, and the next command sweeps it.
        if let Some(group) = self.group.take() {
            let _ = group.kill_and_remove();
        }
    }
}

impl Drop for LimitEnforcement<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}
