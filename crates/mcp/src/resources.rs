//! What clients can read beside tools: the policy, and what of it was enforced. No path of the host is in it.

use policy::plan::{Execution, Network, Plan, Worker};
use policy::rules::path::BoundaryMode;
use policy::rules::rootfs::TMPFS_PATHS;
use policy::text::{escape, time};
use rmcp::model::{AnnotateAble as _, RawResource, Resource, ResourceContents};
use sandbox::Sandbox;
use sandbox::shell::note::possible;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::session::Session;

/// A resource.
struct Row {
    uri: &'static str,
    name: &'static str,
    description: &'static str,
    mime_type: &'static str,
    read: fn(&Session) -> Result<String, Failure>,
}

/// Every resource.
const ALL: &[Row] = &[
    Row {
        uri: "sandbox://policy",
        name: "policy",
        description: "What may be read, written and reached in sandboxes of this server, and their limits, as JSON",
        mime_type: "application/json",
        read: |session| Ok(pretty(&policy_object(&session.program.plan))),
    },
    Row {
        uri: "sandbox://policy.txt",
        name: "policy, as text",
        description: "The same, in words",
        mime_type: "text/plain",
        read: |session| Ok(policy_text(&session.program.plan)),
    },
    Row {
        uri: "sandbox://report",
        name: "report",
        description: "Which layers of isolation the default sandbox enforces, as was seen from inside. Reading it makes the sandbox where it is not there",
        mime_type: "application/json",
        read: |session| Ok(pretty(&report_object(&session.sandbox(None)?.sandbox))),
    },
];

/// Lists the resources.
pub(crate) fn list() -> Vec<Resource> {
    let resource = |row: &Row| {
        let mut resource = RawResource::new(row.uri, row.name);
        resource.description = Some(row.description.to_owned());
        resource.mime_type = Some(row.mime_type.to_owned());
        resource.no_annotation()
    };
    ALL.iter().map(resource).collect()
}

/// Reads a resource; `None` where there is none.
pub(crate) fn read(session: &Session, uri: &str) -> Option<Result<ResourceContents, Failure>> {
    let row = ALL.iter().find(|row| row.uri == uri)?;
    Some((row.read)(session).map(|text| ResourceContents::TextResourceContents {
        uri: row.uri.to_owned(),
        mime_type: Some(row.mime_type.to_owned()),
        text,
        meta: None,
    }))
}

/// Returns the policy of a sandbox as an object.
pub(crate) fn policy_object(plan: &Plan) -> Value {
    let boundaries = plan.boundaries.iter().map(|boundary| {
        json!({
            "name": boundary.name,
            "path": escape::path(&boundary.guest),
            "write": boundary.mode == BoundaryMode::ReadWrite,
            "execute": boundary.execution == Execution::Allowed,
            "hidden": boundary.hide,
        })
    });
    let (allow, deny) = match &plan.network {
        Network::Allowlist { allow, deny, .. } => (allow.as_slice(), deny.as_slice()),
        Network::None | Network::Open => (&[][..], &[][..]),
    };
    let patterns = |rules: &[policy::rules::network::HostRule]| {
        rules.iter().map(|rule| rule.pattern.to_string()).collect::<Vec<_>>()
    };
    json!({
        "provider": plan.provider,
        "working_directory": escape::path(&plan.agent.workdir),
        "shared_directories": boundaries.collect::<Vec<_>>(),
        "temporary_directories": TMPFS_PATHS,
        "protected": plan.protect.paths,
        "network": { "mode": plan.network.mode(), "allow": patterns(allow), "deny": patterns(deny) },
        "commands": plan.commands,
        "workers": plan.workers.iter().map(worker_object).collect::<Vec<_>>(),
        "limits": {
            "memory_bytes": plan.limits.memory.map(|bytes| bytes.0),
            "processes": plan.limits.pids,
            "timeout_seconds": plan.limits.timeout.map(|timeout| timeout.as_secs()),
        },
    })
}

/// Returns a worker, and its own policy, as an object.
fn worker_object(worker: &Worker) -> Value {
    let mut policy = policy_object(&worker.plan);
    if let Some(policy) = policy.as_object_mut() {
        // As long as all the rest, and the same.
        policy.remove("protected");
    }
    json!({
        "name": worker.name,
        "description": worker.description,
        "at_once": worker.max,
        "attachments": {
            "max": worker.attachments.max,
            "max_bytes": worker.attachments.max_bytes.0,
            "suffixes": worker.attachments.suffixes,
        },
        "policy": policy,
    })
}

/// Returns the policy of a sandbox in words.
pub(crate) fn policy_text(plan: &Plan) -> String {
    let mut lines = vec![
        format!("Commands start in `{}`.", escape::path(&plan.agent.workdir)),
        format!("What is allowed: {}", possible(plan)),
    ];
    let hidden: Vec<_> = plan
        .boundaries
        .iter()
        .flat_map(|boundary| &boundary.hide)
        .map(|pattern| format!("`{pattern}`"))
        .collect();
    if !hidden.is_empty() {
        lines.push(format!("Hidden in shared directories: {}.", hidden.join(", ")));
    }
    if !plan.protect.paths.is_empty() {
        lines.push(format!(
            "{} names are protected in shared directories, because programs of the host execute or obey what is there, such as `.git/hooks`: what exists is read-only, and what is new may be quarantined when the sandbox has ended. `sandbox://policy` lists them.",
            plan.protect.paths.len()
        ));
    }
    if !plan.commands.allow_everything() {
        lines.push("Rules decide about each command before it runs: a person may be asked about it, or it is refused. `query` with `run` says which.".to_owned());
    }
    for worker in &plan.workers {
        let what = worker.description.as_ref().map(|text| format!(", which {}", escape::line(text)));
        lines.push(format!("`delegate` reaches the worker `{}`{}.", worker.name, what.unwrap_or_default()));
    }
    if let Some(timeout) = plan.limits.timeout {
        lines.push(format!("No command runs longer than {}.", time::duration(timeout)));
    }
    lines.push("This is policy: what it refuses stays refused, and retrying does not help.".to_owned());
    lines.join("\n")
}

/// Returns what a sandbox enforces as an object.
pub(crate) fn report_object(sandbox: &Sandbox) -> Value {
    let report = sandbox.record.started.as_ref().map(|started| &started.report);
    json!({ "sandbox": sandbox.name(), "layers": report })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
