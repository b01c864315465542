//! Configuration files: which one is meant, what is in it, and how the person knows it.

use std::io;
use std::path::Path;

use anyhow::Context as _;
use policy::config::problem::Scope;
use policy::config::{ConfigFile, PathBase};
use policy::text::escape;
use rustix::fs::CWD;
use sandbox::host::acting::ActingAs;
use sandbox::state::trust::{self, Candidate, Searched};

use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::text;

/// A configuration file that was read, once: what is shown is what is trusted is what is applied.
pub(crate) struct FoundFile {
    /// Its resolved path and its content.
    pub(crate) candidate: Candidate,
    /// How the person knows it.
    pub(crate) label: String,
}

/// Returns the project's file: the one that was named, or the nearest from the working directory upward.
pub(crate) fn project(context: &Context, named: Option<&Path>) -> Result<Option<FoundFile>, CommandError> {
    Ok(searched(context, named)?.0)
}

/// Returns the same with what the search has found; nothing was searched for where a file was named.
pub(crate) fn searched(
    context: &Context,
    named: Option<&Path>,
) -> Result<(Option<FoundFile>, Searched), CommandError> {
    let named = named.or(context.variable("SANDBOXCTL_CONFIG").map(Path::new));
    if let Some(path) = named {
        return Ok((Some(found(context, path)?), Searched::default()));
    }
    let searched = find(context).context("cannot look for sandbox.toml")?;
    let file = searched.file.as_deref().map(|path| found(context, path)).transpose()?;
    Ok((file, searched))
}

/// Searches for the nearest file from the working directory upward that the caller could find.
pub(crate) fn find(context: &Context) -> io::Result<Searched> {
    match context.path_to(&context.cwd) {
        Ok(_) => trust::find(&context.cwd, CWD, context.homes().last().copied(), context.caller),
        // Under sudo, root stands where the user behind it cannot get to.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Searched::default()),
        Err(error) => Err(error),
    }
}

/// Returns the project's file, for commands that make no sense without one.
pub(crate) fn required(context: &Context, named: Option<&Path>) -> Result<FoundFile, CommandError> {
    project(context, named)?.ok_or_else(none_found)
}

/// Returns the error where there is none.
pub(crate) fn none_found() -> CommandError {
    CommandError::message(Code::ConfigNotFound, "no sandbox.toml from the working directory upward")
        .hint("`sandboxctl init` writes one; `--config FILE` or an argument names another")
}

/// Returns the user's own file, if there is one.
pub(crate) fn user(context: &Context) -> Result<Option<FoundFile>, CommandError> {
    let path = context.settings().join(trust::FILE_NAME);
    // A link that leads nowhere is there, and reading it says so.
    let acting = ActingAs::user(context.caller).context("cannot look for the user's sandbox.toml")?;
    let is_there = path.symlink_metadata().is_ok();
    drop(acting);
    if is_there { found(context, &path).map(Some) } else { Ok(None) }
}

impl FoundFile {
    /// Returns the text. TOML is UTF-8.
    pub(crate) fn text(&self) -> Result<&str, CommandError> {
        std::str::from_utf8(&self.candidate.content).map_err(|error| {
            let line = self.candidate.content[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            CommandError::message(
                Code::ConfigInvalid,
                format_args!("{}:{line}: not UTF-8, as TOML must be", self.label),
            )
        })
    }

    /// Returns what the policy needs to know of the file besides its text.
    pub(crate) fn file(&self, context: &Context, scope: Scope) -> ConfigFile {
        ConfigFile { scope, label: self.label.as_str().into(), base: base(context, self.directory()) }
    }

    /// Returns the directory that its relative paths start at.
    pub(crate) fn directory(&self) -> &Path {
        self.candidate.path.parent().unwrap_or(Path::new("/"))
    }
}

/// Returns what relative paths in a directory mean.
pub(crate) fn base(context: &Context, directory: &Path) -> PathBase {
    PathBase { directory: directory.to_owned(), home: Some(context.home.clone()) }
}

fn found(context: &Context, path: &Path) -> Result<FoundFile, CommandError> {
    let absolute = context.absolute(path);
    let parent = absolute.parent().filter(|parent| context.cwd.starts_with(parent));
    let reached = context.path_beneath(parent.unwrap_or(&context.cwd), &absolute);
    let reached = reached.with_context(|| format!("cannot read {}", escape::path(path)))?;
    let candidate = trust::read_by(&reached, &absolute, context.caller)?;
    let label = text::one_line(&absolute.strip_prefix(&context.cwd).unwrap_or(&absolute).to_string_lossy());
    Ok(FoundFile { candidate, label })
}
