//! `search`: lines of files that a regular expression matches.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use policy::query::{FileKind, Query, Resolved};
use policy::rules::path::PathAccess;
use policy::text::escape;
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use serde::Serialize;

use super::file_tools::{FileTools, MAX_FILE_BYTES, ToolError};
use super::list::Start;
use super::pattern::{Case, Glob, regex};
use super::place::Opened;
use super::read;
use super::walk::{Bounds, Effort, Progress, Selection, Stopped, Visited, Visitor, Walk};

/// How many matches are returned, unless somebody says otherwise.
pub const MAX_MATCHES: usize = 200;

/// How many bytes of a line are returned, unless somebody says otherwise.
pub const MAX_LINE_BYTES: usize = 500;

/// How many lines around a match are returned, at most.
const MAX_CONTEXT: usize = 100;

/// How long a line may be that is searched.
const MAX_LINE: usize = 16 << 20;

/// What is searched for, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SearchOptions {
    pub case: Case,
    /// Only files that this matches, see [`super::ListOptions::glob`].
    pub glob: Option<String>,
    pub selection: Selection,
    pub bounds: Bounds,
    /// How many lines before and after each match are returned.
    pub context: usize,
    /// How many matches are returned at most.
    pub max_matches: usize,
    pub max_line_bytes: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            case: Case::default(),
            glob: None,
            selection: Selection::default(),
            bounds: Bounds::default(),
            context: 0,
            max_matches: MAX_MATCHES,
            max_line_bytes: MAX_LINE_BYTES,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Found {
    /// In the order of their paths.
    pub files: Vec<FoundFile>,
    /// How many lines match.
    pub matches: usize,
    /// Why there may be more.
    pub stopped: Option<Stopped>,
    /// How many files and directories could not be read.
    pub unreadable: usize,
    /// How many files were left out because they are larger than what the tools touch there.
    pub too_large: usize,
}

/// A file with matches.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct FoundFile {
    pub path: String,
    pub lines: Vec<FoundLine>,
}

/// A line of it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct FoundLine {
    /// Its number, from 1 on.
    pub line: u64,
    pub text: String,
    pub role: LineRole,
    /// Whether the text is the beginning of a longer line.
    pub truncated: bool,
}

/// Why a line is returned.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineRole {
    Match,
    /// It is near a match.
    Context,
}

impl FileTools {
    /// Searches the files beneath a directory, or one file. Binary files are left out.
    ///
    /// # Errors
    ///
    /// A rule is against it, there is nothing of this name, or the pattern cannot be used.
    pub fn search(
        &self,
        pattern: &str,
        path: impl AsRef<OsStr>,
        options: &SearchOptions,
    ) -> Result<Found, ToolError> {
        let matcher = regex(pattern, options.case)?;
        let glob = options.glob.as_deref().map(Glob::new).transpose()?;
        let _acting = self.begin()?;
        let left = AtomicUsize::new(options.max_matches);
        let visitor = || FileSearcher {
            tools: self,
            matcher: matcher.clone(),
            searcher: searcher(options),
            glob: glob.as_ref(),
            options,
            left: &left,
            found: Vec::new(),
            unreadable: 0,
            too_large: 0,
        };
        let (opened, resolved) = self.open_beneath(path.as_ref(), PathAccess::Read)?;
        if opened.kind() == FileKind::File {
            return self.search_file(&opened, &resolved, &matcher, options);
        }
        let Start { directory, around } = self.start(&opened, &resolved, options.selection)?;
        let walk = Walk::new(self.query(), &resolved, options.selection, options.bounds, Effort::Contents);
        let walked = walk.run(directory, &resolved, around, visitor);
        let (mut unreadable, mut too_large) = (walked.unreadable, 0);
        let mut files = Vec::new();
        for searcher in walked.found {
            unreadable += searcher.unreadable;
            too_large += searcher.too_large;
            files.extend(searcher.found);
        }
        files.sort_unstable();
        let matches = files.iter().map(FoundFile::matches).sum();
        Ok(Found { files, matches, stopped: walked.stopped, unreadable, too_large })
    }

    /// Searches one file, which is all there is: what cannot be searched is an error.
    fn search_file(
        &self,
        opened: &Opened,
        resolved: &Resolved,
        matcher: &RegexMatcher,
        options: &SearchOptions,
    ) -> Result<Found, ToolError> {
        let bytes = self.content(opened, resolved, PathAccess::Read)?;
        read::text(&bytes, resolved)?;
        let progress = Progress::new(options.bounds);
        let left = AtomicUsize::new(options.max_matches);
        let mut lines = Lines { options, left: &left, progress: &progress, found: Vec::new() };
        let path = resolved.guest.as_path();
        searcher(options).search_slice(matcher, &bytes, &mut lines).map_err(|source| ToolError::System {
            access: PathAccess::Read.into(),
            path: escape::path(path),
            source,
        })?;
        let file = FoundFile { path: self.shown(path), lines: lines.found };
        let (matches, is_empty) = (file.matches(), file.lines.is_empty());
        let files = if is_empty { Vec::new() } else { vec![file] };
        Ok(Found { files, matches, stopped: progress.stopped(), unreadable: 0, too_large: 0 })
    }
}

impl FoundFile {
    fn matches(&self) -> usize {
        self.lines.iter().filter(|line| line.role == LineRole::Match).count()
    }
}

fn searcher(options: &SearchOptions) -> Searcher {
    let context = options.context.min(MAX_CONTEXT);
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(MAX_LINE))
        .build()
}

struct FileSearcher<'t> {
    tools: &'t FileTools,
    matcher: RegexMatcher,
    searcher: Searcher,
    glob: Option<&'t Glob>,
    options: &'t SearchOptions,
    /// How many more matches may be found.
    left: &'t AtomicUsize,
    found: Vec<FoundFile>,
    unreadable: usize,
    too_large: usize,
}

impl Visitor for FileSearcher<'_> {
    fn visit(&mut self, visited: &Visited<'_>, progress: &Progress) {
        if visited.kind != FileKind::File || self.glob.is_some_and(|glob| !glob.matches(visited.relative())) {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let Ok(file) = openat(visited.directory, visited.name, flags, Mode::empty()) else {
            self.unreadable += 1;
            return;
        };
        let Ok(stat) = fstat(&file) else { return };
        // Something else may be there by now than was listed.
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return;
        }
        if stat.st_size > limit(self.tools.query(), visited.place) {
            self.too_large += 1;
            return;
        }
        let mut lines = Lines { options: self.options, left: self.left, progress, found: Vec::new() };
        let searched = self.searcher.search_file(&self.matcher, &File::from(file), &mut lines);
        self.unreadable += usize::from(searched.is_err());
        if !lines.found.is_empty() {
            self.found.push(FoundFile { path: self.tools.shown(visited.path), lines: lines.found });
        }
    }
}

/// Returns the size of the largest file that is searched in a boundary.
fn limit(query: &Query, place: usize) -> i64 {
    let limit = query.places()[place].tools.max_file_bytes.map_or(MAX_FILE_BYTES, |limit| limit.0);
    i64::try_from(limit.min(MAX_FILE_BYTES)).unwrap_or(i64::MAX)
}

/// Lines of one file, as they are found.
struct Lines<'t> {
    options: &'t SearchOptions,
    left: &'t AtomicUsize,
    progress: &'t Progress,
    found: Vec<FoundLine>,
}

impl Lines<'_> {
    fn push(&mut self, line: Option<u64>, bytes: &[u8], role: LineRole) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let truncated = bytes.len() > self.options.max_line_bytes;
        let mut end = bytes.len().min(self.options.max_line_bytes);
        // Not in the middle of a character: these bytes are none's first one.
        while truncated && end > 0 && bytes[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        self.found.push(FoundLine { line: line.unwrap_or_default(), text, role, truncated });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let one_less = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            self.progress.stop(Stopped::Found);
            return Ok(false);
        }
        self.push(matched.line_number(), matched.bytes(), LineRole::Match);
        Ok(self.progress.goes_on())
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if *context.kind() != SinkContextKind::Other {
            self.push(context.line_number(), context.bytes(), LineRole::Context);
        }
        Ok(true)
    }
}
