//! Carrying a plan out, whichever command has made it: what goes in, and what is said of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use confine::report::Report;
use policy::plan::{Boundary, Network, Plan, Provider, Secret};
use policy::text::escape;
use sandbox::boundary::detect::finding::lines;
use sandbox::host::elevation;
use sandbox::host::identity::Identity;
use sandbox::host::programs::Programs;
use sandbox::provider;
use sandbox::provider::launch::{Launch, Launched, Lifeline, StayLaunch};
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
use sandbox::state::sandboxes::{SandboxError, SandboxRecord, StayPlan};
use serde_json::json;
use tracing::{debug, info};

use super::egress::Asker;
use super::{ending, git_config, not_found};
use crate::cli::{Format, ShowArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::facts;
use crate::home;
use crate::load::Loaded;
use crate::output;
use crate::precedence;
use crate::report;
use crate::ui::{self, Ui, Warnings};

/// How a sandbox is to stay.
pub(super) struct Stay {
    pub(super) plan: StayPlan,
    /// The one of the same name that has ended, and whose place it takes.
    pub(super) replaces: Option<RunId>,
    /// It is made only where fewer persistent sandboxes than this are there; `None` makes it in any case.
    pub(super) most: Option<usize>,
}

/// What became of a plan.
pub(super) enum Carried {
    /// It has ended, or was only shown.
    Ended(ExitCode),
    /// Its sandbox stays, in some cases for as long as this process holds its lifeline.
    Stays(Box<SandboxRecord>, Option<Lifeline>),
}

/// What a plan is carried out with.
#[derive(Default)]
pub(super) struct Start<'a> {
    pub(super) early: Option<EarlyInit>,
    pub(super) passed: Vec<PassedDescriptor>,
    pub(super) parent: Option<&'a Parent>,
    pub(super) asker: Option<&'a Asker>,
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
        Carried::Stays(record, _) => made(ui, &record, "created"),
    }
}

pub(super) fn carry(
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
    precedence::note_start(context, &loaded.plan, &loaded.searched, &loaded.deciding)?;
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
    let for_children = plan.children.iter().flat_map(|_| context.env.clone());
    let for_children: Vec<_> = for_children.filter(|(name, _)| !elevation::is_of_caller(name)).collect();
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
            most: stay.most,
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
            // A warning says it, too.
            Notice::Quarantined { .. } => {}
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
        Launched::Stays(record, lifeline) => {
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
            return Ok(Carried::Stays(record, lifeline));
        }
    };
    let (code, failure) = ending::exit_code(&outcome.end, plan.provider);
    let refused = Some(())
        .filter(|()| plan.provider != Provider::Local)
        .and_then(|()| git_config::refused(&plan.agent.argv, code));
    // What was noticed while it ran has been said.
    let new = outcome.detected.iter().filter(|finding| !noticed.contains(&finding.path));
    let made = lines(new).into_iter().map(report::made);
    let reached = ending::reached_limit(&outcome.end, &plan.limits);
    for warning in reached.into_iter().chain(refused.map(str::to_owned)).chain(made) {
        ui.warning(&warning);
        warnings.push(warning);
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

/// Prints the name of a persistent sandbox.
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

/// Returns where the standard streams lead.
pub(super) fn stdio(ui: &Ui) -> Stdio {
    match ui.format() {
        Format::Text => Stdio::Inherit,
        Format::Json => Stdio::Capture,
    }
}
