//! Which variables the agent sees: what passes, what is set, and which secrets become one.

use std::collections::BTreeMap;

use crate::config::problem::{Location, Problem, ProblemCode};
use crate::config::{Config, SecretMode, SecretProvider, SecretTable, SocketTable};
use crate::plan::{CreditedServer, Route, RouteUpstream, Secret, Variable};
use crate::rules::env::{EnvRule, EnvRules, Name};
use crate::rules::network::HostPattern;
use crate::rules::network::egress::PROXY;
use crate::rules::provider;
use crate::rules::socket::SocketSource;

/// One setting about a variable.
struct EnvRequest {
    key: String,
    location: Location,
    rule: EnvRule,
}

/// Returns the rules of variables, the secrets that the agent sees, and the routes for those that it does not.
pub(super) fn rules(config: &Config, problems: &mut Vec<Problem>) -> (EnvRules, Vec<Secret>, Vec<Route>) {
    let mut requests: BTreeMap<Name, EnvRequest> = BTreeMap::new();
    for (name, request) in plain_requests(config) {
        // A stronger layer wins, as everywhere. Within one layer, two of them contradict each other.
        match requests.get(&name) {
            Some(other) if same_layer(&other.location, &request.location) && other.rule != request.rule => {
                problems.push(conflict(&name, &request, other));
            }
            Some(other)
                if other.location > request.location && !same_layer(&other.location, &request.location) => {}
            _ => {
                requests.insert(name, request);
            }
        }
    }
    let (mut secrets, mut routes) = (Vec::new(), Vec::new());
    for (name, table) in &config.secrets {
        let secret = &table.value;
        let mut request = |variable: &Name, key: &str, location: &Location, rule| {
            let request =
                EnvRequest { key: format!("secrets.{name}.{key}"), location: location.clone(), rule };
            if let Some(other) = requests.get(variable) {
                problems.push(conflict(variable, &request, other));
            }
            requests.insert(variable.clone(), request);
        };
        let passed = secret.env_var.as_ref().zip(secret.source.as_ref()).map(|(env_var, source)| {
            request(&env_var.value, "env_var", &env_var.location, EnvRule::Secret(name.clone()));
            Secret { name: name.clone(), env_var: env_var.value.to_string(), source: source.value.clone() }
        });
        match secret.mode.as_ref().map(|mode| mode.value) {
            Some(SecretMode::Inject) => secrets.extend(passed),
            Some(SecretMode::Proxy) => {
                let Some(route) = route(name, secret, passed, config) else { continue };
                // The key and where it is good are set together, or a client would send a token to the provider itself.
                for variable in route.variables.iter().filter_map(|variable| variable.name.parse().ok()) {
                    request(&variable, "provider", &table.location, EnvRule::Secret(name.clone()));
                }
                routes.push(route);
            }
            None => {}
        }
    }
    for (name, table) in &config.sockets {
        let Some((variable, location)) = socket_variable(&table.value) else { continue };
        let request = EnvRequest {
            key: format!("sockets.{name}.env_var"),
            location,
            rule: EnvRule::Socket(name.clone()),
        };
        if let Some(other) = requests.get(&variable) {
            problems.push(conflict(&variable, &request, other));
        }
        requests.insert(variable, request);
    }
    let mut rules = EnvRules::for_caller();
    for (name, request) in requests {
        rules.insert(name, request.rule, request.location.origin());
    }
    (rules, secrets, routes)
}

/// Returns the variable in which the agent has the path of a socket, and where that was asked for.
pub(super) fn socket_variable(socket: &SocketTable) -> Option<(Name, Location)> {
    let named = || {
        let host = socket.host.as_ref()?;
        match &host.value {
            SocketSource::Variable(name) => Some((name.parse().ok()?, host.location.clone())),
            SocketSource::Path(_) => None,
        }
    };
    socket.env_var.as_ref().map(|env_var| (env_var.value.clone(), env_var.location.clone())).or_else(named)
}

/// Returns the route of a secret in proxy mode; `None` where something is missing, which has been noted.
fn route(name: &str, secret: &SecretTable, credential: Option<Secret>, config: &Config) -> Option<Route> {
    let variable = |route: &str, variable: &str, path: &str| Variable {
        name: variable.to_owned(),
        value: format!("http://{PROXY}/{route}{path}").into(),
    };
    let provider = secret.provider.as_ref()?.value;
    if let Some(all) = credited_servers(secret) {
        let intercepted = |server: &CreditedServer| is_intercepted(&server.url, config);
        let upstream = RouteUpstream::Intercepted(all.into_iter().filter(intercepted).collect());
        return Some(Route { name: name.to_owned(), upstream, credential, variables: Vec::new() });
    }
    if provider == SecretProvider::Custom {
        let upstream = RouteUpstream::Custom {
            url: secret.upstream.as_ref()?.value.to_string(),
            header: secret.header.as_ref()?.value.to_string(),
            template: template(secret),
        };
        let variables = vec![variable(name, secret.url_var.as_ref()?.value.as_str(), "")];
        return Some(Route { name: name.to_owned(), upstream, credential, variables });
    }
    let known = provider::CredentialProvider::named(&provider.to_string())?;
    let variables = known.base_urls.iter().map(|(name, path)| variable(known.name, name, path)).collect();
    let upstream = RouteUpstream::Provider(known.name.to_owned());
    Some(Route { name: known.name.to_owned(), upstream, credential, variables })
}

/// Returns the servers that get a secret where TLS to them is intercepted, if it is for such servers.
pub(super) fn credited_servers(secret: &SecretTable) -> Option<Vec<CreditedServer>> {
    let provider = secret.provider.as_ref()?.value;
    if let Some(hosted) = provider::HostedProvider::named(&provider.to_string()) {
        let server = |server: &provider::CreditedHost| CreditedServer {
            url: format!("https://{}", server.host),
            header: server.header.to_owned(),
            template: server.template.to_owned(),
        };
        return Some(hosted.servers.iter().map(server).collect());
    }
    if provider != SecretProvider::Custom || secret.url_var.is_some() {
        return None;
    }
    let url = secret.upstream.as_ref()?.value.to_string();
    let header = secret.header.as_ref()?.value.to_string();
    Some(vec![CreditedServer { url, header, template: template(secret) }])
}

fn template(secret: &SecretTable) -> String {
    secret.template.as_ref().map(|setting| setting.value.clone()).unwrap_or_default().to_string()
}

/// Returns whether TLS to the server of a URL is intercepted.
pub(super) fn is_intercepted(url: &str, config: &Config) -> bool {
    let server = url.strip_prefix("https://").and_then(|rest| rest.split(['/', '?', '#']).next());
    let pattern = server.and_then(|server| server.parse::<HostPattern>().ok());
    let Some(HostPattern::Exact { host, port }) = pattern else { return false };
    let mut intercepted = config.network.intercept.iter().flat_map(|list| &list.value);
    intercepted.any(|pattern| pattern.value.matches(&host, port.unwrap_or(443)))
}

fn plain_requests(config: &Config) -> Vec<(Name, EnvRequest)> {
    let env = &config.env;
    let pass = |location: &Location| EnvRequest {
        key: "env.pass".to_owned(),
        location: location.clone(),
        rule: EnvRule::Pass,
    };
    let listed = env.pass.iter().flat_map(|list| &list.value);
    let mut requests: Vec<_> = listed.map(|name| (name.value.clone(), pass(&name.location))).collect();
    requests.extend(env.also_pass.iter().map(|(name, location)| (name.clone(), pass(location))));
    requests.extend(env.set.iter().map(|(name, value)| {
        let key = format!("env.set.{name}");
        (
            name.clone(),
            EnvRequest { key, location: value.location.clone(), rule: EnvRule::Set(value.value.clone()) },
        )
    }));
    requests.extend(env.unset.iter().map(|(name, location)| {
        let key = "env.unset".to_owned();
        (name.clone(), EnvRequest { key, location: location.clone(), rule: EnvRule::Unset })
    }));
    requests
}

fn same_layer(a: &Location, b: &Location) -> bool {
    match (a, b) {
        (Location::File { scope: a, .. }, Location::File { scope: b, .. }) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn conflict(name: &Name, request: &EnvRequest, other: &EnvRequest) -> Problem {
    let does = |rule: &EnvRule| match rule {
        EnvRule::Pass => "passes the caller's value".to_owned(),
        EnvRule::Set(_) => "sets a value".to_owned(),
        EnvRule::Secret(secret) => format!("gives it the secret `{secret}`"),
        EnvRule::Socket(socket) => format!("gives it the path of the socket `{socket}`"),
        EnvRule::Unset => "takes it away".to_owned(),
    };
    let message = format!(
        "`{name}` is asked for in two ways: {} ({}) {}, and this {}",
        other.key,
        other.location,
        does(&other.rule),
        does(&request.rule)
    );
    Problem::new(&request.location, &request.key, ProblemCode::Conflict, message).hinting("keep one of them")
}
