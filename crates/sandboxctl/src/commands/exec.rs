//! `exec`: a second command in a sandbox that runs.

use sandbox::engine::Kind;
use sandbox::provider::{self, Entry, Sought, Streams};

use crate::cli::{self, ExecArgs, Format, KeyFlags, Request};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use crate::{directories, load, output};

pub(crate) fn exec(ui: &Ui, context: &Context, args: ExecArgs) -> Result<ExitCode, CommandError> {
    let ExecArgs { source, env, workdir, provider, name, argv } = args;

    // 1. Where it runs, no configuration has to know.
    let sandbox = provider::find(&Sought {
        name: &name,
        engine: provider.map(|provider| match provider {
            cli::Engine::Docker => Kind::Docker,
            cli::Engine::Podman => Kind::Podman,
        }),
        owner: context.caller,
        state: &context.state(),
        engines: &context.engines(context.programs(directories::around(context))),
    })?;

    // 2. The command and its variables, for the provider that it was found in.
    let request = Request {
        source,
        name: Some(sandbox.name().to_owned()),
        env,
        keys: KeyFlags::default()
            .and("agent.workdir", workdir)
            .and("provider", Some(sandbox.provider().to_string())),
        ..Request::default()
    };
    let loaded = load::second(context, &request, argv)?;
    if !loaded.plan.secrets.is_empty() {
        ui.warning("secrets stay with the first command; an exec gets none");
    }

    // 3. The command.
    let outcome = provider::enter(&Entry {
        plan: &loaded.plan,
        sandbox: &sandbox,
        streams: match ui.format() {
            Format::Text => Streams::Inherit,
            Format::Json => Streams::Capture,
        },
    })?;
    let (code, failure) = super::run::judge(&outcome.end, loaded.plan.provider);
    match (ui.format(), &failure) {
        (Format::Json, _) => ui.json(&output::run(&loaded, &outcome, code, failure.as_ref(), &[]))?,
        (Format::Text, Some(failure)) => ui.failure(failure),
        (Format::Text, None) => {}
    }
    Ok(code)
}
