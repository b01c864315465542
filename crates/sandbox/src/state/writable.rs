//! Where agents may write: what lies there, or is reached through there, decides nothing on the host.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use confine::mount::mountinfo;
use policy::text::escape;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::follow::traversed_paths;
use crate::host::identity::Identity;
use crate::host::small_file::{self, Links, open_regular};
use crate::state::{homes, runs};

/// The directories that agents may write to: those of the sandbox that is meant, and those of other runs.
#[derive(Clone, Debug, Default)]
pub struct Writable {
    own: Vec<PathBuf>,
    /// Whose records say what other runs may write to, and the state directory that holds them.
    records: Option<(PathBuf, Identity)>,
    /// All of them. Most sandboxes need nothing of the host, so it is looked at when one does.
    all: OnceLock<Vec<PathBuf>>,
}

impl Writable {
    /// Collects the directories in which agents may write: `own` are those of the sandbox that is meant, in every
    /// spelling; the records of other runs lie in a state directory.
    pub fn new(own: Vec<PathBuf>, state: PathBuf, owner: Identity) -> Self {
        Self { own, records: Some((state, owner)), all: OnceLock::new() }
    }

    /// Collects these directories, and none of other runs.
    #[cfg(test)]
    pub(crate) fn only(own: Vec<PathBuf>) -> Self {
        Self { own, ..Self::default() }
    }

    fn all(&self) -> &[PathBuf] {
        self.all.get_or_init(|| {
            let mut all = self.own.clone();
            if let Some((state, owner)) = &self.records {
                all.extend(runs::shared(state, *owner));
                all.push(homes::all(state));
            }
            // Records are the user's own: a path that they cannot follow themselves tells them nothing.
            let acting = self.records.as_ref().map(|(_, owner)| ActingAs::user(*owner)).transpose();
            let resolved = |path: &PathBuf| beneath::resolve(path).ok().filter(|_| acting.is_ok());
            let resolved: Vec<_> = all.iter().filter_map(resolved).collect();
            drop(acting);
            // What the kernel does not say is no other path.
            let elsewhere = resolved.iter().flat_map(|path| mountinfo::elsewhere(path).unwrap_or_default());
            let elsewhere: Vec<_> = elsewhere.map(|other| other.path).collect();
            all.extend(resolved);
            all.extend(elsewhere);
            all.sort();
            all.dedup();
            all
        })
    }

    /// Returns the directory in which an agent may write what this path leads to, or a link on the way to it.
    pub(crate) fn of(&self, path: &Path) -> Option<&Path> {
        let (passed, end) = traversed_paths(path);
        let lies_in = |directory: &&PathBuf| {
            // The directory itself is nobody's to replace: only names beneath it are.
            let beneath = |place: &PathBuf| place.starts_with(directory) && place != *directory;
            end.starts_with(directory) || passed.iter().any(beneath)
        };
        self.all().iter().find(lies_in).map(PathBuf::as_path)
    }

    /// Returns the directory in which an agent may write that lies in this one, or in which it lies.
    pub(crate) fn touching(&self, directory: &Path) -> Option<&Path> {
        let within = |one: &&PathBuf| one.starts_with(directory);
        self.of(directory).or_else(|| self.all().iter().find(within).map(PathBuf::as_path))
    }

    /// Returns the directory in which an agent may write that is named somewhere in a text, in whatever spelling.
    pub(crate) fn named_in(&self, text: &OsStr, home: Option<&Path>) -> Option<&Path> {
        let separates = |byte: &u8| byte.is_ascii_whitespace() || b"'\"=;|&()<>`:,".contains(byte);
        let words = text.as_bytes().split(separates).filter_map(|word| {
            // Whatever stands before it, as in `-I/path` and `$(</path)`.
            let start = word.iter().position(|byte| b"/~$".contains(byte))?;
            Some(expanded(OsStr::from_bytes(&word[start..]), home))
        });
        // Some names have a separator in them.
        let whole = Some(PathBuf::from(text)).filter(|path| path.is_absolute());
        words.chain(whole).find_map(|path| self.of(&path)).or_else(|| self.spelled_in(text))
    }

    /// Searches a text for names that have separators in them, as they are written.
    fn spelled_in(&self, text: &OsStr) -> Option<&Path> {
        let text = text.as_bytes();
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let is_in_it = |directory: &&PathBuf| {
            let directory = directory.as_os_str().as_bytes();
            let mut at = text.windows(directory.len().max(1)).enumerate();
            at.any(|(start, window)| {
                window == directory && !text.get(start + directory.len()).is_some_and(goes_on)
            })
        };
        self.all().iter().find(is_in_it).map(PathBuf::as_path)
    }

    /// Opens a regular file that no agent may write or choose, as this user could.
    pub(crate) fn open(&self, path: &Path, reader: Identity) -> Result<File, Unsafe> {
        let _acting = ActingAs::user(reader)?;
        let Some(file) = open_regular(CWD, path, Links::Followed)? else { return Err(Unsafe::NotAFile) };
        // Which file it is, is asked of what was opened: what an agent links to on the way counts as well as where that leads.
        let opened = beneath::path_of(&file).map_err(io::Error::from)?;
        match self.of(path).or_else(|| self.of(&opened)) {
            Some(directory) => Err(Unsafe::Writable(directory.to_owned())),
            None => Ok(file),
        }
    }

    /// Reads one of at most 1 MiB.
    pub fn read(&self, path: &Path, reader: Identity) -> Result<Vec<u8>, Unsafe> {
        Ok(small_file::content(self.open(path, reader)?)?)
    }

    /// Reads a file of at most 1 MiB that an agent may have written, as this user could, and says who may have. Where an agent may write,
    /// no link is followed: it could lead to any file of the user's.
    ///
    /// `reached` is the path by which it is opened, `path` the same from the root.
    pub fn read_of_anybody(
        &self,
        reached: &Path,
        path: &Path,
        reader: Identity,
    ) -> Result<(Vec<u8>, Author), Unsafe> {
        let _acting = ActingAs::user(reader)?;
        let Some(file) = open_regular(CWD, reached, Links::Followed)? else { return Err(Unsafe::NotAFile) };
        let author = self.author(path, &file, reader)?;
        if let Author::Agent(directory) = &author {
            let (passed, end) = traversed_paths(path);
            let is_in_one = |place: &PathBuf| {
                self.all().iter().any(|directory| place.starts_with(directory) && place != directory)
            };
            // What was opened is what is there without a link: another agent may be exchanging them at this moment.
            let opened = beneath::path_of(&file).map_err(io::Error::from)?;
            if opened != end || passed.iter().any(|place| is_in_one(place) && place.is_symlink()) {
                return Err(Unsafe::Link(directory.clone()));
            }
        }
        Ok((small_file::content(file)?, author))
    }

    /// Says who may have written a file that was opened by this path, which begins at the root.
    pub fn author(&self, path: &Path, file: &File, reader: Identity) -> io::Result<Author> {
        let _acting = ActingAs::user(reader)?;
        // A pipe has no path.
        let opened = beneath::path_of(file).ok();
        if let Some(directory) = self.of(path).or_else(|| self.of(opened.as_deref()?)) {
            return Ok(Author::Agent(directory.to_owned()));
        }
        let metadata = file.metadata()?;
        let is_theirs = [0, reader.uid].contains(&metadata.uid()) || !metadata.is_file();
        Ok(if is_theirs { Author::Trusted } else { Author::User(metadata.uid()) })
    }

    /// Opens the directories, by whatever path they are reached.
    pub(crate) fn open_all(&self) -> io::Result<Vec<OwnedFd>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &PathBuf| match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
            Ok(directory) => Some(Ok(directory)),
            // There is none, or the user whose command this is cannot get there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => None,
            Err(errno) => Some(Err(errno.into())),
        };
        self.all().iter().filter_map(open).collect()
    }
}

/// Who may have written a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Author {
    /// The user who asks, root, or whoever they let write there.
    Trusted,
    /// An agent: the file lies in this directory, or a link in it leads there.
    Agent(PathBuf),
    /// Another user, whose file it is.
    User(u32),
}

impl Author {
    /// Returns why the file does not speak for the user who asks, if it does not.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Trusted => None,
            Self::Agent(directory) => {
                Some(format!("the file lies in {}, which the sandbox may write to", escape::path(directory)))
            }
            Self::User(uid) => Some(format!("the file belongs to uid {uid}")),
        }
    }
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Unsafe {
    #[error("it lies in {}, which the sandbox may write to; keep it somewhere else", escape::path(.0))]
    Writable(PathBuf),
    /// An agent could have put a link there, to any file of the user's.
    #[error(
        "a link in {} leads to it, which the sandbox may write to; name what it leads to, or keep it somewhere else",
        escape::path(.0)
    )]
    Link(PathBuf),
    /// Reading it may never end.
    #[error("not a regular file")]
    NotAFile,
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Expands a word as a shell does, as far as that concerns the home directory.
fn expanded(word: &OsStr, home: Option<&Path>) -> PathBuf {
    let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|name| {
        let rest = word.as_bytes().strip_prefix(name.as_bytes())?;
        (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
    });
    match (rest, home) {
        (Some(rest), Some(home)) => home.join(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))),
        _ => word.into(),
    }
}

/// Lists the links that this user would pass on the way to what a path leads to, each by its path without links, and where it
/// leads, though nothing may be there.
pub fn places(path: &Path, reader: Identity) -> io::Result<Vec<PathBuf>> {
    let _acting = ActingAs::user(reader)?;
    let (mut places, end) = traversed_paths(path);
    places.retain(|place| place.is_symlink());
    places.push(end);
    Ok(places)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_a_link_on_the_way_decides_counts() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path("shared/sub")).unwrap();
        fs::create_dir_all(path("own/bin")).unwrap();
        symlink(path("own"), path("shared/sub/out")).unwrap();
        symlink("shared/sub/out", path("through")).unwrap();
        symlink(path("through/bin"), path("twice")).unwrap();
        symlink("loop", path("loop")).unwrap();
        let writable = Writable::only(vec![path("shared")]);
        for name in [
            "shared", "shared/new/x", "own/../shared/x", "through/bin", "twice", "twice/x",
            "shared/sub/../../own",
        ] {
            assert_eq!(writable.of(&path(name)), Some(path("shared").as_path()), "{name}");
        }
        for name in ["own/bin", "shared-2", "shared/../own/bin", "loop", "none/shared"] {
            assert_eq!(writable.of(&path(name)), None, "{name}");
        }
        assert!(writable.touching(&path("")).is_some() && writable.touching(&path("own")).is_none());
    }

    #[test]
    fn what_an_agent_may_have_written_is_read_through_no_link_of_its_own() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path("shared/hidden")).unwrap();
        for name in ["shared/file", "shared/hidden/file", "own"] {
            fs::write(path(name), name).unwrap();
        }
        for (link, to) in [
            ("shared/out", "../own"),
            ("shared/within", "hidden/file"),
            ("shared/directory", "hidden"),
            ("into", "shared/file"),
            ("through", "shared/within"),
            ("of-own", "own"),
        ] {
            symlink(to, path(link)).unwrap();
        }
        let writable = Writable::only(vec![path("shared")]);
        let read = |name: &str| writable.read_of_anybody(&path(name), &path(name), Identity::own());
        for (name, author) in [
            ("shared/file", Author::Agent(path("shared"))),
            ("into", Author::Agent(path("shared"))),
            ("own", Author::Trusted),
            ("of-own", Author::Trusted),
        ] {
            assert_eq!(read(name).unwrap().1, author, "{name}");
        }
        for name in ["shared/out", "shared/within", "shared/directory/file", "through"] {
            assert!(matches!(read(name), Err(Unsafe::Link(_))), "{name}");
        }
    }

    #[test]
    fn a_path_is_seen_in_a_text_in_whatever_spelling() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().canonicalize().unwrap();
        let shared = home.join("a b/shared");
        fs::create_dir_all(shared.join("lib")).unwrap();
        fs::create_dir(home.join("own")).unwrap();
        symlink(shared.join("lib"), home.join("linked")).unwrap();
        let writable = Writable::only(vec![shared.clone()]);
        let shown = home.display();
        let named = |text: &str| writable.named_in(OsStr::new(text), Some(&home)).is_some();
        for text in [
            format!("/usr/lib:{shown}/linked"),
            format!("--require={shown}//linked/x.js"),
            format!("-I{shown}/own/../linked -w"),
            format!("cat <'{shown}/a b/shared/x'"),
            format!("file://{shown}/linked"),
            "cat ~/linked/x".to_owned(),
            "x $HOME/linked".to_owned(),
            "x \"${HOME}/./linked\"".to_owned(),
        ] {
            assert!(named(&text), "{text}");
        }
        for text in [format!("{shown}/own:{shown}/linked-2"), "~/own ~root $HOMER/linked a/b".to_owned()] {
            assert!(!named(&text), "{text}");
        }
    }

    #[test]
    fn links_that_the_owner_of_a_record_cannot_read_tell_them_nothing() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path("closed")).unwrap();
        fs::create_dir_all(path("target")).unwrap();
        symlink(path("target"), path("closed/link")).unwrap();
        fs::set_permissions(path(""), fs::Permissions::from_mode(0o755)).unwrap();
        let owner = Identity { uid: 1001, gid: 1001 };
        // The control: what they can read counts.
        for (mode, counts) in [(0o711, true), (0o700, false)] {
            fs::set_permissions(path("closed"), fs::Permissions::from_mode(mode)).unwrap();
            let writable = Writable::new(vec![path("closed/link")], path("state"), owner);
            assert_eq!(writable.of(&path("target/bin")).is_some(), counts, "{mode:o}");
        }
    }
}
