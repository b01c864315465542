//! What a model is told when the policy has made its command fail. It is told only where that is certain: advice that does not fit sends it
//! astray, and a command that fails for another reason is not the policy's business.
//!
//! Certain means two things at once: a message of a program that names the failure, and a plan that explains it. A message alone proves
//! nothing: anybody can print one, and a file of mode 000 is refused with the same words.

use std::path::Path;

use policy::plan::{Execution, Network, Plan, Provider};
use policy::query::Query;
use policy::rules::network::{Host, HostRules};
use policy::rules::path::{BoundaryMode, PathAccess};
use policy::rules::rootfs::TMPFS_PATHS;
use policy::text::escape;

use crate::session::outcome::End;

/// How much of each stream is looked at: its end, where programs say why they give up.
const LOOKED_AT: usize = 16 << 10;

/// How programs say that a name cannot be resolved, or that no route leads anywhere.
const OF_NETWORK: &[&str] = &[
    "could not resolve host", "temporary failure in name resolution", "name or service not known",
    "no address associated with hostname", "unable to resolve host address",
    "failed to lookup address information", "getaddrinfo enotfound", "getaddrinfo eai_again",
    "network is unreachable", "enetunreach", "bad address '",
];

/// How programs say that a file system is read-only.
const READ_ONLY: &[&str] = &["read-only file system", "erofs"];

/// How programs say that something may not be done.
const DENIED: &[&str] = &["permission denied", "eacces", "operation not permitted", "eperm"];

/// How programs say that something is not there.
const ABSENT: &[&str] = &["no such file or directory", "enoent"];

/// How programs name what they wanted to do, where that was to write.
const WRITING: &[&str] = &[
    "cannot create", "can't create", "cannot touch", "cannot remove", "cannot move", "cannot overwrite",
    "cannot write", "can't write", "cannot mkdir", "cannot make directory", "unable to create",
    "unable to write", "could not create", "failed to create", "for writing", "mkdir",
];

/// Where the system stands inside, and what the sandbox has of its own: that something is not there says nothing of the policy.
const OF_THE_SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/tmp",
    "/usr", "/var",
];

/// What the kernel makes for the sandbox alone: what is refused there is no matter of shared directories.
const OF_THE_KERNEL: &[&str] = &["/dev", "/proc", "/sys"];

/// Returns what to say of a command that has ended so and has written this; `None` where it has not failed, or where it is not certain that
/// the policy is the reason.
pub fn note(plan: &Plan, end: &End, stdout: &[u8], stderr: &[u8]) -> Option<String> {
    // Without isolation nothing is refused.
    let has_failed = !matches!(end, End::Exited(0) | End::NotFound(_));
    if !has_failed || plan.provider == Provider::Local {
        return None;
    }
    let text = [tail(stderr), tail(stdout)].map(String::from_utf8_lossy).join("\n");
    let reason = text.lines().rev().find_map(|line| of_line(plan, line))?;
    Some(format!(
        "note: {reason}. This is policy of the sandbox, and no fault: retrying will not help, nor will another way to do the same. {}",
        possible(plan)
    ))
}

/// Says what the sandbox allows: paths, and the network.
pub fn possible(plan: &Plan) -> String {
    let query = Query::new(plan);
    let places = query.as_ref().map_or(&[][..], Query::places);
    let of = |mode: Option<BoundaryMode>| {
        let places = places.iter().filter(|place| mode.is_none_or(|mode| place.mode == mode));
        let places = places.map(|place| format!("`{}`", escape::path(place.guest.as_path())));
        places.collect::<Vec<_>>().join(", ")
    };
    format!("readable: {}; writable: {}; {}.", of(None), of(Some(BoundaryMode::ReadWrite)), network(plan))
}

/// Says what of the network there is.
fn network(plan: &Plan) -> String {
    match &plan.network {
        Network::None => "the network is off".to_owned(),
        Network::Open => "the network is open".to_owned(),
        Network::Allowlist { allow, .. } if allow.is_empty() => "no host can be reached".to_owned(),
        Network::Allowlist { allow, .. } => {
            let (shown, rest) = allow.split_at(allow.len().min(12));
            let shown: Vec<_> = shown.iter().map(|rule| format!("`{}`", rule.pattern)).collect();
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("hosts that can be reached: {}{more}", shown.join(", "))
        }
    }
}

/// Returns what the policy has refused, if this line says that something failed for which the plan is the reason.
fn of_line(plan: &Plan, line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if says(OF_NETWORK) {
        return of_network(plan, line);
    }
    let failure = if says(READ_ONLY) {
        Failure::ReadOnly
    } else if says(DENIED) && says(WRITING) {
        Failure::WriteDenied
    } else if says(DENIED) {
        Failure::Denied
    } else if says(ABSENT) {
        Failure::Absent
    } else {
        return None;
    };
    let query = Query::new(plan).ok()?;
    paths(line).find_map(|path| of_path(plan, &query, path, failure))
}

/// What a program says of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Failure {
    ReadOnly,
    /// It wanted to write, and may not.
    WriteDenied,
    /// It may not do what is not known.
    Denied,
    Absent,
}

fn of_network(plan: &Plan, line: &str) -> Option<String> {
    match &plan.network {
        Network::None => Some(
            "the network of this sandbox is off, so that no name can be resolved and no host reached"
                .to_owned(),
        ),
        Network::Open => None,
        Network::Allowlist { allow, deny, .. } => {
            let rules = HostRules::new(plan.network.mode(), allow.clone(), deny.clone());
            let hosts =
                words(line).filter(|word| word.contains('.')).filter_map(|word| word.parse::<Host>().ok());
            let denied = hosts.map(|host| rules.ports(&host)).find_map(Result::err)?;
            Some(denied.rule)
        }
    }
}

fn of_path(plan: &Plan, query: &Query, path: &Path, failure: Failure) -> Option<String> {
    let within = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    let boundary = plan.boundaries.iter().filter(|boundary| path.starts_with(&boundary.guest));
    let boundary = boundary.max_by_key(|boundary| boundary.guest.components().count());
    let Some(boundary) = boundary else {
        let is_ours = within(&TMPFS_PATHS) || within(OF_THE_KERNEL);
        let shown = escape::path(path);
        return match failure {
            Failure::ReadOnly | Failure::WriteDenied if !is_ours => {
                Some(format!("`{shown}` cannot be written: it lies in no shared directory"))
            }
            // In a container the image may have it or not, and a toolchain is where it is on the host.
            Failure::Absent
                if plan.provider == Provider::Native
                    && !is_ours
                    && !within(OF_THE_SYSTEM)
                    && !plan.expose.iter().any(|exposed| path.starts_with(&exposed.guest)) =>
            {
                Some(format!(
                    "`{shown}` is not there: it lies in no shared directory, and the sandbox shows nothing else of the host"
                ))
            }
            Failure::ReadOnly | Failure::WriteDenied | Failure::Denied | Failure::Absent => None,
        };
    };
    // In the words of the file tools: how a protection is given up is for a person to know.
    let denied = |access: PathAccess| {
        let resolved = query.resolve(path.as_os_str(), access);
        let checked = resolved.and_then(|resolved| query.check(&resolved, access));
        checked.err().map(|denial| denial.without_policy())
    };
    match failure {
        // What hides it refuses it in every way.
        Failure::Denied | Failure::WriteDenied | Failure::Absent if denied(PathAccess::Read).is_some() => {
            denied(PathAccess::Read)
        }
        // In a directory that is shared to be written, only what is protected is a file system of its own.
        Failure::ReadOnly => denied(PathAccess::Write),
        Failure::Denied if boundary.execution == Execution::Refused => Some(format!(
            "`{}` cannot be executed: nothing in `{}` can be, only read",
            escape::path(path),
            boundary.name
        )),
        // An ordinary permission of a file.
        Failure::Denied | Failure::WriteDenied | Failure::Absent => None,
    }
}

/// Lists the absolute paths that a message names.
fn paths(line: &str) -> impl Iterator<Item = &Path> {
    words(line).filter(|word| word.len() > 1 && word.starts_with('/')).map(Path::new)
}

/// Splits a message at what stands around names in it.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| letter.is_whitespace() || "'\"`‘’“”,;()[]<>".contains(letter))
        .map(|word| word.trim_end_matches([':', '.', '!']))
        // `sh: 1: cannot create /etc/x:` and `open:/etc/x`.
        .map(|word| {
            if word.contains("://") {
                word
            } else {
                word.rsplit_once(":/").map_or(word, |(before, _)| &word[before.len() + 1..])
            }
        })
        .map(|word| word.split_once("://").map_or(word, |(_, rest)| rest.split('/').next().unwrap_or(rest)))
}

fn tail(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(LOOKED_AT)..]
}

#[cfg(test)]
#[path = "note/tests.rs"]
mod tests;
