//! Judgement by content: whether a file that was created anew would run something outside the sandbox.
//!
//! What exists is protected by mounts (see [`crate::protect`]). What does not exist yet cannot be, without
//! leaving ghost files on the host, so it is looked at when it appears. An ordinary `git clone` passes: its
//! configuration runs nothing and its hooks are samples. What cannot be read is not given the benefit of the
//! doubt.
//!
//! Text that only persuades (instructions for another agent, a build file that somebody will run) is not
//! judged: it does nothing by itself.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::protect::table::{self, Row};

mod alias;
mod build_server;
mod git;
pub(crate) mod harmless;
mod idea;
pub mod index;
pub mod layout;
mod operation;
pub mod repository;
mod settings;
mod words;

pub use git::{Reference, references, submodules};

/// The most that is read of one file. Nothing that belongs in one of these places is larger.
pub const MAX_CONTENT: usize = 1 << 20;

/// What was found at a path, without following links.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Found {
    /// A regular file, with the mode bits of stat(2).
    File {
        /// Permissions and the set-id bits; the bits of the file type may be there too.
        mode: u32,
    },
    /// A directory. What is in it is judged by itself.
    Directory,
    /// A symbolic link.
    Link,
    /// A socket, a named pipe or a device.
    Special,
}

/// Why a file is suspicious.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Reason {
    /// A set-user-id or set-group-id file: whoever runs it runs it as its owner.
    SetId,
    /// A link, pipe, socket or device where a program outside expects a file.
    NotAFile,
    /// A directory that cannot be looked into. Git and shells find a name in it all the same.
    Hidden,
    /// Larger than [`MAX_CONTENT`].
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
    },
    /// It cannot be read in the format it should have.
    Unreadable {
        /// The format.
        format: Format,
    },
    /// An index of git that leaves changes of files out of `git status`.
    HidesChanges {
        /// How many files it hides that it did not hide before.
        files: usize,
        /// One of them.
        example: String,
    },
    /// It lists a path that git would write to, though no work tree has it.
    WritesElsewhere {
        /// The path.
        example: String,
    },
    /// A git hook that is not a sample. It counts without the executable bit too, which costs one `chmod`.
    Hook,
    /// It makes git look for its configuration and hooks somewhere else.
    GitElsewhere,
    /// A setting that runs a program, or makes one run without being asked about, or that is not among those
    /// that are known to be harmless.
    Setting {
        /// Its key, as the file's own manual writes it.
        key: String,
    },
    /// A file that a shell runs when it starts.
    StartUp,
    /// A file that some other program runs, or that says what it runs.
    Run {
        /// The program.
        program: String,
    },
    /// It lies at a path that `[protect] paths` names, where nothing was.
    Listed,
    /// It lies among git's data, and git makes no such file.
    NotOfGit,
    /// It has another name: what a program writes there is written here.
    HardLinked,
    /// A `sandbox.toml`: it has no effect until it is trusted.
    Policy,
    /// A link stood at a protected path and does not any more, or leads elsewhere.
    LinkReplaced,
    /// It makes a program obey something that was there before, and that nothing obeyed.
    MakesObeyed {
        /// What that is.
        path: String,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetId => f.write_str("it is a set-id file, which runs as its owner"),
            Self::NotAFile => f.write_str("a link or special file stands where a program expects a file"),
            Self::Hidden => f.write_str("it cannot be looked into, so it hides what it holds"),
            Self::TooLarge { bytes } => {
                write!(f, "its {bytes} bytes are too many to judge; at most {MAX_CONTENT} are read")
            }
            Self::Unreadable { format } => write!(f, "it cannot be read as {format}"),
            Self::HidesChanges { files, example } => write!(
                f,
                "it hides changes of {files} more files from `git status` (skip-worktree or assume-unchanged), such as \
                 {example}; `git ls-files -v` lists them"
            ),
            Self::WritesElsewhere { example } => {
                write!(f, "it has git write to `{example}`, which is no place for git to write to")
            }
            Self::Hook => f.write_str("it is a git hook that is not a sample"),
            Self::GitElsewhere => f.write_str("it makes git take its configuration from somewhere else"),
            Self::Setting { key } => write!(f, "its setting `{key}` may run a program"),
            Self::StartUp => f.write_str("a shell runs it when it starts"),
            Self::Run { program } => write!(f, "{program} would run it, or what it says"),
            Self::NotOfGit => {
                f.write_str("git makes nothing of that name among its data, so another program may obey it")
            }
            Self::HardLinked => {
                f.write_str("it has another name, so what a program writes there is written here")
            }
            Self::Listed => f.write_str(
                "`[protect] paths` or your own configuration of git names it, and it was not there",
            ),
            Self::MakesObeyed { path } => {
                write!(f, "it makes a program obey {path}, which was there before and nothing obeyed")
            }
            Self::LinkReplaced => f.write_str("the link that was protected here was replaced or removed"),
            Self::Policy => f.write_str("it is a sandbox policy, which has no effect until it is trusted"),
        }
    }
}

/// The format a file should have.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A configuration of git, see git-config(1).
    Git,
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML, one mapping without anything unusual at its top.
    Yaml,
    /// Lines of `key = value`.
    Ini,
    /// Text in UTF-8.
    Text,
    /// An index of git, see gitformat-index(5).
    Index,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Git => "a configuration of git",
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "plain YAML",
            Self::Ini => "lines of `key = value`",
            Self::Text => "text",
            Self::Index => "an index of git",
        })
    }
}

/// Whether the content at this path matters, so that a caller need not read every file.
pub fn concerns(relative: &Path) -> bool {
    Place::of(relative).is_some()
}

/// Whether no program obeys anything in a directory, so that a caller need not look into it.
pub fn is_inert(relative: &Path) -> bool {
    let folded = relative.to_string_lossy().to_ascii_lowercase();
    let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    table::is_inert(&components)
}

/// Judges what was created at a path, seen from a boundary's root or from a repository's.
///
/// `content` may be cut off after [`MAX_CONTENT`] and one more byte; where nothing at that path concerns
/// anybody ([`concerns`]) it may be empty. `None` means that nothing was found against it.
pub fn judge(relative: &Path, found: Found, content: &[u8]) -> Option<Reason> {
    let place = Place::of(relative);
    let mode = match found {
        Found::Directory => return None,
        Found::Link if leads_to_protected(relative) => return Some(Reason::NotAFile),
        Found::Link | Found::Special => {
            let expected = !matches!(place, None | Some(Place::LooseConfig));
            return expected.then_some(Reason::NotAFile);
        }
        Found::File { mode } => mode,
    };
    if mode & 0o6000 != 0 {
        return Some(Reason::SetId);
    }
    let place = place?;
    if content.len() > MAX_CONTENT {
        return Some(Reason::TooLarge { bytes: content.len() });
    }
    match place {
        Place::Hook => Some(Reason::Hook),
        Place::GitConfig => git::judge_config(content, git::Worktree::Own),
        Place::SubmoduleConfig => git::judge_config(content, git::Worktree::Elsewhere),
        // Something else may be called `config` too, so only a readable configuration of git counts.
        Place::LooseConfig => git::judge_config(content, git::Worktree::Elsewhere)
            .filter(|reason| !matches!(reason, Reason::Unreadable { .. })),
        Place::GitModules => git::judge_modules(content),
        Place::GitFile => git::judge_git_file(content),
        Place::Operation => operation::judge(&name_of(relative), content),
        Place::Remote => {
            (!content.trim_ascii().is_empty()).then(|| Reason::Run { program: "git".to_owned() })
        }
        Place::CommonDir => Some(Reason::GitElsewhere),
        Place::WorktreeCommonDir => (content.trim_ascii() != b"../..").then_some(Reason::GitElsewhere),
        Place::Policy => Some(Reason::Policy),
        Place::Listed(row, listed) => listed.judge(content, row),
    }
}

/// How the content of a new file is judged.
#[derive(Debug)]
pub(crate) enum Content {
    /// Nothing in it runs anything by itself.
    Harmless,
    /// It is run, or says what is: whatever it holds counts.
    Run,
    /// A shell runs it when it starts.
    StartUp,
    /// A configuration of git.
    GitConfig,
    /// What git knows of submodules.
    GitModules,
    /// Settings, of which only these keys are harmless.
    Settings(Format, &'static harmless::Keys),
    /// The same in JSON, of which opencode replaces parts before it reads it.
    Opencode(&'static harmless::Keys),
    /// Lines whose first word is one of these.
    Words(&'static [&'static str]),
    /// Names of programs and their versions, which may have one of these before them.
    Versions(&'static [&'static str]),
    /// Versions of Python: everything else may be a directory of the project.
    PythonVersions,
    /// Arguments of ripgrep.
    Ripgrep,
    /// A prompt for an agent, with a header.
    Prompt,
    /// A file of a project of `JetBrains`.
    Idea,
    /// What starts a build server.
    BuildServer,
    /// A `sandbox.toml`.
    Policy,
}

impl Content {
    fn judge(&self, content: &[u8], row: &Row) -> Option<Reason> {
        let is_empty = content.trim_ascii().is_empty();
        match self {
            Self::Harmless => None,
            Self::Run => (!is_empty).then(|| Reason::Run { program: row.program.to_owned() }),
            Self::StartUp => (!is_empty).then_some(Reason::StartUp),
            Self::GitConfig => git::judge_config(content, git::Worktree::Own),
            Self::GitModules => git::judge_modules(content),
            Self::Settings(format, keys) => settings::judge(content, *format, keys),
            Self::Opencode(keys) => settings::judge_opencode(content, keys),
            Self::Words(harmless) => settings::judge_words(content, harmless),
            Self::Versions(beginnings) => settings::judge_versions(content, beginnings),
            Self::PythonVersions => settings::judge_python_versions(content),
            Self::Ripgrep => settings::judge_ripgrep(content),
            Self::Prompt => settings::judge_prompt(content),
            Self::Idea => idea::judge(content),
            Self::BuildServer => build_server::judge(content),
            Self::Policy => Some(Reason::Policy),
        }
    }
}

/// What of a file's content a program obeys: where this is the same, the same is run. Of a configuration of git these are the
/// settings that run something, so that `git config user.name` changes nothing; else it is all of it.
pub fn essence(relative: &Path, content: &[u8]) -> Vec<u8> {
    match Place::of(relative) {
        Some(Place::GitConfig | Place::Listed(_, Content::GitConfig)) => {
            git::executing(content, git::Worktree::Own)
        }
        Some(Place::SubmoduleConfig | Place::LooseConfig) => {
            git::executing(content, git::Worktree::Elsewhere)
        }
        _ => content.to_vec(),
    }
}

/// Which program outside would obey the file.
#[derive(Clone, Copy, Debug)]
enum Place {
    Hook,
    GitConfig,
    /// Of a submodule, where git itself says where the work tree is.
    SubmoduleConfig,
    /// A file called `config` anywhere: a bare repository needs no `.git`.
    LooseConfig,
    GitModules,
    /// A `.git` that is a file.
    GitFile,
    /// A remote in one of the forms from before there was a configuration.
    Remote,
    CommonDir,
    WorktreeCommonDir,
    /// In a directory in which git stores an interrupted operation.
    Operation,
    Policy,
    /// In this row of the table of protected paths.
    Listed(&'static Row, &'static Content),
}

impl Place {
    fn of(relative: &Path) -> Option<Self> {
        // Upper and lower case are the same: on some file systems they are.
        let folded = relative.to_string_lossy().to_ascii_lowercase();
        let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
        let (name, directories) = components.split_last()?;
        if let Some(git) = directories.iter().rposition(|directory| *directory == ".git") {
            return Self::in_git(name, &directories[git + 1..]);
        }
        let bare = matches!(directories, [.., repository, "hooks"] if has_extension(repository, "git"));
        if bare && !is_sample(name) {
            return Some(Self::Hook);
        }
        match components.as_slice() {
            [.., ".git"] => return Some(Self::GitFile),
            [.., ".gitmodules"] => return Some(Self::GitModules),
            [.., "sandbox.toml"] => return Some(Self::Policy),
            _ => {}
        }
        match table::judged(&components) {
            Some((_, Content::Harmless)) => None,
            Some((row, content)) => Some(Self::Listed(row, content)),
            None => (*name == "config").then_some(Self::LooseConfig),
        }
    }

    /// A file in `.git`, by the directories between.
    fn in_git(name: &str, directories: &[&str]) -> Option<Self> {
        // Where the path of a submodule is asked for, its name stands for one directory.
        if let ["remotes" | "branches", ..] | ["modules", _, "remotes" | "branches", ..] = directories {
            return Some(Self::Remote);
        }
        // Branches and tags may be called anything.
        if directories.iter().any(|directory| matches!(*directory, "refs" | "logs")) {
            return None;
        }
        let nested = matches!(directories, ["modules" | "worktrees", ..]);
        let below = if nested { directories.get(2..).unwrap_or_default() } else { directories };
        if let Some((row, content)) = table::judged(&[&[".git"], below, &[name]].concat()) {
            return Some(Self::Listed(row, content));
        }
        match (name, directories) {
            (name, ["hooks"]) if !is_sample(name) => Some(Self::Hook),
            (name, [.., "hooks"]) if nested && !is_sample(name) => Some(Self::Hook),
            ("config" | "config.worktree", []) => Some(Self::GitConfig),
            ("config" | "config.worktree", _) if nested => Some(Self::SubmoduleConfig),
            ("config", _) => Some(Self::LooseConfig),
            (_, [.., directory]) if operation::DIRECTORIES.contains(directory) => Some(Self::Operation),
            ("commondir", [.., "worktrees", _]) => Some(Self::WorktreeCommonDir),
            ("commondir", _) => Some(Self::CommonDir),
            _ => None,
        }
    }
}

/// Whether a link here would lead a program to orders that lie elsewhere: in `.git`, or in the place of a
/// protected path or of a directory above one.
fn leads_to_protected(relative: &Path) -> bool {
    let folded = relative.to_string_lossy().to_ascii_lowercase();
    let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    components.contains(&".git") || table::leads_to_protected(&components)
}

/// The last name of a path, in lower case.
fn name_of(relative: &Path) -> String {
    relative.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

fn is_sample(name: &str) -> bool {
    has_extension(name, "sample")
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}
