//! What git obeys: its configuration, `.gitmodules`, and files that say where a repository is.
//!
//! The reader follows git-config(1) and accepts what git accepts. What it cannot read is suspicious.

use std::path::{Component, Path, PathBuf};

use super::reason::Reason;
use super::{alias, words};
use crate::protect::table;
use crate::protect::table::content::FileFormat;

/// Keys that run a program, whatever the section's subsection. Taken from git-config(1).
const EXECUTING: &[(&str, &str)] = &[
    ("b4", "gpgbin"),
    ("browser", "path"),
    ("cola", "blameviewer"),
    ("cola", "terminal"),
    // With these, git puts a file of theirs into what people send, or writes files where they say.
    ("commit", "template"),
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "hookspath"),
    ("core", "pager"),
    // The pager of that name.
    ("delta", "pager"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "path"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("format", "outputdirectory"),
    ("format", "signaturefile"),
    // Options of `git diff` that git-gui adds: of some, it runs a program, or writes a file.
    ("gui", "diffopts"),
    ("gui", "editor"),
    ("gui", "historybrowser"),
    // With these, git keeps what a server sends in a file that they name.
    ("http", "cookiefile"),
    ("http", "savecookies"),
    ("imap", "tunnel"),
    // A template brings hooks into repositories that are made later.
    ("init", "templatedir"),
    ("include", "path"),
    ("includeif", "path"),
    ("instaweb", "browser"),
    // Where the scripts lie that the server runs.
    ("instaweb", "gitwebdir"),
    ("instaweb", "httpd"),
    ("instaweb", "modulepath"),
    ("interactive", "difffilter"),
    ("lfs", "clean"),
    ("lfs", "path"),
    ("lfs", "smudge"),
    ("man", "path"),
    ("merge", "driver"),
    ("mergetool", "path"),
    // Allowing every protocol, or `ext`, lets a URL run a program.
    ("protocol", "allow"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("remote", "vcs"),
    ("secrets", "providers"),
    ("sendemail", "smtpserver"),
    // Options of the program that sends: of some, they run another one, or write files.
    ("sendemail", "smtpserveroption"),
    ("sequence", "editor"),
    ("stgit", "editor"),
    ("stgit", "pager"),
    // A configuration of Subversion names programs that reach a server.
    ("svn", "config-dir"),
    ("svn", "configdir"),
    ("web", "browser"),
];

/// Keys that end like this run a program in every section: `core.sshCommand`, `difftool.<tool>.cmd`,
/// `gpg.<format>.program`, `credential.helper`, `uploadpack.packObjectsHook`, `hook.<name>.command`. So do the options of
/// git-annex for ssh, rsync and their like, and its transport.
const EXECUTING_ENDS: &[&str] =
    &["cmd", "command", "helper", "hook", "program", "prog", "-options", "-transport"];

/// Sections in which every key may be a program, or hold one.
const EXECUTING_SECTIONS: &[&str] = &["pager", "tig"];

/// Sections that scripts of a shell, of Tcl and of Python read, git's own and git-flow's. Some of them paste a value into a command line
/// (`mergetool.vimdiff.layout`), so each has to be plain.
const SECTIONS_OF_SCRIPTS: &[&str] = &[
    "browser",
    "difftool",
    "git-p4",
    "gitflow",
    "gui",
    "guitool",
    "help",
    "instaweb",
    "man",
    "mergetool",
    "web",
];

/// Keys that are either a program or a truth value, and harmless as the latter.
const PROGRAM_OR_TRUTH: &[(&str, &str)] = &[("core", "fsmonitor")];

/// Keys that name a program of git's own, unless the name leads to another directory.
const NAMES: &[(&str, &str)] = &[
    ("diff", "guitool"),
    ("diff", "tool"),
    ("merge", "guitool"),
    ("merge", "tool"),
    ("pull", "octopus"),
    ("pull", "twohead"),
];

/// Whether a configuration may say where the work tree is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Worktree {
    /// It is the directory that `.git` lies in.
    Own,
    /// It is elsewhere, as for a submodule.
    Elsewhere,
}

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
    /// The work tree. Relative to the directory in which git keeps its data.
    WorkTree(PathBuf),
    /// Another repository, whose hooks run when something is pushed to it. Relative to the root of the work tree, or to a bare
    /// repository.
    Repository(PathBuf),
}

/// One setting: section and key in lower case, as git compares them.
#[derive(Clone, Debug, Eq, PartialEq)]
struct ConfigEntry {
    section: String,
    subsection: Option<String>,
    key: String,
    /// `None` for a key without `=`, which means true.
    value: Option<String>,
}

/// What cannot be read as a configuration of git.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct MalformedConfig;

/// Returns the paths that a configuration names and git obeys, see git-config(1). Conditions are taken for true.
///
/// What cannot be read as a configuration names nothing: git refuses it as a whole.
pub fn references(content: &[u8]) -> Vec<Reference> {
    let entries = read(content).unwrap_or_default();
    let is_remote = |name: &Path| {
        let of_remote =
            |entry: &ConfigEntry| entry.section == "remote" && entry.subsection.as_deref() == name.to_str();
        name == Path::new(".") || entries.iter().any(of_remote)
    };
    // A name of a remote is no path, and each branch has one.
    let is_path =
        |reference: &Reference| !matches!(reference, Reference::Repository(name) if is_remote(name));
    entries.iter().flat_map(named_by).filter(is_path).collect()
}

/// Returns the names of submodules in a configuration or a `.gitmodules`: git keeps the repository of each in a directory of this name
/// below `modules`.
pub fn submodules(content: &[u8]) -> impl Iterator<Item = PathBuf> {
    let entries = read(content).unwrap_or_default();
    let name = |entry: ConfigEntry| (entry.section == "submodule").then_some(entry.subsection).flatten();
    let is_plain = |name: &PathBuf| name.components().all(|part| matches!(part, Component::Normal(_)));
    let names: std::collections::BTreeSet<PathBuf> =
        entries.into_iter().filter_map(name).map(PathBuf::from).filter(is_plain).collect();
    names.into_iter()
}

/// Returns whether a configuration has this value for a key. Of several, the last one counts.
pub(super) fn has(content: &[u8], key: (&str, &str), value: &str) -> bool {
    let entries = read(content).unwrap_or_default();
    let last = entries.iter().rev().find(|entry| is(entry, key) && entry.subsection.is_none());
    last.and_then(|entry| entry.value.as_deref()) == Some(value)
}

/// Classifies a configuration of git.
pub(super) fn classify_config(content: &[u8], worktree: Worktree) -> Option<Reason> {
    classify_entries(content, |entry, all| is_obeyed(entry, all, worktree))
}

/// Returns the settings of a configuration that run something, with their values; all of it where it cannot be read.
pub(super) fn executing(content: &[u8], worktree: Worktree) -> Vec<u8> {
    let Ok(entries) = read(content) else { return content.to_vec() };
    let obeyed = entries.iter().filter(|entry| is_obeyed(entry, &entries, worktree));
    // No name or value holds NUL.
    obeyed.flat_map(|entry| format!("{}\0{:?}\0", name(entry), entry.value).into_bytes()).collect()
}

fn is_obeyed(entry: &ConfigEntry, all: &[ConfigEntry], worktree: Worktree) -> bool {
    executes(entry, all) || (worktree == Worktree::Own && is(entry, ("core", "worktree")))
}

/// Classifies the options of an interrupted operation, which are written like a configuration.
pub(super) fn classify_options(content: &[u8], strategy: impl Fn(&str) -> Option<Reason>) -> Option<Reason> {
    match read(content) {
        Err(MalformedConfig) => Some(Reason::Unreadable { format: FileFormat::Git }),
        Ok(entries) => entries
            .iter()
            .filter(|entry| is(entry, ("options", "strategy")))
            .find_map(|entry| strategy(entry.value.as_deref().unwrap_or_default())),
    }
}

/// Classifies a `.gitmodules`: the same, and what made git itself run something: names that lead out of
/// `.git/modules` (CVE-2018-11235), values that read as options (CVE-2018-17456), and paths at which a program obeys what is there.
pub(super) fn classify_modules(content: &[u8]) -> Option<Reason> {
    classify_entries(content, |entry, all| {
        let option = entry.value.as_deref().is_some_and(|value| value.starts_with('-'));
        let leads_out = |name: &String| Path::new(name).components().any(|part| part == Component::ParentDir);
        // Git checks a submodule out at its path, and what it brings along lies there.
        let is_obeyed = is(entry, ("submodule", "path")) && entry.value.as_deref().is_some_and(is_protected);
        executes(entry, all) || option || is_obeyed || entry.subsection.as_ref().is_some_and(leads_out)
    })
}

/// Returns whether a path is a protected one, lies in one, or is a hidden directory above one.
fn is_protected(path: &str) -> bool {
    let folded = path.to_ascii_lowercase();
    let names: Vec<&str> = folded.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let joined = names.join("/");
    let is_in_one = table::built_in().any(|listed| table::covers(listed, Path::new(&joined)));
    is_in_one || names.iter().any(|name| matches!(*name, ".git" | "..")) || table::leads_to_protected(&names)
}

/// Classifies a `.git` that is a file: submodules and worktrees have one that leads into a repository's `.git`,
/// where configuration and hooks are classified by their place.
pub(super) fn classify_git_file(content: &[u8]) -> Option<Reason> {
    let Ok(text) = std::str::from_utf8(content) else {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    };
    let path = text.strip_prefix("gitdir: ").unwrap_or_default().trim_end();
    let mut in_git = path.split('/').skip_while(|part| *part != ".git").skip(1);
    let ordinary = matches!(in_git.next(), Some("modules" | "worktrees")) && !in_git.any(|part| part == "..");
    (!ordinary).then_some(Reason::GitElsewhere)
}

fn classify_entries(
    content: &[u8],
    suspicious: impl Fn(&ConfigEntry, &[ConfigEntry]) -> bool,
) -> Option<Reason> {
    match read(content) {
        Err(MalformedConfig) => Some(Reason::Unreadable { format: FileFormat::Git }),
        Ok(entries) => entries
            .iter()
            .find(|entry| suspicious(entry, &entries))
            .map(|entry| Reason::Setting { key: name(entry) }),
    }
}

/// Returns the repository on this machine that a setting names, if it names one: what is no URL and has no host in front, see
/// git-fetch(1), "Git URLs".
fn repository(entry: &ConfigEntry) -> Option<PathBuf> {
    let named = match (entry.section.as_str(), entry.key.as_str()) {
        ("remote", "url" | "pushurl" | "pushdefault") | ("branch", "remote" | "pushremote") => {
            entry.value.as_deref()
        }
        ("url", "insteadof" | "pushinsteadof") => entry.subsection.as_deref(),
        _ => None,
    }?;
    let path = named.strip_prefix("file://").unwrap_or(named);
    let has_host = path.split('/').next().is_some_and(|first| first.contains(':'));
    (!path.is_empty() && !has_host).then(|| path.into())
}

/// Returns the files of the modules that a Python runs: `python -m name` looks for them in the working directory first.
fn modules(words: &[String]) -> impl Iterator<Item = PathBuf> + '_ {
    let after = words.windows(2).filter(|pair| pair[0] == "-m").map(|pair| pair[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("-m")).filter(|name| !name.is_empty());
    after.chain(joined).flat_map(|name| {
        let path = name.replace('.', "/");
        [format!("{path}.py"), format!("{path}/__init__.py"), format!("{path}/__main__.py")]
            .map(PathBuf::from)
    })
}

/// How often a word of a command is taken for a command itself, as `sh -c` does.
const COMMAND_LEVELS: u32 = 3;

/// Returns what a command may run in the work tree, or in git's data.
fn programs(command: &str, levels: u32) -> Vec<PathBuf> {
    let words = words::split(command);
    let mut paths = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if let Some((_, after)) = word.rsplit_once(words::UNKNOWN) {
            // What a shell puts before it may be the root of either.
            let path = after.strip_prefix('/').filter(|path| !path.is_empty());
            paths.extend(path.into_iter().flat_map(|path| [path.into(), Path::new(".git").join(path)]));
        } else {
            // The shell finds a word without `/` on its own search path. What follows a program may be a script for it.
            let is_script = |part: &str| part.contains('/') || at > 0 && part.contains('.');
            let parts = word.split('=').skip(1).chain([word.as_str()]);
            let parts = parts.filter(|part| is_script(part) && !part.starts_with('%') && !part.contains('$'));
            paths.extend(parts.map(PathBuf::from));
        }
        let is_command = word.contains(|letter: char| letter.is_whitespace() || "$`'\"".contains(letter));
        if let Some(levels) = levels.checked_sub(1).filter(|_| is_command) {
            paths.extend(programs(word, levels));
        }
    }
    paths.extend(modules(&words));
    paths
}

fn named_by(entry: &ConfigEntry) -> Vec<Reference> {
    let value = entry.value.as_deref().unwrap_or_default();
    let is_in_reach = |path: &str| !path.is_empty() && !path.starts_with('%');
    if is(entry, ("core", "hookspath")) {
        let path = Path::new(value);
        // Husky names `.husky/_`, and what is in there runs the hooks beside it.
        let beside = path.parent().filter(|_| path.file_name().is_some_and(|name| name == "_"));
        let all = [Some(path), beside].into_iter().flatten();
        return all
            .filter(|path| path.to_str().is_some_and(is_in_reach))
            .map(|path| Reference::Hooks(path.into()))
            .collect();
    }
    if is(entry, ("include", "path")) || is(entry, ("includeif", "path")) {
        return is_in_reach(value).then(|| Reference::Configuration(value.into())).into_iter().collect();
    }
    if is(entry, ("core", "worktree")) {
        return vec![Reference::WorkTree(value.into())];
    }
    if let Some(path) = repository(entry) {
        return vec![Reference::Repository(path)];
    }
    // An alias runs only for whoever types it, and may well name what the agent is to work on.
    if entry.section == "alias" || !executes(entry, &[]) {
        return Vec::new();
    }
    // These are one word, which no shell takes apart.
    let is_whole = ["askpass", "path", "program"].iter().any(|end| entry.key.ends_with(end));
    let paths =
        if is_whole && value.contains('/') { vec![value.into()] } else { programs(value, COMMAND_LEVELS) };
    paths.into_iter().filter(|path| path.to_str().is_some_and(is_in_reach)).map(Reference::Program).collect()
}

/// Returns whether an entry can run a program. Of all entries, an alias may name another one.
fn executes(entry: &ConfigEntry, all: &[ConfigEntry]) -> bool {
    let value = entry.value.as_deref().unwrap_or("true");
    let subsection = entry.subsection.as_deref().unwrap_or("");
    // `ext::` runs a program to reach a repository; a carriage return changes what a path means
    // (CVE-2025-48384).
    if value.starts_with("ext::") || subsection.starts_with("ext::") || value.contains('\r') {
        return true;
    }
    // In an alias or a submodule's update, `!` means the shell.
    if matches!(entry.section.as_str(), "alias" | "submodule") && value.starts_with('!') {
        return true;
    }
    if entry.section == "alias" {
        return alias::executes(value, |word| all.iter().any(|other| is_alias(other, word)));
    }
    // Git puts such a directory in front of the rest of any URL, and decodes `%`: what it then takes for a repository, no value names.
    let is_hidden = value.starts_with("file://") && value.contains('%');
    if is_hidden || (entry.section == "url" && repository(entry).is_some()) {
        return true;
    }
    let truth = is_truth(value);
    if EXECUTING_SECTIONS.contains(&entry.section.as_str()) {
        return !truth;
    }
    if PROGRAM_OR_TRUTH.iter().any(|pair| is(entry, *pair)) && truth {
        return false;
    }
    if NAMES.iter().any(|pair| is(entry, *pair)) {
        return !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    }
    // What follows `git merge`.
    if is(entry, ("branch", "mergeoptions")) {
        return alias::executes(&format!("merge {value}"), |_| false);
    }
    // Where git keeps the data of a submodule, and where git-flow keeps its hooks.
    let lies_in = |place: &str| value.contains(place) && !value.split('/').any(|part| part == "..");
    if is(entry, ("submodule", "gitdir")) {
        return !lies_in(".git/modules/");
    }
    if is(entry, ("gitflow", "hooks")) {
        return !lies_in(".git/hooks");
    }
    if is(entry, ("rebase", "instructionformat")) {
        return !is_one_line(value);
    }
    if SECTIONS_OF_SCRIPTS.contains(&entry.section.as_str()) && !is_plain(value) {
        return true;
    }
    EXECUTING.iter().any(|pair| is(entry, *pair)) || EXECUTING_ENDS.iter().any(|end| entry.key.ends_with(end))
}

/// Returns whether an entry is the alias of this name. Git ignores the case of one.
fn is_alias(entry: &ConfigEntry, word: &str) -> bool {
    let name = entry.subsection.as_ref().unwrap_or(&entry.key);
    entry.section == "alias" && name.eq_ignore_ascii_case(word)
}

fn is(entry: &ConfigEntry, (section, key): (&str, &str)) -> bool {
    entry.section == section && entry.key == key
}

/// Returns whether a format of commits gives one line for each. What follows a line end in a list of commands is a command, and
/// a commit's message may hold anything. A text without `%` is the name of a format, which has many lines.
fn is_one_line(format: &str) -> bool {
    let mut parts = format.split('%');
    let before = parts.next().unwrap_or_default();
    let is_placeholder = |part: &str| {
        ["s", "h", "H", "an", "ae", "ar", "cn", "ce", "cr", "d", "D"]
            .iter()
            .any(|known| part.starts_with(known))
    };
    let is_format = format.is_empty() || before.len() < format.len();
    is_format && !format.contains(['\n', '\r']) && parts.all(is_placeholder)
}

/// Returns whether a value is text that means nothing else to a shell within quotes, or to Tcl.
fn is_plain(value: &str) -> bool {
    value.chars().all(|letter| letter.is_alphanumeric() || " @,/+()._:=-?!%{}~".contains(letter))
}

fn is_truth(value: &str) -> bool {
    ["", "true", "false", "yes", "no", "on", "off", "1", "0"]
        .iter()
        .any(|truth| value.eq_ignore_ascii_case(truth))
}

fn name(entry: &ConfigEntry) -> String {
    match &entry.subsection {
        Some(subsection) => format!("{}.{subsection}.{}", entry.section, entry.key),
        None => format!("{}.{}", entry.section, entry.key),
    }
}

/// Reads a configuration as git's `config.c` does. Git builds one name of the section, subsection and key, and takes it apart at
/// the first and the last dot: `[a.b "c"]` is `[a "b.c"]`.
///
/// Three things that git accepts nobody writes, and they are refused: NUL, a key before any section, and a backslash at the end.
fn read(content: &[u8]) -> Result<Vec<ConfigEntry>, MalformedConfig> {
    // In C, NUL ends a text that goes on for others.
    if content.contains(&0) {
        return Err(MalformedConfig);
    }
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut reader = ConfigReader { rest: content, is_at_end: false };
    let mut entries = Vec::new();
    let mut section = None;
    loop {
        match reader.next() {
            b'\n' if reader.is_at_end => return Ok(entries),
            byte if is_space(byte) => {}
            b'#' | b';' => reader.skip_line(),
            b'[' => section = Some(reader.section()?),
            first if first.is_ascii_alphabetic() => {
                let (key, value) = reader.setting(first)?;
                entries.push(entry(section.as_deref().ok_or(MalformedConfig)?, key, value));
            }
            _ => return Err(MalformedConfig),
        }
    }
}

fn entry(section: &[u8], key: String, value: Option<String>) -> ConfigEntry {
    let (section, subsection) = match section.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&section[..dot], Some(text(&section[dot + 1..]))),
        None => (section, None),
    };
    ConfigEntry { section: text(section), subsection, key, value }
}

/// Returns what git takes for space, wherever it is.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The bytes that are not read yet.
struct ConfigReader<'a> {
    rest: &'a [u8],
    /// Whether a newline was given that is not there.
    is_at_end: bool,
}

impl ConfigReader<'_> {
    /// Returns the next byte: a newline at the end, and for a carriage return with a newline.
    fn next(&mut self) -> u8 {
        if let [b'\r', b'\n', ..] = self.rest {
            self.rest = &self.rest[1..];
        }
        let Some((first, rest)) = self.rest.split_first() else {
            self.is_at_end = true;
            return b'\n';
        };
        self.rest = rest;
        *first
    }

    fn skip_line(&mut self) {
        while self.next() != b'\n' {}
    }

    /// Returns a section's name, and with a dot its subsection, after the opening bracket.
    fn section(&mut self) -> Result<Vec<u8>, MalformedConfig> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                b']' if name.is_empty() => return Err(MalformedConfig),
                b']' => return Ok(name),
                byte if is_space(byte) => {
                    self.subsection(byte, &mut name)?;
                    return Ok(name);
                }
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') => {
                    name.push(byte.to_ascii_lowercase());
                }
                _ => return Err(MalformedConfig),
            }
        }
    }

    /// Returns a quoted subsection and the closing bracket, after this space before them.
    fn subsection(&mut self, mut space: u8, name: &mut Vec<u8>) -> Result<(), MalformedConfig> {
        while is_space(space) {
            if space == b'\n' {
                return Err(MalformedConfig);
            }
            space = self.next();
        }
        if space != b'"' {
            return Err(MalformedConfig);
        }
        name.push(b'.');
        loop {
            let byte = match self.next() {
                b'"' => break,
                b'\\' => self.next(),
                byte => byte,
            };
            if byte == b'\n' {
                return Err(MalformedConfig);
            }
            name.push(byte);
        }
        if self.next() == b']' { Ok(()) } else { Err(MalformedConfig) }
    }

    /// Returns a key, after its first letter, and its value.
    fn setting(&mut self, first: u8) -> Result<(String, Option<String>), MalformedConfig> {
        let mut key = String::from(char::from(first.to_ascii_lowercase()));
        let mut ended = false;
        loop {
            match self.next() {
                b'\n' => return Ok((key, None)),
                b'=' => return Ok((key, Some(self.value()?))),
                b' ' | b'\t' => ended = true,
                byte if !ended && (byte.is_ascii_alphanumeric() || byte == b'-') => {
                    key.push(char::from(byte.to_ascii_lowercase()));
                }
                _ => return Err(MalformedConfig),
            }
        }
    }

    /// Returns a value: quotes join, a backslash at the end of a line continues it, and space at either end goes.
    fn value(&mut self) -> Result<String, MalformedConfig> {
        let mut value = Vec::new();
        // What is kept when trailing space goes: what stands before a quote or a backslash does not.
        let mut kept = 0;
        let mut quoted = false;
        loop {
            match self.next() {
                b'\n' if quoted => return Err(MalformedConfig),
                b'\n' => break,
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                space if is_space(space) && !quoted => {
                    if !value.is_empty() {
                        value.push(space);
                    }
                    continue;
                }
                b'"' => quoted = !quoted,
                b'\\' => match self.next() {
                    b'\n' if !self.is_at_end => {}
                    b'n' => value.push(b'\n'),
                    b't' => value.push(b'\t'),
                    b'b' => value.push(b'\x08'),
                    byte @ (b'"' | b'\\') => value.push(byte),
                    _ => return Err(MalformedConfig),
                },
                byte => value.push(byte),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Ok(text(&value))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
