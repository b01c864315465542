//! The log of a stream: a file of bounded size that holds what was written to the stream last.
//!
//! PID 1 of a persistent sandbox writes it, through a descriptor that its client has opened, and whoever may read the file
//! reads it at any time, while it is written too. It is a ring of records behind a header. The header says where the ring begins
//! and ends, counted from the first byte that was ever written; before a record is overwritten, the header says that it is
//! gone. So a reader compares the header of before with the one of after, and drops what was overwritten in between.
//!
//! What stands in it is data from a stranger, whoever has written it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a log begins with: it is one, in this form.
const MAGIC: [u8; 8] = *b"sandlog1";

/// The bytes of the header: [`MAGIC`], where the oldest record begins, where the newest one ends, how many bytes could not be written.
const HEADER: u64 = HEADER_SIZE as u64;
const HEADER_SIZE: usize = 32;

/// The bytes of a record before its content: length and time.
const PREFIX: u64 = PREFIX_SIZE as u64;
const PREFIX_SIZE: usize = 12;

/// The least bytes that a log has room for: more than any record has.
pub const MIN_CAPACITY: u64 = 64 << 10;

/// How many times a log is read again that has changed faster than it was read.
const TRIES: u32 = 8;

/// The writer of a log. There is one of each.
#[derive(Debug)]
pub struct LogWriter {
    file: File,
    capacity: u64,
    tail: u64,
    head: u64,
    lost: u64,
}

/// Something that was written to a stream at once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogRecord {
    /// Where it ends, counted from the first byte that was ever written: a later record has a larger one.
    pub end: u64,
    /// When it was read, in milliseconds since 1970.
    pub time: u64,
    pub content: Vec<u8>,
}

/// What a log holds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Log {
    /// The records, the oldest first.
    pub records: Vec<LogRecord>,
    /// Whether older ones were there.
    pub is_cut: bool,
    /// How many bytes could not be written, because the disk was full.
    pub lost: u64,
}

impl LogWriter {
    /// Begins a log in an empty file, which has room for `capacity` bytes, [`MIN_CAPACITY`] at least.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn begin(file: File, capacity: u64) -> io::Result<Self> {
        let log = Self { file, capacity: capacity.max(MIN_CAPACITY), tail: 0, head: 0, lost: 0 };
        log.write_header()?;
        Ok(log)
    }

    /// Writes what was read from a stream, less than [`MIN_CAPACITY`] bytes. What cannot be written, or has no room, is counted.
    pub fn write(&mut self, content: &[u8]) {
        if self.try_write(content).is_err() {
            self.lost = self.lost.saturating_add(content.len() as u64);
            // The next one that fits says so.
            let _ = self.write_header();
        }
    }

    fn try_write(&mut self, content: &[u8]) -> io::Result<()> {
        let length = u32::try_from(content.len()).map_err(io::Error::other)?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        let size = PREFIX + u64::from(length);
        if size > self.capacity {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a record is larger than its log"));
        }
        // What is overwritten is gone before it is.
        let mut tail = self.tail;
        while (self.head + size).saturating_sub(tail) > self.capacity {
            let mut oldest = [0; 4];
            self.read_at(tail, &mut oldest)?;
            // Never beyond what there is, whatever has become of the file.
            tail = (tail + PREFIX + u64::from(u32::from_le_bytes(oldest))).min(self.head);
        }
        if tail != self.tail {
            let before = std::mem::replace(&mut self.tail, tail);
            // Where that cannot be said, nothing is overwritten: a reader would take the one record for the other.
            self.write_header().inspect_err(|_| self.tail = before)?;
        }
        let mut record = Vec::with_capacity(content.len() + 12);
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&time.to_le_bytes());
        record.extend_from_slice(content);
        for (at, part) in split(self.head, self.capacity, record.len()) {
            self.file.write_all_at(&record[part], HEADER + at)?;
        }
        self.head += size;
        self.write_header()
    }

    fn read_at(&self, from: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (at, part) in split(from, self.capacity, buffer.len()) {
            self.file.read_exact_at(&mut buffer[part], HEADER + at)?;
        }
        Ok(())
    }

    fn write_header(&self) -> io::Result<()> {
        let numbers = [u64::from_le_bytes(MAGIC), self.tail, self.head, self.lost];
        let header: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.file.write_all_at(&header, 0)
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is no log of a sandbox")
}

/// Splits `length` bytes from `from` on into those before the end of the ring and those after: where each part lies in it.
fn split(from: u64, capacity: u64, length: usize) -> [(u64, std::ops::Range<usize>); 2] {
    let at = from % capacity;
    let before = usize::try_from(capacity - at).unwrap_or(usize::MAX).min(length);
    [(at, 0..before), (0, before..length)]
}

/// The header, as far as it makes sense.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Header {
    tail: u64,
    head: u64,
    lost: u64,
}

impl Header {
    fn read(file: &File, capacity: u64) -> io::Result<Option<Self>> {
        let mut bytes = [0; HEADER_SIZE];
        match file.read_exact_at(&mut bytes, 0) {
            // Nothing was written yet.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        Self::parse(&bytes, capacity).map(Some).ok_or_else(malformed)
    }

    fn parse(bytes: &[u8], capacity: u64) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(8 * at..8 * at + 8)?.try_into().ok()?));
        let (magic, tail, head, lost) = (number(0)?, number(1)?, number(2)?, number(3)?);
        let is_sound = magic.to_le_bytes() == MAGIC && head.checked_sub(tail)? <= capacity;
        is_sound.then_some(Self { tail, head, lost })
    }
}

/// Reads a log that was begun with this capacity, from the record on that ends after `after`.
///
/// # Errors
///
/// The file cannot be read, or is no log.
pub fn read(file: &File, capacity: u64, after: u64) -> io::Result<Log> {
    let capacity = capacity.max(MIN_CAPACITY);
    for _ in 0..TRIES {
        let Some(before) = Header::read(file, capacity)? else { return Ok(Log::default()) };
        // Never more than the file has: a header says anything. What it says of a whole log was written before it.
        if before.head - before.tail > file.metadata()?.len().saturating_sub(HEADER) {
            return Err(malformed());
        }
        let length = usize::try_from(before.head - before.tail).map_err(|_| malformed())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        bytes.resize(length, 0);
        let mut is_there = true;
        for (at, part) in split(before.tail, capacity, length) {
            // A hole that a writer was about to fill.
            is_there &= file.read_exact_at(&mut bytes[part], HEADER + at).is_ok();
        }
        let Some(later) = Header::read(file, capacity)? else { continue };
        if !is_there || later.tail > before.head {
            continue;
        }
        let mut records = records(&bytes, before.tail);
        records.retain(|record| record.begin() >= later.tail && record.end > after);
        return Ok(Log { records, is_cut: later.tail > 0, lost: later.lost });
    }
    Err(io::Error::other("it is written faster than it can be read"))
}

impl LogRecord {
    fn begin(&self) -> u64 {
        self.end.saturating_sub(PREFIX + self.content.len() as u64)
    }
}

/// Takes the records out of the bytes of a ring that begins at `tail`. What makes no sense ends it.
fn records(mut bytes: &[u8], tail: u64) -> Vec<LogRecord> {
    let mut records = Vec::new();
    let mut end = tail;
    while let Some((prefix, rest)) = bytes.split_at_checked(PREFIX_SIZE) {
        let (length, time) = prefix.split_at(4);
        let (Ok(length), Ok(time)) = (length.try_into(), time.try_into()) else { break };
        let length = u32::from_le_bytes(length) as usize;
        let Some((content, rest)) = rest.split_at_checked(length) else { break };
        let Some(next) = end.checked_add(PREFIX + length as u64) else { break };
        end = next;
        records.push(LogRecord { end, time: u64::from_le_bytes(time), content: content.to_vec() });
        bytes = rest;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::NamedTempFile, File) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let writer = File::options().read(true).write(true).open(file.path()).unwrap();
        (file, writer)
    }

    fn content(log: &Log) -> Vec<u8> {
        log.records.iter().flat_map(|record| record.content.clone()).collect()
    }

    #[test]
    fn what_was_written_is_read_in_order_and_from_where_a_reader_was() {
        let (file, writer) = file();
        assert_eq!(read(file.as_file(), MIN_CAPACITY, 0).unwrap(), Log::default(), "nothing was begun");
        let mut log = LogWriter::begin(writer, MIN_CAPACITY).unwrap();
        log.write(b"one\n");
        log.write(b"two\n");
        let all = read(file.as_file(), MIN_CAPACITY, 0).unwrap();
        assert_eq!((content(&all), all.is_cut), (b"one\ntwo\n".to_vec(), false));
        log.write(b"three\n");
        let more = read(file.as_file(), MIN_CAPACITY, all.records[1].end).unwrap();
        assert_eq!(content(&more), b"three\n");
    }

    #[test]
    fn the_oldest_records_give_way_and_the_file_does_not_grow() {
        let (file, writer) = file();
        let mut log = LogWriter::begin(writer, MIN_CAPACITY).unwrap();
        // Lengths that do not divide the ring, so that records lie across its end.
        for round in 0..2_000_u32 {
            log.write(format!("{round:06}{}", "x".repeat((round % 977) as usize)).as_bytes());
        }
        let read = read(file.as_file(), MIN_CAPACITY, 0).unwrap();
        assert!(read.is_cut && read.records.len() > 10);
        let rounds: Vec<u32> = read
            .records
            .iter()
            .map(|record| std::str::from_utf8(&record.content[..6]).unwrap().parse().unwrap())
            .collect();
        assert_eq!(*rounds.last().unwrap(), 1_999);
        assert!(rounds.windows(2).all(|pair| pair[1] == pair[0] + 1), "{rounds:?}");
        assert!(read.records.windows(2).all(|pair| pair[0].end == pair[1].begin()));
        assert!(file.as_file().metadata().unwrap().len() <= HEADER + MIN_CAPACITY);
    }

    #[test]
    fn no_header_has_more_read_than_there_is() {
        const CLAIMED: u64 = 1 << 45;
        let (file, writer) = file();
        LogWriter::begin(writer.try_clone().unwrap(), MIN_CAPACITY).unwrap().write(b"one");
        assert_eq!(content(&read(file.as_file(), CLAIMED, 0).unwrap()), b"one", "the control");
        writer.write_all_at(&CLAIMED.to_le_bytes(), 16).unwrap();
        let error = read(file.as_file(), CLAIMED, 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_is_larger_than_the_ring_is_counted_and_the_rest_is_kept() {
        let (file, writer) = file();
        let mut log = LogWriter::begin(writer, MIN_CAPACITY).unwrap();
        log.write(b"kept");
        log.write(&vec![0; usize::try_from(MIN_CAPACITY).unwrap()]);
        let read = read(file.as_file(), MIN_CAPACITY, 0).unwrap();
        assert_eq!((content(&read), read.lost, read.is_cut), (b"kept".to_vec(), MIN_CAPACITY, false));
    }

    #[test]
    fn nothing_is_overwritten_while_the_header_cannot_say_so() {
        let (file, writer) = file();
        let mut log = LogWriter::begin(writer, MIN_CAPACITY).unwrap();
        (0..8).for_each(|round| log.write(&[round; 8_000]));
        let before = read(file.as_file(), MIN_CAPACITY, 0).unwrap();
        // As on a disk that is full.
        let writable = std::mem::replace(&mut log.file, File::open(file.path()).unwrap());
        log.write(&[8; 8_000]);
        assert_eq!((log.tail, log.lost), (0, 8_000));
        assert_eq!(read(file.as_file(), MIN_CAPACITY, 0).unwrap(), before);
        log.file = writable;
        log.write(&[9; 8_000]);
        assert_eq!(read(file.as_file(), MIN_CAPACITY, 0).unwrap().lost, 8_000);
    }

    #[test]
    fn a_reader_beside_a_writer_sees_whole_records_only() {
        let (file, writer) = file();
        let mut log = LogWriter::begin(writer, MIN_CAPACITY).unwrap();
        let reader = File::open(file.path()).unwrap();
        let writing = std::thread::spawn(move || {
            for round in 0..20_000_u32 {
                log.write(&[(round % 251) as u8; 700]);
            }
        });
        let mut seen = 0;
        let mut after = 0;
        while !writing.is_finished() {
            let Ok(read) = read(&reader, MIN_CAPACITY, after) else { continue };
            for record in &read.records {
                assert!(record.content.iter().all(|byte| *byte == record.content[0]), "a torn record");
            }
            seen += read.records.len();
            after = read.records.last().map_or(after, |record| record.end);
        }
        writing.join().unwrap();
        assert!(seen > 0);
    }

    #[test]
    fn bytes_of_a_stranger_are_refused_or_end_the_log() {
        let (file, writer) = file();
        for header in [[0_u8; 32], [0xff; 32]] {
            writer.write_all_at(&header, 0).unwrap();
            assert!(read(file.as_file(), MIN_CAPACITY, 0).is_err());
        }
        // A record that claims to be longer than the ring.
        let numbers = [u64::from_le_bytes(MAGIC), 0, 100, 0];
        let header: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        writer.write_all_at(&header, 0).unwrap();
        writer.write_all_at(&[0xff; 100], HEADER).unwrap();
        assert_eq!(read(file.as_file(), MIN_CAPACITY, 0).unwrap().records, []);
    }
}
