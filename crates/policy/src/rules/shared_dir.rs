//! Shared directories: which directories and files of the host may be shared with a sandbox.
//!
//! A pure decision over facts that the caller gathers: the path as it was given, the path it leads to with
//! every link resolved, and what is there. It must be taken again with fresh facts when the directory is
//! opened, because links can change in between.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::rules::path::{BoundaryMode, normalise};
use crate::rules::verdict::shown;

/// Trees of the system: neither they nor anything in them may be shared. `/root` is the caller's if that is root.
const REFUSED_TREES: &[&str] = &[
    "/Library", "/System", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libo32", "/libx32",
    "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var",
];

/// Trees within those of the system that users do work in.
const EXCEPTIONS: &[&str] = &["/var/folders", "/var/tmp"];

/// Directories that many parties share: they may not be shared themselves, but what is in them may.
const COMMON: &[&str] = &[
    "/Applications", "/Users", "/Volumes", "/home", "/media", "/mnt", "/opt", "/private", "/srv", "/tmp",
    "/var/folders", "/var/tmp",
];

/// Where homes are: a directory right below one of these is a user's home.
const HOMES: &[&str] = &["/Users", "/home"];

/// Where macOS keeps what is elsewhere `/etc`, `/tmp` and `/var`.
const PRIVATE: &[&str] = &["/private/etc", "/private/tmp", "/private/var"];

/// Where credentials are kept, relative to a home; refused wherever these components appear in a path.
pub const CREDENTIALS: &[&str] = &[
    ".1password", ".aws", ".azure", ".cargo/credentials.toml", ".config/1Password", ".config/Bitwarden",
    ".config/chromium", ".config/containers", ".config/gcloud", ".config/gh", ".config/glab-cli",
    ".config/google-chrome", ".config/op", ".config/rclone", ".config/sops", ".docker", ".git-credentials",
    ".gnupg", ".kube", ".local/share/keyrings", ".local/share/kwalletd", ".mozilla", ".netrc", ".npmrc",
    ".password-store", ".pgpass", ".pki", ".pypirc", ".ssh", ".terraform.d", ".thunderbird", ".vault-token",
    "Library/Keychains",
];

/// Files with credentials, or with what was typed where one is asked for, relative to a home: none of them is shared by itself. The
/// directories that they lie in may hold other things.
const CREDENTIAL_FILES: &[&str] = &[
    ".aider.conf.yml", ".bash_history", ".boto", ".bundle/config", ".bunfig.toml", ".cargo/credentials",
    ".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".composer/auth.json",
    ".config/composer/auth.json", ".config/git/credentials", ".config/github-copilot/apps.json",
    ".config/github-copilot/hosts.json", ".config/goose/secrets.yaml", ".config/nix/nix.conf",
    ".config/pip/pip.conf", ".config/pnpm/rc", ".copilot/config.json", ".env", ".gem/credentials",
    ".gemini/oauth_creds.json", ".gradle/gradle.properties", ".histfile", ".irb_history",
    ".ivy2/.credentials", ".local/share/fish/fish_history", ".local/share/opencode/auth.json",
    ".m2/settings-security.xml", ".m2/settings.xml", ".my.cnf", ".mylogin.cnf", ".mysql_history",
    ".node_repl_history", ".nuget/NuGet/NuGet.Config", ".pip/pip.conf", ".psql_history", ".python_history",
    ".rediscli_history", ".s3cfg", ".sbt/.credentials", ".sqlite_history", ".yarnrc", ".yarnrc.yml",
    ".zhistory", ".zsh_history",
];

/// A directory or file that is to be shared, and what was found there.
#[derive(Clone, Copy, Debug)]
pub struct ShareCandidate<'a> {
    /// The path as it was given, made absolute but with its links.
    pub given: &'a Path,
    /// The path it leads to, with every link resolved.
    pub resolved: &'a Path,
    pub kind: PathKind,
    pub owner: u32,
    pub mode: BoundaryMode,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The user: who called sudo, when root was reached that way.
    pub uid: u32,
    /// Every spelling of the caller's home: as the environment gives it, and with its links resolved.
    pub homes: &'a [&'a Path],
    /// Other homes whose credentials the caller can read: for root those of all users, in every spelling. What does not
    /// [count as a home](counts_as_home) may be among them.
    pub other_homes: &'a [PathBuf],
    /// The directory that everything shared must lie in, with every link resolved; `None` is no such rule.
    pub allowed_root: Option<&'a Path>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PathKind {
    Directory,
    /// A regular file: it can be shared read-only.
    File,
    /// A Unix socket, which gives whatever listens there.
    Socket,
    Fifo,
    Device,
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::File => "a file",
            Self::Socket => "a socket",
            Self::Fifo => "a named pipe",
            Self::Device => "a device",
        })
    }
}

/// A path that may not be shared, and the rule that refuses it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{} cannot be shared: {}{rule}", quoted(.given), leads_to(.given, .refused))]
pub struct ShareRefusal {
    /// The path as it was given.
    pub given: PathBuf,
    /// The spelling that the rule refused: the given path on its face, or what it leads to.
    pub refused: PathBuf,
    /// The rule, with what would be allowed.
    pub rule: ShareRule,
}

/// Why a path may not be shared.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareRule {
    /// The path is not absolute, so it means something else elsewhere.
    #[error("it is not absolute")]
    Relative,
    /// The path has a control character, which corrupts mount tables and logs.
    #[error("its name has a control character; rename it")]
    Control,
    /// The path is not UTF-8, so a plan cannot carry it.
    #[error("its name is not UTF-8; rename it")]
    NotUtf8,
    #[error("it is the root of the file system; share one project directory")]
    Root,
    #[error("`{tree}` belongs to the system; share a directory in your home, such as a project")]
    System { tree: &'static str },
    /// A directory that many parties share.
    #[error("others keep things there too; share a directory within it")]
    Common,
    #[error("it is your home, with everything you may do in it; share a directory within it")]
    Home,
    #[error("your home {} lies in it; share one project directory", quoted(.home))]
    AboveHome { home: PathBuf },
    /// Another user's home.
    #[error("it is a home directory; share a directory within it")]
    SomeHome,
    /// A directory that another user's home lies in.
    #[error("the home directory {} lies in it; share one project directory", quoted(.home))]
    AboveSomeHome { home: PathBuf },
    #[error("`{credentials}` holds credentials; hand them over one by one as `[secrets]`")]
    Credentials { credentials: &'static str },
    /// A directory in a home that credentials lie in.
    #[error("`{credentials}` in it holds credentials; share a directory beside it")]
    HoldsCredentials { credentials: &'static str },
    /// A Unix socket, which gives whatever listens there.
    #[error("it is a socket, to which `--socket` and `[sockets]` let the agent connect")]
    Socket,
    #[error("it is {kind}; only a directory or a regular file can be shared")]
    Special { kind: PathKind },
    #[error(
        "it is a file, which can only be read: most programs save one by renaming another over it, and nothing can be renamed \
         over a mount; share it read-only (`:ro`, `mode = \"ro\"`), or share the directory that it lies in"
    )]
    WritableFile,
    #[error(
        "it belongs to user {owner}, not to you (user {caller}); share it with `mode = \"ro\"`, or use one of your own"
    )]
    Foreign { owner: u32, caller: u32 },
    #[error("it is not in the allowed root {}; share a directory within that", quoted(.root))]
    OutsideAllowedRoot { root: PathBuf },
}

/// Decides whether a directory may be shared. A socket may not, wherever it lies.
///
/// 1. Both spellings, the given one on its face and the resolved one, pass the rules about places: not the
///    root, not a tree of the system, not a directory that many share, not a home or anything above it, not
///    a place of credentials, nor what holds one in a home.
/// 2. It is a directory, or a file that is only read and is none of those with credentials.
/// 3. To be writable it belongs to the caller or to root; root may share every user's.
/// 4. It lies in the allowed root. Only the resolved path counts, because only that is mounted.
pub fn validate(candidate: &ShareCandidate<'_>, caller: &Caller<'_>) -> Result<(), ShareRefusal> {
    let refuse = |refused: &Path, rule: ShareRule| ShareRefusal {
        given: candidate.given.to_owned(),
        refused: refused.to_owned(),
        rule,
    };
    // Wherever it lies, this is the way to it.
    if candidate.kind == PathKind::Socket {
        return Err(refuse(candidate.resolved, ShareRule::Socket));
    }
    let resolved = (candidate.resolved != candidate.given).then_some(candidate.resolved);
    for path in [Some(candidate.given), resolved].into_iter().flatten() {
        place(path, caller).map_err(|rule| refuse(path, rule))?;
    }
    match (candidate.kind, candidate.mode) {
        (PathKind::Directory, _) => {}
        (PathKind::File, mode) => {
            for path in [Some(candidate.given), resolved].into_iter().flatten() {
                if let Some(credentials) = credential_file(path, caller) {
                    return Err(refuse(path, ShareRule::Credentials { credentials }));
                }
            }
            if mode == BoundaryMode::ReadWrite {
                return Err(refuse(candidate.resolved, ShareRule::WritableFile));
            }
        }
        (kind, _) => return Err(refuse(candidate.resolved, ShareRule::Special { kind })),
    }
    let resolved = candidate.resolved;
    let own = caller.uid == 0 || candidate.owner == 0 || candidate.owner == caller.uid;
    if candidate.mode == BoundaryMode::ReadWrite && !own {
        return Err(refuse(resolved, ShareRule::Foreign { owner: candidate.owner, caller: caller.uid }));
    }
    match caller.allowed_root {
        Some(root) if !plain(resolved).starts_with(plain(root)) => {
            Err(refuse(resolved, ShareRule::OutsideAllowedRoot { root: root.to_owned() }))
        }
        _ => Ok(()),
    }
}

/// A directory that is shared, for comparing it with the others.
#[derive(Clone, Copy, Debug)]
pub struct SharedHostDir<'a> {
    /// Its name in the configuration.
    pub name: &'a str,
    /// The host path, with every link resolved.
    pub host: &'a Path,
    pub mode: BoundaryMode,
}

/// Two shared directories that cannot be shared together.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareOverlap {
    /// The same directory or file twice: which mode holds would depend on the way to it.
    #[error("`{first}` and `{second}` both share {}; keep one of them", quoted(.host))]
    Same { first: String, second: String, host: PathBuf },
    /// One within another that is writable: the agent could swap a directory on the way to it for a link.
    #[error(
        "`{inner}` lies within `{outer}`, which is writable; make `{outer}` read-only, or share directories beside each other"
    )]
    WithinWritable { inner: String, outer: String },
}

/// Lists every pair of directories that cannot be shared together.
pub fn overlaps(shared: &[SharedHostDir<'_>]) -> Vec<ShareOverlap> {
    let mut sorted: Vec<&SharedHostDir<'_>> = shared.iter().collect();
    // Paths sort by component, so what lies within a directory follows it at once. The sort is stable.
    sorted.sort_by_key(|one| one.host);
    let mut problems = Vec::new();
    let mut around: Vec<&SharedHostDir<'_>> = Vec::new();
    for one in sorted {
        while around.last().is_some_and(|outer| !one.host.starts_with(outer.host)) {
            around.pop();
        }
        if let Some(twin) = around.iter().find(|outer| outer.host == one.host) {
            problems.push(ShareOverlap::Same {
                first: twin.name.to_owned(),
                second: one.name.to_owned(),
                host: one.host.to_owned(),
            });
        }
        let is_outer =
            |outer: &&&SharedHostDir<'_>| outer.mode == BoundaryMode::ReadWrite && outer.host != one.host;
        if let Some(outer) = around.iter().rev().find(is_outer) {
            let (inner, outer) = (one.name.to_owned(), outer.name.to_owned());
            problems.push(ShareOverlap::WithinWritable { inner, outer });
        }
        around.push(one);
    }
    problems
}

/// Checks the rules about places, for one spelling of a path.
fn place(path: &Path, caller: &Caller<'_>) -> Result<(), ShareRule> {
    let Some(text) = path.to_str() else {
        return Err(ShareRule::NotUtf8);
    };
    if text.chars().any(char::is_control) {
        return Err(ShareRule::Control);
    }
    if !path.is_absolute() {
        return Err(ShareRule::Relative);
    }
    let path = plain(path);
    if path == Path::new("/") {
        return Err(ShareRule::Root);
    }
    for home in caller.homes.iter().map(|home| plain(home)).filter(|home| home != Path::new("/")) {
        if path == home {
            return Err(ShareRule::Home);
        }
        if home.starts_with(&path) {
            return Err(ShareRule::AboveHome { home });
        }
        credentials_of(&home, &path)?;
    }
    if COMMON.iter().any(|common| path == Path::new(common)) {
        return Err(ShareRule::Common);
    }
    if path.parent().is_some_and(|parent| HOMES.iter().any(|homes| parent == Path::new(homes))) {
        return Err(ShareRule::SomeHome);
    }
    if path == Path::new("/root") {
        return Err(if caller.uid == 0 { ShareRule::SomeHome } else { ShareRule::System { tree: "/root" } });
    }
    let excepted = EXCEPTIONS.iter().any(|tree| path.starts_with(tree))
        || (caller.uid == 0 && path.starts_with("/root"));
    if let Some(tree) = REFUSED_TREES.iter().find(|tree| !excepted && path.starts_with(tree)) {
        return Err(ShareRule::System { tree });
    }
    for home in other_homes(&path, caller) {
        if path == home {
            return Err(ShareRule::SomeHome);
        }
        if home.starts_with(&path) {
            return Err(ShareRule::AboveSomeHome { home });
        }
        credentials_of(&home, &path)?;
    }
    let names: Vec<&OsStr> = path.iter().collect();
    match CREDENTIALS.iter().find(|credentials| follow_each_other(&names, credentials)) {
        Some(credentials) => Err(ShareRule::Credentials { credentials }),
        None => Ok(()),
    }
}

/// Refuses a place of credentials in a home, and what one lies in.
fn credentials_of(home: &Path, path: &Path) -> Result<(), ShareRule> {
    let Ok(within) = path.strip_prefix(home) else { return Ok(()) };
    match CREDENTIALS.iter().find(|credentials| Path::new(credentials).starts_with(within)) {
        Some(credentials) if within == Path::new(credentials) => Err(ShareRule::Credentials { credentials }),
        Some(credentials) => Err(ShareRule::HoldsCredentials { credentials }),
        None => Ok(()),
    }
}

/// Returns which file of credentials in a home a path is: in the caller's, or in somebody else's.
fn credential_file(path: &Path, caller: &Caller<'_>) -> Option<&'static str> {
    let path = plain(path);
    let own = caller.homes.iter().map(|home| plain(home));
    let homes: Vec<PathBuf> = own.chain(other_homes(&path, caller)).collect();
    let is = |credentials: &&&str| homes.iter().any(|home| path == home.join(credentials));
    CREDENTIAL_FILES.iter().find(is).copied()
}

/// Lists the homes of others that count for a path: those that are known, and those that a path is in by its form.
fn other_homes(path: &Path, caller: &Caller<'_>) -> impl Iterator<Item = PathBuf> {
    let known = caller.other_homes.iter().filter(|home| counts_as_home(home)).map(|home| plain(home));
    known.chain(homes_around(path).map(Path::to_owned))
}

/// Returns whether what passwd(5) names as a home is one that must not be shared.
///
/// Users of the system have `/` there, directories in trees of the system (`/bin`, `/usr/sbin`, `/var/lib/x`), and some that do not
/// exist. `/` would refuse nothing but itself, and what lies in it is no home's. Those trees are refused anyway, with all that is in
/// them. What does not exist refuses nothing. Any other directory counts, whoever the user is and whatever the shell: there
/// may be keys in it.
pub fn counts_as_home(home: &Path) -> bool {
    let home = plain(home);
    let is_of_system = REFUSED_TREES.iter().any(|tree| home.starts_with(tree));
    let is_excepted = EXCEPTIONS.iter().any(|tree| home.starts_with(tree));
    home.is_absolute() && home != Path::new("/") && (is_excepted || !is_of_system)
}

/// Lists the homes that a path is, or lies in, by its form alone.
pub fn homes_around(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().filter(|home| {
        *home == Path::new("/root")
            || home.parent().is_some_and(|parent| HOMES.iter().any(|homes| parent == Path::new(homes)))
    })
}

/// Returns a path on its face, in the spelling that the lists use: macOS keeps `/var` in `/private`.
fn plain(path: &Path) -> PathBuf {
    let path = normalise(path);
    if PRIVATE.iter().any(|private| path.starts_with(private)) {
        if let Ok(rest) = path.strip_prefix("/private") {
            return Path::new("/").join(rest);
        }
    }
    path
}

/// Returns whether the components of `part` follow each other somewhere among `names`.
fn follow_each_other(names: &[&OsStr], part: &str) -> bool {
    let part = || part.split('/').map(OsStr::new);
    names.windows(part().count()).any(|some| some.iter().copied().eq(part()))
}

fn leads_to(given: &Path, refused: &Path) -> String {
    if given == refused { String::new() } else { format!("it leads to {}, and ", quoted(refused)) }
}

/// Quotes a path as messages show it; a control character in it never reaches a terminal.
fn quoted(path: &Path) -> String {
    format!("`{}`", shown(&path.to_string_lossy()))
}
