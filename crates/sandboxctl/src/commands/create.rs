//! `create`: a sandbox that waits for commands; and making one again that has ended.

use std::collections::BTreeSet;
use std::path::PathBuf;

use confine::protocol::Attachment;
use policy::plan::Plan;
use sandbox::host::deadline::Deadline;
use sandbox::provider::launch::Lifeline;
use sandbox::state::plans::Plans;
use sandbox::state::sandboxes::{FirstCommand, Phase, SandboxError, SandboxRecord, StayPlan, StayingSandbox};
use serde_json::json;

use super::carry_out::{Carried, Start, Stay, carry, carry_out, made};
use super::sandboxes::{MAKING, lookup_made};
use crate::cli::{CreateArgs, ShowArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::load::{self, Loaded};
use crate::ui::Ui;

/// Makes a sandbox that waits for commands.
pub(crate) fn create(ui: &Ui, context: Context, args: &CreateArgs) -> Result<ExitCode, CommandError> {
    let loaded = load::plan(ui, &context, &args.request, Vec::new(), &mut |_| ())?;
    if args.reuse {
        if let Some(found) = lookup_made(&context, &loaded.plan.name)? {
            return reuse(ui, &found, &loaded.plan);
        }
    }
    stay(ui, context, loaded, FirstCommand::None, &args.show)
}

/// Uses a sandbox that is there, if it was made from the same plan.
fn reuse(ui: &Ui, found: &StayingSandbox, plan: &Plan) -> Result<ExitCode, CommandError> {
    if found.record.stay.attachment == Attachment::Attached {
        // It ends with somebody else's command, or process.
        let (name, phase) = (found.name().to_owned(), found.phase);
        return Err(SandboxError::NameInUse { name, phase, attachment: Attachment::Attached }.into());
    }
    same_plan(found, plan)?;
    if found.phase != Phase::Running {
        let (name, phase) = (found.name().to_owned(), found.phase);
        return Err(SandboxError::Phase { name, phase, action: "be reused" }.into());
    }
    made(ui, &found.record, "reused")
}

/// Refuses a sandbox that was made from another plan.
pub(super) fn same_plan(found: &StayingSandbox, plan: &Plan) -> Result<(), CommandError> {
    let (theirs, ours) = (json!(found.record.plan), json!(plan));
    let keys = ours.as_object().into_iter().chain(theirs.as_object()).flat_map(|object| object.keys());
    let differing: BTreeSet<&String> = keys.filter(|key| theirs.get(key) != ours.get(key)).collect();
    if differing.is_empty() {
        return Ok(());
    }
    let differing: Vec<_> = differing.into_iter().map(String::as_str).collect();
    let (name, what) = (found.name(), differing.join(", "));
    let message = format!("sandbox \"{name}\" was made from something else: {what} differ");
    Err(CommandError::message(Code::SandboxNameInUse, message)
        .details(json!({ "differing": differing }))
        .hint(
            "`sandboxctl inspect` shows what it was made from, `sandboxctl plan` what it would be made from",
        ))
}

/// Makes a persistent sandbox.
pub(super) fn stay(
    ui: &Ui,
    context: Context,
    loaded: Loaded,
    command: FirstCommand,
    show: &ShowArgs,
) -> Result<ExitCode, CommandError> {
    let lifecycle = loaded.plan.lifecycle;
    // A limit of time is that of the command, and with it the sandbox ends.
    let of_command = loaded.plan.limits.timeout.filter(|_| command == FirstCommand::Run);
    let stay = StayPlan {
        command,
        attachment: Attachment::Detached,
        idle_timeout: lifecycle.idle_timeout,
        max_duration: lifecycle.max_duration.into_iter().chain(of_command).min(),
        log_bytes: loaded.plan.limits.output_bytes.0,
    };
    let start = Start { stay: Some(Stay { plan: stay, replaces: None, most: None }), ..Start::default() };
    carry_out(ui, context, loaded, start, show)
}

/// Makes a sandbox again that has ended, from the same plan, and returns its record. Where another client does so at the same time, it waits for that.
pub(super) fn restart(
    ui: &Ui,
    context: &mut Context,
    ended: &StayingSandbox,
) -> Result<Box<SandboxRecord>, CommandError> {
    // Making one takes what it needs out of the environment.
    let env = context.env.clone();
    let until = Deadline::after(MAKING);
    loop {
        let made = make_again(ui, context, ended);
        context.env.clone_from(&env);
        let Err(failed) = made else { return made };
        if failed.code != Code::SandboxNameInUse || until.is_over() {
            return Err(failed);
        }
        match lookup_made(context, ended.name())? {
            // It may have ended again by now.
            Some(found) if found.phase == Phase::Running || found.record.id != ended.record.id => {
                return Ok(Box::new(found.record));
            }
            // That client has failed.
            Some(found) if found.phase == Phase::Stopped => {}
            _ => return Err(failed),
        }
    }
}

fn make_again(
    ui: &Ui,
    context: &mut Context,
    ended: &StayingSandbox,
) -> Result<Box<SandboxRecord>, CommandError> {
    if ended.record.stay.attachment == Attachment::Attached {
        // Its command was that of a client, which is not run again without one.
        let (name, phase) = (ended.name().to_owned(), ended.phase);
        return Err(SandboxError::Phase { name, phase, action: "be started again" }.into());
    }
    if context.is_behind_sudo() && !Plans::open(&context.own())?.confirm(&ended.record)? {
        let message = format!(
            "sandbox \"{}\" is not started again under sudo: its record is a file of the user behind sudo, and root has not made it from that",
            ended.name()
        );
        return Err(CommandError::message(Code::PolicyDenied, message)
            .hint("start it without sudo, or make another one with `sandboxctl create`"));
    }
    let loaded = load::recorded(context, &ended.record.plan)?;
    let stay = Stay { plan: ended.record.stay, replaces: Some(ended.record.id.clone()), most: None };
    let start = Start { stay: Some(stay), ..Start::default() };
    let show = ShowArgs { dry_run: false, report: false };
    match carry(ui, context, loaded, start, &show)? {
        Carried::Stays(record, _) => Ok(record),
        // What it runs from its start could not be executed, which was said.
        Carried::Ended(code) => Err(CommandError::message(
            Code::StartFailed,
            format_args!(
                "sandbox \"{}\" was not started: its command ended with {}",
                ended.name(),
                code.number()
            ),
        )),
    }
}

/// Makes a sandbox that waits for commands from a plan that was loaded before, and returns its record, with what it lives by where it is attached to
/// this process. Where there are `most` persistent sandboxes already, it is refused. The environment is taken out of the context.
pub(super) fn make(
    ui: &Ui,
    context: &mut Context,
    plan: &Plan,
    project: Option<PathBuf>,
    attachment: Attachment,
    most: Option<usize>,
) -> Result<(Box<SandboxRecord>, Option<Lifeline>), CommandError> {
    let mut loaded = load::recorded(context, plan)?;
    loaded.project = project;
    let stay = StayPlan {
        attachment,
        command: FirstCommand::None,
        idle_timeout: plan.lifecycle.idle_timeout,
        max_duration: plan.lifecycle.max_duration,
        log_bytes: 0,
    };
    let start = Start { stay: Some(Stay { plan: stay, replaces: None, most }), ..Start::default() };
    match carry(ui, context, loaded, start, &ShowArgs { dry_run: false, report: false })? {
        Carried::Stays(record, lifeline) => Ok((record, lifeline)),
        Carried::Ended(code) => Err(CommandError::message(
            Code::StartFailed,
            format_args!("the sandbox was not made: it has ended with {}", code.number()),
        )),
    }
}
