//! `ls`: lists the persistent sandboxes.

use confine::protocol::{EndCause, SandboxEnd, StayStatus};
use policy::text::time;
use sandbox::state::sandboxes::{Phase, StayingSandbox};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::cli::ListArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// A sandbox, as it is now.
struct ListedSandbox {
    sandbox: StayingSandbox,
    /// Of a running one, unless it has ended meanwhile.
    status: Option<StayStatus>,
    end: Option<SandboxEnd>,
}

pub(crate) fn ls(ui: &Ui, context: &Context, args: &ListArgs) -> Result<ExitCode, CommandError> {
    let mut all = Vec::new();
    for found in super::open(context)?.list()? {
        match found {
            Ok(sandbox) if sandbox.phase.has_ended() && !args.all => {}
            Ok(sandbox) => {
                let is_running = sandbox.phase == Phase::Running;
                let status = if is_running { sandbox.status().ok() } else { None };
                let end = if is_running { None } else { sandbox.end()? };
                all.push(ListedSandbox { sandbox, status, end });
            }
            Err(error) => ui.warning(error),
        }
    }
    let objects: Vec<_> = all.iter().map(object).collect();
    ui.data(&json!({ "sandboxes": objects }), |_| table(&all))?;
    Ok(ExitCode::Success)
}

fn object(listed: &ListedSandbox) -> Value {
    let record = &listed.sandbox.record;
    json!({
        "name": record.name,
        "id": record.id,
        "provider": record.plan.provider,
        "state": listed.sandbox.phase,
        "created": record.created,
        "commands": listed.status.map(|status| status.commands),
        "idle_ms": listed.status.and_then(|status| status.idle).map(|idle| u64::try_from(idle.as_millis()).unwrap_or(u64::MAX)),
        "end": listed.sandbox.phase.has_ended().then(|| super::end_object(listed.end)),
    })
}

/// Formats them as aligned columns.
fn table(all: &[ListedSandbox]) -> String {
    if all.is_empty() {
        return "no sandbox runs; `create`, `run --detach` and `run --name` make one\n".to_owned();
    }
    let width = all.iter().map(|one| one.sandbox.name().len()).max().unwrap_or_default().max("NAME".len());
    let head = format!("{:width$}  {:<8}  {:<10}  STATUS\n", "NAME", "PROVIDER", "AGE");
    let line = |one: &ListedSandbox| {
        let record = &one.sandbox.record;
        let (name, provider) = (&record.name, record.plan.provider.to_string());
        format!("{name:width$}  {provider:<8}  {:<10}  {}\n", age(record.created), status(one))
    };
    all.iter().fold(head, |text, one| text + &line(one))
}

/// Describes how a sandbox is.
fn status(listed: &ListedSandbox) -> String {
    match (listed.sandbox.phase, listed.status) {
        (Phase::Creating, _) => "creating".to_owned(),
        (Phase::Paused, _) => "paused".to_owned(),
        (Phase::Running, Some(StayStatus { idle: Some(idle), .. })) => {
            format!("running, idle for {}", time::duration(Duration::from_secs(idle.as_secs())))
        }
        (Phase::Running, Some(StayStatus { commands: 1, .. })) => "running, 1 command".to_owned(),
        (Phase::Running, Some(StayStatus { commands, .. })) => format!("running, {commands} commands"),
        (Phase::Running, None) => "running, does not answer".to_owned(),
        (Phase::Ending, _) => "ending, its client removes it".to_owned(),
        (Phase::Stopped, _) => match listed.end.map(|end| end.cause) {
            Some(EndCause::Command(ending)) => {
                format!("stopped, its command ended with {}", ending.exit_code())
            }
            Some(EndCause::Stopped) => "stopped".to_owned(),
            Some(EndCause::Idle) => "stopped, it was idle".to_owned(),
            Some(EndCause::Aged) => "stopped, its time was over".to_owned(),
            None => "stopped, it was killed".to_owned(),
        },
    }
}

/// Writes how old something is, in its two largest units.
fn age(created: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let age = now.saturating_sub(created);
    let rounded = match age {
        0..3_600 => age,
        3_600..86_400 => age / 60 * 60,
        _ => age / 3_600 * 3_600,
    };
    time::duration(Duration::from_secs(rounded))
}
