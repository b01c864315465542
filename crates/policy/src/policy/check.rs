//! What is understood and not built yet, and what no provider here can do.

use std::path::Path;

use super::boundary::BoundaryRequest;
use super::environment;
use crate::config::defaults::{AGENT, HOME};
use crate::config::effective::Effective;
use crate::config::problem::{Located, Location, Problem, ProblemCode};
use crate::config::{Config, ProviderChoice, SecretMode, SecretProvider, SecretTable};
use crate::plan::{Network, Provider};
use crate::protect::table::is_only_classified;
use crate::protect::{Protected, RelativePath};
use crate::rules::home::Home;
use crate::rules::network::preset::AllowedHosts;
use crate::rules::network::{Host, HostPattern, HostRule, HostRules, NetworkMode};

/// Notes every setting whose feature is not there. Each is one line here and one `NotYet` in the schema.
pub(super) fn supported(config: &Config, provider: Provider, problems: &mut Vec<Problem>) {
    let mut not_yet = |location: &Location, key: String, what: &str, hint: &str| {
        let message = format!("{what} not supported yet");
        problems.push(Problem::new(location, key, ProblemCode::NotSupportedYet, message).hinting(hint));
    };
    if let Some(user) = config.agent.user.as_ref().filter(|user| user.value.to_string() != AGENT) {
        let what = format!("the user \"{}\" is", user.value);
        not_yet(&user.location, "agent.user".to_owned(), &what, "use \"agent\", or leave it out");
    }
    open_network(config, provider, problems);
    intercepted(config, problems);
    hosts(config, provider, problems);
    unseen_requests(config, problems);
    for (name, secret) in &config.secrets {
        proxy_keys(name, secret, config, problems);
    }
}

/// Refuses the host's network to the native provider: a network namespace either has a way out or has none, and giving it the host's would open the host's
/// loopback and its abstract sockets to the agent.
fn open_network(config: &Config, provider: Provider, problems: &mut Vec<Problem>) {
    let Some(mode) = config.network.mode.as_ref().filter(|mode| mode.value == NetworkMode::Open) else {
        return;
    };
    if provider != Provider::Native {
        return;
    }
    let message = "the native provider refuses \"open\": it would share the host's own network, \
                   with all that listens on its loopback";
    problems.push(
        Problem::new(&mode.location, "network.mode", ProblemCode::Refused, message)
            .expecting("\"none\" or \"allowlist\"")
            .hinting("--provider docker or podman has a network of its own that leads out"),
    );
}

/// Refuses rules about requests that nobody could see.
fn unseen_requests(config: &Config, problems: &mut Vec<Problem>) {
    let allowed =
        config.network.allow.iter().flat_map(|list| &list.value).filter_map(|one| match &one.value {
            AllowedHosts::Pattern(pattern) => Some(("network.allow", pattern, &one.location)),
            AllowedHosts::Preset(_) => None,
        });
    let denied = config.network.deny.iter().flat_map(|list| &list.value);
    let denied = denied.map(|one| ("network.deny", &one.value, &one.location));
    let intercepted = config.network.intercept.iter().flat_map(|list| &list.value);
    let intercepted: Vec<_> = intercepted.map(|host| host.value.clone()).collect();
    for (key, pattern, location) in allowed.chain(denied) {
        let problem = |why: String| Problem::new(location, key, ProblemCode::Refused, why);
        problems.extend(pattern.unseen(&intercepted).map(problem));
    }
}

/// Refuses a list of hosts that nothing would enforce.
fn hosts(config: &Config, provider: Provider, problems: &mut Vec<Problem>) {
    let network = &config.network;
    let mut refuse = |location: &Location, key: &str, code: ProblemCode, message: &str, hint: &str| {
        problems.push(Problem::new(location, key, code, message).hinting(hint));
    };
    if let (Some(secret), Some(mode)) = (proxied(config), &network.mode) {
        if mode.value != NetworkMode::Allowlist {
            refuse(
                &mode.location,
                "network.mode",
                ProblemCode::Conflict,
                &format!(
                    "a secret with mode = \"proxy\" ({}) is added by the egress proxy, and there is none",
                    secret.location
                ),
                "use mode = \"allowlist\", with an empty list where nothing else is to be reached",
            );
        }
    }
    let limit = config.limits.network_bytes.as_ref().filter(|limit| limit.value.is_some());
    if let Some(limit) =
        limit.filter(|_| network_mode(config) == NetworkMode::Open || provider == Provider::Local)
    {
        refuse(
            &limit.location,
            "limits.network_bytes",
            ProblemCode::Refused,
            "nothing counts what passes where the network is open: no proxy is in between",
            "use mode = \"allowlist\", with a provider that isolates",
        );
    }
    let allow = network.allow.as_ref().filter(|list| !list.value.is_empty());
    let deny = network.deny.as_ref().filter(|list| !list.value.is_empty());
    let mode = network.mode.as_ref().map(|mode| &mode.location);
    let mode = mode.or(allow.map(|list| &list.location)).or(proxied(config).map(|secret| &secret.location));
    match (network_mode(config), mode, allow, deny) {
        (NetworkMode::Allowlist, Some(location), ..) if provider == Provider::Local => refuse(
            location,
            "network.mode",
            ProblemCode::Refused,
            "the provider \"local\" isolates nothing, so no list of hosts can be enforced",
            "--provider native, docker or podman enforces it",
        ),
        (NetworkMode::Open, _, _, Some(list)) => refuse(
            &list.location,
            "network.deny",
            ProblemCode::Refused,
            "nothing enforces a list of denied hosts where the network is open: no proxy is in between",
            "use mode = \"allowlist\"",
        ),
        (NetworkMode::None, Some(mode), Some(list), _)
            if matches!(list.location, Location::Flag(_)) && !matches!(mode, Location::Flag(_)) =>
        {
            refuse(
                &list.location,
                "network.allow",
                ProblemCode::Conflict,
                "a host is to be reached, and the network is off",
                "add --network allowlist",
            );
        }
        (NetworkMode::None, Some(mode), Some(list), _) if mode.is_beside(&list.location) => {
            refuse(
                &list.location,
                "network.allow",
                ProblemCode::Conflict,
                "hosts are to be reached, and the network is off",
                "use mode = \"allowlist\", or leave the list out",
            );
        }
        _ => {}
    }
}

/// Refuses hosts to which TLS cannot be intercepted.
fn intercepted(config: &Config, problems: &mut Vec<Problem>) {
    let allowed = config.network.allow.iter().flat_map(|list| &list.value);
    let allowed: Vec<HostRule> =
        allowed.flat_map(|hosts| hosts.value.rules(hosts.location.origin())).collect();
    for Located { value: host, location } in config.network.intercept.iter().flat_map(|list| &list.value) {
        let problem = if matches!(host, HostPattern::Exact { host: Host::Address(_), .. }) {
            let message =
                format!("`{host}` is an address, and TLS is intercepted by the name that a client asks for");
            Problem::new(location, "network.intercept", ProblemCode::Conflict, message)
                .hinting("write a name")
        } else if network_mode(config) != NetworkMode::Allowlist {
            let message = "the egress proxy intercepts TLS, and there is none";
            Problem::new(location, "network.intercept", ProblemCode::Conflict, message)
                .hinting("use mode = \"allowlist\"")
        } else if !allowed.iter().any(|rule| rule.pattern.hosts().overlaps(host)) {
            let message =
                format!("TLS to `{host}` is to be intercepted, and nothing in `allow` lets it be reached");
            Problem::new(location, "network.intercept", ProblemCode::Conflict, message)
                .hinting(format!("add \"{host}\" to `allow`"))
        } else {
            continue;
        };
        problems.push(problem);
    }
}

/// Notes every setting that only containers have, where none is started, and what was typed that none has.
pub(super) fn containers(effective: &Effective, provider: Provider, problems: &mut Vec<Problem>) {
    let config = effective.settings();
    if provider.runs_containers() {
        for (key, location) in config.only_natively() {
            let message = format!(
                "only native sandboxes show programs of the host, and provider \"{provider}\" starts a container, which has those \
                 of its image"
            );
            let hint = "choose --provider native, or add the program to the image (`[image] packages`) and leave this out";
            problems.push(Problem::new(location, key, ProblemCode::Conflict, message).hinting(hint));
        }
        return;
    }
    let was_chosen = matches!(
        config.general.provider,
        Some(Located {
            value: ProviderChoice::Named(_),
            location: Location::Flag(_) | Location::Environment(_)
        })
    );
    for (key, location) in config.only_in_containers() {
        let (message, hint) = match effective.ignored() {
            Some(why) => (
                format!("only containers have it, and no engine answers: {why}"),
                "start the engine, or leave it out",
            ),
            // Of a file it is a setting for another case.
            None if was_chosen && !matches!(location, Location::Flag(_)) => continue,
            None => (
                format!("only containers have it, and provider \"{provider}\" starts none"),
                "choose --provider docker or podman, or leave it out",
            ),
        };
        problems.push(Problem::new(location, key, ProblemCode::Conflict, message).hinting(hint));
    }
}

/// Refuses what a sandbox would do where there is none: hiding something, keeping it from being executed, limits of processes.
pub(super) fn mounted(config: &Config, provider: Provider, problems: &mut Vec<Problem>) {
    if provider != Provider::Local {
        return;
    }
    let limits = &config.limits;
    let cpu_time =
        limits.cpu_time.as_ref().filter(|limit| limit.value.is_some()).map(|limit| &limit.location);
    let file_size =
        limits.file_size.as_ref().filter(|limit| limit.value.is_some()).map(|limit| &limit.location);
    for (key, location) in [("limits.cpu_time", cpu_time), ("limits.file_size", file_size)] {
        let message = "the provider \"local\" isolates nothing, and sets no limits of processes";
        problems.extend(location.map(|location| {
            Problem::new(location, key, ProblemCode::Refused, message)
                .hinting("`ulimit` of the shell sets them, and so do the other providers")
        }));
    }
    for (name, dir) in &config.shared_dirs {
        if let Some(exec) = dir.value.exec.as_ref().filter(|exec| !exec.value) {
            let message =
                "the provider \"local\" isolates nothing, so nothing keeps programs from being executed";
            problems.push(
                Problem::new(
                    &exec.location,
                    format!("shared_dirs.{name}.exec"),
                    ProblemCode::Refused,
                    message,
                )
                .hinting("--provider native, docker or podman keeps them from it"),
            );
        }
    }
    let of_dirs = config
        .shared_dirs
        .iter()
        .filter_map(|(name, dir)| Some((format!("shared_dirs.{name}.hide"), dir.value.hide.as_ref()?)));
    let of_all = config.protect.hide.iter().map(|list| ("protect.hide".to_owned(), list));
    for (key, list) in of_all.chain(of_dirs).filter(|(_, list)| !list.value.is_empty()) {
        let message = "the provider \"local\" isolates nothing, so nothing can be hidden";
        problems.push(
            Problem::new(&list.location, key, ProblemCode::Refused, message)
                .hinting("--provider native, docker or podman hides it"),
        );
    }
}

/// Refuses the provider `local` where isolation is required.
pub(super) fn local(config: &Config, problems: &mut Vec<Problem>) {
    let local = ProviderChoice::Named(Provider::Local);
    let Some(chosen) = config.general.provider.as_ref().filter(|provider| provider.value == local) else {
        return;
    };
    let required = config.general.require_os_sandbox.as_ref().filter(|required| required.value);
    if let Some(required) = required {
        let message = format!(
            "\"local\" isolates nothing, which require_os_sandbox = true ({}) refuses",
            required.location
        );
        problems.push(
            Problem::new(&chosen.location, "provider", ProblemCode::Refused, message)
                .hinting("choose \"native\", or set require_os_sandbox = false"),
        );
    }
}

/// Refuses a persistent home directory where there can be none.
pub(super) fn home(
    config: &Config,
    provider: Provider,
    wanted: &[BoundaryRequest],
    problems: &mut Vec<Problem>,
) {
    let (key, location) = match (Home::of(config), &config.home.name, &config.home.keep) {
        (Home::Named(_), Some(name), _) => ("home.name", &name.location),
        (Home::OfProject, _, Some(keep)) => ("home.keep", &keep.location),
        _ => return,
    };
    if provider == Provider::Local {
        let message = "the provider \"local\" isolates nothing: the agent lives in your own home directory";
        problems.push(
            Problem::new(location, key, ProblemCode::Refused, message)
                .hinting("leave it out, or choose \"native\", \"docker\" or \"podman\""),
        );
    }
    let shared = wanted.iter().find(|wanted| wanted.guest.as_path() == Path::new(HOME));
    if let Some(shared) = shared {
        let message = format!("`{}` ({}) is already at {HOME}", shared.name, shared.location);
        problems.push(
            Problem::new(location, key, ProblemCode::Conflict, message)
                .hinting("share that directory elsewhere, or keep no home directory"),
        );
    }
}

fn location<T>(setting: Option<&Located<T>>) -> Option<Location> {
    setting.map(|setting| setting.location.clone())
}

/// Checks the keys that only a proxied secret has.
fn proxy_keys(name: &str, secret: &Located<SecretTable>, config: &Config, problems: &mut Vec<Problem>) {
    let SecretTable { mode, provider, upstream, header, template, url_var, .. } = &secret.value;
    let proxied = mode.as_ref().is_some_and(|mode| mode.value == SecretMode::Proxy);
    let custom = provider.as_ref().is_some_and(|provider| provider.value == SecretProvider::Custom);
    let optional = [("template", location(template.as_ref())), ("url_var", location(url_var.as_ref()))];
    for (key, location) in optional {
        if let Some(location) = location.filter(|_| !(proxied && custom)) {
            let message = "it only goes with provider = \"custom\"";
            problems.push(Problem::new(
                &location,
                format!("secrets.{name}.{key}"),
                ProblemCode::Conflict,
                message,
            ));
        }
    }
    let servers = environment::credited_servers(&secret.value).filter(|_| proxied).unwrap_or_default();
    let seen = servers.iter().any(|server| environment::is_intercepted(&server.url, config));
    let missing =
        |code, message: String| Problem::new(&secret.location, format!("secrets.{name}"), code, message);
    if proxied && custom && url_var.is_none() && !seen {
        let message = "\"url_var\" is missing, which provider = \"custom\" needs unless `[network] intercept` has the \
                       host of an upstream with https://";
        problems.push(missing(ProblemCode::MissingKey, message.to_owned()));
    } else if !servers.is_empty() && !seen {
        let hosts: Vec<_> = servers.iter().map(|server| server.url.trim_start_matches("https://")).collect();
        let message = format!(
            "it is added to requests by TLS that the proxy intercepts, and `[network] intercept` has none of {}",
            hosts.join(", ")
        );
        problems.push(
            missing(ProblemCode::Conflict, message)
                .hinting(format!("add \"{}\" to `intercept` and to `allow`", hosts[0])),
        );
    }
    let keys = [
        ("provider", location(provider.as_ref()), proxied, "mode = \"proxy\""),
        ("upstream", location(upstream.as_ref()), proxied && custom, "provider = \"custom\""),
        ("header", location(header.as_ref()), proxied && custom, "provider = \"custom\""),
    ];
    for (key, location, needed, goes_with) in keys {
        match location {
            Some(location) if !needed => {
                let problem = Problem::new(
                    &location,
                    format!("secrets.{name}.{key}"),
                    ProblemCode::Conflict,
                    format!("it only goes with {goes_with}"),
                );
                problems.push(match key {
                    // Who leaves it out gives the agent the value.
                    "provider" => {
                        problem.hinting(format!("set {goes_with}; otherwise the agent has the value"))
                    }
                    _ => problem,
                });
            }
            None if needed => problems.push(Problem::new(
                &secret.location,
                format!("secrets.{name}"),
                ProblemCode::MissingKey,
                format!("\"{key}\" is missing, which {goes_with} needs"),
            )),
            _ => {}
        }
    }
}

/// Returns the protected paths. A path that is not protected cannot be given up.
pub(super) fn protected(config: &Config, problems: &mut Vec<Problem>) -> Protected {
    let added: Vec<_> =
        config.protect.paths.iter().flat_map(|list| &list.value).map(|path| path.value.clone()).collect();
    let mut given_up = Vec::new();
    for path in config.protect.allow.iter().flat_map(|list| &list.value) {
        match Protected::new(&added, std::slice::from_ref(&path.value)) {
            Ok(_) => given_up.push(path.value.clone()),
            Err(errors) => problems.extend(errors.iter().map(|error| {
                Problem::new(&path.location, "protect.allow", ProblemCode::InvalidValue, error.to_string())
            })),
        }
    }
    Protected::new(&added, &given_up).unwrap_or_else(|_| Protected::exactly(added))
}

/// Returns the paths that the file protects, though the built-in list lets them be written.
pub(super) fn read_only(config: &Config) -> Vec<String> {
    let given_up = config.protect.given_up();
    let asked = config.protect.paths.iter().flat_map(|list| &list.value).map(|path| &path.value);
    let kept = asked.filter(|path| !given_up.contains(path) && is_only_classified(Path::new(path.as_str())));
    kept.map(ToString::to_string).collect()
}

/// Returns the names that are not reported where they are new.
pub(super) fn names(config: &Config) -> Vec<String> {
    let allowed = config.protect.given_up().into_iter();
    allowed.filter(RelativePath::may_be_unknown).map(|path| path.to_string()).collect()
}

/// Returns a secret that the egress proxy adds to requests, if there is one.
fn proxied(config: &Config) -> Option<&Located<SecretTable>> {
    let is_proxied = |secret: &&Located<SecretTable>| {
        secret.value.mode.as_ref().is_some_and(|mode| mode.value == SecretMode::Proxy)
    };
    config.secrets.values().find(is_proxied)
}

/// Returns how much of the network is there. Whoever names hosts, or has a secret that only the egress proxy can use, wants the proxy.
fn network_mode(config: &Config) -> NetworkMode {
    let names_hosts = config.network.allow.as_ref().is_some_and(|list| !list.value.is_empty());
    let wants_proxy = names_hosts || proxied(config).is_some();
    let unsaid = if wants_proxy { NetworkMode::Allowlist } else { NetworkMode::None };
    config.network.mode.as_ref().map_or(unsaid, |mode| mode.value)
}

/// Returns what a plan has of the network, and the rules that answer questions about it.
pub(super) fn network(config: &Config) -> (Network, HostRules) {
    let mode = network_mode(config);
    let allowed = config.network.allow.iter().flat_map(|list| &list.value);
    let allow: Vec<HostRule> = allowed.flat_map(|hosts| hosts.value.rules(hosts.location.origin())).collect();
    let denied = config.network.deny.iter().flat_map(|list| &list.value);
    let deny: Vec<HostRule> =
        denied.map(|host| HostRule::new(host.value.clone(), host.location.origin())).collect();
    let rules = HostRules::new(mode, allow.clone(), deny.clone());
    let intercept = config.network.intercept.iter().flat_map(|list| &list.value);
    let intercept = intercept.map(|host| host.value.clone()).collect();
    let network = match mode {
        NetworkMode::None => Network::None,
        NetworkMode::Allowlist => Network::Allowlist { allow, deny, intercept },
        NetworkMode::Open => Network::Open,
    };
    (network, rules)
}
