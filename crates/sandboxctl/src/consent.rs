//! Consent: whether a project's file may do what it asks for.
//!
//! What only narrows needs nobody's consent. What widens does, and consent is to a content and to the list that was shown
//! of it: a changed file asks again, and so does one whose paths have come to lead elsewhere.

use policy::config::trust::Widening;
use policy::text::json_bytes::JsonBytes;
use sandbox::state::directory::StateDir;
use sandbox::state::trust::{Store, Trust};
use serde_json::json;

use crate::cli::{ConfigSource, Trusted};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::files::FoundFile;
use crate::text;

/// Refuses a file that widens this and is not trusted.
pub(crate) fn require(
    context: &Context,
    source: &ConfigSource,
    file: &FoundFile,
    all: &[Widening],
    widenings: &[&Widening],
) -> Result<(), CommandError> {
    let FoundFile { candidate, label } = file;
    let hash = hash(file, all);
    let (changed, shown) = match &source.trust {
        // A hash is a promise about the content and where its paths lead, whatever it asks for.
        Some(Trusted::Hash(expected)) => return matches_hash(file, &hash, expected),
        Some(Trusted::Any) => return Ok(()),
        None if widenings.is_empty() => return Ok(()),
        None => match check(context, file, widenings)? {
            Trust::Trusted => return Ok(()),
            Trust::Widened(new) => {
                let is_new = |widening: &&Widening| new.contains(&line(widening));
                ("and was trusted for another list, without", list(widenings.iter().copied().filter(is_new)))
            }
            Trust::Changed => ("and has changed since it was trusted", list(widenings.iter().copied())),
            Trust::Unknown => ("and is not trusted", list(widenings.iter().copied())),
        },
    };
    let refusal = CommandError::message(
        Code::ConfigUntrusted,
        format_args!("{label} widens what a sandbox may do, {changed}:\n{shown}"),
    );
    Err(refusal
        .hint(format!("`sandboxctl trust {label}` shows this list and asks; read the file first"))
        .hint(format!("where nobody can be asked: `--trust={hash}` trusts just this content and list"))
        .details(
            json!({ "file": JsonBytes::from(candidate.path.as_path()), "hash": hash, "widens": widenings }),
        ))
}

/// Checks in the store whether a file that widens this is trusted.
pub(crate) fn check(
    context: &Context,
    file: &FoundFile,
    widenings: &[&Widening],
) -> Result<Trust, CommandError> {
    let lines: Vec<String> = widenings.iter().map(|widening| line(widening)).collect();
    Ok(store(context)?.check(&file.candidate, &lines)?)
}

/// Records that the owner of a file agrees to all of this.
pub(crate) fn record(
    context: &Context,
    file: &FoundFile,
    widenings: &[Widening],
) -> Result<(), CommandError> {
    Ok(store(context)?.trust(&file.candidate, widenings.iter().map(line).collect())?)
}

/// Opens the store of trusted files.
pub(crate) fn store(context: &Context) -> Result<Store, CommandError> {
    Ok(Store::new(StateDir::open(&context.state(), context.caller).map_err(anyhow::Error::new)?))
}

/// Hashes a file, and where links take its paths, in the form that `--trust` takes.
pub(crate) fn hash(file: &FoundFile, widenings: &[Widening]) -> String {
    let leads =
        widenings.iter().filter_map(|widening| Some((widening.key.as_str(), widening.leads_to.as_deref()?)));
    format!("sha256:{}", file.candidate.digest(leads).as_str())
}

/// Lists what a file widens, one line each.
pub(crate) fn list<'w>(widenings: impl IntoIterator<Item = &'w Widening>) -> String {
    let line = |Widening { key, location, what, .. }: &Widening| {
        text::one_line(&format!("  {location}: {key} {what}"))
    };
    widenings.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Formats a widening as it is recorded. The place is that of the content, which is recorded beside it.
fn line(Widening { key, what, .. }: &Widening) -> String {
    format!("{key} {what}")
}

fn matches_hash(
    FoundFile { candidate, label }: &FoundFile,
    found: &str,
    expected: &str,
) -> Result<(), CommandError> {
    if found == expected {
        return Ok(());
    }
    Err(CommandError::message(
        Code::ConfigUntrusted,
        format_args!(
            "{label} is not what was trusted: what it says, and where its paths lead, has the hash {found}"
        ),
    )
    .hint("read what changed, then pass the new hash")
    .details(
        json!({ "file": JsonBytes::from(candidate.path.as_path()), "hash": found, "expected": expected }),
    ))
}
