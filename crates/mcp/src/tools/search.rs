//! `search`: finds lines of files that a regular expression matches.

use sandbox::tools::{Case, FoundFile, FoundLine, LineRole, MAX_LINE_BYTES, MAX_MATCHES, SearchOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::within;
use super::files::{StoppedOutput, left_out, line, selected, with_notes};
use super::row::{Effect, Row, schema, with_content};
use crate::admission::Queue;

pub(super) const ROW: Row = Row {
    name: "search",
    title: "Search files",
    description: "Searches the lines of the files beneath a directory of the sandbox, or of one file, for a regular expression in the syntax of the Rust crate \
                  `regex`. Its time is linear in what is searched, whatever the expression says. Binary files are left out.",
    queue: Queue::Command,
    effect: Effect::Reads,
    input: schema::<SearchInput>,
    output: schema::<SearchOutput>,
    wanted: None,
    run: |session, cancel, arguments| {
        with_content(arguments, |input: SearchInput| {
            let (selection, bounds) = selected(input.hidden, input.gitignore, input.depth)?;
            let options = SearchOptions {
                case: if input.ignore_case == Some(true) { Case::Ignored } else { Case::Exact },
                glob: input.glob,
                selection,
                bounds,
                context: within("context", input.context, 0, 0..=10)?,
                max_matches: within("max_matches", input.max_matches, MAX_MATCHES, 1..=1000)?,
                max_line_bytes: within("max_line_bytes", input.max_line_bytes, MAX_LINE_BYTES, 1..=2000)?,
                cancel: Some(cancel.clone()),
            };
            let files = session.files(input.sandbox.as_deref())?;
            let path = input.path.as_deref().unwrap_or(".");
            let found = files.tools.search(&input.pattern, path, &options)?;
            let output = SearchOutput {
                files: found.files.into_iter().map(FileOutput::from).collect(),
                matches: found.matches,
                stopped: found.stopped.map(StoppedOutput::from),
                unreadable: found.unreadable,
                too_large: found.too_large,
                notice: files.notice,
            };
            let lines: Vec<_> = output.files.iter().flat_map(FileOutput::lines).collect();
            let text = if lines.is_empty() { "[no match]".to_owned() } else { lines.join("\n") };
            let left_out = left_out(output.stopped, output.unreadable, output.too_large);
            let content = with_notes(text, left_out.chain(output.notice.clone()));
            Ok((output, content))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    /// A regular expression, which is matched line by line
    pattern: String,
    /// A directory or file in the sandbox, from its root or relative to its working directory, which it is without this
    path: Option<String>,
    /// Only files that this matches, such as `*.rs` or `src/**/*.rs`: without a slash it is about names, with one about paths from that directory on
    glob: Option<String>,
    /// Whether upper and lower case are the same
    ignore_case: Option<bool>,
    /// Also names that begin with a dot
    hidden: Option<bool>,
    /// Leave out what `.gitignore` files name
    gitignore: Option<bool>,
    /// How many directories deep: 1 is what is in the directory itself; 128 without this, which is the most
    #[schemars(range(min = 1, max = 128))]
    depth: Option<u64>,
    /// How many lines before and after each match are returned: none without this, and never more than 10
    #[schemars(range(min = 0, max = 10))]
    context: Option<u64>,
    /// How many matches are returned at most: 200 without this, and never more than 1000
    #[schemars(range(min = 1, max = 1000))]
    max_matches: Option<u64>,
    /// How many bytes of each line are returned at most: 500 without this, and never more than 2000
    #[schemars(range(min = 1, max = 2000))]
    max_line_bytes: Option<u64>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct SearchOutput {
    /// In the order of their paths
    files: Vec<FileOutput>,
    /// How many lines match
    matches: usize,
    /// Why there may be more; null where there are not
    stopped: Option<StoppedOutput>,
    /// How many files and directories could not be read
    unreadable: usize,
    /// How many files were left out because they are too large, or from a line of more than 1 MiB on
    too_large: usize,
    /// What has happened to the sandbox that one should know
    notice: Option<String>,
}

/// A file with matches.
#[derive(JsonSchema, Serialize)]
struct FileOutput {
    path: String,
    /// Whether the name is not UTF-8: `\xNN` in the path stands for each byte that is none, and no tool takes it
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    escaped: bool,
    lines: Vec<LineOutput>,
}

/// A line of it.
#[derive(JsonSchema, Serialize)]
struct LineOutput {
    /// Its number, from 1 on
    line: u64,
    text: String,
    /// Whether it matches, or is near a line that does
    matches: bool,
    /// Whether the text is the beginning of a longer line
    truncated: bool,
}

impl From<FoundFile> for FileOutput {
    fn from(FoundFile { path, spelling, lines }: FoundFile) -> Self {
        let line = |FoundLine { line, text, role, truncated }| LineOutput {
            line,
            text,
            matches: role == LineRole::Match,
            truncated,
        };
        Self { path, escaped: !spelling.is_exact(), lines: lines.into_iter().map(line).collect() }
    }
}

impl FileOutput {
    /// Shows its lines as `grep` does.
    fn lines(&self) -> impl Iterator<Item = String> {
        let path = line(&self.path);
        self.lines.iter().map(move |line| {
            let mark = if line.matches { ':' } else { '-' };
            let end = if line.truncated { "…" } else { "" };
            format!("{path}{mark}{}{mark}{}{end}", line.line, line.text)
        })
    }
}
