//! `home`: home directories of persistent sandboxes.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use policy::rules::limits::Bytes;
use policy::text::escape;
use policy::text::json_bytes::JsonBytes;
use sandbox::host::acting::ActingAs;
use sandbox::host::small_file;
use sandbox::state::homes::ListedHome;
use serde_json::json;

use crate::cli::{Format, HomeCommand};
use crate::context::{self, Context};
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::home::homes;
use crate::ui::Ui;

pub(crate) fn home(ui: &Ui, context: &Context, command: &HomeCommand) -> Result<ExitCode, CommandError> {
    match command {
        HomeCommand::Ls => list(ui, context),
        HomeCommand::Rm { names } => remove(ui, context, names),
        HomeCommand::Export { name, output } => export(ui, context, name, output.as_deref()),
    }
}

fn list(ui: &Ui, context: &Context) -> Result<ExitCode, CommandError> {
    let all = homes(context)?.list()?;
    let objects: Vec<_> = all
        .iter()
        .map(|home| {
            json!({
                "name": home.name,
                "project": home.project.as_deref().map(JsonBytes::from),
                "bytes": home.size,
                "last_used": seconds(home.last_used),
                "in_use": home.is_in_use,
            })
        })
        .collect();
    ui.data(&json!({ "homes": objects }), |_| table(&all))?;
    Ok(ExitCode::Success)
}

/// Formats them as aligned columns.
fn table(all: &[ListedHome]) -> String {
    if all.is_empty() {
        return "no persistent home directory; `run --home NAME` makes one\n".to_owned();
    }
    let width = all.iter().map(|home| home.name.len()).max().unwrap_or_default().max("NAME".len());
    let head = format!("{:width$}  {:>8}  {:<12}  PROJECT\n", "NAME", "SIZE", "LAST USED");
    let line = |home: &ListedHome| {
        let used = if home.is_in_use { "in use".to_owned() } else { age(home.last_used) };
        let project = home.project.as_deref().map_or_else(|| "shared by name".to_owned(), escape::path);
        format!("{:width$}  {:>8}  {used:<12}  {project}\n", home.name, size(home.size))
    };
    all.iter().fold(head, |text, home| text + &line(home))
}

/// Writes a size with one unit, rounded down.
fn size(bytes: u64) -> String {
    let units = [(30, "g"), (20, "m"), (10, "k")];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    let (shift, _) = unit.unwrap_or_default();
    Bytes(bytes >> shift << shift).to_string()
}

/// Writes how long ago something was, in its largest unit.
fn age(time: SystemTime) -> String {
    let age = time.elapsed().unwrap_or(Duration::ZERO).as_secs();
    match age {
        0..60 => format!("{age}s ago"),
        60..3_600 => format!("{}m ago", age / 60),
        3_600..86_400 => format!("{}h ago", age / 3_600),
        _ => format!("{}d ago", age / 86_400),
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn remove(ui: &Ui, context: &Context, names: &[String]) -> Result<ExitCode, CommandError> {
    let homes = homes(context)?;
    for name in names {
        homes.remove(name)?;
        ui.note(format_args!("removed home directory {name:?}"));
    }
    if ui.format() == Format::Json {
        ui.json(&json!({ "removed": names }))?;
    }
    Ok(ExitCode::Success)
}

fn export(ui: &Ui, context: &Context, name: &str, output: Option<&Path>) -> Result<ExitCode, CommandError> {
    let homes = homes(context)?;
    let Some(path) = output else {
        if io::stdout().is_terminal() {
            let message = "home export: an archive is not written to a terminal";
            return Err(CommandError::message(Code::UsageInvalid, message)
                .hint("`-o FILE` names a file, `| tar t` lists what is in it"));
        }
        homes.export(name, io::stdout().lock())?;
        return Ok(ExitCode::Success);
    };
    let shown = escape::path(path);
    let acting = ActingAs::user(context.caller).with_context(|| format!("cannot create {shown}"))?;
    // O_EXCL: nothing is overwritten, and no link is written through.
    let mut file = context
        .path_to(&context.absolute(path))
        .and_then(|path| small_file::create_new(&path, 0o666))
        .with_context(|| format!("cannot create {shown}"))
        .map_err(|error| context::as_user(error, context.caller))?;
    drop(acting);
    homes.export(name, &mut file)?;
    file.flush().with_context(|| format!("cannot write {shown}"))?;
    match ui.format() {
        Format::Text => ui.note(format_args!("wrote {shown}")),
        Format::Json => ui.json(&json!({ "file": JsonBytes::from(path) }))?,
    }
    Ok(ExitCode::Success)
}
