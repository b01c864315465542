//! `edit`: replaces texts of a file, all of them or none.

use sandbox::tools::Edit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{line, with_notes};
use super::row::{Effect, Row, schema, with_content};
use crate::admission::Queue;
use crate::failure::Failure;

/// How many edits one call has at most.
const MOST: usize = 1000;

pub(super) const ROW: Row = Row {
    name: "edit",
    title: "Edit a file",
    description: "Replaces texts of a file in the sandbox. Each `old` has to match exactly and once; edits are applied in order, and each is looked for in what \
                  the ones before have made. If one does not match, nothing is changed, and the error says how often it matches, or what it nearly matches.",
    queue: Queue::Quick,
    effect: Effect::Edits,
    input: schema::<EditsInput>,
    output: schema::<EditOutput>,
    wanted: None,
    run: |session, _, arguments| {
        with_content(arguments, |input: EditsInput| {
            if !(1..=MOST).contains(&input.edits.len()) {
                return Err(Failure::InvalidArguments(format!(
                    "wrong arguments: `edits` has {} elements, and has to have from 1 to {MOST}",
                    input.edits.len()
                )));
            }
            let edits = input.edits.into_iter().map(|EditInput { old, new }| Edit { old, new });
            let edits: Vec<_> = edits.collect();
            let files = session.files(input.sandbox.as_deref())?;
            let edited = files.tools.edit(&input.path, &edits)?;
            let notice = files.notice;
            let at: Vec<_> = edited.lines.iter().map(ToString::to_string).collect();
            let word = if at.len() == 1 { "line" } else { "lines" };
            let text = format!("edited {} at {word} {}", line(&edited.path), at.join(", "));
            let content = with_notes(text, notice.clone());
            let output = EditOutput { path: edited.path, bytes: edited.bytes, lines: edited.lines, notice };
            Ok((output, content))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditsInput {
    /// A path in the sandbox, from its root or relative to its working directory
    path: String,
    /// What is replaced, in this order; from 1 to 1000
    #[schemars(length(min = 1, max = 1000))]
    edits: Vec<EditInput>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// One text that is replaced by another.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditInput {
    /// What is there, exactly, and once
    #[schemars(length(min = 1))]
    old: String,
    /// What is there afterwards
    new: String,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct EditOutput {
    /// Where: a link at the end of the path is followed
    path: String,
    /// How many bytes the file has now
    bytes: usize,
    /// The number of the line at which each edit begins, in the text as that edit finds it
    lines: Vec<usize>,
    /// What has happened to the sandbox that one should know
    notice: Option<String>,
}
