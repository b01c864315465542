//! The report as people read it, and which of its lines are printed without being requested.

use std::fmt;

use confine::report::{Finding, Report, Status};
use policy::plan::{Layer, Plan};

use crate::text;

/// Formats the report as an aligned table: layer, status, reason.
pub(crate) fn table(report: &Report) -> String {
    let line = |Finding { layer, status, reason }: &Finding| {
        format!("{:<12}  {:<8}  {}\n", layer.to_string(), self::status(*status), text::one_line(reason))
    };
    report.0.iter().map(line).collect::<Vec<_>>().concat()
}

/// Lists the findings that a person should see even without asking for the report: isolation that is weaker than it is by
/// default, what does not hold at all, and what was requested and holds in part. What is partly there on every run of a
/// machine, and nobody requested, would only teach people not to read.
pub(crate) fn weak<'a>(
    plan: &'a Plan,
    asked: &'a [Layer],
    report: &'a Report,
) -> impl Iterator<Item = &'a Finding> {
    report.0.iter().filter(|finding| match finding.layer {
        // An engine that runs as root makes no user namespace, and nobody who chose it asked for one.
        Layer::User if plan.provider.runs_containers() => finding.status == Status::Not,
        Layer::User
        | Layer::Mount
        | Layer::Pid
        | Layer::Net
        | Layer::Ipc
        | Layer::Landlock
        | Layer::Seccomp
        | Layer::Capabilities => finding.status != Status::Enforced,
        Layer::Protect | Layer::Memory | Layer::Cpu | Layer::Pids => match finding.status {
            Status::Enforced => false,
            Status::Partly => asked.contains(&finding.layer),
            Status::Not => true,
        },
        Layer::Uts | Layer::Cgroup | Layer::Groups | Layer::Sockets | Layer::Disk => false,
    })
}

/// Returns how a status reads in a sentence.
pub(crate) fn status(status: Status) -> &'static str {
    match status {
        Status::Enforced => "enforced",
        Status::Partly => "partly",
        Status::Not => "not",
    }
}

/// Describes what the agent did.
pub(crate) fn made(finding: impl fmt::Display) -> String {
    format!("the agent has made {finding}")
}
