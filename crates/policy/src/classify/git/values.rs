//! Values of settings of git: types that hold nothing that is run, and no path but one that the search follows.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::syntax::ConfigEntry;

/// What git itself speaks with a server. For any other scheme it looks for a program, or an alias, of that name.
const SCHEMES: &[&str] = &["git", "git+ssh", "http", "https", "ssh", "ssh+git"];

/// What a setting may hold without running anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Values {
    /// A truth value: another one is a program.
    Truth,
    /// Truth: the setting protects, and is on by itself.
    True,
    /// A truth value, a number, a date, a colour, or words of git's own.
    Word,
    OneOf(&'static [&'static str]),
    /// A name, as of a branch or a remote.
    Name,
    /// The same, with blanks in it, as the path of a submodule may have.
    NameWithBlanks,
    /// A reference, a pattern of them, or two with a colon between.
    References,
    /// Text that is shown, also in a prompt, and nothing else.
    Shown,
    /// A repository: a URL of a server, or a path or the name of a remote, which the search follows.
    Repository,
    /// The directory of hooks in a repository, which the search follows.
    Hooks,
    /// A work tree, which the search follows.
    WorkTree,
}

/// Returns whether a setting runs nothing with the subsection and the value that it has.
pub(super) fn may_hold(entry: &ConfigEntry, values: Values) -> bool {
    has_plain_subsection(entry) && is_of(entry.value(), values)
}

fn is_of(value: &OsStr, values: Values) -> bool {
    // The name of a person may be in any encoding.
    if values == Values::Shown {
        let text = value.to_string_lossy();
        return !text.starts_with('-') && !text.contains(char::is_control) && !may_be_expanded(&text);
    }
    if values == Values::WorkTree {
        return true;
    }
    let Some(value) = value.to_str() else { return false };
    match values {
        Values::Truth => is_truth(value),
        Values::True => is_true(OsStr::new(value)),
        Values::Word => {
            let is_known = |letter: char| letter.is_ascii_alphanumeric() || " .,:#+=_-".contains(letter);
            let is_option = value
                .strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
            value.chars().all(is_known) && !is_option
        }
        Values::OneOf(known) => known.contains(&value),
        Values::Name => value.is_empty() || is_name(value),
        Values::NameWithBlanks => is_name_with_blanks(value),
        Values::References => {
            let parts = value.strip_prefix(['+', '^']).unwrap_or(value);
            parts.splitn(2, ':').all(|part| is_name(&part.replace('*', "x")))
        }
        Values::Repository => is_server(value) || is_path(value),
        Values::Hooks => (value == ".git/hooks" || value.ends_with("/.git/hooks")) && is_path(value),
        Values::Shown | Values::WorkTree => true,
    }
}

/// Returns whether a shell would run something that has text in its prompt: as a whole, or only the first letter of each word, which some
/// themes show. A backslash may stand for a dollar sign there.
fn may_be_expanded(text: &str) -> bool {
    let after = text.find(['$', '\\']).map_or("", |at| &text[at + 1..]);
    text.contains('`') || after.contains(['(', '{'])
}

/// Returns whether the subsection is a name or, where that selects servers, a URL of one. Git hands the name of a remote on as an
/// argument.
fn has_plain_subsection(entry: &ConfigEntry) -> bool {
    let Some(subsection) = entry.subsection.as_deref() else { return true };
    let is_plain = match entry.section.as_str() {
        "credential" | "http" | "lfs" => is_server,
        // Under another name, what git-lfs runs takes the place of a filter that may encrypt.
        "filter" => |name: &str| name == "lfs",
        // By itself, git calls a submodule by its path.
        "submodule" => is_name_with_blanks,
        _ => is_name,
    };
    subsection.to_str().is_some_and(is_plain)
}

/// Returns whether a value is a word for truth. Git takes any number but 0, too.
pub(super) fn is_true(value: &OsStr) -> bool {
    ["true", "yes", "on", "1"].iter().any(|truth| value.eq_ignore_ascii_case(truth))
}

fn is_truth(value: &str) -> bool {
    ["", "true", "false", "yes", "no", "on", "off", "1", "0"]
        .iter()
        .any(|truth| value.eq_ignore_ascii_case(truth))
}

/// Returns whether text is a name: no option, no absolute path and none that leads up, nothing that a shell expands.
fn is_name(value: &str) -> bool {
    value.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '_' | '.'))
        && value.chars().all(|letter| letter.is_alphanumeric() || "._/+@#-(),=".contains(letter))
        && !value.contains("..")
}

fn is_name_with_blanks(value: &str) -> bool {
    is_name(&value.replace(' ', "_"))
}

/// Returns whether a URL is that of a server: with a scheme that git itself speaks, or in the form of scp(1). For text with `::`
/// git runs a program.
fn is_server(url: &str) -> bool {
    let (authority, path) = match url.split_once("://") {
        Some((scheme, rest)) if SCHEMES.contains(&scheme) => rest.split_once('/').unwrap_or((rest, "")),
        Some(_) => return false,
        None => match url.split_once(':') {
            Some(parts) => parts,
            None => return false,
        },
    };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_made_of = |text: &str, more: &str| {
        text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
    };
    host.starts_with(|first: char| first.is_ascii_alphanumeric())
        && is_made_of(host, ".-_:")
        && is_made_of(user, ".-_:+=~")
        && !user.starts_with('-')
        && is_address(path)
        && !url.contains("::")
}

/// Returns whether text may be the path of a repository on this machine: no option, no home, and not what git takes for a host.
fn is_path(value: &str) -> bool {
    // Of a `file://`, git decodes `%`: what it then takes for a repository, no value names.
    let path = match value.strip_prefix("file://") {
        Some(path) if path.starts_with('/') && !path.contains('%') => path,
        _ => value,
    };
    !path.is_empty()
        && !path.starts_with(['-', '~'])
        && !path.split('/').next().is_some_and(|first| first.contains(':'))
        && is_address(path)
        && !path.contains("::")
}

/// Returns whether text consists of what paths and URLs ordinarily do, and of nothing that a shell expands.
fn is_address(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || " ._~%/+@:,=#()-".contains(letter))
}

/// Where a setting has git take a repository from.
pub(super) enum Source {
    /// A repository on this machine: what is no URL and has no host in front, see git-fetch(1), "Git URLs".
    Path(PathBuf),
    /// A command that speaks with it, see git-remote-ext(1): its words.
    Command(Vec<Vec<u8>>),
}

/// What stands before a command in the place of a URL.
const COMMAND: &[u8] = b"ext::";

/// Returns where a setting has git take a repository from, if that is on this machine.
pub(super) fn source(entry: &ConfigEntry) -> Option<Source> {
    let named = match (entry.section.as_str(), entry.key.as_str()) {
        ("remote", "url" | "pushurl" | "pushdefault")
        | ("branch", "remote" | "pushremote")
        | ("extensions", "partialclone")
        | ("submodule", "url") => entry.value.as_deref(),
        ("url", "insteadof" | "pushinsteadof") => entry.subsection.as_deref(),
        _ => None,
    }?
    .as_bytes();
    if let Some(command) = named.strip_prefix(COMMAND) {
        return Some(Source::Command(words_of_remote(command)));
    }
    let named = named.strip_prefix(b"file://").unwrap_or(named);
    let has_host = named.split(|byte| *byte == b'/').next().is_some_and(|first| first.contains(&b':'));
    (!named.is_empty() && !has_host).then(|| Source::Path(PathBuf::from(OsStr::from_bytes(named))))
}

/// Returns the words of a command as git-remote-ext(1) splits it: at spaces, where `% ` is a space and `%%` a `%`. What it puts in for
/// another letter, such as `%S`, is no path; an argument of `%G` or `%V` is for the other side.
fn words_of_remote(command: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word) = (Vec::new(), Vec::new());
    let mut bytes = command.iter();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.as_slice().first()) {
            (b' ', _) => words.push(std::mem::take(&mut word)),
            (b'%', Some(escaped @ (b' ' | b'%'))) => {
                word.push(*escaped);
                bytes.next();
            }
            _ => word.push(*byte),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}
