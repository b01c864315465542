//! A sandbox in the foreground, whose client waits for its end: what every provider does once PID 1 knows what it is to run.

use std::time::{Duration, Instant};

use confine::protocol::{ControlSocket, EgressCounts, Shortage};
use confine::report::Report;
use policy::plan::Plan;

use super::launch::Launched;
use super::staying::Attached;
use crate::host::identity::Identity;
use crate::host::terminal::{Relay, Signals};
use crate::session::attendance::{Attendance, Parent};
use crate::session::boundaries::{Boundaries, Last};
use crate::session::children::ChildrenProcess;
use crate::session::egress::{EgressProxy, SecretRenewer, renewal};
use crate::session::error::StartError;
use crate::session::outcome::{InitIds, Notice, Outcome, oom_killed};
use crate::session::sidecar::Until;
use crate::session::streams::Streams;
use crate::session::supervise::{Ended, Gone, Watch, supervise};
use crate::state::pool::PoolStart;
use crate::state::sandboxes::StartedRecord;

/// A sandbox that runs, with what its client has beside it.
pub(super) struct Foreground<'a, 'n> {
    pub(super) plan: &'a Plan,
    pub(super) caller: Identity,
    /// The process that everything is to end with.
    pub(super) parent: Option<&'a Parent>,
    /// PID 1, where it is seen from here.
    pub(super) pid: Option<i32>,
    /// Ends PID 1 from outside and everything inside with it, and waits until that is so.
    pub(super) end: &'a dyn Fn(),
    /// Completes the report with what only the outside knows.
    pub(super) complete: &'a dyn Fn(&mut Report),
    pub(super) boundaries: &'a Boundaries<'a>,
    pub(super) children: Option<&'a mut ChildrenProcess<'n>>,
    pub(super) egress: Option<&'a mut EgressProxy>,
    /// Reads a secret of the egress proxy again.
    pub(super) renew: Option<&'a SecretRenewer<'a>>,
    /// What others find it by.
    pub(super) named: &'a mut Attached<'n>,
    pub(super) pool: Option<PoolStart>,
}

/// How a command has ended, and what else is said of its sandbox.
pub(super) struct ForegroundEnd {
    /// An error where PID 1 has not said that everything is over.
    pub(super) ended: Result<Ended, StartError>,
    duration: Duration,
    pid: Option<i32>,
    pool: Option<PoolStart>,
}

impl Foreground<'_, '_> {
    /// Waits until the command ends, its time is over, or this process is told to end it.
    pub(super) fn wait(
        self,
        control: ControlSocket,
        streams: Streams,
        relay: Option<Relay>,
        signals: &Signals,
        notice: &mut dyn FnMut(Notice),
    ) -> ForegroundEnd {
        let Self { plan, pid, pool, children, mut egress, named, .. } = self;
        let began = Instant::now();
        let renewals = egress.as_mut().and_then(|egress| egress.take_renewals());
        let mut start_children = children.map(|children| |listener| children.start(listener, Until::Client));
        let mut notice_of = |one: Notice| {
            if let Notice::Started(report) = &one {
                // This process watches over what is hidden.
                let covered = Vec::new();
                named.started(StartedRecord { pid, report: report.clone(), pool, covered }, notice);
            }
            notice(one);
        };
        let watch = Watch {
            provider: plan.provider,
            control,
            end: self.end,
            streams,
            relay,
            gone: Gone::Sandbox,
            timeout: plan.limits.timeout,
            timeout_inside: None,
            sockets: Some((&plan.sockets, self.caller)),
            children: start_children.as_mut().map(|start| start as _),
            egress,
            attendance: Attendance::new(self.parent),
            complete: self.complete,
            boundaries: Some(self.boundaries),
            notice: &mut notice_of,
        };
        let ended = renewal::during(renewals, plan, self.renew, || supervise(watch, signals));
        ForegroundEnd { ended, duration: began.elapsed(), pid, pool }
    }
}

impl ForegroundEnd {
    /// Makes the outcome, with what was found when everything inside had ended. `short_of` is what only the outside has seen it to lack.
    ///
    /// # Errors
    ///
    /// PID 1 has not said that everything is over.
    pub(super) fn into_launched(
        self,
        plan: &Plan,
        last: Last,
        egress: Option<EgressCounts>,
        short_of: Option<Shortage>,
        notice: &mut dyn FnMut(Notice),
    ) -> Result<Launched, StartError> {
        let Self { ended, duration, pid, pool } = self;
        let mut ended = ended?;
        ended.shortages.extend(short_of);
        ended.warn_of_shortages(plan, notice);
        last.complete(&mut ended.report);
        let oom_killed = oom_killed(&ended.shortages, &ended.report);
        Ok(Launched::ended(Outcome {
            end: ended.end,
            report: ended.report,
            init: Some(InitIds { pid, namespaces: ended.namespaces }),
            output: ended.output,
            detected: last.detected,
            egress,
            usage: None,
            oom_killed,
            duration,
            pool,
        }))
    }
}
