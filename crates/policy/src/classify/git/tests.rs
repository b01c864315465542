//! What git itself lists is compared with what is read here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::*;

/// Numbers that are the same at each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % bound
    }

    fn one_of<'a>(&mut self, all: &[&'a [u8]]) -> &'a [u8] {
        all[self.below(all.len())]
    }
}

type Settings = Vec<(String, Option<OsString>)>;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns what git lists, with the names as it takes them apart; nothing where it refuses the file.
fn of_git(file: &Path, content: &[u8]) -> Option<Settings> {
    fs::write(file, content).unwrap();
    let output = Command::new("git")
        .args(["config", "--no-includes", "--list", "-z", "-f"])
        .arg(file)
        .output()
        .unwrap();
    let settings = output.stdout.split_inclusive(|byte| *byte == 0).map(|setting| {
        let setting = &setting[..setting.len() - 1];
        // A name may hold a carriage return, and no newline.
        match setting.iter().position(|byte| *byte == b'\n') {
            Some(end) => (text(&setting[..end]), Some(OsStr::from_bytes(&setting[end + 1..]).to_owned())),
            None => (text(setting), None),
        }
    });
    output.status.success().then(|| settings.collect())
}

fn of_reader(content: &[u8]) -> Result<Settings, ConfigError> {
    Ok(read(content)?.iter().map(|entry| (entry.name(), entry.value.clone())).collect())
}

/// What configurations consist of, and what readers stumble over.
const PARTS: &[&[u8]] = &[
    b"[core]\n", b"[filter \"x\"]", b"[filter.x \"y\"]\n", b"[a.b.c]", b"[A.B \"C.D\"] ", b"[\"x\"]",
    b"[ \"x\"]", b"[.]", b"[]", b"[a.]", b"[x \"a\\\"b\\\\c\\d\"]", b"[x\t \"\"]", b"[x\r\"y\"]",
    b"[x\"y\"]", b"[x \"y\" ]", b"[x \"", b"\"]", b"[", b"]", b"key = value\n", b"k-1=v\n", b"flag\n",
    b"flag # c\n", b"Key\t = \"a b\"  c ; comment\n", b"k = a\\\n  b\n", b"k = a \\\n",
    b"k = a\\tb\\nc\\bd\\\\e\\\"\n", b"k = \"a\n", b"k = \\x\n", b"k = v\r\n", b"k = v \r \n", b"k\r= v\n",
    b"k = \"\" \n", b"k = a \"\" \n", b"k = a\\\r\nb\n", b"k = # none\n", b"k =\n", b"k = a;b\n",
    b"k = \"a;b\" #c \\\nd = e\n", b"# comment \\\n", b";\n", b"\n", b"\r\n", b" ", b"\t", b"\r", b"\x0b",
    b"\x0c", b"\\", b"\"", b"=", b".", b"-", b"\xef\xbb\xbf", b"\xef", b"\xff", b"\xc3\xa4", b"k", b"0",
    b"!", b"k = a  \t b\n", b"k = a\rb\n", b"k = \x0ba\x0c\n", b"[include]\npath = nothing\n",
    b"clean = cat\n",
];

#[test]
fn what_git_reads_of_a_configuration_is_what_is_read_here() {
    let file = std::env::temp_dir().join(format!("configuration-{}", std::process::id()));
    let mut numbers = Numbers(0x5eed);
    let (mut both, mut refused) = (0, 0);
    for round in 0..2000 {
        let mut content: Vec<u8> = if round % 8 == 0 { Vec::new() } else { b"[s]\n".to_vec() };
        for _ in 0..=numbers.below(6) {
            content.extend(numbers.one_of(PARTS));
        }
        // As it stands, or with one byte changed: NUL too, which has to be refused where it matters.
        if round % 3 == 0 {
            let at = numbers.below(content.len());
            content[at] = [0, b'\n', b'\r', b'"', b'\\', b'#', b'.', b' ', b']'][numbers.below(9)];
        }
        match (of_git(&file, &content), of_reader(&content)) {
            (Some(git), Ok(here)) => {
                assert_eq!(here, git, "{:?}", content.escape_ascii().to_string());
                both += 1;
            }
            (Some(git), Err(_)) => {
                let is_refused = content.contains(&0)
                    || content.ends_with(b"\\")
                    || git.iter().any(|(name, _)| !name.contains('.'));
                assert!(is_refused, "{:?}", content.escape_ascii().to_string());
                refused += 1;
            }
            (None, _) => {}
        }
    }
    fs::remove_file(&file).unwrap();
    assert!(both > 300 && refused > 3, "{both} are read, and {refused} only by git");
}

#[test]
fn a_dot_before_a_quoted_subsection_belongs_to_it() {
    for (section, key) in
        [("filter.x", "clean"), ("diff.x", "textconv"), ("merge.x", "driver"), ("remote.x", "uploadpack")]
    {
        let content = format!("[{section} \"y\"]\n\t{key} = id\n");
        let name = format!("{section}.y.{key}");
        let found = classify_config(content.as_bytes(), ConfigKind::Submodule);
        assert_eq!(found, Some(Reason::Setting { key: name }));
        assert!(!counting(content.as_bytes(), ConfigKind::Submodule).is_empty());
    }
}

#[test]
fn every_key_that_git_lists_is_on_the_list_or_counts() {
    let output = Command::new("git").args(["help", "--config"]).output().unwrap();
    let keys = String::from_utf8(output.stdout).unwrap();
    // Of one with `_`, git says that it is none, though it lists it.
    let keys: Vec<&str> =
        keys.lines().filter(|line| line.contains('.') && !line.contains([' ', '_'])).collect();
    let mut counting = Vec::new();
    for key in &keys {
        let (section, name) = key.split_once('.').unwrap();
        let name = name.replace('*', "x");
        let (subsection, name) =
            name.rsplit_once('.').map_or((None, &*name), |(sub, name)| (Some(sub), name));
        // What stands for a name there is no name.
        let name = if name.starts_with('<') { "x" } else { name };
        let subsection = subsection.map(|sub| if sub.starts_with('<') { "x" } else { sub });
        let header = subsection.map_or(format!("[{section}]"), |sub| format!("[{section} \"{sub}\"]"));
        // A value that every setting may have which is no program.
        let content = format!("{header}\n\t{name} = 1\n");
        match classify_config(content.as_bytes(), ConfigKind::Submodule) {
            None => {}
            Some(Reason::Setting { key }) => {
                assert!(key.ends_with(&name.to_ascii_lowercase()), "{content}");
                counting.push(key);
            }
            Some(other) => panic!("{content}: {other}"),
        }
    }
    assert!(keys.len() > 700, "git lists its keys: {}", keys.len());
    let known = |key: &&str| counting.iter().any(|counts| counts == key);
    let executing = ["core.hookspath", "core.pager", "core.sshcommand", "diff.external", "include.path"];
    assert!(executing.iter().all(known), "{counting:?}");
    // Most of those that are left hold a truth value or a number.
    let left = keys.len() - counting.len();
    assert!((250..400).contains(&left), "{left} of {}: {counting:?}", keys.len());
}

#[test]
fn no_row_hides_another() {
    for (at, (section, keys, _)) in harmless::ROWS.iter().enumerate() {
        let same = harmless::ROWS[at + 1..].iter().filter(|(other, ..)| other == section);
        for (_, others, _) in same {
            assert!(!keys.iter().any(|key| others.contains(key)), "{section}: {others:?}");
        }
        assert!(
            keys.is_sorted() && keys.iter().all(|key| !key.bytes().any(|byte| byte.is_ascii_uppercase())),
            "{keys:?}"
        );
    }
    assert!(harmless::ROWS.is_sorted_by_key(|(section, ..)| section));
}
