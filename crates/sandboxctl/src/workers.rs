//! Workers: each has a file of its own, from which a plan is made as from any other, and held against the plan of the sandbox.

use policy::WorkerRequest;
use policy::config::problem::{Problem, ProblemCode};
use policy::config::schema::KEYS;
use policy::plan::Worker;
use policy::rules::worker::Inherit;
use policy::text::escape;

use crate::cli::{Answers, ConfigSource, PlanRequest, Trusted};
use crate::context::Context;
use crate::error::CommandError;
use crate::load::single::{self, Made};
use crate::own_files;
use crate::ui::Ui;

/// Makes the plans of the workers of a sandbox. `source` is where its own settings are from. The files of the workers are protected in it from then on:
/// what says what they may do is nothing that its agent changes.
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
    let mut problems = Vec::new();
    let requests = parent.policy.workers().to_vec();
    for request in requests {
        let made = make(ui, context, source, parent, &request, &mut problems)?;
        if let Some(file) = &made.config {
            own_files::protect(file, &mut parent.plan)?;
        }
        let WorkerRequest { name, description, max, attachments, .. } = request;
        parent.plan.workers.push(Worker { name, description, max, attachments, plan: made.plan });
    }
    if problems.is_empty() { Ok(()) } else { Err(CommandError::problems(problems)) }
}

fn make(
    ui: &Ui,
    context: &Context,
    source: &ConfigSource,
    parent: &Made,
    request: &WorkerRequest,
    problems: &mut Vec<Problem>,
) -> Result<Made, CommandError> {
    let mut made = single::make(ui, context, &own_request(source, parent, request), Vec::new(), &mut |_| ())?;
    let mut refuse = |message: String, hint: Option<String>| {
        let key = format!("workers.{}", request.name);
        let problem = Problem::new(&request.location, key, ProblemCode::Refused, message);
        problems.push(match hint {
            Some(hint) => problem.hinting(hint),
            None => problem,
        });
    };
    let file = escape::path(&request.config);
    if !made.policy.workers().is_empty() {
        refuse(
            format!("{file} has workers, and a worker has none"),
            Some("leave its `[workers]` out".to_owned()),
        );
    }
    if !made.policy.has_command() {
        let hint = "set `agent.command` to the program that reads the task from standard input";
        refuse(format!("{file} says nothing of what the worker runs"), Some(hint.to_owned()));
    }
    parent.plan.protect_in(&mut made.plan);
    if let Some(config) = &parent.config {
        own_files::protect(config, &mut made.plan)?;
    }
    if request.inherit == Inherit::Subset {
        for more in parent.plan.exceeded_by(&made.plan, &made.policy.passed_variables()) {
            refuse(format!("{file} has more than this sandbox: {}", more.message), more.hint);
        }
    }
    Ok(made)
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
