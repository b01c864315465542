//! Which variables the agent sees: what passes, what is set, and which secrets become one.

use std::collections::BTreeMap;

use crate::config::problem::{Location, Problem, ProblemCode};
use crate::config::{Config, SecretMode};
use crate::plan::Secret;
use crate::rules::env::{EnvRule, EnvRules, Name};

/// One setting about a variable.
struct EnvRequest {
    key: String,
    location: Location,
    rule: EnvRule,
}

pub(super) fn rules(config: &Config, problems: &mut Vec<Problem>) -> (EnvRules, Vec<Secret>) {
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
    let mut secrets = Vec::new();
    for (name, secret) in &config.secrets {
        let secret = &secret.value;
        let (Some(env_var), Some(source)) = (&secret.env_var, &secret.source) else { continue };
        let request = EnvRequest {
            key: format!("secrets.{name}.env_var"),
            location: env_var.location.clone(),
            rule: EnvRule::Secret(name.clone()),
        };
        if let Some(other) = requests.get(&env_var.value) {
            problems.push(conflict(&env_var.value, &request, other));
        }
        requests.insert(env_var.value.clone(), request);
        if secret.mode.as_ref().is_some_and(|mode| mode.value == SecretMode::Inject) {
            secrets.push(Secret {
                name: name.clone(),
                env_var: env_var.value.to_string(),
                source: source.value.clone(),
            });
        }
    }
    let mut rules = EnvRules::for_caller();
    for (name, request) in requests {
        rules.insert(name, request.rule, request.location.origin());
    }
    (rules, secrets)
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
    };
    let message = format!(
        "`{name}` has two values: {} ({}) {}, and this {}",
        other.key,
        other.location,
        does(&other.rule),
        does(&request.rule)
    );
    Problem::new(&request.location, &request.key, ProblemCode::Conflict, message).hinting("keep one of them")
}
