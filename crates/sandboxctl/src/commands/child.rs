//! `child`: the process that a child of a sandbox runs in; the process for children starts it.

use std::io::{self, Read as _};

use anyhow::Context as _;
use policy::plan::Plan;
use sandbox::session::attendance::Parent;

use super::carry_out::{Start, carry_out};
use crate::cli::ShowArgs;
use crate::context::{Context, refuse_sudo};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::load;
use crate::ui::Ui;

/// The longest plan, in bytes: one has lists of what is shared and protected.
const MAX_PLAN: u64 = 16 << 20;

/// Runs the plan on standard input, and prints what `run --format json` prints.
pub(crate) fn child(ui: &Ui, context: Context, parent: io::Result<Parent>) -> Result<ExitCode, CommandError> {
    refuse_sudo("a child", "sandboxctl run")?;
    let parent = parent.context("the process that started this one cannot be watched")?;
    let mut text = Vec::new();
    io::stdin().lock().take(MAX_PLAN).read_to_end(&mut text).context("cannot read the plan")?;
    let plan: Plan = serde_json::from_slice(&text).context("what is on standard input is no plan")?;
    let loaded = load::recorded(&context, &plan)?;
    let start = Start { parent: Some(&parent), ..Start::default() };
    carry_out(ui, context, loaded, start, &ShowArgs { dry_run: false, report: false })
}
