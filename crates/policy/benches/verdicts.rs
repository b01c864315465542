//! How long a verdict takes when there are a thousand rules: `cargo bench -p policy`.
//!
//! Prints one row per question, in nanoseconds: the median and the slowest of many batches. Ends with a failure
//! when a median is above the budget of 1,000 ns.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::ffi::OsString;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use policy::plan::BoundaryMode;
use policy::protect::Protected;
use policy::rules::env::{self, EnvRules};
use policy::rules::hide::HidePatterns;
use policy::rules::network::{self, HostRules};
use policy::rules::path::{GuestBoundaries, GuestBoundary, Obeyed, PathAccess};
use policy::rules::verdict::{Decision, Origin};

const RULES: usize = 1_000;
const BATCHES: usize = 2_001;
/// Few enough that most batches end before the scheduler interrupts one.
const PER_BATCH: usize = 50;
const BUDGET_NS: u128 = 1_000;

fn main() -> ExitCode {
    let env = env_rules();
    let hosts = host_rules();
    let paths = boundaries();
    println!("{RULES} rules, {BATCHES} batches of {PER_BATCH} verdicts");
    println!("{:<44} {:>9} {:>11}", "verdict", "median ns", "slowest ns");
    let name = |name, expected| measure(name, expected, || env::decide(name, &env).decision);
    let host = |host, expected| measure(host, expected, || hosts.decide(host, 443).decision);
    let path = |path: &'static str, expected| {
        measure(path, expected, || paths.decide(Path::new(path), PathAccess::Write).decision)
    };
    let within_budget = [
        name("VARIABLE_777", Decision::Allow),
        name("AWS_SECRET_ACCESS_KEY", Decision::Deny),
        name("SANDBOX_TOKEN_FILE", Decision::Deny),
        host("host777.example.org", Decision::Allow),
        host("a.b.zone778.example.org", Decision::Allow),
        host("a.b.c.d.e.f.g.h.evil.example.net", Decision::Deny),
        host("169.254.169.254", Decision::Deny),
        path("/srv/777/data/src/lib/main.rs", Decision::Allow),
        path("/srv/777/data/.git/hooks/pre-commit", Decision::Deny),
        path("/srv/777/data/a/b/c/d/e/f/.git/config", Decision::Deny),
        path("/etc/passwd", Decision::Deny),
    ];
    if within_budget.into_iter().all(|within| within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Asks many times, prints a row, and tells whether the median is within the budget.
fn measure(what: &str, expected: Decision, ask: impl Fn() -> Decision) -> bool {
    assert_eq!(ask(), expected, "{what}");
    let mut batches: Vec<u128> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..PER_BATCH {
                black_box(ask());
            }
            start.elapsed().as_nanos() / PER_BATCH as u128
        })
        .collect();
    batches.sort_unstable();
    let median = batches[BATCHES / 2];
    println!("{what:<44} {median:>9} {:>11}", batches[BATCHES - 1]);
    median <= BUDGET_NS
}

fn env_rules() -> EnvRules {
    let mut rules = EnvRules::for_caller();
    for number in 0..RULES {
        let name = format!("VARIABLE_{number}").parse().expect("a name");
        let rule = if number % 2 == 0 { env::EnvRule::Pass } else { env::EnvRule::Set(OsString::from("x")) };
        rules.insert(name, rule, Origin::Project(format!("sandbox.toml:{number}")));
    }
    rules
}

fn host_rules() -> HostRules {
    let allow = (0..RULES)
        .map(|number| {
            let text = if number % 2 == 0 {
                format!("*.zone{number}.example.org")
            } else {
                format!("host{number}.example.org")
            };
            let origin = Origin::Project(format!("sandbox.toml:{number}"));
            network::HostRule::new(text.parse().expect("a pattern"), origin)
        })
        .collect();
    HostRules::new(network::NetworkMode::Allowlist, allow, vec![])
}

fn boundaries() -> GuestBoundaries {
    let list = (0..RULES)
        .map(|number| GuestBoundary {
            name: format!("boundary{number}"),
            guest: format!("/srv/{number}/data").parse().expect("a guest path"),
            hidden: HidePatterns::default(),
            mode: BoundaryMode::ReadWrite,
            worktrees: Vec::new(),
            obeyed: Obeyed::ByPrograms,
            origin: Origin::Project(format!("sandbox.toml:{number}")),
        })
        .collect();
    GuestBoundaries::new(list, Protected::new(&[], &[]).expect("the built-in list")).expect("boundaries")
}
