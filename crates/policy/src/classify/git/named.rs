//! What a setting of git names: hooks, other configurations, repositories, and programs with their scripts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::commands;
use super::executing::is_known_to_run;
use super::harmless;
use super::syntax::{ConfigEntry, read};
use super::values::{Source, source};

/// A path that a configuration names and git obeys, as it stands there: relative or absolute.
///
/// One that begins with `~` lies in a home directory. A path that begins with `%(prefix)/` lies where git is installed, and is none,
/// unless `..` leads out of there: see [`beyond_prefix`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reference {
    /// A directory of hooks. Relative to the root of the work tree, or to a bare repository.
    Hooks(PathBuf),
    /// Another configuration. Relative to the directory of the one that names it.
    Configuration(PathBuf),
    /// What may be a program, or a script for one. Relative to the root of the work tree.
    Program(PathBuf),
    /// What may be a file that a program takes for its configuration or a script, and is no directory. Relative to the root of the work
    /// tree.
    File(PathBuf),
    /// The work tree. Relative to the directory in which git keeps its data.
    WorkTree(PathBuf),
    /// Another repository, whose hooks run when something is pushed to it. Relative to the root of the work tree, or to a bare
    /// repository.
    Repository(PathBuf),
}

/// What stands for the directory where git is installed, at the beginning of a path, see git-config(1), "pathname".
const PREFIX: &str = "%(prefix)";

/// Returns what follows the `..` by which a path leads out of the directory where git is installed, if one does.
///
/// Where that directory is, only git knows. So the path may lead from any directory to what is returned here.
pub fn beyond_prefix(path: &Path) -> Option<PathBuf> {
    let within: Vec<Component<'_>> = path.strip_prefix(PREFIX).ok()?.components().collect();
    let mut depth = 0_usize;
    let mut after = None;
    for (at, part) in within.iter().enumerate() {
        match part {
            Component::ParentDir if depth == 0 => after = Some(at + 1),
            Component::ParentDir => depth -= 1,
            // What comes later is looked up from there, where links count.
            _ if after.is_some() => break,
            _ => depth += 1,
        }
    }
    Some(within[after?..].iter().collect())
}

/// Returns whether a path is where git is installed, or begins there and leads out.
fn is_below_prefix(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(b"%(prefix)/")
}

/// Returns the paths that a configuration names and git obeys, see git-config(1). Conditions are taken for true.
///
/// What cannot be read as a configuration names nothing: git refuses it as a whole.
pub fn references(content: &[u8]) -> Vec<Reference> {
    let entries = read(content).unwrap_or_default();
    let remotes = || {
        let of_remotes = entries.iter().filter(|entry| entry.section == "remote");
        of_remotes.filter_map(|entry| Some((entry.subsection.as_deref()?, entry)))
    };
    // An empty one takes back those before it.
    let urls = || remotes().filter(|(_, entry)| entry.key == "url");
    let mut with_url: BTreeSet<&OsStr> = urls().map(|(name, _)| name).collect();
    for (name, _) in urls().filter(|(_, entry)| entry.value().is_empty()) {
        with_url.remove(name);
    }
    // A name of a remote is no path, and each branch has one. For git, that of a remote without a URL is its path.
    let is_path = |reference: &Reference| !matches!(reference, Reference::Repository(name) if name == Path::new(".") || with_url.contains(name.as_os_str()));
    let names: BTreeSet<&OsStr> = remotes().map(|(name, _)| name).collect();
    let names = names.into_iter().map(|name| Reference::Repository(name.into()));
    // Of several the last one counts.
    let values = |section, key| {
        let of_key = entries.iter().filter(move |entry| entry.is(section, key));
        of_key.map(|entry| (entry.subsection.as_deref(), entry.value())).collect::<BTreeMap<_, _>>()
    };
    let (programs, helpers) = (values("lfs", "path"), values("remote", "vcs"));
    let whole = entries
        .iter()
        .map(|entry| with_helper(entry, &helpers).unwrap_or_else(|| with_program(entry, &programs)));
    whole.flat_map(|entry| named_by(&entry)).chain(names).filter(is_path).collect()
}

/// Values of settings, by their subsections.
type BySubsection<'a> = BTreeMap<Option<&'a OsStr>, &'a OsStr>;

/// Returns the URL of a remote with the name of the helper that another setting has for it (`remote.NAME.vcs`).
fn with_helper<'a>(entry: &ConfigEntry, helpers: &BySubsection<'_>) -> Option<Cow<'a, ConfigEntry>> {
    let is_url = entry.is("remote", "url") || entry.is("remote", "pushurl");
    let helper = helpers.get(&entry.subsection.as_deref()).filter(|helper| is_url && !helper.is_empty())?;
    let mut url = (*helper).to_owned();
    url.push("::");
    url.push(entry.value());
    Some(Cow::Owned(ConfigEntry { value: Some(url), ..entry.clone() }))
}

/// Returns the setting with the program before the arguments, where these are two: git-lfs calls `path` of a custom transfer with `args`,
/// see git-lfs-config(5). Without a program here, another configuration may name it, and that may be one that runs scripts.
fn with_program<'a>(entry: &'a ConfigEntry, programs: &BySubsection<'_>) -> Cow<'a, ConfigEntry> {
    if !entry.is("lfs", "args") {
        return Cow::Borrowed(entry);
    }
    let program = programs.get(&entry.subsection.as_deref()).copied().unwrap_or(OsStr::new("sh"));
    let mut command = OsString::from("\"");
    command.push(program);
    command.push("\" ");
    command.push(entry.value());
    Cow::Owned(ConfigEntry { value: Some(command), ..entry.clone() })
}

/// Returns whether a configuration has git do without a work tree: beside one, git takes what is relative from the directory where it was
/// called then, see `setup_discovered_git_dir` of its setup.c.
pub fn does_without_work_tree(content: &[u8]) -> bool {
    read(content).unwrap_or_default().iter().any(is_bare)
}

/// Returns whether a configuration has git check out a part of a work tree.
pub fn has_sparse_checkout(content: &[u8]) -> bool {
    read(content).unwrap_or_default().iter().any(|entry| is_on(entry, "sparsecheckout"))
}

/// Returns whether a setting says that there is no work tree.
pub(super) fn is_bare(entry: &ConfigEntry) -> bool {
    is_on(entry, "bare")
}

/// Returns whether a setting is this one of `core`, and true.
fn is_on(entry: &ConfigEntry, key: &str) -> bool {
    // Without a value, a setting is true. Of others than these, git takes numbers.
    let is_false =
        |value: &OsStr| ["", "false", "no", "off", "0"].iter().any(|name| value.eq_ignore_ascii_case(name));
    entry.is("core", key) && !entry.value.as_deref().is_some_and(is_false)
}

/// Returns whether a configuration names something that is relative to the work tree.
pub fn names_relative(content: &[u8]) -> bool {
    let is_relative = |reference: &Reference| match reference {
        Reference::Hooks(path)
        | Reference::Program(path)
        | Reference::File(path)
        | Reference::Repository(path) => {
            path.is_relative() && !path.starts_with("~") && !is_below_prefix(path)
        }
        Reference::Configuration(_) | Reference::WorkTree(_) => false,
    };
    references(content).iter().any(is_relative)
}

/// Returns whether this can be read as a configuration of git. What cannot names nothing here, whatever git makes of it.
pub fn is_configuration(content: &[u8]) -> bool {
    read(content).is_ok()
}

/// Returns the names of submodules in a configuration or a `.gitmodules`, as paths: git keeps the repository of each in a directory
/// of this name below `modules`. It refuses only `..` in one.
pub fn submodules(content: &[u8]) -> impl Iterator<Item = PathBuf> {
    let entries = read(content).unwrap_or_default();
    let name = |entry: ConfigEntry| (entry.section == "submodule").then_some(entry.subsection).flatten();
    let names: BTreeSet<PathBuf> = entries
        .into_iter()
        .filter_map(name)
        .map(PathBuf::from)
        .filter(|name| !name.components().any(|part| part == Component::ParentDir))
        .map(|name| name.components().filter(|part| matches!(part, Component::Normal(_))).collect())
        .collect();
    names.into_iter()
}

/// Files and directories that say whom git trusts, or where it sends to.
const OF_TRUST: [(&str, &str); 5] = [
    ("http", "proxysslcainfo"),
    ("http", "sslcainfo"),
    ("http", "sslcapath"),
    ("sendemail", "aliasesfile"),
    ("sendemail", "smtpsslcertpath"),
];

fn is_of_trust(entry: &ConfigEntry) -> bool {
    OF_TRUST.iter().any(|(section, key)| entry.is(section, key))
}

fn named_by(entry: &ConfigEntry) -> Vec<Reference> {
    let value = entry.value.as_deref().unwrap_or_default().as_bytes();
    // A file that may be missing, see git-config(1), "pathname".
    let value = Path::new(OsStr::from_bytes(value.strip_prefix(b":(optional)").unwrap_or(value)));
    let is_in_reach = |path: &&Path| {
        !path.as_os_str().is_empty() && (!is_below_prefix(path) || beyond_prefix(path).is_some())
    };
    if entry.is("core", "hookspath") || entry.is("gitflow", "hooks") {
        // Husky names `.husky/_`, and what is in there runs the hooks beside it.
        let beside = value.parent().filter(|_| value.file_name().is_some_and(|name| name == "_"));
        let all = [Some(value), beside].into_iter().flatten();
        return all.filter(is_in_reach).map(|path| Reference::Hooks(path.into())).collect();
    }
    if entry.is("include", "path") || entry.is("includeif", "path") {
        return Some(value)
            .filter(is_in_reach)
            .map(|path| Reference::Configuration(path.into()))
            .into_iter()
            .collect();
    }
    if entry.is("core", "worktree") {
        return vec![Reference::WorkTree(value.into())];
    }
    match source(entry) {
        Some(Source::Path(path)) => return vec![Reference::Repository(path)],
        Some(Source::Command(words)) => return of_command(commands::named_by_words(&words)),
        None => {}
    }
    if is_of_trust(entry) {
        // Of two, that may be a directory.
        let reference = if entry.key.ends_with("path") { Reference::Program } else { Reference::File };
        return Some(value).filter(is_in_reach).map(|path| reference(path.into())).into_iter().collect();
    }
    // An alias runs only for whoever types it, and may well name what the agent is to work on.
    if entry.section == "alias" || !is_known_to_run(entry) || harmless::runs_nothing(entry) {
        return Vec::new();
    }
    if entry.section == "gpg" && entry.key.ends_with("file") {
        return Some(value)
            .filter(is_in_reach)
            .map(|path| Reference::File(path.into()))
            .into_iter()
            .collect();
    }
    // These are one word, which no shell takes apart.
    let is_whole = ["askpass", "path", "program"].iter().any(|end| entry.key.ends_with(end));
    let command = value.as_os_str().as_bytes();
    if is_whole && command.contains(&b'/') {
        return Some(value)
            .filter(is_in_reach)
            .map(|path| Reference::Program(path.into()))
            .into_iter()
            .collect();
    }
    of_command(commands::named(command))
}

fn of_command((programs, files): (Vec<PathBuf>, Vec<PathBuf>)) -> Vec<Reference> {
    // A path that begins with `%` is none of the work tree.
    let is_in_reach = |path: &PathBuf| !matches!(path.as_os_str().as_bytes().first(), None | Some(b'%'));
    let programs = programs.into_iter().filter(is_in_reach).map(Reference::Program);
    programs.chain(files.into_iter().map(Reference::File)).collect()
}
