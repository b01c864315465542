//! `mcp`: the MCP server, and its entry in the configuration of clients.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::mcp::{Failure, HttpOptions, Made, Program, Questions, Token};
use anyhow::Context as _;
use policy::plan::Plan;
use policy::text::escape;
use sandbox::secrets::SecretValue;
use sandbox::session::outcome::Notice;
use sandbox::state::sandboxes::SandboxError;
use sandbox::{Attachment, Sandbox};

use super::carry_out::Sources;
use super::create;
use super::sandboxes;
use crate::cli::{Deferred, McpCommand, McpServeArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use crate::{load, precedence, report, ui};

mod install;
mod terminal;

/// From how many persistent sandboxes on, whoever has made them and whether they run, no client can have one more kept. They outlive sessions
/// and servers, so neither can count them: all that are in the state directory are counted, while nobody else makes one.
const MOST_PERSISTENT: usize = 32;

pub(crate) fn mcp(ui: &Ui, command: McpCommand) -> Result<ExitCode, CommandError> {
    match command {
        // Nothing of it needs root: it acts for the user behind sudo, as that user.
        McpCommand::Serve(args) => {
            let Deferred(args) = *args;
            serve(ui, Context::gather_as_caller()?, &args)
        }
        McpCommand::Install(args) => install::install(ui, &Context::gather_as_caller()?, &args),
    }
}

fn serve(ui: &Ui, context: Context, args: &McpServeArgs) -> Result<ExitCode, CommandError> {
    let http = args.http.map(|address| options(&context, address, args)).transpose()?;
    let loaded = load::plan_with_workers(ui, &context, &args.request, Vec::new())?;
    precedence::note_start(&context, &loaded.plan, &loaded.searched, &loaded.deciding)?;
    if let Some(warning) = &loaded.ignored {
        ui.warning(warning);
    }
    // Before there are threads: see `Sources`.
    confine::clear_variables(&loaded.plan.credential_variables());
    let host = Arc::new(Host {
        ui: ui.clone(),
        env: context.env.clone(),
        context: Mutex::new(context),
        project: loaded.project,
    });
    let (making, removing, reading, logging) =
        (Arc::clone(&host), Arc::clone(&host), Arc::clone(&host), host);
    let program = Program {
        plan: loaded.plan,
        is_named: args.request.name.is_some(),
        questions: if args.request.source.answers.no_input {
            Questions::Refused
        } else {
            // Otherwise standard input is the client's.
            Questions::Asked { terminal: http.as_ref().and_then(|_| terminal::asking()) }
        },
        version: env!("CARGO_PKG_VERSION"),
        make: Box::new(move |plan, attachment| making.make(plan, attachment)),
        remove: Box::new(move |sandbox, grace| removing.remove(sandbox, grace)),
        secrets: Box::new(move |plan| reading.secrets(plan)),
        log: Box::new(move |line| logging.ui.warning(line)),
    };
    let served = match http {
        None => ::mcp::stdio::serve(program),
        Some(http) => ::mcp::http::serve(program, http, |address| {
            ui::print(format_args!("serving at http://{address}/mcp"));
        }),
    };
    served.context("cannot serve")?;
    Ok(ExitCode::Success)
}

/// Returns how HTTP is served.
fn options(
    context: &Context,
    address: std::net::SocketAddr,
    args: &McpServeArgs,
) -> Result<HttpOptions, CommandError> {
    if !address.ip().is_loopback() && !args.http_remote {
        let message =
            format!("--http {address}: others can reach this address, and nothing on the way is encrypted");
        return Err(CommandError::message(Code::UsageInvalid, message).hint(
            "serve at 127.0.0.1, with a proxy before it that speaks TLS; or say `--http-remote`, too",
        ));
    }
    let token = if let Some(file) = &args.token_file {
        let path = context.absolute(file);
        Token::from_file(&path).with_context(|| format!("--token-file {}", escape::path(&path)))?
    } else {
        let token = Token::generate().context("cannot make a token")?;
        ui::print(format_args!("token: {}", token.reveal()));
        token
    };
    Ok(HttpOptions { address, token, hosts: args.http_host.clone() })
}

/// The host, for the server: what makes and removes sandboxes.
struct Host {
    ui: Ui,
    /// The environment, of which each start takes what it needs.
    env: std::collections::BTreeMap<std::ffi::OsString, std::ffi::OsString>,
    context: Mutex<Context>,
    project: Option<PathBuf>,
}

impl Host {
    /// Returns the context, with the whole environment: whoever has made a sandbox with it has taken that out.
    fn context(&self) -> MutexGuard<'_, Context> {
        let mut context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        context.env.clone_from(&self.env);
        context
    }

    fn make(&self, plan: &Plan, attachment: Attachment) -> Result<Made, Failure> {
        let failed = |error: CommandError| failure("making the sandbox", plan, &error);
        let most = (attachment == Attachment::Detached).then_some(MOST_PERSISTENT);
        let mut context = self.context();
        let made = create::make(&self.ui, &mut context, plan, self.project.clone(), attachment, most);
        drop(context);
        let (record, lifeline) = made.map_err(failed)?;
        let found = sandboxes::open(&self.context()).map_err(failed)?;
        Ok(Made { sandbox: found.find(record.id.as_str())?, lifeline })
    }

    fn remove(&self, sandbox: &Sandbox, grace: Duration) -> Result<Vec<String>, Failure> {
        let plan = &sandbox.record.plan;
        let failed = |error: CommandError| failure("removing the sandbox", plan, &error);
        if sandbox.lives()? {
            sandboxes::warn_shown(&self.ui, sandbox);
            match sandbox.stop(grace) {
                Ok(recorded) => recorded.warning().into_iter().for_each(|warning| self.ui.warning(warning)),
                // Somebody else was faster.
                Err(_) if !sandbox.lives()? => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut moved = Vec::new();
        let mut notice = |notice| match notice {
            Notice::Warning(warning) => self.ui.warning(warning),
            Notice::Detected(finding) => self.ui.warning(report::made(&finding)),
            Notice::Quarantined { run, boundary, finding } if run == sandbox.record.id => {
                let shared = plan.boundaries.iter().find(|shared| shared.host == boundary);
                moved.extend(shared.map(|shared| escape::path(&shared.guest.join(finding.path))));
            }
            // Of another one.
            Notice::Quarantined { .. } | Notice::Started(_) => {}
        };
        let context = self.context();
        sandboxes::clear_up(&context, &mut notice).map_err(failed)?;
        match sandboxes::open(&context).map_err(failed)?.remove(sandbox) {
            Ok(recorded) => recorded.warning().into_iter().for_each(|warning| self.ui.warning(warning)),
            // Somebody else has removed it, or its files went with it.
            Err(SandboxError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(moved)
    }

    fn secrets(&self, plan: &Plan) -> Result<Vec<(String, SecretValue)>, Failure> {
        if plan.secrets.is_empty() {
            return Ok(Vec::new());
        }
        let context = self.context();
        let writable = plan.boundaries.iter().map(|boundary| boundary.host.clone());
        let programs = context.programs(writable.collect());
        let sources = Sources { env: self.env.clone(), programs, caller: context.caller };
        drop(context);
        // Those of routes are the egress proxy's.
        let plan = Plan { routes: Vec::new(), ..plan.clone() };
        let read = sources.read(&self.ui, &plan, None);
        read.map_err(|error| Failure::Host { what: "reading a secret", reason: error.to_string() })
    }
}

/// Returns a failure that shows a model no more of an error of ours than what it has asked for itself.
fn failure(what: &'static str, plan: &Plan, error: &CommandError) -> Failure {
    if error.code == Code::SandboxNameInUse {
        return Failure::NameInUse(plan.name.clone());
    }
    if error.code == Code::SandboxTooMany {
        // No path is in it.
        return Failure::InvalidArguments(format!(
            "{}: do without `keep`, or have the person who runs the server remove some with `sandboxctl rm --force NAME`, or with `sandboxctl prune` those that have ended",
            error.cause
        ));
    }
    let hints: Vec<_> = error.hints.iter().map(|hint| format!(" ({hint})")).collect();
    Failure::Host { what, reason: format!("{:#}{}", error.cause, hints.concat()) }
}
