//! Data of Mercurial's and Sapling's that they take paths from, or extensions.

use super::reason::Reason;
use crate::protect::table;
use crate::protect::table::content::ContentRule;

/// How many paths of a transaction of Mercurial are looked up in the table of protected paths. Those of its data are not.
const MAX_HG_PATHS: usize = 10_000;

/// Classifies what Mercurial or Sapling deletes, writes or cuts off to undo a transaction: each path must be one of its own data in this
/// directory, and nothing that it obeys. The name of a branch is written back.
pub(super) fn classify_transaction(content: &[u8], directory: &[&str]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let is_obeyed = |components: &[&str]| {
        let is_checked = |rule| matches!(rule, &ContentRule::ShownName | &ContentRule::LargefilesDirstate);
        table::content_rule(components).is_some_and(|(_, rule)| !is_checked(rule))
    };
    let mut looked_up = 0;
    let mut leads_elsewhere = |path: &str| {
        let folded = path.to_ascii_lowercase();
        let components: Vec<&str> = directory.iter().copied().chain(folded.split('/')).collect();
        // A path may be written in more than one way.
        let is_plain = !components.iter().any(|component| matches!(*component, "" | "." | ".."));
        // Of each file it has a directory of data, whose names begin with no dot: thousands in one transaction.
        let is_of_data =
            matches!(folded.split('/').next(), Some("data" | "dh" | "meta")) && !folded.contains("/.");
        looked_up += usize::from(!is_of_data);
        !path.is_empty() && (!is_plain || !is_of_data && (looked_up > MAX_HG_PATHS || is_obeyed(&components)))
    };
    let odd = text.split(['\0', '\n']).find(|path| leads_elsewhere(path));
    let odd = odd.or_else(|| text.split('\n').find_map(|line| unchecked_copy(line, directory)));
    odd.map(|path| Reason::Setting { key: path.to_owned() })
}

/// Returns the copy from which a line has a dirstate of largefiles restored, if no such dirstate is looked at there.
fn unchecked_copy<'a>(line: &'a str, directory: &[&str]) -> Option<&'a str> {
    let mut fields = line.split('\0').skip(1);
    let is_dirstate = |path: &str| {
        let folded = path.to_ascii_lowercase();
        let components: Vec<&str> = directory.iter().copied().chain(folded.split('/')).collect();
        matches!(table::content_rule(&components), Some((_, ContentRule::LargefilesDirstate)))
    };
    fields.next().filter(|file| is_dirstate(file))?;
    fields.next().filter(|copy| !copy.is_empty() && !is_dirstate(copy))
}

/// Classifies what a repository requires of the program, one word a line: each must be one of these formats. Of another one the program
/// loads an extension, or takes its data from elsewhere.
pub(super) fn classify_requirements(content: &[u8], formats: &[&str]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let odd = text.split_ascii_whitespace().find(|word| !formats.contains(word));
    odd.map(|word| Reason::Setting { key: word.to_owned() })
}

/// How long the two numbers of commits are with which a dirstate begins, and what comes before each path in it: a letter, mode, size, time
/// and the length of the path.
const PARENTS: usize = 2 * 20;
const ENTRY: usize = 1 + 4 * 4;

/// Classifies a dirstate of largefiles, see parsers.py of Mercurial: it must have no path out of the work tree, nor into Mercurial's own data.
/// Mercurial deletes what it lists. Of the second format (`dirstate-v2`) the paths are in a file beside it, so it cannot be read alone.
pub(super) fn classify_dirstate(content: &[u8], program: &str) -> Option<Reason> {
    let names = |path: &[u8]| Reason::NamesPath {
        program: program.to_owned(),
        example: String::from_utf8_lossy(path).into_owned(),
    };
    match paths(content) {
        Some(paths) => paths.into_iter().find(|path| leads_elsewhere(path)).map(names),
        None => Some(Reason::Run { program: program.to_owned() }),
    }
}

/// Lists the paths of a dirstate, and those of which they are copies.
fn paths(content: &[u8]) -> Option<Vec<&[u8]>> {
    let mut paths = Vec::new();
    let mut rest = if content.is_empty() { content } else { content.split_at_checked(PARENTS)?.1 };
    while !rest.is_empty() {
        let (entry, after) = rest.split_first_chunk::<ENTRY>()?;
        let length = u32::from_be_bytes([entry[13], entry[14], entry[15], entry[16]]);
        let (path, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        // That of which it is a copy follows a NUL.
        paths.extend(path.split(|byte| *byte == 0));
        rest = after;
    }
    Some(paths)
}

fn leads_elsewhere(path: &[u8]) -> bool {
    let mut names = path.split(|byte| *byte == b'/');
    path.get(..3).is_some_and(|first| first.eq_ignore_ascii_case(b".hg"))
        && matches!(path.get(3), None | Some(b'/'))
        || names.any(|name| matches!(name, b"" | b"." | b".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirstate(paths: &[&str]) -> Vec<u8> {
        let entry = |path: &&str| {
            let length = u32::try_from(path.len()).unwrap().to_be_bytes();
            [b"r".as_slice(), &[0; 12], &length, path.as_bytes()].concat()
        };
        [vec![0; PARENTS], paths.iter().flat_map(entry).collect()].concat()
    }

    #[test]
    fn a_dirstate_of_largefiles_stays_in_the_work_tree() {
        for paths in [&[][..], &["big.bin"], &["a/b.bin", "..x/y..\0a/c", ".hgx", "a/.hg"]] {
            assert_eq!(classify_dirstate(&dirstate(paths), "hg"), None, "{paths:?}");
        }
        assert_eq!(classify_dirstate(b"", "hg"), None);
        for path in
            ["../x", "a/../../x", "/home/me/x", "a\0../x", ".hg/hgrc", ".HG/hgrc", ".hg", "a//b", "./x", ""]
        {
            let found = classify_dirstate(&dirstate(&["a", path]), "hg");
            assert!(matches!(found, Some(Reason::NamesPath { .. })), "{path}: {found:?}");
        }
        let whole = dirstate(&["big.bin"]);
        for cut in [1, PARENTS - 1, PARENTS + 1, PARENTS + ENTRY, whole.len() - 1] {
            assert!(classify_dirstate(&whole[..cut], "hg").is_some(), "{cut}");
        }
        assert!(classify_dirstate(b"dirstate-v2\n", "hg").is_some());
        assert!(classify_dirstate(&[b"dirstate-v2\n".as_slice(), &[0; 120]].concat(), "hg").is_some());
    }
}
