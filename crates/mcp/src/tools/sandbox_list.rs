//! `sandbox_list`: lists the sandboxes of this session.

use sandbox::Sandbox;
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::NoInput;
use super::row::{Effect, Row, schema, typed};
use crate::admission::Queue;
use crate::failure::Failure;
use crate::session::Session;

pub(super) const ROW: Row = Row {
    name: "sandbox_list",
    title: "List sandboxes",
    description: "Lists the sandboxes of this session. Others of the same person are not shown and cannot be used.",
    queue: Queue::Quick,
    effect: Effect::Reads,
    input: schema::<NoInput>,
    output: schema::<ListOutput>,
    wanted: None,
    run: |session, _, arguments| {
        typed(arguments, |NoInput {}| {
            let all = session.all();
            let sandboxes = all.iter().map(|sandbox| SandboxOutput::of(session, sandbox));
            let sandboxes = sandboxes.collect::<Result<Vec<_>, _>>()?;
            let lines: Vec<_> = sandboxes.iter().map(SandboxOutput::line).collect();
            let text = if lines.is_empty() {
                "none yet: the first command makes the default one".to_owned()
            } else {
                lines.join("\n")
            };
            Ok((ListOutput { sandboxes }, text))
        })
    },
};

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct ListOutput {
    sandboxes: Vec<SandboxOutput>,
}

/// A sandbox.
#[derive(JsonSchema, Serialize)]
pub(super) struct SandboxOutput {
    pub(super) name: String,
    /// Whether it is the one that tools use without a name
    default: bool,
    /// Who carries it out: native, docker, podman or local
    provider: String,
    /// Whether it is alive; one that is not can only be removed
    alive: bool,
    /// When it was made, in seconds since 1970
    created: u64,
}

impl SandboxOutput {
    /// Describes a sandbox as it is now.
    pub(super) fn of(session: &Session, sandbox: &Sandbox) -> Result<Self, Failure> {
        Ok(Self {
            name: sandbox.name().to_owned(),
            default: sandbox.name() == session.default_name(),
            provider: sandbox.record.plan.provider.to_string(),
            alive: sandbox.lives()?,
            created: sandbox.record.created,
        })
    }

    /// Describes it in one line.
    pub(super) fn line(&self) -> String {
        let state = if self.alive { "alive" } else { "has ended" };
        let default = if self.default { ", default" } else { "" };
        format!("{}: {}, {state}{default}", self.name, self.provider)
    }
}
