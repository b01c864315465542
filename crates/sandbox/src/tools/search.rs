//! `search`: lines of files that a regular expression matches.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use policy::query::{FileKind, Query, Resolved};
use policy::rules::path::PathAccess;
use rustix::io::Errno;
use serde::Serialize;

use super::file_tools::{FileTools, MAX_FILE_BYTES, ToolError};
use super::list::Start;
use super::pattern::{Case, Glob, regex};
use super::place::Opened;
use super::progress::{Bounds, Progress, Stopped};
use super::read;
use super::shown::{Shown, Spelling};
use super::walk::{Effort, Selection, Visited, Visitor, Walk};
use crate::shell::Cancel;

/// How many matches are returned, unless somebody says otherwise.
pub const MAX_MATCHES: usize = 200;

/// How many bytes of a line are returned, unless somebody says otherwise.
pub const MAX_LINE_BYTES: usize = 500;

/// How many lines around a match are returned, at most.
pub const MAX_CONTEXT: usize = 100;

/// How long a line may be that is searched, and with it a block between two looks at the clock.
const MAX_LINE: usize = 1 << 20;

/// What is searched for, and where.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    pub case: Case,
    /// Only files that this matches, see [`super::ListOptions::glob`].
    pub glob: Option<String>,
    pub selection: Selection,
    pub bounds: Bounds,
    /// How many lines before and after each match are returned.
    pub context: usize,
    pub max_matches: usize,
    pub max_line_bytes: usize,
    pub cancel: Option<Cancel>,
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
            cancel: None,
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
    /// How many files were left out because they are larger than what the tools touch there, or from where on they have a line of more than
    /// 1 MiB.
    pub too_large: usize,
}

/// A file with matches.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct FoundFile {
    pub path: String,
    #[serde(skip_serializing_if = "Spelling::is_exact")]
    pub spelling: Spelling,
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
        let progress = Progress::new(options.bounds, options.cancel.as_ref());
        let search = Search { matcher, options, left: AtomicUsize::new(options.max_matches) };
        let (opened, resolved) = self.open_beneath(path.as_ref(), PathAccess::Read)?;
        if opened.kind() == FileKind::File {
            return self.search_file(&opened, &resolved, &search, &progress);
        }
        let Start { directory, around } = self.start(&opened, &resolved, options.selection, &progress)?;
        let walk = Walk::new(self.query(), &resolved, options.selection, &progress, Effort::Contents);
        let searchers = walk.run(directory, &resolved, around, || FileSearcher {
            tools: self,
            // Each has a memory of its own for what it matches.
            matcher: search.matcher.clone(),
            searcher: search.searcher(),
            glob: glob.as_ref(),
            search: &search,
            found: Vec::new(),
            too_large: 0,
        });
        let too_large = searchers.iter().map(|searcher| searcher.too_large).sum();
        let mut files: Vec<_> = searchers.into_iter().flat_map(|searcher| searcher.found).collect();
        files.sort_unstable();
        Ok(found(files, too_large, &progress))
    }

    /// Searches one file, which is all there is: what cannot be searched is an error.
    fn search_file(
        &self,
        opened: &Opened,
        resolved: &Resolved,
        search: &Search<'_>,
        progress: &Progress,
    ) -> Result<Found, ToolError> {
        let bytes = self.content(opened, resolved, PathAccess::Read)?;
        read::check_no_nul(&bytes, resolved)?;
        let from = Limited::new(&*bytes, MAX_FILE_BYTES, progress);
        let (lines, end) = search.read(&search.matcher, &mut search.searcher(), from);
        let file = (!lines.is_empty()).then(|| FoundFile::new(self.shown(resolved.guest.as_path()), lines));
        Ok(found(file.into_iter().collect(), usize::from(end == End::TooLarge), progress))
    }
}

fn found(files: Vec<FoundFile>, too_large: usize, progress: &Progress) -> Found {
    let matches = files.iter().map(FoundFile::matches).sum();
    Found { files, matches, stopped: progress.stopped(), unreadable: progress.unreadable(), too_large }
}

impl FoundFile {
    fn new(Shown { path, spelling }: Shown, lines: Vec<FoundLine>) -> Self {
        Self { path, spelling, lines }
    }

    fn matches(&self) -> usize {
        matches(&self.lines)
    }
}

/// What all threads of a call search for.
struct Search<'t> {
    matcher: RegexMatcher,
    options: &'t SearchOptions,
    /// How many more matches may be found.
    left: AtomicUsize,
}

/// How the search of a file has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Searched,
    /// The file has grown beyond what the tools touch, or has a line that is too long.
    TooLarge,
    /// The system does not let it be read.
    Failed(Errno),
}

impl Search<'_> {
    fn searcher(&self) -> Searcher {
        let context = self.options.context.min(MAX_CONTEXT);
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            // What `read` refuses as no text is not searched as something else.
            .bom_sniffing(false)
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(MAX_LINE))
            .build()
    }

    /// Searches one file, block by block. Of one that is binary, nothing is found.
    fn read(
        &self,
        matcher: &RegexMatcher,
        searcher: &mut Searcher,
        mut from: Limited<'_, impl Read>,
    ) -> (Vec<FoundLine>, End) {
        let mut lines = Lines { search: self, progress: from.progress, found: Vec::new(), is_binary: false };
        let searched = searcher.search_reader(matcher, &mut from, &mut lines);
        let end = match searched {
            _ if from.is_beyond => End::TooLarge,
            Ok(()) => End::Searched,
            // What the searcher itself has to say is that a line is too long.
            Err(error) => error
                .raw_os_error()
                .map_or(End::TooLarge, |errno| End::Failed(Errno::from_raw_os_error(errno))),
        };
        if lines.is_binary {
            self.left.fetch_add(matches(&lines.found), Ordering::Relaxed);
            lines.found.clear();
        }
        (lines.found, end)
    }
}

/// The content of a file, up to a limit, and as long as the call goes on.
struct Limited<'p, R> {
    from: R,
    left: u64,
    progress: &'p Progress,
    /// Whether there is more than the limit.
    is_beyond: bool,
}

impl<'p, R> Limited<'p, R> {
    fn new(from: R, limit: u64, progress: &'p Progress) -> Self {
        Self { from, left: limit, progress, is_beyond: false }
    }
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_beyond || !self.progress.goes_on() {
            return Ok(0);
        }
        let count = self.from.read(buffer)?;
        let Some(left) = self.left.checked_sub(count as u64) else {
            self.is_beyond = true;
            return Ok(0);
        };
        self.left = left;
        Ok(count)
    }
}

struct FileSearcher<'t> {
    tools: &'t FileTools,
    matcher: RegexMatcher,
    searcher: Searcher,
    glob: Option<&'t Glob>,
    search: &'t Search<'t>,
    found: Vec<FoundFile>,
    too_large: usize,
}

impl Visitor for FileSearcher<'_> {
    fn visit(&mut self, visited: &Visited<'_>, progress: &Progress) {
        if visited.kind != FileKind::File || self.glob.is_some_and(|glob| !glob.matches(visited.relative())) {
            return;
        }
        match self.visit_file(visited, progress) {
            Ok(End::Searched) => {}
            Ok(End::TooLarge) => self.too_large += 1,
            Ok(End::Failed(errno)) | Err(errno) => progress.failed(errno),
        }
    }
}

impl FileSearcher<'_> {
    fn visit_file(&mut self, visited: &Visited<'_>, progress: &Progress) -> Result<End, Errno> {
        let opened = Opened::at(visited.directory, OsStr::from_bytes(visited.name.to_bytes()))?;
        // Something else may be there by now than was listed.
        if opened.kind() != FileKind::File {
            return Ok(End::Searched);
        }
        let limit = limit(self.tools.query(), visited.place);
        if u64::try_from(opened.stat.st_size).unwrap_or_default() > limit {
            return Ok(End::TooLarge);
        }
        let file = opened.reader()?;
        let (lines, end) =
            self.search.read(&self.matcher, &mut self.searcher, Limited::new(file, limit, progress));
        if !lines.is_empty() {
            self.found.push(FoundFile::new(self.tools.shown(visited.path), lines));
        }
        Ok(end)
    }
}

/// Returns the size of the largest file that is searched in a boundary.
fn limit(query: &Query, place: usize) -> u64 {
    query.places()[place].tools.max_file_bytes.map_or(MAX_FILE_BYTES, |limit| limit.0).min(MAX_FILE_BYTES)
}

/// Returns how many of these lines match.
fn matches(lines: &[FoundLine]) -> usize {
    lines.iter().filter(|line| line.role == LineRole::Match).count()
}

/// Lines of one file, as they are found.
struct Lines<'t> {
    search: &'t Search<'t>,
    progress: &'t Progress,
    found: Vec<FoundLine>,
    is_binary: bool,
}

impl Lines<'_> {
    fn push(&mut self, line: Option<u64>, bytes: &[u8], role: LineRole) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let truncated = bytes.len() > self.search.options.max_line_bytes;
        let mut end = bytes.len().min(self.search.options.max_line_bytes);
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
        if self.search.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
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

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// The same lines, over and over, as an agent writes them that does not stop.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let whole = buffer.len().max(self.0.len()) / self.0.len();
            let mut lines = &*self.0.repeat(whole);
            lines.read(buffer)
        }
    }

    fn bounds(time: Duration) -> Bounds {
        Bounds { time, ..Bounds::default() }
    }

    /// Searches, and returns how many matches were found and are left, and how it has ended.
    fn searched(
        pattern: &str,
        from: impl Read,
        limit: u64,
        progress: &Progress,
    ) -> (usize, usize, End, Option<Stopped>) {
        let options = SearchOptions::default();
        let matcher = regex(pattern, Case::Exact).unwrap();
        let search = Search { matcher, options: &options, left: AtomicUsize::new(options.max_matches) };
        let (lines, end) =
            search.read(&search.matcher, &mut search.searcher(), Limited::new(from, limit, progress));
        (matches(&lines), search.left.into_inner(), end, progress.stopped())
    }

    #[test]
    fn a_file_without_an_end_is_searched_to_a_limit_or_for_a_time() {
        let progress = Progress::new(bounds(Duration::from_secs(60)), None);
        let found = searched("x", Endless(b"a line\n"), 1 << 20, &progress);
        assert_eq!(found, (0, MAX_MATCHES, End::TooLarge, None));
        let progress = Progress::new(bounds(Duration::from_millis(50)), None);
        let found = searched("x", Endless(b"a line\n"), u64::MAX, &progress);
        assert_eq!(found, (0, MAX_MATCHES, End::Searched, Some(Stopped::Time)));
        let cancel = Cancel::new().unwrap();
        cancel.raise();
        let progress = Progress::new(bounds(Duration::from_secs(60)), Some(&cancel));
        let found = searched("x", Endless(b"a line\n"), u64::MAX, &progress);
        assert_eq!(found, (0, MAX_MATCHES, End::Searched, Some(Stopped::Cancelled)));
        let progress = Progress::new(bounds(Duration::from_secs(60)), None);
        let found = searched("x", Endless(b"a line without an end"), u64::MAX, &progress);
        assert_eq!(found, (0, MAX_MATCHES, End::TooLarge, None));
    }

    #[test]
    fn a_slow_expression_is_stopped_in_the_middle_of_a_file() {
        let progress = Progress::new(bounds(Duration::from_millis(100)), None);
        let began = Instant::now();
        let found = searched("[01]*1[01]{1000}x", Endless(b"0110100110010110\n"), u64::MAX, &progress);
        assert_eq!(found.3, Some(Stopped::Time));
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn matches_in_a_binary_file_do_not_count() {
        let progress = Progress::new(Bounds::default(), None);
        let binary = [b"found\n".repeat(100).as_slice(), &b"line\n".repeat(100_000), b"\0"].concat();
        assert_eq!(searched("found", &*binary, u64::MAX, &progress), (0, MAX_MATCHES, End::Searched, None));
        let text = &binary[..binary.len() - 1];
        assert_eq!(
            searched("found", text, u64::MAX, &progress),
            (100, MAX_MATCHES - 100, End::Searched, None)
        );
    }

    #[test]
    fn lines_end_with_lf_or_cr_lf() {
        for (pattern, expected) in
            [("^f.und$", 3), ("found$", 3), ("^fo", 3), ("^$", 2), ("d.", 0), ("x|^.$", 0)]
        {
            let progress = Progress::new(Bounds::default(), None);
            let text = &b"found\r\n\r\nfound\n\nfound"[..];
            assert_eq!(searched(pattern, text, u64::MAX, &progress).0, expected, "{pattern}");
        }
    }
}
