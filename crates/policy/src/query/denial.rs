//! Denials: why a tool does not do what it was asked for, in words that a model can act on.
//!
//! Each says what was asked, why not and what is allowed; where a rule is the reason, that trying again changes nothing. `docs/tools.md`
//! lists them, and a test compares the two.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rules::path::PathAccess;
use crate::rules::verdict::listing;

/// What a tool was to do with a path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    Read,
    Write,
    Attach,
}

impl From<PathAccess> for Act {
    fn from(access: PathAccess) -> Self {
        if access == PathAccess::Write { Self::Write } else { Self::Read }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Attach => "attach",
        })
    }
}

/// Why a tool does not do something.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum Denial {
    /// What was written is no path.
    NoPath { path: String, fault: PathFault },
    /// It lies in no boundary.
    Outside { access: Act, path: String, allowed: Vec<String> },
    /// It is to be written, and lies in a boundary that is read-only.
    ReadOnly { path: String, writable: Vec<String> },
    /// It is hidden.
    Hidden { access: Act, path: String, pattern: String },
    /// It is to be written, and programs outside would obey it.
    Protected { path: String, protected: String },
    /// Its suffix is none of those that tools touch there.
    Suffix { access: Act, path: String, allowed: Vec<String> },
    /// It is larger than what tools touch there.
    TooLarge { access: Act, path: String, size: u64, limit: u64 },
    /// More files are to be handed to a worker than it takes.
    TooManyAttachments { count: usize, limit: u32 },
    /// Two files that are to be handed to a worker have the same name.
    SameName { path: String, name: String },
    /// A link on the way to it leads out of the boundary.
    LeadsOut { access: Act, path: String, boundary: String },
    /// It is something else than a regular file, or for listing than a directory.
    WrongKind { access: Act, path: String, found: FileKind, expected: FileKind },
    /// Nothing is there.
    NotFound { access: Act, path: String },
    /// It is not text.
    NotText { path: String, fault: TextFault },
    /// A text to be replaced is not there.
    NoMatch { path: String, edit: usize, nearest: Vec<NearMatch> },
    /// A text to be replaced is there more than once.
    SeveralMatches {
        path: String,
        edit: usize,
        /// How often, where `lines` has all of these lines; else how often at least.
        count: usize,
        /// The numbers of the first of these lines.
        lines: Vec<usize>,
    },
    /// An edit would change nothing.
    NoEdit { path: String, edit: usize, fault: EditFault },
    /// A pattern cannot be used.
    Pattern { kind: PatternKind, pattern: String, fault: PatternFault },
    /// A rule about commands denies it.
    Command { command: String, rule: String },
    /// A rule about commands has a person asked, who has not allowed it.
    NotApproved { command: String, rule: String, answer: Approval },
    /// The network does not lead there.
    Network { host: String, port: u16, rule: String },
}

/// What is said where a rule is the reason.
const POLICY: &str = "This is policy: trying again changes nothing";

/// What has become of a question to a person.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    #[error("they have not. Go on without it, or say what it is for")]
    Refused,
    #[error("they have not answered. Go on without it, or try again later")]
    Unanswered,
    #[error("nobody can be asked here. Go on without it; trying again changes nothing")]
    NobodyToAsk,
}

/// Why a text is no path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum PathFault {
    #[error("it is empty; `.` is the working directory")]
    Empty,
    #[error(
        "it begins with `~`, which tools do not expand; write the path out, such as `/home/agent/file`, or `./~` for such a name"
    )]
    Home,
    #[error("it has `..`, whose meaning depends on links; write the path that it leads to")]
    Parent,
    #[error("it has a NUL character, which no path has")]
    Nul,
    #[error("it is longer than a path can be, which is 4095 bytes")]
    TooLong,
    #[error("it ends with `/`, as that of a directory does; leave that out to name a file")]
    Directory,
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    #[error("a regular file")]
    File,
    #[error("a directory")]
    Directory,
    #[error("a link")]
    Link,
    #[error("a named pipe")]
    Fifo,
    #[error("a socket")]
    Socket,
    #[error("a device")]
    Device,
}

/// Why a file is not text.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum TextFault {
    #[error("it is binary, with a NUL at byte {at}")]
    Binary { at: usize },
    #[error("it is not UTF-8 from byte {at} on")]
    Encoding { at: usize },
}

/// What is wrong with an edit.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum EditFault {
    #[error("has no text to be replaced")]
    Empty,
    #[error("replaces a text by itself")]
    Same,
    #[error("is one more than can be applied to a file of this size")]
    TooMany,
}

/// A place that an edit nearly matches.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct NearMatch {
    /// The number of its first line, from 1 on.
    pub line: usize,
    /// That line.
    pub text: String,
    pub difference: Difference,
}

/// In what a place differs from what was to be matched.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    #[error("but for the ends of its lines, CR LF or LF")]
    LineEnds,
    #[error("but for spaces")]
    Spaces,
    #[error("but for upper and lower case")]
    Case,
    #[error("in its first line alone")]
    Rest,
}

/// What a pattern is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "lowercase")]
pub enum PatternKind {
    #[error("glob")]
    Glob,
    #[error("regular expression")]
    Regex,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum PatternFault {
    #[error("{message}")]
    Syntax { message: String },
    #[error("it is longer than {limit} bytes; write a shorter one")]
    TooLong { limit: usize },
    #[error("compiled, it needs more than {limit} bytes; repeat less in it")]
    TooLarge { limit: usize },
    #[error("it has more than {limit} opening braces; use fewer, or search more than once")]
    Braces { limit: usize },
}

impl std::error::Error for Denial {}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_policy())?;
        if self.is_policy() { write!(f, ". {POLICY}") } else { Ok(()) }
    }
}

impl Denial {
    /// Returns what was asked, why it is refused and what is allowed, for whoever says what follows from it in words of their own.
    pub fn without_policy(&self) -> String {
        match self {
            Self::NoPath { path, fault } => format!("`{path}` is no path that tools take: {fault}"),
            Self::Outside { access, path, allowed } => format!(
                "cannot {access} `{path}`: it lies outside of the sandbox. {} paths: {}",
                usable(*access),
                listing(allowed)
            ),
            Self::ReadOnly { path, writable } => {
                format!("cannot write `{path}`: it is read-only. Writable paths: {}", listing(writable))
            }
            Self::Hidden { access, path, pattern } => {
                format!("cannot {access} `{path}`: `{pattern}` hides it from this sandbox")
            }
            Self::Protected { path, protected } => format!(
                "cannot write `{path}`: `{protected}` is protected, because programs outside of the sandbox obey it. Other files beside it can \
                 be written"
            ),
            Self::Suffix { access, path, allowed } => format!(
                "cannot {access} `{path}`: its suffix is not allowed. Allowed suffixes: {}",
                listing(allowed)
            ),
            Self::TooLarge { access, path, size, limit } => format!(
                "cannot {access} `{path}`: {size} bytes are too large. Maximum allowed: {limit} bytes"
            ),
            Self::TooManyAttachments { count, limit } => format!(
                "cannot attach {count} files: the worker takes {limit} at most. Leave some out, or put them into one"
            ),
            Self::SameName { path, name } => format!(
                "cannot attach `{path}`: another attachment is called `{name}`, too. Copy one of them to another name"
            ),
            Self::LeadsOut { access, path, boundary } => format!(
                "cannot {access} `{path}`: a link on the way leads out of `{boundary}`, or is absolute. Name the file that it leads to, if that \
                 lies in a readable path"
            ),
            Self::WrongKind { access, path, found, expected } => {
                format!("cannot {access} `{path}`: it is {found}. Only {expected} can be used here")
            }
            Self::NotFound { access, path } => format!(
                "cannot {access} `{path}`: there is no such file or directory. List the directory above it to see what is there"
            ),
            Self::NotText { path, fault } => format!(
                "cannot read `{path}` as text: {fault}. Text in UTF-8, PNG, JPEG, GIF and WebP images and PDF documents can be read"
            ),
            Self::NoMatch { path, edit, nearest } => format!(
                "cannot edit `{path}`: edit {edit} matches nothing, and nothing was changed. {}",
                nearly(nearest)
            ),
            Self::SeveralMatches { path, edit, count, lines } => format!(
                "cannot edit `{path}`: edit {edit} matches {}, and nothing was changed. Add more of the lines around it, so that it matches once",
                times(lines, *count)
            ),
            Self::NoEdit { path, edit, fault } => {
                format!("cannot edit `{path}`: edit {edit} {fault}, and nothing was changed")
            }
            Self::Pattern { kind, pattern, fault } => format!("cannot use the {kind} `{pattern}`: {fault}"),
            Self::Command { command, rule } => format!("cannot run `{command}`: {rule}, and denies it"),
            Self::NotApproved { command, rule, answer } => {
                format!("cannot run `{command}`: {rule}, and a person has to allow it: {answer}")
            }
            Self::Network { host, port, rule } => {
                format!("cannot connect to `{host}` at port {port}: {rule}")
            }
        }
    }

    /// Returns whether a rule is the reason, so that trying again changes nothing.
    fn is_policy(&self) -> bool {
        match self {
            Self::Outside { .. }
            | Self::ReadOnly { .. }
            | Self::Hidden { .. }
            | Self::Protected { .. }
            | Self::Suffix { .. }
            | Self::TooLarge { .. }
            | Self::LeadsOut { .. }
            | Self::TooManyAttachments { .. }
            | Self::Command { .. }
            | Self::Network { .. } => true,
            Self::NoPath { .. }
            | Self::SameName { .. }
            | Self::NotApproved { .. }
            | Self::WrongKind { .. }
            | Self::NotFound { .. }
            | Self::NotText { .. }
            | Self::NoMatch { .. }
            | Self::SeveralMatches { .. }
            | Self::NoEdit { .. }
            | Self::Pattern { .. } => false,
        }
    }
}

fn usable(act: Act) -> &'static str {
    match act {
        Act::Read | Act::Attach => "Readable",
        Act::Write => "Writable",
    }
}

fn nearly(nearest: &[NearMatch]) -> String {
    if nearest.is_empty() {
        return "Read the file again: the text has to be exactly what is there".to_owned();
    }
    let one = |near: &NearMatch| format!("line {} {} (`{}`)", near.line, near.difference, near.text);
    let places: Vec<String> = nearest.iter().map(one).collect();
    format!("It nearly matches {}", places.join(", "))
}

/// Says how often a text is there, and at which lines.
fn times(lines: &[usize], count: usize) -> String {
    let listed: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let listed = listed.join(", ");
    if count > lines.len() {
        format!("at least {count} times, at lines {listed} and more")
    } else {
        format!("{count} times, at lines {listed}")
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    /// What stands around the list of messages in the page.
    const MARKS: (&str, &str) =
        ("<!-- denials: `make generate` makes them -->\n", "<!-- end of denials -->\n");

    /// Lists an example of each, with what it is called.
    fn examples() -> Vec<(&'static str, Denial)> {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let path = |path: &str| path.to_owned();
        let file = "/workspace/src/main.rs";
        let no_path = |text: &str, fault| Denial::NoPath { path: path(text), fault };
        let kind =
            |found, expected| Denial::WrongKind { access: Act::Read, path: path(file), found, expected };
        let not_approved = |answer| Denial::NotApproved {
            command: path("curl https://example.org"),
            rule: path("`[commands] network` is about commands that use the network"),
            answer,
        };
        let edit = |fault| Denial::NoEdit { path: path(file), edit: 1, fault };
        let near = |line, text: &str, difference| NearMatch { line, text: path(text), difference };
        vec![
            (
                "outside",
                Denial::Outside {
                    access: Act::Read,
                    path: path("/etc/shadow"),
                    allowed: texts(&["/workspace", "/reference", "/tmp", "/home/agent"]),
                },
            ),
            (
                "outside, to be written",
                Denial::Outside {
                    access: Act::Write,
                    path: path("/usr/bin/tool"),
                    allowed: texts(&["/workspace", "/tmp", "/home/agent"]),
                },
            ),
            (
                "read-only",
                Denial::ReadOnly {
                    path: path("/reference/guide.md"),
                    writable: texts(&["/workspace", "/tmp", "/home/agent"]),
                },
            ),
            (
                "hidden",
                Denial::Hidden { access: Act::Read, path: path("/workspace/.env"), pattern: path(".env") },
            ),
            (
                "protected",
                Denial::Protected { path: path("/workspace/.git/config"), protected: path(".git/config") },
            ),
            (
                "suffix",
                Denial::Suffix {
                    access: Act::Read,
                    path: path("/reference/data.db"),
                    allowed: texts(&[".md", ".pdf"]),
                },
            ),
            (
                "size",
                Denial::TooLarge {
                    access: Act::Read,
                    path: path("/reference/book.pdf"),
                    size: 20_000_000,
                    limit: 10_000_000,
                },
            ),
            (
                "link that leads out",
                Denial::LeadsOut {
                    access: Act::Read,
                    path: path("/workspace/link"),
                    boundary: path("/workspace"),
                },
            ),
            ("attachments, too many", Denial::TooManyAttachments { count: 9, limit: 8 }),
            (
                "attachment, suffix",
                Denial::Suffix {
                    access: Act::Attach,
                    path: path("/workspace/data.db"),
                    allowed: vec![path(".md")],
                },
            ),
            (
                "attachment, size",
                Denial::TooLarge {
                    access: Act::Attach,
                    path: path("/workspace/book.pdf"),
                    size: 20_000_000,
                    limit: 1_048_576,
                },
            ),
            (
                "attachments of one name",
                Denial::SameName { path: path("/workspace/b/README.md"), name: path("README.md") },
            ),
            (
                "network",
                Denial::Network { host: path("example.org"), port: 443, rule: path("the network is off") },
            ),
            ("no path: empty", no_path("", PathFault::Empty)),
            (
                "command",
                Denial::Command {
                    command: path("git push --force"),
                    rule: path("the rule `push` is about `git push --force|-f` (a person pushes)"),
                },
            ),
            ("command that was asked about, refused", not_approved(Approval::Refused)),
            ("command that was asked about, no answer", not_approved(Approval::Unanswered)),
            ("command that nobody can be asked about", not_approved(Approval::NobodyToAsk)),
            ("no path: `~`", no_path("~/file", PathFault::Home)),
            ("no path: `..`", no_path("../file", PathFault::Parent)),
            ("no path: NUL", no_path("a\\u{0}b", PathFault::Nul)),
            ("no path: too long", no_path("aaaa…", PathFault::TooLong)),
            ("no path: of a file, with `/`", no_path("src/", PathFault::Directory)),
            ("not found", Denial::NotFound { access: Act::Read, path: path(file) }),
            ("pipe", kind(FileKind::Fifo, FileKind::File)),
            ("socket", kind(FileKind::Socket, FileKind::File)),
            ("device", kind(FileKind::Device, FileKind::File)),
            ("directory", kind(FileKind::Directory, FileKind::File)),
            ("file, to be listed", kind(FileKind::File, FileKind::Directory)),
            (
                "binary",
                Denial::NotText { path: path("/workspace/a.out"), fault: TextFault::Binary { at: 4 } },
            ),
            ("not UTF-8", Denial::NotText { path: path(file), fault: TextFault::Encoding { at: 120 } }),
            ("no match", Denial::NoMatch { path: path(file), edit: 1, nearest: Vec::new() }),
            (
                "no match, but nearly",
                Denial::NoMatch {
                    path: path(file),
                    edit: 2,
                    nearest: vec![
                        near(7, "    let x = 1;", Difference::Spaces),
                        near(9, "LET X = 1;", Difference::Case),
                        near(12, "let x = 1;", Difference::Rest),
                    ],
                },
            ),
            (
                "several matches",
                Denial::SeveralMatches { path: path(file), edit: 1, count: 3, lines: vec![7, 12, 40] },
            ),
            (
                "many matches",
                Denial::SeveralMatches {
                    path: path(file),
                    edit: 1,
                    count: 9,
                    lines: vec![1, 2, 3, 5, 8, 13, 21, 34],
                },
            ),
            (
                "other ends of lines",
                Denial::NoMatch {
                    path: path(file),
                    edit: 1,
                    nearest: vec![near(3, "let x = 1;", Difference::LineEnds)],
                },
            ),
            ("edit of nothing", edit(EditFault::Empty)),
            ("edit that changes nothing", edit(EditFault::Same)),
            ("too many edits", edit(EditFault::TooMany)),
            (
                "glob",
                Denial::Pattern {
                    kind: PatternKind::Glob,
                    pattern: path("src/[a-"),
                    fault: PatternFault::Syntax { message: path("unclosed character class; missing ']'") },
                },
            ),
            (
                "regular expression",
                Denial::Pattern {
                    kind: PatternKind::Regex,
                    pattern: path("(a"),
                    fault: PatternFault::Syntax { message: path("unclosed group") },
                },
            ),
            (
                "long pattern",
                Denial::Pattern {
                    kind: PatternKind::Regex,
                    pattern: path("aaaa…"),
                    fault: PatternFault::TooLong { limit: 4096 },
                },
            ),
            (
                "large pattern",
                Denial::Pattern {
                    kind: PatternKind::Regex,
                    pattern: path("(x{1000}){1000}"),
                    fault: PatternFault::TooLarge { limit: 1_048_576 },
                },
            ),
            (
                "glob with many braces",
                Denial::Pattern {
                    kind: PatternKind::Glob,
                    pattern: path("{{{{…"),
                    fault: PatternFault::Braces { limit: 32 },
                },
            ),
        ]
    }

    /// Lists what the page has to say.
    fn list() -> String {
        let mut list = String::new();
        for (name, denial) in examples() {
            let json = serde_json::to_value(&denial).unwrap();
            writeln!(list, "- **{name}** (`{}`): {denial}.", json["reason"].as_str().unwrap()).unwrap();
        }
        list
    }

    #[test]
    fn the_page_of_tools_lists_every_denial_word_by_word() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(MARKS.0).unwrap();
        let (there, after) = rest.split_once(MARKS.1).unwrap();
        if std::env::var_os("GENERATE").is_some() {
            let page = [before, MARKS.0, &list(), MARKS.1, after].concat();
            return std::fs::write(&path, page).unwrap();
        }
        assert_eq!(there, list(), "`make generate` makes it");
    }

    #[test]
    fn there_is_an_example_of_each() {
        // What is new has to be added here, and above.
        let number = |denial: &Denial| match denial {
            Denial::NoPath { .. } => 0,
            Denial::Outside { .. } => 1,
            Denial::ReadOnly { .. } => 2,
            Denial::Hidden { .. } => 3,
            Denial::Protected { .. } => 4,
            Denial::Suffix { .. } => 5,
            Denial::TooLarge { .. } => 6,
            Denial::LeadsOut { .. } => 7,
            Denial::WrongKind { .. } => 8,
            Denial::NotFound { .. } => 9,
            Denial::NotText { .. } => 10,
            Denial::NoMatch { .. } => 11,
            Denial::SeveralMatches { .. } => 12,
            Denial::NoEdit { .. } => 13,
            Denial::Pattern { .. } => 14,
            Denial::Network { .. } => 15,
            Denial::Command { .. } => 16,
            Denial::NotApproved { .. } => 17,
            Denial::TooManyAttachments { .. } => 18,
            Denial::SameName { .. } => 19,
        };
        let mut numbers: Vec<usize> = examples().iter().map(|(_, denial)| number(denial)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, (0..20).collect::<Vec<_>>());
        for (name, denial) in examples() {
            let reason = denial.without_policy();
            assert!(denial.to_string().starts_with(&reason) && !reason.contains(POLICY), "{name}: {reason}");
        }
    }
}
