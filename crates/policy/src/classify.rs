//! Classification by content: whether a file that is newly created would run something outside the sandbox.
//!
//! What exists is protected by mounts (see [`crate::protect`]). What does not exist yet cannot be, without
//! leaving ghost files on the host, so it is looked at when it appears. An ordinary `git clone` passes: its
//! configuration runs nothing and its hooks are samples. What cannot be read is not given the benefit of the
//! doubt.
//!
//! Text that only persuades (instructions for another agent, a build file that a person will run) is not
//! classified: it does nothing by itself.

use std::path::{Path, PathBuf};

pub use self::reason::{MAX_CONTENT, Reason};
use crate::protect::table;
use crate::protect::table::content::ContentRule;
pub use crate::protect::table::content::FileFormat;
use crate::protect::table::row::ProtectRow;
use crate::text::fold;

pub mod ambiguous;
pub mod annex;
mod attributes;
mod build_server;
mod clangd;
mod compile_commands;
mod compile_options;
mod dagger;
mod dotenv;
mod editorconfig;
mod entire;
pub mod file_lists;
mod git;
mod hook;
mod idea;
pub mod index;
mod json;
pub mod layout;
mod less;
mod mercurial;
pub mod objects;
mod operation;
mod pasted;
mod prompt;
mod reason;
pub mod reftable;
pub mod repository;
mod script;
mod settings;
mod value;
mod versions;
mod within;
mod words;
mod yaml;

pub use attributes::{converting_lines, lines_about_filter};
pub use git::{
    BesideKind, IdentityEntry, Reference, beyond_prefix, does_without_work_tree, has_sparse_checkout,
    identity, is_configuration, names_relative, references, submodules,
};
pub use hook::configurations_of_hook;

/// The directory in which a program is classified that a configuration of git names, wherever it lies. There is none of this name.
pub const PROGRAMS: &str = ".git/programs";

/// How names end that git makes in its directory, see gitrepository-layout(5).
const GIT_EXTENSIONS: [&str; 12] =
    ["bitmap", "graph", "idx", "ipc", "keep", "lock", "midx", "mtimes", "pack", "pid", "rev", "sample"];

/// What was found at a path, without following links.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum EntryType {
    /// A regular file, with the mode bits of stat(2).
    File {
        /// Permissions and the set-id bits; the bits of the file type may be there too.
        mode: u32,
    },
    /// A directory. What is in it is classified by itself.
    Directory,
    Link,
    /// A socket, a named pipe or a device.
    Special,
}

/// Returns whether the content at this path matters, so that a caller need not read every file.
pub fn concerns(relative: &Path) -> bool {
    FileRole::of(relative).is_some() || FileRole::above_git(relative).is_some()
}

/// Returns how much is read of the file at this path. Longer ones are not classified, except for text, of which the beginning counts.
pub fn most_of(relative: &Path) -> usize {
    match FileRole::of(relative) {
        Some(FileRole::Listed(_, ContentRule::CompileCommands)) => compile_commands::MOST,
        Some(FileRole::Listed(_, ContentRule::Text)) => script::MOST,
        _ => MAX_CONTENT,
    }
}

/// Returns whether no program obeys anything in a directory, so that a caller need not look into it.
pub fn is_inert(relative: &Path) -> bool {
    let folded = fold::path(relative);
    let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    table::is_inert(&components)
}

/// Classifies what was created at a path, seen from a boundary's root or from a repository's.
///
/// `content` may be cut off after [`most_of`] it and one more byte; where nothing at that path concerns
/// anybody ([`concerns`]) it may be empty. `None` means that nothing was found against it.
pub fn classify(relative: &Path, found: EntryType, content: &[u8]) -> Option<Reason> {
    classify_among(relative, found, content, &[])
}

/// Classifies what was created at a path as [`classify`] does, where these directories of the host are shared and may be written: what
/// lies in one is not the system's, wherever that is.
pub fn classify_among(
    relative: &Path,
    found: EntryType,
    content: &[u8],
    shared: &[PathBuf],
) -> Option<Reason> {
    let place = FileRole::of(relative);
    let mode = match found {
        EntryType::Directory => {
            return match place {
                Some(FileRole::Listed(row, ContentRule::Exists)) => {
                    Some(Reason::Run { program: row.program.to_owned() })
                }
                _ => None,
            };
        }
        // A build has links to these, and what one leads to is classified where it lies.
        EntryType::Link if matches!(place, Some(FileRole::Listed(_, rule)) if rule.is_of_any_build()) => {
            return None;
        }
        EntryType::Link if leads_to_protected(relative) => return Some(Reason::NotAFile),
        EntryType::Link | EntryType::Special => {
            let expected = !matches!(place, None | Some(FileRole::LooseConfig));
            return expected.then_some(Reason::NotAFile);
        }
        EntryType::File { mode } => mode,
    };
    if mode & 0o6000 != 0 {
        return Some(Reason::SetId);
    }
    // In a directory that looks like git's, within one of another program, both decide.
    let above = FileRole::above_git(relative).filter(|_| !is_reference(content));
    let mut roles = place.into_iter().chain(above);
    let is_text = |role| matches!(role, FileRole::Listed(_, ContentRule::Text));
    if content.len() > most_of(relative) && !roles.clone().all(is_text) {
        return Some(Reason::TooLarge { bytes: content.len() });
    }
    roles.find_map(|role| classify_role(role, relative, content, shared))
}

/// Classifies content by which program would obey it.
fn classify_role(role: FileRole, relative: &Path, content: &[u8], shared: &[PathBuf]) -> Option<Reason> {
    match role {
        FileRole::Hook => Some(Reason::Hook),
        FileRole::Program => Some(Reason::Run { program: "git".to_owned() }),
        FileRole::GitConfig => git::classify_config(content, git::ConfigKind::Repository),
        FileRole::SubmoduleConfig => git::classify_config(content, git::ConfigKind::Submodule),
        // Something else may be called `config` too, so only a readable configuration of git counts.
        FileRole::LooseConfig => git::classify_config(content, git::ConfigKind::Loose)
            .filter(|reason| !matches!(reason, Reason::Unreadable { .. })),
        FileRole::GitModules => git::classify_modules(content),
        FileRole::GitFile => git::classify_git_file(content),
        FileRole::Operation => operation::classify(&name_of(relative), content),
        FileRole::Remote => {
            let is_listed = || repository::is_hostile_remote(&Path::new("remotes").join(name_of(relative)));
            (!content.trim_ascii().is_empty() || is_listed())
                .then(|| Reason::Run { program: "git".to_owned() })
        }
        FileRole::CommonDir => Some(Reason::GitElsewhere),
        FileRole::WorktreeCommonDir => (content.trim_ascii() != b"../..").then_some(Reason::GitElsewhere),
        FileRole::Policy => Some(Reason::Policy),
        FileRole::Listed(_, ContentRule::DotEnv) if dotenv::is_unloaded(&name_of(relative)) => None,
        FileRole::Listed(row, listed) => classify_content(listed, content, row, shared),
    }
}

/// Classifies content by the rule of its row.
fn classify_content(
    rule: &ContentRule,
    content: &[u8],
    row: &ProtectRow,
    shared: &[PathBuf],
) -> Option<Reason> {
    let is_empty = content.trim_ascii().is_empty();
    let is_cut = matches!(rule, ContentRule::Text) && content.len() > script::MOST;
    if rule.is_of_text() && script::is_one(content, is_cut) {
        return Some(Reason::Run { program: row.program.to_owned() });
    }
    match rule {
        ContentRule::Harmless | ContentRule::Text => None,
        ContentRule::Exists => Some(Reason::Run { program: row.program.to_owned() }),
        ContentRule::Run => (!is_empty).then(|| Reason::Run { program: row.program.to_owned() }),
        ContentRule::StartUp => (!is_empty).then_some(Reason::StartUp),
        ContentRule::GitConfig => git::classify_config(content, git::ConfigKind::Repository),
        ContentRule::GitModules => git::classify_modules(content),
        ContentRule::Settings(format, keys) => settings::classify(content, *format, keys),
        ContentRule::Opencode(keys) => settings::classify_opencode(content, keys),
        ContentRule::Content(harmless) => {
            let is_one =
                is_empty || harmless.iter().any(|harmless| content.trim_ascii() == harmless.as_bytes());
            (!is_one).then(|| Reason::Run { program: row.program.to_owned() })
        }
        ContentRule::Versions(beginnings) => versions::classify(content, beginnings),
        ContentRule::PythonVersions => versions::classify_python(content),
        ContentRule::HgPaths(directory) => mercurial::classify_transaction(content, directory),
        ContentRule::Requirements(formats) => mercurial::classify_requirements(content, formats),
        ContentRule::LargefilesDirstate => mercurial::classify_dirstate(content, row.program),
        ContentRule::ShownName => pasted::classify_name(content),
        ContentRule::ObjectId(words) => {
            let content = content.trim_ascii();
            let is_one = is_empty
                || repository::is_object_id(content)
                || words.iter().any(|word| content == word.as_bytes());
            let example = || String::from_utf8_lossy(content).into_owned();
            (!is_one).then(|| Reason::NamesPath { program: row.program.to_owned(), example: example() })
        }
        ContentRule::PatchNames => pasted::classify_patches(content),
        ContentRule::EditedHistory => {
            let runs = !operation::is_plain_edited_history(content);
            runs.then(|| Reason::Run { program: row.program.to_owned() })
        }
        ContentRule::Prompt(keys) => prompt::classify(content, keys),
        ContentRule::Less => less::classify(content),
        ContentRule::Idea => idea::classify(content),
        ContentRule::BuildServer => build_server::classify(content),
        ContentRule::CompileCommands => compile_commands::classify(content, shared),
        ContentRule::Clangd => clangd::classify(content, shared),
        ContentRule::CompileFlags => clangd::classify_flags(content, shared),
        ContentRule::Dagger => dagger::classify(content),
        ContentRule::EditorConfig => editorconfig::classify(content),
        ContentRule::DotEnv => dotenv::classify(content),
        ContentRule::WorkTreePaths(format) => within::classify(content, *format, row.program),
        ContentRule::EntireSession => entire::classify(content, row.program, shared),
        ContentRule::GitAttributes => annex::classify_attributes(content),
        ContentRule::GitDrivers => attributes::classify(content),
        ContentRule::AnnexRemotes => annex::classify_remotes(content),
        ContentRule::Policy => Some(Reason::Policy),
    }
}

/// Returns what of a file's content a program obeys: where this is the same, the same is run. Of a configuration of git these are the
/// settings that count, so that `git config user.name` changes nothing; else it is all of it.
/// What lies in one of these directories of the host, which are shared and may be written, is not the system's.
pub fn essence(relative: &Path, content: &[u8], shared: &[PathBuf]) -> Vec<u8> {
    if content.len() > most_of(relative) {
        return content.to_vec();
    }
    match FileRole::of(relative) {
        Some(FileRole::GitConfig | FileRole::Listed(_, ContentRule::GitConfig)) => {
            git::counting(content, git::ConfigKind::Repository)
        }
        Some(FileRole::Listed(_, ContentRule::CompileCommands)) => {
            compile_commands::essence(content, shared).unwrap_or_else(|| content.to_vec())
        }
        Some(FileRole::Listed(_, ContentRule::Clangd)) => {
            clangd::essence(content, shared).unwrap_or_else(|| content.to_vec())
        }
        Some(FileRole::Listed(_, ContentRule::CompileFlags)) => clangd::essence_of_flags(content, shared),
        Some(FileRole::Listed(_, ContentRule::EditorConfig)) => editorconfig::essence(content),
        Some(FileRole::Listed(_, ContentRule::GitAttributes)) => annex::essence_of_attributes(content),
        Some(FileRole::Listed(_, ContentRule::GitDrivers)) => attributes::essence(content),
        Some(FileRole::SubmoduleConfig) => git::counting(content, git::ConfigKind::Submodule),
        Some(FileRole::LooseConfig) => git::counting(content, git::ConfigKind::Loose),
        _ => content.to_vec(),
    }
}

/// Lists what is suspicious in a file that stays writable, each with the name of its variable or setting: where all of this was there
/// before, nothing is new, in whatever order it is. For every other file, and for one that cannot be read, the list is empty.
pub fn parts(relative: &Path, content: &[u8]) -> Vec<(String, Vec<u8>)> {
    match FileRole::of(relative) {
        _ if content.len() > most_of(relative) => Vec::new(),
        Some(FileRole::Listed(_, ContentRule::DotEnv)) => dotenv::parts(content),
        Some(FileRole::Listed(_, ContentRule::Dagger)) => dagger::parts(content),
        // Its program writes it again and again, with more of what is harmless.
        Some(FileRole::Listed(row, ContentRule::Settings(format, keys))) if row.stays_writable() => {
            settings::parts(content, *format, keys)
        }
        _ => Vec::new(),
    }
}

/// Returns whether a file holds what git writes into a branch, which may be called anything.
fn is_reference(content: &[u8]) -> bool {
    repository::is_object_id(content.trim_ascii())
}

/// Compares a configuration of git with the one in whose place it is, and returns which of its settings are new, gone, or have another value, but
/// for what git and other programs write by themselves.
pub fn compare(relative: &Path, before: &[u8], now: &[u8]) -> Option<Reason> {
    let place = FileRole::of(relative)?;
    if !matches!(place, FileRole::GitConfig | FileRole::SubmoduleConfig) {
        return None;
    }
    let settings = git::changed(before, now);
    (!settings.is_empty()).then_some(Reason::Reconfigured { settings })
}

/// Returns the setting of a configuration of git that comes beside another one, and holds in the place of the other's: any but those of a work
/// tree alone.
pub fn overrides(content: &[u8], kind: BesideKind) -> Option<Reason> {
    git::overriding(content, kind).map(|key| Reason::Setting { key })
}

/// Which program outside would obey the file.
#[derive(Clone, Copy, Debug)]
enum FileRole {
    Hook,
    /// What a configuration of git names as a program, or lies in a directory that it names: it may have any name.
    Program,
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
    Listed(&'static ProtectRow, &'static ContentRule),
}

impl FileRole {
    fn of(relative: &Path) -> Option<Self> {
        // Upper and lower case are the same: on some file systems they are.
        let folded = fold::path(relative);
        let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
        let (name, directories) = components.split_last()?;
        if let Some(git) = directories.iter().rposition(|directory| *directory == ".git") {
            return Self::in_git(name, &directories[git + 1..]);
        }
        let bare = directories.iter().rposition(|directory| has_extension(directory, "git"));
        if bare.is_some_and(|git| is_hook(name, &directories[git + 1..])) {
            return Some(Self::Hook);
        }
        match components.as_slice() {
            [.., ".git"] => return Some(Self::GitFile),
            [.., ".gitmodules"] => return Some(Self::GitModules),
            [.., "sandbox.toml"] => return Some(Self::Policy),
            _ => {}
        }
        match table::content_rule(&components) {
            // A bare repository may lie among what is harmless, too.
            Some((_, ContentRule::Harmless)) | None => (*name == "config").then_some(Self::LooseConfig),
            Some((row, content)) => Some(Self::Listed(row, content)),
        }
    }

    /// Returns the role that a file in a `.git` has for the program whose directory that lies in: some of these programs search theirs for
    /// names that end in a certain way, wherever they are. Names that git makes do not end so. Among its commands, Droid takes any script.
    fn above_git(relative: &Path) -> Option<Self> {
        let folded = fold::path(relative);
        let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
        let is_within = components.iter().skip(1).any(|name| *name == ".git");
        let (row, content) = table::content_rule(&components).filter(|_| is_within)?;
        let ends_otherwise = || {
            let extension = Path::new(components.last()?).extension()?.to_str()?;
            let is_short =
                extension.len() <= 6 && extension.starts_with(|first: char| first.is_ascii_alphabetic());
            Some(is_short && !GIT_EXTENSIONS.contains(&extension))
        };
        match content {
            ContentRule::Harmless => None,
            ContentRule::Run | ContentRule::Exists if ends_otherwise() != Some(true) => {
                components.contains(&"commands").then_some(Self::Listed(row, &ContentRule::Text))
            }
            _ => Some(Self::Listed(row, content)),
        }
    }

    /// Returns a file in `.git`, by the directories between.
    fn in_git(name: &str, directories: &[&str]) -> Option<Self> {
        if directories.first() == Some(&"programs") {
            return Some(Self::Program);
        }
        // Where the path of a submodule is asked for, its name stands for one directory.
        if let ["remotes" | "branches", ..] | ["modules", _, "remotes" | "branches", ..] = directories {
            return Some(Self::Remote);
        }
        let nested = matches!(directories, ["modules" | "worktrees", ..]);
        let below = if nested { directories.get(2..).unwrap_or_default() } else { directories };
        if is_hook(name, below) {
            return Some(Self::Hook);
        }
        // Branches and tags may be called anything.
        if directories.iter().any(|directory| matches!(*directory, "refs" | "logs")) {
            return None;
        }
        if let Some((row, content)) = table::content_rule(&[&[".git"], below, &[name]].concat()) {
            return Some(Self::Listed(row, content));
        }
        match (name, directories) {
            (name, [.., "hooks"]) if nested && !is_sample(name) => Some(Self::Hook),
            // Git writes no `core.worktree` for a linked work tree.
            ("config" | "config.worktree", []) | ("config.worktree", [.., "worktrees", _]) => {
                Some(Self::GitConfig)
            }
            ("config" | "config.worktree", _) if nested => Some(Self::SubmoduleConfig),
            ("config", _) => Some(Self::LooseConfig),
            (_, [.., directory]) if operation::DIRECTORIES.contains(directory) => Some(Self::Operation),
            ("commondir", [.., "worktrees", _]) => Some(Self::WorktreeCommonDir),
            ("commondir", _) => Some(Self::CommonDir),
            _ => None,
        }
    }
}

/// Returns whether a link here would lead a program to settings that lie elsewhere: in `.git`, or in the place of a
/// protected path or of a directory above one.
pub fn leads_to_protected(relative: &Path) -> bool {
    let folded = fold::path(relative);
    let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    components.contains(&".git") || table::leads_to_protected(&components)
}

/// Returns the last name of a path, in lower case.
fn name_of(relative: &Path) -> String {
    fold::path(Path::new(relative.file_name().unwrap_or_default()))
}

/// Returns whether git runs a file in its directory, by the directories between, or a hook that runs what lies in a directory beside it
/// (`hooks/pre-commit.d/x`), samples included.
fn is_hook(name: &str, directories: &[&str]) -> bool {
    match directories {
        ["hooks"] => !is_sample(name),
        ["hooks", ..] => true,
        _ => false,
    }
}

fn is_sample(name: &str) -> bool {
    has_extension(name, "sample")
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}
