//! From what the caller typed to a plan: the one way a plan comes to be.
//!
//! Files are read once. What was checked for trust is what is merged, and what is merged is what runs.

use std::ffi::OsString;
use std::path::PathBuf;

use policy::plan::{Layer, Plan, Provider};
use policy::rules::home::Home;
use policy::rules::path::normalise;
use sandbox::host::programs::Programs;
use sandbox::state::trust::Searched;

use self::single::{Made, make};
pub(crate) use self::single::{policy, settings, timeout_of, writable_of};
use crate::cli::PlanRequest;
use crate::context::Context;
use crate::directories::Directories;
use crate::error::CommandError;
use crate::ui::Ui;
use crate::{own_files, own_git, precedence, workers};

pub(crate) mod single;

/// A plan, and where it comes from.
pub(crate) struct Loaded {
    pub(crate) plan: Plan,
    /// The project's file that was applied.
    pub(crate) config: Option<PathBuf>,
    /// The project that the home directory inside is kept for.
    pub(crate) project: Option<PathBuf>,
    /// What was asked for and ignored, because no engine answers.
    pub(crate) ignored: Option<String>,
    /// Layers that somebody asked for, in a file, a variable or a flag.
    pub(crate) asked: Vec<Layer>,
    /// How the project's file was found.
    pub(crate) searched: Searched,
    /// The project's file and those of its workers, which the next agent must not change.
    pub(crate) deciding: Vec<PathBuf>,
    /// The directories that it names, held open until they are mounted.
    _directories: Directories,
    /// The programs of the host that may be run for it.
    pub(crate) programs: Programs,
}

/// Makes the plan for what was typed, without workers, who have nothing to do there: their files are protected. Which provider runs it is reported as
/// soon as that is known, which is before there is a plan; what was typed is reported before anything is read.
pub(crate) fn plan(
    ui: &Ui,
    context: &Context,
    request: &PlanRequest,
    argv: Vec<OsString>,
    known: &mut dyn FnMut(Provider),
) -> Result<Loaded, CommandError> {
    let mut made = make(ui, context, request, argv, known)?;
    workers::protect_files(&mut made)?;
    Ok(made.into())
}

/// Makes the plan for what was typed, with those of its workers.
pub(crate) fn plan_with_workers(
    ui: &Ui,
    context: &Context,
    request: &PlanRequest,
    argv: Vec<OsString>,
) -> Result<Loaded, CommandError> {
    let mut made = make(ui, context, request, argv, &mut |_| ())?;
    workers::load(ui, context, &request.source, &mut made)?;
    Ok(made.into())
}

impl From<Made> for Loaded {
    fn from(made: Made) -> Self {
        let Made { plan, policy, config, project, ignored, asked, searched, directories, programs } = made;
        let project = (*policy.home() == Home::OfProject).then_some(project);
        let workers = policy.workers().iter().map(|worker| normalise(&worker.config));
        let deciding = config.iter().cloned().chain(workers).collect();
        Self {
            plan,
            config,
            project,
            ignored,
            asked,
            searched,
            deciding,
            _directories: directories,
            programs,
        }
    }
}

/// Takes the plan that a sandbox was made from, to make it again. What its owner agreed to is in it; what git's own configuration names is
/// read anew.
pub(crate) fn recorded(context: &Context, plan: &Plan) -> Result<Loaded, CommandError> {
    let mut plan = plan.clone();
    own_files::protect_settings(context, &mut plan)?;
    own_files::protect_known(context, &precedence::known(context)?, &mut plan)?;
    own_git::protect(context, &mut plan);
    let shared = plan.boundaries.iter().map(|boundary| boundary.host.clone());
    let programs = context.programs(shared.collect());
    Ok(Loaded {
        plan,
        config: None,
        project: None,
        ignored: None,
        asked: Vec::new(),
        searched: Searched::default(),
        deciding: Vec::new(),
        _directories: Directories::default(),
        programs,
    })
}
