//! What makes a directory a repository for git, and what leads git from one directory to another.
//!
//! The rules are those of git's own `setup.c` and gitrepository-layout(5). What git would refuse is nothing here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::git;

/// The most that git reads of a `.git` file, in bytes.
pub const MAX_POINTER_LENGTH: u64 = 1 << 20;

/// How much git reads of a `HEAD`, in bytes.
pub const MAX_HEAD_LENGTH: u64 = 255;

/// Returns whether git itself has written a configuration: it notes the version of a repository's format there when it makes one.
pub fn is_configuration(content: &[u8]) -> bool {
    let key = b"repositoryformatversion";
    content.windows(key.len()).any(|part| part.eq_ignore_ascii_case(key))
}

/// Returns whether git takes this for the content of a `HEAD`: the name of a reference, or the number of a commit.
pub fn is_head(content: &[u8]) -> bool {
    let content = until_nul(content);
    let named = content.strip_prefix(b"ref:").is_some_and(|name| {
        let space = name.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
        name[space..].starts_with(b"refs/")
    });
    // Whatever follows a number is ignored.
    named || content.get(..40).is_some_and(|number| number.iter().all(u8::is_ascii_hexdigit))
}

/// Returns whether a file is a reference or a log of one. Git refuses what begins like this as a configuration.
pub fn is_reference_or_log(content: &[u8]) -> bool {
    let number = content.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_number = match &content[number..] {
        [] | b"\n" => true,
        [b' ', next, ..] => next.is_ascii_hexdigit(),
        _ => false,
    };
    content.starts_with(b"ref: ") || (number >= 40 && is_number)
}

/// What `HEAD` leads to where references are in a reftable: a name that git gives to none, so that it is not taken for a branch, see
/// "reftable", "Backward compatibility".
const OF_REFTABLE: &[u8] = b"refs/heads/.invalid";

/// Returns whether a reference may have this name: in `refs`, not out of it again, and one that git itself gives to a reference, see
/// git-check-ref-format(1). Programs hand the name of a branch on, and prompts print it.
pub fn is_reference_name(name: &[u8]) -> bool {
    let is_ordinary = |part: &[u8]| {
        !part.is_empty()
            && !part.starts_with(b".")
            && !part.to_ascii_lowercase().ends_with(b".lock")
            && !part.iter().any(|byte| b" ~^:?*[".contains(byte))
            && !part.windows(2).any(|pair| matches!(pair, b".." | b"@{"))
    };
    name == OF_REFTABLE
        || name.strip_prefix(b"refs/").is_some_and(|of_kind| {
            of_kind.split(|byte| *byte == b'/').all(is_ordinary)
                && !name.ends_with(b".")
                && !is_hostile(of_kind)
        })
}

/// Returns whether a file in `refs` is a reference whose name programs may take for more than a name, or one that [`replaces_object`].
pub fn is_hostile_reference(path: &Path) -> bool {
    path.strip_prefix("refs").map(|of_kind| of_kind.as_os_str().as_bytes()).is_ok_and(|of_kind| {
        // The completion of git puts a name into a command as it is.
        is_hostile(of_kind) || of_kind.iter().any(|byte| b";|&<>".contains(byte))
    }) || replaces_object(path)
}

/// Returns whether a reference has git take another object in the place of one, whatever that is: git-replace(1).
pub fn replaces_object(path: &Path) -> bool {
    path.strip_prefix("refs/replace").is_ok_and(|object| object != Path::new(""))
}

/// Returns whether the name that a tag has in its own object is one that programs may take for more than a name: `git describe` prints it, and not
/// that of the reference.
pub fn is_hostile_tag(name: &[u8]) -> bool {
    is_hostile_reference(Path::new(OsStr::from_bytes(&[b"refs/tags/", name].concat())))
}

/// Returns whether a repository with this configuration keeps its references in tables.
pub fn has_tables(config: &[u8]) -> bool {
    git::has(config, ("extensions", "refstorage"), "reftable")
}

/// Returns whether a remote in one of the forms from before there was a configuration (`remotes`, `branches`) has a name that programs may
/// take for more than a name: the completion of git lists what is there.
pub fn is_hostile_remote(path: &Path) -> bool {
    let name = ["remotes", "branches"].into_iter().find_map(|kind| path.strip_prefix(kind).ok());
    name.is_some_and(|name| {
        let name = name.as_os_str().as_bytes();
        name.starts_with(b"-") || is_expanded(name) || name.iter().any(|byte| b";|&<>".contains(byte))
    })
}

/// Returns the reference that a line of packed references names, if git or programs do more with it than with any other: a name that
/// [`is_hostile_reference`], or a stash that git applies by itself, which git never packs.
pub fn obeyed_reference(line: &[u8]) -> Option<ObeyedReference<'_>> {
    // Git takes any one blank for what ends the number.
    let number = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    match line.get(number + 1..).filter(|_| number > 0)? {
        b"MERGE_AUTOSTASH" => Some(ObeyedReference::Stash(Autostash::of(&line[..number]))),
        name => {
            is_hostile_reference(Path::new(OsStr::from_bytes(name))).then_some(ObeyedReference::Name(name))
        }
    }
}

/// A reference that git or programs do more with than with any other.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ObeyedReference<'a> {
    Stash(Autostash),
    Name(&'a [u8]),
    Symbolic(SymbolicReference),
}

impl ObeyedReference<'_> {
    /// Returns whether it is one of those that were there before. Git moves references from one file to another.
    pub fn is_among(&self, known: &[String]) -> bool {
        match self {
            Self::Stash(stash) => stash.is_among(known),
            Self::Name(name) => known.iter().any(|known| *known == String::from_utf8_lossy(name)),
            Self::Symbolic(symbolic) => known.contains(&symbolic.known_as()),
        }
    }
}

/// A stash that git applies by itself. It may hold the only copy of what the user has not committed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Autostash {
    /// The number of its commit, where it is one.
    pub commit: Option<String>,
}

impl Autostash {
    /// Reads one as it stands in a file.
    pub fn of(content: &[u8]) -> Self {
        let number = content.trim_ascii();
        let commit = is_object_id(number).then(|| String::from_utf8_lossy(number).into_owned());
        Self { commit }
    }

    /// Returns what it is known by later: no reference has such a name.
    pub fn known_as(&self) -> Option<String> {
        self.commit.as_ref().map(|commit| format!("MERGE_AUTOSTASH {commit}"))
    }

    /// Returns whether it is one of those that were there before.
    pub fn is_among(&self, known: &[String]) -> bool {
        self.known_as().is_some_and(|name| known.contains(&name))
    }
}

/// Returns whether a text is the number of an object.
pub(super) fn is_object_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

/// Returns packed references without those that are obeyed, but for these names.
pub fn without_obeyed_references(packed: &[u8], known: &[String]) -> Vec<u8> {
    let goes = |line: &[u8]| {
        let obeyed = obeyed_reference(line.strip_suffix(b"\n").unwrap_or(line));
        obeyed.is_some_and(|obeyed| !obeyed.is_among(known))
    };
    let mut is_left_out = false;
    let mut kept = Vec::with_capacity(packed.len());
    for line in packed.split_inclusive(|byte| *byte == b'\n') {
        // What a tag leads to stands below it.
        let is_below = line.starts_with(b"^");
        is_left_out = if is_below { is_left_out } else { goes(line) };
        if !is_left_out {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// Returns whether the name of a reference, from its kind on (`heads/main`), reads as an option, which git itself gives to none; has a
/// shell run a command, as a prompt that has the branch in it is expanded (`PS1` in bash(1), `PROMPT_SUBST` in zshoptions(1)); or has
/// what a terminal obeys, or a shell takes for the beginning of that.
fn is_hostile(of_kind: &[u8]) -> bool {
    let name = of_kind.iter().position(|byte| *byte == b'/').map_or(&b""[..], |slash| &of_kind[slash + 1..]);
    name.starts_with(b"-") || is_expanded(of_kind)
}

/// Returns whether a shell expands a name in a prompt, an editor or tmux does in its status line, or a terminal obeys it: the backslash may
/// stand for any letter (`PS1` in bash(1)).
pub(super) fn is_expanded(name: &[u8]) -> bool {
    name.iter().any(|byte| matches!(byte, b'`' | b'\\'))
        // Of a shell, of the status line of Vim (`statusline`), and of tmux.
        || name.windows(2).any(|pair| matches!(pair, b"$(" | b"${" | b"%{" | b"%!" | b"%@" | b"#(" | b"#{"))
        // Of Kakoune.
        || name.windows(4).any(|four| four == b"%sh{")
        || String::from_utf8_lossy(name).contains(char::is_control)
}

/// A reference that leads to another one as git itself makes none: what it writes to the one, it writes to the other.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SymbolicReference {
    pub name: String,
    pub target: String,
}

impl SymbolicReference {
    /// Returns one by its name and the name that it leads to; `None` if git makes such ones: `HEAD` leads to a branch, that of a remote to a
    /// reference of this remote, and `git notes merge` notes where it writes to.
    ///
    /// Jujutsu has `HEAD` lead to a name of its own where no commit is checked out, and repo has names of its own lead to what it has fetched.
    pub fn of(name: &[u8], target: &[u8]) -> Option<Self> {
        let leads_to = |kind: &[u8]| target.starts_with(kind) && is_reference_name(target);
        let is_gits_own = match name {
            b"HEAD" => leads_to(b"refs/heads/") || target == b"refs/jj/root",
            b"NOTES_MERGE_REF" => leads_to(b"refs/notes/"),
            _ if name.starts_with(b"refs/remotes/m/") || name.starts_with(b"refs/worktree/m/") => {
                leads_to(b"refs/remotes/") || leads_to(b"refs/tags/")
            }
            _ => name.strip_suffix(b"HEAD").is_some_and(|remote| {
                let is_one = remote.strip_prefix(b"refs/remotes/").is_some_and(|name| name.ends_with(b"/"));
                is_one && leads_to(remote)
            }),
        };
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        (!is_gits_own).then(|| Self { name: text(name), target: text(target) })
    }

    /// Returns one by its name and the content of its file.
    pub fn of_file(name: &[u8], content: &[u8]) -> Option<Self> {
        Self::of(name, until_nul(content).strip_prefix(b"ref:")?.trim_ascii())
    }

    /// Returns what it is known by later: no reference has such a name.
    pub fn known_as(&self) -> String {
        format!("{} {}", self.name, self.target)
    }
}

/// Returns what a reference leads to that leads to another one, where that is none: git never writes such a one, and writes through it to
/// wherever it says, in its own data. What reads as an option is none either: git and programs hand it on as a word of a command.
pub fn leads_out(content: &[u8]) -> Option<&Path> {
    let content = until_nul(content);
    // `git bisect` drops the space before it, of which lines are a part.
    let word = content.trim_ascii_start();
    if word.starts_with(b"-") {
        return word.split(|byte| *byte == b'\n').next().and_then(path);
    }
    let name = content.strip_prefix(b"ref:")?.trim_ascii();
    (!is_reference_name(name)).then(|| Path::new(OsStr::from_bytes(name)))
}

/// Returns whether git takes a link for a `HEAD` that leads here. Nothing has to be there.
pub fn is_head_link(target: &Path) -> bool {
    target.as_os_str().as_bytes().starts_with(b"refs/")
}

/// Returns the directory that a `.git` file names. It is relative to the directory in which git finds that file.
pub fn gitdir(content: &[u8]) -> Option<&Path> {
    named(content.strip_prefix(b"gitdir: ")?)
}

/// Returns the directory that a `commondir` file names, relative to the directory that the file lies in.
pub fn commondir(content: &[u8]) -> Option<&Path> {
    named(content)
}

/// Returns the directories of objects that an `objects/info/alternates` names, relative to that `objects`: `None` for a line in quotes
/// with an escape, or more, in it. Git writes none, and would take it for another path than it stands there.
pub fn alternates(content: &[u8]) -> impl Iterator<Item = Option<&Path>> {
    let lines = content.split(|byte| *byte == b'\n').map(until_nul);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).map(|line| {
        let Some(quoted) = line.strip_prefix(b"\"") else { return path(line) };
        path(quoted.strip_suffix(b"\"")?)
            .filter(|_| !line.contains(&b'\\') && !quoted[..quoted.len() - 1].contains(&b'"'))
    })
}

/// Returns a path at the end of which git drops the ends of lines. In C a NUL ends it, whatever follows.
fn named(text: &[u8]) -> Option<&Path> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    path(until_nul(&text[..=end]))
}

fn path(bytes: &[u8]) -> Option<&Path> {
    (!bytes.is_empty()).then(|| Path::new(OsStr::from_bytes(bytes)))
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_git_takes_for_one() {
        for head in [
            "ref: refs/heads/main\n",
            "ref:refs/x",
            "ref: \t\n refs/heads/x",
            "0123456789abcdef0123456789abcdef01234567\n",
            "0123456789ABCDEF0123456789abcdef01234567 and more",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
        ] {
            assert!(is_head(head.as_bytes()), "{head}");
        }
        for other in ["", "ref: heads/main", "Ref: refs/x", "0123456789abcdef", "main", "ref: \0refs/x"] {
            assert!(!is_head(other.as_bytes()), "{other}");
        }
        assert!(is_head_link(Path::new("refs/heads/main")));
        assert!(!is_head_link(Path::new("./refs/heads/main")));
    }

    #[test]
    fn a_name_that_a_program_expands_is_no_reference() {
        for name in
            ["x%{system('id')}", "x%!v:f()", "x%@f@", "x%sh{id}", "x#(id)", "x#{x}", "x$(id)", "a`id`"]
        {
            let reference = format!("refs/heads/{name}");
            assert!(is_hostile_reference(Path::new(&reference)), "{name}");
            assert!(!is_reference_name(reference.as_bytes()), "{name}");
            assert!(leads_out(format!("ref: {reference}\n").as_bytes()).is_some(), "{name}");
        }
        for name in ["main", "fix/100%", "a%20b", "user#12", "feature-$x", "a@b", "fix/(scope)!"] {
            let reference = format!("refs/heads/{name}");
            assert!(!is_hostile_reference(Path::new(&reference)), "{name}");
            assert!(leads_out(format!("ref: {reference}\n").as_bytes()).is_none(), "{name}");
        }
    }

    #[test]
    fn of_packed_references_only_the_obeyed_ones_go() {
        let number = "0123456789012345678901234567890123456789";
        let plain = format!("# pack-refs with: peeled fully-peeled sorted \n{number} refs/heads/main\n");
        let tag = |name: &str| format!("{number} {name}\n^{number}\n");
        let packed =
            format!("{plain}{}{}{}", tag("refs/tags/v1$(x)"), tag("refs/tags/v2"), tag("MERGE_AUTOSTASH"));
        let kept = plain + &tag("refs/tags/v2");
        let without = without_obeyed_references(packed.as_bytes(), &[]);
        assert_eq!(String::from_utf8(without).unwrap(), kept);
        assert_eq!(without_obeyed_references(kept.as_bytes(), &[]), kept.as_bytes());
        let own = tag("refs/heads/${x}") + &tag("MERGE_AUTOSTASH");
        let known = ["refs/heads/${x}".to_owned(), format!("MERGE_AUTOSTASH {number}")];
        assert_eq!(without_obeyed_references(own.as_bytes(), &known), own.as_bytes());
        let obeyed = |line: String| obeyed_reference(line.as_bytes()).is_some();
        for blank in [' ', '\t', '\r', '\x0b'] {
            assert!(
                obeyed(format!("{number}{blank}refs/heads/-x"))
                    && obeyed(format!("{number}{blank}MERGE_AUTOSTASH"))
            );
        }
        assert!(
            !obeyed(format!("{number} refs/heads/x")) && !obeyed("# $(x)".into()) && !obeyed(String::new())
        );
    }

    #[test]
    fn a_remote_is_hostile_by_its_name() {
        for hostile in ["remotes/a;b", "branches/$(x)", "remotes/-x", "remotes/a/`x`"] {
            assert!(is_hostile_remote(Path::new(hostile)), "{hostile}");
        }
        for ordinary in ["remotes/origin", "refs/a;b", "remotes", "x"] {
            assert!(!is_hostile_remote(Path::new(ordinary)), "{ordinary}");
        }
    }

    #[test]
    fn a_pointer_ends_where_git_ends_it() {
        for (content, path) in [
            ("gitdir: ../a\n", Some("../a")),
            ("gitdir: a\r\n\n\n", Some("a")),
            ("gitdir: a\0b\n", Some("a")),
            ("gitdir:  a ", Some(" a ")),
            ("gitdir: \n", None),
            ("gitdir:a", None),
            (" gitdir: a", None),
            ("", None),
        ] {
            assert_eq!(gitdir(content.as_bytes()), path.map(Path::new), "{content:?}");
        }
        assert_eq!(commondir(b"../..\n"), Some(Path::new("../..")));
        assert_eq!(commondir(b"\n"), None);
    }

    #[test]
    fn alternates_are_lines() {
        let content = b"/a/objects\n# no\n\"../b c/objects\"\n\n\"un\n\"../x\"b\"\n\"../x\\057y\"\n";
        let named: Vec<_> = alternates(content).collect();
        assert_eq!(
            named,
            [Some("/a/objects"), Some("../b c/objects"), None, None, None].map(|named| named.map(Path::new))
        );
    }

    #[test]
    fn names_that_programs_take_for_more_are_hostile_wherever_references_are() {
        for ordinary in ["refs/heads/main", "refs/heads/main.lock", "refs/remotes/origin/HEAD", "refs/-", "x"]
        {
            assert!(!is_hostile_reference(Path::new(ordinary)), "{ordinary}");
        }
        for hostile in [
            "refs/heads/-x",
            "refs/heads/a;evil",
            "refs/heads/x\u{1b}]0;y",
            "refs/heads/x\\033]0",
            "refs/replace/0123456789012345678901234567890123456789",
            "refs/remotes/origin/$(evil)",
            "refs/remotes/origin/a\nb",
            "refs/notes/`evil`",
            "refs/\u{1b}c/x",
        ] {
            assert!(is_hostile_reference(Path::new(hostile)), "{hostile}");
        }
    }

    #[test]
    fn a_reference_leads_to_another_one_or_out() {
        for inside in [
            "ref: refs/heads/.invalid\n", "ref: refs/heads/main\n", "ref:refs/x", "0494aea", "",
            "ref: refs/heads/k\u{e4}se  \n", "ref: refs/remotes/origin/a-b_c@1.0$x\n", "ref: refs/stash",
            "ref: refs/heads/a.locked/@",
        ] {
            assert_eq!(leads_out(inside.as_bytes()), None, "{inside}");
        }
        for (outside, target) in [
            ("ref: modules/lib/commondir\n", "modules/lib/commondir"),
            ("ref:commondir", "commondir"),
            ("ref: refs/../config", "refs/../config"),
            ("ref: HEAD", "HEAD"),
            ("ref: refs/heads/--output=x", "refs/heads/--output=x"),
            ("ref: refs/heads/a$(evil)\n", "refs/heads/a$(evil)"),
            ("ref: refs/heads/`evil`", "refs/heads/`evil`"),
            ("ref: refs/tags/-x", "refs/tags/-x"),
            // What git refuses, and a prompt would print all the same.
            ("ref: refs/heads/x\u{1b}]0;evil\u{7}\n", "refs/heads/x\u{1b}]0;evil\u{7}"),
            ("ref: refs/heads/x\u{9b}2J", "refs/heads/x\u{9b}2J"),
            ("ref: refs/heads/a\nb", "refs/heads/a\nb"),
            ("ref: refs/heads/\\033]0;evil", "refs/heads/\\033]0;evil"),
            ("ref: refs/remotes/origin/a\u{7f}", "refs/remotes/origin/a\u{7f}"),
            ("ref: refs/remotes/origin/$(evil)", "refs/remotes/origin/$(evil)"),
            ("ref: refs/heads/a b", "refs/heads/a b"),
            ("ref: refs/heads/.a", "refs/heads/.a"),
            ("ref: refs/heads/a.lock", "refs/heads/a.lock"),
            ("ref: refs/heads/a@{1}", "refs/heads/a@{1}"),
            ("ref: refs/heads/a.", "refs/heads/a."),
            ("--output=x\n", "--output=x"),
            ("-f", "-f"),
            (" --force\n", "--force"),
            ("\n\t-f\n", "-f"),
        ] {
            assert_eq!(leads_out(outside.as_bytes()), Some(Path::new(target)), "{outside}");
        }
    }

    #[test]
    fn git_itself_has_few_references_lead_to_others() {
        for (name, target) in [
            ("HEAD", "refs/heads/main"),
            ("HEAD", "refs/heads/.invalid"),
            ("HEAD", "refs/jj/root"),
            ("refs/remotes/origin/HEAD", "refs/remotes/origin/feature/x"),
            ("refs/remotes/a/b/HEAD", "refs/remotes/a/b/main"),
            ("NOTES_MERGE_REF", "refs/notes/commits"),
            ("refs/remotes/m/main", "refs/remotes/goog/main"),
            ("refs/worktree/m/main", "refs/tags/v1"),
        ] {
            assert_eq!(SymbolicReference::of(name.as_bytes(), target.as_bytes()), None, "{name} {target}");
        }
        for (name, target) in [
            ("HEAD", "refs/remotes/origin/main"),
            ("HEAD", "refs/heads/$(x)"),
            ("ORIG_HEAD", "refs/heads/main"),
            ("NOTES_MERGE_REF", "refs/heads/main"),
            ("refs/heads/HEAD", "refs/heads/main"),
            ("refs/remotes/HEAD", "refs/remotes/origin/main"),
            ("refs/remotes/origin/HEAD", "refs/heads/main"),
            ("refs/remotes/origin/HEAD", "refs/remotes/origin2/main"),
            ("refs/remotes/origin/HEAD", "refs/remotes/origin/../../heads/main"),
            ("refs/remotes/origin/OTHER_HEAD", "refs/remotes/origin/main"),
            ("refs/remotes/origin/main", "refs/remotes/origin/other"),
            ("refs/remotes/m/main", "refs/heads/main"),
            ("refs/stash", "refs/heads/main"),
            ("refs/tags/v1", "refs/tags/v2"),
        ] {
            let content = format!("ref: {target}\n\0x");
            let found = SymbolicReference::of_file(name.as_bytes(), content.as_bytes());
            assert_eq!(found.unwrap().known_as(), format!("{name} {target}"));
        }
    }
}
