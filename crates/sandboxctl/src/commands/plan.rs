//! `plan`: what a provider would do.

use std::fmt::Display;

use policy::plan::{
    Boundary, BoundaryKind, BoundaryMode, Container, Execution, Need, Network, Plan, Pool, Pull,
    RouteUpstream, SecretSource, Worker, names_a_registry,
};
use policy::rules::children::ChildLimits;
use policy::rules::git::GitIdentity;
use policy::rules::network::HostRule;
use policy::text::{escape, time};

use crate::cli::PlanArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::load;
use crate::ui::Ui;

pub(crate) fn plan(ui: &Ui, context: &Context, args: PlanArgs) -> Result<ExitCode, CommandError> {
    let loaded = load::plan_with_workers(ui, context, &args.request, args.argv)?;
    show(ui, &loaded.plan)
}

/// Prints a plan.
pub(super) fn show(ui: &Ui, plan: &Plan) -> Result<ExitCode, CommandError> {
    ui.data(plan, text)?;
    Ok(ExitCode::Success)
}

/// Formats a plan as a list of aligned lines.
fn text(plan: &Plan) -> String {
    let mut lines = Vec::new();
    let mut line = |label: &str, value: &dyn Display| lines.push(format!("{label:<10}  {value}\n"));
    line("name", &plan.name);
    match &plan.provider_reason {
        Some(reason) => line("provider", &format_args!("{} ({reason})", plan.provider)),
        None => line("provider", &plan.provider),
    }
    if let Some(container) = &plan.container {
        let platform = container.platform.iter().map(|platform| format!(" for {platform}"));
        let runtime = container.runtime.iter().map(|runtime| format!(" by {runtime}"));
        let details: String = platform.chain(runtime).collect();
        line("image", &format_args!("{}{details}, fetched {}", container.image, when(container)));
    }
    if let Some(children) = &plan.children {
        let ChildLimits { memory, cpus, pids, timeout, .. } = &children.limits;
        let each = [
            memory.map(|memory| format!("{memory} of memory")),
            cpus.map(|cpus| format!("{cpus} processors")),
            pids.map(|pids| format!("{pids} processes")),
            timeout.map(|timeout| format!("{} of time", time::duration(timeout))),
        ];
        let each: Vec<_> = each.into_iter().flatten().collect();
        let each =
            if each.is_empty() { String::new() } else { format!(", each with at most {}", each.join(", ")) };
        line("children", &format_args!("{} at once{each}; generations: {}", children.max, children.depth));
    }
    for Worker { name, max, plan, .. } in &plan.workers {
        let shared: Vec<_> = plan.boundaries.iter().map(|own| escape::path(&own.host)).collect();
        let shared = if shared.is_empty() { "nothing".to_owned() } else { shared.join(", ") };
        let network = plan.network.mode();
        line("worker", &format_args!("{name:?}, {max} at once, shares {shared}; network: {network}"));
    }
    if let Some(Pool { size, max_age }) = plan.pool {
        line("pool", &format_args!("{size} made ahead, each waits for {}", time::duration(max_age)));
    }
    let argv: Vec<_> = plan.agent.argv.iter().map(|arg| format!("{arg:?}")).collect();
    line("command", &argv.join(" "));
    line("workdir", &escape::path(&plan.agent.workdir));
    for number in &plan.agent.pass_fd {
        line("descriptor", &number);
    }
    for Boundary { name, host, guest, kind, mode, execution, hide, worktrees, obeyed_as, .. } in
        &plan.boundaries
    {
        if *kind == BoundaryKind::Home {
            line("home", &format_args!("{name:?} ({}), persistent", escape::path(host)));
            continue;
        }
        let mode = match mode {
            BoundaryMode::ReadWrite => "read-write",
            BoundaryMode::ReadOnly => "read-only",
        };
        let obeyed = obeyed_as.iter().map(|path| format!(", {path}, which programs outside obey"));
        let obeyed: String = obeyed.collect();
        let no_exec = match execution {
            Execution::Allowed => "",
            Execution::Refused => ", noexec",
        };
        let hidden = if hide.is_empty() { String::new() } else { format!(", without {}", hide.join(" ")) };
        let of = if worktrees.is_empty() {
            String::new()
        } else {
            format!(", the repository of worktree {}", escape::line(&worktrees.join(" ")))
        };
        let label = match kind {
            BoundaryKind::Directory | BoundaryKind::Home => "directory",
            BoundaryKind::File => "file",
        };
        line(
            label,
            &format_args!(
                "{} is {}, {mode}{no_exec}{hidden}{of}{obeyed}",
                escape::path(guest),
                escape::path(host)
            ),
        );
    }
    for socket in &plan.sockets {
        line("socket", &format_args!("{} is {}", escape::path(&socket.guest), escape::path(&socket.host)));
    }
    for exposed in &plan.expose {
        line("toolchain", &format_args!("{} ({})", escape::path(&exposed.guest), exposed.name));
    }
    for variable in &plan.env {
        line("variable", &format_args!("{}={}", variable.name, variable.value.to_string_lossy()));
    }
    if let Some(GitIdentity { name, email }) = &plan.git {
        let parts: Vec<_> =
            name.iter().cloned().chain(email.iter().map(|email| format!("<{email}>"))).collect();
        line("git", &format_args!("commits by {}", escape::line(&parts.join(" "))));
    }
    for secret in &plan.secrets {
        line("secret", &format_args!("{} from {}", secret.env_var, source(&secret.source)));
    }
    for route in &plan.routes {
        let upstream = match &route.upstream {
            RouteUpstream::Provider(name) => format!("/{} leads to {name}", route.name),
            RouteUpstream::Custom { url, .. } => format!("/{} leads to {url}", route.name),
            RouteUpstream::Intercepted(servers) => {
                servers.iter().map(|server| server.url.as_str()).collect::<Vec<_>>().join(", ")
            }
        };
        let credential = route.credential.as_ref();
        let from = credential.map_or_else(
            || "without a credential".to_owned(),
            |secret| {
                format!(
                    "with {} from {}; {} is a token for it",
                    secret.name,
                    source(&secret.source),
                    secret.env_var
                )
            },
        );
        line("route", &format_args!("{upstream}, {from}"));
    }
    line("network", &network(&plan.network));
    line("memory", &limit(plan.limits.memory));
    line("cpus", &limit(plan.limits.cpus));
    line("processes", &limit(plan.limits.pids));
    line("timeout", &plan.limits.timeout.map_or_else(|| "none".to_owned(), time::duration));
    line("tmpfs", &plan.limits.tmp_size);
    if let Some(most) = plan.limits.cpu_time {
        line("cpu time", &format_args!("{} of each process", time::duration(most)));
    }
    if let Some(size) = plan.limits.file_size {
        line("file size", &size);
    }
    if let Some(most) = plan.limits.network_bytes {
        line("network", &format_args!("{most} through the egress proxy"));
    }
    line("protected", &plan.protect.paths.join(" "));
    line("required", &layers(plan, Need::Required));
    line("preferred", &layers(plan, Need::Preferred));
    lines.concat()
}

fn when(container: &Container) -> &'static str {
    match container.pull {
        Pull::Missing if !names_a_registry(&container.image) => "never, because its name has no registry",
        Pull::Missing => "when it is missing",
        Pull::Always => "every time",
        Pull::Never => "never",
    }
}

fn source(source: &SecretSource) -> String {
    match source {
        SecretSource::Env(name) => format!("variable {name}"),
        SecretSource::File(path) => format!("file {}", escape::path(path)),
        SecretSource::Command(command) => format!("command {command:?}"),
    }
}

fn network(network: &Network) -> String {
    let list = |rules: &[HostRule]| {
        let shown = |rule: &HostRule| match rule.preset {
            None => rule.pattern.to_string(),
            Some(preset) => format!("{} ({preset})", rule.pattern),
        };
        rules.iter().map(shown).collect::<Vec<_>>().join(", ")
    };
    match network {
        Network::None => "none".into(),
        Network::Open => "open".into(),
        Network::Allowlist { allow, deny, intercept } => {
            let denied = if deny.is_empty() { String::new() } else { format!("; not {}", list(deny)) };
            let hosts: Vec<_> = intercept.iter().map(ToString::to_string).collect();
            let ended = if hosts.is_empty() {
                String::new()
            } else {
                format!("; TLS intercepted to {}", hosts.join(", "))
            };
            format!("allowlist: {}{denied}{ended}", list(allow))
        }
    }
}

fn limit(value: Option<impl Display>) -> String {
    value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string())
}

fn layers(plan: &Plan, need: Need) -> String {
    let names: Vec<_> =
        plan.layers.iter().filter(|(_, is)| **is == need).map(|(layer, _)| layer.to_string()).collect();
    names.join(" ")
}
