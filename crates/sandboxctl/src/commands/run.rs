//! `run`: one fresh sandbox, removed afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use confine::protocol::Attachment;
use confine::report::Report;
use policy::plan::{Boundary, Network, Plan, Provider, Secret};
use policy::rules::limits::Limits;
use policy::text::{escape, time};
use rustix::process::Signal;
use sandbox::boundary::detect::finding::lines;
use sandbox::host::identity::Identity;
use sandbox::host::programs::Programs;
use sandbox::provider;
use sandbox::provider::launch::{Launch, Launched, StayLaunch};
use sandbox::provider::native::early::EarlyInit;
use sandbox::secrets::{self, SecretError, SecretFailure, SecretValue, SourceContext};
use sandbox::session::attendance::Parent;
use sandbox::session::egress::{EgressProgram, Living, Questions};
use sandbox::session::outcome::{End, Notice};
use sandbox::session::passed::PassedDescriptor;
use sandbox::session::sidecar::SidecarProgram;
use sandbox::session::streams::Stdio;
use sandbox::state::homes::OpenHome;
use sandbox::state::plans::Plans;
use sandbox::state::pool::Pool;
use sandbox::state::record::RunId;
use sandbox::state::sandboxes::{FirstCommand, Phase, SandboxError, SandboxRecord, StayPlan, StayingSandbox};
use serde_json::json;
use tracing::{debug, info};

use super::egress::Asker;
use super::{git_config, not_found};
use crate::cli::{CreateArgs, Format, LifeArgs, PlanRequest, RunArgs, ShowArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::facts;
use crate::home;
use crate::load::{self, Loaded};
use crate::output;
use crate::precedence;
use crate::report;
use crate::ui::{self, Ui, Warnings};

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
    request.name.as_ref().map(|_| Stay { plan: ATTACHED, replaces: None })
}

/// Runs the command in a sandbox that stays until it has ended.
fn detach(ui: &Ui, context: Context, args: RunArgs) -> Result<ExitCode, CommandError> {
    let asked = [
        (args.ask, "--ask", "`sandboxctl egress ask` asks in another terminal"),
        (args.life.die_with_parent, "--die-with-parent", "a sandbox that stays ends with nobody"),
        (!args.pass.numbers.is_empty(), "--pass-fd", "what is open here may end before the sandbox does"),
    ];
    if let Some((_, flag, why)) = asked.into_iter().find(|(is_asked, ..)| *is_asked) {
        return Err(CommandError::message(Code::UsageInvalid, format_args!("{flag} with --detach")).hint(why));
    }
    let loaded = load::plan(ui, &context, &args.request, args.argv, &mut |_| ())?;
    stay(ui, context, loaded, FirstCommand::Run, &args.show)
}

/// `create`: makes a sandbox that waits for commands.
pub(crate) fn create(ui: &Ui, context: Context, args: &CreateArgs) -> Result<ExitCode, CommandError> {
    let loaded = load::plan(ui, &context, &args.request, Vec::new(), &mut |_| ())?;
    if args.reuse {
        if let Some(found) = super::sandboxes::open(&context)?.lookup(&loaded.plan.name)? {
            return reuse(ui, &found, &loaded.plan);
        }
    }
    stay(ui, context, loaded, FirstCommand::None, &args.show)
}

/// Uses a sandbox that is there, if it was made from the same plan.
fn reuse(ui: &Ui, found: &StayingSandbox, plan: &Plan) -> Result<ExitCode, CommandError> {
    if found.record.stay.attachment == Attachment::Attached {
        // It ends with somebody else's command.
        let (name, phase) = (found.name().to_owned(), found.phase);
        return Err(SandboxError::NameInUse { name, phase }.into());
    }
    let (theirs, ours) = (json!(found.record.plan), json!(plan));
    let keys = ours.as_object().into_iter().chain(theirs.as_object()).flat_map(|object| object.keys());
    let differing: BTreeSet<&String> = keys.filter(|key| theirs.get(key) != ours.get(key)).collect();
    if !differing.is_empty() {
        let differing: Vec<_> = differing.into_iter().map(String::as_str).collect();
        let (name, what) = (found.name(), differing.join(", "));
        let message = format!("sandbox \"{name}\" was made from something else: {what} differ");
        return Err(CommandError::message(Code::SandboxNameInUse, message)
            .details(json!({ "differing": differing }))
            .hint("`sandboxctl inspect` shows what it was made from, `sandboxctl plan` what it would be made from"));
    }
    if found.phase != Phase::Running {
        let (name, phase) = (found.name().to_owned(), found.phase);
        return Err(SandboxError::Phase { name, phase, action: "be reused" }.into());
    }
    made(ui, &found.record, "reused")
}

/// Prints the name of a sandbox that stays.
pub(super) fn made(ui: &Ui, record: &SandboxRecord, how: &str) -> Result<ExitCode, CommandError> {
    ui.data(
        &json!({ "sandbox": {
            "name": record.name,
            "id": record.id,
            "provider": record.plan.provider,
            "made": how,
            "pool": record.started.as_ref().and_then(|started| started.pool),
            "report": record.started.as_ref().map(|started| &started.report),
        } }),
        |_| format!("{}\n", record.name),
    )?;
    Ok(ExitCode::Success)
}

/// Makes a sandbox that stays.
fn stay(
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
    let start = Start { stay: Some(Stay { plan: stay, replaces: None }), ..Start::default() };
    carry_out(ui, context, loaded, start, show)
}

/// Makes a sandbox again that has ended, from the same plan, and returns its record.
pub(super) fn restart(
    ui: &Ui,
    context: &mut Context,
    ended: &StayingSandbox,
) -> Result<Box<SandboxRecord>, CommandError> {
    if context.is_behind_sudo() && !Plans::open(&context.own())?.confirm(&ended.record)? {
        let message = format!(
            "sandbox \"{}\" is not started again under sudo: its record is a file of the user behind sudo, and root has not made it from that",
            ended.name()
        );
        return Err(CommandError::message(Code::PolicyDenied, message)
            .hint("start it without sudo, or make another one with `sandboxctl create`"));
    }
    let loaded = load::recorded(context, &ended.record.plan)?;
    let stay = Stay { plan: ended.record.stay, replaces: Some(ended.record.id.clone()) };
    let start = Start { stay: Some(stay), ..Start::default() };
    let show = ShowArgs { dry_run: false, report: false };
    match carry(ui, context, loaded, start, &show)? {
        Carried::Stays(record) => Ok(record),
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

/// Makes a sandbox that waits for commands from a plan that was loaded before, as often as it is wanted, and returns its record.
pub(super) fn make(
    ui: &Ui,
    context: &mut Context,
    plan: &Plan,
    project: Option<PathBuf>,
) -> Result<Box<SandboxRecord>, CommandError> {
    let mut loaded = load::recorded(context, plan)?;
    loaded.project = project;
    let stay = StayPlan {
        attachment: Attachment::Detached,
        command: FirstCommand::None,
        idle_timeout: plan.lifecycle.idle_timeout,
        max_duration: plan.lifecycle.max_duration,
        log_bytes: 0,
    };
    let start = Start { stay: Some(Stay { plan: stay, replaces: None }), ..Start::default() };
    match carry(ui, context, loaded, start, &ShowArgs { dry_run: false, report: false })? {
        Carried::Stays(record) => Ok(record),
        Carried::Ended(code) => Err(CommandError::message(
            Code::StartFailed,
            format_args!("the sandbox was not made: it has ended with {}", code.number()),
        )),
    }
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

fn stdio(ui: &Ui) -> Stdio {
    match ui.format() {
        Format::Text => Stdio::Inherit,
        Format::Json => Stdio::Capture,
    }
}

/// Returns the parent, where everything is to end with it.
pub(super) fn parent(life: LifeArgs, parent: io::Result<Parent>) -> Result<Option<Parent>, CommandError> {
    let parent = life.die_with_parent.then_some(parent).transpose();
    parent
        .context("--die-with-parent: the process that started this one cannot be watched")
        .map_err(Into::into)
}

/// How a sandbox is to stay.
pub(super) struct Stay {
    plan: StayPlan,
    /// The one of the same name that has ended, and whose place it takes.
    replaces: Option<RunId>,
}

/// What became of a plan.
enum Carried {
    /// It has ended, or was only shown.
    Ended(ExitCode),
    /// Its sandbox stays.
    Stays(Box<SandboxRecord>),
}

/// What a plan is carried out with.
#[derive(Default)]
pub(super) struct Start<'a> {
    pub(super) early: Option<EarlyInit>,
    pub(super) passed: Vec<PassedDescriptor>,
    pub(super) parent: Option<&'a Parent>,
    pub(super) asker: Option<&'a Asker>,
    /// How the sandbox is to stay, if it is.
    pub(super) stay: Option<Stay>,
}

/// Runs a plan, or shows it when that is all the caller wants.
pub(super) fn carry_out(
    ui: &Ui,
    mut context: Context,
    loaded: Loaded,
    start: Start<'_>,
    show: &ShowArgs,
) -> Result<ExitCode, CommandError> {
    match carry(ui, &mut context, loaded, start, show)? {
        Carried::Ended(code) => Ok(code),
        Carried::Stays(record) => made(ui, &record, "created"),
    }
}

fn carry(
    ui: &Ui,
    context: &mut Context,
    mut loaded: Loaded,
    start: Start<'_>,
    show: &ShowArgs,
) -> Result<Carried, CommandError> {
    let Start { early, passed: descriptors, parent, asker, stay } = start;
    if asker.is_some() && !matches!(loaded.plan.network, Network::Allowlist { .. }) {
        let message = "--ask: there is nothing to ask about, because the network is no allow-list of hosts";
        return Err(CommandError::message(Code::UsageInvalid, message)
            .hint("`--network allowlist` is one without a host in it, so that each is asked about"));
    }
    if show.dry_run {
        return super::plan::show(ui, &loaded.plan).map(Carried::Ended);
    }
    precedence::note(context, &loaded.searched)?;
    let (state, own, caller) = (context.state(), context.own(), context.caller);
    for boundary in &loaded.plan.boundaries {
        let (host, guest) = (escape::path(&boundary.host), escape::path(&boundary.guest));
        debug!(%host, %guest, mode = ?boundary.mode, "shares directory \"{}\"", boundary.name);
    }
    let home = home::open(context, &mut loaded.plan, loaded.project.as_deref())?;
    let held: Vec<_> = home.iter().map(OpenHome::lock).collect();
    let sandboxes = stay.as_ref().map(|_| super::sandboxes::open(context)).transpose()?;
    let programs = std::mem::take(&mut loaded.programs);
    let loaded = &loaded;
    let plan = &loaded.plan;
    let renewing = programs.without(&plan.credential_variables());
    let engines = context.engines(renewing.clone());
    // The program itself, as it is now, whatever becomes of its path.
    let passed = super::egress::VARIABLES.map(OsString::from);
    let environment: Vec<_> = passed
        .into_iter()
        .filter_map(|name| context.env.get(&name).cloned().map(|value| (name, value)))
        .collect();
    // Children read their secrets as this process does, from its environment. What sudo has said of who called it is no concern of
    // theirs: root alone starts them, for itself.
    let of_sudo = |name: &OsString| name.as_encoded_bytes().starts_with(b"SUDO_");
    let for_children = plan.children.iter().flat_map(|_| context.env.clone());
    let for_children: Vec<_> = for_children.filter(|(name, _)| !of_sudo(name)).collect();
    let mut sources = Some(Sources { env: std::mem::take(&mut context.env), programs, caller });
    // What runs instead has other programs than the image.
    let mut warnings: Vec<String> = loaded.ignored.iter().cloned().collect();
    warnings.extend(plan.boundaries.iter().filter_map(obeyed));
    for warning in &warnings {
        ui.warning(warning);
    }
    let mut noticed: Vec<PathBuf> = Vec::new();
    let answers = asker.map(|asker| |living, questions| asker.answer(&plan.name, living, questions));
    // Secrets are read again in a thread of its own.
    let shown = Mutex::new((Warnings::new(ui), warnings));
    let lock = || shown.lock().unwrap_or_else(PoisonError::into_inner);
    let warn = |warning: String| {
        let (shown, warnings) = &mut *lock();
        shown.warning(&warning);
        warnings.push(warning);
    };
    let started = provider::run(Launch {
        plan,
        secrets: &mut || {
            sources.take().map_or_else(|| Ok(Vec::new()), |sources| sources.read(ui, plan, parent))
        },
        streams: stdio(ui),
        passed: descriptors,
        early,
        caller,
        state: &state,
        own: &own,
        locks: Context::locks(),
        egress: Some(EgressProgram {
            path: "/proc/self/exe",
            arguments: super::egress::ARGUMENTS,
            environment: &environment,
            answers: answers.as_ref().map(|answer| answer as &dyn Fn(Living, Questions)),
        }),
        relay: Some(SidecarProgram {
            path: "/proc/self/exe",
            arguments: super::socket_relay::ARGUMENTS,
            environment: Vec::new(),
        }),
        children: Some(SidecarProgram {
            path: "/proc/self/exe",
            arguments: super::children::arguments(ui.is_quiet()),
            environment: for_children,
        }),
        renew: Some(&|secret, over| {
            info!(variable = secret.env_var, "reads secret \"{}\" again", secret.name);
            let mut surroundings = SourceContext {
                // A variable is not read again.
                env: &BTreeMap::new(),
                programs: &renewing,
                caller,
                parent: Some(over),
                log: &mut |line| lock().0.note(line.trim_end()),
            };
            match secrets::read(secret, &mut surroundings) {
                Ok(value) => Some(value),
                // The sandbox has ended.
                Err(SecretError { reason: SecretFailure::Deserted, .. }) => None,
                Err(error) => {
                    warn(format!("{error}; the value of before is still in use"));
                    None
                }
            }
        }),
        engines: &engines,
        parent,
        stay: stay.as_ref().zip(sandboxes.as_ref()).map(|(stay, sandboxes)| StayLaunch {
            plan: stay.plan,
            replaces: stay.replaces.as_ref(),
            sandboxes,
            held: &held,
        }),
        notice: &mut |notice| match notice {
            Notice::Started(report) => {
                for finding in &report.0 {
                    let status = report::status(finding.status);
                    info!(status, reason = finding.reason, "layer {}", finding.layer);
                }
                warn_of_weak_layers(&mut lock().0, loaded, &report);
                if plan.pool.is_some() && Pool::is_usable(caller) {
                    super::pool::refill_in_background(plan, &state, caller);
                }
            }
            Notice::Detected(finding) => {
                warn(report::made(&finding));
                noticed.push(finding.path);
            }
            Notice::Warning(warning) => match plan.provider {
                // That there is no isolation is said to a person whether or not they want to hear it, and once: to
                // programs the report says it, layer by layer.
                Provider::Local => lock().0.warn_always(&warning),
                Provider::Docker | Provider::Podman | Provider::Native => warn(warning),
            },
        },
    });
    let (shown, mut warnings) = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
    drop(shown);
    asker.inspect(|asker| asker.finish());
    let outcome = match started? {
        Launched::Ended(outcome) => *outcome,
        Launched::Stays(record) => {
            if show.report {
                let report = record.started.as_ref().map(|started| report::table(&started.report));
                ui::print(report.unwrap_or_default().trim_end());
            }
            if let Some(sandboxes) = sandboxes.as_ref().filter(|_| context.is_behind_sudo()) {
                let noted = Plans::open(&context.own()).map_err(SandboxError::State);
                if let Err(error) = noted.and_then(|plans| plans.note(&record, sandboxes)) {
                    ui.warning(format_args!("the sandbox cannot be started again under sudo: {error}"));
                }
            }
            return Ok(Carried::Stays(record));
        }
    };
    if let Some(reached) = reached_limit(&outcome.end, &plan.limits) {
        ui.warning(&reached);
        warnings.push(reached);
    }
    let (code, failure) = exit_of(&outcome.end, plan.provider);
    let refused = Some(())
        .filter(|()| plan.provider != Provider::Local)
        .and_then(|()| git_config::refused(&plan.agent.argv, code));
    if let Some(refused) = refused {
        ui.warning(refused);
        warnings.push(refused.to_owned());
    }
    let failure = failure.map(|failure| match &outcome.end {
        End::NotFound(command) if plan.provider == Provider::Native => {
            failure.hint(not_found::elsewhere(command, &facts::locate(context, &renewing, command)))
        }
        _ => failure,
    });
    match ui.format() {
        Format::Json => {
            let object =
                output::run(plan, loaded.config.as_deref(), &outcome, code, failure.as_ref(), &warnings);
            // After events, it is one line as they are.
            if asker.is_some() { ui.json_line(&object)? } else { ui.json(&object)? }
        }
        Format::Text => {
            // What was noticed while it ran has been said.
            let new = outcome.detected.iter().filter(|finding| !noticed.contains(&finding.path));
            for line in lines(new) {
                ui.warning(report::made(line));
            }
            if show.report {
                ui::print(report::table(&outcome.report).trim_end());
            }
            if let Some(failure) = &failure {
                ui.failure(failure);
            }
        }
    }
    Ok(Carried::Ended(code))
}

/// Returns the warning about a directory whose content programs outside obey.
fn obeyed(boundary: &Boundary) -> Option<String> {
    let path = boundary.obeyed_as.as_ref()?;
    Some(format!(
        "shared directory \"{}\" is {path}: the agent can write what programs outside obey there, and nothing in it is \
         protected for that; `mode = \"ro\"`, or `:ro`, keeps it from doing so",
        boundary.name
    ))
}

/// What secrets are read from. It goes when they have been read.
pub(super) struct Sources {
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) programs: Programs,
    pub(super) caller: Identity,
}

impl Sources {
    /// Reads the values of the plan's secrets, which go to nobody but the agent. Variables that they came from go from the
    /// environment of this process too, where it would show them for as long as the agent runs.
    pub(super) fn read(
        self,
        ui: &Ui,
        plan: &Plan,
        parent: Option<&Parent>,
    ) -> Result<Vec<(String, SecretValue)>, SecretError> {
        // First of all: a command that gives a secret is started by a thread of its own.
        confine::clear_variables(&plan.credential_variables());
        let mut surroundings = SourceContext {
            env: &self.env,
            programs: &self.programs,
            caller: self.caller,
            parent: parent.map(AsFd::as_fd),
            log: &mut |line| ui.note(line.trim_end()),
        };
        let mut read = |secret: &Secret| {
            info!(variable = secret.env_var, "reads secret \"{}\"", secret.name);
            Ok((secret.env_var.clone(), secrets::read(secret, &mut surroundings)?))
        };
        plan.credentials().map(&mut read).collect()
    }
}

fn warn_of_weak_layers(shown: &mut Warnings<'_>, loaded: &Loaded, report: &Report) {
    let plan = &loaded.plan;
    // Without isolation every layer is missing, which has been said in one sentence.
    if plan.provider != Provider::Local {
        for finding in report::weak(plan, &loaded.asked, report) {
            let status = report::status(finding.status);
            shown.warning(format_args!("layer {} is {status} enforced: {}", finding.layer, finding.reason));
        }
    }
}

/// Explains an end by which the kernel says that a limit of each process was reached. A shell passes on, as its own status, what ended a
/// program that it ran.
pub(super) fn reached_limit(end: &End, limits: &Limits) -> Option<String> {
    let is = |signal: Signal| match end {
        End::Signaled(number) => *number == signal.as_raw(),
        End::Exited(status) => i32::from(*status) == 128 + signal.as_raw(),
        _ => false,
    };
    if let Some(most) = limits.cpu_time.filter(|_| is(Signal::XCPU)) {
        return Some(format!(
            "a process inside has used {} of processor time, and SIGXCPU has ended it; `--cpu-time` or `[limits] cpu_time` allows \
             more",
            time::duration(most)
        ));
    }
    let size = limits.file_size.filter(|_| is(Signal::XFSZ))?;
    Some(format!(
        "a process inside was about to write more than {size} to a file, and SIGXFSZ has ended it; `--file-size` or `[limits] \
         file_size` allows more"
    ))
}

/// Returns the exit code, and the error where it is not the command's own.
pub(super) fn exit_of(end: &End, provider: Provider) -> (ExitCode, Option<CommandError>) {
    match end {
        End::Exited(status) => (ExitCode::Command(*status), None),
        End::Signaled(signal) => (ExitCode::Signal(*signal), None),
        End::TimedOut(limit) => {
            let error = CommandError::message(
                Code::CommandTimedOut,
                format_args!("the command ran longer than {} and was ended", time::duration(*limit)),
            );
            (ExitCode::TimedOut, Some(error.hint("`--timeout` or `[limits] timeout` allows more time")))
        }
        End::Unprotected(finding) => {
            let error = CommandError::message(
                Code::CommandUnprotected,
                format_args!(
                    "a program on this host replaced a protected file while the sandbox ran, and it was ended: {finding}"
                ),
            );
            (
                ExitCode::Unprotected,
                Some(error.hint(
                    "run it again when nothing else changes that file; `[protect] on_replaced = \"warn\"` lets it run on",
                )),
            )
        }
        End::Shown(path) => {
            let error = CommandError::message(
                Code::CommandUnprotected,
                format_args!(
                    "a program on this host replaced {} while the sandbox ran, which had hidden it, and it was ended",
                    escape::path(path)
                ),
            );
            (
                ExitCode::Unprotected,
                Some(error.hint(
                    "run it again when nothing else changes that file; `[protect] on_replaced = \"warn\"` lets it run on",
                )),
            )
        }
        End::NotFound(command) => {
            let error = CommandError::message(
                Code::CommandNotFound,
                format_args!("{command}: no such command in the sandbox"),
            );
            let error = match provider {
                Provider::Docker | Provider::Podman => error.hint(not_found::in_image(command)),
                // What there is to be done depends on where the host has it.
                Provider::Native | Provider::Local => error,
            };
            (ExitCode::NotFound, Some(error))
        }
        End::NotExecutable(command, reason) => {
            let error = CommandError::message(
                Code::CommandNotExecutable,
                format_args!("{command}: cannot be executed: {reason}"),
            );
            (ExitCode::NotExecutable, Some(error))
        }
    }
}
