//! Any environment under any rules: every name comes out once, and nothing reserved, unnamed or secret comes out.
#![no_main]

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use libfuzzer_sys::fuzz_target;
use policy::rules::env::{self, EnvRule, EnvRules, HARMLESS, Name, Unnamed};
use policy::rules::verdict::{Decision, Origin};

fuzz_target!(|input: (bool, Vec<(String, u8)>, Vec<Vec<u8>>)| {
    let (keep, named, entries) = input;
    let mut rules = if keep { EnvRules::new(Unnamed::Keep) } else { EnvRules::for_caller() };
    let mut passed = HashSet::new();
    let mut secret = HashSet::new();
    for (text, kind) in named {
        let Ok(name) = text.parse::<Name>() else { continue };
        assert!(env::reserved(name.as_str()).is_none(), "{name} is reserved");
        passed.remove(&text);
        secret.remove(&text);
        let rule = match kind % 3 {
            0 => EnvRule::Pass,
            1 => EnvRule::Set(OsString::from("value")),
            _ => EnvRule::Secret("x".to_owned()),
        };
        match rule {
            EnvRule::Secret(_) => secret.insert(text),
            _ => passed.insert(text),
        };
        rules.insert(name, rule, Origin::Default);
    }
    let environment = env::apply(
        entries.into_iter().filter_map(|entry| env::split_entry(OsString::from_vec(entry))),
        &rules,
    );
    let mut seen = HashSet::new();
    for (name, value) in &environment.kept {
        assert!(seen.insert(name), "{name:?} comes out twice");
        assert!(!name.is_empty() && !name.as_bytes().contains(&b'=') && !name.as_bytes().contains(&0));
        assert!(!value.as_bytes().contains(&0));
        let Some(name) = name.to_str() else {
            assert!(keep, "{name:?} is not named");
            continue;
        };
        assert!(env::reserved(name).is_none(), "{name} is reserved");
        assert!(!secret.contains(name), "{name} is a secret's");
        assert!(keep || passed.contains(name) || HARMLESS.contains(&name), "{name} is not named");
        assert_eq!(env::decide(name, &rules).decision, Decision::Allow, "{name}");
    }
    for (name, _) in &environment.stripped {
        assert!(
            !environment
                .kept
                .iter()
                .any(|(kept, _)| kept == name && secret.contains(&*OsStr::to_string_lossy(kept)))
        );
    }
});
