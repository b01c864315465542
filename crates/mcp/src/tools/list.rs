//! `list`: shows what is in a directory and beneath it.

use sandbox::tools::{ListOptions, Listed, ListedKind, MAX_ENTRIES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::within;
use super::files::{StoppedOutput, left_out, line, selected, with_notes};
use super::row::{Effect, Row, schema, with_content};
use crate::admission::Queue;

pub(super) const ROW: Row = Row {
    name: "list",
    title: "List files",
    description: "Lists what is beneath a directory of the sandbox, in the order of the paths. Links are listed and not followed; what is hidden from the \
                  sandbox is not listed.",
    queue: Queue::Command,
    effect: Effect::Reads,
    input: schema::<ListInput>,
    output: schema::<ListOutput>,
    wanted: None,
    run: |session, cancel, arguments| {
        with_content(arguments, |input: ListInput| {
            let (selection, bounds) = selected(input.hidden, input.gitignore, input.depth)?;
            let max_entries = within("max_entries", input.max_entries, MAX_ENTRIES, 1..=10_000)?;
            let cancel = Some(cancel.clone());
            let options = ListOptions { glob: input.glob, selection, bounds, max_entries, cancel };
            let files = session.files(input.sandbox.as_deref())?;
            let listing = files.tools.list(input.path.as_deref().unwrap_or("."), &options)?;
            let output = ListOutput {
                entries: listing.entries.into_iter().map(EntryOutput::from).collect(),
                total: listing.total,
                truncated: listing.truncated,
                stopped: listing.stopped.map(StoppedOutput::from),
                unreadable: listing.unreadable,
                notice: files.notice,
            };
            let lines: Vec<_> = output.entries.iter().map(EntryOutput::line).collect();
            let text = if lines.is_empty() { "[nothing]".to_owned() } else { lines.join("\n") };
            let truncated = output
                .truncated
                .then(|| format!("[truncated: {} of {} entries]", output.entries.len(), output.total));
            let left_out = left_out(output.stopped, output.unreadable, 0);
            let content =
                with_notes(text, truncated.into_iter().chain(left_out).chain(output.notice.clone()));
            Ok((output, content))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListInput {
    /// A directory in the sandbox, from its root or relative to its working directory, which it is without this
    path: Option<String>,
    /// Only what this matches, such as `*.rs` or `src/**/*.rs`: without a slash it is about names, with one about paths from that directory on
    glob: Option<String>,
    /// Also names that begin with a dot
    hidden: Option<bool>,
    /// Leave out what `.gitignore` files name
    gitignore: Option<bool>,
    /// How many directories deep: 1 is what is in the directory itself; 128 without this, which is the most
    #[schemars(range(min = 1, max = 128))]
    depth: Option<u64>,
    /// How many entries are returned at most: 1000 without this, and never more than 10000
    #[schemars(range(min = 1, max = 10_000))]
    max_entries: Option<u64>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct ListOutput {
    /// In the order of their paths
    entries: Vec<EntryOutput>,
    /// How many there are, of which these are the first
    total: usize,
    truncated: bool,
    /// Why there may be more than were counted; null where there are not
    stopped: Option<StoppedOutput>,
    /// How many directories could not be read
    unreadable: usize,
    /// What has happened to the sandbox that one should know
    notice: Option<String>,
}

/// One of them.
#[derive(JsonSchema, Serialize)]
struct EntryOutput {
    /// From the working directory on where it lies in that, else the whole path
    path: String,
    kind: EntryKind,
    /// Whether the name is not UTF-8: `\xNN` in the path stands for each byte that is none, and no tool takes it
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    escaped: bool,
}

/// What it is.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    File,
    Directory,
    Link,
    /// A pipe, socket or device, which no tool touches
    Other,
}

impl From<Listed> for EntryOutput {
    fn from(Listed { path, kind, spelling }: Listed) -> Self {
        let kind = match kind {
            ListedKind::File => EntryKind::File,
            ListedKind::Directory => EntryKind::Directory,
            ListedKind::Link => EntryKind::Link,
            ListedKind::Other => EntryKind::Other,
        };
        Self { path, kind, escaped: !spelling.is_exact() }
    }
}

impl EntryOutput {
    /// Shows it on one line.
    fn line(&self) -> String {
        let end = if self.kind == EntryKind::Directory { "/" } else { "" };
        format!("{}{end}", line(&self.path))
    }
}
