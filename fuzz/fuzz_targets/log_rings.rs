//! Any bytes as the log of a stream: it is read without a panic, no more is returned than the ring holds, and a reader that goes on comes
//! to an end. A writer writes on, whatever has become of its file; and what is written to one that nobody touches is read.
#![no_main]

use std::fs::File;
use std::os::unix::fs::FileExt;

use confine::log_ring::{Log, LogWriter, MIN_CAPACITY, read};
use libfuzzer_sys::fuzz_target;

/// What a record has besides its content, in bytes.
const PREFIX: u64 = 12;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::tempfile().expect("a file");
    file.write_all_at(bytes, 0).expect("it can be written");
    // Smaller than a log may be, as large as one, and with an end that the ring lies across.
    for capacity in [0, MIN_CAPACITY, MIN_CAPACITY + 1] {
        read_on(&file, capacity);
    }
    write_on(bytes);
});

/// Reads as `logs --follow` does, until nothing is new.
fn read_on(file: &File, capacity: u64) {
    let Ok(all) = read(file, capacity, 0) else { return };
    check(&all, capacity, 0);
    for after in all.records.iter().map(|record| record.end).chain([1, u64::MAX]).take(8) {
        let new = read(file, capacity, after).expect("it was read already");
        check(&new, capacity, after);
        let wanted: Vec<_> = all.records.iter().filter(|record| record.end > after).cloned().collect();
        assert_eq!(new.records, wanted);
    }
    if let Some(last) = all.records.last() {
        assert_eq!(read(file, capacity, last.end).expect("it was read already").records, []);
    }
}

fn check(log: &Log, capacity: u64, after: u64) {
    let held: u64 = log.records.iter().map(|record| PREFIX + record.content.len() as u64).sum();
    assert!(held <= capacity.max(MIN_CAPACITY), "{held} bytes of a ring with {capacity}");
    assert!(log.records.iter().all(|record| record.end > after));
    assert!(log.records.windows(2).all(|pair| pair[0].end < pair[1].end));
}

/// Takes the bytes for the lengths of what is written. Some lengths say that somebody else writes into the file meanwhile, or cuts it.
fn write_on(bytes: &[u8]) {
    let file = tempfile::tempfile().expect("a file");
    let copy = || file.try_clone().expect("a copy of a descriptor");
    let mut log = LogWriter::begin(copy(), 0).expect("a file can be written");
    let (mut written, mut lost, mut is_touched) = (Vec::new(), 0, false);
    for (number, pair) in bytes.chunks_exact(2).take(64).enumerate() {
        // The longest ones have no room.
        let length = u16::from_le_bytes([pair[0], pair[1]]);
        let content = vec![number as u8; usize::from(length)];
        log.write(&content);
        if PREFIX + u64::from(length) > MIN_CAPACITY {
            lost += u64::from(length);
        } else {
            written.push(content);
        }
        if pair[0] % 16 == 15 {
            let at = u64::from(u16::from_le_bytes([pair[1], pair[0]]));
            file.write_all_at(&bytes[..bytes.len().min(512)], at).expect("it can be written");
            is_touched = true;
        } else if pair[0] % 16 == 13 {
            file.set_len(u64::from(pair[1])).expect("it can be cut");
            is_touched = true;
        }
    }
    let length = file.metadata().expect("its size").len();
    assert!(length <= 32 + 2 * MIN_CAPACITY, "the file has grown to {length} bytes");
    read_on(&file, MIN_CAPACITY);
    if is_touched {
        return;
    }
    let found = read(&file, MIN_CAPACITY, 0).expect("a log can be read");
    assert_eq!(found.lost, lost);
    let contents: Vec<_> = found.records.into_iter().map(|record| record.content).collect();
    assert!(written.ends_with(&contents), "something else was read");
    // No more was dropped than had to be.
    let size = |content: &Vec<u8>| PREFIX + content.len() as u64;
    let held: u64 = contents.iter().map(size).sum();
    match written.len().checked_sub(contents.len() + 1) {
        Some(dropped) => assert!(found.is_cut && held + size(&written[dropped]) > MIN_CAPACITY),
        None => assert!(!found.is_cut),
    }
}
