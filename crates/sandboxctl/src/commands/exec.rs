//! `exec`: a second command in a sandbox that runs.

use policy::plan::Plan;
use sandbox::provider::{self, Entry, Streams};

use crate::cli::{ExecArgs, Format, Request};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use crate::{load, output};

pub(crate) fn exec(ui: &Ui, context: &Context, args: ExecArgs) -> Result<ExitCode, CommandError> {
    let ExecArgs { source, env, workdir, provider, name, argv } = args;
    let request = Request { source, name: Some(name), env, workdir, provider, ..Request::default() };
    let loaded = load::plan(ui, context, &request, argv)?;
    let plan: &Plan = &loaded.plan;
    if !plan.secrets.is_empty() {
        ui.warning("secrets stay with the first command: an engine keeps what it is told of a second one");
    }
    let outcome = provider::enter(&Entry {
        plan,
        streams: match ui.format() {
            Format::Text => Streams::Inherit,
            Format::Json => Streams::Capture,
        },
        owner: context.caller.uid,
        state: &context.state(),
        engines: &context.engines(),
    })?;
    let (code, failure) = super::run::judge(&outcome.end, plan.provider);
    match ui.format() {
        Format::Json => ui.json(&output::run(&loaded, &outcome, code, failure.as_ref(), &[]))?,
        // The program inside has said what there is to say.
        Format::Text => {}
    }
    Ok(code)
}
