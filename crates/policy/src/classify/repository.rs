//! What makes a directory a repository for git, and what leads git from one directory to another.
//!
//! The rules are those of git's own `setup.c` and gitrepository-layout(5). What git would refuse is nothing here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most that git reads of a `.git` file, in bytes.
pub const MAX_POINTER_LENGTH: u64 = 1 << 20;

/// How much git reads of a `HEAD`, in bytes.
pub const MAX_HEAD_LENGTH: u64 = 255;

/// Returns whether git takes this for the content of a `HEAD`: the name of a reference, or the number of a commit.
pub fn is_head(content: &[u8]) -> bool {
    let content = until_nul(content);
    let named = content.strip_prefix(b"ref:").is_some_and(|name| {
        let space = name.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
        name[space..].starts_with(b"refs/")
    });
    // Whatever follows a number is ignored.
    named || content.get(..40).is_some_and(|number| number.iter().all(u8::is_ascii_hexdigit))
}

/// Returns whether a file is a reference or a log of one. Git refuses what begins like this as a configuration.
pub fn is_reference_or_log(content: &[u8]) -> bool {
    let number = content.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_number = match &content[number..] {
        [] | b"\n" => true,
        [b' ', next, ..] => next.is_ascii_hexdigit(),
        _ => false,
    };
    content.starts_with(b"ref: ") || (number >= 40 && is_number)
}

/// Returns whether a reference may have this name: in `refs`, and not out of it again. Programs hand the name of a branch on.
pub fn is_reference_name(name: &[u8]) -> bool {
    let is_hostile = |kind: &[u8]| name.strip_prefix(kind).is_some_and(is_hostile);
    name.starts_with(b"refs/")
        && !is_hostile(b"refs/heads/")
        && !is_hostile(b"refs/tags/")
        && !name.split(|byte| *byte == b'/').any(|part| matches!(part, b"" | b"." | b".."))
}

/// Returns whether a file in `refs` is a branch or a tag whose name programs may take for more than a name.
pub fn is_hostile_reference(path: &Path) -> bool {
    ["refs/heads", "refs/tags"]
        .iter()
        .filter_map(|kind| path.strip_prefix(kind).ok())
        .map(|name| name.as_os_str().as_bytes())
        // The completion of git puts a name into a command as it is.
        .any(|name| is_hostile(name) || name.iter().any(|byte| b";|&<>".contains(byte)))
}

/// Returns whether the name of a branch or of a tag reads as an option, which git itself gives to none, or has a shell run a command: a
/// prompt that has the branch in it is expanded (`PS1` in bash(1), `PROMPT_SUBST` in zshoptions(1)).
fn is_hostile(name: &[u8]) -> bool {
    name.starts_with(b"-")
        || name.contains(&b'`')
        || name.windows(2).any(|pair| matches!(pair, b"$(" | b"${"))
}

/// Returns what a reference leads to that leads to another one, where that is none: git never writes such a one, and writes through it to
/// wherever it says, in its own data. What reads as an option is none either: git and programs hand it on as a word of a command.
pub fn leads_out(content: &[u8]) -> Option<&Path> {
    let content = until_nul(content);
    // `git bisect` drops the space before it, of which lines are a part.
    let word = content.trim_ascii_start();
    if word.starts_with(b"-") {
        return word.split(|byte| *byte == b'\n').next().and_then(path);
    }
    let name = content.strip_prefix(b"ref:")?.trim_ascii();
    (!is_reference_name(name)).then(|| Path::new(OsStr::from_bytes(name)))
}

/// Returns whether git takes a link for a `HEAD` that leads here. Nothing has to be there.
pub fn is_head_link(target: &Path) -> bool {
    target.as_os_str().as_bytes().starts_with(b"refs/")
}

/// Returns the directory that a `.git` file names. It is relative to the directory in which git finds that file.
pub fn gitdir(content: &[u8]) -> Option<&Path> {
    named(content.strip_prefix(b"gitdir: ")?)
}

/// Returns the directory that a `commondir` file names, relative to the directory that the file lies in.
pub fn commondir(content: &[u8]) -> Option<&Path> {
    named(content)
}

/// Returns the directories of objects that an `objects/info/alternates` names, relative to that `objects`: `None` for a line in quotes
/// with an escape, or more, in it. Git writes none, and would take it for another path than it stands there.
pub fn alternates(content: &[u8]) -> impl Iterator<Item = Option<&Path>> {
    let lines = content.split(|byte| *byte == b'\n').map(until_nul);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).map(|line| {
        let Some(quoted) = line.strip_prefix(b"\"") else { return path(line) };
        path(quoted.strip_suffix(b"\"")?)
            .filter(|_| !line.contains(&b'\\') && !quoted[..quoted.len() - 1].contains(&b'"'))
    })
}

/// Returns a path at the end of which git drops the ends of lines. In C a NUL ends it, whatever follows.
fn named(text: &[u8]) -> Option<&Path> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    path(until_nul(&text[..=end]))
}

fn path(bytes: &[u8]) -> Option<&Path> {
    (!bytes.is_empty()).then(|| Path::new(OsStr::from_bytes(bytes)))
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_git_takes_for_one() {
        for head in [
            "ref: refs/heads/main\n",
            "ref:refs/x",
            "ref: \t\n refs/heads/x",
            "0123456789abcdef0123456789abcdef01234567\n",
            "0123456789ABCDEF0123456789abcdef01234567 and more",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
        ] {
            assert!(is_head(head.as_bytes()), "{head}");
        }
        for other in ["", "ref: heads/main", "Ref: refs/x", "0123456789abcdef", "main", "ref: \0refs/x"] {
            assert!(!is_head(other.as_bytes()), "{other}");
        }
        assert!(is_head_link(Path::new("refs/heads/main")));
        assert!(!is_head_link(Path::new("./refs/heads/main")));
    }

    #[test]
    fn a_pointer_ends_where_git_ends_it() {
        for (content, path) in [
            ("gitdir: ../a\n", Some("../a")),
            ("gitdir: a\r\n\n\n", Some("a")),
            ("gitdir: a\0b\n", Some("a")),
            ("gitdir:  a ", Some(" a ")),
            ("gitdir: \n", None),
            ("gitdir:a", None),
            (" gitdir: a", None),
            ("", None),
        ] {
            assert_eq!(gitdir(content.as_bytes()), path.map(Path::new), "{content:?}");
        }
        assert_eq!(commondir(b"../..\n"), Some(Path::new("../..")));
        assert_eq!(commondir(b"\n"), None);
    }

    #[test]
    fn alternates_are_lines() {
        let content = b"/a/objects\n# no\n\"../b c/objects\"\n\n\"un\n\"../x\"b\"\n\"../x\\057y\"\n";
        let named: Vec<_> = alternates(content).collect();
        assert_eq!(
            named,
            [Some("/a/objects"), Some("../b c/objects"), None, None, None].map(|named| named.map(Path::new))
        );
    }

    #[test]
    fn a_reference_leads_to_another_one_or_out() {
        for inside in ["ref: refs/heads/main\n", "ref:refs/x", "0494aea", "", "ref: refs/heads/k\u{e4}se  \n"]
        {
            assert_eq!(leads_out(inside.as_bytes()), None, "{inside}");
        }
        for (outside, target) in [
            ("ref: modules/lib/commondir\n", "modules/lib/commondir"),
            ("ref:commondir", "commondir"),
            ("ref: refs/../config", "refs/../config"),
            ("ref: HEAD", "HEAD"),
            ("ref: refs/heads/--output=x", "refs/heads/--output=x"),
            ("ref: refs/heads/a$(evil)\n", "refs/heads/a$(evil)"),
            ("ref: refs/heads/`evil`", "refs/heads/`evil`"),
            ("ref: refs/tags/-x", "refs/tags/-x"),
            ("--output=x\n", "--output=x"),
            ("-f", "-f"),
            (" --force\n", "--force"),
            ("\n\t-f\n", "-f"),
        ] {
            assert_eq!(leads_out(outside.as_bytes()), Some(Path::new(target)), "{outside}");
        }
    }
}
