//! Which variables the agent sees: what passes, what is set, and which secrets become one.

use std::collections::BTreeMap;

use crate::config::problem::{Location, Problem, ProblemCode};
use crate::config::{Config, SecretMode};
use crate::plan::Secret;
use crate::rules::env::{EnvRule, EnvRules, Name};

/// One wish about a variable.
struct EnvRequest {
    key: String,
    place: Location,
    rule: EnvRule,
}

pub(super) fn rules(config: &Config, problems: &mut Vec<Problem>) -> (EnvRules, Vec<Secret>) {
    let mut wishes: BTreeMap<Name, EnvRequest> = BTreeMap::new();
    for (name, wish) in plain_wishes(config) {
        // A stronger layer wins, as everywhere. Within one layer, two wishes contradict each other.
        match wishes.get(&name) {
            Some(other) if same_layer(&other.place, &wish.place) && other.rule != wish.rule => {
                problems.push(conflict(&name, &wish, other));
            }
            Some(other) if other.place > wish.place && !same_layer(&other.place, &wish.place) => {}
            _ => {
                wishes.insert(name, wish);
            }
        }
    }
    let mut secrets = Vec::new();
    for (name, secret) in &config.secrets {
        let secret = &secret.value;
        let (Some(env_var), Some(source)) = (&secret.env_var, &secret.source) else { continue };
        let wish = EnvRequest {
            key: format!("secrets.{name}.env_var"),
            place: env_var.place.clone(),
            rule: EnvRule::Secret(name.clone()),
        };
        if let Some(other) = wishes.get(&env_var.value) {
            problems.push(conflict(&env_var.value, &wish, other));
        }
        wishes.insert(env_var.value.clone(), wish);
        if secret.mode.as_ref().is_some_and(|mode| mode.value == SecretMode::Inject) {
            secrets.push(Secret {
                name: name.clone(),
                env_var: env_var.value.to_string(),
                source: source.value.clone(),
            });
        }
    }
    let mut rules = EnvRules::for_caller();
    for (name, wish) in wishes {
        rules.insert(name, wish.rule, wish.place.origin());
    }
    (rules, secrets)
}

fn plain_wishes(config: &Config) -> Vec<(Name, EnvRequest)> {
    let env = &config.env;
    let pass = |place: &Location| EnvRequest {
        key: "env.pass".to_owned(),
        place: place.clone(),
        rule: EnvRule::Pass,
    };
    let listed = env.pass.iter().flat_map(|list| &list.value);
    let mut wishes: Vec<_> = listed.map(|name| (name.value.clone(), pass(&name.place))).collect();
    wishes.extend(env.also_pass.iter().map(|(name, place)| (name.clone(), pass(place))));
    wishes.extend(env.set.iter().map(|(name, value)| {
        let key = format!("env.set.{name}");
        (
            name.clone(),
            EnvRequest { key, place: value.place.clone(), rule: EnvRule::Set(value.value.clone()) },
        )
    }));
    wishes
}

fn same_layer(a: &Location, b: &Location) -> bool {
    match (a, b) {
        (Location::File { owner: a, .. }, Location::File { owner: b, .. }) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn conflict(name: &Name, wish: &EnvRequest, other: &EnvRequest) -> Problem {
    let does = |rule: &EnvRule| match rule {
        EnvRule::Pass => "passes the caller's value".to_owned(),
        EnvRule::Set(_) => "sets a value".to_owned(),
        EnvRule::Secret(secret) => format!("gives it the secret `{secret}`"),
    };
    let message = format!(
        "`{name}` has two values: {} ({}) {}, and this {}",
        other.key,
        other.place,
        does(&other.rule),
        does(&wish.rule)
    );
    Problem::new(&wish.place, &wish.key, ProblemCode::Conflict, message).hinting("keep one of them")
}
