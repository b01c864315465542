//! What `fs` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};
use sandbox::tools::MAX_CONTEXT;

/// How many directories deep a walk goes at most.
const MAX_DEPTH: u64 = 128;

/// Read, write and search files of a persistent sandbox, as its agent could.
#[derive(Debug, Subcommand)]
pub(crate) enum FsCommand {
    /// Print a file: text, or an image (PNG, JPEG, GIF, WebP) or PDF document as it is
    Read(FsReadArgs),
    /// Write what is on standard input to a file, as a whole or not at all
    ///
    /// Directories on the way are made where they are missing; a file that is there keeps its permissions.
    Write(FsPathArgs),
    /// Replace texts in a file, all of them or none
    ///
    /// Each has to be there exactly, and once; it is looked for in what the ones before have made.
    Edit(FsEditArgs),
    /// List what is in a directory and beneath it
    List(FsListArgs),
    /// Print lines of files that a regular expression matches
    Search(FsSearchArgs),
}

/// A file of a sandbox.
#[derive(Args, Debug)]
pub(crate) struct FsPathArgs {
    /// The name of the sandbox, or its id
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The file as the sandbox sees it; one that is relative starts at its working directory
    #[arg(value_name = "PATH")]
    pub(crate) path: OsString,
}

#[derive(Args, Debug)]
pub(crate) struct FsReadArgs {
    #[command(flatten)]
    pub(crate) file: FsPathArgs,
    /// How many characters to leave out at its beginning
    #[arg(long, value_name = "CHARS", default_value_t = 0)]
    pub(crate) offset: usize,
    /// How many characters to print at most
    #[arg(long, value_name = "CHARS", default_value_t = sandbox::tools::MAX_CHARS, value_parser = at_least_one())]
    pub(crate) max_chars: usize,
}

#[derive(Args, Debug)]
pub(crate) struct FsEditArgs {
    #[command(flatten)]
    pub(crate) file: FsPathArgs,
    /// A text that is there; as many as there are of --new
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) old: Vec<String>,
    /// What takes its place
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) new: Vec<String>,
    /// A file of this host with the edits, or `-`: an array of JSON with an object `{"old": TEXT, "new": TEXT}` for each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["old", "new"])]
    pub(crate) edits: Option<PathBuf>,
}

/// What of a tree is looked at.
#[derive(Args, Clone, Debug)]
pub(crate) struct FsSelectionArgs {
    /// Only what this glob matches; without a slash it is about names, else about paths from the directory on
    #[arg(short, long, value_name = "GLOB")]
    pub(crate) glob: Option<String>,
    /// Names that begin with a dot, too
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Leave out what a `.gitignore` names
    #[arg(long)]
    pub(crate) gitignore: bool,
    /// How many directories deep to go; 1 is what is in the directory itself
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_DEPTH))]
    pub(crate) depth: Option<usize>,
}

#[derive(Args, Debug)]
pub(crate) struct FsListArgs {
    /// The name of the sandbox, or its id
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The directory as the sandbox sees it
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) path: OsString,
    #[command(flatten)]
    pub(crate) selection: FsSelectionArgs,
    /// How many entries to print at most
    #[arg(long, value_name = "N", default_value_t = sandbox::tools::MAX_ENTRIES, value_parser = at_least_one())]
    pub(crate) max_entries: usize,
}

#[derive(Args, Debug)]
pub(crate) struct FsSearchArgs {
    /// The name of the sandbox, or its id
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The regular expression, in the syntax of Rust's `regex`, which is matched line by line
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// The file or directory as the sandbox sees it
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) path: OsString,
    /// Match upper and lower case alike
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    #[command(flatten)]
    pub(crate) selection: FsSelectionArgs,
    /// How many lines around each match to print
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0, value_parser = context())]
    pub(crate) context: usize,
    /// How many matches to print at most
    #[arg(long, value_name = "N", default_value_t = sandbox::tools::MAX_MATCHES, value_parser = at_least_one())]
    pub(crate) max_matches: usize,
    /// How many bytes of a line to print at most
    #[arg(long, value_name = "N", default_value_t = sandbox::tools::MAX_LINE_BYTES, value_parser = at_least_one())]
    pub(crate) max_line_bytes: usize,
}

fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

fn context() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(..=MAX_CONTEXT as u64)
}
