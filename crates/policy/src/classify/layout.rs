//! The layout of git's data: which files and directories git itself makes there, see gitrepository-layout(5), and which tools keep
//! data of their own there.
//!
//! What is not known may be a program's configuration, or will be some day: a list of dangerous names is never complete.

use std::ffi::OsStr;
use std::path::Path;

use crate::protect::QUARANTINE;

/// Files right in a directory of git's data, beside those in capitals.
const FILES: &[&str] = &[
    ".DS_Store", "Thumbs.db", "addp-hunk-edit.diff", "commondir", "config", "config.worktree", "description",
    "desktop.ini", "fsmonitor--daemon.ipc", "gc.log", "gc.pid", "gitdir", "gitk.cache", "index", "locked",
    "packed-refs", "packed-refs.new", "shallow",
    // Of git-machete, GitHub CLI's and Graphite's, opencode's and Sourcetree's: lists of branches, and numbers. What of it is obeyed is
    // classified, by its row in the table of protected paths.
    ".graphite_cache_persist", ".graphite_metadata.db", ".graphite_pr_info", ".graphite_repo_config",
    ".gtlocalprinfo", "machete", "opencode", "sourcetreeconfig", "sourcetreeconfig.json",
];

/// How names of files begin of which git makes many, and of files that it makes for a moment.
const BEGINNINGS: &[&str] = &[
    ".probe-", "fast_import_crash_", "index.", "next-index-", "sharedindex.", "sharedindex_", "shallow_",
    "tmp_",
];

/// Directories right in a directory of git's data.
const DIRECTORIES: &[&str] = &[
    "NOTES_MERGE_WORKTREE", "branches", "fsmonitor--daemon", "hooks", "info", "logs", "lost-found",
    "modules", "objects", "rebase-apply", "rebase-merge", "refs", "reftable", "remotes", "rr-cache",
    "sequencer", "svn", "worktrees",
    // Of tools. What of it is a configuration has a row in the table of protected paths.
    ".gt", "ai", "annex", "arc", "beads-worktrees", "branchless", "entire-sessions", "filter-repo", "git-bug",
    "git-crypt", "gitbutler", "gk", "glab-cli", "lfs", "magit", "patches", "sl", "smartgit", "wt", "wt-logs",
    // Our own, where the repository of a linked work tree is shared.
    QUARANTINE,
];

/// Files in `info`.
const INFO: &[&str] = &["attributes", "exclude", "grafts", "mailmap", "refs", "sparse-checkout"];

/// How names begin of directories in `objects` to which git writes what may yet be refused.
const INCOMING: &[&str] = &["incoming-", "tmp_objdir-"];

/// How many letters mkstemp(3) puts at the end of a name.
const RANDOM: usize = 6;

/// Returns whether git, or a tool that is known, makes a file at this path in a directory of git's data.
///
/// Where it makes files of many names, all of them are data.
pub fn is_known_file(path: &Path) -> bool {
    with_names(path, |names| match names {
        [name] => is_file(name),
        ["info", name] => without_end(name, |name| INFO.contains(&name)),
        _ => true,
    })
}

/// Returns whether it makes a directory there.
pub fn is_known_directory(path: &Path) -> bool {
    with_names(path, |names| match names {
        [name] => DIRECTORIES.contains(name) || name.starts_with(".gitstatus."),
        // Of lefthook's. Hooks and settings in it are classified by themselves.
        ["info", name] => *name == "lefthook-remotes",
        // Older releases had one directory there.
        ["rebase-apply" | "rebase-merge" | "sequencer", name] => *name == "rewritten",
        ["objects", name] => {
            let is_hex = name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex
                || matches!(*name, "bundles" | "info" | "pack")
                || INCOMING.iter().any(|one| name.starts_with(one))
        }
        ["objects", "info" | "pack", name] => matches!(*name, "commit-graphs" | "multi-pack-index.d"),
        _ => true,
    })
}

/// Returns whether git may read a file as a reference, and write through it where it leads to another one: those in `refs`, and what
/// git calls pseudo-references.
pub fn is_reference(path: &Path) -> bool {
    const OTHERS: [&str; 6] = [
        "AUTO_MERGE", "BISECT_EXPECTED_REV", "HEAD", "MERGE_AUTOSTASH", "NOTES_MERGE_PARTIAL",
        "NOTES_MERGE_REF",
    ];
    with_names(path, |names| match names {
        [name] => name.ends_with("_HEAD") || OTHERS.contains(name),
        [first, ..] => *first == "refs",
        [] => false,
    }) || path.starts_with("refs")
}

/// Returns whether a file is an index of several packs, in git's data or in a directory of objects.
pub fn lists_packs(path: &Path) -> bool {
    let in_objects = path.strip_prefix("objects").unwrap_or(path);
    let is_part = |name: &str| {
        name.strip_prefix("multi-pack-index-").and_then(|name| name.strip_suffix(".midx")).is_some()
    };
    with_names(in_objects, |names| match names {
        ["pack", "multi-pack-index"] => true,
        ["pack", "multi-pack-index.d", name] => is_part(name),
        _ => false,
    })
}

/// Returns whether a file is a list of graphs of commits, in git's data or in a directory of objects.
pub fn lists_graphs(path: &Path) -> bool {
    path.strip_prefix("objects").unwrap_or(path) == Path::new("info/commit-graphs/commit-graph-chain")
}

/// Returns whether a file is a table of references, in git's data. Git reads those that `tables.list` names.
pub fn is_reftable(path: &Path) -> bool {
    path.parent() == Some(Path::new("reftable")) && path.extension() == Some(OsStr::new("ref"))
}

/// Returns whether a file, while it is no part of the work tree, has git show less of it, or something else.
pub fn alters_what_git_shows(path: &Path) -> bool {
    ["info/attributes", "info/exclude", "info/grafts", "shallow"].iter().any(|view| path == Path::new(view))
}

/// Returns whether git writes to a file right in a directory of its data as it is, and not to a new one that takes its place. Its names
/// for those are in capitals.
pub fn is_written_in_place(name: &str) -> bool {
    let is_capital =
        |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    let name = name.strip_suffix(".patch").unwrap_or(name);
    name.as_bytes().first().is_some_and(u8::is_ascii_uppercase) && name.bytes().all(is_capital)
}

/// Returns whether git, or a tool that is known, gives this name in capitals to a file right in git's data whose content may read as a reference.
/// Git would take any other one for what is named so.
pub fn is_known_reference_or_text(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "AUTO_MERGE", "EDIT_DESCRIPTION", "GITGUI_BCK", "HEAD", "MERGE_AUTOSTASH", "MERGE_MODE", "MERGE_RR",
        "NOTES_MERGE_PARTIAL", "NOTES_MERGE_REF", "RENAMED-REF",
    ];
    NAMES.contains(&name) || name.starts_with("BISECT_") || name.ends_with("_HEAD") || name.ends_with("MSG")
}

fn is_file(name: &str) -> bool {
    without_end(name, |name| {
        is_written_in_place(name)
            || FILES.contains(&name)
            || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || is_probe(name)
    })
}

/// Returns whether git has made a file for a moment to see what its file system can do.
fn is_probe(name: &str) -> bool {
    name.strip_prefix('t').is_some_and(is_random)
}

/// Returns whether the name of a file is known without what git puts at its end while it writes it, or an editor around it.
fn without_end(name: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let locked = name.strip_suffix(".lock");
    let random = name.rsplit_once('_').filter(|(_, end)| is_random(end)).map(|(name, _)| name);
    let backup = name.strip_suffix('~');
    let saved = name.strip_prefix('#').and_then(|name| name.strip_suffix('#'));
    let swapped =
        name.strip_prefix('.').and_then(|name| name.rsplit_once(".sw")).filter(|(_, end)| end.len() == 1);
    let swapped = swapped.map(|(name, _)| name);
    [Some(name), locked, random, backup, saved, swapped].into_iter().flatten().any(is_known)
}

fn is_random(end: &str) -> bool {
    end.len() == RANDOM && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns what is said of a path by its names. A name that is not UTF-8 is not known.
fn with_names(path: &Path, is_known: impl Fn(&[&str]) -> bool) -> bool {
    let names: Option<Vec<&str>> = path.iter().map(|name| name.to_str()).collect();
    names.is_some_and(|names| is_known(&names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_makes_is_known() {
        for path in [
            "HEAD",
            "FETCH_HEAD",
            "COMMIT_EDITMSG",
            "COMMIT_EDITMSG~",
            ".COMMIT_EDITMSG.swp",
            "ADD_EDIT.patch",
            "BISECT_LOG",
            "HEAD.lock",
            "config.lock",
            "index.lock",
            "index.stash.123",
            "next-index-12.lock",
            "sharedindex.0123456789012345678901234567890123456789",
            "shallow_a1B2c3",
            "tAb3dE9",
            "gc.pid.lock",
            "fast_import_crash_17",
            "info/exclude",
            "info/sparse-checkout.lock",
            "info/refs_Ab3dE9",
            "objects/pack/tmp_pack_Ab3dE9",
            "refs/heads/lazygit.yml",
            "logs/refs/heads/config",
            ".graphite_repo_config",
            ".gtlocalprinfo",
        ] {
            assert!(is_known_file(Path::new(path)), "{path}");
        }
        for path in [
            ".gt", "objects", "objects/ab", "objects/bundles", "objects/info/commit-graphs",
            "objects/tmp_objdir-incoming-x", "refs/a/b",
        ] {
            assert!(is_known_directory(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn git_writes_references_and_texts_of_some_names_in_capitals() {
        for name in
            ["HEAD", "REBASE_HEAD", "AUTO_MERGE", "BISECT_START", "MERGE_RR", "COMMIT_EDITMSG", "SQUASH_MSG"]
        {
            assert!(is_known_reference_or_text(name) && is_written_in_place(name), "{name}");
        }
        for name in ["PROJ-123", "MAIN", "HEAD-1", "V2"] {
            assert!(!is_known_reference_or_text(name) && is_written_in_place(name), "{name}");
        }
    }

    #[test]
    fn what_git_does_not_make_is_not() {
        for path in [
            "lazygit.yml", "config.toml", "Makefile", "tool", "tool.lock", "t.json", "info/tool.yml",
            ".envrc",
        ] {
            assert!(!is_known_file(Path::new(path)), "{path}");
        }
        for path in
            ["tool", "Objects", "info/x", "objects/abc", "objects/x", "objects/pack/x", "0123", "sequencer/x"]
        {
            assert!(!is_known_directory(Path::new(path)), "{path}");
        }
    }
}
