//! What a setting of git names: hooks, other configurations, repositories, and programs with their scripts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::super::words;
use super::executing::is_known_to_run;
use super::harmless;
use super::syntax::{ConfigEntry, read};
use super::values::repository;

/// A path that a configuration names and git obeys, as it stands there: relative or absolute.
///
/// One that begins with `~` lies in a home directory. A path that begins with `%(prefix)` is none: it is where git is installed.
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
    entries.iter().flat_map(named_by).chain(names).filter(is_path).collect()
}

/// Returns whether a configuration beside a work tree has git do without that, and names something that is relative to it: git takes
/// that from the directory where it was called then, see `setup_discovered_git_dir` of its setup.c.
pub fn leads_from_anywhere(content: &[u8]) -> bool {
    let entries = read(content).unwrap_or_default();
    // Without a value, a setting is true. Of others than these, git takes numbers.
    let is_false =
        |value: &OsStr| ["", "false", "no", "off", "0"].iter().any(|name| value.eq_ignore_ascii_case(name));
    let is_bare =
        |entry: &ConfigEntry| entry.is("core", "bare") && !entry.value.as_deref().is_some_and(is_false);
    let is_relative = |reference: &Reference| match reference {
        Reference::Hooks(path)
        | Reference::Program(path)
        | Reference::File(path)
        | Reference::Repository(path) => path.is_relative() && !path.starts_with("~"),
        Reference::Configuration(_) | Reference::WorkTree(_) => false,
    };
    entries.iter().any(is_bare) && references(content).iter().any(is_relative)
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

/// Returns the files of the modules that a Python runs: `python -m name` looks for them in the working directory first.
fn modules(words: &[Vec<u8>]) -> impl Iterator<Item = PathBuf> + '_ {
    let after = words.windows(2).filter(|pair| pair[0] == b"-m").map(|pair| pair[1].as_slice());
    let joined = words.iter().filter_map(|word| word.strip_prefix(b"-m")).filter(|name| !name.is_empty());
    after.chain(joined).flat_map(|name| {
        let name: Vec<u8> = name.iter().map(|byte| if *byte == b'.' { b'/' } else { *byte }).collect();
        ["", "/__init__", "/__main__"].map(|end| path(&[&name, end.as_bytes(), b".py"].concat()))
    })
}

/// Ends that the name of a script may lack, where a program finds it all the same.
type Ends = &'static [&'static str];

/// Programs that take their first word for a script, without a version.
const INTERPRETERS: &[(&[u8], Ends)] = &[
    (b"bash", &[]),
    (b"bun", &[".tsx", ".jsx", ".ts", ".mts", ".js", ".mjs", ".cts", ".cjs"]),
    (b"dash", &[]),
    (b"deno", &[]),
    (b"fish", &[]),
    (b"ksh", &[]),
    (b"lua", &[]),
    (b"node", &[".js", ".node"]),
    (b"perl", &[]),
    (b"php", &[]),
    (b"python", &[]),
    (b"ruby", &[]),
    (b"sh", &[]),
    (b"zsh", &[]),
];

/// Returns whether a script follows this word, or a directory that a program enters or takes for one, whatever its name is, and which
/// ends that may lack. An option before it changes nothing.
fn expects_script(word: &[u8], expected: Option<Ends>, is_of_shell: bool) -> Option<Ends> {
    match word {
        // Options of a shell, of which none has a word behind it.
        b"-C" | b"-e" | b"-f" if is_of_shell => expected,
        b"-C" | b"-f" => Some(&[]),
        // What follows is a command, or a module.
        b"-c" | b"-e" | b"-m" => None,
        option if option.starts_with(b"-") => expected,
        word => {
            let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let version =
                name.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
            let name = &name[..name.len() - version];
            INTERPRETERS.iter().find(|(interpreter, _)| *interpreter == name).map(|(_, ends)| *ends)
        }
    }
}

/// Returns whether a word is the name of a shell, to which `-e` is an option without a word behind it.
fn is_shell(word: &[u8]) -> bool {
    let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    [&b"bash"[..], b"dash", b"ksh", b"sh", b"zsh"].contains(&name)
}

/// How often a word of a command is taken for a command itself, as `sh -c` does.
const COMMAND_LEVELS: u32 = 3;

/// Returns whether the word behind an option may be the name of a file. What has its argument joined to it has none behind.
fn may_have_file(option: &[u8]) -> bool {
    option.starts_with(b"-")
        && !option.contains(&b'=')
        && !matches!(option, b"-" | b"--" | b"-c" | b"-e" | b"-m")
}

/// Returns whether a word is a name that could be that of a file, and nothing that is taken for a path anyway.
fn is_bare(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphanumeric)
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !word.iter().all(u8::is_ascii_digit)
}

/// Returns the names of files at the root of the work tree that a command may take for configurations or scripts (`ssh -F config`).
fn files(command: &[u8]) -> Vec<PathBuf> {
    let words = words::split(command);
    let behind = words.windows(2).filter(|pair| may_have_file(&pair[0])).map(|pair| pair[1].as_slice());
    let joined = words.iter().filter(|word| word.starts_with(b"--"));
    let joined = joined.filter_map(|word| word.split(|byte| *byte == b'=').nth(1));
    behind.chain(joined).filter(|word| is_bare(word)).map(path).collect()
}

/// Returns what a command may run in the work tree, or in git's data.
fn programs(command: &[u8], levels: u32) -> Vec<PathBuf> {
    let words = words::split(command);
    let mut paths = Vec::new();
    let mut expected = None;
    let mut is_of_shell = false;
    for (at, word) in words.iter().enumerate() {
        let ends = expected.filter(|_| !word.starts_with(b"-"));
        // A long option of an interpreter may name a script, too.
        let is_joined = word.starts_with(b"--") && word.contains(&b'=');
        let joined_ends = expected.filter(|_| is_joined && word.contains(&b'/'));
        expected = expects_script(word, expected, is_of_shell);
        is_of_shell = word.starts_with(b"-") && is_of_shell || is_shell(word);
        if let Some(unknown) = word.iter().rposition(|byte| *byte == words::UNKNOWN) {
            // What a shell puts before it may be the root of either.
            let after = word[unknown + 1..].strip_prefix(b"/").filter(|after| !after.is_empty());
            paths.extend(
                after.into_iter().flat_map(|after| [path(after), Path::new(".git").join(path(after))]),
            );
        } else {
            // The shell finds a word without `/` on its own search path. What follows a program may be a script for it, and what
            // follows the letter of an option, too.
            let is_script =
                |part: &[u8]| part.contains(&b'/') || at > 0 && part.contains(&b'.') || ends.is_some();
            let joined = word
                .strip_prefix(b"-")
                .filter(|rest| rest.first() != Some(&b'-'))
                .and_then(|rest| rest.get(1..));
            let parts = word.split(|byte| *byte == b'=').skip(1).chain(joined).chain([word.as_slice()]);
            let parts =
                parts.filter(|part| is_script(part) && !part.starts_with(b"%") && !part.contains(&b'$'));
            paths.extend(parts.map(path));
            let ends = ends.or(joined_ends).unwrap_or_default().iter().map(|end| end.as_bytes());
            if !ends.clone().any(|end| word.ends_with(end)) {
                let joined = word.split(|byte| *byte == b'=').nth(1).filter(|_| is_joined);
                let word = joined.unwrap_or(word);
                paths.extend(ends.map(|end| path(&[word, end].concat())));
            }
        }
        let is_command = word.iter().any(|byte| byte.is_ascii_whitespace() || b"$`'\"".contains(byte));
        if let Some(levels) = levels.checked_sub(1).filter(|_| is_command) {
            paths.extend(programs(word, levels));
        }
    }
    paths.extend(modules(&words));
    paths
}

fn named_by(entry: &ConfigEntry) -> Vec<Reference> {
    let value = entry.value.as_deref().unwrap_or_default().as_bytes();
    // A file that may be missing, see git-config(1), "pathname".
    let value = Path::new(OsStr::from_bytes(value.strip_prefix(b":(optional)").unwrap_or(value)));
    let is_in_reach = |path: &&Path| {
        let bytes = path.as_os_str().as_bytes();
        !bytes.is_empty() && !bytes.starts_with(b"%")
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
    if let Some(path) = repository(entry) {
        return vec![Reference::Repository(path)];
    }
    // An alias runs only for whoever types it, and may well name what the agent is to work on.
    if entry.section == "alias" || !is_known_to_run(entry) || harmless::runs_nothing(entry) {
        return Vec::new();
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
    let programs = programs(command, COMMAND_LEVELS);
    let files: Vec<PathBuf> = files(command).into_iter().filter(|file| !programs.contains(file)).collect();
    let programs = programs.into_iter().filter(|path| is_in_reach(&path.as_path())).map(Reference::Program);
    programs.chain(files.into_iter().map(Reference::File)).collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
