//! `egress allow`, `deny`, `forget` and `list`: the rules of sandboxes while they run.

use confine::protocol::{EgressRequest, EgressRules, RefusedHost, RuleInForce, UnreachedHost};
use policy::rules::limits;
use policy::rules::network::preset::not_bare;
use policy::rules::network::{HostError, HostRule};
use sandbox::session::egress::{LiveError, Living};
use serde::Serialize;
use serde_json::json;

use crate::cli::{EgressAllowArgs, EgressDenyArgs, EgressForgetArgs};
use crate::commands::sandboxes;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// What is in force, for programs.
#[derive(Serialize)]
struct Listing<'a> {
    sandbox: &'a str,
    allow: Vec<ListedRule>,
    deny: Vec<ListedRule>,
    refused: Vec<RefusedHost>,
    unreached: Vec<UnreachedHost>,
    /// What was refused, as a line for `[network]` of sandbox.toml; null where nothing was.
    toml: Option<String>,
}

#[derive(Serialize)]
struct ListedRule {
    #[serde(flatten)]
    rule: HostRule,
    /// Null is until the sandbox ends.
    seconds_left: Option<u64>,
}

impl From<RuleInForce> for ListedRule {
    fn from(RuleInForce { rule, seconds_left }: RuleInForce) -> Self {
        Self { rule: rule.into(), seconds_left }
    }
}

pub(super) fn allow(ui: &Ui, context: &Context, args: &EgressAllowArgs) -> Result<ExitCode, CommandError> {
    let time = args.time.as_deref().map(limits::duration).transpose().map_err(usage)?;
    let seconds = time.map(|time| time.as_secs().max(1));
    let request = EgressRequest::Allow { hosts: hosts(&args.hosts)?, seconds };
    let until = args.time.as_ref().map_or_else(|| "until it ends".to_owned(), |time| format!("for {time}"));
    let message = format!("{} may be reached from {}, {until}\n", args.hosts.join(", "), args.name);
    send(ui, context, &args.name, &request, |_| message)
}

pub(super) fn deny(ui: &Ui, context: &Context, args: &EgressDenyArgs) -> Result<ExitCode, CommandError> {
    let request = EgressRequest::Deny { hosts: hosts(&args.hosts)? };
    let message = format!("{} may not be reached from {}\n", args.hosts.join(", "), args.name);
    send(ui, context, &args.name, &request, |_| message)
}

pub(super) fn forget(ui: &Ui, context: &Context, args: &EgressForgetArgs) -> Result<ExitCode, CommandError> {
    let request = EgressRequest::Forget { hosts: hosts(&args.hosts)? };
    let message =
        format!("{}: the rules that {} started with hold again\n", args.hosts.join(", "), args.name);
    send(ui, context, &args.name, &request, |_| message)
}

pub(super) fn list(ui: &Ui, context: &Context, name: Option<&str>) -> Result<ExitCode, CommandError> {
    match name {
        Some(name) => send(ui, context, name, &EgressRequest::List, shown),
        None => list_sandboxes(ui, context),
    }
}

/// A sandbox with an allow-list of hosts, in a list of them.
#[derive(Serialize)]
struct ListedSandbox {
    sandbox: String,
    allow: usize,
    deny: usize,
    refused: usize,
}

/// Lists the caller's living sandboxes that have an allow-list of hosts.
fn list_sandboxes(ui: &Ui, context: &Context) -> Result<ExitCode, CommandError> {
    let living =
        Living::all(&context.state(), context.caller).map_err(|error| failure(context, "", error))?;
    // One that ends meanwhile is none of them.
    let listed = living.into_iter().filter_map(|(sandbox, living)| {
        let EgressRules { allow, deny, refused, .. } = living.ask(&EgressRequest::List).ok()?;
        Some(ListedSandbox { sandbox, allow: allow.len(), deny: deny.len(), refused: refused.len() })
    });
    let listed: Vec<_> = listed.collect();
    ui.data(&json!({ "sandboxes": listed }), |_| {
        let line = |one: &ListedSandbox| {
            let ListedSandbox { sandbox, allow, deny, refused } = one;
            format!("{sandbox}  allow {allow}, deny {deny}, refused {refused}\n")
        };
        if listed.is_empty() {
            "no sandbox of yours runs with an allow-list of hosts\n".to_owned()
        } else {
            listed.iter().map(line).collect()
        }
    })?;
    Ok(ExitCode::Success)
}

fn hosts<T: std::str::FromStr<Err = HostError>>(texts: &[String]) -> Result<Vec<T>, CommandError> {
    // As in a file: the name of a preset alone means nothing.
    texts.iter().map(|text| not_bare(text).map_err(usage)).collect()
}

fn usage(error: impl std::error::Error + Send + Sync + 'static) -> CommandError {
    CommandError::new(Code::UsageInvalid, error)
}

fn send(
    ui: &Ui,
    context: &Context,
    name: &str,
    request: &EgressRequest,
    text: impl FnOnce(&Listing<'_>) -> String,
) -> Result<ExitCode, CommandError> {
    let living = Living::find(&context.state(), context.caller, name);
    let rules = living.and_then(|living| living.ask(request));
    let EgressRules { allow, deny, refused, unreached } =
        rules.map_err(|error| failure(context, name, error))?;
    let [allow, deny] = [allow, deny].map(|rules| rules.into_iter().map(ListedRule::from).collect());
    ui.data(&Listing { sandbox: name, allow, deny, toml: toml(&refused), refused, unreached }, text)?;
    Ok(ExitCode::Success)
}

/// Makes the error for a sandbox whose proxy was not reached, or has refused.
pub(super) fn failure(context: &Context, name: &str, error: LiveError) -> CommandError {
    let code = match &error {
        LiveError::NotFound(_) if runs(context, name) => {
            let message =
                format!("the sandbox \"{}\" has no allow-list of hosts to change", name.escape_debug());
            return CommandError::message(Code::EgressNone, message)
                .hint("start it with `--allow-host HOST`, or `[network] mode = \"allowlist\"`");
        }
        LiveError::NotFound(_) => Code::SandboxNotFound,
        LiveError::Several { .. } => Code::SandboxAmbiguous,
        LiveError::Refused(_) => Code::PolicyDenied,
        LiveError::Lost(_) | LiveError::State(_) => Code::ToolFailed,
    };
    let hint = match &error {
        LiveError::NotFound(_) => {
            "`egress list` lists those that run; one without an allow-list of hosts has no rules that could change"
        }
        LiveError::Several { .. } => "end one of them, or give each a name of its own",
        LiveError::Refused(_) => {
            "`egress forget` takes back what `egress allow` or `egress deny` said of the same pattern; `egress list` shows it"
        }
        LiveError::Lost(_) | LiveError::State(_) => return CommandError::new(code, error),
    };
    CommandError::new(code, error).hint(hint)
}

/// Returns whether a sandbox of this name runs.
fn runs(context: &Context, name: &str) -> bool {
    let found = sandboxes::open(context).and_then(|sandboxes| Ok(sandboxes.lookup(name)?));
    found.is_ok_and(|found| found.is_some_and(|sandbox| sandbox.phase.can_stop()))
}

fn shown(listing: &Listing<'_>) -> String {
    let Listing { allow, deny, refused, unreached, .. } = listing;
    let rule = |list: &str, ListedRule { rule, seconds_left }: &ListedRule| {
        let preset = rule.preset.map(|preset| format!(" ({preset})")).unwrap_or_default();
        let left = seconds_left.map(|left| format!(", {left}s left")).unwrap_or_default();
        format!("{list:<8} {}{preset}  {}{left}\n", rule.pattern, rule.origin)
    };
    let mut text: String = allow.iter().map(|one| rule("allow", one)).collect();
    text.extend(deny.iter().map(|one| rule("deny", one)));
    text.extend(refused.iter().map(|RefusedHost { host, port, count }| match port {
        0 => format!("refused  {host}  {count}x looked up\n"),
        port => format!("refused  {host}:{port}  {count}x\n"),
    }));
    text.extend(unreached.iter().map(|UnreachedHost { host, port, count, why }| {
        format!("failed   {host}:{port}  {count}x  {}\n", why.escape_debug())
    }));
    let toml = listing.toml.iter();
    text.extend(toml.map(|toml| format!("\n# what was refused, for [network] in sandbox.toml\n{toml}\n")));
    text
}

/// Writes what was refused as a line of TOML. Names that were only looked up are taken for servers of HTTPS.
fn toml(refused: &[RefusedHost]) -> Option<String> {
    let connected = |host: &str| refused.iter().any(|other| other.host == host && other.port != 0);
    let wanted = refused.iter().filter(|one| one.port != 0 || !connected(&one.host));
    let hosts: Vec<_> = wanted
        .map(|one| {
            let port = if one.port == 0 { 443 } else { one.port };
            if one.host.contains(':') {
                format!("\"[{}]:{port}\"", one.host)
            } else {
                format!("\"{}:{port}\"", one.host)
            }
        })
        .collect();
    (!hosts.is_empty()).then(|| format!("allow = [{}]", hosts.join(", ")))
}
