//! Programs that take what they run from a file of a fixed name in the directory in which they are called, and programs in the text of
//! a command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::super::words::UNKNOWN;

/// Runners, and the names of their files.
const RUNNERS: &[(&[u8], &[&str])] = &[
    (b"composer", &["composer.json"]),
    (b"doit", &["dodo.py", "doit.cfg", "pyproject.toml"]),
    (b"gmake", MAKE),
    (b"inv", INVOKE),
    (b"invoke", INVOKE),
    (b"just", &["justfile", "Justfile", ".justfile"]),
    (b"make", MAKE),
    (b"ninja", &["build.ninja"]),
    (b"nix", &["flake.nix"]),
    (b"nix-build", &["default.nix"]),
    (b"nix-shell", &["shell.nix", "default.nix"]),
    (b"nox", &["noxfile.py"]),
    (b"npm", &["package.json"]),
    (b"pnpm", &["package.json", "package.yaml", "package.json5"]),
    (b"rake", &["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb", "rakelib"]),
    (b"task", TASK),
    (b"tox", &["tox.ini", "tox.toml", "toxfile.py", "pyproject.toml", "setup.cfg"]),
    (b"yarn", &["package.json"]),
];

const INVOKE: &[&str] = &["tasks.py", "tasks", "invoke.py", "invoke.yaml", "invoke.yml", "invoke.json"];

const MAKE: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

const TASK: &[&str] = &[
    "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml",
    "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
];

/// Options of runners with the directory in which they look for their files.
const DIRECTORY: &[&str] =
    &["-C", "-d", "--cwd", "--dir", "--directory", "--prefix", "--working-dir", "--working-directory"];

/// What an interpreter runs of a directory.
const OF_DIRECTORY: &[(&[u8], &[&str])] = &[
    (b"bun", &["package.json", "index.js", "index.ts", "index.tsx"]),
    (b"ipython", OF_PYTHON),
    (b"node", OF_NODE),
    (b"nodejs", OF_NODE),
    (b"pypy", OF_PYTHON),
    (b"python", OF_PYTHON),
    (b"ts-node", OF_NODE),
    (b"tsx", OF_NODE),
];

const OF_NODE: &[&str] = &["package.json", "index.js", "index.json", "index.node", "index.ts", "index.tsx"];

const OF_PYTHON: &[&str] = &["__main__.py"];

/// Returns the files that the runners among these words take by themselves: in the directory that their first options name, and none if
/// these name a file.
pub(super) fn default_files(words: &[Vec<u8>]) -> Vec<PathBuf> {
    let files_of = |at: usize| {
        let (name, rest) = (name_of(&words[at]), &words[at + 1..]);
        if let Some((_, files)) = RUNNERS.iter().find(|(runner, _)| *runner == name) {
            return files_in(&directory(rest)?, files);
        }
        let (_, files) = OF_DIRECTORY.iter().find(|(interpreter, _)| *interpreter == name)?;
        let script = rest.iter().find(|word| !word.starts_with(b"-"))?;
        may_be_root(script).then(|| files.iter().map(PathBuf::from).collect())
    };
    (0..words.len()).filter_map(files_of).flatten().collect()
}

/// The directory that options name.
enum Directory {
    /// The root of the work tree, or what may be it.
    Root,
    /// What follows `-C`, which is protected with all that is in it.
    Whole,
    Other(PathBuf),
}

/// Returns the directory that the first options of a runner name; `None` if they name a file.
fn directory(rest: &[Vec<u8>]) -> Option<Directory> {
    let mut named: Vec<&[u8]> = Vec::new();
    let mut is_protected = true;
    let mut at = 0;
    while let Some(option) = rest.get(at).filter(|word| word.starts_with(b"-")) {
        at += 1;
        if option == b"-f" {
            return None;
        }
        if DIRECTORY.iter().any(|name| name.as_bytes() == option) {
            // An option of this name may be another one here, without a word behind it.
            let Some(next) = rest.get(at).filter(|next| !next.starts_with(b"-")) else { continue };
            at += 1;
            is_protected &= option == b"-C";
            named.push(next);
        } else if let Some(value) = joined(option) {
            is_protected = false;
            named.push(value);
        }
    }
    // The words of a command in the place of a directory come before what stands for it.
    let is_unknown = |word: &Vec<u8>| word.contains(&UNKNOWN) && may_be_root(word);
    Some(match named.as_slice() {
        _ if rest.iter().any(is_unknown) || named.iter().all(|name| may_be_root(name)) => Directory::Root,
        [name] if is_protected && !name.starts_with(b"/") => Directory::Whole,
        names => Directory::Other(names.iter().map(|name| path(name)).collect()),
    })
}

/// Returns the directory that is joined to an option.
fn joined(option: &[u8]) -> Option<&[u8]> {
    DIRECTORY.iter().find_map(|name| {
        let value = option.strip_prefix(name.as_bytes())?;
        value.strip_prefix(b"=").or_else(|| Some(value).filter(|_| !name.starts_with("--")))
    })
}

fn files_in(directory: &Directory, files: &[&str]) -> Option<Vec<PathBuf>> {
    let here = files.iter().map(PathBuf::from);
    match directory {
        Directory::Root => Some(here.collect()),
        Directory::Whole => None,
        // To some runners that is no option with a directory.
        Directory::Other(directory) => {
            Some(here.clone().map(|file| directory.join(file)).chain(here).collect())
        }
    }
}

/// Returns whether a path may be that of the root of the work tree.
fn may_be_root(directory: &[u8]) -> bool {
    let unknown = directory.iter().rposition(|byte| *byte == UNKNOWN);
    let rest = unknown.map_or(directory, |at| &directory[at + 1..]);
    let is_relative = unknown.is_some() || !rest.starts_with(b"/");
    let names = || rest.split(|byte| *byte == b'/');
    names().any(|name| name == b"..") || is_relative && names().all(|name| matches!(name, b"" | b"."))
}

/// What comes next in the text of a program in Python.
#[derive(Clone, Copy, Debug)]
enum Expected<'a> {
    Nothing,
    Package,
    /// What is imported from a package, if it is from one.
    Name(Option<&'a [u8]>),
    /// A comma, after such a name.
    Comma(Option<&'a [u8]>),
    Alias(Option<&'a [u8]>),
    Import(&'a [u8]),
}

/// Returns the files of the modules that Python imports by these words, as in `python -c 'import a.b, c'` and `from a import b`, or by a
/// call.
pub(super) fn imports(words: &[Vec<u8>]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut expected = Expected::Nothing;
    for word in words.iter().flat_map(|word| word.split_inclusive(|byte| *byte == b',')) {
        let name = word.strip_suffix(b",").unwrap_or(word);
        let after = |package| {
            if name.len() < word.len() { Expected::Name(package) } else { Expected::Comma(package) }
        };
        expected = match (expected, name) {
            (Expected::Import(package), b"import") => Expected::Name(Some(package)),
            (_, b"import") => Expected::Name(None),
            (_, b"from") => Expected::Package,
            (Expected::Package, name) => {
                files.extend(module_files(name));
                Expected::Import(name)
            }
            (Expected::Name(package) | Expected::Comma(package), b"") | (Expected::Alias(package), _) => {
                after(package)
            }
            (Expected::Name(Some(package)), name) => {
                files.extend(module_files(&[package, b".", name].concat()));
                after(Some(package))
            }
            (Expected::Name(None), name) => {
                files.extend(module_files(name));
                after(None)
            }
            (Expected::Comma(package), b"as") => Expected::Alias(package),
            (_, name) if LOADING.iter().any(|call| name.ends_with(call.as_bytes())) => Expected::Name(None),
            _ => Expected::Nothing,
        };
    }
    files
}

/// Calls with the name of a module.
const LOADING: [&str; 3] = ["__import__", "import_module", "run_module"];

/// Returns the files that a script of this name may be, where an interpreter adds an end that the name lacks.
pub(super) fn with_ends<'a>(name: &'a [u8], ends: &'a [&'a str]) -> impl Iterator<Item = PathBuf> + 'a {
    let is_whole = ends.iter().any(|end| name.ends_with(end.as_bytes()));
    let missing = if is_whole { &[] } else { ends };
    missing.iter().map(move |end| path(&[name, end.as_bytes()].concat()))
}

/// Letters of options of a Python that have nothing behind them, and may stand before the `m` of `-m`.
const FLAGS_OF_PYTHON: &[u8] = b"bBdEiIOPqRsSuvx";

/// Returns whether a word is an option of one letter, or of several, and ends in one of these.
pub(super) fn is_sequence_to(word: &[u8], letters: &[u8]) -> bool {
    let is_of_letters =
        word.strip_prefix(b"-").is_some_and(|flags| flags.iter().all(u8::is_ascii_alphabetic));
    is_of_letters && word.last().is_some_and(|last| letters.contains(last))
}

/// Returns what follows the `m` of an option `-m` of a Python, which other letters may precede (`-um`).
fn after_module_option(word: &[u8]) -> Option<&[u8]> {
    let flags = word.strip_prefix(b"-")?;
    let at = flags.iter().position(|letter| !FLAGS_OF_PYTHON.contains(letter))?;
    flags[at..].strip_prefix(b"m")
}

/// Returns the files of the modules that a Python runs: `python -m name` looks for them in the working directory first.
pub(super) fn modules(words: &[Vec<u8>]) -> impl Iterator<Item = PathBuf> + '_ {
    let is_behind = |pair: &&[Vec<u8>]| after_module_option(&pair[0]).is_some_and(<[u8]>::is_empty);
    let after = words.windows(2).filter(is_behind).map(|pair| pair[1].as_slice());
    let joined = words.iter().filter_map(|word| after_module_option(word)).filter(|name| !name.is_empty());
    after.chain(joined).flat_map(module_files)
}

/// Returns the files in which Python looks for a module of this name.
fn module_files(name: &[u8]) -> [PathBuf; 3] {
    let name: Vec<u8> = name.iter().map(|byte| if *byte == b'.' { b'/' } else { *byte }).collect();
    ["", "/__init__", "/__main__"].map(|end| path(&[&name, end.as_bytes(), b".py"].concat()))
}

/// Returns whether a word is the name of a runner, whose arguments are what it is to make.
pub(super) fn is_runner(word: &[u8]) -> bool {
    RUNNERS.iter().any(|(runner, _)| *runner == name_of(word))
}

/// Returns the name of a program, without its directory.
pub(super) fn whole_name_of(word: &[u8]) -> &[u8] {
    word.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Returns the name of a program, without its directory and its version.
pub(super) fn name_of(word: &[u8]) -> &[u8] {
    let name = whole_name_of(word);
    let version = name.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    &name[..name.len() - version]
}

/// Returns bytes as a path.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
