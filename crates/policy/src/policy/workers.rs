//! Which workers a model may delegate to, each of which is lowered from a file of its own.

use std::num::NonZeroU32;
use std::path::PathBuf;

use crate::config::defaults::{ATTACHMENT_BYTES, ATTACHMENTS};
use crate::config::problem::{Located, Location, Problem, ProblemCode};
use crate::config::{Config, WorkerTable};
use crate::rules::worker::{AttachmentRules, Inherit};

/// How many workers there are at most: a plan of each is made before anything starts.
const MOST: usize = 32;

/// A worker whose settings have to be read.
#[derive(Clone, Debug)]
pub struct WorkerRequest {
    /// Its name in the configuration.
    pub name: String,
    pub config: PathBuf,
    /// Where the file is named.
    pub location: Location,
    pub description: Option<String>,
    pub inherit: Inherit,
    pub max: NonZeroU32,
    pub attachments: AttachmentRules,
}

/// What the project's own file says, and no layer beneath it. For a worker, the rest is as its sandbox has it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ProjectSays {
    /// Which image there is, or how it is run.
    pub container: bool,
    /// That the home directory is persistent.
    pub home: bool,
}

impl ProjectSays {
    pub(super) fn of(config: &Config) -> Self {
        let container = &config.container;
        let of_container = [
            config.has_image.as_ref(),
            container.pull.as_ref().map(|one| &one.location),
            container.runtime.as_ref().map(|one| &one.location),
            container.host_path_prefix.as_ref().map(|one| &one.location),
        ];
        let home = &config.home;
        let of_home =
            [home.keep.as_ref().map(|one| &one.location), home.name.as_ref().map(|one| &one.location)];
        let is_said = |all: &[Option<&Location>]| all.iter().flatten().any(|location| location.is_projects());
        Self { container: is_said(&of_container), home: is_said(&of_home) }
    }
}

/// Lists the workers that the configuration asks for.
pub(super) fn wanted(config: &Config, problems: &mut Vec<Problem>) -> Vec<WorkerRequest> {
    let mut refuse = |location: &Location, message: String, hint: &str| {
        problems.push(Problem::new(location, "workers", ProblemCode::Refused, message).hinting(hint));
    };
    if let Some(one) = config.workers.values().nth(MOST) {
        refuse(&one.location, format!("there are at most {MOST} workers"), "leave some out");
    }
    config.workers.iter().filter_map(|(name, table)| request(name, table)).collect()
}

fn request(name: &str, table: &Located<WorkerTable>) -> Option<WorkerRequest> {
    let worker = &table.value;
    let file = worker.config.as_ref()?;
    let suffixes = worker.attachment_suffixes.iter().flat_map(|list| &list.value);
    Some(WorkerRequest {
        name: name.to_owned(),
        config: file.value.clone(),
        location: file.location.clone(),
        description: worker.description.as_ref().map(|text| text.value.clone()),
        inherit: worker.inherit.as_ref().map(|inherit| inherit.value).unwrap_or_default(),
        max: worker.max.as_ref().and_then(|max| NonZeroU32::new(max.value)).unwrap_or(NonZeroU32::MIN),
        attachments: AttachmentRules {
            max: worker.max_attachments.as_ref().map_or(ATTACHMENTS, |max| max.value),
            max_bytes: worker.max_attachment_bytes.as_ref().map_or(ATTACHMENT_BYTES, |max| max.value),
            suffixes: suffixes.map(|suffix| suffix.value.clone()).collect(),
        },
    })
}
