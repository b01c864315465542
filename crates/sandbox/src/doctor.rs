//! The doctor: what of a sandbox this machine can carry out, and what would fix the rest.
//!
//! Nothing is guessed where it can be tried: a real sandbox is started, thrown away, and its report is what
//! counts. What the host's settings say only explains why a layer is missing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use confine::process::reap;
use confine::report::{Report, Status};
use policy::commands::CommandRules;
use policy::config::key::LAYERS;
use policy::plan::{
    AgentProcess, Boundary, BoundaryKind, BoundaryMode, Execution, FileId, Init, Layer, Need, Network, Plan,
    Protect, Provider,
};
use policy::rules::limits::{Bytes, Limits, MilliCpus};

use serde::Serialize;

use crate::engine::kind::{EngineKind, Rights};
use crate::engine::{self, Engine};
use crate::host::identity::Identity;
use crate::provider;
use crate::provider::launch::{Launch, Launched};
use crate::session::error::StartError;
use crate::session::outcome::{End, Notice};
use crate::session::streams::Stdio;

pub use self::host::HostCheck;

mod host;

/// What the doctor needs to know of its caller.
#[derive(Clone, Copy, Debug)]
pub struct Patient<'a> {
    /// The user of the doctor's process.
    pub process: Identity,
    /// Who asks: under sudo not root, but the user behind it.
    pub caller: Identity,
    pub state: &'a Path,
    /// The directory where running sandboxes of root lock their host user ids.
    pub locks: &'a Path,
    pub engines: &'a engine::surroundings::Surroundings,
    /// An empty directory that the throw-away sandbox shares, and what it led to.
    pub directory: (&'a Path, FileId),
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// Whether a sandbox with the default layers starts here.
    pub healthy: bool,
    /// Every layer as the throw-away sandbox saw it; empty when it did not start.
    pub layers: Vec<LayerCheck>,
    /// What of the host decides whether and how a sandbox starts.
    pub host: Vec<HostCheck>,
    /// Whether container engines answer. A sandbox needs none.
    pub engines: Vec<EngineCheck>,
    /// Why the throw-away sandbox did not start or did not end well.
    pub failure: Option<DoctorFailure>,
}

/// One layer.
#[derive(Debug, Serialize)]
pub struct LayerCheck {
    pub layer: Layer,
    /// Whether a start fails without it when no file says otherwise.
    pub need: Need,
    pub status: Status,
    /// What was seen, or what is missing and why.
    pub reason: String,
    /// The command that fixes it, where one is known.
    pub fix: Option<String>,
}

/// A container engine, which native sandboxes do without.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EngineCheck {
    /// Its command.
    pub name: &'static str,
    pub answers: bool,
    /// As whom it runs, or why it does not answer.
    pub found: String,
    /// What fixes it, where that is known.
    pub fix: Option<String>,
}

/// Why there is no report.
#[derive(Debug, Serialize)]
pub struct DoctorFailure {
    pub message: String,
    /// What to do about it, where that is known.
    pub fix: Option<String>,
}

/// Starts a throw-away sandbox and looks at the host's settings.
pub fn examine(patient: Patient<'_>) -> Diagnosis {
    let host = host::host_checks(Path::new("/"), patient.process.uid);
    let engines = engine_checks(patient.engines);
    match throw_away_sandbox(patient) {
        Ok(report) => {
            let layers = layer_checks(&report);
            let healthy =
                layers.iter().all(|check| check.need == Need::Preferred || check.status == Status::Enforced);
            Diagnosis { healthy, layers, host, engines, failure: None }
        }
        Err(failure) => {
            Diagnosis { healthy: false, layers: Vec::new(), host, engines, failure: Some(failure) }
        }
    }
}

fn throw_away_sandbox(patient: Patient<'_>) -> Result<Report, DoctorFailure> {
    let outcome = provider::run(Launch {
        parent: None,
        stay: None,
        plan: &throw_away_plan(patient.directory),
        secrets: &mut || Ok(Vec::new()),
        streams: Stdio::Capture,
        passed: Vec::new(),
        early: None,
        caller: patient.caller,
        state: patient.state,
        // It is native, and only containers have anything there.
        own: patient.state,
        locks: patient.locks,
        relay: None,
        children: None,
        renew: None,
        egress: None,
        engines: patient.engines,
        notice: &mut |_: Notice| {},
    });
    match outcome {
        Ok(Launched::Ended(outcome)) if outcome.end == End::Exited(0) => Ok(outcome.report),
        Ok(outcome) => Err(DoctorFailure {
            message: format!("`true` in a sandbox has not succeeded: {outcome:?}"),
            fix: None,
        }),
        Err(error) => {
            let fix = match &error {
                StartError::Layer { remedy, .. } | StartError::Refused { remedy, .. } => Some(remedy.clone()),
                StartError::Step { remedy, .. } => remedy.clone(),
                StartError::Engine(error) => error.remedy(),
                StartError::Secret(_) | StartError::Sandbox(_) | StartError::Workdir { .. } => None,
            };
            Err(DoctorFailure { message: error.to_string(), fix })
        }
    }
}

/// Makes a plan that touches every layer and requires none, so that one start reports on all of them.
pub(crate) fn throw_away_plan((directory, file_id): (&Path, FileId)) -> Plan {
    Plan {
        name: "doctor".to_owned(),
        provider: Provider::Native,
        provider_reason: None,
        agent: AgentProcess {
            argv: vec!["true".into()],
            workdir: PathBuf::from("/workspace"),
            init: Init::Supervise,
            pass_fd: Vec::new(),
        },
        env: Vec::new(),
        sockets: Vec::new(),
        git: None,
        secrets: Vec::new(),
        routes: Vec::new(),
        unset: Vec::new(),
        boundaries: vec![Boundary {
            name: "workspace".to_owned(),
            host: directory.to_owned(),
            guest: PathBuf::from("/workspace"),
            mode: BoundaryMode::ReadWrite,
            file_id,
            obeyed_as: None,
            worktrees: Vec::new(),
            tools: policy::plan::ToolRules::default(),
            hide: Vec::new(),
            execution: Execution::Allowed,
            kind: BoundaryKind::Directory,
        }],
        expose: Vec::new(),
        links: Vec::new(),
        container: None,
        network: Network::None,
        limits: Limits {
            memory: Some(Bytes(64 << 20)),
            cpus: Some(MilliCpus(1000)),
            pids: Some(16),
            timeout: Some(Duration::from_secs(30)),
            ..Limits::default()
        },
        protect: Protect::NOTHING,
        lifecycle: policy::plan::Lifecycle::default(),
        pool: None,
        children: None,
        commands: CommandRules::default(),
        workers: Vec::new(),
        layers: LAYERS.iter().map(|(layer, _)| (*layer, Need::Preferred)).collect(),
    }
}

fn layer_checks(report: &Report) -> Vec<LayerCheck> {
    let check = |finding: &confine::report::Finding| LayerCheck {
        layer: finding.layer,
        need: LAYERS
            .iter()
            .find(|(layer, _)| *layer == finding.layer)
            .map_or(Need::Preferred, |(_, need)| *need),
        status: finding.status,
        reason: finding.reason.clone(),
        fix: (finding.status != Status::Enforced).then(|| layer_fix(finding.layer)).flatten(),
    };
    report.0.iter().map(check).collect()
}

/// Returns how to fix a layer that is missing although a sandbox starts.
fn layer_fix(layer: Layer) -> Option<String> {
    match layer {
        Layer::Landlock => {
            Some("add `landlock` to the list after `lsm=` on the kernel's command line".to_owned())
        }
        _ => None,
    }
}

/// Asks each engine whether it answers, and leaves no process behind: rootless Podman starts one that holds its user namespace, and
/// stays until the user logs out. The next call makes another.
fn engine_checks(engines: &engine::surroundings::Surroundings) -> Vec<EngineCheck> {
    let collects = rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    let checks = [EngineKind::Docker, EngineKind::Podman].map(|kind| engine_check(kind, engines)).to_vec();
    if collects {
        let _ = reap::kill_descendants();
        // Whoever calls this may have other children later, which are not ours to collect.
        let _ = rustix::process::set_child_subreaper(None);
    }
    checks
}

fn engine_check(kind: EngineKind, engines: &engine::surroundings::Surroundings) -> EngineCheck {
    let name = kind.command();
    match Engine::find(kind, engines).map(|engine| engine.rights()) {
        Ok(Rights::Rootful) => {
            EngineCheck { name, answers: true, found: "answers, and runs as root".to_owned(), fix: None }
        }
        Ok(Rights::Rootless(uid)) => {
            EngineCheck { name, answers: true, found: format!("answers, and runs as uid {uid}"), fix: None }
        }
        Err(error) => EngineCheck { name, answers: false, found: error.to_string(), fix: error.remedy() },
    }
}
