//! `logs`: prints what the first command of a sandbox has written.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anyhow::Context as _;
use confine::protocol::Attachment;
use policy::text::json_bytes::base64;
use sandbox::host::acting::ActingAs;
use sandbox::host::terminal::{Answers, ScreenFilter};
use sandbox::session::staying::logs::{LogReader, Logged, LoggedStream};
use sandbox::state::sandboxes::Phase;
use serde_json::json;

use super::moment::moment;
use crate::cli::LogsArgs;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// How often a log is looked at that is followed.
const INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn logs(ui: &Ui, context: &Context, args: &LogsArgs) -> Result<ExitCode, CommandError> {
    let since = args.since.as_deref().map(|text| moment("--since", text)).transpose()?;
    let sandboxes = super::open(context)?;
    let mut sandbox = sandboxes.find(&args.name.name)?;
    if sandbox.record.stay.attachment == Attachment::Attached {
        let message =
            format!("sandbox \"{}\" has no log: its client has what its command writes", sandbox.name());
        return Err(CommandError::message(Code::SandboxState, message)
            .hint("`run --detach` keeps what its command writes; a file inside does, too"));
    }
    let mut reader = LogReader::default();
    let mut logged = reader.read(&sandbox)?;
    if reader.is_cut && since.is_none() && args.tail.is_none() {
        ui.note("the log has room for what was written last; what was written before is gone");
    }
    if reader.lost > 0 {
        ui.warning(format_args!("{} bytes of the log could not be written: the disk was full", reader.lost));
    }
    logged.retain(|one| since.is_none_or(|since| one.time >= since));
    if let Some(lines) = args.tail {
        logged = last_lines(logged, lines);
    }
    let mut screens = Screens::find();
    print(ui, context, &logged, args.timestamps, &mut screens)?;
    while args.follow && sandbox.phase == Phase::Running {
        // First how it is, then what it has written: nothing comes after the last look.
        std::thread::sleep(INTERVAL);
        let found = sandboxes.lookup(sandbox.record.id.as_str())?;
        print(ui, context, &reader.read(&sandbox)?, args.timestamps, &mut screens)?;
        let Some(found) = found else { break };
        sandbox = found;
    }
    Ok(ExitCode::Success)
}

/// Returns the last lines. What does not end with a newline is a line, too.
fn last_lines(logged: Vec<Logged>, lines: usize) -> Vec<Logged> {
    let mut left = lines;
    let mut last = Vec::new();
    let ends = |one: &Logged| one.content.ends_with(b"\n");
    // The newline at the very end begins no line.
    let mut at_end = logged.last().is_some_and(ends);
    if !at_end && left > 0 {
        left -= 1;
    } else if lines == 0 {
        return Vec::new();
    }
    for mut one in logged.into_iter().rev() {
        let mut from = 0;
        for (at, byte) in one.content.iter().enumerate().rev() {
            if *byte != b'\n' {
                continue;
            }
            if std::mem::take(&mut at_end) {
                left -= 1;
            } else if left == 0 {
                from = at + 1;
                break;
            } else {
                left -= 1;
            }
        }
        let is_first = from > 0;
        one.content.drain(..from);
        last.push(one);
        if is_first {
            break;
        }
    }
    last.reverse();
    last
}

/// Prints with the rights of the caller: an agent says what is written, and some files in `/proc` ask who writes.
fn print(
    ui: &Ui,
    context: &Context,
    logged: &[Logged],
    timestamps: bool,
    screens: &mut Screens,
) -> Result<(), CommandError> {
    let _acting = ActingAs::user(context.caller).context("the rights of the user behind sudo")?;
    for one in logged {
        if ui.is_json() {
            let stream = match one.stream {
                LoggedStream::Stdout => "stdout",
                LoggedStream::Stderr => "stderr",
            };
            let (key, value) = match std::str::from_utf8(&one.content) {
                Ok(text) => ("text", text.to_owned()),
                Err(_) => ("base64", base64(&one.content)),
            };
            ui.json_line(&json!({ "time_ms": one.time, "stream": stream, key: value }))?;
            continue;
        }
        let bytes = if timestamps { stamped(one) } else { one.content.clone() };
        match one.stream {
            LoggedStream::Stdout => ui.raw(&shown(screens.stdout.as_mut(), bytes))?,
            // What nobody reads on standard error is no reason to fail.
            LoggedStream::Stderr => {
                let bytes = shown(screens.stderr.as_mut(), bytes);
                drop(io::stderr().lock().write_all(&bytes));
            }
        }
    }
    Ok(())
}

/// The streams that are terminals.
struct Screens {
    stdout: Option<ScreenFilter>,
    stderr: Option<ScreenFilter>,
}

impl Screens {
    fn find() -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Self {
            stdout: stdout.is_terminal().then(|| ScreenFilter::of(&stdout)),
            stderr: stderr.is_terminal().then(|| ScreenFilter::of(&stderr)),
        }
    }
}

/// Leaves out what is not for the screen, what a terminal would answer, and what changes the keys: it is somebody else who reads what is typed.
fn shown(screen: Option<&mut ScreenFilter>, bytes: Vec<u8>) -> Vec<u8> {
    match screen {
        Some(filter) => filter.show(&bytes, Answers::Unread),
        None => bytes,
    }
}

/// Puts the time in seconds before each line.
fn stamped(one: &Logged) -> Vec<u8> {
    let stamp = format!("{}.{:03} ", one.time / 1000, one.time % 1000).into_bytes();
    one.content
        .split_inclusive(|byte| *byte == b'\n')
        .flat_map(|line| [stamp.as_slice(), line].concat())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(parts: &[&str]) -> Vec<Logged> {
        let one =
            |text: &&str| Logged { stream: LoggedStream::Stdout, time: 1, content: text.as_bytes().to_vec() };
        parts.iter().map(one).collect()
    }

    fn last(parts: &[&str], lines: usize) -> String {
        let content = last_lines(logged(parts), lines).into_iter().flat_map(|one| one.content);
        String::from_utf8(content.collect()).unwrap()
    }

    #[test]
    fn the_last_lines_are_those_of_all_records_together() {
        for (parts, lines, expected) in [
            (&["a\nb\n", "c\n"][..], 2, "b\nc\n"),
            (&["a\nb", "c\nd"], 2, "bc\nd"),
            (&["a\nb\nc"], 1, "c"),
            (&["a\n"], 5, "a\n"),
            (&["a\n\n"], 1, "\n"),
            (&["a\n"], 0, ""),
            (&[], 3, ""),
        ] {
            assert_eq!(last(parts, lines), expected, "{parts:?} {lines}");
        }
    }
}
