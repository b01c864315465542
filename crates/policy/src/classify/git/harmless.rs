//! Settings of git that run nothing: every key that is not on this list counts, and so does every value that has not the type of its
//! key. Paths, patterns, formats, templates, options, aliases and commands are of no such type.
//!
//! The keys are those that `git init`, `git clone` and their like write, and what people and well-known tools set in a repository.

use super::executing::is_known_to_run;
use super::syntax::ConfigEntry;
use super::values::Values::{
    self, Hooks, Name, NameWithBlanks, OneOf, References, Repository, Shown, True, Truth, Word, WorkTree,
};
use super::values::may_hold;

/// A section, whatever the subsection; keys in it, or `*` for all that no other row has; and what they may hold.
pub(super) type Row = (&'static str, &'static [&'static str], Values);

/// In such a section, no key that git has names anything, and none that runs a program is meant.
const ALL: &[&str] = &["*"];

pub(super) const ROWS: &[Row] = &[
    ("advice", ALL, Word),
    ("am", &["keepcr"], Word),
    ("annex", &["uuid", "version"], Name),
    ("author", &["email", "name"], Shown),
    ("branch", &["gk-last-accessed", "gk-last-modified", "rebase"], Word),
    ("branch", BASES, Name),
    ("branch", &["merge"], References),
    ("branch", &["pushremote", "remote"], Repository),
    ("checkout", &["defaultremote", "guess", "workers"], Name),
    ("codespaces-theme", ALL, Truth),
    ("color", ALL, Word),
    ("column", ALL, Word),
    ("commit", &["cleanup", "gpgsign", "status", "verbose"], Word),
    ("commitgraph", ALL, Word),
    ("committer", &["email", "name"], Shown),
    ("core", CORE, Word),
    ("core", &["fsmonitor"], Truth),
    ("core", &["protecthfs", "protectntfs"], True),
    (
        "core",
        &["sharedrepository"],
        OneOf(&["0", "1", "2", "all", "everybody", "false", "group", "true", "umask"]),
    ),
    ("core", &["worktree"], WorkTree),
    ("credential", &["interactive", "provider", "usehttppath", "username", "validate"], Name),
    ("devcontainers-theme", ALL, Truth),
    ("diff", DIFF, Word),
    ("extensions", &["objectformat", "refstorage", "relativeworktrees", "worktreeconfig"], Word),
    ("extensions", &["partialclone"], Repository),
    ("feature", ALL, Word),
    ("fetch", FETCH, Word),
    ("filter", &["clean", "process", "smudge"], OneOf(FILTERS)),
    ("filter", &["required"], Word),
    ("gc", GC, Word),
    ("git-town-branch", &["branchtype", "parent"], Name),
    ("gitflow", &["hooks"], Hooks),
    ("gitflow", GITFLOW, Name),
    // What git-gui writes when it ends.
    ("gui", &["gcwarning", "geometry", "wmstate"], Word),
    ("http", &["lowspeedlimit", "lowspeedtime", "maxrequests", "minsessions", "postbuffer", "version"], Name),
    ("http", &["sslverify"], True),
    ("index", ALL, Word),
    ("init", &["defaultbranch", "defaultobjectformat", "defaultrefformat"], Name),
    ("lfs", &["access", "concurrenttransfers", "locksverify", "repositoryformatversion"], Word),
    ("log", &["abbrevcommit", "date", "decorate", "follow", "showroot", "showsignature"], Word),
    ("log", &["excludedecoration"], References),
    ("maintenance", &["auto", "autodetach", "enabled", "schedule", "strategy"], Word),
    ("merge", &["autostash", "conflictstyle", "ff", "log", "renamelimit", "renames", "stat"], Word),
    ("oh-my-zsh", ALL, Truth),
    ("pack", ALL, Word),
    ("pager", ALL, Truth),
    ("protocol", &["version"], Word),
    ("pull", &["ff", "rebase"], Word),
    ("push", ALL, Word),
    ("rebase", &["autosquash", "autostash", "missingcommitscheck", "rebasemerges", "updaterefs"], Word),
    ("receive", &["autogc", "denycurrentbranch", "denydeletes", "denynonfastforwards", "unpacklimit"], Word),
    ("remote", &["annex-config-uuid", "annex-uuid", "gh-resolved", "glab-resolved"], Name),
    ("remote", &["fetch", "push"], References),
    ("remote", REMOTE, Word),
    ("remote", &["pushdefault", "pushurl", "url"], Repository),
    ("remote", &["tagopt"], OneOf(&["--no-tags", "--tags"])),
    ("rerere", ALL, Word),
    ("status", ALL, Word),
    ("submodule", &["branch"], Name),
    ("submodule", &["path"], NameWithBlanks),
    ("submodule", &["active", "fetchrecursesubmodules", "ignore", "recurse", "shallow", "update"], Word),
    ("submodule", &["url"], Repository),
    ("tag", &["forcesignannotated", "gpgsign", "sort"], Word),
    ("uploadpack", &["allowanysha1inwant", "allowfilter"], Truth),
    ("user", &["email", "name", "useconfigonly"], Shown),
    ("worktree", ALL, Word),
];

/// Branches and pull requests that editors and forges note of a branch.
const BASES: &[&str] = &[
    "gh-merge-base", "github-pr-base-branch", "github-pr-owner-number", "gk-merge-base", "gk-merge-target",
    "vscode-merge-base",
];

const CORE: &[&str] = &[
    "abbrev", "autocrlf", "bare", "bigfilethreshold", "checkstat", "commitgraph", "compression", "eol",
    "filemode", "fscache", "fsmonitorhookversion", "ignorecase", "logallrefupdates", "longpaths",
    "multipackindex", "precomposeunicode", "prefersymlinkrefs", "preloadindex", "quotepath",
    "repositoryformatversion", "safecrlf", "sparsecheckout", "sparsecheckoutcone", "splitindex", "symlinks",
    "trustctime", "untrackedcache", "usereplacerefs", "whitespace",
];

const DIFF: &[&str] = &[
    "algorithm", "binary", "colormoved", "context", "ignoresubmodules", "indentheuristic", "mnemonicprefix",
    "noprefix", "renamelimit", "renames", "submodule",
];

const FETCH: &[&str] = &[
    "parallel", "prune", "prunetags", "recursesubmodules", "showforcedupdates", "unpacklimit",
    "writecommitgraph",
];

/// What git-lfs writes when it is set up. The filters of git-annex are none of these: what they run a branch, attributes and names of
/// files say, which nobody classifies in a repository that is new.
const FILTERS: &[&str] = &[
    "git-lfs clean -- %f", "git-lfs filter-process", "git-lfs filter-process --skip",
    "git-lfs smudge --skip -- %f", "git-lfs smudge -- %f",
];

const GC: &[&str] = &[
    "aggressivedepth", "aggressivewindow", "auto", "autodetach", "autopacklimit", "packrefs", "pruneexpire",
    "reflogexpire", "reflogexpireunreachable", "worktreepruneexpire", "writecommitgraph",
];

const GITFLOW: &[&str] = &[
    "base", "bugfix", "develop", "feature", "hotfix", "master", "parent", "prefix", "release", "support",
    "type", "version", "versiontag",
];

const REMOTE: &[&str] = &[
    "annex-ignore", "followremotehead", "github-pr-remote", "mirror", "partialclonefilter", "promisor",
    "prune", "prunetags", "skipdefaultupdate", "skipfetchall",
];

/// Returns what a setting may hold, if its key is on the list.
pub(super) fn values(entry: &ConfigEntry) -> Option<Values> {
    let rows = || ROWS.iter().filter(|(section, ..)| entry.section == *section);
    let named = rows().find(|(_, keys, _)| keys.contains(&entry.key.as_str()));
    let is_meant = |values: &Values| *values == Truth || !is_known_to_run(entry);
    named
        .or_else(|| rows().find(|(_, keys, values)| *keys == ALL && is_meant(values)))
        .map(|(_, _, values)| *values)
}

/// Returns whether a setting runs nothing.
pub(super) fn runs_nothing(entry: &ConfigEntry) -> bool {
    values(entry).is_some_and(|values| may_hold(entry, values))
}
