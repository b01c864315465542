//! `pool`: containers that are made ahead.

use std::env;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use policy::plan::Plan;
use policy::text::escape;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sandbox::host::clock::now;
use sandbox::host::elevation;
use sandbox::host::identity::Identity;
use sandbox::host::left;
use sandbox::host::programs::Programs;
use sandbox::provider;
use sandbox::provider::launch::{Fill, Filled};
use sandbox::session::error::StartError;
use sandbox::session::outcome::Notice;
use sandbox::state::pool::{Pool, PoolStart, Temperature, WarmRecord};
use serde_json::json;
use tracing::debug;

use crate::cli::{PlanRequest, PoolCommand};
use crate::context::{Context, refuse_sudo};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::home;
use crate::load;
use crate::ui::Ui;

/// The arguments with which this program fills a pool in the background, before how often that has been drained; the plan is its standard
/// input.
const REFILL: [&str; 2] = ["pool", "refill"];

/// The longest plan that is read. None that was made comes near it.
const MAX_PLAN: u64 = 64 << 20;

pub(crate) fn pool(ui: &Ui, command: PoolCommand) -> Result<ExitCode, CommandError> {
    if matches!(command, PoolCommand::Refill { .. }) {
        refuse_sudo("the process that fills a pool", "sandboxctl run")?;
    }
    let mut context = Context::gather()?;
    match command {
        PoolCommand::Fill(request) => fill(ui, &mut context, &request.0),
        PoolCommand::Drain => drain(ui, &context),
        PoolCommand::Stats => stats(ui, &context),
        PoolCommand::Refill { drains } => refill(ui, &context, drains),
    }
}

fn open(context: &Context) -> Result<Pool, CommandError> {
    Ok(Pool::open(&context.state(), context.caller)?)
}

fn fill(ui: &Ui, context: &mut Context, request: &PlanRequest) -> Result<ExitCode, CommandError> {
    let mut loaded = load::plan(ui, context, request, Vec::new(), &mut |_| ())?;
    // What is in it is not needed, but it is mounted.
    let _home = home::open(context, &mut loaded.plan, loaded.project.as_deref())?;
    let Filled { made, waiting } = make(ui, context, &loaded.plan, loaded.programs, None)?;
    ui.data(&json!({ "pool": { "made": made, "waiting": waiting } }), |_| {
        format!("{waiting} {} waiting, {made} of them new\n", counted(waiting))
    })?;
    Ok(ExitCode::Success)
}

/// Fills the pool of the plan on standard input. Nobody reads what this prints, so that it has failed is noted for `pool stats`.
fn refill(ui: &Ui, context: &Context, drains: u64) -> Result<ExitCode, CommandError> {
    // It goes on when the terminal of whoever has started it hangs up, and gets no Ctrl-C of theirs. Who leads a process group could not.
    let _ = rustix::process::setsid();
    let mut text = Vec::new();
    io::stdin().lock().take(MAX_PLAN).read_to_end(&mut text).context("cannot read the plan")?;
    let plan: Plan = serde_json::from_slice(&text).context("cannot read the plan")?;
    let shared = plan.boundaries.iter().map(|boundary| boundary.host.clone());
    let made = make(ui, context, &plan, context.programs(shared.collect()), Some(drains));
    let failure = made.as_ref().err().map(ToString::to_string);
    open(context)?.note_failure(failure.as_deref())?;
    made?;
    Ok(ExitCode::Success)
}

/// Makes containers until as many wait as the plan wants.
fn make(
    ui: &Ui,
    context: &Context,
    plan: &Plan,
    programs: Programs,
    drains: Option<u64>,
) -> Result<Filled, StartError> {
    provider::fill(Fill {
        plan,
        caller: context.caller,
        state: &context.state(),
        own: &context.own(),
        locks: Context::locks(),
        engines: &context.engines(programs),
        drains,
        notice: &mut |notice| {
            if let Notice::Warning(warning) = notice {
                ui.warning(warning);
            }
        },
    })
}

/// Has the pool of a plan filled in the background, in place of what was taken from it, unless it is drained before that is done.
pub(super) fn refill_in_background(plan: &Plan, state: &Path, caller: Identity) {
    let start = || -> io::Result<()> {
        let drains = Pool::open(state, caller).and_then(|pool| pool.drains()).map_err(io::Error::other)?;
        let text = serde_json::to_vec(plan)?;
        let mut command = Command::new("/proc/self/exe");
        command.args(REFILL).arg(drains.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Root has no pool for somebody else; who has become this user by sudo is no concern of it.
        for name in env::vars_os().map(|(name, _)| name).filter(|name| elevation::is_of_caller(name)) {
            command.env_remove(name);
        }
        // What the caller has left open beside the standard streams is not for it.
        confine::close_from_on_exec(3)?;
        let mut child = command.spawn()?;
        let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(&text));
        left::leave(pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?);
        written
    };
    // The next sandbox starts cold then, and says so.
    if let Err(error) = start() {
        debug!(%error, "cannot fill the pool");
    }
}

fn drain(ui: &Ui, context: &Context) -> Result<ExitCode, CommandError> {
    let ended = provider::drain(context.caller, &context.state(), &context.own())?;
    ui.data(&json!({ "pool": { "ended": ended } }), |_| format!("{ended} {} ended\n", counted(ended)))?;
    Ok(ExitCode::Success)
}

fn stats(ui: &Ui, context: &Context) -> Result<ExitCode, CommandError> {
    let pool = open(context)?;
    let (waiting, starts, failure) = (pool.list()?, pool.starts()?, pool.failure()?);
    let [warm, cold] =
        [Temperature::Warm, Temperature::Cold].map(|temperature| Times::of(&starts, temperature));
    let all = warm.count() + cold.count();
    let rate = (all > 0).then(|| f64::from(warm.count()) / f64::from(all));
    let object = json!({ "pool": {
        "waiting": waiting.iter().map(|one| json!({
            "id": one.id,
            "provider": one.provider,
            "image": one.image,
            "age_s": age(one),
        })).collect::<Vec<_>>(),
        "failure": failure,
        "hit_rate": rate,
        "starts": { "warm": warm.to_json(), "cold": cold.to_json() },
    } });
    ui.data(&object, |_| {
        let mut lines = vec![format!("{} {} waiting", waiting.len(), counted(waiting.len()))];
        lines.extend(
            waiting.iter().map(|one| format!("  {}  {}  {} s old", one.provider, one.image, age(one))),
        );
        lines.extend(
            failure
                .iter()
                .map(|why| format!("it could not be filled in the background: {}", escape::line(why))),
        );
        match rate {
            None => lines.push("no sandbox has started yet whose plan has a pool".to_owned()),
            Some(rate) => {
                let percent = rate * 100.0;
                lines.push(format!("{} of the last {all} starts were warm: {percent:.0} %", warm.count()));
                lines.push(format!("{:4}  {:>9}  {:>9}  {:>9}", "", "P50", "P95", "P99"));
                lines.extend([("warm", &warm), ("cold", &cold)].map(|(name, times)| {
                    let show =
                        |share| times.at(share).map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"));
                    format!("{name}  {:>9}  {:>9}  {:>9}", show(50), show(95), show(99))
                }));
            }
        }
        lines.into_iter().map(|line| line + "\n").collect()
    })?;
    Ok(ExitCode::Success)
}

fn counted(count: usize) -> &'static str {
    if count == 1 { "container" } else { "containers" }
}

/// Returns how long one has waited, in seconds.
fn age(one: &WarmRecord) -> u64 {
    now().saturating_sub(one.created)
}

/// How long starts of one kind took in milliseconds, the shortest first.
struct Times(Vec<f64>);

impl Times {
    fn of(starts: &[PoolStart], temperature: Temperature) -> Self {
        let mut times: Vec<f64> =
            starts.iter().filter(|one| one.start == temperature).map(|one| one.start_ms).collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// Returns how many starts there were. Not so many are remembered that it would not fit.
    fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Returns the time that this share of starts, in percent, did not exceed; `None` where there was no start.
    fn at(&self, percent: usize) -> Option<f64> {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied()
    }

    fn to_json(&self) -> serde_json::Value {
        json!({
            "count": self.count(),
            "p50_ms": self.at(50),
            "p95_ms": self.at(95),
            "p99_ms": self.at(99),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let start = |start_ms| PoolStart { start: Temperature::Warm, start_ms };
        let starts: Vec<_> = (1..=100).rev().map(|ms| start(f64::from(ms))).collect();
        let times = Times::of(&starts, Temperature::Warm);
        assert_eq!([50, 95, 99].map(|percent| times.at(percent)), [Some(50.0), Some(95.0), Some(99.0)]);
        assert_eq!(Times::of(&starts, Temperature::Cold).at(50), None);
        assert_eq!(Times::of(&starts[..1], Temperature::Warm).at(99), Some(100.0));
    }
}
