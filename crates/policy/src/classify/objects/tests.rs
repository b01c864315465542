//! What git itself reads is compared with what is read here, for objects and packs that git wrote; and what it did not write is refused.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use miniz_oxide::deflate::compress_to_vec_zlib;

use super::pack::{Base, Stored, apply, find, stored};
use super::*;

const LONGEST: usize = 1 << 20;

/// A repository with objects of all kinds.
struct Git {
    directory: PathBuf,
    format: ObjectFormat,
}

impl Git {
    fn new(name: &str, format: ObjectFormat) -> Self {
        let directory = std::env::temp_dir().join(format!("objects-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        let git = Self { directory, format };
        let called = match format {
            ObjectFormat::Sha1 => "--object-format=sha1",
            ObjectFormat::Sha256 => "--object-format=sha256",
        };
        git.run(&["init", "-q", called], b"");
        git
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"];
        command.current_dir(&self.directory).args(who).args(words);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = self.command(words).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Runs git and returns the number that it prints.
    fn number(&self, words: &[&str], input: &[u8]) -> String {
        String::from_utf8(self.run(words, input)).unwrap().trim().to_owned()
    }

    /// Commits a few versions of files, one of them in a directory, with a link, a submodule and a tag of a tag.
    fn fill(&self) {
        fs::create_dir(self.directory.join("directory")).unwrap();
        for version in 0..4 {
            let lines: Vec<String> = (0..4000).map(|line| format!("{line} {}", line * line % 977)).collect();
            let content = format!("{version}\n{}\n{version}", lines.join("\n"));
            fs::write(self.directory.join("directory/file"), content).unwrap();
            fs::write(self.directory.join("empty"), "").unwrap();
            let _ = std::os::unix::fs::symlink("file", self.directory.join("link"));
            self.run(&["add", "."], b"");
            let submodule = format!("160000,{},submodule", "1".repeat(2 * self.format.length()));
            self.run(&["update-index", "--add", "--cacheinfo", &submodule], b"");
            self.run(&["commit", "-qm", "message"], b"");
        }
        self.run(&["tag", "-a", "-m", "message", "inner", "HEAD"], b"");
        self.run(&["tag", "-a", "-m", "message", "outer", "inner"], b"");
    }

    /// Returns all objects as git reads them.
    fn objects(&self) -> BTreeMap<ObjectId, (ObjectKind, Vec<u8>)> {
        let listed = self.run(&["cat-file", "--batch-all-objects", "--batch"], b"");
        let (mut objects, mut rest) = (BTreeMap::new(), listed.as_slice());
        while let Some((said, after)) = line(rest) {
            let said: Vec<&[u8]> = said.split(|byte| *byte == b' ').collect();
            let length: usize = std::str::from_utf8(said[2]).unwrap().parse().unwrap();
            let kind = ObjectKind::of(said[1]).unwrap();
            objects.insert(ObjectId::from_hex(said[0]).unwrap(), (kind, after[..length].to_vec()));
            rest = &after[length + 1..];
        }
        objects
    }

    fn id(&self, revision: &str) -> ObjectId {
        ObjectId::from_hex(self.number(&["rev-parse", revision], b"").as_bytes()).unwrap()
    }

    fn loose_file(&self, id: &ObjectId) -> Vec<u8> {
        let hex = id.hex();
        fs::read(self.directory.join(".git/objects").join(&hex[..2]).join(&hex[2..])).unwrap()
    }

    /// Packs all objects and indexes the pack, and returns both.
    fn packed(&self, packing: &[&str], index: &str) -> (Vec<u8>, Vec<u8>) {
        let ids: String = self.objects().keys().map(|id| id.hex() + "\n").collect();
        let words = [&["pack-objects", "--stdout", "-q", "--window=20"], packing].concat();
        let pack = self.run(&words, ids.as_bytes());
        let file = self.directory.join("a.pack");
        fs::write(&file, &pack).unwrap();
        self.run(&["index-pack", index, "a.pack"], b"");
        (pack, take_file(&self.directory.join("a.idx")))
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Returns the content of a file that another one of its name replaces later.
fn take_file(path: &Path) -> Vec<u8> {
    let content = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    content
}

/// Returns what reads these bytes as a file is read.
fn of(bytes: &[u8]) -> impl Fn(u64, usize) -> Option<Vec<u8>> {
    move |at, length| {
        let rest = bytes.get(usize::try_from(at).ok()?..)?;
        Some(rest[..length.min(rest.len())].to_vec())
    }
}

/// Deltas of a pack by what their bases are named by.
#[derive(Debug, Default, Eq, PartialEq)]
struct Deltas {
    by_place: usize,
    by_number: usize,
}

/// Reads an object of a pack, with all that it differs from.
fn resolved(
    pack: &[u8],
    index: &[u8],
    at: u64,
    format: ObjectFormat,
    seen: &mut Deltas,
) -> (ObjectKind, Vec<u8>) {
    match stored(of(pack), at, format, LONGEST).unwrap() {
        Stored::Whole(kind, content) => (kind, content),
        Stored::Delta { base, delta } => {
            let at = match base {
                Base::At(at) => {
                    seen.by_place += 1;
                    at
                }
                Base::Object(id) => {
                    seen.by_number += 1;
                    find(of(index), &id).unwrap().unwrap()
                }
            };
            let (kind, base) = resolved(pack, index, at, format, seen);
            (kind, apply(&base, &delta, LONGEST).unwrap())
        }
    }
}

#[test]
fn loose_objects_are_what_git_reads() {
    for (name, format) in [("loose", ObjectFormat::Sha1), ("loose-256", ObjectFormat::Sha256)] {
        let git = Git::new(name, format);
        git.fill();
        let objects = git.objects();
        for (id, object) in &objects {
            let file = git.loose_file(id);
            assert_eq!(loose(&file, LONGEST).as_ref(), Ok(object), "{}", id.hex());
            let length = object.1.len();
            assert_eq!(loose(&file, length).as_ref(), Ok(object));
            if length > 0 {
                assert_eq!(loose(&file, length - 1), Err(UnreadableObject));
            }
            for end in (0..file.len()).rev().take(50) {
                assert_eq!(loose(&file[..end], LONGEST), Err(UnreadableObject));
            }
            assert_eq!(loose(&[&file, &b"x"[..]].concat(), LONGEST), Err(UnreadableObject));
        }
        let commit = git.id("HEAD");
        let tree = git.id("HEAD^{tree}");
        assert_eq!(tree_of(&objects[&commit].1, format), Some(tree.clone()));
        let content = &objects[&tree].1;
        let entries: Vec<_> = tree_entries(content, format).map(Result::unwrap).collect();
        let said = entries.iter().map(|entry| (entry.kind, entry.name));
        let expected: [(TreeEntryKind, &[u8]); 4] = [
            (TreeEntryKind::Directory, b"directory"),
            (TreeEntryKind::File, b"empty"),
            (TreeEntryKind::Link, b"link"),
            (TreeEntryKind::Submodule, b"submodule"),
        ];
        assert!(said.eq(expected));
        assert_eq!(entries[0].id, git.id("HEAD:directory"));
        assert_eq!(entries[3].id.hex(), "1".repeat(2 * format.length()));
        for end in 1..content.len() {
            let read: Vec<_> = tree_entries(&content[..end], format).collect();
            assert!(read.len() <= 4 && read[..read.len() - 1].iter().all(Result::is_ok));
        }
        let (inner, outer) = (git.id("inner"), git.id("outer"));
        let read = tag(&objects[&outer].1, format).unwrap();
        assert_eq!(read, Tag { object: inner.clone(), kind: ObjectKind::Tag, name: b"outer" });
        let read = tag(&objects[&inner].1, format).unwrap();
        assert_eq!(read, Tag { object: commit, kind: ObjectKind::Commit, name: b"inner" });
    }
}

#[test]
fn packed_objects_are_what_git_reads() {
    for (name, format) in [("packed", ObjectFormat::Sha1), ("packed-256", ObjectFormat::Sha256)] {
        let git = Git::new(name, format);
        git.fill();
        let objects = git.objects();
        // In the last one, places beyond the first 100 bytes have 64 bits.
        for index in ["--index-version=1", "--index-version=2", "--index-version=2,100"] {
            for (packing, is_by_place) in [(&["--delta-base-offset"][..], true), (&[], false)] {
                let (pack, index) = git.packed(packing, index);
                let mut seen = Deltas::default();
                for (id, object) in &objects {
                    let at = find(of(&index), id).unwrap().unwrap();
                    assert_eq!(&resolved(&pack, &index, at, format, &mut seen), object, "{}", id.hex());
                }
                assert_eq!((seen.by_place > 0, seen.by_number > 0), (is_by_place, !is_by_place), "{seen:?}");
                for end in (0..index.len()).step_by(7).chain([index.len() - 1]) {
                    let cut = find(of(&index[..end]), objects.keys().next().unwrap());
                    // The places of 64 bits are not counted anywhere.
                    assert!(cut.is_err() || index.len() - end <= 8 * objects.len(), "{end}");
                }
                for byte in 0..=0xff {
                    let absent = ObjectId::from_bytes(&vec![byte; format.length()]).unwrap();
                    assert_eq!(find(of(&index), &absent), Ok(None));
                }
            }
        }
    }
}

#[test]
fn large_objects_are_read_piece_by_piece() {
    let git = Git::new("large", ObjectFormat::Sha1);
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take(300_000)
    .collect();
    let id = ObjectId::from_hex(git.number(&["hash-object", "-w", "--stdin"], &noise).as_bytes()).unwrap();
    assert_eq!(loose(&git.loose_file(&id), LONGEST), Ok((ObjectKind::Blob, noise.clone())));
    let (pack, index) = git.packed(&[], "--index-version=2");
    let at = find(of(&index), &id).unwrap().unwrap();
    let whole = Stored::Whole(ObjectKind::Blob, noise.clone());
    let most = std::cell::Cell::new(0);
    let read = |at, length| {
        most.set(most.get().max(length));
        of(&pack)(at, length)
    };
    assert_eq!(stored(read, at, ObjectFormat::Sha1, noise.len()), Ok(whole));
    assert!(most.get() <= 64 << 10);
    assert_eq!(stored(of(&pack), at, ObjectFormat::Sha1, noise.len() - 1), Err(UnreadableObject));
    assert_eq!(stored(of(&pack[..250_000]), at, ObjectFormat::Sha1, LONGEST), Err(UnreadableObject));
}

#[test]
fn what_is_no_loose_object_is_refused() {
    let read = |content: &[u8]| loose(&compress_to_vec_zlib(content, 6), 1000);
    assert_eq!(read(b"blob 0\0"), Ok((ObjectKind::Blob, Vec::new())));
    assert_eq!(read(b"blob 3\0a\0c"), Ok((ObjectKind::Blob, b"a\0c".to_vec())));
    for content in [
        &b""[..],
        b"blob",
        b"blob 3",
        b"blob\x003",
        b"blob 3\0ab",
        b"blob 3\0abcd",
        b"blob 03\0abc",
        b"blob +3\0abc",
        b"blob  3\0abc",
        b"blob 3 \0abc",
        b"blob \0",
        b" 3\0abc",
        b"bolb 3\0abc",
        b"Blob 3\0abc",
        b"blob -1\0",
        b"blob 18446744073709551615\0",
        b"blob 18446744073709551616\0",
        b"blob 99999999999999999999999999\0",
    ] {
        assert_eq!(read(content), Err(UnreadableObject), "{content:?}");
    }
    // Of a bomb, no more comes out than asked for.
    let bomb = compress_to_vec_zlib(&[&b"blob 9\0"[..], &vec![0; 10_000_000]].concat(), 9);
    assert_eq!(loose(&bomb, 1000), Err(UnreadableObject));
    let mut file = compress_to_vec_zlib(b"blob 3\0abc", 6);
    *file.last_mut().unwrap() ^= 1;
    assert_eq!(loose(&file, 1000), Err(UnreadableObject), "a wrong checksum");
    assert_eq!(loose(b"blob 3\0abc", 1000), Err(UnreadableObject));
    // A reference to what is before the beginning: literal `b`, then a distance of 4.
    assert_eq!(loose(&[0x78, 0x01, 0x4b, 0x02, 0x31, 0x00, 0x00], 1000), Err(UnreadableObject));
}

#[test]
fn numbers_are_read_and_written() {
    let digits = "0123456789abcdef0123456789abcdef01234567";
    let id = ObjectId::from_hex(digits.as_bytes()).unwrap();
    assert_eq!((id.hex().as_str(), id.bytes().len(), id.bytes()[1]), (digits, 20, 0x23));
    assert_eq!(ObjectId::from_hex(digits.to_uppercase().as_bytes()), Some(id.clone()));
    assert_eq!(ObjectId::from_bytes(id.bytes()), Some(id));
    assert_eq!(ObjectId::from_hex(&[b'a'; 64]).unwrap().bytes(), [0xaa; 32]);
    for wrong in [&digits[1..], &digits[2..], "", &digits.replace('0', "g"), &digits.replace('0', "+")] {
        assert_eq!(ObjectId::from_hex(wrong.as_bytes()), None, "{wrong}");
    }
    assert_eq!(ObjectId::from_bytes(&[0; 21]), None);
}

#[test]
fn a_commit_begins_with_its_tree() {
    let digits = "1".repeat(40);
    let read = |commit: String| tree_of(commit.as_bytes(), ObjectFormat::Sha1).map(|id| id.hex());
    assert_eq!(read(format!("tree {digits}\n")), Some(digits.clone()));
    for wrong in [
        format!("tree {digits}"),
        format!("tree {digits}1\n"),
        format!("tree  {digits}\n"),
        format!("Tree {digits}\n"),
        format!("parent {digits}\ntree {digits}\n"),
        String::new(),
    ] {
        assert_eq!(read(wrong.clone()), None, "{wrong:?}");
    }
    assert_eq!(tree_of(format!("tree {digits}\n").as_bytes(), ObjectFormat::Sha256), None);
}

#[test]
fn a_tag_is_called_whatever_its_line_says() {
    let digits = "1".repeat(40);
    let read = |rest: &[u8]| {
        let content = [b"object ", digits.as_bytes(), rest].concat();
        tag(&content, ObjectFormat::Sha1).map(|tag| (tag.kind, tag.name.to_vec()))
    };
    let named = |name: &[u8]| Some((ObjectKind::Commit, name.to_vec()));
    assert_eq!(read(b"\ntype commit\ntag name\n"), named(b"name"));
    assert_eq!(read(b"\ntype commit\ntag \n"), named(b""));
    assert_eq!(read(b"\ntype commit\ntag -\x1b[2J ../ \0x\r\nno tagger"), named(b"-\x1b[2J ../ \0x\r"));
    // To git that is a string of C, in a buffer of 20 bytes.
    assert_eq!(read(b"\ntype commit\0nonsense\ntag a\n"), named(b"a"));
    assert_eq!(read(b"\ntype commit\0nonsense1234\ntag a\n"), named(b"a"));
    for wrong in [
        &b"\ntype commit\0nonsense12345\ntag a\n"[..],
        b"\ntype commit\ntag name",
        b"\ntype commit\ntag",
        b"\ntype commit\n\ntag name\n",
        b"\ntype comet\ntag name\n",
        b"\ntype \ntag a long enough name\n",
        b"\ntag name\ntype commit\n",
        b"1\ntype commit\ntag name\n",
        b"\n",
        // Too short for git.
        b"\ntype tag\ntag a\n",
    ] {
        assert_eq!(read(wrong), None, "{wrong:?}");
    }
    assert_eq!(read(b"\ntype tag\ntag ab\n"), Some((ObjectKind::Tag, b"ab".to_vec())));
}

#[test]
fn git_calls_a_tag_the_same() {
    let git = Git::new("tags", ObjectFormat::Sha1);
    let blob = git.number(&["hash-object", "-w", "--stdin"], b"x");
    for (rest, is_read) in [
        ("\ntype blob\ntag -\u{1b}[2J x \nno tagger", true),
        ("\ntype blob\0nonsense12345\ntag a\n", true),
        ("\ntype blob\0nonsense1234567\ntag a\n", false),
        ("\ntype blob\ntag \n", false),
        ("\ntype blob\ntag a\n", true),
        ("\ntype blob\ntag name", false),
    ] {
        let content = format!("object {blob}{rest}");
        let read = tag(content.as_bytes(), ObjectFormat::Sha1);
        let words = ["hash-object", "-t", "tag", "--literally", "-w", "--stdin"];
        let id = git.number(&words, content.as_bytes());
        // `git update-ref` takes none that cannot be read.
        fs::write(git.directory.join(".git/refs/tags/a"), id).unwrap();
        let shown = git.command(&["for-each-ref", "--format=%(tag)"]).output().unwrap();
        assert_eq!((read.is_some(), shown.status.success()), (is_read, is_read), "{rest:?}");
        if let Some(tag) = read {
            assert_eq!(shown.stdout, [tag.name, b"\n"].concat(), "{rest:?}");
        }
    }
}

/// Makes an entry of a tree.
fn entry(mode: &str, name: &[u8]) -> Vec<u8> {
    [mode.as_bytes(), b" ", name, b"\0", &[7; 20]].concat()
}

#[test]
fn entries_of_a_tree_are_what_git_takes_them_for() {
    use TreeEntryKind::{Directory, File, Link, Submodule};
    let git = Git::new("modes", ObjectFormat::Sha1);
    for (mode, kind, shown) in [
        ("100644", File, "100644"),
        ("100755", File, "100755"),
        ("100664", File, "100644"),
        ("0100644", File, "100644"),
        ("120000", Link, "120000"),
        ("120777", Link, "120000"),
        ("40000", Directory, "040000"),
        ("00040000", Directory, "040000"),
        ("40755", Directory, "040000"),
        ("160000", Submodule, "160000"),
        ("644", Submodule, "160000"),
        ("0", Submodule, "160000"),
        ("60000", Submodule, "160000"),
        ("140000", Submodule, "160000"),
    ] {
        let tree = entry(mode, b"name");
        let read: Vec<_> = tree_entries(&tree, ObjectFormat::Sha1).map(Result::unwrap).collect();
        let id = ObjectId::from_bytes(&[7; 20]).unwrap();
        assert_eq!(read, [TreeEntry { kind, name: b"name", id }], "{mode}");
        let tree = git.number(&["hash-object", "-t", "tree", "--literally", "-w", "--stdin"], &tree);
        assert!(git.number(&["ls-tree", &tree], b"").starts_with(shown), "{mode}");
    }
}

#[test]
fn what_is_no_entry_of_a_tree_is_refused() {
    let good = entry("100644", b"a");
    for wrong in [
        entry("", b"b"),
        entry("100648", b"b"),
        entry("+100644", b"b"),
        entry("1100644", b"b"),
        entry("10000040000", b"b"),
        entry(&"7".repeat(100), b"b"),
        entry("100644", b""),
        entry("100644", b"."),
        entry("100644", b".."),
        entry("100644", b"b/c"),
        entry("100644", b"/"),
        good[..good.len() - 1].to_vec(),
        b"100644 b".to_vec(),
        b"100644".to_vec(),
        b"\0".to_vec(),
    ] {
        let tree = [good.clone(), wrong.clone()].concat();
        let read: Vec<_> = tree_entries(&tree, ObjectFormat::Sha1).collect();
        assert_eq!((read.len(), read[0].is_ok(), read[1].is_err()), (2, true, true), "{wrong:?}");
    }
    // Nothing is read behind it.
    let tree = [entry("9", b"b"), good.clone()].concat();
    assert_eq!(tree_entries(&tree, ObjectFormat::Sha1).count(), 1);
    assert_eq!(tree_entries(b"", ObjectFormat::Sha1).count(), 0);
    assert!(tree_entries(&good, ObjectFormat::Sha256).next().unwrap().is_err());
    let git_directory = entry("40000", b".git");
    assert!(tree_entries(&git_directory, ObjectFormat::Sha1).all(|entry| entry.is_ok()));
}

/// Makes a pack with this entry behind its header: the kind and the length, what names its base, and the stream.
fn pack_of(entry: &[u8], content: &[u8]) -> Vec<u8> {
    [b"PACK\0\0\0\x02\0\0\0\x01", entry, &compress_to_vec_zlib(content, 6)].concat()
}

#[test]
fn what_no_pack_stores_is_refused() {
    let read = |pack: &[u8], at| stored(of(pack), at, ObjectFormat::Sha1, 1000);
    let blob = |content: &[u8]| Ok(Stored::Whole(ObjectKind::Blob, content.to_vec()));
    assert_eq!(read(&pack_of(&[0x33], b"abc"), 12), blob(b"abc"));
    assert_eq!(read(&pack_of(&[0x30], b""), 12), blob(b""));
    // Another way to write the same length, which git reads too.
    assert_eq!(read(&pack_of(&[0xb3, 0x80, 0x00], b"abc"), 12), blob(b"abc"));
    for (entry, case) in [
        (&[0x32][..], "longer than it says"),
        (&[0x34], "shorter than it says"),
        (&[0x03], "of kind 0"),
        (&[0x53], "of kind 5"),
        (&[0xb3, 0xff, 0x7f], "longer than asked for"),
        (&[0xb3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "a length without end"),
        (&[0x63, 0x00], "its own base"),
        (&[0x63, 0x01], "a base in the header"),
        (&[0x63, 0x0d], "a base before the pack"),
        (
            &[0x63, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            "a base out of all bounds",
        ),
    ] {
        assert_eq!(read(&pack_of(entry, b"abc"), 12), Err(UnreadableObject), "{case}");
    }
    let mut pack = pack_of(&[0x33], b"abc");
    let at = pack.len() as u64;
    pack.extend(&pack_of(&[0x64, u8::try_from(at - 12).unwrap()], b"abcd")[12..]);
    assert_eq!(read(&pack, at), Ok(Stored::Delta { base: Base::At(12), delta: b"abcd".to_vec() }));
    let by_number = [&[0x74][..], &[9; 20]].concat();
    let base = Base::Object(ObjectId::from_bytes(&[9; 20]).unwrap());
    let delta = b"abcd".to_vec();
    assert_eq!(read(&pack_of(&by_number, b"abcd"), 12), Ok(Stored::Delta { base, delta }));
    for at in [0, 4, 11, 13, 1000, u64::MAX, u64::MAX - 5] {
        assert_eq!(read(&pack, at), Err(UnreadableObject), "{at}");
        // Even where there is something at any place.
        let _ = stored(|_, length| Some(vec![0x33; length]), at, ObjectFormat::Sha1, 1000);
    }
    for end in 0..pack_of(&by_number, b"abcd").len() {
        assert_eq!(read(&pack_of(&by_number, b"abcd")[..end], 12), Err(UnreadableObject), "{end}");
    }
}

#[test]
fn a_stream_that_inflates_to_nothing_comes_to_an_end() {
    let reads = std::cell::Cell::new(0);
    // The header of the entry and of the stream, and then empty blocks for ever.
    let endless = |at: u64, length: usize| {
        reads.set(reads.get() + 1);
        let first = [0x33, 0x78, 0x01];
        let byte = |at: u64| match usize::try_from(at).unwrap() - 12 {
            at if at < 3 => first[at],
            at => [0, 0, 0, 0xff, 0xff][(at - 3) % 5],
        };
        Some((at..).take(length).map(byte).collect())
    };
    assert_eq!(stored(endless, 12, ObjectFormat::Sha1, LONGEST), Err(UnreadableObject));
    assert!(reads.get() < 20);
}

#[test]
fn a_delta_makes_what_it_says() {
    let base = b"0123456789";
    let made = |delta: &[u8]| apply(base, delta, 0x20000);
    assert_eq!(made(b"\x0a\x05\x91\x02\x03\x02ab"), Ok(b"234ab".to_vec()));
    assert_eq!(made(b"\x0a\x01\x90\x01"), Ok(b"0".to_vec()));
    for (delta, case) in [
        (&b"\x0a\x05\x91\x08\x03\x02ab"[..], "a copy of what is behind the base"),
        (b"\x0a\x05\x91\x0b\x03\x02ab", "a copy from behind the base"),
        (b"\x0a\x05\x9f\xff\xff\xff\xff\x05", "a copy from far away"),
        (b"\x0a\x05\xff\xff\xff\xff\xff\xff\xff\xff", "a copy of far too much"),
        (b"\x0a\x80\x80\x04\x80", "a copy of 65536 bytes of ten"),
        (b"\x0a\x05\x91\x02", "a copy that does not say how much"),
        (b"\x0a\x05\x05abcd", "less than is inserted"),
        (b"\x0a\x05\x04abcd", "less than it says"),
        (b"\x0a\x03\x04abcd", "more than it says"),
        (b"\x0a\x04\x04abcd\x90\x01", "a copy beyond what it says"),
        (b"\x0a\x04\x04abcd\x00", "a reserved command"),
        (b"\x09\x04\x04abcd", "another base"),
        (b"\x0a\x81\x80\x08\x90\x01", "more than asked for"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x90\x01", "a length without end"),
        (b"\x0a\x00", "too short for git"),
        (b"\x8a\x80", "no end of a length"),
        (b"", "nothing"),
    ] {
        assert_eq!(made(delta), Err(UnreadableObject), "{case}");
    }
    // Where no length is given it is 65536.
    let base = vec![b'x'; 0x10001];
    assert_eq!(apply(&base, b"\x81\x80\x04\x80\x80\x04\x80", 0x10000), Ok(vec![b'x'; 0x10000]));
    assert_eq!(apply(&base, b"\x81\x80\x04\x80\x80\x04\x80", 0xffff), Err(UnreadableObject));
}

#[test]
fn an_index_that_is_none_is_refused() {
    let id = ObjectId::from_bytes(&[5; 20]).unwrap();
    // One object at 12, in an index of version 2.
    let index = |count: u32, places: &[&[u8]]| {
        let fan_out = (0..256_u32).flat_map(|byte| (if byte < 5 { 0 } else { count }).to_be_bytes());
        let mut made = b"\xfftOc\0\0\0\x02".to_vec();
        made.extend(fan_out);
        made.extend([5; 20]);
        made.extend([0; 4]);
        made.extend(places.concat());
        made.extend([0; 40]);
        made
    };
    let place = 12_u32.to_be_bytes();
    let good = index(1, &[&place]);
    assert_eq!(find(of(&good), &id), Ok(Some(12)));
    let other = ObjectId::from_bytes(&[5; 32]).unwrap();
    assert_eq!(find(of(&good), &other), Err(UnreadableObject));
    let mut unsorted = good.clone();
    unsorted[8..12].copy_from_slice(&2_u32.to_be_bytes());
    let mut third = good.clone();
    third[7] = 3;
    for (made, case) in [
        (index(2, &[&place]), "more objects than there are"),
        (index(u32::MAX, &[&place]), "as many objects as can be"),
        (index(1, &[&place, &place]), "longer than one object needs"),
        (index(1, &[&[0xff; 4]]), "a place that is not there"),
        (unsorted, "a fan-out table in no order"),
        (third, "of version 3"),
        (Vec::new(), "empty"),
    ] {
        assert_eq!(find(of(&made), &id), Err(UnreadableObject), "{case}");
    }
    assert_eq!(find(|_, _| None, &id), Err(UnreadableObject));
    assert_eq!(find(|_, length| Some(vec![0xff; length]), &id), Err(UnreadableObject));
}
