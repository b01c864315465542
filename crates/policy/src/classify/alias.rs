//! Aliases of git: which of them do more than to shorten a command, see `alias.*` in git-config(1).
//!
//! An alias without `!` is words for git itself, and some words name programs: `-c core.pager=…`, `rebase --exec`,
//! `grep -O`. So the command must be one of a list, and none of its options one that names a program, a file to be
//! written, or another configuration.

/// Commands that run nothing but what a configuration says, with the short options that do.
const COMMANDS: &[(&str, &str)] = &[
    ("add", ""),
    ("am", ""),
    ("blame", ""),
    ("branch", ""),
    ("cat-file", ""),
    ("checkout", ""),
    ("cherry", ""),
    ("cherry-pick", ""),
    ("clean", ""),
    ("clone", "cu"),
    ("commit", ""),
    ("describe", ""),
    ("diff", ""),
    ("fetch", ""),
    ("for-each-ref", ""),
    ("format-patch", "o"),
    ("gc", ""),
    ("grep", "O"),
    ("help", ""),
    ("log", ""),
    ("ls-files", ""),
    ("ls-tree", ""),
    ("merge", "s"),
    ("merge-base", ""),
    ("mv", ""),
    ("name-rev", ""),
    ("notes", ""),
    ("pull", "s"),
    ("push", ""),
    ("range-diff", ""),
    ("rebase", "sx"),
    ("reflog", ""),
    ("remote", ""),
    ("reset", ""),
    ("restore", ""),
    ("rev-list", ""),
    ("rev-parse", ""),
    ("revert", ""),
    ("rm", ""),
    ("shortlog", ""),
    ("show", ""),
    ("show-branch", ""),
    ("show-ref", ""),
    ("sparse-checkout", ""),
    ("stash", ""),
    ("status", ""),
    ("submodule", ""),
    ("switch", ""),
    ("symbolic-ref", ""),
    ("tag", ""),
    ("version", ""),
    ("whatchanged", ""),
    ("worktree", ""),
];

/// Options of any command that name a program, a configuration, or a file to be written. Git takes the beginning of
/// one for the whole.
const OPTIONS: &[&str] = &[
    "config", "config-env", "exec", "exec-path", "extcmd", "git-dir", "open-files-in-pager", "output",
    "output-directory", "receive-pack", "reference", "reference-if-able", "separate-git-dir",
    // It is appended to the name of a file that is written, slashes included.
    "suffix", // Of one that is not its own, git runs a program, whose name may be a path.
    "strategy", "template", "tool", "upload-pack", "work-tree",
];

/// What git itself may be told before a command, without the same effect as a configuration.
const BEFORE: &[&str] = &["-p", "-P", "--paginate", "--no-pager"];

/// Returns whether what an alias stands for may run a program, as far as its words say. `is_alias` says whether a word is
/// another alias, which is classified by itself.
pub(super) fn executes(value: &str, is_alias: impl Fn(&str) -> bool) -> bool {
    // What git cannot split, it refuses. Nobody writes such a thing on purpose.
    let Some(words) = split(value) else { return true };
    let mut words = words.iter().map(String::as_str).skip_while(|word| BEFORE.contains(word));
    let Some(command) = words.next() else { return false };
    let short = COMMANDS.iter().find(|(known, _)| *known == command).map(|(_, short)| *short);
    // A name with a slash in it is a program in the working directory.
    let Some(short) = short.or_else(|| is_alias(command).then_some("cosuxO")) else { return true };
    words.any(|word| {
        word == "foreach" && command == "submodule" || word.contains("ext::") || is_dangerous(word, short)
    })
}

fn is_dangerous(word: &str, short: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        return !name.is_empty() && OPTIONS.iter().any(|option| option.starts_with(name));
    }
    // Short options may stand together. What follows `-X` is its value.
    let letters = word.strip_prefix('-').and_then(|letters| letters.split('X').next());
    letters.is_some_and(|letters| letters.contains(|letter| short.contains(letter)))
}

/// Returns the words of an alias, as git splits them: space between, quotes of both kinds, a backslash not within `'`.
fn split(value: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (space, None) if space.is_ascii_whitespace() => {
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                words.push(String::new());
            }
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => words.last_mut()?.push(letters.next()?),
            (letter, _) => words.last_mut()?.push(letter),
        }
    }
    if quote.is_some() {
        return None;
    }
    words.retain(|word| !word.is_empty());
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(value: &str) -> bool {
        executes(value, |word| word == "st")
    }

    #[test]
    fn ordinary_aliases_run_nothing() {
        for alias in [
            "status",
            "st",
            "st -b",
            "checkout",
            "switch -c",
            "commit --amend --no-edit",
            "log --graph --pretty=format:'%h -%d %s (%cr) <%an>' --abbrev-commit --date=relative",
            "-p log -1 HEAD",
            "reset HEAD --",
            "diff --cached --word-diff -O.order",
            "clean -fdx",
            "rebase -i --autosquash",
            "push -u origin HEAD",
            "pull --rebase -X theirs",
            "merge -Xours",
            "submodule update --init --recursive",
            "cherry-pick -x",
            "log --oneline --extended-regexp",
            "",
        ] {
            assert!(!runs(alias), "{alias}");
        }
    }

    #[test]
    fn words_that_name_a_program_are_found() {
        for alias in [
            "-c core.fsmonitor=./evil status", "--config-env=core.pager=EVIL log",
            "--exec-path=./evil status", "rebase --exec ./evil HEAD~1", "rebase -s x/evil HEAD~1",
            "pull -s x/evil", "pull -rs x/evil", "pull --strategy x/evil", "merge -sx/evil",
            "cherry-pick --strategy=x/evil HEAD~1", "rebase -ix ./evil HEAD~1", "rebase --ex=./evil",
            "grep -O./evil x", "grep --open=./evil x", "fetch --upload-pack=./evil .",
            "fetch --upload-pa ./evil .", "push --receive-pack ./evil .", "push --exec=./evil .",
            "clone -c core.sshCommand=./evil x y", "clone --template=./evil x y", "st --exec ./evil",
            "difftool -x ./evil", "bisect run ./evil", "submodule foreach ./evil",
            "filter-branch --tree-filter ./evil", "config core.pager ./evil", "log --output=.bashrc",
            "evil/x", "'evil/x'", "unknown", "lo\\g --o\"utpu\"t=x", "fetch 'ext::sh -c evil'",
            "status 'unclosed",
        ] {
            assert!(runs(alias), "{alias}");
        }
    }
}
