//! Which variables the agent sees: what passes, what is set, and which secrets become one.

use std::collections::BTreeMap;

use crate::config::problem::{Code, Place, Problem};
use crate::config::{Config, SecretMode};
use crate::plan::Secret;
use crate::rules::env::{EnvRules, Name, Rule};

/// One wish about a variable.
struct Wish {
    key: String,
    place: Place,
    rule: Rule,
}

pub(super) fn rules(config: &Config, problems: &mut Vec<Problem>) -> (EnvRules, Vec<Secret>) {
    let mut wishes: BTreeMap<Name, Wish> = BTreeMap::new();
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
        let wish = Wish {
            key: format!("secrets.{name}.env_var"),
            place: env_var.place.clone(),
            rule: Rule::Secret(name.clone()),
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

fn plain_wishes(config: &Config) -> Vec<(Name, Wish)> {
    let env = &config.env;
    let pass = |place: &Place| Wish { key: "env.pass".to_owned(), place: place.clone(), rule: Rule::Pass };
    let listed = env.pass.iter().flat_map(|list| &list.value);
    let mut wishes: Vec<_> = listed.map(|name| (name.value.clone(), pass(&name.place))).collect();
    wishes.extend(env.also_pass.iter().map(|(name, place)| (name.clone(), pass(place))));
    wishes.extend(env.set.iter().map(|(name, value)| {
        let key = format!("env.set.{name}");
        (name.clone(), Wish { key, place: value.place.clone(), rule: Rule::Set(value.value.clone()) })
    }));
    wishes
}

fn same_layer(a: &Place, b: &Place) -> bool {
    match (a, b) {
        (Place::File { owner: a, .. }, Place::File { owner: b, .. }) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn conflict(name: &Name, wish: &Wish, other: &Wish) -> Problem {
    let does = |rule: &Rule| match rule {
        Rule::Pass => "passes the caller's value".to_owned(),
        Rule::Set(_) => "sets a value".to_owned(),
        Rule::Secret(secret) => format!("gives it the secret `{secret}`"),
    };
    let message = format!(
        "`{name}` has two values: {} ({}) {}, and this {}",
        other.key,
        other.place,
        does(&other.rule),
        does(&wish.rule)
    );
    Problem::new(&wish.place, &wish.key, Code::Conflict, message).hinting("keep one of them")
}
