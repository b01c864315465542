//! Facts: what the host has of what a policy names.

use std::collections::BTreeMap;
use std::path::Path;

use policy::config::Expose;
use policy::config::defaults::HOME;
use policy::rules::network::HostPattern;
use policy::rules::network::preset::Preset;
use policy::rules::verdict::Decision;
use policy::{HostFacts, Policy, ToolchainParts, Unavailable};
use sandbox::host::programs::Programs;
use sandbox::host::toolchain;
use sandbox::host::toolchain::locate::Availability;
use sandbox::host::toolchain::search::{Crates, HostContext, Toolchains};

use crate::context::Context;
use crate::directories::{self, Directories};
use crate::{git_identity, sockets};

/// Looks up every directory and toolchain that the policy names.
pub(crate) fn gather(
    context: &Context,
    policy: &Policy,
    directories: &mut Directories,
    programs: &Programs,
    name: String,
) -> HostFacts {
    let boundaries = policy.boundaries().iter();
    let (absent, present): (Vec<_>, Vec<_>) =
        boundaries.partition(|wanted| directories.is_absent(context, wanted));
    let directories_of: BTreeMap<_, _> = present
        .into_iter()
        .map(|wanted| (wanted.name.clone(), directories.resolve(context, wanted)))
        .collect();
    let found: Vec<&Path> = directories_of.values().flatten().map(|found| found.host.as_path()).collect();
    let other_homes = [context.other_homes(), &context.other_paths_of_homes(&found)].concat();
    HostFacts {
        name,
        environment: context.env.clone().into_iter().collect(),
        directories: directories_of,
        absent: absent.into_iter().map(|wanted| wanted.name.clone()).collect(),
        sockets: policy
            .sockets()
            .iter()
            .map(|wanted| (wanted.name.clone(), sockets::find(context, directories, wanted)))
            .collect(),
        home: None,
        git: git_identity::find(context),
        workdir: directories::check_workdir(context, policy),
        toolchains: toolchains(context, programs, policy),
        uid: context.caller.uid,
        homes: context.homes().into_iter().map(Path::to_owned).collect(),
        other_homes,
        allowed_root: None,
    }
}

/// Looks up several toolchains together, because what they have in common is shown once and the first stands for all.
/// Where one is missing, each is looked up by itself, to say which.
pub(crate) fn toolchains(
    context: &Context,
    programs: &Programs,
    policy: &Policy,
) -> BTreeMap<Expose, Result<ToolchainParts, Unavailable>> {
    let wanted: Vec<Expose> = policy.expose().cloned().collect();
    let homes = context.homes();
    let host = host(context, programs, &homes, crates(policy));
    let alone = |one: &Expose| match toolchain::resolve(std::slice::from_ref(one), &host) {
        Ok(found) => Ok(parts(found)),
        Err(errors) => Err(Unavailable {
            reason: errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            hint: None,
        }),
    };
    match toolchain::resolve(&wanted, &host) {
        Ok(found) => {
            let parts = std::iter::once(parts(found)).chain(std::iter::repeat_with(ToolchainParts::default));
            wanted.into_iter().zip(parts.map(Ok)).collect()
        }
        Err(_) => wanted.into_iter().map(|one| (one.clone(), alone(&one))).collect(),
    }
}

/// Finds a program of the host's by name, and what shows it to a native sandbox.
pub(crate) fn locate(context: &Context, programs: &Programs, name: &str) -> Availability {
    let homes = context.homes();
    toolchain::locate::locate(name, &host(context, programs, &homes, Crates::Network))
}

/// Returns the surroundings in which toolchains are looked for. Of the environment, what the programs get to know.
fn host<'a>(
    context: &'a Context,
    programs: &'a Programs,
    homes: &'a [&'a Path],
    crates: Crates,
) -> HostContext<'a> {
    HostContext {
        env: programs.environment(),
        programs,
        caller: directories::caller(context, homes),
        user: context.caller,
        home: &context.home,
        workdir: &context.cwd,
        guest_home: Path::new(HOME),
        crates,
    }
}

/// Returns where cargo has crates from: it downloads them if every host that it needs is allowed.
fn crates(policy: &Policy) -> Crates {
    let is_allowed = |pattern| match pattern {
        HostPattern::Exact { host, port: Some(port) } => {
            policy.host(&host.to_string(), port).decision == Decision::Allow
        }
        HostPattern::Exact { .. } | HostPattern::Below { .. } => false,
    };
    let preset: Result<Preset, _> = "crates".parse();
    if preset.is_ok_and(|preset| preset.patterns().all(is_allowed)) { Crates::Network } else { Crates::Host }
}

fn parts(Toolchains { exposed, links, path, env }: Toolchains) -> ToolchainParts {
    ToolchainParts { exposed, links, bin: path, variables: env }
}
