//! Lowering: from a policy and the facts of a host to a plan.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::Policy;
use super::boundary::{self, BoundaryRequest, Purpose};
use super::facts::{HostDirectory, HostFacts, HostHome, ToolchainParts, Unavailable};
use crate::config::defaults::{AGENT, HOME};
use crate::config::problem::{self, Location, Problem, ProblemCode};
use crate::plan::{self, BoundaryKind, BoundaryMode, Plan, Provider, Variable};
use crate::protect::covering::{Covered, covering};
use crate::rules::env;
use crate::rules::git::{self, GitIdentity};
use crate::rules::network::egress;
use crate::rules::path::normalise;
use crate::rules::shared_dir::{self, Caller, PathKind, ShareCandidate, ShareOverlap, SharedHostDir};
use crate::text::escape;

/// Where programs of the host's `/usr` are, as the sandbox sees them.
const PROGRAMS: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

impl Policy {
    /// Lowers the policy into a plan; everything that stands against it on this host is returned at once.
    pub fn plan(&self, facts: &HostFacts) -> Result<Plan, Vec<Problem>> {
        let mut problems = Vec::new();
        let boundaries = self.shared(facts, &mut problems);
        let parts = self.parts(facts, &mut problems);
        let (sockets, paths) =
            super::sockets::lowered(&self.sockets, facts, &boundaries, self.provider, &mut problems);
        self.check_start(facts, &parts, &mut problems);
        problem::sort(&mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Plan {
            name: self.name().unwrap_or(&facts.name).to_owned(),
            provider: self.provider,
            provider_reason: self.provider_reason.clone(),
            agent: plan::AgentProcess {
                argv: self.argv.clone(),
                workdir: self.start(&boundaries, facts),
                init: self.init,
                // They belong to whoever calls, and no configuration names them.
                pass_fd: Vec::new(),
            },
            env: self.environment(facts, &parts, paths),
            unset: {
                let mut names: Vec<_> = self.env.unset().map(ToString::to_string).collect();
                names.sort_unstable();
                names
            },
            git: self.git(facts),
            secrets: self.secrets.clone(),
            routes: self.routes.clone(),
            boundaries: match self.provider {
                // Nothing is mounted anywhere, so a directory is seen where it is.
                Provider::Local => boundaries
                    .into_iter()
                    .map(|boundary| plan::Boundary { guest: boundary.host.clone(), ..boundary })
                    .collect(),
                _ => boundaries,
            },
            sockets,
            links: parts.iter().flat_map(|parts| &parts.links).cloned().collect(),
            expose: parts.into_iter().flat_map(|parts| &parts.exposed).cloned().collect(),
            container: self.container.clone(),
            network: self.network.clone(),
            limits: self.limits.clone(),
            lifecycle: self.lifecycle,
            pool: self.pool,
            children: self.children.clone(),
            commands: self.commands.clone(),
            // Each is lowered from a file of its own.
            workers: Vec::new(),
            protect: self.protect.clone(),
            layers: self.layers.clone(),
        })
    }

    fn shared(&self, facts: &HostFacts, problems: &mut Vec<Problem>) -> Vec<plan::Boundary> {
        let homes: Vec<&Path> = facts.homes.iter().map(PathBuf::as_path).collect();
        let caller = Caller {
            uid: facts.uid,
            homes: &homes,
            other_homes: &facts.other_homes,
            allowed_root: facts.allowed_root.as_deref(),
        };
        let mut boundaries = Vec::new();
        for wanted in &self.wanted {
            if let Some(directory) = directory(wanted, facts, &caller, problems) {
                boundaries.push(plan::Boundary {
                    name: wanted.name.clone(),
                    host: directory.host.clone(),
                    kind: match directory.kind {
                        PathKind::File => BoundaryKind::File,
                        // Anything else was refused.
                        _ => BoundaryKind::Directory,
                    },
                    guest: wanted.guest.as_path().to_owned(),
                    mode: wanted.mode,
                    execution: wanted.execution,
                    hide: wanted.hide.iter().map(ToString::to_string).collect(),
                    worktrees: wanted.worktrees().to_vec(),
                    tools: wanted.tools.clone(),
                    file_id: directory.file_id,
                    obeyed_as: self.obeyed_as(wanted, directory),
                });
            }
        }
        // A `.git` file is read-only in its worktree, too.
        let is_pointer = |boundary: &plan::Boundary| {
            let mut pointers = self.wanted.iter().filter(|wanted| wanted.purpose == Purpose::Pointer);
            pointers.any(|pointer| pointer.name == boundary.name)
        };
        let shared: Vec<SharedHostDir<'_>> = boundaries
            .iter()
            .filter(|boundary| !is_pointer(boundary))
            .map(|boundary| SharedHostDir { name: &boundary.name, host: &boundary.host, mode: boundary.mode })
            .collect();
        for overlap in shared_dir::overlaps(&shared) {
            let (refused, other) = match &overlap {
                ShareOverlap::Same { first, second, .. } => (second, first),
                ShareOverlap::WithinWritable { inner, outer } => (inner, outer),
            };
            let by_name = |name: &String| self.wanted.iter().find(|wanted| wanted.name == *name);
            if let (Some(wanted), Some(other)) = (by_name(refused), by_name(other)) {
                let problem =
                    Problem::new(&wanted.location, wanted.key(), ProblemCode::Refused, overlap.to_string());
                let is_default = [wanted, other].iter().any(|one| one.location == Location::Default);
                let is_file =
                    boundaries.iter().any(|one| one.name == *refused && one.kind == BoundaryKind::File);
                problems.push(match (is_file, is_default) {
                    (true, _) => problem.hinting(boundary::ALREADY_SHARED),
                    (false, true) => problem.hinting(boundary::OR_READ_ONLY),
                    (false, false) => problem,
                });
            }
        }
        self.refuse_beneath_files(&boundaries, problems);
        boundaries.extend(facts.home.as_ref().map(home));
        boundaries
    }

    /// Refuses what is to be mounted beneath a file.
    fn refuse_beneath_files(&self, boundaries: &[plan::Boundary], problems: &mut Vec<Problem>) {
        for file in boundaries.iter().filter(|one| one.kind == BoundaryKind::File) {
            let is_beneath =
                |inner: &&plan::Boundary| inner.name != file.name && inner.guest.starts_with(&file.guest);
            for inner in boundaries.iter().filter(is_beneath) {
                let Some(wanted) = self.wanted.iter().find(|wanted| wanted.name == inner.name) else {
                    continue;
                };
                let message = format!(
                    "nothing can be at {}: `{}` is a file at {}",
                    wanted.guest,
                    file.name,
                    escape::path(&file.guest)
                );
                problems.push(
                    Problem::new(&wanted.location, wanted.key(), ProblemCode::Conflict, message)
                        .hinting("give each boundary a place of its own"),
                );
            }
        }
    }

    /// Returns who commits. Without isolation, the caller's own configuration says so.
    fn git(&self, facts: &HostFacts) -> Option<GitIdentity> {
        // That configuration keeps worktrees, too.
        let has_worktrees = self.wanted.iter().any(|wanted| wanted.purpose != Purpose::Asked);
        let git = facts.git.clone().or_else(|| has_worktrees.then(GitIdentity::default));
        git.filter(|_| self.provider != Provider::Local)
    }

    /// Returns the protected path that a writable boundary is or lies in, by the way to it or by where that leads.
    fn obeyed_as(&self, wanted: &BoundaryRequest, directory: &HostDirectory) -> Option<String> {
        if wanted.mode == BoundaryMode::ReadOnly {
            return None;
        }
        let written = normalise(&wanted.host);
        // What is protected in a repository is looked for in it as in a bare one.
        let is_whole = |path: &Path, covered: &Covered| {
            directory.is_repository && covered.protected == ".git" && path.parent() == Some(&covered.holder)
        };
        let covered = [&directory.host, &written]
            .into_iter()
            .find_map(|path| covering(path, &self.given_up).filter(|covered| !is_whole(path, covered)));
        let repository = || directory.repository.as_ref();
        covered.map(|covered| covered.to_string()).or_else(|| {
            repository().map(|repository| format!("part of the repository {}", escape::path(repository)))
        })
    }

    fn parts<'f>(&self, facts: &'f HostFacts, problems: &mut Vec<Problem>) -> Vec<&'f ToolchainParts> {
        let mut all = Vec::new();
        for exposed in &self.expose {
            let missing = match facts.toolchains.get(&exposed.value) {
                Some(Ok(parts)) => {
                    all.push(parts);
                    continue;
                }
                Some(Err(missing)) => missing.clone(),
                None => Unavailable { reason: "it was not looked up".to_owned(), hint: None },
            };
            let message = format!("\"{}\" cannot be exposed: {}", exposed.value, missing.reason);
            let problem = Problem::new(&exposed.location, "native.expose", ProblemCode::Host, message);
            problems.push(Problem { hint: missing.hint, ..problem });
        }
        all
    }

    /// Returns the built-in variables, those of toolchains, and what the rules let in; the later of two wins.
    fn environment(
        &self,
        facts: &HostFacts,
        parts: &[&ToolchainParts],
        paths: Vec<Variable>,
    ) -> Vec<Variable> {
        let built_in =
            [("PATH", path(parts)), ("HOME", HOME.into()), ("USER", AGENT.into()), ("LOGNAME", AGENT.into())];
        let built_in = built_in.into_iter().chain([("SHELL", "/bin/bash".into())]);
        let mut all: BTreeMap<String, OsString> = match self.provider {
            // Without isolation the agent is the caller, and lives where the caller does.
            Provider::Local => {
                let names: Vec<&str> = built_in.map(|(name, _)| name).collect();
                let own =
                    |name: &OsString| name.to_str().filter(|name| names.contains(name)).map(str::to_owned);
                facts
                    .environment
                    .iter()
                    .filter_map(|(name, value)| Some((own(name)?, value.clone())))
                    .collect()
            }
            // An image knows where its programs are, and which shell it has.
            Provider::Docker | Provider::Podman => built_in
                .filter(|(name, _)| !["PATH", "SHELL"].contains(name))
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            Provider::Native => built_in.map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        if self.git(facts).is_some() {
            all.insert(git::VARIABLE.to_owned(), git::CONFIGURATION.into());
        }
        if let plan::Network::Allowlist { .. } = self.network {
            all.extend(egress::variables().map(|(name, value)| (name.to_owned(), value.into())));
        }
        if !self.network.intercepted().is_empty() {
            all.extend(egress::authority_variables().map(|(name, value)| (name.to_owned(), value.into())));
        }
        for variable in parts.iter().flat_map(|parts| &parts.variables) {
            all.insert(variable.name.clone(), variable.value.clone());
        }
        for (name, value) in env::apply(facts.environment.iter().cloned(), &self.env).kept {
            if let Ok(name) = name.into_string() {
                // Options of Java are no value: those that somebody sets do not take ours back.
                let is_java = name == egress::JAVA_OPTIONS && all.contains_key(&name);
                let value = if is_java { egress::java_options_before(&value) } else { value };
                all.insert(name, value);
            }
        }
        all.extend(paths.into_iter().map(|Variable { name, value }| (name, value)));
        for name in self.env.unset() {
            all.remove(name.as_str());
        }
        all.into_iter().map(|(name, value)| Variable { name, value }).collect()
    }
}

fn home(facts: &HostHome) -> plan::Boundary {
    plan::Boundary {
        name: facts.name.clone(),
        host: facts.host.clone(),
        guest: HOME.into(),
        mode: BoundaryMode::ReadWrite,
        file_id: facts.file_id.unwrap_or(plan::FileId { device: 0, inode: 0 }),
        obeyed_as: None,
        hide: Vec::new(),
        worktrees: Vec::new(),
        tools: plan::ToolRules::default(),
        execution: plan::Execution::Allowed,
        kind: BoundaryKind::Home,
    }
}

fn directory<'f>(
    wanted: &BoundaryRequest,
    facts: &'f HostFacts,
    caller: &Caller<'_>,
    problems: &mut Vec<Problem>,
) -> Option<&'f HostDirectory> {
    let refused = |code, message| Problem::new(&wanted.location, wanted.key(), code, message);
    let directory = match facts.directories.get(&wanted.name) {
        Some(Ok(directory)) => directory,
        Some(Err(missing)) => {
            let message = format!("`{}` {}", escape::path(&wanted.host), missing.reason);
            problems.push(Problem { hint: missing.hint.clone(), ..refused(ProblemCode::Host, message) });
            return None;
        }
        None if facts.absent.contains(&wanted.name) => return None,
        None => {
            let message = format!("`{}` was not looked up", escape::path(&wanted.host));
            problems.push(refused(ProblemCode::Host, message));
            return None;
        }
    };
    let candidate = ShareCandidate {
        given: &wanted.host,
        resolved: &directory.host,
        kind: directory.kind,
        owner: directory.owner,
        mode: wanted.mode,
    };
    if let Err(refusal) = shared_dir::validate(&candidate, caller) {
        let problem = refused(ProblemCode::Refused, refusal.to_string());
        let is_default = wanted.location == Location::Default;
        problems.push(if is_default { problem.hinting(boundary::INSTEAD) } else { problem });
        return None;
    }
    Some(directory)
}

/// Returns `PATH`, with the toolchains in front.
fn path(parts: &[&ToolchainParts]) -> OsString {
    let bins = parts.iter().flat_map(|parts| &parts.bin).map(|bin| bin.as_os_str());
    let all: Vec<&OsStr> = bins.chain(PROGRAMS.iter().map(OsStr::new)).collect();
    all.join(OsStr::new(":"))
}
