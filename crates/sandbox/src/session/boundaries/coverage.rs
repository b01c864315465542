//! What of the boundaries was covered, and what was not, for the report.

use std::fmt;
use std::io;
use std::path::PathBuf;

use confine::landlock::{self, ABI};
use confine::report::{Finding as Line, Report, Status};
use policy::plan::{Boundary, BoundaryMode, Layer};
use policy::text::escape;

use crate::boundary::protect::mounts::ProtectionGap;
use crate::boundary::protect::mounts::{Cause, Mounts};
use crate::boundary::walk::{Unseen, Walk};

/// How many of a kind are named.
const EXAMPLES: usize = 5;

/// What the walks have seen.
#[derive(Default)]
pub(crate) struct Coverage {
    read_only: usize,
    /// How many of them only because they are set-user-id or set-group-id, or have capabilities.
    privileged: usize,
    /// Protected files with other names that were replaced by a private copy.
    copied: Vec<String>,
    masked: usize,
    /// Paths that are hidden.
    hidden: usize,
    /// What of the protected paths is not covered.
    gaps: Vec<String>,
    /// Those gaps that nobody has asked for: what is too deep, or in directories of dependencies, is in the report alone.
    unprotected: Vec<String>,
    /// What of the sockets is not.
    open: Vec<String>,
}

impl Coverage {
    /// Counts what was found in a writable boundary.
    pub(crate) fn add(&mut self, boundary: &Boundary, walk: &Walk, mounts: &Mounts) {
        self.read_only += mounts.read_only.len();
        if let Some(path) = &boundary.obeyed_as {
            self.add_gap(boundary, &format!("it is {path}, where programs outside obey what is written"));
        }
        self.privileged += mounts.read_only.iter().filter(|one| one.cause == Cause::Privileged).count();
        if walk.unasked > 0 {
            let what = format!(
                "{} files were not asked whether they are set-user-id or have capabilities, there are too many",
                walk.unasked
            );
            self.add_gap(boundary, &what);
        }
        let before = self.open.len();
        self.add_sockets(boundary, walk, mounts);
        self.gaps.extend_from_slice(&self.open[before..]);
        if !mounts.notices.is_empty() {
            self.add_gap(boundary, &some(&mounts.notices, "; "));
        }
        let unprotected: Vec<_> =
            mounts.notices.iter().filter(|notice| notice.leaves_unprotected()).collect();
        if !unprotected.is_empty() {
            self.unprotected.push(format!("{}: {}", boundary.name, some(&unprotected, "; ")));
        }
    }

    /// Counts what was found in any boundary.
    pub(crate) fn add_sockets(&mut self, boundary: &Boundary, walk: &Walk, mounts: &Mounts) {
        self.masked += mounts.masked_sockets.len();
        let mut gap = |what: String| self.open.push(format!("{}: {what}", boundary.name));
        let unseen = |unseen: &Unseen, why: &str| {
            let examples: Vec<_> = unseen.examples.iter().map(|path| escape::path(path)).collect();
            let more = if unseen.count > examples.len() { ", …" } else { "" };
            format!("{} {why} ({}{more})", unseen.count, examples.join(", "))
        };
        // In a writable boundary the search says so.
        if !walk.is_whole && boundary.mode == BoundaryMode::ReadOnly {
            gap(ProtectionGap::OutOfTime.to_string());
        }
        if walk.deeper.count > 0 {
            gap(unseen(&walk.deeper, "directories deeper than protect.depth"));
        }
        if walk.skipped.count > 0 {
            gap(unseen(&walk.skipped, "directories of dependencies and builds not entered"));
        }
        if !walk.other_file_systems.is_empty() {
            let paths: Vec<_> = walk.other_file_systems.iter().map(|path| escape::path(path)).collect();
            gap(format!("other file systems not entered ({})", some(&paths, ", ")));
        }
        if !walk.unread.is_empty() {
            let error = |errno| io::Error::from_raw_os_error(errno);
            let unread =
                walk.unread.iter().map(|one| format!("{}: {}", escape::path(&one.path), error(one.errno)));
            gap(format!(
                "directories that cannot be read, and so are read-only inside ({})",
                some(&unread.collect::<Vec<_>>(), ", ")
            ));
        }
    }

    /// Notes which protected files were replaced by a private copy because they have other names.
    pub(crate) fn add_copies(&mut self, boundary: &Boundary, paths: &[PathBuf]) {
        self.copied.extend(paths.iter().map(|path| escape::path(&boundary.guest.join(path))));
    }

    /// Counts what is hidden in a boundary.
    pub(crate) fn add_hidden(&mut self, number: usize) {
        self.hidden += number;
    }

    /// Notes what is watched less closely than everything else, in any boundary.
    pub(crate) fn add_unwatched(&mut self, what: Option<String>) {
        self.gaps.extend(what);
    }

    /// Notes something else that is not covered.
    pub(crate) fn add_gap(&mut self, boundary: &Boundary, what: &str) {
        self.gaps.push(format!("{}: {what}", boundary.name));
    }

    /// Notes something that is not covered, which is warned of, too.
    pub(crate) fn add_unprotected(&mut self, boundary: &Boundary, what: &str) {
        self.add_gap(boundary, what);
        self.unprotected.push(format!("{}: {what}", boundary.name));
    }

    /// Lists the gaps that `then` did not have.
    pub(crate) fn gaps_beside(self, then: &Self) -> Vec<String> {
        self.gaps.into_iter().filter(|gap| !then.gaps.contains(gap)).collect()
    }

    /// Lists what is not protected although it lies where protected paths are searched.
    pub(crate) fn unprotected(&self) -> &[String] {
        &self.unprotected
    }

    /// Returns the lines of a report.
    pub(crate) fn lines(&self) -> [Line; 2] {
        let mut open = Vec::new();
        if landlock::abi() < Some(ABI::V9) {
            open.push("sockets that are made while it runs, for which landlock ABI 9 is needed".to_owned());
        }
        open.extend_from_slice(&self.open);
        let line = |layer, held: String, gaps: &[String]| {
            let (status, reason) = if gaps.is_empty() {
                (Status::Enforced, held)
            } else {
                (Status::Partly, format!("{held}; not covered: {}", gaps.join("; ")))
            };
            Line { layer, status, reason }
        };
        let privileged = match self.privileged {
            0 => String::new(),
            number => format!(" ({} of them)", count(number, "privileged file")),
        };
        let copied = if self.copied.is_empty() {
            String::new()
        } else {
            format!(", replaced by private copies because of other names: {}", some(&self.copied, ", "))
        };
        let hidden = match self.hidden {
            0 => String::new(),
            number => format!(", {} masked", count(number, "hidden path")),
        };
        [
            line(
                Layer::Protect,
                format!(
                    "{}{privileged} read-only{copied}{hidden}; new ones are detected",
                    count(self.read_only, "protected path")
                ),
                &self.gaps,
            ),
            line(Layer::Sockets, format!("{} in boundaries masked", count(self.masked, "socket")), &open),
        ]
    }
}

/// Corrects a report: the search for what is new had these gaps in the end.
pub(crate) fn take_back(report: &mut Report, gaps: &[String]) {
    let line = report.0.iter_mut().find(|line| line.layer == Layer::Protect);
    if let Some(line) = line.filter(|_| !gaps.is_empty()) {
        line.status = Status::Partly;
        line.reason = format!("{}; not searched for new ones in the end: {}", line.reason, gaps.join("; "));
    }
}

/// Joins the first few, and says how many there are if those are not all.
fn some(all: &[impl fmt::Display], between: &str) -> String {
    let named: Vec<_> = all.iter().take(EXAMPLES).map(ToString::to_string).collect();
    let named = named.join(between);
    if all.len() > EXAMPLES { format!("{named}{between}… {} in all", all.len()) } else { named }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
