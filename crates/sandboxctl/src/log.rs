//! The log: what is done on the way, for whoever looks for a fault. Unless it is asked for there is nothing that would take it,
//! and a line that nobody takes costs one comparison.
//!
//! No line has the value of a secret: events name places, programs and layers, and no value reaches code that makes one.

use std::ffi::OsStr;
use std::io::{self, Write};

use policy::config::variables::LOG;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::error::{Code, CommandError};
use crate::text;

/// What the places begin with that our own events come from.
const OURS: &str = "sandbox";

/// Writes what was asked for to stderr from here on: by how often `--verbose` was typed, or else by the variable.
pub(crate) fn start(verbose: u8, variable: Option<&OsStr>) -> Result<(), CommandError> {
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let wanted = match variable.filter(|text| verbose == 0 && !text.is_empty()) {
        Some(text) => text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
            CommandError::message(Code::UsageInvalid, format_args!("{LOG}: {text:?} says no level")).hint(
                "one of off, error, warn, info, debug, trace; or for parts, such as `sandbox::engine=debug,info`",
            )
        })?,
        None if level == LevelFilter::OFF => return Ok(()),
        None => Targets::new().with_target(OURS, level),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Lines).with_ansi(false).without_time();
    tracing_subscriber::registry().with(lines.with_filter(wanted)).init();
    Ok(())
}

/// Takes the log, line by line.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(text::for_stderr(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
