//! Which workers a model may delegate to, each of which is lowered from a file of its own.

use std::num::NonZeroU32;
use std::path::PathBuf;

use crate::config::defaults::{ATTACHMENT_BYTES, ATTACHMENTS};
use crate::config::problem::{Located, Location, Problem, ProblemCode};
use crate::config::{Config, WorkerTable};
use crate::plan::Provider;
use crate::rules::worker::{AttachmentRules, Inherit};

/// How many workers there are at most: a plan of each is made before anything starts.
const MOST: usize = 32;

/// A worker whose settings have to be read.
#[derive(Clone, Debug)]
pub struct WorkerRequest {
    /// Its name in the configuration.
    pub name: String,
    /// The file with its settings.
    pub config: PathBuf,
    /// Where the file is named.
    pub location: Location,
    pub description: Option<String>,
    pub inherit: Inherit,
    pub max: NonZeroU32,
    pub attachments: AttachmentRules,
}

/// Lists the workers that the configuration asks for.
pub(super) fn wanted(config: &Config, provider: Provider, problems: &mut Vec<Problem>) -> Vec<WorkerRequest> {
    let mut refuse = |location: &Location, message: String, hint: &str| {
        problems.push(Problem::new(location, "workers", ProblemCode::Refused, message).hinting(hint));
    };
    if let Some(one) = config.workers.values().nth(MOST) {
        refuse(&one.location, format!("there are at most {MOST} workers"), "leave some out");
    }
    if let Some(one) = config.workers.values().next().filter(|_| provider == Provider::Local) {
        let message = "the provider \"local\" isolates nothing, so a worker would be no sandbox";
        refuse(&one.location, message.to_owned(), "--provider native, docker or podman isolates");
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
