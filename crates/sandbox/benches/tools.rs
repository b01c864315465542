//! How long file tools take in a persistent sandbox, beside `fd` and `rg` on the same tree: `cargo bench -p sandbox --bench tools`.
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile, PathBase};
use policy::plan::{FileId, Plan};
use policy::rules::shared_dir::PathKind;
use policy::{HostDirectory, HostFacts, Policy};
use sandbox::host::identity::Identity;
use sandbox::tools::{ListOptions, ReadOptions, SearchOptions, Selection};
use sandbox::{Caller, FileTools};

const DIRECTORIES: usize = 1000;
const FILES: usize = 100;
const ROUNDS: usize = 15;
const PATTERN: &str = "needle-7[0-9]*-99$";
const CONFIG: &str = "provider = \"native\"\nlimits = { memory = \"unlimited\", cpus = \"unlimited\", pids = \"unlimited\" }\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let top = tempfile::tempdir()?;
    let project = top.path().join("project");
    for directory in 0..DIRECTORIES {
        let path = project.join((directory % 10).to_string()).join(directory.to_string());
        fs::create_dir_all(&path)?;
        for file in 0..FILES {
            let text = format!("line one of {file}\nneedle-{directory}-{file}\n").repeat(8);
            fs::write(path.join(format!("file-{file}.txt")), text)?;
        }
    }
    let state = top.path().join("state");
    let caller = Caller::new(&state, top.path(), std::env::vars_os());
    let sandbox = caller.create(&plan(&project)?, &mut |_| ())?;
    let tools = FileTools::open(caller.find(sandbox.name())?)?;

    let read = || tools.read("0/0/file-0.txt", ReadOptions::default()).map(drop);
    say("read of a small file", &measure(1000, read)?);
    let selection = Selection { hidden: true, gitignore: false };
    let listed = ListOptions { selection, max_entries: usize::MAX, ..ListOptions::default() };
    let total = tools.list(".", &listed)?.total;
    println!("{total} entries, of which {} are files", DIRECTORIES * FILES);
    say("list", &measure(ROUNDS, || tools.list(".", &listed).map(drop))?);
    let program = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&project).stdin(Stdio::null()).stdout(Stdio::null());
        command.status().map(drop)
    };
    for fd in ["fdfind", "fd"] {
        if let Ok(times) = measure(ROUNDS, || program(&[fd, "--hidden", "--no-ignore", "."])) {
            say(fd, &times);
        }
    }
    let searched = SearchOptions { selection, max_matches: usize::MAX, ..SearchOptions::default() };
    println!("{} matches", tools.search(PATTERN, ".", &searched)?.matches);
    say("search", &measure(ROUNDS, || tools.search(PATTERN, ".", &searched).map(drop))?);
    if let Ok(times) = measure(ROUNDS, || program(&["rg", "--hidden", "--no-ignore", PATTERN, "."])) {
        say("rg", &times);
    }
    caller.remove(&sandbox, Duration::ZERO, &mut |_| ())?;
    Ok(())
}

fn measure<E>(rounds: usize, act: impl Fn() -> Result<(), E>) -> Result<Vec<Duration>, E> {
    act()?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let began = Instant::now();
        act()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

fn say(what: &str, times: &[Duration]) {
    println!("{what}: median {:?}, least {:?}", times[times.len() / 2], times[0]);
}

fn plan(project: &Path) -> Result<Plan, Box<dyn std::error::Error>> {
    let base = PathBase { directory: project.to_owned(), home: None };
    let file = ConfigFile { scope: Scope::User, label: "sandbox.toml".into(), base };
    let config = Config::parse(CONFIG, &file).map_err(|problems| format!("{problems:?}"))?;
    let made =
        Policy::new(&Effective::merge([config]), project).map_err(|problems| format!("{problems:?}"))?;
    let stat = rustix::fs::stat(project)?;
    let directory = HostDirectory {
        host: project.canonicalize()?,
        kind: PathKind::Directory,
        owner: Identity::own().uid,
        file_id: FileId { device: stat.st_dev, inode: stat.st_ino },
        is_repository: false,
        repository: None,
    };
    let facts = HostFacts {
        name: "tools".to_owned(),
        environment: Vec::new(),
        directories: BTreeMap::from([("workspace".to_owned(), Ok(directory))]),
        home: None,
        absent: BTreeSet::new(),
        workdir: Ok(()),
        sockets: BTreeMap::new(),
        git: None,
        toolchains: BTreeMap::new(),
        uid: Identity::own().uid,
        homes: Vec::new(),
        other_homes: Vec::new(),
        allowed_root: None,
    };
    Ok(made.plan(&facts).map_err(|problems| format!("{problems:?}"))?)
}
