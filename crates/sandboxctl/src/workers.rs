//! Workers: each has a file of its own, from which a plan is made as from any other, and held against the plan of the sandbox.

use policy::WorkerRequest;
use policy::config::problem::{Problem, ProblemCode};
use policy::config::schema::KEYS;
use policy::plan::{BoundaryKind, Provider, Worker};
use policy::rules::path::normalise;
use policy::rules::worker::Inherit;
use policy::text::escape;

use crate::cli::{Answers, ConfigSource, PlanRequest, Trusted};
use crate::context::Context;
use crate::error::CommandError;
use crate::load::single::{self, Made};
use crate::own_files;
use crate::ui::Ui;

/// Makes the plans of the workers of a sandbox. `source` is where its own settings are from.
///
/// # Errors
///
/// The file of one is wrong or needs trust, or one would have what the sandbox does not have.
pub(crate) fn load(
    ui: &Ui,
    context: &Context,
    source: &ConfigSource,
    parent: &mut Made,
) -> Result<(), CommandError> {
    let requests = parent.policy.workers().to_vec();
    let mut all = Vec::new();
    for request in requests {
        let made = single::make(ui, context, &own_request(source, parent, &request), Vec::new(), &mut |_| ());
        let made = made.map_err(|error| error.context(format!("the worker `{}`", request.name)))?;
        all.push((request, made));
    }
    protect_files(parent)?;
    let mut problems = Vec::new();
    for (request, mut made) in all {
        // What says what holds for one is nothing that another one changes.
        for file in parent.config.iter().chain(parent.policy.workers().iter().map(|other| &other.config)) {
            own_files::protect(&normalise(file), &mut made.plan)?;
        }
        check(parent, &request, &mut made, &mut problems);
        let WorkerRequest { name, description, max, attachments, .. } = request;
        parent.plan.workers.push(Worker { name, description, max, attachments, plan: made.plan });
    }
    if problems.is_empty() { Ok(()) } else { Err(CommandError::problems(problems)) }
}

/// Protects the files of the workers of a sandbox in it.
pub(crate) fn protect_files(parent: &mut Made) -> Result<(), CommandError> {
    let Made { policy, plan, .. } = parent;
    policy.workers().iter().try_for_each(|worker| own_files::protect(&normalise(&worker.config), plan))
}

/// Notes what is wrong with a worker. One that has no more than its sandbox gets what narrows that.
fn check(parent: &Made, request: &WorkerRequest, made: &mut Made, problems: &mut Vec<Problem>) {
    let file = escape::path(&request.config);
    let mut refuse = |message: String, hint: Option<String>| {
        let key = format!("workers.{}", request.name);
        let problem = Problem::new(&request.location, key, ProblemCode::Refused, message);
        problems.push(match hint {
            Some(hint) => problem.hinting(hint),
            None => problem,
        });
    };
    if parent.plan.provider == Provider::Local {
        let hint = "--provider native, docker or podman isolates";
        refuse(
            "the provider \"local\" isolates nothing, so a worker would be no sandbox".to_owned(),
            Some(hint.to_owned()),
        );
    }
    // A link is changed by whoever may write where it stands, whatever it leads to.
    if let Some(led) = made.config.as_ref().filter(|led| **led != normalise(&request.config)) {
        let led = escape::path(led);
        refuse(format!("{file} leads through a link to {led}"), Some(format!("name {led} itself")));
    }
    if made.policy.workers().iter().any(|worker| worker.location.is_projects()) {
        refuse(
            format!("{file} has workers, and a worker has none"),
            Some("leave its `[workers]` out".to_owned()),
        );
    }
    if !made.policy.has_command() {
        let hint = "set `agent.command` to the program that reads the task from standard input";
        refuse(format!("{file} says nothing of what the worker runs"), Some(hint.to_owned()));
    }
    if request.inherit == Inherit::None {
        return;
    }
    let says = made.policy.project_says();
    if !says.container {
        made.plan.container.clone_from(&parent.plan.container);
    }
    if !says.home {
        made.plan.boundaries.retain(|boundary| boundary.kind != BoundaryKind::Home);
    }
    parent.plan.narrow(&mut made.plan, &made.policy.explicit_variables());
    for more in parent.plan.exceeded_by(&made.plan) {
        refuse(format!("{file} has more than this sandbox: {}", more.message), more.hint);
    }
}

/// Returns the request for the plan of a worker: its own file, and who carries it out.
fn own_request(source: &ConfigSource, parent: &Made, request: &WorkerRequest) -> PlanRequest {
    let mut own = PlanRequest {
        source: ConfigSource {
            config: Some(request.config.clone()),
            // A hash is that of another file.
            trust: source.trust.clone().filter(|trusted| *trusted == Trusted::Any),
            answers: Answers { yes: source.answers.yes, no_input: source.answers.no_input },
        },
        ..PlanRequest::default()
    };
    if let Some(key) = KEYS.iter().find(|key| key.path == "provider") {
        own.keys.0.push((key, vec![parent.plan.provider.to_string()]));
    }
    own
}
