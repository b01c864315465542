//! Reasons: why a file is suspicious.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ambiguous;
use crate::protect::table::content::FileFormat;

/// The most that is read of one file. Nothing that belongs in one of these places is larger.
pub const MAX_CONTENT: usize = 1 << 20;

/// How much of a text of a file's is shown, in bytes, and how many names.
const MAX_SHOWN: usize = 1000;
const MAX_NAMES: usize = 1000;

/// Why a file is suspicious.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Reason {
    /// A set-user-id or set-group-id file: a user who runs it runs it as its owner.
    SetId,
    /// A link, pipe, socket or device where a program outside expects a file, or a file that cannot be read.
    NotAFile,
    /// A directory that cannot be searched, in which git and shells find a name all the same, or what is beyond the limits of the search.
    Hidden,
    /// There was no time to read it, and nobody looks again.
    Unread,
    /// Larger than what is read of such a file, which is [`MAX_CONTENT`] mostly.
    TooLarge {
        /// Its size in bytes, or how many of them were read.
        bytes: usize,
    },
    /// It cannot be read in the format it should have.
    Unreadable { format: FileFormat },
    /// An index of git that leaves changes of files out of `git status`.
    HidesChanges {
        /// How many files it hides that it did not hide before.
        files: usize,
        example: String,
    },
    /// An index of git that holds something else for protected paths than lies there.
    StagesProtected {
        /// For how many paths that it did not before.
        files: usize,
        example: String,
    },
    /// It is an index, and does not list protected paths any more that lie in the work tree.
    ListsNoMore { files: usize, example: String },
    /// It is an index, and has links that are not in the work tree: git makes them as soon as changes are thrown away.
    StagesLinks { files: usize, example: String },
    /// An index of git that holds something for paths that are hidden inside.
    TracksHidden {
        /// For how many paths that it did not before.
        files: usize,
        example: String,
    },
    /// It leads git to a commit that has something else for protected paths than index and work tree.
    CommitsProtected { files: usize, example: String },
    /// It leads git to a commit that has links which neither the index nor the work tree has.
    CommitsLinks { files: usize, example: String },
    /// It leads git to a commit that has paths which are hidden inside, and which the index has not.
    CommitsHidden { files: usize, example: String },
    /// It leads git to a commit without protected paths that lie in the work tree, and that the index has.
    CommitsNoMore { files: usize, example: String },
    /// It leads git to a commit that has files beneath links of the work tree, which the index has not.
    CommitsBehindLinks { files: usize, example: String },
    /// It leads git to a commit that could not be compared.
    CommitUnread { commit: Option<String> },
    /// The branch that is checked out in a work tree which is not shared has another commit, and its index is of another one.
    MovedElsewhere { tree: String, commit: Option<String> },
    /// It leads to a branch that is checked out in another work tree, too.
    ChecksOutTwice { branch: String, tree: String },
    /// It has tags whose own names a shell, an editor or a terminal takes for more than names.
    NamesTags { tags: usize, example: String },
    /// It has or is a new reference that git takes where another one, or an object, is named: gitrevisions(7).
    Ambiguous {
        /// How many there are in the file.
        references: usize,
        /// The whole name of one.
        reference: String,
        /// The name of the other one: `HEAD`, or digits of an object ID.
        instead_of: String,
    },
    /// It has references to objects that cannot be read.
    NamesUnread { references: usize },
    /// An index of git that no longer keeps commits from taking what lies at paths that are hidden inside.
    RecordsHidden {
        /// How many such paths it left out before.
        files: usize,
        example: String,
    },
    /// Attributes of git that say something else than before of the filters of paths that are hidden inside, which an index lists.
    FiltersHidden {
        /// Of how many paths.
        files: usize,
        example: String,
    },
    /// Lines of attributes that are gone from where every work tree of a repository has them.
    AttributesGone { lines: usize, example: String },
    /// Lines that are gone of what every work tree of a repository leaves out.
    ExcludesGone { lines: usize, example: String },
    /// Attributes by which git newly writes another content than it has recorded, or runs a driver.
    ConvertsFiles {
        /// Where they are in the work tree.
        attributes: String,
        lines: usize,
        example: String,
    },
    /// Attributes that git has recorded, without lines that convert files and that are in the file of the work tree.
    ConvertsNoMore { attributes: String, lines: usize, example: String },
    /// What git leaves out of what it shows, or shows as something else, because of lines that were not there.
    HidesByLines { lines: usize, example: String },
    /// A configuration of git with settings that are new, gone, or have another value.
    Reconfigured {
        /// The settings, as git lists them.
        settings: Vec<String>,
    },
    /// Git took the directory for a repository, and takes it for none any more.
    NoRepository {
        /// The file or directory that is missing, or is not what git wants.
        lacks: String,
    },
    /// A new repository in a directory whose files another one lists: git works with the new one there.
    ReplacesRepository {
        /// The work tree of the other one.
        repository: String,
    },
    /// A list of conflicts (`MERGE_RR`) with a path that it did not have: git copies what lies there at the next commit.
    RecordsConflict { example: String },
    /// It lists a path that git would write to, though no work tree has it.
    WritesElsewhere { example: String },
    /// It names a stash that git applies by itself: at the next commit, merge or pull, or when an operation ends.
    AppliesStash {
        /// The number of its commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// It has references that were not there, whose names a shell, an editor or a terminal takes for more than names.
    NamesReferences { references: usize, example: String },
    /// It is or has a reference that leads to another one, as git itself makes none: git writes through it.
    LeadsToReference { name: String, target: String },
    /// It names files beside it, and one of them lies elsewhere.
    NamesElsewhere { example: String },
    /// A link out of the shared directory, beneath which an index of git lists files.
    LeadsOut { example: String },
    /// It has git list the names in a directory that is none of the work tree's, and note them where an agent reads them.
    ReadsElsewhere { example: String },
    /// A git hook that is not a sample. It counts without the executable bit too, which costs one `chmod`.
    Hook,
    /// It leads git to a repository, or to configuration and hooks, somewhere else.
    GitElsewhere,
    /// A setting that runs a program, or makes one run without being asked about, or that is not among those
    /// that are known to be harmless.
    Setting {
        /// Its key, as the file's own manual writes it.
        key: String,
    },
    /// Variables by which programs that load the file run something, or send something elsewhere.
    Variables {
        /// Their names, in the order of the file.
        names: Vec<String>,
    },
    /// A file that a shell runs when it starts.
    StartUp,
    /// A file that some other program runs, or that says what it runs.
    Run { program: String },
    /// It names what a program reads, writes or removes, and that may lie anywhere.
    NamesPath { program: String, example: String },
    /// It lies at a path that `[protect] paths` names, where nothing was.
    Listed,
    /// It lies among git's data, and git makes no such file.
    NotOfGit,
    /// It has a name that begins with a dot, and no list knows which program obeys it, if one does; or one that reads as an option.
    UnknownName,
    /// It is a link to a directory elsewhere on the host: whoever shares it, or works in it, shares that.
    LinksOut { target: String },
    /// It is a link to a file that no sandbox may write, here or elsewhere on the host: whoever writes to it writes there.
    LinksTo { target: String },
    /// It is a link that is only good for being written through: git does so, or nothing can be read there.
    WritesThrough { target: String },
    /// It has another name: what a program writes there is written here.
    HardLinked,
    /// A `sandbox.toml`: it has no effect until it is trusted.
    Policy,
    /// A link stood at a protected path and does not any more, or leads elsewhere.
    LinkReplaced,
    /// It makes a program obey something that was there before, and that nothing obeyed.
    MakesObeyed {
        /// What that is.
        path: String,
    },
}

impl Reason {
    /// Cuts off what is too long to be shown: files are the agent's, and a key or a path in them may be a megabyte long.
    pub fn shorten(&mut self) {
        let text = match self {
            Self::HidesChanges { example: text, .. }
            | Self::ListsNoMore { example: text, .. }
            | Self::StagesProtected { example: text, .. }
            | Self::StagesLinks { example: text, .. }
            | Self::CommitsProtected { example: text, .. }
            | Self::CommitsLinks { example: text, .. }
            | Self::CommitsHidden { example: text, .. }
            | Self::CommitsNoMore { example: text, .. }
            | Self::CommitsBehindLinks { example: text, .. }
            | Self::MovedElsewhere { tree: text, .. }
            | Self::NamesTags { example: text, .. }
            | Self::TracksHidden { example: text, .. }
            | Self::RecordsHidden { example: text, .. }
            | Self::FiltersHidden { example: text, .. }
            | Self::AttributesGone { example: text, .. }
            | Self::ExcludesGone { example: text, .. }
            | Self::HidesByLines { example: text, .. }
            | Self::NamesReferences { example: text, .. }
            | Self::RecordsConflict { example: text }
            | Self::WritesElsewhere { example: text }
            | Self::NamesElsewhere { example: text }
            | Self::LeadsOut { example: text }
            | Self::ReadsElsewhere { example: text }
            | Self::Setting { key: text }
            | Self::NoRepository { lacks: text }
            | Self::ReplacesRepository { repository: text }
            | Self::LinksOut { target: text }
            | Self::LinksTo { target: text }
            | Self::WritesThrough { target: text }
            | Self::MakesObeyed { path: text }
            | Self::Run { program: text } => text,
            Self::Variables { names } | Self::Reconfigured { settings: names } => {
                names.truncate(MAX_NAMES);
                names.iter_mut().for_each(cut);
                return;
            }
            Self::Ambiguous { reference: text, instead_of: other, .. }
            | Self::ConvertsFiles { attributes: text, example: other, .. }
            | Self::ConvertsNoMore { attributes: text, example: other, .. }
            | Self::LeadsToReference { name: text, target: other }
            | Self::NamesPath { program: text, example: other }
            | Self::ChecksOutTwice { branch: text, tree: other } => {
                cut(other);
                text
            }
            Self::SetId
            | Self::NotAFile
            | Self::Hidden
            | Self::Unread
            | Self::TooLarge { .. }
            | Self::Unreadable { .. }
            | Self::AppliesStash { .. }
            | Self::Hook
            | Self::GitElsewhere
            | Self::StartUp
            | Self::Listed
            | Self::CommitUnread { .. }
            | Self::NamesUnread { .. }
            | Self::NotOfGit
            | Self::UnknownName
            | Self::HardLinked
            | Self::Policy
            | Self::LinkReplaced => return,
        };
        cut(text);
    }
}

fn cut(text: &mut String) {
    if text.len() > MAX_SHOWN {
        let end = (0..=MAX_SHOWN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetId => f.write_str("it is a set-id file, which runs as its owner"),
            Self::NotAFile => f.write_str("a link, a special file or one that cannot be read stands where a program expects a file"),
            Self::Hidden => f.write_str("what it holds could not be read"),
            Self::Unread => f.write_str("there was no time to read it"),
            Self::TooLarge { bytes } => {
                write!(f, "its {bytes} bytes are too many to classify")
            }
            Self::Unreadable { format } => write!(f, "it cannot be read as {format}"),
            Self::HidesChanges { files, example } => write!(
                f,
                "it hides changes of {files} more files from `git status` (skip-worktree or assume-unchanged), such as \
                 {example}; `git ls-files -v` lists them"
            ),
            Self::StagesProtected { files, example } => write!(
                f,
                "it holds something else than lies there for {files} protected paths, such as {example}, and `git checkout -- .` or \
                 `git stash` writes it"
            ),
            Self::ListsNoMore { files, example } => write!(
                f,
                "it does not list {files} protected paths any more that lie in the work tree, such as {example}: `git clean` or a merge of its commit removes \
                 them, and a sandbox.toml does not hold then"
            ),
            Self::StagesLinks { files, example } => write!(
                f,
                "it has {files} links that do not lie in the work tree, such as {example}: `git checkout -- .` makes them, and what is written to one is \
                 written where it leads"
            ),
            Self::CommitsProtected { files, example } => write!(
                f,
                "the commit that it leads to has something else than the index and the work tree for {files} protected paths, such as {example}: \
                 `git stash`, `git reset --hard`, `git submodule update` and what gives an operation up write it"
            ),
            Self::CommitsLinks { files, example } => write!(
                f,
                "the commit that it leads to has {files} links that neither the index nor the work tree has, such as {example}: `git stash`, \
                 `git reset --hard` and `git submodule update` make them, and what is written to one is written where it leads"
            ),
            Self::CommitsHidden { files, example } => write!(
                f,
                "the commit that it leads to has {files} paths that are hidden inside and that the index does not have so, such as {example}: \
                 `git stash` and `git commit .` record what they hold, where the next command inside reads it, and `git reset --hard` overwrites \
                 them; `git commit` of the index alone takes them out"
            ),
            Self::CommitsNoMore { files, example } => write!(
                f,
                "the commit that it leads to does not have {files} protected paths any more that lie in the work tree, such as {example}: `git stash` and \
                 `git reset --hard` remove them, and a sandbox.toml does not hold then"
            ),
            Self::CommitsBehindLinks { files, example } => write!(
                f,
                "the commit that it leads to has {files} files beneath symlinks of the work tree, such as {example}: `git commit .` records what the \
                 links lead to, where the next command inside reads it; `git commit` of the index alone takes them out"
            ),
            Self::CommitUnread { commit } => {
                f.write_str("the commit that it leads to")?;
                if let Some(commit) = commit {
                    write!(f, ", {commit},")?;
                }
                f.write_str(
                    " could not be compared with the index: see `git status` and `git diff --cached` before `git stash`, `git commit .`, \
                     `git reset --hard` or `git submodule update`, and before you give an operation up",
                )
            }
            Self::MovedElsewhere { tree, commit } => write!(
                f,
                "the branch that is checked out in `{tree}`, which is not shared, has moved to {}: `git stash` and `git reset --hard` there \
                 write what that commit has, and `git stash` records files that it lists; `git diff --cached` there shows them",
                commit.as_deref().unwrap_or("what cannot be read")
            ),
            Self::ChecksOutTwice { branch, tree } => write!(
                f,
                "it leads to `{branch}`, which is checked out in `{tree}`, too: each commit, merge and reset here moves the branch there; git itself \
                 refuses that, and `git switch` leads to another branch"
            ),
            Self::NamesTags { tags, example } => {
                let plural = if *tags == 1 { "a tag" } else { "tags" };
                write!(
                    f,
                    "it has {plural} that `git describe` calls by another name, such as `{example}`, by which programs that show it may run something"
                )
            }
            Self::Ambiguous { references, reference, instead_of } => {
                let new = ambiguous::described(reference);
                let other = ambiguous::described(instead_of);
                let more = references.saturating_sub(1);
                let more = if more == 0 { String::new() } else { format!(", and {more} more in the place of others") };
                write!(
                    f,
                    "git, or a program that calls it, takes the new {new} in the place of the {other}{more}; `git update-ref -d` removes it"
                )
            }
            Self::NamesUnread { references } => write!(
                f,
                "it has references to {references} objects that are not there, or could not be read, so nobody knows by which name `git describe` calls them"
            ),
            Self::TracksHidden { files, example } => write!(
                f,
                "it has git track {files} more paths that are hidden inside, such as {example}: `git commit -a` records what they hold, where \
                 the next command inside reads it; `git rm -f --cached -- {example}` takes one out, and what git-lfs may have stored of it by then \
                 is in `.git/lfs/objects`"
            ),
            Self::RecordsHidden { files, example } => write!(
                f,
                "it no longer leaves {files} paths out of commits that are hidden inside (skip-worktree or assume-unchanged), such as {example}: \
                 `git commit -a` records what they hold, where the next command inside reads it; `git update-index --skip-worktree -- {example}` \
                 leaves one out again"
            ),
            Self::FiltersHidden { files, example } => write!(
                f,
                "{files} paths in it that are hidden inside may have lost their filter, such as {example}: attributes say something else of it, and \
                 without one that encrypts, `git commit -a` records what they hold, where the next command inside reads it; \
                 `git check-attr filter -- {example}` shows it"
            ),
            Self::AttributesGone { lines, example } => write!(
                f,
                "{lines} lines are gone from it, such as `{example}`: if one named a filter that encrypts, `git commit` records files as they are"
            ),
            Self::ExcludesGone { lines, example } => write!(
                f,
                "{lines} lines are gone from it, such as `{example}`: `git add` records what they left out, and `git clean` removes it"
            ),
            Self::ConvertsFiles { attributes, lines, example } => write!(
                f,
                "`{attributes}` has git write files otherwise than it records them, or run a driver on them, by lines that were not there ({lines}), such as \
                 `{example}`: a checkout may write what nobody has seen"
            ),
            Self::ConvertsNoMore { attributes, lines, example } => write!(
                f,
                "it has `{attributes}` without lines that are in the work tree ({lines}), such as `{example}`: once `git stash` or `git checkout -- .` has written it, \
                 `git commit` records files as they are, if the line named a filter that encrypts"
            ),
            Self::NoRepository { lacks } => write!(
                f,
                "git takes it for no repository any more, for want of `{lacks}`: if it is called `.git`, a command of git in its work tree acts on a repository in a \
                 directory above, if there is one; put `{lacks}` right before you use git there"
            ),
            Self::HidesByLines { lines, example } => write!(
                f,
                "git shows files, changes or history otherwise because of what is new in it ({lines} lines), such as `{example}`"
            ),
            Self::RecordsConflict { example } => write!(
                f,
                "it has git copy what lies at `{example}` by then, also behind a link, to where an agent reads it at the next commit (git-rerere(1)); \
                 without it, only the resolution of a conflict is not recorded"
            ),
            Self::WritesElsewhere { example } => {
                write!(f, "it has git write to `{example}`, which is no place for git to write to")
            }
            Self::NamesReferences { example, .. } if example.starts_with("refs/replace/") => write!(
                f,
                "it has git take another object in the place of one, `{example}`, and show and write what that holds"
            ),
            Self::NamesReferences { references, example } => {
                let plural = if *references == 1 { "a reference" } else { "references" };
                write!(
                    f,
                    "it has {plural} by whose name programs that show or complete it may run something, such as `{example}`"
                )
            }
            Self::LeadsToReference { name, target } => write!(
                f,
                "it has `{name}` lead to `{target}`: git makes no such reference, and what it writes to the one, it writes to the other"
            ),
            Self::AppliesStash { commit } => {
                f.write_str(
                    "it has git apply a stash at the next commit, merge or pull, or when a rebase ends, which writes files, protected ones included",
                )?;
                let Some(commit) = commit else { return Ok(()) };
                write!(
                    f,
                    "; what was not committed when it was made is in there alone, and `git stash store {commit}` keeps it"
                )
            }
            Self::NamesElsewhere { example } => {
                write!(f, "it has git read `{example}` in the place of a file beside it, and remove it later")
            }
            Self::LeadsOut { example } => write!(
                f,
                "it leads out of the shared directory where an index of git lists files, such as `{example}`, and \
                 `git sparse-checkout` empties what lies there"
            ),
            Self::ReadsElsewhere { example } => {
                write!(f, "it has git read the directory `{example}`, and note the names of files there")
            }
            Self::Reconfigured { settings } => write!(
                f,
                "a program of yours has replaced it, which took its protection away, and {} are not as they were at the start: what git runs and \
                 checks, and where it fetches from and pushes to, may depend on that",
                Names(settings)
            ),
            Self::ReplacesRepository { repository } => write!(
                f,
                "it has git work with another repository than that of {repository}, which lists files here: commits, hooks and where a push goes are \
                 those of the new one"
            ),
            Self::Hook => f.write_str("it is a git hook that is not a sample"),
            Self::GitElsewhere => {
                f.write_str("it leads git to a repository or a configuration somewhere else")
            }
            Self::Setting { key } => {
                write!(f, "its setting `{key}` may run a program, or say what is read and where it goes")
            }
            Self::Variables { names } => write!(
                f,
                "it sets {}, by which a program that loads it may run something, or send keys and prompts elsewhere",
                Names(names)
            ),
            Self::StartUp => f.write_str("a shell runs it when it starts"),
            Self::Run { program } => write!(f, "{program} would run it, or what it says"),
            Self::NamesPath { program, example } => {
                write!(f, "it names `{example}`: {program} would read, write or remove that")
            }
            Self::NotOfGit => {
                f.write_str("git makes nothing of that name among its data, so another program may obey it")
            }
            Self::UnknownName => {
                f.write_str("no list of sandboxctl knows the name, and a program may obey it")
            }
            Self::LinksOut { target } => write!(
                f,
                "it is a link out of the shared directory, to {target}: whoever shares it, or starts a sandbox in it, shares that; it stays"
            ),
            Self::LinksTo { target } => write!(
                f,
                "it is a link to {target}, which the command could not write: whatever you have written to the link is written there; it stays"
            ),
            Self::WritesThrough { target } => write!(
                f,
                "it is a link to {target}, which the command could not write: git, or whoever writes a file of this name, would write there"
            ),
            Self::HardLinked => {
                f.write_str("it has another name, so what a program writes there is written here")
            }
            Self::Listed => f.write_str(
                "`[protect] paths` or your own configuration of git names it, and it is new, or another one than at the start",
            ),
            Self::MakesObeyed { path } => {
                write!(f, "it makes a program obey {path}, which was there before and nothing obeyed")
            }
            Self::LinkReplaced => f.write_str("the link that was protected here was replaced or removed"),
            Self::Policy => f.write_str("it is a sandbox policy, which has no effect until it is trusted"),
        }
    }
}

/// Names in a sentence, not too many of them.
struct Names<'a>(&'a [String]);

/// How many names are shown.
const SHOWN_NAMES: usize = 8;

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(names) = self;
        let shown = names.iter().take(SHOWN_NAMES).map(|name| format!("`{name}`")).collect::<Vec<_>>();
        f.write_str(&shown.join(", "))?;
        match names.len().saturating_sub(SHOWN_NAMES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_has_made_long_is_shown_short() {
        for long in ["x".repeat(1 << 20), "ü".repeat(1 << 19)] {
            let mut reason = Reason::Setting { key: long };
            reason.shorten();
            let shown = reason.to_string();
            assert!(shown.len() < 1200 && shown.contains('…'), "{} bytes", shown.len());
        }
        let mut short = Reason::Setting { key: "core.pager".into() };
        short.shorten();
        assert_eq!(short, Reason::Setting { key: "core.pager".into() });
    }
}
