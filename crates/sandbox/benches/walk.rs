//! What the search for protected paths costs before every start: prints a table of medians.
//!
//! `cargo bench -p sandbox --bench walk`. The trees are made in a temporary directory and are in the kernel's
//! caches, as a project is that somebody works on.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use policy::plan::Protect;
use policy::protect::table::built_in;
use sandbox::boundary::detect::baseline::Baseline;
use sandbox::boundary::protect::search::{SearchRules, mounts};
use sandbox::boundary::root::Root;
use sandbox::boundary::walk::walk;
use sandbox::host::deadline::Deadline;
use sandbox::host::identity::Identity;

const ROUNDS: usize = 51;

fn main() -> io::Result<()> {
    let top = tempfile::tempdir()?;
    let host = top.path().canonicalize()?;
    println!("{:<44} {:>9} {:>10} {:>10} {:>10}", "tree", "files", "walk µs", "mounts µs", "baseline µs");
    // A project whose root alone is looked at.
    let small = host.join("small");
    repository(&small)?;
    files(&small, 40)?;
    row("a repository, root only", &small, 0)?;
    // 100,000 files in 1,000 directories within the bound, ten of them repositories.
    let large = host.join("large");
    repository(&large)?;
    for outer in 0..10 {
        repository(&large.join(format!("package{outer}")))?;
        for inner in 0..100 {
            let directory = large.join(format!("package{outer}/src{}/module{inner}", inner % 10));
            fs::create_dir_all(&directory)?;
            files(&directory, 100)?;
        }
    }
    row("100,000 files, 11 repositories, 3 levels", &large, 3)?;
    row("the same, root only", &large, 0)?;
    // The same number in one directory.
    let flat = host.join("flat");
    repository(&flat)?;
    files(&flat, 100_000)?;
    row("100,000 files in one directory", &flat, 3)?;
    Ok(())
}

fn row(name: &str, host: &Path, depth: u32) -> io::Result<()> {
    let protect = Protect { paths: built_in().map(Cow::Borrowed).collect(), ..Protect::NOTHING };
    let rules = SearchRules::of(&protect);
    let root = Root::of(File::open(host)?.into(), Identity::own())?;
    let root = root.enter()?;
    let found = walk(&root, depth)?;
    let there = mounts(&root, host, &found, &rules, Deadline::NEVER)?;
    let walking = median(|| walk(&root, depth).map(drop))?;
    let mounting = median(|| mounts(&root, host, &found, &rules, Deadline::NEVER).map(drop))?;
    let taking = median(|| Baseline::take(&root, &there).map(drop).map_err(io::Error::other))?;
    println!(
        "{name:<44} {:>9} {:>10} {:>10} {:>10}",
        count(host)?,
        walking.as_micros(),
        mounting.as_micros(),
        taking.as_micros()
    );
    Ok(())
}

fn median(mut work: impl FnMut() -> io::Result<()>) -> io::Result<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[ROUNDS / 2])
}

fn repository(path: &Path) -> io::Result<()> {
    let git = path.join(".git");
    for directory in ["hooks", "objects", "refs"] {
        fs::create_dir_all(git.join(directory))?;
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
    for number in 0..14 {
        fs::write(git.join(format!("hooks/hook{number}.sample")), "#!/bin/sh\n")?;
    }
    Ok(())
}

fn files(directory: &Path, number: usize) -> io::Result<()> {
    for number in 0..number {
        File::create(directory.join(format!("file{number}.rs")))?;
    }
    Ok(())
}

fn count(path: &Path) -> io::Result<usize> {
    let mut total = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        total += if entry.file_type()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Ok(total)
}
