//! Configurations of git around the shared directories: the caller's own and those of the directories' owners, which git obeys in
//! every repository, and those of repositories whose work trees a shared directory lies in. What they name in a shared directory is protected like what a
//! repository's own configuration names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::repository::{commondir, gitdir};
use policy::classify::{Reference, beyond_prefix, is_configuration, references};
use policy::plan::Plan;
use policy::protect::RelativePath;
use policy::text::escape;
use rustix::fs::{Mode, OFlags};
use sandbox::boundary::root::Root;
use sandbox::host::identity::Identity;
use sandbox::host::links;
use sandbox::host::mounted::Mounted;
use sandbox::host::small_file;
use sandbox::state::writable;

use crate::context::Context;
use crate::own_files;

/// Where git looks for the configuration of a machine, by where it is installed.
const OF_MACHINE: [&str; 3] =
    ["/etc/gitconfig", "/usr/local/etc/gitconfig", "/home/linuxbrew/.linuxbrew/etc/gitconfig"];

/// Variables that stand for a setting, see git(1), "ENVIRONMENT VARIABLES".
const SETTINGS: [(&str, &str); 9] = [
    ("GIT_ASKPASS", "core.askPass"),
    ("GIT_EDITOR", "core.editor"),
    ("GIT_EXTERNAL_DIFF", "diff.external"),
    ("GIT_PAGER", "core.pager"),
    ("GIT_PROXY_COMMAND", "core.gitProxy"),
    ("GIT_SEQUENCE_EDITOR", "sequence.editor"),
    ("GIT_SSH", "core.sshCommand"),
    ("GIT_SSH_COMMAND", "core.sshCommand"),
    ("GIT_TEMPLATE_DIR", "init.templateDir"),
];

/// How many files are read at most, with those that they include.
const MAX_FILES: usize = 100;

/// How many paths are protected at most that they name.
const MAX_NAMED: usize = 1000;

/// Protects the files of these configurations that lie in a writable boundary, and what they name: there, or relative to
/// the root of any work tree. What could not be read whole stands in the plan, and so does which boundary is named itself.
pub(crate) fn protect(context: &Context, plan: &mut Plan) {
    let boundaries: Vec<PathBuf> = own_files::writable(plan).map(|boundary| boundary.host.clone()).collect();
    if boundaries.is_empty() {
        return;
    }
    let NamedPaths { named, in_trees, unread, mut around, .. } = read_all(context, &boundaries);
    for boundary in plan.boundaries.iter_mut().filter(|boundary| boundary.obeyed_as.is_none()) {
        boundary.obeyed_as = around.remove(&boundary.host);
    }
    plan.protect.of_git = in_trees.iter().map(ToString::to_string).collect();
    for path in named.union(&in_trees).cloned().map(RelativePath::into_text) {
        if !plan.protect.paths.contains(&path) {
            plan.protect.paths.push(path);
        }
    }
    plan.protect.unread = unread;
}

/// Returns which of these directories a configuration names, or a directory around them, each with how that is said.
pub(crate) fn named(context: &Context, directories: &[PathBuf]) -> BTreeMap<PathBuf, String> {
    if directories.is_empty() { BTreeMap::new() } else { read_all(context, directories).around }
}

/// Reads all these configurations.
fn read_all<'a>(context: &'a Context, boundaries: &'a [PathBuf]) -> NamedPaths<'a> {
    let repositories: Vec<Around> =
        boundaries.iter().flat_map(|boundary| around(context, boundary)).collect();
    let trees: Vec<PathBuf> = repositories.iter().map(|one| &one.tree).chain(boundaries).cloned().collect();
    let mut found = NamedPaths {
        context,
        boundaries,
        mounted: boundaries.iter().map(|boundary| Mounted::new(boundary)).collect(),
        named: BTreeSet::new(),
        in_trees: BTreeSet::new(),
        around: BTreeMap::new(),
        unread: Vec::new(),
    };
    let caller = GitUser { identity: context.caller, home: context.home.clone() };
    let mut own = files(context);
    for reference in references(&of_variables(context)) {
        let (at, scope) = (Path::new("/"), ConfigScope::AllRepositories);
        own.extend(found.refer(reference, at, &trees, scope, &caller));
    }
    found.follow(own, &trees, ConfigScope::AllRepositories, &caller);
    for user in owners(context, boundaries) {
        found.follow(user.files(), &trees, ConfigScope::AllRepositories, &user);
        found.unread.push(user.unknown_variables());
    }
    if context.is_behind_sudo() && OF_USER.iter().all(|name| context.variable(name).is_none()) {
        found.unread.push(caller.unknown_variables());
    }
    for Around { tree, files, hooks, reader } in repositories {
        found.obeyed(&hooks, reader);
        let other = (reader.uid != context.caller.uid).then(|| GitUser::of(reader)).flatten();
        let user = other.unwrap_or_else(|| GitUser { identity: reader, ..caller.clone() });
        found.follow(files, &[tree], ConfigScope::One, &user);
    }
    found
}

/// Variables that say where the configuration of a user lies, see git-config(1), "FILES". Sudo passes none of them on.
const OF_USER: [&str; 2] = ["GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"];

/// A user who runs git in a shared directory.
#[derive(Clone)]
struct GitUser {
    identity: Identity,
    home: PathBuf,
}

impl GitUser {
    /// Finds the home of a user, who may have none.
    fn of(identity: Identity) -> Option<Self> {
        let home = Context::home_of_id(identity.uid).filter(|home| home.is_absolute())?;
        Some(Self { identity, home })
    }

    /// Lists the files of their own that git reads where no variable says otherwise.
    fn files(&self) -> Vec<PathBuf> {
        vec![self.home.join(".config/git/config"), self.home.join(".gitconfig")]
    }

    /// Says what of this user's cannot be known: variables of their processes.
    fn unknown_variables(&self) -> String {
        format!(
            "what {} of uid {} name, which are not passed to root",
            OF_USER.join(" and "),
            self.identity.uid
        )
    }
}

/// Lists who owns shared directories, where root shares directories of others for itself: they run git there, by their own
/// configuration. Whoever has no home has none.
fn owners(context: &Context, boundaries: &[PathBuf]) -> Vec<GitUser> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let owner = |boundary: &PathBuf| {
        let opened = rustix::fs::open(boundary, flags, Mode::empty()).ok()?;
        Some(Root::of(opened, context.caller).ok()?.user())
    };
    let mut all: Vec<_> = boundaries.iter().filter_map(owner).collect();
    all.retain(|owner| owner.uid != context.caller.uid);
    all.sort_by_key(|owner| owner.uid);
    all.dedup_by_key(|owner| owner.uid);
    all.into_iter().filter_map(GitUser::of).collect()
}

/// Where a configuration counts.
#[derive(Clone, Copy, Eq, PartialEq)]
enum ConfigScope {
    /// In every repository.
    AllRepositories,
    /// In one, whose work tree is known.
    One,
}

/// A repository that a boundary lies in, while its data lies elsewhere.
struct Around {
    tree: PathBuf,
    files: Vec<PathBuf>,
    hooks: PathBuf,
    reader: Identity,
}

/// Finds the repositories whose work trees a boundary lies in. Of one that it is the work tree of, the search through it reads
/// the configuration.
fn around(context: &Context, boundary: &Path) -> Vec<Around> {
    let repository = |tree: &Path| {
        let dot_git = tree.join(".git");
        // Root reads it as whoever has made it: what it names may be a file that is closed to them.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&dot_git, flags, Mode::empty()).ok()?;
        let reader = Root::of(opened, context.caller).ok()?.user();
        let git = match small_file::read(&dot_git, reader) {
            Ok(content) => tree.join(gitdir(&content)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(_) => dot_git,
        };
        let common = small_file::read(&git.join("commondir"), reader).ok();
        let common = common.and_then(|content| Some(git.join(commondir(&content)?)));
        let common = common.unwrap_or_else(|| git.clone());
        // The search through a repository that is shared itself reads its configuration.
        if common == boundary {
            return None;
        }
        let files = vec![common.join("config"), git.join("config.worktree")];
        Some(Around { tree: tree.to_owned(), files, hooks: common.join("hooks"), reader })
    };
    boundary.ancestors().skip(1).filter_map(repository).collect()
}

/// What configurations name, as far as they have been read.
struct NamedPaths<'a> {
    context: &'a Context,
    boundaries: &'a [PathBuf],
    /// The same with their other paths.
    mounted: Vec<Mounted>,
    named: BTreeSet<RelativePath>,
    /// Those that are relative to any work tree.
    in_trees: BTreeSet<RelativePath>,
    /// The boundaries that are named themselves, or lie in what is, each with how that is said.
    around: BTreeMap<PathBuf, String>,
    unread: Vec<String>,
}

impl NamedPaths<'_> {
    /// Reads configurations, and what they include.
    fn follow(&mut self, mut ahead: Vec<PathBuf>, trees: &[PathBuf], scope: ConfigScope, user: &GitUser) {
        let mut seen = BTreeSet::new();
        while let Some(file) = ahead.pop() {
            if !seen.insert(file.clone()) {
                continue;
            }
            if seen.len() > MAX_FILES || self.named.len() + self.in_trees.len() > MAX_NAMED {
                self.unread.push(format!("{} and others: there are too many", escape::path(&file)));
                break;
            }
            self.name(&file);
            let directory = file.parent().unwrap_or(Path::new("/"));
            for reference in self.read(&file, user.identity) {
                ahead.extend(self.refer(reference, directory, trees, scope, user));
            }
        }
    }

    /// Protects what is named, and returns where another configuration is, or may be.
    fn refer(
        &mut self,
        reference: Reference,
        directory: &Path,
        trees: &[PathBuf],
        scope: ConfigScope,
        user: &GitUser,
    ) -> Vec<PathBuf> {
        match reference {
            Reference::Configuration(path) => {
                return self.written_out(&path, user).iter().map(|path| directory.join(path)).collect();
            }
            Reference::Hooks(ref path) | Reference::Program(ref path) => {
                for path in self.written_out(path, user) {
                    for tree in trees {
                        self.place_around(&reference, tree, &path, trees, user);
                        self.obeyed(&tree.join(&path), user.identity);
                    }
                    if path.is_relative() && scope == ConfigScope::AllRepositories {
                        self.in_trees.extend(path.to_str().and_then(|path| path.parse().ok()));
                    }
                }
            }
            // Which work tree and which remotes there are, each repository says for itself. A word behind an option would be looked for in
            // every repository.
            Reference::WorkTree(_) | Reference::Repository(_) | Reference::File(_) => {}
        }
        Vec::new()
    }

    /// Lists what a path may be that begins with a home, or leads out of the directory where git is installed: from any
    /// directory that a boundary lies in.
    fn written_out(&self, path: &Path, user: &GitUser) -> Vec<PathBuf> {
        let Some(below) = beyond_prefix(path) else { return vec![in_home(&user.home, path)] };
        let around: BTreeSet<&Path> =
            self.boundaries.iter().flat_map(|boundary| boundary.ancestors().skip(1)).collect();
        around.into_iter().map(|directory| directory.join(&below)).collect()
    }

    /// Notes the boundaries that are what a path leads to from the root of a work tree, or lie in it.
    fn place_around(
        &mut self,
        reference: &Reference,
        tree: &Path,
        path: &Path,
        trees: &[PathBuf],
        user: &GitUser,
    ) {
        let places = writable::places(&tree.join(path), self.context.caller).unwrap_or_default();
        let Some(place) = places.last() else { return };
        // A command may enter the root of a work tree, which is no program.
        let mut repositories = trees.iter().filter(|tree| !self.boundaries.contains(tree));
        let is_root =
            repositories.any(|tree| tree.starts_with(place)) || path.is_relative() && tree.starts_with(place);
        if !(is_root && matches!(reference, Reference::Program(_))) {
            self.around.extend(named_around(&self.mounted, place, &user.home));
        }
    }

    /// Reads what one configuration names. One that is there and cannot be read whole is noted: git may read it.
    fn read(&mut self, file: &Path, reader: Identity) -> Vec<Reference> {
        let why = match small_file::read(file, reader) {
            Ok(content) if is_configuration(&content) => return references(&content),
            // Who names it wants none.
            Err(_) if file == Path::new("/dev/null") => return Vec::new(),
            Ok(_) => "it cannot be read as a configuration of git".to_owned(),
            // Git goes on without a file that is not there, or that its user may not read.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
                    || error.kind() == io::ErrorKind::NotADirectory =>
            {
                return Vec::new();
            }
            Err(error) => error.to_string(),
        };
        self.unread.push(format!("{}: {why}", escape::path(file)));
        Vec::new()
    }

    /// Protects a path where it leads into a boundary, and what links in it lead to: a directory of hooks may hold links to files of
    /// a repository.
    fn obeyed(&mut self, path: &Path, reader: Identity) {
        self.name(path);
        let places = writable::places(path, reader).unwrap_or_default();
        // What lies in a boundary is searched there, and what lies around one is a place to work in.
        let Some(directory) = places.last().filter(|place| {
            let mut boundaries = self.mounted.iter();
            !boundaries.any(|boundary| boundary.leads(place).is_some() || boundary.lies_in(place))
        }) else {
            return;
        };
        let found = links::within(directory, reader).unwrap_or_default();
        for link in found.paths {
            self.name(&directory.join(link));
        }
        if found.may_be_more {
            self.unread.push(format!("{}: there are too many files", escape::path(directory)));
        }
    }

    /// Protects a path where it leads into a boundary: by its name, as a link on the way, or as what links lead to, though
    /// nothing may be there yet.
    fn name(&mut self, path: &Path) {
        let places = writable::places(path, self.context.caller).unwrap_or_default();
        for place in places.iter().map(PathBuf::as_path).chain([path]) {
            let inside = self.mounted.iter().filter_map(|boundary| boundary.leads(place));
            self.named.extend(inside.filter_map(|path| path.to_str()?.parse().ok()));
        }
    }
}

/// Lists the boundaries that are this place, which git obeys, or lie in it, each with how that is said. A home directory and what holds
/// one or many things of others is named where a command begins there, and holds more than it runs.
fn named_around(boundaries: &[Mounted], place: &Path, home: &Path) -> Vec<(PathBuf, String)> {
    let is_wide = place.components().count() <= 2 || home.starts_with(place);
    let within = boundaries.iter().filter(|boundary| !is_wide && boundary.lies_in(place));
    let said = |boundary: &Mounted| {
        let said = format!("named by a configuration of git ({})", escape::path(place));
        (boundary.directory().to_owned(), said)
    };
    within.map(said).collect()
}

/// Lists the files that git reads, in its order, see git-config(1), "FILES".
pub(crate) fn files(context: &Context) -> Vec<PathBuf> {
    let variable = |name| context.variable(name).filter(|value| !value.is_empty());
    let of_machine = match variable("GIT_CONFIG_SYSTEM") {
        Some(path) => vec![context.absolute(Path::new(path))],
        None => OF_MACHINE.map(PathBuf::from).to_vec(),
    };
    let own = if let Some(path) = variable("GIT_CONFIG_GLOBAL") {
        vec![context.absolute(Path::new(path))]
    } else {
        let base = variable("XDG_CONFIG_HOME").map_or_else(|| context.home.join(".config"), PathBuf::from);
        vec![base.join("git/config"), context.home.join(".gitconfig")]
    };
    of_machine.into_iter().chain(own).collect()
}

/// Writes the settings that variables hold as a configuration, see git-config(1), "ENVIRONMENT".
fn of_variables(context: &Context) -> Vec<u8> {
    let variable = |name: &str| context.variable(name).map(OsStr::as_bytes);
    let count = context.variable("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse().ok());
    let numbered = |number: usize| {
        let key = variable(&format!("GIT_CONFIG_KEY_{number}"))?;
        Some((key, variable(&format!("GIT_CONFIG_VALUE_{number}"))?))
    };
    let named = SETTINGS.iter().filter_map(|(name, key)| Some((key.as_bytes(), variable(name)?)));
    let setting = |(key, value): (&[u8], &[u8])| {
        let (section, name) = key.split_at(key.iter().rposition(|byte| *byte == b'.')?);
        let mut words = section.splitn(2, |byte| *byte == b'.');
        let (section, below) = (words.next()?, quoted(words.next().unwrap_or_default()));
        Some([b"[", section, b" ", &below, b"]\n", &name[1..], b" = ", &quoted(value), b"\n"].concat())
    };
    let numbered = (0..count.unwrap_or(0).min(MAX_NAMED)).filter_map(numbered);
    numbered.chain(named).filter_map(setting).flatten().collect()
}

/// Quotes a value for a configuration of git.
fn quoted(value: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        b'\n' => b"\\n".to_vec(),
        b'"' | b'\\' => vec![b'\\', *byte],
        _ => vec![*byte],
    };
    [b"\"".to_vec(), value.iter().flat_map(escape).collect(), b"\"".to_vec()].concat()
}

/// Replaces a `~` or `~user` at the beginning of a path by that home directory. Where there is no such user, git refuses the path.
pub(crate) fn in_home(home: &Path, path: &Path) -> PathBuf {
    let mut parts = path.components();
    let name =
        parts.next().and_then(|first| first.as_os_str().to_str()?.strip_prefix('~').map(str::to_owned));
    let named = match name.as_deref() {
        None => None,
        Some("") => Some(home.to_owned()),
        Some(name) => Context::home_of_user(name),
    };
    named.map_or_else(|| path.to_owned(), |home| home.join(parts.as_path()))
}
