//! Limits of a native sandbox: by cgroup where there is one for us, by rlimits where not.

use std::os::fd::{AsFd, BorrowedFd};

use confine::cgroup::{Attach, Group, Hierarchy, sweep};
use confine::report::{Finding, Report, Status};
use confine::rlimit::Substitutes;
use policy::plan::{Layer, Need, Plan};

use crate::provider::{StartError, remedy};

/// The limits of one sandbox, in force until they are removed.
pub(super) struct Limits {
    hierarchy: Hierarchy,
    group: Option<Group>,
    /// How the agent gets into the group.
    pub(super) attach: Option<Attach>,
    findings: Vec<Finding>,
    /// What rlimits stand in for.
    pub(super) substitutes: Substitutes,
}

impl Limits {
    /// Makes the groups.
    pub(super) fn apply(plan: &Plan) -> Result<Self, StartError> {
        let failed =
            |source| StartError::Step { step: "looking for control groups".into(), source, remedy: None };
        let hierarchy = Hierarchy::detect().map_err(failed)?;
        let (group, findings) = Group::create(&hierarchy, &plan.limits);
        let substitutes = Substitutes::for_missing(&plan.limits, &findings);
        let mut limits = Self { hierarchy, group, attach: None, findings, substitutes };
        for finding in &limits.findings {
            if plan.layers.get(&finding.layer) == Some(&Need::Required) && finding.status != Status::Enforced
            {
                return Err(remedy::layer(plan.provider, finding.layer, finding.reason.clone()));
            }
        }
        let attach = limits.group.as_ref().map(Group::attach).transpose();
        limits.attach = attach.map_err(|error| StartError::Step {
            step: "entering the control groups".into(),
            source: std::io::Error::other(error),
            remedy: None,
        })?;
        Ok(limits)
    }

    /// Removes the empty groups of runs whose clients were killed. Nobody waits for it: it is done while PID 1
    /// confines itself.
    pub(super) fn sweep_others(&self) {
        sweep(&self.hierarchy);
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
        report.add(Finding {
            layer: Layer::Disk,
            status: Status::Partly,
            reason: "each tmpfs is bounded by tmp_size; space in shared directories is not".into(),
        });
    }

    /// Whether the kernel has killed a process inside because the limit of memory was reached.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.group.as_ref().and_then(Group::oom_kills).is_some_and(|kills| kills > 0)
    }

    /// The cgroup v2 directory that PID 1 is born in.
    pub(super) fn birthplace(&self) -> Option<BorrowedFd<'_>> {
        match &self.attach {
            Some(Attach::V2(directory)) => Some(directory.as_fd()),
            _ => None,
        }
    }

    /// The cgroup v1 files by which the agent joins.
    pub(super) fn tasks(&self) -> Vec<BorrowedFd<'_>> {
        match &self.attach {
            Some(Attach::V1(tasks)) => tasks.iter().map(AsFd::as_fd).collect(),
            _ => Vec::new(),
        }
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        // Everything inside has ended; a group that resists is empty soon, and the next command sweeps it.
        if let Some(group) = self.group.take() {
            let _ = group.kill_and_remove();
        }
    }
}
