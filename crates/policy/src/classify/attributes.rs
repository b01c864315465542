//! Attributes of git: those that a repository has besides those of its work tree (`info/attributes`), by which of the owner's drivers they
//! have git run on which files, and all of them by what they say of the filter of one file.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::reason::Reason;

/// Attributes for which git runs no driver, see gitattributes(5), and for which a known tool runs nothing.
const PLAIN: [&[u8]; 15] = [
    b"binary", b"conflict-marker-size", b"crlf", b"delta", b"encoding", b"eol", b"export-ignore",
    b"export-subst", b"ident", b"lockable", b"text", b"whitespace", b"working-tree-encoding",
    b"annex.largefiles", b"annex.numcopies",
];

/// Attributes whose values are the names of drivers. Set or unset, they name none.
const OF_DRIVERS: [&[u8]; 3] = [b"diff", b"filter", b"merge"];

/// Classifies attributes: those that name a driver, or may, as macros do.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    let (_, attribute) = named(content).next()?;
    let name = attribute.split(|byte| *byte == b'=').next().unwrap_or_default();
    Some(Reason::Setting { key: String::from_utf8_lossy(name).into_owned() })
}

/// Returns what counts of attributes: a change of anything else is none.
pub(super) fn essence(content: &[u8]) -> Vec<u8> {
    named(content).flat_map(|(line, _)| [line, b"\n"].concat()).collect()
}

/// Values of `diff` and `merge` that are git's own, see gitattributes(5).
const OF_GIT: [&[u8]; 30] = [
    b"diff=ada", b"diff=bash", b"diff=bibtex", b"diff=cpp", b"diff=csharp", b"diff=css", b"diff=dts",
    b"diff=elixir", b"diff=fortran", b"diff=fountain", b"diff=golang", b"diff=html", b"diff=ini",
    b"diff=java", b"diff=kotlin", b"diff=markdown", b"diff=matlab", b"diff=objc", b"diff=pascal",
    b"diff=perl", b"diff=php", b"diff=python", b"diff=r", b"diff=ruby", b"diff=rust", b"diff=scheme",
    b"diff=tex", b"merge=binary", b"merge=text", b"merge=union",
];

/// Lists the lines of attributes by which git writes another content than it has recorded, or the other way round, or runs a driver: those about an
/// encoding or a filter, also where they take it away, those that name another driver, and those that may do so, as macros do.
pub fn converting_lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let converts = |attribute: &[u8]| {
        let name = attribute.strip_prefix(b"-").or_else(|| attribute.strip_prefix(b"!")).unwrap_or(attribute);
        let name = name.split(|byte| *byte == b'=').next().unwrap_or_default();
        matches!(name, b"filter" | b"working-tree-encoding")
            || !is_plain(attribute) && !OF_GIT.contains(&attribute)
    };
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    lines_with(content, converts).map(|(line, _)| line)
}

/// Lists the lines of attributes that may say which filter git runs on a file, or that it runs none. The path is seen from the directory
/// that the attributes are of. A pattern that is more than `*` and `?` counts for every file, and so does the definition of a macro.
///
/// A line is given with the blanks around it, up to its first NUL: git reads none that is longer than 2047 bytes with them.
pub fn lines_about_filter<'c>(content: &'c [u8], path: &Path) -> impl Iterator<Item = &'c [u8]> {
    let path = path.as_os_str().as_bytes().to_ascii_lowercase();
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let lines = content.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == 0).next());
    lines.filter(move |line| {
        let line = line.trim_ascii();
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (pattern, rest) = line.split_at(end);
        let is_about = |word: &[u8]| !is_about_other(word);
        let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match pattern {
            [] | [b'#', ..] => false,
            [b'"', ..] => true,
            _ if pattern.starts_with(b"[attr]") => true,
            _ => words.any(is_about) && may_match(pattern, &path),
        }
    })
}

/// Returns whether an attribute is known to be about something else than a filter.
fn is_about_other(attribute: &[u8]) -> bool {
    let name = attribute.strip_prefix(b"-").or_else(|| attribute.strip_prefix(b"!")).unwrap_or(attribute);
    let name = name.split(|byte| *byte == b'=').next().unwrap_or_default();
    PLAIN.contains(&name) || name.starts_with(b"linguist-") || matches!(name, b"diff" | b"merge")
}

/// Returns whether a pattern may match a path in lower case: with more that it matches, and nothing less.
fn may_match(pattern: &[u8], path: &[u8]) -> bool {
    if pattern.iter().any(|byte| matches!(byte, b'[' | b'\\')) {
        return true;
    }
    let pattern = pattern.to_ascii_lowercase();
    let is_anchored = pattern.contains(&b'/');
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let text = if is_anchored { path } else { name };
    // Any number of directories, also none.
    let mut parts = pattern.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
    let mut plain = Vec::new();
    while let Some(part) = parts.next() {
        plain.extend_from_slice(part);
        if parts.peek().is_some() && part != b"**" {
            plain.push(b'/');
        }
    }
    matches_wildly(&plain, text)
}

/// Matches with `*` for anything and `?` for one byte. What `*` stands for is tried for the last one only.
fn matches_wildly(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut done) = (0, 0);
    let mut last_any: Option<(usize, usize)> = None;
    while done < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                last_any = Some((at, done));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[done] => (at, done) = (at + 1, done + 1),
            _ => {
                let Some((any, taken)) = last_any else { return false };
                last_any = Some((any, taken + 1));
                (at, done) = (any + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Lists the attributes that name a driver, or may, with their lines.
fn named(content: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines_with(content, |attribute| !is_plain(attribute))
}

/// Lists the lines with such an attribute, and the first one in each.
fn lines_with(content: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter_map(move |line| {
        let rest = match line {
            [] | [b'#', ..] => return None,
            // A pattern with blanks. Without its end it is a word as any other.
            [b'"', quoted @ ..] if end_of_quotes(quoted).is_some() => &quoted[end_of_quotes(quoted)?..],
            _ => &line[line.iter().position(u8::is_ascii_whitespace)?..],
        };
        let mut attributes = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        attributes.find(|attribute| is_wanted(attribute)).map(|attribute| (line, attribute))
    })
}

/// Returns where a pattern in quotes ends; `None` where git takes the quotation mark for a part of a word: they are not closed, or have a
/// backslash that is none of C's (`unquote_c_style`).
fn end_of_quotes(quoted: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match &quoted[at..] {
            [b'"', ..] => return Some(at + 1),
            [b'\\', b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'\\' | b'"', ..] => at += 2,
            [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => at += 4,
            [] | [b'\\', ..] => return None,
            [..] => at += 1,
        }
    }
}

fn is_plain(attribute: &[u8]) -> bool {
    let name = attribute.strip_prefix(b"-").or_else(|| attribute.strip_prefix(b"!")).unwrap_or(attribute);
    let mut parts = name.splitn(2, |byte| *byte == b'=');
    let name = parts.next().unwrap_or_default();
    let is_valued = parts.next().is_some();
    PLAIN.contains(&name) || name.starts_with(b"linguist-") || !is_valued && OF_DRIVERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_may_give_a_file_a_filter_are_found() {
        let is_about = |line: &str| lines_about_filter(line.as_bytes(), Path::new("a/Secret.key")).count();
        for line in [
            "Secret.key filter=enc", "*.key -filter", "* !filter", "/a/*.key filter",
            "a/secret.key filter=x", "**/Secret.key filter=x", "a/**/Secret.key filter=x", "a/** filter=x",
            "S?cret.key filter=x", "[rs]x filter=x", "\"Secret.key\" filter=x", "[attr]own -filter",
            "*.key own", "\u{feff}*.key own", " *.key\ttext own\r",
        ] {
            assert_eq!(is_about(line), 1, "{line}");
        }
        let cut = format!("*.key -filter\0{}", "x".repeat(3000));
        assert_eq!(is_about(&cut), 1);
        // Git ignores the second one, and so it is another line.
        let [short, long] = ["", &" ".repeat(3000)].map(|blanks| format!("*.key filter=x{blanks}"));
        let lines =
            |text: &'static str| lines_about_filter(text.as_bytes(), Path::new("a.key")).collect::<Vec<_>>();
        assert_ne!(lines(short.leak()), lines(long.leak()));
        for line in [
            "",
            "# *.key filter=x",
            "*.key",
            "* text=auto",
            "*.key -diff merge=union",
            "*.keys filter=x",
            "b/*.key filter=x",
            "/Secret.key filter=x",
            "*.png filter=lfs diff=lfs merge=lfs -text",
        ] {
            assert_eq!(is_about(line), 0, "{line}");
        }
    }

    #[test]
    fn lines_that_convert_files_are_found() {
        let count = |line: &str| converting_lines(line.as_bytes()).count();
        for line in [
            "*.rc working-tree-encoding=UTF-16LE-BOM eol=CRLF",
            ".env\tworking-tree-encoding=ASCII//TRANSLIT",
            "* filter=lfs -text",
            "*.x diff=lockb",
            "[attr]own working-tree-encoding=UTF-16",
            "*.x own",
            "\u{feff}* working-tree-encoding=UTF-16BE",
            "*.yaml -filter",
            "*.yaml !filter",
            "*.yaml filter",
            "*.x -working-tree-encoding ident",
        ] {
            assert_eq!(count(line), 1, "{line}");
        }
        for line in [
            "", "# * filter=x", "* text=auto eol=crlf", "*.rs diff=rust", "*.md merge=union -diff",
            "*.bin binary", "*.x ident",
        ] {
            assert_eq!(count(line), 0, "{line}");
        }
    }

    #[test]
    fn drivers_are_found_in_every_form() {
        for harmless in [
            "",
            "# filter=lfs\n",
            "*.js -diff\n*.bin binary\n*.txt text eol=lf\n\"a b\" !filter -merge\n",
            "*.x\n* linguist-generated=true whitespace=fix,-indent conflict-marker-size=9\n",
        ] {
            assert_eq!(classify(harmless.as_bytes()), None, "{harmless}");
            assert_eq!(essence(harmless.as_bytes()), b"", "{harmless}");
        }
        for naming in [
            "*.yml filter=lfs", "*.yml\ttext diff=x", " *.yml merge=x", "\"a b\" filter=lfs", "*.yml lfs",
            "\"*.js\" diff=own text=\"", "\"a\\\" b\" filter=x text=\"y\"", "\"x.js filter=own",
            "\"\\q filter=lfs text=\"", "\"x\"diff=own", "[attr]x filter=lfs", "a\r\n* filter=lfs\r\n",
        ] {
            assert!(classify(naming.as_bytes()).is_some(), "{naming}");
            assert_ne!(essence(naming.as_bytes()), b"", "{naming}");
        }
    }
}
