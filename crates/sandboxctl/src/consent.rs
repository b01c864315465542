//! Consent: whether a project's file may do what it asks for.
//!
//! What only narrows needs nobody's consent. What widens does, and consent is to a content: a changed file asks
//! again.

use policy::trust::Widening;
use sandbox::state::StateDir;
use sandbox::trust::{Candidate, Store, Trust};
use serde_json::json;

use crate::cli::{Source, Trusted};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::files::Found;
use crate::ui;

/// Refuses a file that widens and that nobody trusts.
pub(crate) fn require(
    context: &Context,
    source: &Source,
    file: &Found,
    widenings: &[Widening],
) -> Result<(), CommandError> {
    let Found { candidate, label } = file;
    let changed = match &source.trust {
        // A hash is a promise about the content, whatever the content asks for.
        Some(Trusted::Hash(expected)) => return matches_hash(file, expected),
        Some(Trusted::Any) => return Ok(()),
        None if widenings.is_empty() => return Ok(()),
        None => match store(context)?.check(candidate)? {
            Trust::Trusted => return Ok(()),
            Trust::Changed => "and has changed since it was trusted",
            Trust::Unknown => "and is not trusted",
        },
    };
    let refusal = CommandError::message(
        Code::ConfigUntrusted,
        format_args!("{label} widens what a sandbox may do, {changed}:\n{}", list(widenings)),
    );
    Err(refusal
        .hint(format!("`sandboxctl trust {label}` shows this list and asks; read the file first"))
        .hint(format!("where nobody can be asked: `--trust={}` trusts just this content", hash(candidate)))
        .details(json!({ "file": candidate.path, "hash": hash(candidate), "widens": widenings })))
}

/// The store of trusted files.
pub(crate) fn store(context: &Context) -> Result<Store, CommandError> {
    Ok(Store::new(StateDir::open(&context.state(), context.caller).map_err(anyhow::Error::new)?))
}

/// A file's content in the form that `--trust` takes.
pub(crate) fn hash(candidate: &Candidate) -> String {
    format!("sha256:{}", candidate.digest().as_str())
}

/// What a file widens, one line each.
pub(crate) fn list(widenings: &[Widening]) -> String {
    let line = |Widening { key, place, what }: &Widening| ui::one_line(&format!("  {place}: {key} {what}"));
    widenings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn matches_hash(Found { candidate, label }: &Found, expected: &str) -> Result<(), CommandError> {
    let found = hash(candidate);
    if found == *expected {
        return Ok(());
    }
    Err(CommandError::message(
        Code::ConfigUntrusted,
        format_args!("{label} is not what was trusted: its content has the hash {found}"),
    )
    .hint("read what changed, then pass the new hash")
    .details(json!({ "file": candidate.path, "hash": found, "expected": expected })))
}
