//! Commands in settings of git: the programs in the work tree that one runs, and the files that it gives them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::words;
use super::runners::{
    default_files, imports, is_runner, is_sequence_to, modules, name_of, path, whole_name_of, with_ends,
};

/// Ends that the name of a script may lack, where a program finds it all the same.
type Ends = &'static [&'static str];

const OF_NODE: Ends = &[".js", ".node"];

const OF_TYPESCRIPT: Ends = &[".tsx", ".jsx", ".ts", ".mts", ".js", ".mjs", ".cts", ".cjs"];

/// Shells, whose options have no word behind them, but for `-o` and `-O`.
const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "fish", "ksh", "ksh93", "lksh", "mksh", "oksh", "osh", "pdksh", "posh",
    "rbash", "rksh", "rzsh", "sh", "tcsh", "yash", "zsh",
];

/// Other programs that take their first word for a script, without a version.
const INTERPRETERS: &[(&str, Ends)] = &[
    ("bun", OF_TYPESCRIPT),
    ("deno", &[]),
    ("elixir", &[]),
    ("elvish", &[]),
    ("escript", &[]),
    ("expect", &[]),
    ("gnuplot", &[]),
    ("groovy", &[]),
    ("guile", &[]),
    ("ipython", &[]),
    ("janet", &[]),
    ("julia", &[]),
    ("kotlin", &[]),
    ("lua", &[]),
    ("luajit", &[]),
    ("m4", &[]),
    ("micropython", &[]),
    ("node", OF_NODE),
    ("nodejs", OF_NODE),
    ("nu", &[]),
    ("octave", &[]),
    ("osascript", &[]),
    ("perl", &[]),
    ("php", &[]),
    ("pwsh", &[".ps1"]),
    ("pypy", &[]),
    ("python", &[]),
    ("racket", &[]),
    ("raku", &[]),
    ("rscript", &[]),
    // Of what `-r` names.
    ("ruby", &[".rb", ".so"]),
    ("scala", &[]),
    // Of a shell.
    ("source", &[]),
    ("tclsh", &[]),
    ("ts-node", OF_TYPESCRIPT),
    ("tsx", OF_TYPESCRIPT),
    ("wish", &[]),
    ("xonsh", &[]),
    ("ysh", &[]),
];

/// Programs of which the first word is a command of theirs, beside those that begin with `git`.
const WITH_COMMANDS: &[&str] = &["gh", "glab", "npx", "nix", "uv"];

/// Commands of interpreters that a script follows.
const RUNNING: &[&[u8]] = &[b"run", b"watch"];

/// Returns which ends the name of a script for this program may lack, if it is an interpreter.
fn interpreter(word: &[u8]) -> Option<Ends> {
    let is = |name: &str| {
        [name_of(word), whole_name_of(word)].iter().any(|mine| mine.eq_ignore_ascii_case(name.as_bytes()))
    };
    if SHELLS.iter().any(|name| is(name)) {
        return Some(&[]);
    }
    INTERPRETERS.iter().find(|(name, _)| is(name)).map(|(_, ends)| *ends)
}

/// What a command expects where it is read.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    /// A script, or a directory that a program enters or takes for one, whatever its name is: which ends that may lack.
    script: Option<Ends>,
    /// The options are those of a shell, to which `-e` is one without a word behind it.
    is_of_shell: bool,
    /// What comes next belongs to an option, and the script comes after it.
    is_behind_option: bool,
}

impl Expected {
    /// Returns what follows this word.
    fn after(self, word: &[u8]) -> Self {
        let Self { script, is_of_shell, is_behind_option } = self;
        if is_behind_option {
            return Self { is_behind_option: false, ..self };
        }
        let is_option = word.starts_with(b"-") || is_of_shell && word.starts_with(b"+");
        if !is_option {
            let is_running = script.is_some() && RUNNING.contains(&word);
            let script = if is_running { script } else { interpreter(word) };
            return Self { script, is_of_shell: is_shell(word), is_behind_option: false };
        }
        let script = match word {
            // Options of a shell, of which none has a word behind it.
            b"-C" | b"-e" | b"-f" if is_of_shell => script,
            b"-C" | b"-f" => Some(&[][..]),
            // What follows is a command, or a module.
            b"-c" | b"-e" | b"-m" => None,
            _ if is_sequence_to(word, if is_of_shell { b"c" } else { b"cem" }) => None,
            _ => script,
        };
        let is_behind_option = is_of_shell && word.len() > 1 && matches!(word.last(), Some(b'o' | b'O'));
        Self { script, is_of_shell, is_behind_option: is_behind_option && !word.starts_with(b"--") }
    }
}

fn is_shell(word: &[u8]) -> bool {
    SHELLS.iter().any(|name| name.as_bytes() == whole_name_of(word))
}

/// How often a word of a command is taken for a command itself, as `sh -c` does.
const COMMAND_LEVELS: u32 = 3;

/// Returns whether the word behind an option may be the name of a file. What has its argument joined to it has none behind.
fn may_have_file(option: &[u8]) -> bool {
    option.starts_with(b"-")
        && !option.contains(&b'=')
        && !matches!(option, b"-" | b"--" | b"-c" | b"-e" | b"-m")
}

/// Returns whether a word is a name that could be that of a file, and nothing that is taken for a path anyway.
fn is_bare(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphanumeric)
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !word.iter().all(u8::is_ascii_digit)
}

/// Returns what a command names in the work tree, or in git's data: programs and scripts, and files at the root that it may take for
/// configurations or scripts (`ssh -F config`).
pub(super) fn named(command: &[u8]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    named_by_words(&words::split(command))
}

/// Returns the same of a command that is split already.
pub(super) fn named_by_words(words: &[Vec<u8>]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let programs = programs(words, COMMAND_LEVELS, &[]);
    let mut files = files(words, COMMAND_LEVELS);
    files.retain(|file| !programs.contains(file));
    (programs, files)
}

fn files(words: &[Vec<u8>], levels: u32) -> Vec<PathBuf> {
    let behind = words.windows(2).filter(|pair| may_have_file(&pair[0])).map(|pair| pair[1].as_slice());
    // To make, `-fx` is `-f x`; to ssh, `-Fx` is `-F x`.
    let to_letter = |word| [b"-f", b"-F"].iter().find_map(|letter| strip(word, *letter));
    let is_pager = words.first().is_some_and(|program| whole_name_of(program) == b"less");
    let joined = words.iter().filter_map(|word| {
        let of_letter = to_letter(word).filter(|_| !is_pager);
        of_letter.or_else(|| value(word).filter(|_| word.starts_with(b"--") || is_variable(word)))
    });
    let named = behind.chain(joined).chain(first_argument(words)).filter(|word| is_bare(word)).map(path);
    let mut files: Vec<PathBuf> = named.collect();
    let within = levels.checked_sub(1).into_iter().flat_map(|levels| {
        words
            .iter()
            .flat_map(commands_in)
            .flat_map(move |command| self::files(&words::split(command), levels))
    });
    files.extend(within);
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files
}

fn strip<'a>(word: &'a [u8], beginning: &[u8]) -> Option<&'a [u8]> {
    word.strip_prefix(beginning).filter(|rest| !rest.is_empty())
}

/// Returns what follows the first `=` of a word.
fn value(word: &[u8]) -> Option<&[u8]> {
    word.iter().position(|byte| *byte == b'=').map(|at| &word[at + 1..])
}

/// Returns whether a word sets a variable.
fn is_assignment(word: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    word.iter().position(|byte| *byte == b'=').is_some_and(|end| end > 0 && word[..end].iter().all(is_part))
}

/// Returns whether a word sets a variable that may name a file: those of a language do not.
fn is_variable(word: &[u8]) -> bool {
    let is_of_language = [&b"LC_"[..], b"LANG", b"TERM"].iter().any(|other| word.starts_with(other));
    is_assignment(word) && !is_of_language
}

/// Returns the first argument of the program that a command begins with: an interpreter that no list knows takes it for a script. Of
/// programs that are known for it, it is a command of theirs.
fn first_argument(words: &[Vec<u8>]) -> Option<&[u8]> {
    let mut rest = words.iter().skip_while(|word| is_assignment(word));
    let program = rest.next()?;
    let name = whole_name_of(program);
    let is_of_commands =
        name.starts_with(b"git") || WITH_COMMANDS.iter().any(|known| known.as_bytes() == name);
    let mut rest = rest.skip_while(|word| word.starts_with(b"-") && !runs_text(word));
    rest.next().map(Vec::as_slice).filter(|_| !is_of_commands && !is_runner(program))
}

/// Returns whether what follows an option is text for an interpreter, or the end of options.
fn runs_text(option: &[u8]) -> bool {
    option == b"--" || is_sequence_to(option, b"cem")
}

/// Returns the commands that a word may hold: as a whole, as for `sh -c`, or behind a `=`, as for `ssh -o ProxyCommand=`.
fn commands_in(word: &Vec<u8>) -> impl Iterator<Item = &[u8]> {
    let is_command =
        |text: &[u8]| text.iter().any(|byte| byte.is_ascii_whitespace() || b"$`'\"".contains(byte));
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let of_option = value(word).filter(|value| word[..word.len() - value.len() - 1].iter().all(name));
    let whole = Some(word.as_slice());
    of_option.into_iter().chain(whole).filter(move |text| is_command(text))
}

/// Returns what the words of a command may run in the work tree, or in git's data. It may be text for an interpreter, which adds these
/// ends to names of scripts.
fn programs(words: &[Vec<u8>], levels: u32, of_text: Ends) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut expected = Expected::default();
    let mut of_interpreter: Ends = of_text;
    for (at, word) in words.iter().enumerate() {
        let before = expected;
        expected = before.after(word);
        if !word.starts_with(b"-") {
            of_interpreter = expected.script.unwrap_or(of_interpreter);
        }
        match word.iter().rposition(|byte| *byte == words::UNKNOWN) {
            Some(unknown) => paths.extend(after_unknown(&word[unknown + 1..])),
            None => paths.extend(of_word(word, at, before, of_text)),
        }
        if let Some(levels) = levels.checked_sub(1) {
            let within =
                commands_in(word).flat_map(|text| programs(&words::split(text), levels, of_interpreter));
            paths.extend(within);
        }
    }
    paths.extend(modules(words).chain(imports(words)).chain(default_files(words)));
    paths
}

/// Returns where the rest of a path is, of which a shell puts in the beginning: that may be the root of the work tree or git's data, or,
/// as `git rev-parse --show-cdup` prints it, end in a slash itself.
fn after_unknown(rest: &[u8]) -> Vec<PathBuf> {
    match rest {
        [b'/', after @ ..] if !after.is_empty() => vec![path(after), Path::new(".git").join(path(after))],
        [first, ..] if first.is_ascii_alphanumeric() || matches!(first, b'_' | b'.') => vec![path(rest)],
        _ => Vec::new(),
    }
}

/// Returns the programs and scripts that a word may be, or may name in an option, at this place of a command.
fn of_word(word: &[u8], at: usize, expected: Expected, of_text: Ends) -> Vec<PathBuf> {
    let is_option = word.starts_with(b"-") || expected.is_of_shell && word.starts_with(b"+");
    let ends = expected.script.filter(|_| !is_option && !expected.is_behind_option);
    // An option of an interpreter may name a script, too: `--require=./x`, `-r./x`.
    let of_option = match word {
        [b'-', b'-', ..] => word.split(|byte| *byte == b'=').nth(1),
        [b'-', _, rest @ ..] => Some(rest),
        _ => None,
    };
    let of_option = of_option.filter(|name| name.contains(&b'/'));
    let joined_ends = expected.script.filter(|_| of_option.is_some());
    // The shell finds a word without `/` on its own search path. What follows a program may be a script for it, and what
    // follows the letter of an option, too.
    let is_script = |part: &[u8]| part.contains(&b'/') || at > 0 && part.contains(&b'.') || ends.is_some();
    let joined =
        word.strip_prefix(b"-").filter(|rest| rest.first() != Some(&b'-')).and_then(|rest| rest.get(1..));
    let parts = word.split(|byte| *byte == b'=').skip(1).chain(joined).chain([word]);
    let parts = parts.filter(|part| is_script(part) && !part.starts_with(b"%") && !part.contains(&b'$'));
    let in_text = Some(of_text).filter(|_| word.contains(&b'/'));
    let ends = ends.or(joined_ends).or(in_text).unwrap_or_default();
    parts.map(path).chain(with_ends(of_option.unwrap_or(word), ends)).collect()
}
