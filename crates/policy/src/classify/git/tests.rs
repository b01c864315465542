//! What git itself lists is compared with what is read here.

use std::fs;
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

type Settings = Vec<(String, Option<String>)>;

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
            Some(end) => (text(&setting[..end]), Some(text(&setting[end + 1..]))),
            None => (text(setting), None),
        }
    });
    output.status.success().then(|| settings.collect())
}

fn of_reader(content: &[u8]) -> Result<Settings, MalformedConfig> {
    Ok(read(content)?.iter().map(|entry| (name(entry), entry.value.clone())).collect())
}

/// What configurations consist of, and what readers stumble over.
const PARTS: &[&[u8]] = &[
    b"[core]\n",
    b"[filter \"x\"]",
    b"[filter.x \"y\"]\n",
    b"[a.b.c]",
    b"[A.B \"C.D\"] ",
    b"[\"x\"]",
    b"[ \"x\"]",
    b"[.]",
    b"[]",
    b"[a.]",
    b"[x \"a\\\"b\\\\c\\d\"]",
    b"[x\t \"\"]",
    b"[x\r\"y\"]",
    b"[x\"y\"]",
    b"[x \"y\" ]",
    b"[x \"",
    b"\"]",
    b"[",
    b"]",
    b"key = value\n",
    b"k-1=v\n",
    b"flag\n",
    b"flag # c\n",
    b"Key\t = \"a b\"  c ; comment\n",
    b"k = a\\\n  b\n",
    b"k = a \\\n",
    b"k = a\\tb\\nc\\bd\\\\e\\\"\n",
    b"k = \"a\n",
    b"k = \\x\n",
    b"k = v\r\n",
    b"k = v \r \n",
    b"k\r= v\n",
    b"k = \"\" \n",
    b"k = a \"\" \n",
    b"k = a\\\r\nb\n",
    b"k = # none\n",
    b"k =\n",
    b"k = a;b\n",
    b"k = \"a;b\" #c \\\nd = e\n",
    b"# comment \\\n",
    b";\n",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"\r",
    b"\x0b",
    b"\x0c",
    b"\\",
    b"\"",
    b"=",
    b".",
    b"-",
    b"\xef\xbb\xbf",
    b"\xef",
    b"\xff",
    b"\xc3\xa4",
    b"k",
    b"0",
    b"!",
    b"k = a  \t b\n",
    b"k = a\rb\n",
    b"k = \x0ba\x0c\n",
    b"[include]\npath = nothing\n",
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
            (Some(git), Err(MalformedConfig)) => {
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
        let found = classify_config(content.as_bytes(), Worktree::Elsewhere);
        assert_eq!(found, Some(Reason::Setting { key: name }));
        assert!(!executing(content.as_bytes(), Worktree::Elsewhere).is_empty());
    }
}
