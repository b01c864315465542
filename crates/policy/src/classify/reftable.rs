//! Tables of references, which `extensions.refStorage = reftable` has in the place of files, see "reftable" in git's technical
//! documentation.
//!
//! Git finds a reference by blocks in their order, by an index of blocks, and by the places in a block at which a name begins anew. A table
//! counts as malformed if these ways could find different names. Git writes none such.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::classify::index::hex;
use crate::classify::repository::{self, Autostash, ObeyedReference, SymbolicReference};

/// How long the beginning of a block is: its kind, and its length in three bytes.
const BLOCK_HEADER: usize = 4;

/// How long the end of a block is that has one place at which a name begins anew: that, and how many there are.
const ONE_RESTART: usize = 3 + 2;

/// How many bytes of records a block that is made has at most, unless one is longer. Git reads all those before the one that it looks for.
const FULL_BLOCK: usize = 64 << 10;

/// How long the name of a reference is at most, in bytes.
const MAX_NAME: usize = 4096;

/// How many times as long as the table all names together are at most. A name says only in which letters it differs from the one before.
const MAX_EXPANSION: usize = 32;

/// The kind of a record of a reference that is gone.
const DELETED: u8 = 0;

/// Where the positions in the footer are, counted from the copy of the header at its beginning.
const REF_INDEX: usize = 0;
const LOGS: usize = 24;
const LOG_INDEX: usize = 32;
const CHECKSUM: usize = 40;

/// A table that git would not have written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MalformedTable;

/// Calls `each` for every reference in a table that git or programs do more with than with any other.
///
/// # Errors
///
/// The table is malformed. References before that place have been passed on.
pub fn obeyed_references(
    table: &[u8],
    mut each: impl FnMut(ObeyedReference<'_>),
) -> Result<(), MalformedTable> {
    Table::read(table, |record| {
        if let Some(obeyed) = record.obeyed() {
            each(obeyed);
        }
    })
    .map(drop)
    .ok_or(MalformedTable)
}

/// What a reference in a table is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Referent<'t> {
    /// There is none any more.
    Gone,
    /// The number of an object.
    Object(&'t [u8]),
    /// Another reference.
    Reference(&'t [u8]),
}

/// Calls `each` for every reference in a table, with its name.
///
/// # Errors
///
/// The table is malformed. References before that place have been passed on.
pub fn references<'t>(
    table: &'t [u8],
    mut each: impl FnMut(&[u8], Referent<'t>),
) -> Result<(), MalformedTable> {
    Table::read(table, |record| {
        let referent = record.target.map(Referent::Reference).or(record.number.map(Referent::Object));
        each(record.name, referent.unwrap_or(Referent::Gone));
    })
    .map(drop)
    .ok_or(MalformedTable)
}

/// Returns a table without the references that are obeyed, but for these names; the logs of all references stay.
///
/// # Errors
///
/// The table is malformed, or one reference does not fit into a block of 16 MiB.
pub fn without_obeyed_references(table: &[u8], known: &[String]) -> Result<Vec<u8>, MalformedTable> {
    let (mut blocks, mut records, mut before) = (Vec::new(), Vec::new(), Vec::new());
    let read = Table::read(table, |record| {
        if record.obeyed().is_none_or(|obeyed| obeyed.is_among(known)) {
            if records.len() + record.name.len() + record.value.len() > FULL_BLOCK {
                blocks.push(std::mem::take(&mut records));
                before.clear();
            }
            record.put_behind(&before, &mut records);
            record.name.clone_into(&mut before);
        }
    });
    blocks.push(records);
    let Table { header, logs, .. } = read.ok_or(MalformedTable)?;
    let mut made = header.to_vec();
    // Blocks follow each other without a gap.
    made[5..8].fill(0);
    let header = made.clone();
    // The header of the file is a part of the first block.
    let mut skipped = header.len();
    for records in blocks.into_iter().filter(|records| !records.is_empty()) {
        let number = |number: usize| {
            let bytes = u32::try_from(number).ok().map(u32::to_be_bytes);
            bytes.filter(|bytes| bytes[0] == 0).ok_or(MalformedTable)
        };
        let first = skipped + BLOCK_HEADER;
        made.push(b'r');
        made.extend(&number(first + records.len() + ONE_RESTART)?[1..]);
        made.extend(records);
        // The one place at which a name begins anew.
        made.extend(&number(first)?[1..]);
        made.extend([0, 1]);
        skipped = 0;
    }
    let logs_at = if logs.is_empty() { 0 } else { made.len() as u64 };
    made.extend(logs);
    let mut footer = header;
    footer.extend([0; LOGS]);
    footer.extend(logs_at.to_be_bytes());
    footer.extend([0; CHECKSUM - LOG_INDEX]);
    footer.extend(crc32fast::hash(&footer).to_be_bytes());
    made.extend(footer);
    Ok(made)
}

/// A reference in a table.
struct Record<'t, 'n> {
    name: &'n [u8],
    kind: u8,
    /// All that follows the name.
    value: &'t [u8],
    /// The number of what it names.
    number: Option<&'t [u8]>,
    /// The reference that it leads to.
    target: Option<&'t [u8]>,
}

impl Record<'_, '_> {
    /// Adds it to the records of a block, of which the last one has this name.
    fn put_behind(&self, before: &[u8], records: &mut Vec<u8>) {
        let shared = self.name.iter().zip(before).take_while(|(one, other)| one == other).count();
        let suffix = &self.name[shared..];
        put_number(records, shared as u64);
        put_number(records, (suffix.len() as u64) << 3 | u64::from(self.kind));
        records.extend(suffix);
        records.extend(self.value);
    }

    fn obeyed(&self) -> Option<ObeyedReference<'_>> {
        // It says that there is none any more.
        if self.kind == DELETED {
            return None;
        }
        if self.name == b"MERGE_AUTOSTASH" {
            let commit = self.number.map(hex).unwrap_or_default();
            return Some(ObeyedReference::Stash(Autostash::of(commit.as_bytes())));
        }
        // Beside those in `refs` there are `HEAD` and its like.
        let is_hostile = match self.name.strip_prefix(b"refs/") {
            Some(_) => repository::is_hostile_reference(path(self.name)),
            None => !self.name.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'_')),
        };
        if is_hostile {
            return Some(ObeyedReference::Name(self.name));
        }
        SymbolicReference::of(self.name, self.target?).map(ObeyedReference::Symbolic)
    }
}

/// What a table has beside its references.
struct Table<'t> {
    header: &'t [u8],
    /// The blocks with logs of references.
    logs: &'t [u8],
}

impl<'t> Table<'t> {
    /// Reads all of a table; `None` if it is malformed.
    fn read(table: &'t [u8], mut each: impl FnMut(Record<'t, '_>)) -> Option<Self> {
        let (header_length, hash_length) = match table.get(..5)? {
            b"REFT\x01" => (24, 20),
            b"REFT\x02" => match table.get(24..28)? {
                b"sha1" => (28, 20),
                b"s256" => (28, 32),
                _ => return None,
            },
            _ => return None,
        };
        let body = table.len().checked_sub(header_length + CHECKSUM + 4)?;
        let (header, footer) = (table.get(..header_length)?, &table[body..]);
        let positions = footer.strip_prefix(header)?;
        let position = |at: usize| {
            let bytes = positions.get(at..at + 8)?.try_into().ok()?;
            usize::try_from(u64::from_be_bytes(bytes)).ok()
        };
        let mut blocks = Blocks { table, body, header_length, at: 0, known: BTreeSet::new() };
        let mut names = Names::default();
        let mut expanded = 0;
        while let Some(block) = blocks.next_of(b'r').ok()? {
            names.forget();
            block.records(&mut names, |names, kind, rest| {
                expanded += names.name.len();
                let Value { bytes: value, number, target } = value(kind, rest, hash_length)?;
                each(Record { name: &names.name, kind, value, number, target });
                (expanded <= table.len().saturating_mul(MAX_EXPANSION)).then_some(value.len())
            })?;
        }
        // The index leads to blocks that were read, and to none in the middle of others.
        let of_index = blocks.at;
        let mut led_to = Vec::new();
        while let Some(block) = blocks.next_of(b'i').ok()? {
            // Of each index, the names begin anew.
            block.records(&mut Names::default(), |_, kind, rest| {
                let (offset, length) = number(rest)?;
                led_to.push(usize::try_from(offset).ok()?);
                (kind == 0).then_some(length)
            })?;
        }
        let index = position(REF_INDEX)?;
        let is_known = |at: &usize| blocks.known.contains(at);
        if index != 0 && !(index >= of_index && is_known(&index)) || !led_to.iter().all(is_known) {
            return None;
        }
        let logs = match (position(LOGS)?, position(LOG_INDEX)?) {
            (0, _) => &[],
            (at, 0) => table.get(at..body)?,
            (at, end) => table.get(at..end)?,
        };
        if logs.first().is_some_and(|kind| *kind != b'g') {
            return None;
        }
        Some(Self { header, logs })
    }
}

/// The blocks of a table, from the first one on.
struct Blocks<'t> {
    table: &'t [u8],
    /// Where the footer begins.
    body: usize,
    header_length: usize,
    /// Where the next block is.
    at: usize,
    /// Where blocks are that were read.
    known: BTreeSet<usize>,
}

impl<'t> Blocks<'t> {
    /// Returns the length of the header of the file, if that is a part of the next block.
    fn skipped(&self) -> usize {
        if self.at == 0 { self.header_length } else { 0 }
    }

    /// Returns the next block, if there is one of a kind.
    fn next_of(&mut self, kind: u8) -> Result<Option<Block<'t>>, MalformedTable> {
        let begin = self.at + self.skipped();
        match self.table[..self.body].get(begin) {
            Some(found) if *found == kind => self.read().map(Some).ok_or(MalformedTable),
            Some(b'r' | b'g' | b'o' | b'i') | None => Ok(None),
            Some(_) => Err(MalformedTable),
        }
    }

    fn read(&mut self) -> Option<Block<'t>> {
        let begin = self.skipped();
        let block = self.table.get(self.at..self.body)?;
        let length = number_of_3(block, begin + 1)?;
        let aligned = number_of_3(self.table, 5)?;
        if aligned != 0 && length > aligned {
            return None;
        }
        let bytes = block.get(..length)?;
        let count = usize::from(u16::from_be_bytes(bytes.get(length.checked_sub(2)?..)?.try_into().ok()?));
        let restarts = length.checked_sub(2 + 3 * count)?..length - 2;
        if restarts.start < begin + BLOCK_HEADER {
            return None;
        }
        // Zeros fill a block up to its full length, or the next one follows at once.
        let is_filled = aligned > length && self.table.get(self.at + length) == Some(&0);
        self.known.insert(self.at);
        self.at += if is_filled { aligned } else { length };
        Some(Block { bytes, records: begin + BLOCK_HEADER..restarts.start, restarts })
    }
}

/// A block with names.
struct Block<'t> {
    bytes: &'t [u8],
    records: Range<usize>,
    /// Where it says at which places names begin anew.
    restarts: Range<usize>,
}

impl<'t> Block<'t> {
    /// Reads all records. `each` gets the kind of a record and what follows its name, and returns how long its value is.
    fn records(
        &self,
        names: &mut Names,
        mut each: impl FnMut(&Names, u8, &'t [u8]) -> Option<usize>,
    ) -> Option<()> {
        let mut anew = BTreeSet::new();
        let mut at = self.records.start;
        let end = self.records.end;
        while at < end {
            let begin = at;
            let rest = |at: usize| self.bytes.get(at..end);
            let (prefix, length) = number(rest(at)?)?;
            at += length;
            let (suffix, length) = number(rest(at)?)?;
            at += length;
            let kind = (suffix & 7) as u8;
            let suffix = rest(at)?.get(..usize::try_from(suffix >> 3).ok()?)?;
            at += suffix.len();
            names.next(usize::try_from(prefix).ok()?, suffix)?;
            at += each(names, kind, rest(at)?)?;
            if prefix == 0 {
                anew.insert(begin);
            }
        }
        let mut restarts = self.bytes.get(self.restarts.clone())?.chunks_exact(3);
        restarts.all(|place| number_of_3(place, 0).is_some_and(|place| anew.contains(&place))).then_some(())
    }
}

/// The name that was read last.
#[derive(Default)]
struct Names {
    name: Vec<u8>,
    /// The last one of the block before.
    before: Vec<u8>,
}

impl Names {
    /// Begins a block, whose first name is whole.
    fn forget(&mut self) {
        // A block may be empty.
        if !self.name.is_empty() {
            self.before = std::mem::take(&mut self.name);
        }
    }

    /// Reads the next name; `None` if it does not come behind the one before.
    fn next(&mut self, prefix: usize, suffix: &[u8]) -> Option<()> {
        let is_first = self.name.is_empty();
        let shared = self.name.get(..prefix)?;
        let above = if is_first { self.before.as_slice() } else { self.name.get(prefix..)? };
        if suffix <= above || shared.len() + suffix.len() > MAX_NAME {
            return None;
        }
        self.name.truncate(prefix);
        self.name.extend(suffix);
        Some(())
    }
}

/// The value of a reference.
struct Value<'a> {
    /// With the number of its update.
    bytes: &'a [u8],
    number: Option<&'a [u8]>,
    target: Option<&'a [u8]>,
}

/// Reads the value of a reference.
fn value(kind: u8, rest: &[u8], hash: usize) -> Option<Value<'_>> {
    let (_, updated) = number(rest)?;
    let (end, target) = match kind {
        DELETED => (updated, None),
        1 => (updated + hash, None),
        2 => (updated + 2 * hash, None),
        3 => {
            let (length, read) = number(rest.get(updated..)?)?;
            let begin = updated + read;
            let end = begin.checked_add(usize::try_from(length).ok()?)?;
            (end, Some(rest.get(begin..end)?))
        }
        _ => return None,
    };
    let bytes = rest.get(..end)?;
    let number = bytes.get(updated..updated + hash).filter(|_| target.is_none());
    Some(Value { bytes, number, target })
}

/// Reads a number of any length, and returns how long it is.
fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value = value.checked_add(1).filter(|value| *value < 1 << 57)? << 7;
    }
    None
}

fn put_number(to: &mut Vec<u8>, mut value: u64) {
    let mut digits = vec![(value & 0x7f) as u8];
    while value >> 7 != 0 {
        value = (value >> 7) - 1;
        digits.push(0x80 | (value & 0x7f) as u8);
    }
    to.extend(digits.iter().rev());
}

fn number_of_3(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + 3)?;
    Some(bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: usize = 24;

    /// Makes a block at a position out of records and the places at which names begin anew.
    fn block(kind: u8, at: usize, records: &[u8], restarts: &[usize]) -> Vec<u8> {
        let begin = if at == 0 { HEADER } else { 0 };
        let length = begin + BLOCK_HEADER + records.len() + 3 * restarts.len() + 2;
        let three = |number: usize| u32::try_from(number).unwrap().to_be_bytes()[1..].to_vec();
        let mut made = [vec![kind], three(length), records.to_vec()].concat();
        for place in restarts {
            made.extend(three(*place));
        }
        made.extend(u16::try_from(restarts.len()).unwrap().to_be_bytes());
        made
    }

    /// Makes a record of an object.
    fn record(prefix: u64, suffix: &str) -> Vec<u8> {
        made_record(prefix, suffix, 1, &[7; 20])
    }

    /// Makes a record that leads to a name.
    fn symbolic(name: &str, target: &str) -> Vec<u8> {
        let mut value = Vec::new();
        put_number(&mut value, target.len() as u64);
        value.extend(target.bytes());
        made_record(0, name, 3, &value)
    }

    fn made_record(prefix: u64, suffix: &str, kind: u64, value: &[u8]) -> Vec<u8> {
        let mut made = Vec::new();
        put_number(&mut made, prefix);
        put_number(&mut made, (suffix.len() as u64) << 3 | kind);
        made.extend(suffix.bytes());
        made.push(0);
        made.extend(value);
        made
    }

    /// Makes a table of blocks, with an index at a position.
    fn table(aligned: u8, blocks: &[u8], index: u64) -> Vec<u8> {
        let mut header = b"REFT\x01\0\0".to_vec();
        header.push(aligned);
        header.extend([0; 16]);
        let mut made = [header.as_slice(), blocks, &header, &index.to_be_bytes()].concat();
        made.extend([0; CHECKSUM + 4 - 8]);
        made
    }

    fn obeyed(table: &[u8]) -> Option<Vec<String>> {
        let mut found = Vec::new();
        let read = obeyed_references(table, |obeyed| match obeyed {
            ObeyedReference::Stash(_) => found.push("a stash".into()),
            ObeyedReference::Name(name) => found.push(String::from_utf8_lossy(name).into_owned()),
            ObeyedReference::Symbolic(symbolic) => found.push(symbolic.known_as()),
        });
        read.ok().map(|()| found)
    }

    #[test]
    fn names_that_share_a_beginning_are_read_as_one() {
        let first = record(0, "refs/heads/a$");
        let records = [first, record(13, "(x)")].concat();
        let made = table(0, &block(b'r', 0, &records, &[HEADER + BLOCK_HEADER]), 0);
        assert_eq!(obeyed(&made), Some(vec!["refs/heads/a$(x)".into()]));
        let without = without_obeyed_references(&made, &[]).unwrap();
        assert_eq!(obeyed(&without), Some(Vec::new()));
        assert!(without.windows(13).any(|name| name == b"refs/heads/a$"));
        let known = ["refs/heads/a$(x)".to_owned()];
        assert_eq!(obeyed(&without_obeyed_references(&made, &known).unwrap()), obeyed(&made));
    }

    #[test]
    fn references_that_fill_several_blocks_all_stay() {
        let name =
            |number: usize| format!("refs/heads/{number:06}{}", if number % 50 == 7 { "$(x)" } else { "" });
        let names: Vec<String> = (0..5 * FULL_BLOCK / 32).map(name).collect();
        let records: Vec<u8> = names.iter().flat_map(|name| record(0, name)).collect();
        let made = table(0, &block(b'r', 0, &records, &[HEADER + BLOCK_HEADER]), 0);
        let without = without_obeyed_references(&made, &[names[57].clone()]).unwrap();
        let mut left = Vec::new();
        let read =
            Table::read(&without, |record| left.push(String::from_utf8_lossy(record.name).into_owned()));
        assert!(read.is_some());
        let expected: Vec<String> =
            names.iter().filter(|name| !name.contains('$') || **name == names[57]).cloned().collect();
        assert!(left == expected, "{} of {}", left.len(), expected.len());
        assert!(without.len() > 2 * FULL_BLOCK, "the control: {}", without.len());
    }

    #[test]
    fn what_leads_where_git_leads_nothing_and_a_stash_are_obeyed() {
        for (name, target, is_obeyed) in [
            ("HEAD", "refs/heads/main", false),
            ("HEAD", "refs/heads/$(x)", true),
            ("HEAD", "--upload-pack=x", true),
            ("refs/remotes/origin/HEAD", "refs/remotes/origin/main", false),
            ("refs/remotes/origin/HEAD", "../../x", true),
            ("refs/stash", "refs/heads/main", true),
            ("MERGE_AUTOSTASH", "refs/heads/main", true),
            ("../x", "refs/heads/main", true),
        ] {
            let made = table(0, &block(b'r', 0, &symbolic(name, target), &[HEADER + BLOCK_HEADER]), 0);
            assert_eq!(obeyed(&made).map(|found| !found.is_empty()), Some(is_obeyed), "{name} {target}");
            let without = without_obeyed_references(&made, &[]).unwrap();
            assert_eq!(obeyed(&without), Some(Vec::new()), "{name} {target}");
        }
        let alias = symbolic("refs/heads/alias", "refs/heads/main");
        let made = table(0, &block(b'r', 0, &alias, &[HEADER + BLOCK_HEADER]), 0);
        for (known, left) in [("refs/heads/main", 1), ("refs/heads/other", 0)] {
            let known = [format!("refs/heads/alias {known}")];
            let without = without_obeyed_references(&made, &known).unwrap();
            assert_eq!(obeyed(&without), Some(known[..left].to_vec()));
        }
    }

    #[test]
    fn what_ways_through_a_table_could_find_differently_is_malformed() {
        let begin = HEADER + BLOCK_HEADER;
        let one = record(0, "refs/heads/b");
        let whole = block(b'r', 0, &one, &[begin]);
        let second = HEADER + whole.len();
        // An index has the last name of each block, and where the block is.
        let index = |to: u8| {
            let entry = [vec![0, 12 << 3], b"refs/heads/b".to_vec(), vec![to]].concat();
            block(b'i', second, &entry, &[BLOCK_HEADER])
        };
        let indexed = |to| table(0, &[whole.clone(), index(to)].concat(), second as u64);
        assert_eq!(obeyed(&indexed(0)), Some(Vec::new()));
        let unsorted = [one.clone(), record(0, "refs/heads/a")].concat();
        let second_block = block(b'r', second, &record(0, "refs/heads/a"), &[BLOCK_HEADER]);
        let empty = block(b'r', second, &[], &[]);
        let at = second + empty.len();
        let third_block = block(b'r', at, &record(0, "refs/heads/a"), &[BLOCK_HEADER]);
        for (made, case) in [
            (table(0, &block(b'r', 0, &one, &[begin + 5]), 0), "a name begins in the middle of a record"),
            (table(0, &block(b'r', 0, &record(1, "x"), &[begin]), 0), "no name before"),
            (table(0, &block(b'r', 0, &unsorted, &[begin]), 0), "names in no order"),
            (table(0, &[whole.clone(), second_block].concat(), 0), "blocks in no order"),
            (table(0, &[whole.clone(), empty, third_block].concat(), 0), "an empty block in between"),
            (table(0, &whole, 40), "an index in the middle of a block"),
            (indexed(40), "an index that leads into the middle of a block"),
            (table(30, &whole, 0), "a block longer than a block"),
            (table(0, &[whole.clone(), b"x".repeat(9)].concat(), 0), "a block of no kind"),
            (whole.clone(), "no header"),
            (b"REFT\x01".to_vec(), "an end too early"),
        ] {
            assert_eq!(obeyed(&made), None, "{case}");
        }
        assert_eq!(obeyed(&table(0, &[], 0)), Some(Vec::new()));
    }

    #[test]
    fn names_that_grow_without_end_are_not_followed() {
        let long = record(0, &format!("refs/heads/{}", "a".repeat(4000)));
        let mut records = long.clone();
        for number in 0..4000_u64 {
            let suffix = format!("{number:04}");
            records.extend(record(4011, &suffix));
        }
        let made = table(0, &block(b'r', 0, &records, &[HEADER + BLOCK_HEADER]), 0);
        assert_eq!(obeyed(&made), None);
        let longer = record(0, &format!("refs/heads/{}", "a".repeat(MAX_NAME)));
        assert_eq!(obeyed(&table(0, &block(b'r', 0, &longer, &[HEADER + BLOCK_HEADER]), 0)), None);
    }

    #[test]
    fn numbers_of_any_length_are_read_as_they_were_written() {
        for value in [0, 1, 127, 128, 16511, 16512, 1 << 40] {
            let mut made = Vec::new();
            put_number(&mut made, value);
            assert_eq!(number(&made), Some((value, made.len())), "{value}");
        }
        assert_eq!(number(&[0xff; 12]), None);
        assert_eq!(number(&[]), None);
    }
}
