//! What the tools for files have in common: what of a tree is visited, and what is said below an answer.

use policy::text::escape;
use rmcp::model::Content;
use sandbox::tools::{Bounds, Selection, Stopped};
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::within;
use crate::failure::Failure;

/// Returns what of a tree is visited.
pub(super) fn selected(
    hidden: Option<bool>,
    gitignore: Option<bool>,
    depth: Option<u64>,
) -> Result<(Selection, Bounds), Failure> {
    let bounds = Bounds::default();
    let depth = within("depth", depth, bounds.depth, 1..=128)?;
    let selection =
        Selection { hidden: hidden.unwrap_or_default(), gitignore: gitignore.unwrap_or_default() };
    Ok((selection, Bounds { depth, ..bounds }))
}

/// Why a walk has stopped before its end.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum StoppedOutput {
    /// It has visited a million entries
    Entries,
    /// There are directories deeper than `depth`
    Depth,
    /// It has taken half a minute
    Time,
    /// It has found as much as it may
    Found,
    /// `.gitignore` files have more or longer lines than are read: what these name is not left out
    Rules,
    /// No more files can be opened at the moment, so some were left out
    Descriptors,
    /// The call was cancelled
    Cancelled,
}

impl From<Stopped> for StoppedOutput {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Entries => Self::Entries,
            Stopped::Depth => Self::Depth,
            Stopped::Time => Self::Time,
            Stopped::Found => Self::Found,
            Stopped::Rules => Self::Rules,
            Stopped::Descriptors => Self::Descriptors,
            Stopped::Cancelled => Self::Cancelled,
        }
    }
}

impl StoppedOutput {
    /// Says it in words.
    fn says(self) -> &'static str {
        match self {
            Self::Entries => "[stopped: there are too many files; begin in a directory further down]",
            Self::Depth => "[there are deeper directories]",
            Self::Time => "[stopped: its time was over; begin in a directory further down]",
            Self::Rules => {
                "[`.gitignore` files have more or longer lines than are read; what these name is not left out]"
            }
            Self::Descriptors => "[no more files can be opened at the moment, so some were left out]",
            Self::Cancelled => "[stopped: the call was cancelled]",
            Self::Found => "[stopped: there are more matches; `max_matches` says how many are returned]",
        }
    }
}

/// Returns an answer as text, and apart from it, since it may be that of a file, what there is to say of it.
pub(super) fn with_notes(text: String, notes: impl IntoIterator<Item = String>) -> Vec<Content> {
    let notes: Vec<_> = notes.into_iter().collect();
    let notes = (!notes.is_empty()).then(|| Content::text(notes.join("\n")));
    std::iter::once(Content::text(text)).chain(notes).collect()
}

/// Says what a walk has left out.
pub(super) fn left_out(
    stopped: Option<StoppedOutput>,
    unreadable: usize,
    too_large: usize,
) -> impl Iterator<Item = String> {
    let unreadable =
        (unreadable > 0).then(|| format!("[{unreadable} files and directories could not be read]"));
    let too_large = (too_large > 0).then(|| {
        format!("[{too_large} files are too large to be searched, or have a line of more than 1 MiB]")
    });
    stopped.map(|stopped| stopped.says().to_owned()).into_iter().chain(unreadable).chain(too_large)
}

/// Returns a path on one line.
pub(super) fn line(path: &str) -> String {
    escape::line(path).into_owned()
}
