//! What git itself lists is compared with what is read here, for indexes that git wrote, forged ones and broken ones.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use super::*;

fn parse(content: &[u8]) -> Result<Paths, MalformedIndex> {
    read(content, ObjectFormat::Sha1, usize::MAX, |_| None)
}

#[test]
fn what_is_no_index_is_none() {
    for content in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x01", b"DIRC\0\0\0\x05\0\0\0\0", b"TREE"] {
        assert_eq!(parse(content), Err(MalformedIndex), "{content:?}");
    }
    let empty = [&b"DIRC\0\0\0\x02\0\0\0\0"[..], &[0; 20]].concat();
    assert_eq!(parse(&empty), Ok(Paths::default()));
}

#[test]
fn a_list_of_merged_files_is_as_git_writes_it() {
    let number = "1".repeat(40);
    for good in ["\ta", ".0\ta", ".12\ta\tb"] {
        let path = good.split_once('\t').unwrap().1;
        let read = merged(format!("{number}{good}\0").as_bytes()).unwrap();
        assert_eq!(read.written, [PathBuf::from(path)]);
    }
    // Of the first three, git takes `../x` for the path.
    for forged in [".\t0\t../x\0", ". 0\t../x\0", ".+0\t../x\0", "\ta", "\0", ".\ta\0", "a\ta\0", ".0 \ta\0"]
        .into_iter()
        // And of the first of these it makes -1.
        .chain([".4294967295\ta\0", ".10000\ta\0", ".01\ta\0"])
    {
        let content = format!("{number}{forged}");
        assert_eq!(merged(content.as_bytes()), Err(MalformedIndex), "{forged:?}");
    }
    assert_eq!(merged(b""), Ok(Paths::default()));
}

/// A repository, with what git lists from an index: the tag that `-v` shows, the mode, and the path.
struct Git {
    directory: PathBuf,
}

type Line = (bool, u32, PathBuf);

impl Git {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("index-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        let git = Self { directory };
        git.run(&["init", "-q"], "");
        git
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.directory).args(words).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
    }

    /// Runs git and gives its output.
    fn run(&self, words: &[&str], input: &str) -> Vec<u8> {
        fs::write(self.directory.join("input"), input).unwrap();
        let input = fs::File::open(self.directory.join("input")).unwrap();
        let output = self.command(words).stdin(input).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Returns what git lists; nothing where it refuses the index.
    fn lists(&self, index: &[u8], threads: &str) -> Option<BTreeSet<Line>> {
        let file = self.directory.join(".git/index");
        fs::write(&file, index).unwrap();
        let words = ["-c", threads, "ls-files", "--sparse", "-s", "-v", "-z"];
        let output = self.command(&words).output().unwrap();
        let line = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let mut said = std::str::from_utf8(&line[..tab]).unwrap().split(' ');
            let tag = said.next().unwrap();
            let mode = u32::from_str_radix(said.next().unwrap(), 8).unwrap();
            let path = PathBuf::from(std::ffi::OsString::from_vec(line[tab + 1..].to_vec()));
            let is_hidden = tag.eq_ignore_ascii_case("s") || tag.chars().all(|tag| tag.is_ascii_lowercase());
            (is_hidden, mode & KIND, path)
        };
        let lines = output.stdout.split_inclusive(|byte| *byte == 0);
        output.status.success().then(|| lines.map(|one| line(&one[..one.len() - 1])).collect())
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn listed(content: &[u8]) -> Result<BTreeSet<Line>, MalformedIndex> {
    let mut lines = BTreeSet::new();
    entries(content, ObjectFormat::Sha1, |path, entry| {
        lines.insert((entry.is_hidden, entry.kind, path.into()));
    })?;
    Ok(lines)
}

/// Makes an entry with these flags before its path, filled as git fills it.
fn entry(mode: u32, flags: &[u16], path: &[u8]) -> Vec<u8> {
    let mut entry = [[0; 24].as_slice(), &mode.to_be_bytes(), &[0; 12], &[7; 20]].concat();
    entry.extend(flags.iter().flat_map(|half| half.to_be_bytes()));
    entry.extend(path);
    entry.resize(entry.len() + 8 - entry.len() % 8, 0);
    entry
}

fn index(version: u32, entries: &[Vec<u8>]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).unwrap();
    [b"DIRC".as_slice(), &version.to_be_bytes(), &count.to_be_bytes(), &entries.concat(), &[0; 20]].concat()
}

#[test]
fn an_index_that_says_two_things_is_none() {
    let git = Git::new("forged");
    let file = 0o100_644;
    let outside = entry(file, &[5], b"../ou");
    // The name is longer than to its first NUL: for git the next entry begins behind all of it.
    let decoy = entry(file, &[2], b"dd");
    let long = [b"+\0".as_slice(), &decoy].concat();
    let length = u16::try_from(long.len()).unwrap();
    let long = entry(file, &[length], &long);
    // Git reads the second half of the flags in any version.
    let extended = entry(file, &[EXTENDED | 5, 0x2000], b"../ou");
    for forged in [index(2, &[long, outside]), index(2, &[extended])] {
        let git = git.lists(&forged, "index.threads=1").unwrap();
        assert!(git.iter().any(|(_, _, path)| path == Path::new("../ou")), "{git:?}");
        assert_eq!(parse(&forged), Err(MalformedIndex));
    }
    let two = |one: &[u8], stage: u16, other: &[u8], next: u16| {
        let length = |name: &[u8]| u16::try_from(name.len()).unwrap();
        let one = entry(file, &[length(one) | stage << 12], one);
        parse(&index(2, &[one, entry(file, &[length(other) | next << 12], other)])).is_ok()
    };
    assert!(two(b"a", 0, b"b", 0) && two(b"a", 1, b"a", 2));
    assert!(!two(b"b", 0, b"a", 0) && !two(b"a", 0, b"a", 0) && !two(b"a", 2, b"a", 1));
    let mut filled = index(2, &[entry(file, &[1], b"a")]);
    let padding = filled.len() - 21;
    filled[padding] = 1;
    assert_eq!(parse(&filled), Err(MalformedIndex));
    let mut behind = index(2, &[]);
    behind.splice(12..12, *b"TREE\0\0\0\x01");
    assert_eq!(parse(&behind), Err(MalformedIndex));
}

#[test]
fn an_index_that_stands_for_far_more_than_it_has_is_none() {
    // In version 4 an entry of 70 bytes may stand for a path of any length.
    let entry = |name: &[u8], dropped: &[u8], length: usize| {
        let length = u16::try_from(length.min(0xfff)).unwrap();
        let mut entry = [[0; 24].as_slice(), &SUBMODULE.to_be_bytes(), &[0; 12], &[7; 20]].concat();
        entry.extend(length.to_be_bytes().iter().chain(dropped).chain(name).chain(b"\0"));
        entry
    };
    let bomb = |length: usize, count: u32| {
        let long = vec![b'a'; length];
        let mut entries = vec![entry(&long, &[0], length)];
        // Each drops the last eight bytes, and has eight digits of its own.
        for number in 1..count {
            entries.push(entry(
                format!("{number:08}").as_bytes(),
                &[if number == 1 { 0 } else { 8 }],
                length + 8,
            ));
        }
        index(4, &entries)
    };
    assert!(parse(&bomb(100, 10)).is_ok(), "the control");
    // No file has the first.
    for (length, count) in [(4097, 1), (20_000, 2), (4000, 1000), (3000, 30_000)] {
        assert_eq!(parse(&bomb(length, count)), Err(MalformedIndex), "{length} {count}");
    }
}

/// Numbers that are the same at each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % bound
    }
}

/// Indexes that git writes: of each version, with many blocks, with a long path, with bits, submodules and a merge.
fn written(git: &Git) -> Vec<Vec<u8>> {
    let number = "1".repeat(40);
    let mut written = Vec::new();
    for version in ["2", "3", "4"] {
        for threads in ["1", "4"] {
            let _ = fs::remove_file(git.directory.join(".git/index"));
            let names = ["a", "a/b", "dir/one", "dir/two", "lib", "z"];
            let mut lines: String = names.map(|name| format!("100644 {number} 0\t{name}\n")).concat();
            lines = lines.replace("\ta\n", "\ta-\n").replace(
                "100644 1111111111111111111111111111111111111111 0\tlib",
                &format!("160000 {number} 0\tlib"),
            );
            lines.extend(["1", "2", "3"].map(|side| format!("100755 {number} {side}\tmerge\n")));
            // The longest that is read.
            lines.extend([format!("100644 {number} 0\t{}length\n", "long/".repeat(818))]);
            let version = format!("index.version={version}");
            let threads = format!("index.threads={threads}");
            let settings = ["-c", &version, "-c", &threads, "-c", "index.recordEndOfIndexEntries=true"];
            let offsets = ["-c", "index.recordOffsetTable=true", "update-index", "--add"];
            let words = [&settings[..], &offsets].concat();
            git.run(&[&words[..], &["--index-info"]].concat(), &lines);
            if threads.ends_with('1') {
                git.run(&[&words[..], &["--skip-worktree", "dir/one"]].concat(), "");
                git.run(&[&words[..], &["--assume-unchanged", "z"]].concat(), "");
            }
            written.push(fs::read(git.directory.join(".git/index")).unwrap());
        }
    }
    written
}

#[test]
fn whatever_git_lists_is_listed() {
    let git = Git::new("mutated");
    let mut numbers = Numbers(0x5eed);
    let mut both = 0;
    let mut refused = 0;
    let written = written(&git);
    for round in 0..2000 {
        let mut content = written[round % written.len()].clone();
        for _ in 0..(round / written.len()).min(1 + round % 3) {
            // Few bytes at the beginning and the end matter more than the many of a long path.
            let end = content.len();
            let at = match numbers.below(4) {
                0 => numbers.below(end.min(500)),
                1 => end - 1 - numbers.below(end.min(200)),
                _ => numbers.below(end),
            };
            match numbers.below(6) {
                0 => content[at] ^= 1 << numbers.below(8),
                1 => content[at] = u8::try_from(numbers.below(256)).unwrap(),
                2 => content[at] = [0, 1, 0xff, b'/', b'.', 0x40, 0x20][numbers.below(7)],
                3 => drop(content.remove(at)),
                4 => content.insert(at, [0, b'a', 0x80][numbers.below(3)]),
                _ => {
                    let from = numbers.below(end);
                    let some = content[from..(from + numbers.below(80)).min(end)].to_vec();
                    let there = at..(at + some.len()).min(end);
                    content.splice(there, some);
                }
            }
        }
        let threads = ["index.threads=1", "index.threads=4"][numbers.below(2)];
        match (git.lists(&content, threads), listed(&content)) {
            (Some(git), Ok(here)) => {
                assert_eq!(here, git, "round {round}");
                both += 1;
            }
            (Some(_), Err(MalformedIndex)) => refused += 1,
            (None, _) => {}
        }
        assert!(round >= written.len() || both == round + 1, "git wrote this itself: {round}");
    }
    assert!(both > 300 && refused > 50, "{both} are read, and {refused} only by git");
}

/// Returns an index with a cache of untracked files, and where that begins in it.
fn with_untracked_cache(git: &Git) -> (Vec<u8>, usize) {
    fs::create_dir_all(git.directory.join("one/two")).unwrap();
    for file in ["one/a", "one/two/b", "one/untracked"] {
        fs::write(git.directory.join(file), "").unwrap();
    }
    git.run(&["add", "one/a", "one/two/b"], "");
    git.run(&["update-index", "--force-untracked-cache"], "");
    for _ in 0..2 {
        git.run(&["status"], "");
    }
    let content = fs::read(git.directory.join(".git/index")).unwrap();
    let cache = content.windows(4).position(|name| name == b"UNTR").unwrap();
    (content, cache)
}

#[test]
fn an_untracked_cache_has_git_read_no_directory_of_another_name() {
    let git = Git::new("untracked");
    let (content, cache) = with_untracked_cache(&git);
    let mut seen = Vec::new();
    cached(&content, ObjectFormat::Sha1, |one| seen.push((one.path.to_path_buf(), one.above.is_some())))
        .unwrap();
    assert_eq!(seen, [("one".into(), true), ("one/two".into(), true)]);
    assert_eq!(parse(&content).unwrap().read, None);
    let at = cache + content[cache..].windows(4).position(|name| name == b"two\0").unwrap();
    for (name, read) in [("../", true), ("/tm", true), ("a/b", true), ("..", false), ("tow", false)] {
        let mut forged = content.clone();
        forged.splice(at..at + 3, name.bytes());
        let path = read.then(|| PathBuf::from(format!("one/{name}")));
        match parse(&forged) {
            Ok(found) => assert_eq!(found.read, path, "{name}"),
            Err(MalformedIndex) => assert_eq!(name.len(), 2, "the lengths are wrong then"),
        }
    }
    // What an index without anything cached holds is ordinary.
    git.run(&["update-index", "--no-untracked-cache"], "");
    git.run(&["update-index", "--force-untracked-cache"], "");
    assert_eq!(parse(&fs::read(git.directory.join(".git/index")).unwrap()).unwrap().read, None);
}

#[test]
fn a_broken_untracked_cache_is_none() {
    let git = Git::new("broken-cache");
    let (content, cache) = with_untracked_cache(&git);
    let size = u32::from_be_bytes(content[cache + 4..cache + 8].try_into().unwrap()) as usize;
    let data = &content[cache + 8..cache + 8 + size];
    assert_eq!(untracked::directories(data, 20, |_| ()), Ok(()), "the control");
    for end in 0..data.len() {
        // Every part of it may be cut off, with the NUL at its end or without.
        let cut = [&data[..end], b"\0"].concat();
        let _ = untracked::directories(&data[..end], 20, |_| ());
        let _ = untracked::directories(&cut, 20, |_| ());
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut other = data.to_vec();
            other[end] = byte;
            let _ = untracked::directories(&other, 20, |_| ());
        }
    }
    assert_eq!(untracked::directories(&[data, b"\0"].concat(), 20, |_| ()), Err(MalformedIndex));
    let twice = [&content[..content.len() - 20], &content[cache..cache + 8 + size], &[0; 20]].concat();
    assert_eq!(parse(&twice), Err(MalformedIndex));
}

#[test]
fn a_split_index_says_what_it_replaces_in_its_shared_one() {
    let git = Git::new("split");
    let numbers = ["1".repeat(40), "2".repeat(40)];
    let file = |mode: &str, number: usize, name: usize| format!("{mode} {} 0\tf{name:03}\n", numbers[number]);
    let info = ["-c", "splitIndex.maxPercentChange=100", "update-index", "--add", "--index-info"];
    git.run(&info, &(0..200).map(|name| file("100644", 0, name)).collect::<String>());
    git.run(&["update-index", "--split-index"], "");
    // More than a word of neighbours, and single ones.
    let changed: Vec<usize> = (3..140).chain([150, 152, 199]).collect();
    let mode = |name: usize| if name % 2 == 0 { "160000" } else { "100755" };
    git.run(&info, &changed.iter().map(|name| file(mode(*name), 1, *name)).collect::<String>());
    git.run(&["update-index", "--force-remove", "f001"], "");
    git.run(&info, &format!("160000 {} 0\tnew\n", numbers[0]));

    let content = fs::read(git.directory.join(".git/index")).unwrap();
    assert!(content.len() < 200 * 70, "it is not split");
    let shared = |name: &str| fs::read(git.directory.join(".git").join(name)).ok();
    let found = read(&content, ObjectFormat::Sha1, 9, shared).unwrap();
    let of_git = git.lists(&content, "index.threads=1").unwrap();
    let of_git = of_git.into_iter().filter(|(_, kind, _)| *kind == SUBMODULE).map(|(_, _, path)| path);
    assert_eq!(found.submodules.iter().cloned().collect::<BTreeSet<_>>(), of_git.collect());
    assert_eq!(found.outside, None);

    // A name of no length needs an entry that it replaces.
    assert_eq!(parse(&index(2, &[entry(0o100_644, &[0], b"")])), Err(MalformedIndex));
    let extension = content.windows(4).position(|name| name == b"link").unwrap();
    let unlinked = [&content[..extension], b"LINK", &content[extension + 4..]].concat();
    assert_eq!(parse(&unlinked), Err(MalformedIndex));
}

/// Makes an index without entries that keeps this of conflicts.
fn resolved(data: &[u8]) -> Vec<u8> {
    let size = u32::try_from(data.len()).unwrap().to_be_bytes();
    let header = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat();
    [header.as_slice(), b"REUC", &size, data, &[0; 20]].concat()
}

#[test]
fn what_is_kept_of_conflicts_is_read_as_git_writes_it() {
    let all = |content: &[u8]| staged(content, ObjectFormat::Sha1, |_, _| true, |_| None);
    let two = [b"a/b\x00100644\x000\x00120000\x00".as_slice(), &[1; 20], &[2; 20]].concat();
    let of = |byte: &str| byte.repeat(20);
    assert_eq!(
        all(&resolved(&two)).unwrap(),
        [
            ("a/b".into(), format!("{NO_ENTRY}{}", of("01"))),
            ("a/b".into(), format!("{NO_ENTRY}{LINK}{}", of("02")))
        ]
    );
    let outside = [b"../a\x00100644\x000\x000\x00".as_slice(), &[1; 20]].concat();
    assert_eq!(parse(&resolved(&outside)).unwrap().outside, Some("../a".into()));
    // What git reads and does not write, and what ends too early.
    for data in [
        [b"a\x00 100644\x000\x000\x00".as_slice(), &[1; 20]].concat(),
        [b"a\x00+100644\x000\x000\x00".as_slice(), &[1; 20]].concat(),
        [b"a\x00100948\x000\x000\x00".as_slice(), &[1; 20]].concat(),
        [b"\x00100644\x000\x000\x00".as_slice(), &[1; 20]].concat(),
        [b"a\x00100644\x000\x000\x00".as_slice(), &[1; 19]].concat(),
        b"a\x00100644\x000\x00".to_vec(),
    ] {
        assert_eq!(parse(&resolved(&data)), Err(MalformedIndex), "{data:?}");
    }
}
