//! Values of settings of git: which of them run nothing, where the key is one that may run something.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::super::alias;
use super::syntax::ConfigEntry;

/// Encodings by the names that people use.
const ENCODINGS: &[&str] = &[
    "ascii", "big5", "cp1250", "cp1251", "cp1252", "cp932", "cp936", "cp949", "cp950", "euc-jp", "euc-kr",
    "eucjp", "gb18030", "gb2312", "gbk", "iso-8859-1", "iso-8859-15", "iso-8859-2", "iso-8859-5",
    "iso8859-1", "iso8859-15", "koi8-r", "koi8-u", "latin1", "shift_jis", "sjis", "us-ascii", "utf-8",
    "utf8", "windows-1250", "windows-1251", "windows-1252", "windows-31j",
];

/// How URLs of servers begin.
const SERVERS: &[&str] =
    &["ftp://", "ftps://", "git://", "http://", "https://", "ssh://", "svn+ssh://", "svn://"];

/// What a setting may hold without running anything.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values {
    /// Anything.
    Any,
    /// A truth value: another one is a program.
    Truth,
    /// Truth: the setting protects, and is on by itself.
    True,
    /// Digits.
    Number,
    /// An encoding that keeps ASCII as it is and makes no line end of anything else: what git has encoded, it reads again line by line.
    Encoding,
    /// Part of the name of a file, in the directory where git writes it.
    FileName,
    /// One of the names of git itself: another one leads to a program, or to a directory.
    Name,
    /// Text that means nothing else to a shell within quotes, or to Tcl: scripts paste it into what they run.
    Plain,
    /// What an alias may stand for.
    Alias,
    /// Options of `git merge`.
    MergeOptions,
    /// A format of commits that gives one line for each.
    OneLine,
    /// A path that has these names in it, one after the other.
    Within(&'static [&'static str]),
    /// A URL of a server.
    Server,
    /// A URL in place of the subsection, which names a server.
    InPlaceOfServer,
    /// A command that a tool writes there itself.
    Commands(&'static [&'static str]),
}

/// Returns whether a setting runs nothing with the value that it has. Of all settings, an alias may name another one.
pub(super) fn may_hold(entry: &ConfigEntry, values: Values, all: &[ConfigEntry]) -> bool {
    let bytes = entry.value().as_bytes();
    let subsection = entry.subsection.as_deref().unwrap_or_default();
    // `ext::` runs a program to reach a repository; a carriage return changes what a path means (CVE-2025-48384). In a `file://`,
    // git decodes `%`: what it then takes for a repository, no value names.
    let is_hidden = bytes.starts_with(b"file://") && bytes.contains(&b'%');
    if is_hidden
        || bytes.contains(&b'\r')
        || [bytes, subsection.as_bytes()].iter().any(|text| text.starts_with(b"ext::"))
    {
        return false;
    }
    // Of a submodule's update, `!` has a shell run it.
    if matches!(values, Values::Any) {
        return entry.section != "submodule" || !bytes.starts_with(b"!");
    }
    let Some(value) = entry.value().to_str() else { return false };
    match values {
        Values::Any => true,
        Values::Truth => is_truth(value),
        Values::True => ["true", "yes", "on", "1"].iter().any(|truth| value.eq_ignore_ascii_case(truth)),
        Values::Name => value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')),
        Values::Plain => is_plain(value),
        Values::Alias => {
            let is_alias = |word: &str| all.iter().any(|other| is_alias(other, word));
            !value.starts_with('!') && !alias::executes(value, is_alias)
        }
        // What follows `git merge`.
        Values::MergeOptions => !alias::executes(&format!("merge {value}"), |_| false),
        Values::OneLine => is_one_line(value),
        Values::Number => value.bytes().all(|byte| byte.is_ascii_digit()),
        Values::Encoding => ENCODINGS.iter().any(|known| value.eq_ignore_ascii_case(known)),
        Values::FileName => !value.contains('/'),
        Values::Within(names) => {
            let parts: Vec<&str> = value.split('/').filter(|part| !part.is_empty()).collect();
            parts.windows(names.len()).any(|part| part == names) && !parts.contains(&"..")
        }
        Values::Server => SERVERS.iter().any(|scheme| value.starts_with(scheme)),
        Values::InPlaceOfServer => subsection.to_str().is_some_and(is_server),
        Values::Commands(known) => known.contains(&value),
    }
}

/// Returns whether what git puts in front of the rest of any URL leads to a server: another text may be a directory, or become
/// `ext::` or `file:` with what follows.
fn is_server(base: &str) -> bool {
    let is_host = |host: &str| host.contains(['.', '@']) && !host.contains('/');
    SERVERS.iter().any(|scheme| base.strip_prefix(scheme).is_some_and(|rest| rest.contains('/')))
        || base.split_once(':').is_some_and(|(host, _)| is_host(host))
}

/// Returns whether an entry is the alias of this name. Git ignores the case of one.
fn is_alias(entry: &ConfigEntry, word: &str) -> bool {
    let name = entry.subsection.as_deref().unwrap_or(OsStr::new(&entry.key));
    entry.section == "alias" && name.eq_ignore_ascii_case(word)
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

/// Returns the repository on this machine that a setting names, if it names one: what is no URL and has no host in front, see
/// git-fetch(1), "Git URLs".
pub(super) fn repository(entry: &ConfigEntry) -> Option<PathBuf> {
    let named = match (entry.section.as_str(), entry.key.as_str()) {
        ("remote", "url" | "pushurl" | "pushdefault") | ("branch", "remote" | "pushremote") => {
            entry.value.as_deref()
        }
        ("url", "insteadof" | "pushinsteadof") => entry.subsection.as_deref(),
        _ => None,
    }?
    .as_bytes();
    let named = named.strip_prefix(b"file://").unwrap_or(named);
    let has_host = named.split(|byte| *byte == b'/').next().is_some_and(|first| first.contains(&b':'));
    (!named.is_empty() && !has_host).then(|| PathBuf::from(OsStr::from_bytes(named)))
}
