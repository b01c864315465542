//! Where the agent starts, and whether that directory will be there, as far as that is known before the start.

use std::path::{Path, PathBuf};

use super::Policy;
use super::boundary::BoundaryRequest;
use super::facts::{HostFacts, ToolchainParts};
use crate::config::defaults::HOME;
use crate::config::problem::{Problem, ProblemCode};
use crate::plan::{self, Provider};
use crate::rules::path::GuestPath;
use crate::rules::rootfs::{HOST_SYSTEM, OF_THE_KERNEL, TMPFS_PATHS};
use crate::rules::verdict::listing;
use crate::text::escape;

/// Directories that every native sandbox has besides those with a tmpfs, empty but for what is mounted in them.
const PARENTS: [&str; 2] = ["/", "/home"];

impl Policy {
    /// Returns where the agent starts, as the sandbox sees it.
    pub fn workdir(&self) -> &GuestPath {
        &self.workdir.value
    }

    /// Returns the innermost boundary that a path inside lies in, and the rest of the path below it.
    pub fn behind(&self, path: &Path) -> Option<(&BoundaryRequest, PathBuf)> {
        let within =
            |wanted: &BoundaryRequest| path.strip_prefix(wanted.guest.as_path()).ok().map(Path::to_owned);
        let holders = self.wanted.iter().filter_map(|wanted| Some((wanted, within(wanted)?)));
        holders.max_by_key(|(wanted, _)| wanted.guest.as_path().components().count())
    }

    /// Returns where the agent starts for the provider: without isolation, in the directory of the host.
    pub(super) fn start(&self, boundaries: &[plan::Boundary], facts: &HostFacts) -> PathBuf {
        let workdir = self.workdir().as_path();
        if self.provider != Provider::Local {
            return workdir.to_owned();
        }
        let resolved = self.behind(workdir).and_then(|(wanted, rest)| {
            let boundary = boundaries.iter().find(|boundary| boundary.name == wanted.name)?;
            Some(boundary.host.components().chain(rest.components()).collect())
        });
        match (resolved, facts.homes.first()) {
            (Some(path), _) => path,
            (None, Some(home)) if workdir == Path::new(HOME) => home.clone(),
            (None, _) => workdir.to_owned(),
        }
    }

    /// Refuses to start in a directory that will certainly not be there.
    pub(super) fn check_start(
        &self,
        facts: &HostFacts,
        parts: &[&ToolchainParts],
        problems: &mut Vec<Problem>,
    ) {
        let path = self.workdir().as_path();
        let guests = || self.wanted.iter().map(|wanted| wanted.guest.as_path());
        let exposed = || parts.iter().flat_map(|parts| &parts.exposed).map(|exposed| exposed.guest.as_path());
        let leads_somewhere = || guests().chain(exposed()).any(|guest| guest.starts_with(path));
        let is_made = || PARENTS.iter().chain(&TMPFS_PATHS).any(|made| path == Path::new(made));
        // What is in there is known only inside.
        let system = || HOST_SYSTEM.iter().chain(OF_THE_KERNEL).chain(&["/etc"]).map(Path::new);
        let unknown = || system().chain(exposed()).any(|tree| path.starts_with(tree));
        let (what, hint) = match (self.behind(path), self.provider) {
            (Some((wanted, _)), _) if facts.is_file(wanted) => ("is a file".to_owned(), None),
            (Some(_), _) => match &facts.workdir {
                Ok(()) => return,
                Err(missing) => (missing.reason.clone(), missing.hint.clone()),
            },
            // What else an image has is known only inside.
            (None, Provider::Docker | Provider::Podman) => return,
            // The agent's home stands for the caller's.
            (None, Provider::Local) if path == Path::new(HOME) => return,
            (None, Provider::Local) => {
                ("is in no shared directory, and provider local shows nothing else".to_owned(), None)
            }
            (None, _) if is_made() || leads_somewhere() || unknown() => return,
            (None, _) => (
                "does not exist in the sandbox".to_owned(),
                Some(format!("`-v DIR:{}` shares a directory there", escape::path(path))),
            ),
        };
        let there =
            if self.wanted.is_empty() { format!("`{HOME}`") } else { listing(guests().map(Path::display)) };
        let problem = Problem::new(
            &self.workdir.location,
            "agent.workdir",
            ProblemCode::Host,
            format!("`{}` {what}", escape::path(path)),
        );
        problems.push(Problem { hint, ..problem.expecting(format!("a directory in {there}")) });
    }
}
