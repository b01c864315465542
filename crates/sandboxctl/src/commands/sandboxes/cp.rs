//! `cp`: copies files into sandboxes, out of them, and from one to another.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use confine::protocol::Links;
use confine::tree::Copied;
use sandbox::session::staying::copy::{CopyError, CopyPlace, copy, pack_to, unpack_from};
use sandbox::state::directory::StateDir;
use sandbox::state::record::RecordError;
use sandbox::state::runs::Runs;
use sandbox::state::sandboxes::{Sandboxes, StayingSandbox};
use serde_json::json;

use crate::cli::CopyArgs;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// What was typed.
enum Typed<'a> {
    /// `NAME:PATH`
    Sandbox(Box<StayingSandbox>, &'a Path),
    /// `-`
    Stream,
    Host(&'a Path),
}

pub(crate) fn cp(ui: &Ui, context: &Context, args: &CopyArgs) -> Result<ExitCode, CommandError> {
    let sandboxes = super::open(context)?;
    let links = if args.follow_link { Links::Followed } else { Links::Copied };
    let (from, to) = (typed(&sandboxes, &args.from)?, typed(&sandboxes, &args.to)?);
    let copied = match (&from, &to) {
        (Typed::Sandbox(sandbox, path), Typed::Stream) => {
            if io::stdout().is_terminal() {
                return Err(CommandError::message(
                    Code::UsageInvalid,
                    "cp: an archive is not printed on a terminal",
                )
                .hint("`sandboxctl cp NAME:PATH - | tar -t` lists it"));
            }
            // Standard output is the archive, so nothing else is printed there.
            let copied = pack_to(sandbox, path, links, &mut io::stdout().lock(), context.caller)?;
            warn_of_skipped(ui, copied);
            return Ok(ExitCode::Success);
        }
        (Typed::Stream, Typed::Sandbox(sandbox, path)) => {
            unpack_from(sandbox, path, &mut io::stdin().lock(), context.caller)?
        }
        (Typed::Stream, Typed::Host(_) | Typed::Stream) | (Typed::Host(_), Typed::Stream) => {
            return Err(CopyError::NoSandbox.into());
        }
        (from, to) => {
            let runs = StateDir::open(&context.state(), context.caller).map_err(RecordError::from);
            let runs = runs.and_then(|state| Runs::open(&state)).map_err(CopyError::from)?;
            copy(&place(from), &place(to), links, &runs)?
        }
    };
    warn_of_skipped(ui, copied);
    ui.data(&json!({ "copied": copied }), |_| String::new())?;
    Ok(ExitCode::Success)
}

fn place<'a>(typed: &'a Typed<'_>) -> CopyPlace<'a> {
    match typed {
        Typed::Sandbox(sandbox, path) => CopyPlace::Sandbox(sandbox, path),
        Typed::Host(path) => CopyPlace::Host(path),
        Typed::Stream => CopyPlace::Host(Path::new("-")),
    }
}

/// Reads one side of a copy. As `docker cp` has it, what begins with `/` or `.` is a path of the host, whatever colons are in it.
fn typed<'a>(sandboxes: &Sandboxes, text: &'a OsString) -> Result<Typed<'a>, CommandError> {
    let bytes = text.as_bytes();
    if bytes == b"-" {
        return Ok(Typed::Stream);
    }
    let colon = bytes.iter().position(|byte| *byte == b':');
    match colon {
        Some(colon) if !matches!(bytes[0], b'/' | b'.') && !bytes[..colon].contains(&b'/') => {
            let (name, path) = (String::from_utf8_lossy(&bytes[..colon]), &bytes[colon + 1..]);
            let path = if path.is_empty() { b"/" } else { path };
            Ok(Typed::Sandbox(Box::new(sandboxes.find(&name)?), Path::new(OsStr::from_bytes(path))))
        }
        _ => Ok(Typed::Host(Path::new(text))),
    }
}

fn warn_of_skipped(ui: &Ui, copied: Copied) {
    if copied.skipped > 0 {
        ui.warning(format_args!("{} left out: devices, pipes and sockets are not copied", copied.skipped));
    }
}
