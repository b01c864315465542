//! What the user sees: data on stdout, everything else on stderr.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;

use crate::cli::{Format, Global};
use crate::error::{Code, CommandError};
use crate::text::{self, for_stdout, json_for_stdout, lines, one_line, several};

/// How to talk to whoever called.
#[derive(Clone)]
pub(crate) struct Ui {
    format: Format,
    quiet: bool,
    colour: bool,
}

impl Ui {
    /// Makes the output that the global flags request; `no_colour` is the caller's `NO_COLOR`.
    pub(crate) fn new(global: &Global, no_colour: bool) -> Self {
        Self { format: global.format, quiet: global.quiet, colour: !no_colour && io::stderr().is_terminal() }
    }

    /// Returns the format of data.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Returns whether data is printed for programs.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Returns whether nothing but errors is to be printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints the result of a command: as one JSON object, or as text made from it.
    pub(crate) fn data<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), CommandError> {
        match self.format {
            Format::Text => self.text(&several(&text(value))),
            Format::Json => self.json(value),
        }
    }

    /// Prints one JSON object.
    pub(crate) fn json<T: Serialize>(&self, value: &T) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(value).context("cannot write the result as JSON")?;
        self.raw(format!("{}\n", json_for_stdout(&text)).as_bytes())
    }

    /// Prints one JSON object on one line.
    pub(crate) fn json_line<T: Serialize>(&self, value: &T) -> Result<(), CommandError> {
        let text = serde_json::to_string(value).context("cannot write the result as JSON")?;
        self.raw(format!("{}\n", json_for_stdout(&text)).as_bytes())
    }

    /// Writes text to stdout in which nothing is left that a terminal obeys.
    pub(crate) fn text(&self, text: &str) -> Result<(), CommandError> {
        self.raw(for_stdout(text).as_bytes())
    }

    /// Writes bytes to stdout as they are.
    #[expect(clippy::unused_self, reason = "everything that reaches stdout goes through here")]
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), CommandError> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| {
            let code = match error.kind() {
                io::ErrorKind::BrokenPipe => Code::OutputClosed,
                _ => Code::ToolFailed,
            };
            CommandError::new(code, anyhow::Error::new(error).context("cannot write to standard output"))
        })
    }

    /// Prints what happened, unless the caller wants quiet.
    pub(crate) fn note(&self, message: impl Display) {
        if !self.quiet {
            print(message);
        }
    }

    /// Warns, unless the caller wants quiet.
    pub(crate) fn warning(&self, message: impl Display) {
        if !self.quiet {
            self.warn_always(message);
        }
    }

    /// Warns even a caller who wants quiet.
    pub(crate) fn warn_always(&self, message: impl Display) {
        to_stderr(&self.warning_line(&message));
    }

    fn warning_line(&self, message: &dyn Display) -> String {
        for_stderr(&self.label("warning:", "33"), &format!(" {}\n", one_line(&message.to_string())))
    }

    /// Reports why the command failed: to programs as the one object on stdout, to people on stderr, and there too where
    /// stdout takes nothing.
    pub(crate) fn failure(&self, error: &CommandError) {
        match self.format {
            // A reader that went away has what it wanted, as for every program that SIGPIPE ends.
            _ if error.code == Code::OutputClosed => {}
            Format::Json if self.json(&error.to_json()).is_ok() => {}
            Format::Json | Format::Text => {
                let cause = lines(&format!("{:#}", error.cause));
                to_stderr(&for_stderr(&self.label("error:", "31"), &format!(" {cause}\n")));
                for hint in &error.hints {
                    to_stderr(&for_stderr(&self.label("hint:", "36"), &format!(" {}\n", lines(hint))));
                }
            }
        }
    }

    fn label(&self, text: &str, colour: &str) -> String {
        if self.colour { format!("\x1b[1;{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Warnings while a sandbox runs: whoever reads standard error is waited for a moment, and no longer. Who supervises the sandbox has
/// no time for a reader who has stopped reading.
pub(crate) struct Warnings<'a> {
    ui: &'a Ui,
    unwritten: VecDeque<u8>,
    /// How many there was no room for.
    left_out: usize,
}

/// How much poll(2) says that there is room for in a pipe, see pipe(7).
const PIPE_BUF: usize = 4096;

/// How long each warning waits for room: a reader who reads makes some.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many bytes of warnings wait, at most.
const MAX_UNWRITTEN: usize = 1 << 20;

impl<'a> Warnings<'a> {
    pub(crate) fn new(ui: &'a Ui) -> Self {
        Self { ui, unwritten: VecDeque::new(), left_out: 0 }
    }

    /// Warns, unless the caller wants quiet.
    pub(crate) fn warning(&mut self, message: impl Display) {
        if !self.ui.quiet {
            self.warn_always(message);
        }
    }

    /// Passes on what another program says, unless the caller wants quiet.
    pub(crate) fn note(&mut self, message: impl Display) {
        if !self.ui.quiet {
            self.add(&for_stderr("", &format!("{message}\n")));
        }
    }

    /// Warns even a caller who wants quiet.
    pub(crate) fn warn_always(&mut self, message: impl Display) {
        self.add(&self.ui.warning_line(&message));
    }

    fn add(&mut self, line: &str) {
        if self.unwritten.len() < MAX_UNWRITTEN {
            self.unwritten.extend(line.bytes());
        } else {
            self.left_out += 1;
        }
        self.write_some();
    }

    /// Writes what there is room for. If poll(2) says that there is room, that is a page of a pipe, and a byte of a terminal.
    fn write_some(&mut self) {
        let stderr = rustix::stdio::stderr();
        let room = if io::stderr().is_terminal() { 1 } else { PIPE_BUF };
        let until = Instant::now() + PATIENCE;
        while !self.unwritten.is_empty() {
            let mut ready = [PollFd::from_borrowed_fd(stderr, PollFlags::OUT)];
            let left =
                Timespec::try_from(until.saturating_duration_since(Instant::now())).unwrap_or_default();
            if poll(&mut ready, Some(&left)).is_err() || !ready[0].revents().contains(PollFlags::OUT) {
                return;
            }
            let next = self.unwritten.make_contiguous();
            match rustix::io::write(stderr, &next[..next.len().min(room)]) {
                Ok(written) => drop(self.unwritten.drain(..written)),
                Err(Errno::INTR) => {}
                // A message that nobody can read is no reason to fail.
                Err(_) => return,
            }
        }
    }
}

impl Drop for Warnings<'_> {
    /// Writes the rest: nothing runs any more that waiting would hold up.
    fn drop(&mut self) {
        let _ = io::stderr().lock().write_all(self.unwritten.make_contiguous());
        if self.left_out > 0 {
            self.ui.warn_always(format_args!("{} more warnings were left out", self.left_out));
        }
    }
}

/// Prints to standard error what was asked for.
pub(crate) fn print(message: impl Display) {
    to_stderr(&for_stderr("", &format!("{message}\n")));
}

/// Returns whether a question can be asked and its answer read.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question on the terminal; no is the default.
pub(crate) fn confirm(question: &str) -> Result<bool, CommandError> {
    prompt(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer from the terminal")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Prints a question, after which the answer is typed on the same line.
pub(crate) fn prompt(question: &str) {
    to_stderr(&for_stderr("", question));
}

/// Puts a label of ours before a text of anybody's.
fn for_stderr(label: &str, text: &str) -> String {
    let mut text = several(text);
    if io::stderr().is_terminal() {
        // While a terminal is relayed to an agent, a newline alone does not go back to the first column.
        text = text.replace('\n', "\r\n");
    }
    format!("{label}{}", text::for_stderr(&text))
}

fn to_stderr(text: &str) {
    // A message that nobody can read is no reason to fail.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
