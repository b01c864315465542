//! Operations of git that were interrupted: what `git rebase --continue` and the like find stored, and go on with.

use super::git;
use super::reason::Reason;
use crate::protect::table::content::FileFormat;

/// The directories in git's data that hold one.
pub(super) const DIRECTORIES: &[&str] = &["rebase-apply", "rebase-merge", "sequencer"];

/// The strategies that git has. Of another one it runs `git-merge-` and the name, which may be a path.
const STRATEGIES: &[&str] = &["", "octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// Options of `git apply` that `git am` passes on, as git-am(1) lists them.
const APPLIED: &[&str] = &[
    "-C",
    "-p",
    "--directory=",
    "--exclude=",
    "--include=",
    "--ignore-space-change",
    "--ignore-whitespace",
    "--no-recount",
    "--reject",
    "--whitespace=",
];

/// Files that hold what people wrote: messages, patches and lists of what was done. Patches of `git am` have numbers for names.
const PROSE: &[&str] = &[
    "current-fixups",
    "done",
    "final-commit",
    "info",
    "message",
    "message-fixup",
    "message-squash",
    "msg",
    "msg-clean",
    "original-commit",
    "patch",
];

/// Classifies a file of an interrupted operation.
///
/// Most hold a name, a number or nothing, and programs paste them into what a shell expands: git's own `git-prompt.sh` does so
/// with `msgnum` and `end`. So what is not prose may hold nothing that a shell expands.
pub(super) fn classify(name: &str, content: &[u8]) -> Option<Reason> {
    match name {
        "author-script" => classify_author(content),
        name if PROSE.contains(&name) || name.bytes().all(|byte| byte.is_ascii_digit()) => None,
        "git-rebase-todo" | "git-rebase-todo.backup" | "todo" => classify_list(content),
        "strategy" => classify_strategy(&String::from_utf8_lossy(content)),
        "opts" => git::classify_options(content, classify_strategy),
        "apply-opt" => classify_applied(content),
        _ => classify_plain(name, content),
    }
}

fn classify_plain(name: &str, content: &[u8]) -> Option<Reason> {
    let is_expanded =
        |byte: &u8| matches!(byte, b'$' | b'`' | b'\\') || byte.is_ascii_control() && *byte != b'\n';
    content.iter().any(is_expanded).then(|| setting(name))
}

/// Classifies variables in single quotes, as a shell reads them: nothing may stand outside of the quotes.
fn classify_author(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let is_harmless = |line: &str| {
        let value = ["GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=", "GIT_AUTHOR_DATE="]
            .iter()
            .find_map(|name| line.strip_prefix(name))
            .and_then(|value| value.strip_prefix('\'')?.strip_suffix('\''));
        // A quote within is closed, escaped and opened again; git escapes `!` so too.
        value.is_some_and(|value| !value.replace("'\\''", "").replace("'\\!'", "").contains('\''))
    };
    let is_whole = text.is_empty() || text.split_terminator('\n').all(is_harmless);
    (!is_whole).then(|| setting("author-script"))
}

/// Classifies a list of commands, one on each line. Git takes `x` for `exec`.
fn classify_list(content: &[u8]) -> Option<Reason> {
    let Ok(text) = std::str::from_utf8(content) else {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    };
    let mut commands = text.split('\n').filter_map(|line| line.split_ascii_whitespace().next());
    commands.find(|command| matches!(*command, "exec" | "x")).map(|_| setting("exec"))
}

fn classify_strategy(name: &str) -> Option<Reason> {
    (!STRATEGIES.contains(&name.trim())).then(|| setting("strategy"))
}

/// Classifies words in single quotes.
fn classify_applied(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let harmless = |word: &str| APPLIED.iter().any(|option| word.starts_with(option));
    let mut words = text.split_ascii_whitespace().map(|word| word.trim_matches('\''));
    (!words.all(harmless)).then(|| setting("apply-opt"))
}

fn setting(key: &str) -> Reason {
    Reason::Setting { key: key.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_stores_itself_runs_nothing() {
        for (name, content) in [
            ("git-rebase-todo", "pick 0123abc # exec make\n\n# x, exec <command> = run command\nbreak\n"),
            ("done", "exec make\n"),
            ("strategy", "ort\n"),
            ("apply-opt", " '--whitespace=fix' '-p1'\n"),
            ("apply-opt", ""),
            ("opts", "[options]\n\tstrategy = ort\n\tallow-ff = true\n"),
            ("message", "exec $(make)\n"),
            ("0001", "From: a `b`\n"),
            ("msgnum", "3\n"),
            ("head-name", "refs/heads/käse-1.0\n"),
            ("strategy_opts", " \"ours\" \"find-renames=50%\"\n"),
            (
                "author-script",
                "GIT_AUTHOR_NAME='O'\\''Neil'\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='@1 +0000'\n",
            ),
            ("author-script", ""),
            ("quiet", ""),
        ] {
            assert_eq!(classify(name, content.as_bytes()), None, "{name}: {content}");
        }
    }

    #[test]
    fn commands_and_programs_are_found() {
        for (name, content) in [
            ("git-rebase-todo", "pick 0123abc\nexec ./evil\n"),
            ("git-rebase-todo", "  x\t./evil"),
            ("git-rebase-todo.backup", "x ./evil\n"),
            ("todo", "exec ./evil\n"),
            ("strategy", "x/evil\n"),
            ("opts", "[options]\n\tstrategy = x/evil\n"),
            ("opts", "[broken"),
            ("msgnum", "$(id)\n"),
            ("end", "`id`"),
            ("last", "1\x1b[A\n"),
            ("unheard-of", "\\$(id)"),
            ("author-script", "GIT_AUTHOR_NAME=$(id)\n"),
            ("author-script", "GIT_AUTHOR_NAME='a'$(id)'b'\n"),
            ("author-script", "GIT_AUTHOR_NAME='a'\nid\n"),
            ("author-script", "GIT_AUTHOR_NAME='a\\'; id #'\n"),
            ("apply-opt", "'--allow-empty'"),
            ("apply-opt", " '-p1' '--build-fake-ancestor=.bashrc'\n"),
        ] {
            assert!(classify(name, content.as_bytes()).is_some(), "{name}: {content}");
        }
    }
}
