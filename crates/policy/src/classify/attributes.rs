//! Attributes of git that a repository has besides those of its work tree (`info/attributes`): which of the owner's drivers git runs on which files.

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

/// Lists the attributes that name a driver, or may, with their lines.
fn named(content: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter_map(|line| {
        let rest = match line {
            [] | [b'#', ..] => return None,
            // A pattern with blanks. Without its end it is a word as any other.
            [b'"', quoted @ ..] if end_of_quotes(quoted).is_some() => &quoted[end_of_quotes(quoted)?..],
            _ => &line[line.iter().position(u8::is_ascii_whitespace)?..],
        };
        let attributes = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut naming = attributes.filter(|attribute| !is_plain(attribute));
        naming.next().map(|attribute| (line, attribute))
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
