//! Sample files: the valid ones make a policy, and of the invalid ones every problem is as they say.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use policy::Policy;
use policy::config::effective::Effective;
use policy::config::key::ValueKind;
use policy::config::problem::{Problem, ProblemCode, Scope};
use policy::config::schema;
use policy::config::{Config, ConfigFile, PathBase};

const DIRECTORY: &str = "/home/me/project";

/// Writes a generated table into a page that has a place for it.
type WriteTable = fn(&str) -> Option<String>;

fn samples(kind: &str) -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config").join(kind);
    let read = |entry: io::Result<DirEntry>| {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, fs::read_to_string(&path)?))
    };
    let samples: io::Result<Vec<(String, String)>> =
        fs::read_dir(&directory).and_then(|entries| entries.map(read).collect());
    let mut samples = samples.expect("the samples are readable");
    samples.sort();
    assert!(!samples.is_empty(), "there is nothing in {}", directory.display());
    samples
}

fn file() -> ConfigFile {
    ConfigFile {
        scope: Scope::Project,
        label: "sandbox.toml".into(),
        base: PathBase { directory: DIRECTORY.into(), home: Some("/home/me".into()) },
    }
}

/// Everything that is wrong with a text: as a file, and as the settings that hold.
fn problems(text: &str) -> Vec<Problem> {
    let (config, mut problems) = Config::read(text, &file());
    if let Err(more) = Policy::new(&Effective::merge([config]), Path::new(DIRECTORY)) {
        problems.extend(more);
    }
    policy::config::problem::sort(&mut problems);
    problems
}

fn shown(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|problem| problem.to_string().replacen("sandbox.toml:", "", 1)).collect()
}

#[test]
fn every_valid_file_makes_a_policy() {
    for (name, text) in samples("valid") {
        assert_eq!(shown(&problems(&text)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_problem_of_an_invalid_file_is_reported_as_it_says() {
    let mut wrong = Vec::new();
    for (name, text) in samples("invalid") {
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# error: ")).collect();
        let found = shown(&problems(&text));
        if expected.is_empty() || found != expected {
            wrong.push(format!("{name}\n{}", found.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "these files have other problems than they say:\n\n{}", wrong.join("\n\n"));
}

/// A key of the table that nothing reads would be ignored in silence.
#[test]
fn every_key_of_the_table_is_read() {
    for key in schema::KEYS.iter().filter(|key| !matches!(key.kind, ValueKind::Table | ValueKind::Named(_))) {
        let path = key.path.replace('*', "x");
        let text = format!("{path} = 1979-05-27");
        let (_, problems) = Config::read(&text, &file());
        let wrong =
            problems.iter().any(|problem| problem.key == path && problem.code == ProblemCode::WrongType);
        assert!(wrong, "{text}: {:?}", shown(&problems));
    }
}

#[test]
fn a_file_that_is_too_long_is_refused_unread() {
    let text = "x = 1\n".repeat(policy::config::MAX_LENGTH);
    assert_eq!(shown(&problems(&text)), ["1:1: the file has 393216 bytes; at most 65536 are read"]);
}

/// Cuts, doubles, swaps and garbles the samples in a fixed pseudo-random way. Whatever comes out, reading it ends,
/// and positions lie within the text.
#[test]
fn no_mutation_of_a_sample_makes_the_reader_panic() {
    const GARBAGE: [&str; 16] = [
        "\"", "'", "[", "]", "{", "}", "=", ".", "\n", "\0", "é", "\u{202e}", "9999999999999999999", "-",
        "#", "\"\"\"",
    ];
    let mut seed: u64 = 0x5eed;
    let mut random = move |below: usize| {
        // xorshift64, Marsaglia 2003.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below.max(1) as u64).unwrap()
    };
    for (_, text) in samples("valid").into_iter().chain(samples("invalid")) {
        for _ in 0..30 {
            let mut chars: Vec<char> = text.chars().collect();
            for _ in 0..=random(4) {
                let at = random(chars.len());
                let end = (at + random(24)).min(chars.len());
                match random(3) {
                    0 => drop(chars.drain(at..end)),
                    1 => {
                        let part: Vec<char> = chars[at..end].to_vec();
                        let to = random(chars.len());
                        chars.splice(to..to, part);
                    }
                    _ => drop(chars.splice(at..end, GARBAGE[random(GARBAGE.len())].chars())),
                }
            }
            let mutated: String = chars.into_iter().collect();
            let lines = mutated.split('\n').count();
            for problem in problems(&mutated) {
                if let policy::config::problem::Location::File { line, column, .. } = problem.location {
                    assert!(
                        (1..=lines).contains(&(line as usize)) && column >= 1,
                        "{problem} in {mutated:?}"
                    );
                }
            }
        }
    }
}

/// The generated files are what the table of keys says today.
#[test]
fn generated_files_are_fresh() {
    let docs: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, generated) in [
        ("sandbox-toml.md", policy::config::reference::markdown()),
        ("sandbox.schema.json", policy::config::reference::json_schema()),
    ] {
        let checked_in = fs::read_to_string(docs.join(name)).unwrap_or_default();
        assert!(checked_in == generated, "docs/{name} is stale: run `make generate` and commit the result");
    }
    let pages: [(&str, WriteTable); 2] = [
        ("protect.md", policy::config::reference::with_protected_paths),
        ("network.md", policy::config::reference::with_presets),
    ];
    for (name, write) in pages {
        let page = fs::read_to_string(docs.join(name)).unwrap_or_default();
        let generated = write(&page).unwrap_or_default();
        assert!(page == generated, "docs/{name} is stale: run `make generate` and commit the result");
    }
}
