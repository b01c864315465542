//! What a command of git does, by its subcommand.

use std::collections::BTreeSet;

use super::class::CommandClass;
use super::simple::Word;

use CommandClass::{Execute, Network, Read, Write};

/// Options before the subcommand that have a value of their own.
const WITH_VALUE: &[&str] = &["-C", "--git-dir", "--work-tree", "--namespace"];
/// Options before the subcommand that have none, and change nothing of what is read here.
const HARMLESS: &[&str] =
    &["--no-pager", "-P", "--no-replace-objects", "--bare", "--literal-pathspecs", "--no-optional-locks"];

/// What subcommands do, whatever their arguments but those of [`CHANGING`].
const SUBCOMMANDS: &[(&str, CommandClass)] = &[
    ("annotate", Read),
    ("blame", Read),
    ("cat-file", Read),
    ("check-ignore", Read),
    ("count-objects", Read),
    ("describe", Read),
    ("diff", Read),
    ("diff-tree", Read),
    ("for-each-ref", Read),
    ("fsck", Read),
    ("grep", Read),
    ("log", Read),
    ("ls-files", Read),
    ("ls-tree", Read),
    ("merge-base", Read),
    ("name-rev", Read),
    ("rev-list", Read),
    ("rev-parse", Read),
    ("shortlog", Read),
    ("show", Read),
    ("show-ref", Read),
    ("status", Read),
    ("var", Read),
    ("version", Read),
    ("whatchanged", Read),
    ("add", Write),
    ("apply", Write),
    ("branch", Write),
    ("checkout", Write),
    ("cherry-pick", Write),
    ("clean", Write),
    ("commit", Write),
    ("config", Execute),
    ("gc", Write),
    ("init", Write),
    ("merge", Write),
    ("mv", Write),
    ("notes", Write),
    ("rebase", Write),
    ("reflog", Write),
    ("reset", Write),
    ("restore", Write),
    ("revert", Write),
    ("rm", Write),
    ("sparse-checkout", Write),
    ("stash", Write),
    ("switch", Write),
    ("tag", Write),
    ("update-index", Write),
    ("update-ref", Write),
    ("worktree", Write),
    ("clone", Network),
    ("fetch", Network),
    ("ls-remote", Network),
    ("pull", Network),
    ("push", Network),
    ("remote", Network),
];

/// Options of subcommands that make more of them. Git takes the beginning of a long one for the whole.
const CHANGING: &[(&str, CommandClass)] = &[
    ("--output", Write),
    ("--ext-diff", Execute),
    ("--textconv", Execute),
    ("--open-files-in-pager", Execute),
    ("--exec", Execute),
    ("--upload-pack", Execute),
    ("--receive-pack", Execute),
    ("--config", Execute),
    ("--template", Execute),
    ("--interactive", Execute),
    ("--strategy", Execute),
    ("--lost-found", Write),
];
/// The same of one letter, for the subcommands that have it.
const LETTERS: &[(&str, char, CommandClass)] = &[
    ("grep", 'O', Execute),
    ("rebase", 'x', Execute),
    ("clone", 'c', Execute),
    ("clone", 'u', Execute),
    ("rebase", 'i', Execute),
    ("merge", 's', Execute),
    ("rebase", 's', Execute),
    ("pull", 's', Execute),
];

/// Returns whether a subcommand with these arguments only shows what there is.
fn only_shows(name: &str, arguments: &[&str]) -> bool {
    let none_is_an_option = |words: &[&str]| words.iter().all(|word| !word.starts_with('-'));
    match (name, arguments) {
        ("branch" | "tag" | "remote" | "reflog", [])
        | ("stash", ["list" | "show", ..])
        | ("remote", ["-v" | "--verbose"] | ["get-url", _])
        | ("config", ["--get" | "--get-all" | "get", _] | ["--list" | "-l" | "list"]) => true,
        ("branch", options) => options
            .iter()
            .all(|option| ["-a", "-r", "-v", "-vv", "--list", "--all", "--show-current"].contains(option)),
        ("tag", ["-l" | "--list", rest @ ..]) | ("reflog", ["show", rest @ ..]) => none_is_an_option(rest),
        _ => false,
    }
}

/// Returns the words that follow the options before the subcommand, the subcommand first; None if these options are not known.
pub(super) fn subcommand(words: &[Word]) -> Option<&[Word]> {
    let mut rest = words;
    loop {
        let word = rest.first()?.known()?;
        rest = match word {
            _ if WITH_VALUE.contains(&word) => rest.get(2..)?,
            _ if HARMLESS.contains(&word) => &rest[1..],
            _ if WITH_VALUE
                .iter()
                .any(|option| word.strip_prefix(option).is_some_and(|value| value.starts_with('='))) =>
            {
                &rest[1..]
            }
            _ if word.starts_with('-') => return None,
            _ => return Some(rest),
        };
    }
}

/// Returns what a command of git does. `words` are its arguments.
pub(super) fn classes(words: &[Word]) -> BTreeSet<CommandClass> {
    if words.iter().any(|word| matches!(word.known(), Some("--version" | "--help"))) && words.len() == 1 {
        return BTreeSet::from([Read]);
    }
    let Some(rest) = subcommand(words) else { return BTreeSet::from([Execute]) };
    let Some(name) = rest[0].known() else { return BTreeSet::from([Execute]) };
    let Some((_, class)) = SUBCOMMANDS.iter().find(|(subcommand, _)| *subcommand == name) else {
        return BTreeSet::from([Execute]);
    };
    let only: Option<Vec<&str>> = rest[1..].iter().map(Word::known).collect();
    if only.is_some_and(|arguments| only_shows(name, &arguments)) {
        return BTreeSet::from([Read]);
    }
    let mut classes = BTreeSet::from([*class]);
    // These get files, too.
    if ["clone", "fetch", "pull"].contains(&name) {
        classes.insert(Write);
    }
    for word in rest[1..].iter().take_while(|word| word.known() != Some("--")) {
        let Some(text) = word.known() else {
            // It may be any option.
            classes.insert(if *class == Read { Write } else { Execute });
            continue;
        };
        let option = text.split('=').next().unwrap_or(text);
        let long = CHANGING.iter().filter(|(changing, _)| {
            option.len() > 2 && option.starts_with("--") && changing.starts_with(option)
        });
        classes.extend(long.map(|(_, class)| *class));
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let short = LETTERS
            .iter()
            .filter(|(of, letter, _)| *of == name && letters.is_some_and(|all| all.contains(*letter)));
        classes.extend(short.map(|(_, _, class)| *class));
    }
    classes
}
