//! `stats`: shows what sandboxes use.

use std::thread;
use std::time::{Duration, Instant};

use confine::protocol::SandboxUsage;
use policy::rules::limits::Bytes;
use sandbox::state::sandboxes::{SandboxError, StayingSandbox};
use serde_json::json;

use crate::cli::StatsArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// Between the two looks that say how busy a sandbox is.
const SPAN: Duration = Duration::from_millis(250);

pub(crate) fn stats(ui: &Ui, context: &Context, args: &StatsArgs) -> Result<ExitCode, CommandError> {
    let sandboxes = super::open(context)?;
    let found: Vec<StayingSandbox> = if args.names.is_empty() {
        let all = sandboxes.list()?.into_iter().filter_map(Result::ok);
        all.filter(|sandbox| sandbox.phase.can_stop()).collect()
    } else {
        args.names.iter().map(|name| sandboxes.find(name)).collect::<Result<_, _>>()?
    };
    let look = |sandbox: &StayingSandbox| -> Result<Option<SandboxUsage>, CommandError> {
        match sandbox.usage() {
            // One that was not named, and has ended meanwhile, is none of those that are shown.
            Err(SandboxError::Phase { phase, .. }) if args.names.is_empty() && phase.has_ended() => Ok(None),
            usage => Ok(Some(usage?)),
        }
    };
    let before: Vec<_> = found.iter().map(look).collect::<Result<_, _>>()?;
    let began = Instant::now();
    thread::sleep(SPAN);
    let now: Vec<_> = found.iter().map(look).collect::<Result<_, _>>()?;
    let span = began.elapsed();
    let busy = |before: SandboxUsage, now: SandboxUsage| {
        let used = now.cpu_ms.saturating_sub(before.cpu_ms);
        u64::try_from(u128::from(used) * 100 / span.as_millis().max(1)).unwrap_or(u64::MAX)
    };
    let sampled = found.iter().zip(before.into_iter().zip(now));
    let rows: Vec<_> =
        sampled.filter_map(|(one, (before, now))| Some((one, now?, busy(before?, now?)))).collect();
    let objects: Vec<_> = rows
        .iter()
        .map(|(one, used, busy)| {
            json!({
                "name": one.name(),
                "cpu_percent": busy,
                "cpu_ms": used.cpu_ms,
                "resident": used.resident,
                "processes": used.processes,
            })
        })
        .collect();
    ui.data(&json!({ "stats": objects }), |_| {
        let width = rows.iter().map(|(one, ..)| one.name().len()).max().unwrap_or_default().max("NAME".len());
        let head =
            format!("{:width$}  {:>5}  {:>10}  {:>10}  PROCESSES\n", "NAME", "CPU %", "CPU TIME", "MEMORY");
        rows.iter().fold(head, |text, (one, used, busy)| {
            let (time, resident) = (
                format!("{:.1}s", Duration::from_millis(used.cpu_ms).as_secs_f64()),
                Bytes(used.resident >> 10 << 10),
            );
            text + &format!(
                "{:width$}  {busy:>5}  {time:>10}  {:>10}  {}\n",
                one.name(),
                resident.to_string(),
                used.processes
            )
        })
    })?;
    Ok(ExitCode::Success)
}
