//! Operations of git that were interrupted: what `git rebase --continue` and the like find stored, and go on with.

use super::reason::Reason;
use super::repository::Autostash;
use super::{git, repository};
use crate::protect::table::content::FileFormat;

/// The directories in git's data that hold one.
pub(super) const DIRECTORIES: &[&str] = &["rebase-apply", "rebase-merge", "sequencer"];

/// The strategies that git has. Of another one it runs `git-merge-` and the name, which may be a path.
const STRATEGIES: &[&str] = &["", "octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// The options of these, see git-merge(1), "MERGE STRATEGIES". Any other one goes to commands that take it for one of their own.
const STRATEGY_OPTIONS: &[&str] = &[
    "diff-algorithm", "find-renames", "histogram", "ignore-all-space", "ignore-cr-at-eol",
    "ignore-space-at-eol", "ignore-space-change", "no-renames", "no-renormalize", "ours", "patience",
    "rename-threshold", "renormalize", "subtree", "theirs",
];

/// What `git cherry-pick` and `git revert` keep in `opts` besides the strategy and its options: truth values, numbers and words.
const KEPT: &[&str] = &[
    "allow-empty", "allow-empty-message", "allow-ff", "allow-rerere-auto", "default-msg-cleanup",
    "drop-redundant-commits", "edit", "gpg-sign", "keep-redundant-commits", "mainline", "no-commit",
    "record-origin", "signoff",
];

/// Options of `git apply` that `git am` passes on, as git-am(1) lists them.
const APPLIED: &[&str] = &[
    "-C", "-p", "--directory=", "--exclude=", "--include=", "--ignore-space-change", "--ignore-whitespace",
    "--no-recount", "--reject", "--whitespace=",
];

/// Files that hold what people wrote: messages, patches and lists of what was done. Patches of `git am` have numbers for names.
const PROSE: &[&str] = &[
    "current-fixups", "final-commit", "info", "message", "message-fixup", "message-squash", "msg",
    "msg-clean", "patch", "trailer",
];

/// Files that hold numbers of commits.
const COMMITS: &[&str] = &[
    "abort-safety", "amend", "current", "head", "onto", "orig-head", "original-commit", "rewritten",
    "rewritten-list", "rewritten-pending", "squash-onto", "stopped-sha",
];

/// Files that count.
const COUNTS: &[&str] = &["end", "last", "msgnum", "next"];

/// Files that hold a word, or nothing.
const FLAGS: &[&str] = &[
    "amend-type", "applying", "cdate_is_adate", "dirtyindex", "drop_redundant_commits", "force-rebase",
    "ignore_date", "interactive", "keep", "keep_redundant_commits", "messageid", "no-reschedule-failed-exec",
    "quiet", "quoted-cr", "rebasing", "reschedule-failed-exec", "scissors", "sign", "threeway", "utf8",
    "verbose",
];

/// Files that hold options, which git takes as options and nobody else reads.
const OPTIONS: &[&str] = &["allow_rerere_autoupdate", "gpg_sign_opt", "signoff"];

/// How long the number of a commit of theirs is, in digits.
const COMMIT: usize = 40;

/// What Mercurial and Sapling do with a commit of a history that is edited. Sapling has commands beside these (`exec`, `execr`).
const EDITS: &[&str] = &[
    "_multifold", "b", "base", "d", "drop", "e", "edit", "f", "fold", "g", "graft", "m", "mess", "p", "pick",
    "r", "roll", "s", "stop",
];

/// Classifies a file of an interrupted operation.
///
/// Programs paste what these hold into commands and into what a shell expands: git's own `git-prompt.sh` does so with `msgnum` and
/// `end`, and `vcs_info` of zsh hands `rewritten` to `git log`. So each must hold what git writes there, and nothing may have a name that
/// git does not know.
pub(super) fn classify(name: &str, content: &[u8]) -> Option<Reason> {
    let name = name.strip_suffix(".lock").or_else(|| name.strip_suffix('~')).unwrap_or(name);
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let of = |is_known: fn(&u8) -> bool| {
        let is_ordinary = content.iter().all(|byte| is_known(byte) || matches!(byte, b' ' | b'\n'));
        (!is_ordinary).then(|| setting(name))
    };
    match name {
        "author-script" => classify_author(content),
        // What it names is written to the work tree when the operation ends, however it does.
        "autostash" => Some(Reason::AppliesStash { commit: Autostash::of(content).commit }),
        // An index of the patch alone, which git writes anew before it reads it.
        "patch-merge-index" => (!content.starts_with(b"DIRC")).then(|| setting(name)),
        // `git status` prints it.
        "done" => (!is_printable(content)).then(|| setting(name)),
        name if PROSE.contains(&name) || is_number(name) => None,
        name if COMMITS.contains(&name) || name.strip_prefix("cmt.").is_some_and(is_number) => {
            of(u8::is_ascii_hexdigit)
        }
        name if COUNTS.contains(&name) => of(u8::is_ascii_digit),
        name if FLAGS.contains(&name) => of(u8::is_ascii_alphabetic),
        name if OPTIONS.contains(&name) => classify_plain(name, content),
        "git-rebase-todo" | "git-rebase-todo.backup" | "todo" => classify_list(content),
        "strategy" => (!is_strategy(&String::from_utf8_lossy(content))).then(|| setting(name)),
        "strategy_opts" => {
            let text = String::from_utf8_lossy(content);
            (!text.split_ascii_whitespace().all(is_strategy_option)).then(|| setting(name))
        }
        "opts" => git::classify_options(content, is_option),
        "apply-opt" => classify_applied(content),
        "head-name" if content.trim_ascii() == b"detached HEAD" => None,
        "onto_name" if !content.starts_with(b"-") => classify_plain(name, content),
        "head-name" | "update-refs" => classify_references(name, content, b"refs/heads/"),
        "refs-to-delete" => classify_references(name, content, b"refs/rewritten/"),
        _ => Some(setting(name)),
    }
}

/// Returns whether a `histedit-state` of Mercurial's or Sapling's is one that they write now, and has no commands: numbers of commits, what
/// is done with each, and a file in their own data. They unpickle one that does not begin so.
pub(super) fn is_plain_edited_history(content: &[u8]) -> bool {
    let mut lines = content.strip_suffix(b"\n").unwrap_or(content).split(|byte| *byte == b'\n');
    let is_commit = |line: &[u8]| line.len() == COMMIT && line.iter().all(u8::is_ascii_hexdigit);
    let mut is_plain = || {
        let mut next = || lines.next().and_then(|line| std::str::from_utf8(line).ok());
        let is_begun = next()? == "v1" && is_commit(next()?.as_bytes()) && is_commit(next()?.as_bytes());
        let is_known = is_begun && matches!(next()?, "False" | "True");
        let actions: u32 = next()?.parse().ok().filter(|_| is_known)?;
        for _ in 0..actions {
            let (action, commit) = (next()?, next()?);
            if !EDITS.contains(&action) || !is_commit(commit.as_bytes()) {
                return None;
            }
        }
        let replaced: u32 = next()?.parse().ok()?;
        for _ in 0..replaced {
            next()?.as_bytes().chunks(COMMIT).all(is_commit).then_some(())?;
        }
        let backup = next().unwrap_or_default();
        (!backup.starts_with('/') && !backup.split('/').any(|name| name == "..")).then_some(())
    };
    content.is_empty() || is_plain().is_some() && lines.next().is_none()
}

/// Returns whether text says nothing to a terminal but where lines end.
fn is_printable(content: &[u8]) -> bool {
    content.iter().all(|byte| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\t'))
}

fn classify_plain(name: &str, content: &[u8]) -> Option<Reason> {
    let is_expanded =
        |byte: &u8| matches!(byte, b'$' | b'`' | b'\\') || byte.is_ascii_control() && *byte != b'\n';
    content.iter().any(is_expanded).then(|| setting(name))
}

/// Classifies names of references of a kind, and numbers of commits between: git writes to these references, or deletes them.
fn classify_references(name: &str, content: &[u8], kind: &[u8]) -> Option<Reason> {
    let is_name = |line: &[u8]| line.starts_with(kind) && repository::is_reference_name(line);
    let is_known = |line: &[u8]| line.iter().all(u8::is_ascii_hexdigit) || is_name(line);
    let is_whole = content.split(|byte| *byte == b'\n').all(is_known);
    if is_whole { classify_plain(name, content) } else { Some(setting(name)) }
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
    // `git status` prints it.
    if !is_printable(content) {
        return Some(setting("git-rebase-todo"));
    }
    let mut commands = text.split('\n').filter_map(|line| line.split_ascii_whitespace().next());
    commands.find(|command| matches!(*command, "exec" | "x")).map(|_| setting("exec"))
}

/// Returns whether git itself keeps an option of this name and value.
fn is_option(name: &str, value: &str) -> bool {
    match name {
        "strategy" => is_strategy(value),
        "strategy-option" => is_strategy_option(value),
        name => {
            KEPT.contains(&name)
                && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-@._".contains(&byte))
        }
    }
}

fn is_strategy(name: &str) -> bool {
    STRATEGIES.contains(&name.trim())
}

/// Returns whether a word is an option of a strategy: as it stands, in quotes, or with `--` as older releases write it.
fn is_strategy_option(word: &str) -> bool {
    let word = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word);
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    STRATEGY_OPTIONS.contains(&name.strip_prefix("--").unwrap_or(name))
        && value.chars().all(|letter| letter.is_alphanumeric() || "%/._-".contains(letter))
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
    fn an_edited_history_has_nothing_but_commits() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let state = |actions: &str, rest: &str| format!("v1\n{commit}\n{commit}\nFalse\n{actions}{rest}");
        let (one, none) = (format!("1\npick\n{commit}\n"), "0\n".to_owned());
        for plain in [
            String::new(),
            state(&none, "0\n\n"),
            state(&none, "0"),
            state(&one, "0\n\n"),
            state(
                &format!("2\n_multifold\n{commit}\nstop\n{commit}\n"),
                &format!("1\n{commit}{commit}\nstrip-backup/a.hg\n"),
            ),
        ] {
            assert!(is_plain_edited_history(plain.as_bytes()), "{plain}");
        }
        for odd in [
            "(lp0\n".to_owned(),
            "v1\n0123\n".to_owned(),
            state("1\nexec\nevil\n", "0\n\n"),
            state(&format!("1\nexec\n{commit}\n"), "0\n\n"),
            state(&format!("1\npick\n{commit}\rexec evil\n"), "0\n\n"),
            state(&format!("1\n{{\"histedit\":\n{commit}\n"), "0\n\n"),
            state(&one, "0\n/home/me/x\n"),
            state(&one, "0\n../x\n"),
            state(&one, "0\n\nexec\n"),
            state("9\n", ""),
        ] {
            assert!(!is_plain_edited_history(odd.as_bytes()), "{odd}");
        }
    }

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
            ("strategy_opts", " --subtree=a/b --patience"),
            ("strategy_opts", "\n"),
            (
                "opts",
                "[options]\n\tmainline = 1\n\tgpg-sign = a@b\n\tstrategy-option = theirs\n\tedit = false\n",
            ),
            (
                "author-script",
                "GIT_AUTHOR_NAME='O'\\''Neil'\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='@1 +0000'\n",
            ),
            ("author-script", ""),
            ("quiet", ""),
            ("quiet", "t\n"),
            ("head-name", "detached HEAD\n"),
            ("onto", "0494aea0494aea0494aea0494aea0494aea0494aea\n"),
            ("rewritten", "0494aea 0494aeb\n0494aec 0494aed\n"),
            ("update-refs", "refs/heads/a\n0494aea\n0000000\nrefs/heads/b\n0494aea\n0494aeb\n"),
            ("refs-to-delete", "refs/rewritten/onto\n"),
            ("gpg_sign_opt", "-S\n"),
            ("allow_rerere_autoupdate", "--rerere-autoupdate\n"),
            ("cmt.12", "0494aea\n"),
            ("onto_name", "origin/main\n"),
            ("next.lock", "2\n"),
            ("patch-merge-index", "DIRC\0\0\0\x02\0\0\0\0"),
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
            ("opts", "[options]\n\tstrategy-option = index-output=x\n"),
            ("opts", "[options]\n\tunheard-of = x\n"),
            ("opts", "[options]\n\tmainline = $(id)\n"),
            ("strategy_opts", " \"index-output=/home/me/.zshenv\"\n"),
            ("strategy_opts", "--index-output=x"),
            ("strategy_opts", "\"ours index-output=x\""),
            ("strategy_opts", "subtree='a"),
            ("msgnum", "$(id)\n"),
            ("end", "`id`"),
            ("last", "1\x1b[A\n"),
            ("unheard-of", "harmless"),
            ("rewritten", "0494aea\n--format=%B\n--output=../home/.zshenv\n"),
            ("original-commit", "--output=x"),
            ("head-name", "--output=x"),
            ("head-name", "modules/lib/commondir\n"),
            ("onto_name", "--output=x\n"),
            ("head-name", "refs/tags/v1\n"),
            ("refs-to-delete", "refs/rewritten/onto\nrefs/heads/main\n"),
            ("update-refs", "refs/remotes/origin/main\n0494aea\n0494aea\n"),
            ("update-refs", "modules/lib/commondir\n0494aea\n0494aea\n"),
            ("update-refs", "refs/heads/../../modules/x\n0494aea\n0494aea\n"),
            ("keep", "-k"),
            ("patch-merge-index", "--output=x"),
            ("next", "-1"),
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
