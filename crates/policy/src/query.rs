//! Questions that tools ask of a sandbox before they act: may this path be read, written or listed, this host be reached, this variable
//! be seen.
//!
//! The answers are made from a plan, so they hold for a sandbox for as long as it lives. Paths are those that the sandbox sees, and no
//! path of the host is in any answer.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use self::denial::{
    Act, Approval, Denial, Difference, EditFault, FileKind, NearMatch, PathFault, PatternFault, PatternKind,
    TextFault,
};
use crate::commands::CommandRules;
use crate::config::defaults::HOME;
use crate::plan::{Boundary, BoundaryKind, BoundaryMode, Network, Plan, Provider, ToolRules};
use crate::protect::Protected;
use crate::rules::hide::HidePatterns;
use crate::rules::network::{HostRules, NetworkMode};
use crate::rules::path::{
    GuestBoundaries, GuestBoundary, GuestPath, Obeyed, PathAccess, PathError, PathRule,
};
use crate::rules::verdict::{Decision, Origin, Verdict};
use crate::text::escape;

mod attachments;
mod denial;

/// The directory for temporary files, which every sandbox has of its own.
const TMP: &str = "/tmp";

/// What can be asked of one sandbox.
#[derive(Clone, Debug)]
pub struct Query {
    /// Where relative paths start.
    workdir: PathBuf,
    /// In the order of `rules`.
    places: Vec<Place>,
    rules: GuestBoundaries,
    hosts: HostRules,
    /// Why a command sees each variable that it sees.
    variables: BTreeMap<String, String>,
    unset: Vec<String>,
    commands: CommandRules,
}

/// A boundary, as tools see it.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: String,
    pub guest: GuestPath,
    pub mode: BoundaryMode,
    pub kind: PlaceKind,
    pub tools: ToolRules,
    /// The largest file that a process of the sandbox can write.
    pub max_written: Option<u64>,
}

/// What a boundary is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlaceKind {
    Directory,
    /// A single file.
    File,
}

/// Why questions cannot be answered from a plan: it is not one that this program has made.
#[derive(Debug, thiserror::Error)]
#[error("the plan of the sandbox cannot be read: {0}")]
pub struct PlanFault(String);

/// A path that lies in a boundary. Whether it may be used depends on what for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resolved {
    pub guest: GuestPath,
    /// The position of the boundary, for [`Query::place`].
    pub place: usize,
    /// The path as it is seen from there.
    pub relative: PathBuf,
}

impl Query {
    /// Makes what is asked from the plan of a sandbox.
    ///
    /// # Errors
    ///
    /// The plan is not one that this program has made.
    pub fn new(plan: &Plan) -> Result<Self, PlanFault> {
        let fault = |error: PathError| PlanFault(error.to_string());
        let max_written = plan.limits.file_size.map(|limit| limit.0);
        let mut all = Vec::new();
        for boundary in &plan.boundaries {
            all.push(shared(boundary, max_written).map_err(fault)?);
        }
        // Without isolation there is nothing of its own.
        let own: &[_] = if plan.provider == Provider::Local { &[] } else { &[("tmp", TMP), ("home", HOME)] };
        for (name, path) in own {
            let guest = GuestPath::new(Path::new(path)).map_err(fault)?;
            if all.iter().all(|(_, place)| place.guest != guest) {
                all.push(of_its_own(name, guest, max_written));
            }
        }
        let (boundaries, places) = all.into_iter().unzip();
        let protected = plan.protect.paths.iter().map(|path| path.parse());
        let protected: Vec<_> = protected
            .collect::<Result<_, crate::protect::ProtectError>>()
            .map_err(|error| PlanFault(error.to_string()))?;
        let rules = GuestBoundaries::new(boundaries, Protected::exactly(protected)).map_err(fault)?;
        let hosts = match &plan.network {
            Network::None => HostRules::new(NetworkMode::None, Vec::new(), Vec::new()),
            Network::Open => HostRules::new(NetworkMode::Open, Vec::new(), Vec::new()),
            Network::Allowlist { allow, deny, .. } => {
                HostRules::new(NetworkMode::Allowlist, allow.clone(), deny.clone())
            }
        };
        Ok(Self {
            workdir: plan.agent.workdir.clone(),
            places,
            rules,
            hosts,
            variables: variables(plan),
            unset: plan.unset.clone(),
            commands: plan.commands.clone(),
        })
    }

    /// Returns the directory that relative paths start at.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// Lists the boundaries.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Returns the boundary that a path was resolved to lie in.
    pub fn place(&self, resolved: &Resolved) -> &Place {
        &self.places[resolved.place]
    }

    /// Lists the boundaries that can be read.
    pub fn readable(&self) -> Vec<String> {
        self.places.iter().map(|place| escape::path(place.guest.as_path())).collect()
    }

    /// Lists the boundaries that can be written.
    pub fn writable(&self) -> Vec<String> {
        let writable = self.places.iter().filter(|place| place.mode == BoundaryMode::ReadWrite);
        writable.map(|place| escape::path(place.guest.as_path())).collect()
    }

    /// Answers whether the file tools may read a file.
    pub fn can_read(&self, path: &OsStr) -> Verdict {
        self.answer(path, PathAccess::Read, |resolved| self.check_suffix(resolved, PathAccess::Read))
    }

    /// Answers whether the file tools may write a file: change or make it.
    pub fn can_write(&self, path: &OsStr) -> Verdict {
        self.answer(path, PathAccess::Write, |resolved| self.check_suffix(resolved, PathAccess::Write))
    }

    /// Answers whether the file tools may list a directory.
    pub fn can_list(&self, path: &OsStr) -> Verdict {
        self.answer(path, PathAccess::Read, |_| Ok(()))
    }

    /// Answers whether a host can be reached at a port.
    pub fn can_connect(&self, host: &str, port: u16) -> Verdict {
        let verdict = self.hosts.decide(host, port);
        if verdict.decision != Decision::Deny {
            return verdict;
        }
        let host = escape::line(host).into_owned();
        let denial = Denial::Network { host, port, rule: verdict.rule };
        Verdict::deny(denial.to_string(), verdict.origin)
    }

    /// Returns the rules about commands.
    pub fn commands(&self) -> &CommandRules {
        &self.commands
    }

    /// Answers whether a command sees a variable.
    pub fn sees_env(&self, name: &str) -> Verdict {
        match self.variables.get(name) {
            Some(why) => Verdict::allow(format!("`{}` {why}", escape::line(name)), Origin::Default),
            None if self.unset.iter().any(|unset| unset == name) => Verdict::deny(
                format!("`{}` is taken away from the environment of this sandbox", escape::line(name)),
                Origin::Default,
            ),
            None => Verdict::deny(
                format!("`{}` is not passed to this sandbox; `[env]` says what is", escape::line(name)),
                Origin::Default,
            ),
        }
    }

    /// Resolves a path as it was written: one that is relative starts at the working directory.
    ///
    /// # Errors
    ///
    /// It is no path, could mean another one once links are resolved, or lies in no boundary.
    pub fn resolve(&self, text: &OsStr, access: PathAccess) -> Result<Resolved, Denial> {
        let fault = |fault| Denial::NoPath { path: beginning(text), fault };
        if text.is_empty() {
            return Err(fault(PathFault::Empty));
        }
        if text.as_bytes().starts_with(b"~") {
            return Err(fault(PathFault::Home));
        }
        let guest = GuestPath::new(&self.workdir.join(text)).map_err(|error| match error {
            PathError::Parent { .. } => fault(PathFault::Parent),
            PathError::Nul { .. } => fault(PathFault::Nul),
            // A working directory is absolute, so what it begins is.
            _ => fault(PathFault::TooLong),
        })?;
        match self.rules.innermost(guest.as_path()) {
            Some((place, relative)) => {
                let relative = relative.to_owned();
                Ok(Resolved { guest, place, relative })
            }
            None => Err(Denial::Outside {
                access: access.into(),
                path: escape::path(guest.as_path()),
                allowed: if access == PathAccess::Write { self.writable() } else { self.readable() },
            }),
        }
    }

    /// Checks that a path, as it was written, is not that of a directory by its last character.
    ///
    /// # Errors
    ///
    /// It is.
    pub fn check_names_file(&self, text: &OsStr) -> Result<(), Denial> {
        let bytes = text.as_bytes();
        if bytes.ends_with(b"/") || bytes.ends_with(b"/.") {
            return Err(Denial::NoPath { path: beginning(text), fault: PathFault::Directory });
        }
        Ok(())
    }

    /// Returns the path at a place within a boundary. That of a boundary within is in that one.
    pub fn within(&self, place: usize, relative: &Path, access: PathAccess) -> Result<Resolved, Denial> {
        let root = self.places[place].guest.as_path();
        let whole = if relative.as_os_str().is_empty() { root.to_owned() } else { root.join(relative) };
        self.resolve(whole.as_os_str(), access)
    }

    /// Checks that a path can be read, or written.
    ///
    /// # Errors
    ///
    /// A rule is against it.
    pub fn check(&self, resolved: &Resolved, access: PathAccess) -> Result<(), Denial> {
        let path = || escape::path(resolved.guest.as_path());
        match self.rules.rule(resolved.place, &resolved.relative, access) {
            PathRule::Allowed => Ok(()),
            PathRule::Hidden(pattern) => {
                Err(Denial::Hidden { access: access.into(), path: path(), pattern: pattern.to_string() })
            }
            PathRule::ReadOnly => Err(Denial::ReadOnly { path: path(), writable: self.writable() }),
            PathRule::OtherWorktree(other) => {
                Err(Denial::Protected { path: path(), protected: escape::path(&other) })
            }
            PathRule::Protected(protected) => {
                Err(Denial::Protected { path: path(), protected: protected.to_string() })
            }
        }
    }

    /// Returns whether something is hidden in any boundary.
    pub fn hides_something(&self) -> bool {
        self.rules.hides_something()
    }

    /// Returns whether a path, as it is seen from its boundary, is hidden.
    pub fn is_hidden(&self, place: usize, relative: &Path) -> bool {
        matches!(self.rules.rule(place, relative, PathAccess::Read), PathRule::Hidden(_))
    }

    /// Checks that the file tools touch files with the suffix of this one.
    ///
    /// # Errors
    ///
    /// They touch others.
    pub fn check_suffix(&self, resolved: &Resolved, access: PathAccess) -> Result<(), Denial> {
        let allowed = &self.place(resolved).tools.suffixes;
        if has_suffix(allowed, resolved.guest.as_path().as_os_str()) {
            return Ok(());
        }
        Err(Denial::Suffix {
            access: access.into(),
            path: escape::path(resolved.guest.as_path()),
            allowed: allowed.clone(),
        })
    }

    /// Checks that the file tools touch files of this size.
    ///
    /// # Errors
    ///
    /// They touch smaller ones.
    pub fn check_size(&self, resolved: &Resolved, access: PathAccess, size: u64) -> Result<(), Denial> {
        let place = self.place(resolved);
        let written = place.max_written.filter(|_| access == PathAccess::Write);
        let limit = place.tools.max_file_bytes.map(|limit| limit.0).into_iter().chain(written).min();
        match limit.filter(|limit| size > *limit) {
            None => Ok(()),
            Some(limit) => Err(Denial::TooLarge {
                access: access.into(),
                path: escape::path(resolved.guest.as_path()),
                size,
                limit,
            }),
        }
    }

    /// Answers as the tools do: what they would say where they refuse it.
    fn answer(
        &self,
        path: &OsStr,
        access: PathAccess,
        check: impl FnOnce(&Resolved) -> Result<(), Denial>,
    ) -> Verdict {
        let resolved = self.resolve(path, access).and_then(|resolved| {
            self.check(&resolved, access)?;
            check(&resolved)?;
            Ok(resolved)
        });
        match resolved {
            Ok(resolved) => self.rules.decide(resolved.guest.as_path(), access),
            Err(denial) => Verdict::deny(denial.to_string(), Origin::Default),
        }
    }
}

/// Returns a path that is none, as it is shown: the beginning of a long one.
fn beginning(path: &OsStr) -> String {
    const SHOWN: usize = 200;
    let path = escape::path(Path::new(path));
    match path.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &path[..end]),
        None => path,
    }
}

/// Returns whether a path ends with one of these suffixes, of which upper and lower case are the same. Without one, every path does.
pub fn has_suffix(allowed: &[String], path: &OsStr) -> bool {
    let ends_with = |suffix: &String| {
        let (path, suffix) = (path.as_bytes(), suffix.as_bytes());
        path.len() >= suffix.len() && path[path.len() - suffix.len()..].eq_ignore_ascii_case(suffix)
    };
    allowed.is_empty() || allowed.iter().any(ends_with)
}

fn shared(boundary: &Boundary, max_written: Option<u64>) -> Result<(GuestBoundary, Place), PathError> {
    let guest = GuestPath::new(&boundary.guest)?;
    let rules = GuestBoundary {
        name: boundary.name.clone(),
        guest: guest.clone(),
        mode: boundary.mode,
        hidden: HidePatterns::of(&boundary.hide),
        worktrees: boundary.worktrees.clone(),
        obeyed: if boundary.kind == BoundaryKind::Home { Obeyed::ByNobody } else { Obeyed::ByPrograms },
        origin: Origin::Default,
    };
    let place = Place {
        name: boundary.name.clone(),
        guest,
        mode: boundary.mode,
        kind: if boundary.kind == BoundaryKind::File { PlaceKind::File } else { PlaceKind::Directory },
        tools: boundary.tools.clone(),
        max_written,
    };
    Ok((rules, place))
}

fn of_its_own(name: &str, guest: GuestPath, max_written: Option<u64>) -> (GuestBoundary, Place) {
    let rules = GuestBoundary {
        name: name.to_owned(),
        guest: guest.clone(),
        mode: BoundaryMode::ReadWrite,
        hidden: HidePatterns::of(&[]),
        worktrees: Vec::new(),
        obeyed: Obeyed::ByNobody,
        origin: Origin::Default,
    };
    let place = Place {
        name: name.to_owned(),
        guest,
        mode: BoundaryMode::ReadWrite,
        kind: PlaceKind::Directory,
        tools: ToolRules::default(),
        max_written,
    };
    (rules, place)
}

/// Lists why a command sees each variable that it sees.
fn variables(plan: &Plan) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for variable in &plan.env {
        all.insert(variable.name.clone(), "is set in this sandbox".to_owned());
    }
    for secret in &plan.secrets {
        let why = format!("has the value of the secret \"{}\"", secret.name);
        all.insert(secret.env_var.clone(), why);
    }
    for route in &plan.routes {
        for variable in &route.variables {
            all.insert(variable.name.clone(), format!("leads to the egress proxy, for \"{}\"", route.name));
        }
        if let Some(credential) = &route.credential {
            let why = format!("has a token that stands for the secret \"{}\"", credential.name);
            all.insert(credential.env_var.clone(), why);
        }
    }
    all
}
