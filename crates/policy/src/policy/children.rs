//! Which sandboxes the agent may start, and what is left for its own.

use std::num::NonZeroU32;
use std::path::Path;

use super::boundary::BoundaryRequest;
use crate::config::Config;
use crate::config::defaults::CHILD_DEPTH;
use crate::config::problem::{Problem, ProblemCode};
use crate::plan::Provider;
use crate::rules::children::{AskedLimits, CHILDREN_SOCKET, Children, Part};
use crate::rules::limits::Limits;

/// Divides the limits of the sandbox between it and its children, where it may have any.
pub(super) fn divided(
    config: &Config,
    provider: Provider,
    wanted: &[BoundaryRequest],
    problems: &mut Vec<Problem>,
) -> (Limits, Option<Children>) {
    let whole = config.limits.or_default();
    let children = &config.children;
    let Some((max, asked)) = children.max.as_ref().and_then(|max| Some((NonZeroU32::new(max.value)?, max)))
    else {
        return (whole, None);
    };
    let mut refuse = |code, message: String, hint: &str| {
        problems.push(Problem::new(&asked.location, "children.max", code, message).hinting(hint));
    };
    if provider == Provider::Local {
        let message = "the provider \"local\" isolates nothing, so a child would be no sandbox";
        refuse(ProblemCode::Refused, message.to_owned(), "--provider native, docker or podman isolates");
        return (whole, None);
    }
    if whole.network_bytes.is_some() {
        let message = "`limits.network_bytes` counts what passes in the whole life of a sandbox; dividing it between children that come one \
                       after another is not supported yet";
        refuse(ProblemCode::NotSupportedYet, message.to_owned(), "leave one of the two out");
    }
    let socket = Path::new(CHILDREN_SOCKET);
    if let Some(taken) = wanted.iter().find(|one| socket.starts_with(one.guest.as_path())) {
        let message =
            format!("the agent starts children over {CHILDREN_SOCKET}, and `{}` is there", taken.name);
        refuse(ProblemCode::Conflict, message, "share that directory elsewhere");
    }
    let depth = children.depth.as_ref().map_or(CHILD_DEPTH, |depth| depth.value);
    let depth = NonZeroU32::new(depth).unwrap_or(NonZeroU32::MIN);
    let limits = AskedLimits {
        memory: Part::of(children.memory.as_ref().map(|limit| limit.value)),
        cpus: Part::of(children.cpus.as_ref().map(|limit| limit.value)),
        pids: Part::of(children.pids.as_ref().map(|limit| limit.value)),
        timeout: children.timeout.as_ref().and_then(|limit| limit.value),
    };
    match Children::divide(&whole, max, depth, limits) {
        Ok((own, children)) => (own, Some(children)),
        Err(all) => {
            for problem in all {
                let key = problem.limit;
                let hint = format!("raise `limits.{key}`, or have fewer or smaller children");
                refuse(ProblemCode::Conflict, format!("`{key}` is too little: {problem}"), &hint);
            }
            (whole, None)
        }
    }
}
