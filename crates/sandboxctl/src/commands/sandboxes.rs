//! Persistent sandboxes: one file for each thing that can be done with them.

use std::thread;
use std::time::Duration;

use confine::protocol::{EndCause, Ending, SandboxEnd};
use sandbox::host::deadline::Deadline;
use sandbox::provider;
use sandbox::provider::launch::EndedSandboxes;
use sandbox::session::outcome::Notice;
use sandbox::state::journal::Recorded;
use sandbox::state::sandboxes::{Phase, Sandboxes, StayingSandbox};
use serde_json::{Value, json};

use crate::context::Context;
use crate::directories;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::report;
use crate::ui::Ui;

pub(super) mod cp;
pub(super) mod events;
pub(super) mod exec;
pub(super) mod inspect;
pub(super) mod logs;
pub(super) mod ls;
mod moment;
pub(super) mod pause;
pub(super) mod rm;
pub(super) mod start;
pub(super) mod stats;
pub(super) mod stop;
pub(super) mod touch;
pub(super) mod wait;

/// How long another client may take to make a sandbox.
pub(super) const MAKING: Duration = Duration::from_secs(30);

/// How long to wait between two looks at that.
const PAUSE: Duration = Duration::from_millis(10);

/// Opens the caller's sandboxes.
pub(super) fn open(context: &Context) -> Result<Sandboxes, CommandError> {
    Ok(Sandboxes::open(&context.state(), context.caller)
        .map_err(sandbox::state::sandboxes::SandboxError::from)?)
}

/// Finds a sandbox by its name, or by its id. While another client makes it, it is waited for.
pub(super) fn lookup_made(context: &Context, name: &str) -> Result<Option<StayingSandbox>, CommandError> {
    let until = Deadline::after(MAKING);
    loop {
        match open(context)?.lookup(name)? {
            Some(found) if found.phase == Phase::Creating && !until.is_over() => thread::sleep(PAUSE),
            found => return Ok(found),
        }
    }
}

/// Does something with each of these sandboxes, and prints their names as it is done. All are looked up before anything is done
/// with the first.
fn each(
    ui: &Ui,
    context: &Context,
    names: &[String],
    key: &str,
    act: impl Fn(&Sandboxes, &StayingSandbox) -> Result<(), CommandError>,
) -> Result<ExitCode, CommandError> {
    let sandboxes = open(context)?;
    let found: Vec<_> = names.iter().map(|name| sandboxes.find(name)).collect::<Result<_, _>>()?;
    for sandbox in &found {
        act(&sandboxes, sandbox)?;
        if !ui.is_json() {
            ui.raw(format!("{}\n", sandbox.name()).as_bytes())?;
        }
    }
    if ui.is_json() {
        let names: Vec<_> = found.iter().map(StayingSandbox::name).collect();
        ui.json(&json!({ key: names }))?;
    }
    Ok(ExitCode::Success)
}

/// Warns where what was done is not in the journal of events.
fn warn_unrecorded(ui: &Ui, recorded: &Recorded) {
    if let Some(warning) = recorded.warning() {
        ui.warning(warning);
    }
}

/// Warns of what a sandbox shows that it hid when it started: its commands may have read that, and nobody else says so.
pub(super) fn warn_shown(ui: &Ui, sandbox: &StayingSandbox) {
    match sandbox.check_hidden() {
        Ok(warnings) => warnings.into_iter().for_each(|warning| ui.warning(warning)),
        Err(error) => ui.warning(error),
    }
}

/// Quarantines what the agents of sandboxes have made that have ended, as every command does that starts one.
fn clear_up_after(ui: &Ui, context: &Context) -> Result<(), CommandError> {
    let mut notice = |notice| match notice {
        Notice::Warning(warning) => ui.warning(warning),
        Notice::Detected(finding) => ui.warning(report::made(&finding)),
        // A warning says it, too.
        Notice::Quarantined { .. } | Notice::Started(_) => {}
    };
    clear_up(context, &mut notice)
}

/// Does the same, and reports what it does to `notice`.
pub(super) fn clear_up(context: &Context, notice: &mut dyn FnMut(Notice)) -> Result<(), CommandError> {
    let engines = context.engines(context.programs(directories::around(context)));
    let (state, own) = (context.state(), context.own());
    let ended = EndedSandboxes { caller: context.caller, state: &state, own: &own, engines: &engines };
    Ok(provider::clear_up(&ended, notice)?)
}

/// Describes how a sandbox has ended, for programs.
fn end_object(end: Option<SandboxEnd>) -> Value {
    let (code, signal) = match end.map(|end| end.cause) {
        Some(EndCause::Command(ending @ Ending::Exited(_))) => (Some(ending.exit_code()), None),
        Some(EndCause::Command(ending @ Ending::Signaled(signal))) => {
            (Some(ending.exit_code()), Some(signal))
        }
        Some(EndCause::Stopped | EndCause::Idle | EndCause::Aged) | None => (None, None),
    };
    json!({
        "ended_by": ended_by(end),
        "code": code,
        "signal": signal,
        "at_ms": end.map(|end| end.at),
    })
}

/// Names what has ended a sandbox.
fn ended_by(end: Option<SandboxEnd>) -> &'static str {
    match end.map(|end| end.cause) {
        Some(EndCause::Command(Ending::Exited(_))) => "command",
        Some(EndCause::Command(Ending::Signaled(_))) => "signal",
        Some(EndCause::Stopped) => "stop",
        Some(EndCause::Idle) => "idle_timeout",
        Some(EndCause::Aged) => "max_duration",
        // PID 1 was killed, or the machine went down.
        None => "unknown",
    }
}
