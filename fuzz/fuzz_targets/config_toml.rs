//! Any text as a `sandbox.toml`: reading ends, positions lie within the text, what is shown reads the same again,
//! and nothing that widens goes unseen.
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use policy::Policy;
use policy::config::effective::Effective;
use policy::config::problem::{Location, Scope};
use policy::config::trust::{TrustContext, widenings};
use policy::config::{Config, ConfigFile, PathBase};

const PROJECT: &str = "/home/me/project";

fuzz_target!(|text: &str| {
    let base = PathBase { directory: PROJECT.into(), home: Some("/home/me".into()) };
    let file = ConfigFile { scope: Scope::Project, label: "sandbox.toml".into(), base };
    let (config, problems) = Config::read(text, &file);
    let lines = text.split('\n').count();
    for problem in &problems {
        if let Location::File { line, column, .. } = problem.location {
            assert!((1..=lines).contains(&(line as usize)), "{problem}");
            assert!(column >= 1, "{problem}");
        }
    }

    let none = Effective::default();
    let context = TrustContext {
        without: &none,
        directory: Path::new(PROJECT),
        resolved_directory: Path::new(PROJECT),
        leads: &BTreeMap::new(),
    };
    let widened = widenings(&config, &context);
    assert!(config.secrets.is_empty() || !widened.is_empty(), "a secret needs trust");

    let effective = Effective::merge([config]);
    let rows = effective.rows();
    let policy = Policy::new(&effective, Path::new(PROJECT));
    if problems.is_empty() && policy.is_ok() {
        let shown: Vec<String> = rows.iter().map(|row| format!("{} = {}", row.key, row.value)).collect();
        let again = Config::parse(&shown.join("\n"), &file).expect("what is shown is valid");
        let values =
            |effective: Effective| effective.rows().into_iter().map(|row| row.value).collect::<Vec<_>>();
        assert_eq!(values(Effective::merge([again])), values(effective));
    }
});
