//! `fs`: the file tools of persistent sandboxes.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use policy::text::escape;
use sandbox::tools::{
    Bounds, Case, Content, Edit, FileTools, FoundFile, LineRole, ListOptions, ListedKind, MAX_FILE_BYTES,
    Media, ReadOptions, SearchOptions, Selection, Stopped,
};
use serde_json::json;

use super::sandboxes;
use crate::as_caller::AsCaller;
use crate::cli::{FsCommand, FsEditArgs, FsListArgs, FsPathArgs, FsReadArgs, FsSearchArgs, FsSelectionArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn fs(ui: &Ui, context: &Context, command: &FsCommand) -> Result<ExitCode, CommandError> {
    match command {
        FsCommand::Read(args) => read(ui, context, args),
        FsCommand::Write(args) => write(ui, context, args),
        FsCommand::Edit(args) => edit(ui, context, args),
        FsCommand::List(args) => list(ui, context, args),
        FsCommand::Search(args) => search(ui, context, args),
    }?;
    Ok(ExitCode::Success)
}

fn open(context: &Context, name: &str) -> Result<FileTools, CommandError> {
    Ok(FileTools::open(sandboxes::open(context)?.find(name)?)?)
}

fn read(ui: &Ui, context: &Context, args: &FsReadArgs) -> Result<(), CommandError> {
    let options = ReadOptions { offset: args.offset, max_chars: args.max_chars };
    let content = open(context, &args.file.name)?.read(&args.file.path, options)?;
    if ui.is_json() {
        let mut value = serde_json::to_value(&content).unwrap_or_default();
        value["path"] = json!(args.file.path.to_string_lossy());
        if let Content::Media(Media { bytes, .. }) = &content {
            value["bytes"] = json!(bytes.len());
            value["data"] = json!(STANDARD.encode(bytes));
        }
        return ui.json(&value);
    }
    match content {
        Content::Media(media) if io::stdout().is_terminal() => Err(CommandError::message(
            Code::UsageInvalid,
            format_args!("fs read: {} is not printed on a terminal", media.media_type),
        )
        .hint("redirect standard output to a file")),
        Content::Media(media) => ui.raw(&media.bytes),
        Content::Text(text) => {
            if io::stdout().is_terminal() {
                ui.text(&for_terminal(&text.text))?;
            } else {
                ui.raw(text.text.as_bytes())?;
            }
            if text.truncated {
                let end = text.offset + text.text.chars().count();
                ui.note(format_args!(
                    "truncated: characters {} to {end} of {}; `--offset {end}` goes on",
                    text.offset, text.total
                ));
            }
            Ok(())
        }
    }
}

fn write(ui: &Ui, context: &Context, args: &FsPathArgs) -> Result<(), CommandError> {
    let tools = open(context, &args.name)?;
    let content = standard_input(context)?;
    let written = tools.write(&args.path, &content)?;
    ui.data(&written, |_| String::new())
}

fn edit(ui: &Ui, context: &Context, args: &FsEditArgs) -> Result<(), CommandError> {
    let edits = edits(context, args)?;
    let edited = open(context, &args.file.name)?.edit(&args.file.path, &edits)?;
    ui.data(&edited, |_| String::new())
}

/// Returns the edits that were typed, or stand in a file.
fn edits(context: &Context, args: &FsEditArgs) -> Result<Vec<Edit>, CommandError> {
    let invalid = |message: String| CommandError::message(Code::UsageInvalid, message);
    let Some(file) = &args.edits else {
        if args.old.len() != args.new.len() || args.old.is_empty() {
            let message = format!("{} of --old and {} of --new", args.old.len(), args.new.len());
            return Err(invalid(message)
                .hint("every edit is one --old and one --new; `--edits` takes them from a file"));
        }
        let pairs = args.old.iter().zip(&args.new);
        return Ok(pairs.map(|(old, new)| Edit { old: old.clone(), new: new.clone() }).collect());
    };
    let bytes = if file == Path::new("-") {
        standard_input(context)?
    } else {
        context
            .open(file)
            .and_then(|file| whole(&file))
            .map_err(|error| invalid(format!("cannot read {}: {error}", escape::path_in_text(file))))?
    };
    let edits: Vec<Edit> = serde_json::from_slice(&bytes).map_err(|error| {
        invalid(format!("{} has no edits: {error}", escape::path_in_text(file)))
            .hint("an array of objects such as {\"old\": \"TEXT\", \"new\": \"TEXT\"}")
    })?;
    if edits.is_empty() {
        return Err(invalid(format!("{} has no edits", escape::path_in_text(file))));
    }
    Ok(edits)
}

/// Reads standard input to its end, as far as anything could be done with it.
fn standard_input(context: &Context) -> Result<Vec<u8>, CommandError> {
    whole(AsCaller::new(io::stdin().lock(), context.caller)).map_err(|error| {
        CommandError::new(Code::ToolFailed, anyhow::Error::new(error).context("cannot read standard input"))
    })
}

/// Reads to the end, as far as anything could be done with it.
fn whole(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn list(ui: &Ui, context: &Context, args: &FsListArgs) -> Result<(), CommandError> {
    let (selection, bounds) = selected(&args.selection);
    let options = ListOptions {
        glob: args.selection.glob.clone(),
        selection,
        bounds,
        max_entries: args.max_entries,
        cancel: None,
    };
    let listing = open(context, &args.name)?.list(&args.path, &options)?;
    if ui.is_json() {
        return ui.json(&listing);
    }
    let line = |path: &str, kind| {
        let end = if kind == ListedKind::Directory { "/" } else { "" };
        format!("{}{end}\n", escape::line(path))
    };
    let lines: String = listing.entries.iter().map(|entry| line(&entry.path, entry.kind)).collect();
    ui.text(&lines)?;
    if listing.truncated {
        ui.note(format_args!("truncated: {} of {} entries", listing.entries.len(), listing.total));
    }
    note_stop(ui, listing.stopped, args.selection.depth);
    note_unread(ui, listing.unreadable, 0);
    Ok(())
}

fn search(ui: &Ui, context: &Context, args: &FsSearchArgs) -> Result<(), CommandError> {
    let (selection, bounds) = selected(&args.selection);
    let options = SearchOptions {
        case: if args.ignore_case { Case::Ignored } else { Case::Exact },
        glob: args.selection.glob.clone(),
        selection,
        bounds,
        context: args.context,
        max_matches: args.max_matches,
        max_line_bytes: args.max_line_bytes,
        cancel: None,
    };
    let found = open(context, &args.name)?.search(&args.pattern, &args.path, &options)?;
    if ui.is_json() {
        return ui.json(&found);
    }
    let lines: String = found.files.iter().map(found_lines).collect();
    ui.text(&lines)?;
    note_stop(ui, found.stopped, args.selection.depth);
    note_unread(ui, found.unreadable, found.too_large);
    Ok(())
}

/// Returns the lines of a file as `grep` prints them.
fn found_lines(file: &FoundFile) -> String {
    let path = escape::line(&file.path);
    let line = |line: &sandbox::tools::FoundLine| {
        let mark = if line.role == LineRole::Match { ':' } else { '-' };
        let end = if line.truncated { "…" } else { "" };
        format!("{path}{mark}{}{mark}{}{end}\n", line.line, for_terminal(&line.text))
    };
    file.lines.iter().map(line).collect()
}

fn selected(args: &FsSelectionArgs) -> (Selection, Bounds) {
    let bounds = Bounds::default();
    let depth = args.depth.unwrap_or(bounds.depth);
    (Selection { hidden: args.hidden, gitignore: args.gitignore }, Bounds { depth, ..bounds })
}

/// Says why there may be more, unless that is what was asked for.
fn note_stop(ui: &Ui, stopped: Option<Stopped>, depth: Option<usize>) {
    let why = match stopped {
        None => return,
        Some(Stopped::Depth) if depth.is_some() => return,
        Some(Stopped::Depth) => "there are deeper directories",
        Some(Stopped::Entries) => "there are too many files; begin in a directory further down",
        Some(Stopped::Time) => "its time was over; begin in a directory further down",
        Some(Stopped::Rules) => {
            "`.gitignore` files have more or longer lines than are read; what these name is not left out"
        }
        Some(Stopped::Descriptors) => "this process may open no more files, see `ulimit -n`",
        Some(Stopped::Cancelled) => "it was cancelled",
        Some(Stopped::Found) => "there are more matches; `--max-matches` says how many are printed",
    };
    ui.note(format_args!("stopped: {why}"));
}

fn note_unread(ui: &Ui, unreadable: usize, too_large: usize) {
    if unreadable > 0 {
        ui.note(format_args!("{unreadable} files and directories could not be read"));
    }
    if too_large > 0 {
        ui.note(format_args!(
            "{too_large} files are too large to be searched, or have a line of more than 1 MiB"
        ));
    }
}

/// Escapes text whoever wrote it, but for the ends of its lines and tabs.
fn for_terminal(text: &str) -> String {
    let part = |part: &str| escape::line(part).into_owned();
    let line = |line: &str| line.split('\t').map(part).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
