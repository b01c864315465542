//! Files in which git keeps the names of other files of its own, beside them: an index of several packs, see gitformat-pack(5), the
//! list of tables of references, see the documentation of reftable, and that of graphs of commits, see gitformat-commit-graph(5). Git takes a name as a path, reads what it finds there, and removes it
//! once it has put it together with others.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How the file begins that lists packs: a signature, versions of its form and of hashes, how many chunks and bases there are, and how
/// many packs.
const HEADER: usize = 12;

/// How long the entry of a chunk is: its name, and where it begins.
const CHUNK: usize = 12;

/// The name of the chunk that holds those of packs.
const NAMES: &[u8] = b"PNAM";

/// How long a path is, in bytes: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// How much of the beginning of an index of packs says where its chunks are, in bytes: there are 255 at most, and an end.
pub const MAX_TABLE: usize = HEADER + 256 * CHUNK;

/// Where the names of packs are in an index of several.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PackNames {
    /// In bytes from the beginning of the file.
    pub at: Range<u64>,
    count: usize,
}

impl PackNames {
    /// Finds them; `None` where git could not have written this.
    pub fn find(beginning: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(beginning.get(at..at + 4)?.try_into().ok()?));
        let chunks = usize::from(*beginning.strip_prefix(b"MIDX")?.get(2)?);
        let count = usize::try_from(number(8)?).ok()?;
        let mut found = None;
        for at in (0..chunks).map(|chunk| HEADER + chunk * CHUNK) {
            let offset = |at: usize| {
                let bytes = beginning.get(at + 4..at + CHUNK)?;
                Some(u64::from_be_bytes(bytes.try_into().ok()?))
            };
            if beginning.get(at..at + 4)? == NAMES {
                let at = offset(at)?..offset(at + CHUNK)?;
                // Git takes no second one.
                if found.replace(at).is_some() {
                    return None;
                }
            }
        }
        found.filter(|at| at.start <= at.end).map(|at| Self { at, count })
    }

    /// Returns a name that is a path to somewhere else; an empty one where git could not have written these.
    pub fn leads_elsewhere(&self, names: &[u8]) -> Option<PathBuf> {
        let Some(names) = names.strip_suffix(b"\0") else {
            return (self.count > 0 || !names.is_empty()).then(PathBuf::new);
        };
        let all: Vec<&[u8]> = names.split(|byte| *byte == 0).collect();
        // What follows the last name fills the chunk.
        let (named, rest) = all.split_at(self.count.min(all.len()));
        if named.len() < self.count || rest.iter().any(|name| !name.is_empty()) {
            return Some(PathBuf::new());
        }
        named.iter().find(|name| !is_name(name)).map(|name| path(name))
    }
}

/// Returns a line in a list of tables of references that is a path to somewhere else, or not the name of a table: git reads any file.
pub fn table_elsewhere(list: &[u8]) -> Option<PathBuf> {
    let mut lines = list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.find(|line| !is_name(line) || !line.ends_with(b".ref")).map(path)
}

/// Returns a line in a list of graphs of commits that is no number. Git reads the number at its beginning, and takes all of it for a
/// part of the name of a file.
pub fn graph_elsewhere(list: &[u8]) -> Option<PathBuf> {
    let mut lines = list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.find(|line| !line.iter().all(u8::is_ascii_hexdigit)).map(path)
}

/// Returns whether it is the name of a file beside the one that names it.
fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/') && !name.contains(&0)
}

/// Returns a path to be shown: no more of it than a path has.
fn path(name: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(&name[..name.len().min(MAX_PATH)])).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an index of packs with these chunks, of which the first one begins behind the table.
    fn index(packs: u32, chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut all = [b"MIDX\x01\x01".as_slice(), &[u8::try_from(chunks.len()).unwrap(), 0]].concat();
        all.extend(packs.to_be_bytes());
        let mut at = (HEADER + (chunks.len() + 1) * CHUNK) as u64;
        for (name, content) in chunks.iter().copied().chain([(&[0; 4], b"".as_slice())]) {
            all.extend(name);
            all.extend(at.to_be_bytes());
            at += content.len() as u64;
        }
        all.into_iter().chain(chunks.iter().flat_map(|(_, content)| content.iter().copied())).collect()
    }

    fn elsewhere(index: &[u8]) -> Option<PathBuf> {
        let Some(names) = PackNames::find(&index[..index.len().min(MAX_TABLE)]) else {
            return Some(PathBuf::new());
        };
        let at = usize::try_from(names.at.start).unwrap()..usize::try_from(names.at.end).unwrap();
        index.get(at).map_or_else(|| Some(PathBuf::new()), |chunk| names.leads_elsewhere(chunk))
    }

    #[test]
    fn the_names_of_packs_are_names_beside_their_index() {
        let of = |packs, names: &[u8]| elsewhere(&index(packs, &[(b"OIDF", b"1234"), (b"PNAM", names)]));
        assert_eq!(of(2, b"pack-a.idx\0pack-b.idx\0\0\0"), None);
        assert_eq!(of(0, b""), None);
        for (packs, names, name) in [
            (2, b"pack-a.idx\0../../x.idx\0".as_slice(), "../../x.idx"),
            (1, b"/x.idx\0", "/x.idx"),
            (1, b"..\0", ".."),
            // Git reads on behind what ends too early.
            (2, b"pack-a.idx\0", ""),
            (1, b"pack-a.idx", ""),
            (1, b"pack-a.idx\0../x.idx\0", ""),
        ] {
            assert_eq!(of(packs, names), Some(name.into()), "{names:?}");
        }
        for other in [
            index(1, &[(b"PNAM", b"pack-a.idx\0"), (b"PNAM", b"../x.idx\0")]),
            index(1, &[(b"OIDF", b"")]),
            b"MIDX\x01\x01\x05\0".to_vec(),
            b"other".to_vec(),
        ] {
            assert_eq!(elsewhere(&other), Some(PathBuf::new()), "{other:?}");
        }
    }

    #[test]
    fn tables_of_references_are_beside_their_list() {
        assert_eq!(table_elsewhere(b"0x000000000001-0x000000000002-a1b2c3.ref\n"), None);
        assert_eq!(table_elsewhere(b"a.ref\n../../b.ref\n"), Some("../../b.ref".into()));
        assert_eq!(table_elsewhere(b"a.ref\nb.temp\n"), Some("b.temp".into()));
    }

    #[test]
    fn graphs_of_commits_are_beside_their_list() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(graph_elsewhere(format!("{id}\n{id}\n").as_bytes()), None);
        let outside = format!("{id}/../../../../outer");
        assert_eq!(graph_elsewhere(format!("{id}\n{outside}\n").as_bytes()), Some(outside.into()));
    }
}
