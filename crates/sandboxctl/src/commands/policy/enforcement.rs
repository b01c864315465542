//! How a verdict is carried out: for writing, that depends on what lies in the shared directory today.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use policy::classify;
use policy::plan::{BoundaryMode, Provider};
use policy::protect::{SKIPPED, table};
use policy::rules::path::{GuestPath, PathAccess};
use policy::rules::verdict::{Decision, Origin, Verdict};
use policy::text::escape;
use policy::{BoundaryRequest, Policy};
use sandbox::boundary::protect::mounts::{Cause, Mounts};
use sandbox::boundary::protect::search::{self, SearchRules};
use sandbox::boundary::resolve::Lead;
use sandbox::boundary::root::Root;
use sandbox::boundary::walk::{Known, walk_with_files};
use sandbox::host::acting::ActingAs;
use sandbox::host::deadline::Deadline;
use sandbox::host::identity::Identity;
use serde::Serialize;

/// How long it is searched.
const SEARCH_LIMIT: Duration = Duration::from_secs(10);

/// A verdict, and what makes it so.
#[derive(Serialize)]
pub(super) struct PolicyAnswer {
    #[serde(flatten)]
    pub(super) verdict: Verdict,
    /// How it is carried out; nothing where nothing is denied.
    pub(super) enforcement: Option<Enforcement>,
}

/// How a denial is carried out. The words are stable: programs may compare them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Enforcement {
    /// The kernel refuses it.
    Prevented,
    /// It is noticed, classified by its content, and quarantined.
    Detected,
    /// Tools that a model calls refuse it, and no sandbox does.
    Tools,
    /// Nothing keeps the agent from it.
    None,
}

/// Answers for variables: no provider passes on what the rules deny.
pub(super) fn of_variable(verdict: Verdict) -> PolicyAnswer {
    answer(verdict, Enforcement::Prevented)
}

/// Answers for commands, about which tools decide.
pub(super) fn of_command(verdict: Verdict) -> PolicyAnswer {
    answer(verdict, Enforcement::Tools)
}

/// Answers for everything that only isolation can keep from the agent.
pub(super) fn of_walls(rules: &Policy, verdict: Verdict) -> PolicyAnswer {
    answer(
        verdict,
        if rules.provider() == Provider::Local { Enforcement::None } else { Enforcement::Prevented },
    )
}

/// Answers for a path as a sandbox would see it that started now.
pub(super) fn of_path(rules: &Policy, caller: Identity, path: &Path, access: PathAccess) -> PolicyAnswer {
    let verdict = rules.guest_path(path, access);
    let walled = access == PathAccess::Write && rules.provider() != Provider::Local;
    let inside = GuestPath::new(path).ok().filter(|_| walled);
    let behind = inside.as_ref().and_then(|inside| rules.behind(inside.as_path()));
    let Some((wanted, below)) = behind.filter(|(wanted, _)| wanted.mode == BoundaryMode::ReadWrite) else {
        return of_walls(rules, verdict);
    };
    // What cannot be looked at holds nothing that could be read-only.
    let mounts = planned_mounts(rules, caller, wanted).unwrap_or_default();
    if let Some(protected) = mounts.read_only.iter().find(|file| below.starts_with(&file.path)) {
        if verdict.decision == Decision::Deny {
            return answer(verdict, Enforcement::Prevented);
        }
        // Only a look shows what nested repositories and configurations of git add.
        let why = match protected.cause {
            Cause::Asked | Cause::Listed => "belongs to a repository",
            Cause::Named => "is named by a configuration of git",
            Cause::Privileged => "is set-user-id or set-group-id, or has capabilities",
            Cause::Closed => "cannot be searched",
        };
        let (path, protected, name) = (escape::path(path), escape::path(&protected.path), &wanted.name);
        let rule = format!("`{path}` must not be written: `{protected}` {why}, and is protected in `{name}`");
        return answer(Verdict::deny(rule, Origin::Default), Enforcement::Prevented);
    }
    answer(verdict, if is_classified(rules, &below) { Enforcement::Detected } else { Enforcement::None })
}

fn answer(verdict: Verdict, denial: Enforcement) -> PolicyAnswer {
    let enforcement = (verdict.decision != Decision::Allow).then_some(denial);
    PolicyAnswer { verdict, enforcement }
}

/// Lists the mounts that a start would make. It is found and searched with the rights that a start has.
fn planned_mounts(rules: &Policy, caller: Identity, wanted: &BoundaryRequest) -> io::Result<Mounts> {
    let Lead::Found(found) = Lead::of(&wanted.host, caller)? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let acting = ActingAs::user(caller)?;
    let (root, host) = (found.open_to_read()?, found.path);
    drop(acting);
    let root = Root::of(root, caller)?;
    let root = root.enter()?;
    let until = Deadline::after(SEARCH_LIMIT);
    let walk = walk_with_files(&root, rules.protect().depth, until, &Known::default())?;
    search::mounts(&root, &host, &walk, &SearchRules::of(rules.protect()), until)
}

/// Returns whether detection classifies what is created at this path below a boundary.
fn is_classified(rules: &Policy, below: &Path) -> bool {
    let directories: Vec<_> = below.iter().take_while(|name| *name != ".git").collect();
    let levels = if directories.len() == below.iter().count() { 0 } else { directories.len() };
    let is_skipped = SKIPPED.iter().any(|skipped| directories.contains(&skipped.as_ref()));
    let is_reached = usize::try_from(rules.protect().depth).is_ok_and(|depth| levels <= depth) && !is_skipped;
    let is_listed = || table::built_in().any(|path| below.ends_with(path));
    // Whatever appears at a path that the file asks for is news.
    let protect = rules.protect();
    let asked = |path: &str| !table::is_built_in(path) && table::covers(path, below);
    let is_asked = || {
        protect.paths.iter().any(|path| asked(path))
            || protect.read_only.iter().any(|path| table::covers(path, below))
    };
    is_reached && (classify::concerns(below) || is_listed() || is_asked())
}

/// What a person has to know besides the rule.
impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prevented => "prevented: the sandbox refuses it",
            Self::Detected => {
                "detected, not prevented: nothing is there yet to be made read-only, or its program writes it at every command; what the agent makes is quarantined \
                 when the command has ended, if a program outside would obey it or `[protect] paths` names it"
            }
            Self::Tools => {
                "by tools alone: those of `sandboxctl mcp serve` and `sandboxctl hook` refuse it, and a program that may run can run it"
            }
            Self::None => "not enforced: nothing keeps the agent from it",
        })
    }
}
