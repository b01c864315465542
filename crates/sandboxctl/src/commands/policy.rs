//! `policy`: what the rules say of a path, a host or a variable.

use std::path::Path;

use policy::Policy;
use policy::config::overrides::Overrides;
use policy::rules::network::{HostPattern, Request, Scheme};
use policy::rules::path::PathAccess;
use policy::rules::verdict::{Decision, Origin, Verdict};
use policy::text::escape;

use self::enforcement::{Enforcement, PolicyAnswer};
use crate::cli::{self, PolicyArgs, PolicyCommand, Subject};
use crate::context::Context;
use crate::directories::{self, Directories};
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::facts;
use crate::files::{self, FoundFile};
use crate::load;
use crate::ui::Ui;
use crate::worktrees::share_repositories;

mod enforcement;

/// The port of a host that is asked about without one.
const HTTPS: u16 = 443;

pub(crate) fn policy(ui: &Ui, context: &Context, command: &PolicyCommand) -> Result<ExitCode, CommandError> {
    let (PolicyCommand::Check(args) | PolicyCommand::Explain(args)) = command;
    let answer = decide(context, &rules(context, args)?, &args.subject)?;
    match command {
        PolicyCommand::Check(_) => {
            ui.data(&answer, |answer| {
                let Verdict { decision, rule, origin } = &answer.verdict;
                format!("{decision}: {rule} ({origin})\n{}", enforcement_note(answer))
            })?;
            Ok(match answer.verdict.decision {
                Decision::Allow => ExitCode::Success,
                Decision::Ask | Decision::Deny => ExitCode::Denied,
            })
        }
        PolicyCommand::Explain(_) => {
            ui.data(&answer, |answer| explanation(&args.subject, answer))?;
            Ok(ExitCode::Success)
        }
    }
}

// Asking is free: the rules of a file that nobody trusts are answered about, and not applied.
fn rules(context: &Context, args: &PolicyArgs) -> Result<Policy, CommandError> {
    let file = files::project(context, args.source.config.as_deref())?;
    let settings = load::settings(context, file.as_ref(), &Overrides::default())?;
    let mut policy = load::policy(context, &settings)?;
    let project = file.as_ref().map(FoundFile::directory);
    share_repositories(context, &mut policy, project, &mut Directories::default());
    Ok(policy)
}

fn decide(context: &Context, rules: &Policy, subject: &Subject) -> Result<PolicyAnswer, CommandError> {
    let of_path = |path: &Path, access| enforcement::of_path(rules, context.caller, path, as_asked(access));
    Ok(match subject {
        Subject::Path { path, host: false, .. } if path.is_relative() => {
            let message = format!("`{}` is relative, and the sandbox may start anywhere", escape::path(path));
            let error = CommandError::message(Code::UsageInvalid, message);
            let path = context.absolute(path);
            let inside =
                rules.inside(&path).map(|inside| format!("inside, it is `{}`", escape::path(&inside)));
            let instead = "name it as the sandbox sees it, such as `/workspace/file`; `--host` asks about a path of this machine";
            return Err(inside.into_iter().fold(error.hint(instead), CommandError::hint));
        }
        Subject::Path { path, access, host: false } => match toolchain(context, rules, path, *access) {
            Some(verdict) => enforcement::of_walls(rules, verdict),
            None => of_path(path, *access),
        },
        Subject::Path { path, access, host: true } => {
            let path = context.absolute(path);
            match rules.inside(&path) {
                Some(inside) => of_path(&inside, *access),
                None => enforcement::of_walls(rules, rules.host_path(&path, as_asked(*access))),
            }
        }
        Subject::Command { text } => enforcement::of_command(rules.command(text)),
        Subject::Env { name } => enforcement::of_variable(rules.variable(name)),
        Subject::Host { host } => {
            let pattern: HostPattern = host
                .parse()
                .map_err(|error| CommandError::new(Code::UsageInvalid, anyhow::Error::new(error)))?;
            let name = match pattern.port() {
                Some(_) => host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name),
                None => host,
            };
            enforcement::of_walls(rules, rules.host(name, pattern.port().unwrap_or(HTTPS)))
        }
        Subject::Request { method, url } => enforcement::of_walls(rules, request(rules, method, url)?),
    })
}

/// Decides about a path that a toolchain shows.
fn toolchain(context: &Context, rules: &Policy, path: &Path, access: cli::Access) -> Option<Verdict> {
    let programs = context.programs(directories::around(context));
    let found = facts::toolchains(context, &programs, rules);
    let parts = found.values().flatten().flat_map(|parts| &parts.exposed);
    let shown = parts.into_iter().find(|exposed| path.starts_with(&exposed.guest))?;
    let (path, tree) = (escape::path(path), escape::path(&shown.guest));
    let origin = Origin::Default;
    Some(match access {
        cli::Access::Write => Verdict::deny(
            format!("cannot write `{path}`: `{tree}` of toolchain \"{}\" is read-only", shown.name),
            origin,
        ),
        cli::Access::Read | cli::Access::Execute => {
            Verdict::allow(format!("`{path}` lies in `{tree}` of toolchain \"{}\"", shown.name), origin)
        }
    })
}

/// Decides about a request for a URL.
fn request(rules: &Policy, method: &str, url: &str) -> Result<Verdict, CommandError> {
    let none = || CommandError::message(Code::UsageInvalid, format!("{url:?} is no URL of HTTP or HTTPS"));
    let (scheme, rest) = match url.split_once("://") {
        Some(("http", rest)) => (Scheme::Http, rest),
        Some(("https", rest)) => (Scheme::Https, rest),
        _ => return Err(none()),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let pattern: HostPattern = authority
        .parse()
        .map_err(|error| CommandError::new(Code::UsageInvalid, anyhow::Error::new(error)))?;
    let HostPattern::Exact { host, port } = pattern else { return Err(none()) };
    let path = path.split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or("/").to_owned();
    let request = Request { scheme, method: method.to_owned(), path };
    Ok(rules.request(&host.to_string(), port.unwrap_or(scheme.port()), request))
}

fn as_asked(access: cli::Access) -> PathAccess {
    match access {
        cli::Access::Read => PathAccess::Read,
        cli::Access::Write => PathAccess::Write,
        cli::Access::Execute => PathAccess::Execute,
    }
}

/// Explains the verdict in words.
fn explanation(subject: &Subject, answer: &PolicyAnswer) -> String {
    let Verdict { decision, rule, origin } = &answer.verdict;
    let what = match subject {
        Subject::Path { path, access, .. } => format!("{} {}", as_asked(*access), escape::path(path)),
        Subject::Host { host } => format!("reach {host}"),
        Subject::Request { method, url } => format!("send {method} {url}"),
        Subject::Command { .. } => "run it".to_owned(),
        Subject::Env { name } => format!("see the caller's variable {name}"),
    };
    let (may, next) = match decision {
        Decision::Allow => ("may", ""),
        Decision::Ask => ("may, if a person agrees,", ""),
        Decision::Deny => ("may not", "this is a rule, not a fault: trying again changes nothing\n"),
    };
    format!("the agent {may} {what}\nrule: {rule}\nfrom: {origin}\n{}{next}", enforcement_note(answer))
}

/// Describes how the verdict is enforced, where that is not as anybody would expect.
fn enforcement_note(answer: &PolicyAnswer) -> String {
    match answer.enforcement {
        None | Some(Enforcement::Prevented) => String::new(),
        Some(enforcement) => format!("{enforcement}\n"),
    }
}
