//! `write`: puts a file into place as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{line, with_notes};
use super::row::{Effect, Row, schema, with_content};
use crate::admission::Queue;

pub(super) const ROW: Row = Row {
    name: "write",
    title: "Write a file",
    description: "Writes a text file in the sandbox, as a whole: readers see the old content or the new one. Missing directories are made, and a file that is \
                  there keeps its permissions. To change a part of a file, use `edit`. What may not be written is refused with the reason and with what is \
                  allowed.",
    queue: Queue::Quick,
    effect: Effect::Replaces,
    input: schema::<WriteInput>,
    output: schema::<WriteOutput>,
    wanted: None,
    run: |session, _, arguments| {
        with_content(arguments, |input: WriteInput| {
            let files = session.files(input.sandbox.as_deref())?;
            let written = files.tools.write(&input.path, input.content.as_bytes())?;
            let notice = files.notice;
            let done = if written.created { "created" } else { "replaced" };
            let text = format!("{done} {}, {} bytes", line(&written.path), written.bytes);
            let content = with_notes(text, notice.clone());
            let output =
                WriteOutput { path: written.path, bytes: written.bytes, created: written.created, notice };
            Ok((output, content))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteInput {
    /// A path in the sandbox, from its root or relative to its working directory
    path: String,
    /// All that the file is to have
    content: String,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct WriteOutput {
    /// Where: a link at the end of the path is followed
    path: String,
    bytes: usize,
    /// Whether there was no such file before
    created: bool,
    /// What has happened to the sandbox that one should know
    notice: Option<String>,
}
