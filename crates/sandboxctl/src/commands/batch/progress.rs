//! Progress of a batch, on a terminal: one line that is written anew; and what its tasks have to say, each sentence once.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};

use sandbox::host::capture::Captured;

use crate::ui::{self, Ui};

/// How many sentences are kept to be said no second time.
const MAX_KEPT: usize = 1000;

pub(super) struct Progress {
    is_shown: bool,
    /// How many tasks there are, where that is known.
    total: Option<usize>,
    ended: usize,
    failed: usize,
    /// How many columns are written.
    width: usize,
    said: BTreeSet<String>,
}

impl Progress {
    /// Shows progress where somebody looks at it.
    pub(super) fn new(ui: &Ui, total: Option<usize>) -> Self {
        let is_shown = io::stderr().is_terminal() && !ui.is_quiet();
        let progress = Self { is_shown, total, ended: 0, failed: 0, width: 0, said: BTreeSet::new() };
        progress.shown()
    }

    fn shown(mut self) -> Self {
        self.draw();
        self
    }

    /// Makes room for something else.
    pub(super) fn clear(&mut self) {
        if self.is_shown && self.width > 0 {
            write(&format!("\r{:width$}\r", "", width = self.width));
            self.width = 0;
        }
    }

    /// Writes the line.
    pub(super) fn draw(&mut self) {
        if self.is_shown {
            self.clear();
            let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
            let line = format!("{}{of} done{failed}", self.ended);
            self.width = line.len();
            write(&line);
        }
    }

    /// Counts a task.
    pub(super) fn count(&mut self, is_success: bool) {
        self.ended += 1;
        self.failed += usize::from(!is_success);
    }

    /// Passes on what tasks say, unless one has said it before: most of it is about this machine, and alike for all.
    pub(super) fn pass_on(&mut self, stderr: &Captured) {
        let said = String::from_utf8_lossy(&stderr.bytes);
        let more = stderr.truncated.then_some("warning: a task had more to say: its line has all warnings");
        for line in said.lines().chain(more) {
            if self.said.len() >= MAX_KEPT {
                self.said.clear();
            }
            if self.said.insert(line.to_owned()) {
                ui::print(line);
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            self.draw();
            write("\n");
        }
    }
}

fn write(text: &str) {
    // Progress that nobody can see is no reason to fail.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
