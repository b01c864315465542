//! `run`: one fresh sandbox, removed afterwards.

use std::io;

use anyhow::Context as _;
use confine::protocol::Attachment;
use policy::plan::Provider;
use sandbox::provider::native::early::EarlyInit;
use sandbox::session::attendance::Parent;
use sandbox::session::passed::PassedDescriptor;
use sandbox::session::streams::Stdio;
use sandbox::state::sandboxes::{FirstCommand, StayPlan};

use super::carry_out::{Start, Stay, carry_out, stdio};
use super::create;
use super::egress::Asker;
use crate::cli::{LifeArgs, PlanRequest, RunArgs, ShowArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::load;
use crate::ui::Ui;

/// How a sandbox of `run` lives that has a name: with this process, and others find it meanwhile.
const ATTACHED: StayPlan = StayPlan {
    command: FirstCommand::Run,
    attachment: Attachment::Attached,
    idle_timeout: None,
    max_duration: None,
    log_bytes: 0,
};

pub(crate) fn run(
    ui: &Ui,
    context: Context,
    parent: io::Result<Parent>,
    args: RunArgs,
) -> Result<ExitCode, CommandError> {
    if args.detach {
        return detach(ui, context, args);
    }
    args.habits.check()?;
    let asker = args.ask.then(|| Asker::find(ui)).transpose()?;
    let parent = self::parent(args.life, parent)?;
    let passed = PassedDescriptor::inherited(&args.pass.numbers)?;
    let stay = named(&args.request);
    let mut early = Early::new(ui, &context, &args.request, &args.show);
    let mut loaded =
        load::plan(ui, &context, &args.request, args.argv, &mut |provider| early.on_known(provider))?;
    let early = early.init;
    loaded.plan.agent.pass_fd = args.pass.numbers;
    let start = Start { early, passed, parent: parent.as_ref(), asker: asker.as_ref(), stay };
    carry_out(ui, context, loaded, start, &args.show)
}

/// Returns how others find a sandbox that ends with this process: by the name that was asked for, if any was.
pub(super) fn named(request: &PlanRequest) -> Option<Stay> {
    request.name.as_ref().map(|_| Stay { plan: ATTACHED, replaces: None, most: None })
}

/// Runs the command in a persistent sandbox until it has ended.
fn detach(ui: &Ui, context: Context, args: RunArgs) -> Result<ExitCode, CommandError> {
    let asked = [
        (args.ask, "--ask", "`sandboxctl egress ask` asks in another terminal"),
        (args.life.die_with_parent, "--die-with-parent", "a persistent sandbox ends with nobody"),
        (!args.pass.numbers.is_empty(), "--pass-fd", "what is open here may end before the sandbox does"),
    ];
    if let Some((_, flag, why)) = asked.into_iter().find(|(is_asked, ..)| *is_asked) {
        return Err(CommandError::message(Code::UsageInvalid, format_args!("{flag} with --detach")).hint(why));
    }
    let loaded = load::plan(ui, &context, &args.request, args.argv, &mut |_| ())?;
    create::stay(ui, context, loaded, FirstCommand::Run, &args.show)
}

/// PID 1 of the sandbox, which is started as soon as it is known that there will be one of ours.
pub(super) struct Early<'a> {
    is_wanted: bool,
    context: &'a Context,
    pub(super) init: Option<EarlyInit>,
}

impl<'a> Early<'a> {
    pub(super) fn new(ui: &Ui, context: &'a Context, request: &PlanRequest, show: &ShowArgs) -> Self {
        let has_terminal = || {
            let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
            streams.into_iter().any(rustix::termios::isatty)
        };
        // Of a plan that is only shown nothing is started, and what captures output depends on the plan. A terminal is opened out here where
        // others may run commands beside the first one.
        let is_wanted =
            !show.dry_run && stdio(ui) == Stdio::Inherit && (request.name.is_none() || !has_terminal());
        Self { is_wanted, context, init: None }
    }

    pub(super) fn on_known(&mut self, provider: Provider) {
        if self.is_wanted && provider == Provider::Native && self.init.is_none() {
            self.init = Some(EarlyInit::start(self.context.caller, Context::locks()));
        }
    }
}

/// Returns the parent, where everything is to end with it.
pub(super) fn parent(life: LifeArgs, parent: io::Result<Parent>) -> Result<Option<Parent>, CommandError> {
    let parent = life.die_with_parent.then_some(parent).transpose();
    parent
        .context("--die-with-parent: the process that started this one cannot be watched")
        .map_err(Into::into)
}
