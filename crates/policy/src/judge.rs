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

mod git;
mod settings;

pub use git::{Reference, references};

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
    /// A git hook that is not a sample. It counts without the executable bit too, which costs one `chmod`.
    Hook,
    /// It makes git look for its configuration and hooks somewhere else.
    GitElsewhere,
    /// A setting that runs a program, or makes one run without being asked about.
    Setting {
        /// Its key, as the file's own manual writes it.
        key: String,
    },
    /// A file that a shell runs when it starts.
    StartUp,
    /// A `sandbox.toml`: it has no effect until it is trusted.
    Policy,
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
            Self::Hook => f.write_str("it is a git hook that is not a sample"),
            Self::GitElsewhere => f.write_str("it makes git take its configuration from somewhere else"),
            Self::Setting { key } => write!(f, "its setting `{key}` can run a program"),
            Self::StartUp => f.write_str("a shell runs it when it starts"),
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
    /// Text in UTF-8.
    Text,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Git => "a configuration of git",
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Text => "text",
        })
    }
}

/// Whether the content at this path matters, so that a caller need not read every file.
pub fn concerns(relative: &Path) -> bool {
    Place::of(relative).is_some()
}

/// Judges what was created at a path, seen from a boundary's root or from a repository's.
///
/// `content` may be cut off after [`MAX_CONTENT`] and one more byte; where nothing at that path concerns
/// anybody ([`concerns`]) it may be empty. `None` means that nothing was found against it.
pub fn judge(relative: &Path, found: Found, content: &[u8]) -> Option<Reason> {
    let place = Place::of(relative);
    let mode = match found {
        Found::Directory => return None,
        Found::Link if leads_to_orders(relative) => return Some(Reason::NotAFile),
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
        Place::CommonDir => Some(Reason::GitElsewhere),
        Place::WorktreeCommonDir => (content.trim_ascii() != b"../..").then_some(Reason::GitElsewhere),
        Place::StartUp => (!content.trim_ascii().is_empty()).then_some(Reason::StartUp),
        Place::Ripgrep => settings::judge_ripgrep(content),
        Place::Json(keys) => settings::judge_json(content, keys),
        Place::Toml(keys) => settings::judge_toml(content, keys),
        Place::Prompt => settings::judge_prompt(content),
        Place::Idea => settings::judge_idea(content),
        Place::Policy => Some(Reason::Policy),
    }
}

/// Which program outside would obey the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
    CommonDir,
    WorktreeCommonDir,
    StartUp,
    Ripgrep,
    Json(&'static settings::Keys),
    Toml(&'static settings::Keys),
    Prompt,
    Idea,
    Policy,
}

/// What a shell, or `direnv` for it, runs when it starts.
const START_UP: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".envrc",
    ".kshrc",
    ".login",
    ".logout",
    ".profile",
    ".tcshrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Directories in which editors, agents and shells look for orders.
const DIRECTORIES_OF_ORDERS: &[&str] =
    &[".agents", ".claude", ".codex", ".config", ".cursor", ".gemini", ".idea", ".vscode"];

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
            [.., ".git"] => Some(Self::GitFile),
            [.., ".gitmodules"] => Some(Self::GitModules),
            [.., "sandbox.toml"] => Some(Self::Policy),
            [".gitconfig"] | [".config", "git", "config"] => Some(Self::GitConfig),
            [name] if START_UP.contains(name) => Some(Self::StartUp),
            [".config", "fish", .., name] if has_extension(name, "fish") => Some(Self::StartUp),
            [".ripgreprc"] => Some(Self::Ripgrep),
            [".vscode", "tasks.json"] => Some(Self::Json(&settings::VSCODE_TASKS)),
            [".vscode", "settings.json"] => Some(Self::Json(&settings::VSCODE)),
            [".mcp.json"] => Some(Self::Json(&settings::SERVERS)),
            [".vscode" | ".cursor" | ".agents", .., name] if has_extension(name, "json") => {
                Some(Self::Json(&settings::SERVERS))
            }
            [".claude" | ".gemini" | ".codex", .., name] if has_extension(name, "json") => {
                Some(Self::Json(&settings::AGENT))
            }
            [".codex" | ".gemini" | ".agents", .., name] if has_extension(name, "toml") => {
                Some(Self::Toml(&settings::AGENT))
            }
            [".claude", .., name] if has_extension(name, "md") => Some(Self::Prompt),
            [".idea", .., name] if has_extension(name, "xml") => Some(Self::Idea),
            [.., "config"] => Some(Self::LooseConfig),
            _ => None,
        }
    }

    /// A file in `.git`, by the directories between.
    fn in_git(name: &str, directories: &[&str]) -> Option<Self> {
        // Branches and tags may be called anything.
        if directories.iter().any(|directory| matches!(*directory, "refs" | "logs")) {
            return None;
        }
        let nested = matches!(directories, ["modules" | "worktrees", ..]);
        match (name, directories) {
            (name, ["hooks"]) if !is_sample(name) => Some(Self::Hook),
            (name, [.., "hooks"]) if nested && !is_sample(name) => Some(Self::Hook),
            ("config" | "config.worktree", []) => Some(Self::GitConfig),
            ("config" | "config.worktree", _) if nested => Some(Self::SubmoduleConfig),
            ("config", _) => Some(Self::LooseConfig),
            ("commondir", [.., "worktrees", _]) => Some(Self::WorktreeCommonDir),
            ("commondir", _) => Some(Self::CommonDir),
            _ => None,
        }
    }
}

/// Whether a link here would lead a program to orders that lie elsewhere: in `.git`, or in the place of a
/// whole directory of them.
fn leads_to_orders(relative: &Path) -> bool {
    let folded = relative.to_string_lossy().to_ascii_lowercase();
    DIRECTORIES_OF_ORDERS.contains(&folded.as_str()) || folded.split('/').any(|name| name == ".git")
}

fn is_sample(name: &str) -> bool {
    has_extension(name, "sample")
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}
