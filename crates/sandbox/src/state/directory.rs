//! The state directory: what outlives one command, in files that only their owner can touch.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::host::acting::ActingAs;
use crate::host::follow;
use crate::host::identity::Identity;
use crate::host::make;
use crate::host::small_file;

mod sockets;

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "state directory {path} belongs to uid {found}, and only uid {expected} may own it; \
         name another directory or remove this one"
    )]
    Owner { path: PathBuf, found: u32, expected: u32 },
    #[error("state directory {path} can be written by others (mode {mode:04o}); run `chmod go-w {path}`")]
    Writable { path: PathBuf, mode: u32 },
    #[error(
        "{path} would be {length} bytes long, and of a file in the state directory {MAX_LENGTH} are read"
    )]
    TooLong { path: PathBuf, length: u64 },
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

/// A directory of mode 0700 that belongs to one user.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    directory: OwnedFd,
    owner: Identity,
}

/// Holds a lock of the state directory until it is dropped, or its process is gone.
#[derive(Debug)]
#[must_use = "the lock ends when this is dropped"]
pub(crate) struct Lock(OwnedFd);

impl AsFd for Lock {
    /// Returns what is locked: whoever has a copy keeps the lock, too.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether whoever holds a file is still there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Holder {
    /// A process holds it.
    Lives,
    /// None does.
    Gone,
    /// The file system has no locks.
    Unknown,
}

/// A file that somebody may hold.
#[derive(Debug)]
pub(crate) struct HeldFile {
    file: File,
    path: PathBuf,
    pub(crate) holder: Holder,
}

/// The longest file that is written or read. What an agent makes may be remembered in one, so a longer one is an error: nobody takes what is
/// missing for what was not there.
const MAX_LENGTH: u64 = 64 << 20;

/// How long root waits for a lock in a directory of a user's, who could hold it for ever, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(10);

impl StateDir {
    /// Opens the directory, making it and its parents with mode 0700 where they are missing.
    ///
    /// `owner` is the user it must belong to: the caller. Root may act for somebody else, as it does under
    /// sudo; it then has the rights of that user, and what it makes is theirs.
    pub fn open(path: &Path, owner: Identity) -> Result<Self, StateError> {
        let _acting = ActingAs::user(owner).map_err(|source| failed("open", path, source))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || {
            rustix::fs::openat(follow::open(CWD, path)?, ".", flags, Mode::empty()).map_err(io::Error::from)
        };
        let directory = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make::directory(path, 0o700).map_err(|source| failed("make", path, source))?;
                open()
            }
            opened => opened,
        }
        .map_err(|source| failed("open", path, source))?;
        let stat = rustix::fs::fstat(&directory).map_err(|errno| failed("stat", path, errno.into()))?;
        if stat.st_uid != owner.uid {
            return Err(StateError::Owner { path: path.into(), found: stat.st_uid, expected: owner.uid });
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(StateError::Writable { path: path.into(), mode: stat.st_mode & 0o7777 });
        }
        Ok(Self { path: path.into(), directory, owner })
    }

    /// Opens a directory within this one, for one kind of thing.
    pub(crate) fn within(&self, name: &str) -> Result<Self, StateError> {
        Self::open(&self.path.join(name), self.owner)
    }

    /// Opens a directory within this one; `None` where there is none. Links are not followed.
    pub(crate) fn existing_within(&self, name: &str) -> Result<Option<Self>, StateError> {
        let _acting = self.acting(name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.directory, name, flags, Mode::empty()) {
            Ok(directory) => Ok(Some(Self { path: self.path.join(name), directory, owner: self.owner })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed("open", name, errno.into())),
        }
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whose directory it is.
    pub(crate) fn owner(&self) -> Identity {
        self.owner
    }

    /// Takes the rights of its owner: everything in it is done with them.
    fn acting(&self, name: &str) -> Result<ActingAs, StateError> {
        ActingAs::user(self.owner).map_err(|source| self.failed("open", name, source))
    }

    /// Lists the names of the files in it; none where it has been removed.
    pub(crate) fn names(&self) -> Result<Vec<String>, StateError> {
        let failed = |errno: Errno| failed("list", &self.path, errno.into());
        let mut names = Vec::new();
        let entries = match rustix::fs::Dir::read_from(&self.directory) {
            Err(Errno::NOENT) => return Ok(names),
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            // What is not UTF-8 is not ours.
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str() {
                if name != "." && name != ".." {
                    names.push(name.to_owned());
                }
            }
        }
        Ok(names)
    }

    /// Reads a file; `None` where there is none. Links are not followed.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StateError> {
        let _acting = self.acting(name)?;
        let file = self.existing(name)?;
        file.map(|file| content(&file)).transpose().map_err(|source| self.failed("read", name, source))
    }

    /// Opens a file that somebody may hold, see [`StateDir::write_held`]; `None` where there is none.
    pub(crate) fn open_held(&self, name: &str) -> Result<Option<HeldFile>, StateError> {
        let _acting = self.acting(name)?;
        let file = self.existing(name)?;
        Ok(file.map(|file| HeldFile { holder: holder(&file), path: self.path.join(name), file }))
    }

    /// Returns whether somebody holds a file, see [`StateDir::write_held`].
    pub(crate) fn is_held(&self, name: &str) -> Result<bool, StateError> {
        let _acting = self.acting(name)?;
        Ok(self.existing(name)?.is_some_and(|file| matches!(holder(&file), Holder::Lives)))
    }

    /// Opens a file that is there, and follows no link.
    fn existing(&self, name: &str) -> Result<Option<File>, StateError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.directory, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed("open", name, errno.into())),
        }
    }

    /// Replaces a file as a whole: whoever reads it sees the old content or the new.
    ///
    /// It is not forced to disk, which would hold up each start. A power failure may leave a new file empty: a record that cannot be read
    /// is set aside and named, and trust that is lost is asked for again.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), StateError> {
        self.replace(name, content, |_| Ok(()))
    }

    /// Writes a file like [`Self::write`], and holds it until the lock is dropped or its process is gone, however it
    /// ends. Whoever reads it, in whatever namespace, sees whether it is held.
    pub(crate) fn write_held(&self, name: &str, content: &[u8]) -> Result<Lock, StateError> {
        // Before it has its name nobody else can hold it. Where there are no locks, readers see that. The lock is that of a
        // file which can only be read: whoever it is passed on to cannot change what it says.
        let hold = |draft: &str| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.directory, draft, flags, Mode::empty())?;
            let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
            Ok(file)
        };
        self.replace(name, content, hold).map(Lock)
    }

    fn replace<T>(
        &self,
        name: &str,
        content: &[u8],
        before: impl FnOnce(&str) -> io::Result<T>,
    ) -> Result<T, StateError> {
        let length = content.len() as u64;
        if length > MAX_LENGTH {
            return Err(StateError::TooLong { path: self.path.join(name), length });
        }
        let _acting = self.acting(name)?;
        let draft = draft_name(name);
        let write = || -> io::Result<T> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.directory, &draft, flags, Mode::RUSR | Mode::WUSR)?;
            let held = before(&draft)?;
            File::from(file).write_all(content)?;
            rustix::fs::renameat(&self.directory, &draft, &self.directory, name)?;
            Ok(held)
        };
        write().map_err(|source| {
            // The draft is of no use; that it cannot be removed adds nothing to why it could not be written.
            let _ = rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty());
            self.failed("write", name, source)
        })
    }

    /// Opens a file to write in it; it is made where there is none. Links are not followed.
    pub(crate) fn open_or_make(&self, name: &str) -> Result<File, StateError> {
        let _acting = self.acting(name)?;
        let file = small_file::open_to_write(&self.directory, name, OFlags::WRONLY);
        file.map(File::from).map_err(|source| self.failed("open", name, source))
    }

    /// Opens a file to read and to write in it; it is made where there is none. Links are not followed.
    pub(crate) fn open_or_make_to_change(&self, name: &str) -> Result<File, StateError> {
        let _acting = self.acting(name)?;
        let file = small_file::open_to_write(&self.directory, name, OFlags::RDWR);
        file.map(File::from).map_err(|source| self.failed("open", name, source))
    }

    /// Opens a file that is there to write in it; `None` where there is none. Links are not followed.
    pub(crate) fn open_existing_to_write(&self, name: &str) -> Result<Option<File>, StateError> {
        let _acting = self.acting(name)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.directory, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed("open", name, errno.into())),
        }
    }

    /// Gives a file another name, in the place of whatever has that.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), StateError> {
        let _acting = self.acting(from)?;
        rustix::fs::renameat(&self.directory, from, &self.directory, to)
            .map_err(|errno| self.failed("rename", from, errno.into()))
    }

    /// Makes an empty file to read and to write in. One that is there already is an error.
    pub(crate) fn create_new(&self, name: &str) -> Result<File, StateError> {
        let _acting = self.acting(name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)
            .map(File::from)
            .map_err(|errno| self.failed("create", name, errno.into()))
    }

    /// Opens a file to read it; `None` where there is none. Links are not followed.
    pub(crate) fn open_existing(&self, name: &str) -> Result<Option<File>, StateError> {
        let _acting = self.acting(name)?;
        self.existing(name)
    }

    /// Moves whatever has this name into a directory within this one, and says where it is.
    pub(crate) fn set_aside(&self, name: &str, within: &str) -> Result<PathBuf, StateError> {
        let aside = self.within(within)?;
        let _acting = self.acting(name)?;
        rustix::fs::renameat(&self.directory, name, &aside.directory, name)
            .map_err(|errno| self.failed("move aside", name, errno.into()))?;
        Ok(aside.path.join(name))
    }

    /// Opens a directory within this one for passing through; it is made with this mode where there is none. Links are not
    /// followed.
    pub(crate) fn directory(&self, name: &str, mode: Mode) -> Result<OwnedFd, StateError> {
        let _acting = self.acting(name)?;
        match rustix::fs::mkdirat(&self.directory, name, mode) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.failed("make", name, errno.into())),
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.directory, name, flags, Mode::empty())
            .map_err(|errno| self.failed("open", name, errno.into()))
    }

    /// Removes an empty directory within this one; that it is gone already is fine.
    pub(crate) fn remove_directory(&self, name: &str) -> Result<(), StateError> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    /// Removes a file; that it is gone already is fine.
    pub(crate) fn remove(&self, name: &str) -> Result<(), StateError> {
        self.unlink(name, AtFlags::empty())
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<(), StateError> {
        let _acting = self.acting(name)?;
        match rustix::fs::unlinkat(&self.directory, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.failed("remove", name, errno.into())),
        }
    }

    /// Waits for the lock of this name.
    pub(crate) fn lock(&self, name: &str) -> Result<Lock, StateError> {
        let _acting = self.acting(name)?;
        let is_anothers = geteuid().is_root() && self.owner.uid != 0;
        let lock = || -> io::Result<OwnedFd> {
            let file = small_file::open_to_write(&self.directory, name, OFlags::RDWR)?;
            if is_anothers {
                wait_for_lock(&file, PATIENCE)?;
            } else {
                rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
            }
            Ok(file)
        };
        lock().map(Lock).map_err(|source| self.failed("lock", name, source))
    }

    /// Describes what has failed with a file in it.
    pub(crate) fn failed(&self, action: &'static str, name: &str, source: io::Error) -> StateError {
        failed(action, &self.path.join(name), source)
    }
}

impl HeldFile {
    /// Returns where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it; `None` where its holder has just removed it.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, StateError> {
        let content = content(&self.file).map_err(|source| failed("read", &self.path, source))?;
        self.unless_removed(content)
    }

    /// Reads its first bytes, as many at most; `None` where its holder has just removed it.
    pub(crate) fn read_start(&self, length: usize) -> Result<Option<Vec<u8>>, StateError> {
        let mut start = vec![0; length];
        let read = self.file.read_at(&mut start, 0);
        start.truncate(read.map_err(|source| failed("read", &self.path, source))?);
        self.unless_removed(start)
    }

    fn unless_removed(&self, content: Vec<u8>) -> Result<Option<Vec<u8>>, StateError> {
        let stat = rustix::fs::fstat(&self.file).map_err(|errno| failed("stat", &self.path, errno.into()))?;
        Ok((stat.st_nlink > 0).then_some(content))
    }
}

impl AsFd for StateDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// Reads the content of a file from its start. One that is too long is an error.
fn content(mut file: &File) -> io::Result<Vec<u8>> {
    // Room for all of it and a byte more, or it would be read in many small parts.
    let length = rustix::fs::fstat(file).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or_default());
    let mut content = Vec::with_capacity(usize::try_from(length.min(MAX_LENGTH) + 1).unwrap_or_default());
    file.rewind()?;
    file.take(MAX_LENGTH + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_LENGTH {
        let error = format!("it is longer than {MAX_LENGTH} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(content)
}

/// Returns whether somebody holds a file.
fn holder(file: &File) -> Holder {
    match rustix::io::retry_on_intr(|| rustix::fs::flock(file, FlockOperation::NonBlockingLockShared)) {
        Ok(()) => Holder::Gone,
        Err(Errno::WOULDBLOCK) => Holder::Lives,
        // A file system without locks.
        Err(_) => Holder::Unknown,
    }
}

/// Returns the process that wrote an unfinished draft, if the file is one.
pub(crate) fn draft_writer(name: &str) -> Option<u32> {
    name.strip_prefix('.')?.strip_suffix(".draft")?.rsplit('.').nth(1)?.parse().ok()
}

/// Takes a lock that a user may hold who is not this process's: for a while only.
fn wait_for_lock(file: &OwnedFd, patience: Duration) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() < patience => std::thread::sleep(GLANCE),
            Err(Errno::WOULDBLOCK) => {
                let held = format!(
                    "another process has held it for {} seconds; `lslocks` says which, and it has to end first",
                    patience.as_secs()
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, held));
            }
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

fn draft_name(name: &str) -> String {
    // Threads of one process write at the same time, too.
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!(".{name}.{}.{count}.draft", std::process::id())
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> StateError {
    StateError::File { action, path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    const USER: Identity = Identity { uid: 1001, gid: 1001 };

    fn permissions(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn root_makes_nothing_behind_a_link_of_another_user() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let (own, link) = (top.path().join("own"), top.path().join("link"));
        fs::create_dir(&own).unwrap();
        symlink(&own, &link).unwrap();
        StateDir::open(&link.join("a/state"), Identity::own()).unwrap();
        assert_eq!(permissions(&own.join("a/state")), 0o700, "the control: root's own link");
        std::os::unix::fs::lchown(&link, Some(USER.uid), Some(USER.gid)).unwrap();
        for name in ["a/state", "b/state"] {
            let error = StateDir::open(&link.join(name), Identity::own()).unwrap_err();
            assert!(error.to_string().contains("is a link of uid 1001"), "{error}");
        }
        assert!(!own.join("b").exists());
    }

    #[test]
    fn makes_every_missing_directory_for_its_owner_alone() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b/state");
        StateDir::open(&path, Identity::own()).unwrap();
        assert_eq!(permissions(&path), 0o700);
        assert_eq!(permissions(&top.path().join("a")), 0o700);
    }

    #[test]
    fn refuses_a_directory_that_others_can_write() {
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), Permissions::from_mode(0o770)).unwrap();
        let error = StateDir::open(top.path(), Identity::own()).unwrap_err();
        assert!(matches!(error, StateError::Writable { mode: 0o770, .. }), "{error}");
        assert!(error.to_string().contains("chmod go-w"));
    }

    #[test]
    fn refuses_a_directory_of_somebody_else() {
        let top = tempfile::tempdir().unwrap();
        let error = StateDir::open(top.path(), Identity { uid: Identity::own().uid + 1, ..Identity::own() })
            .unwrap_err();
        assert!(matches!(error, StateError::Owner { .. }), "{error}");
    }

    #[test]
    fn what_root_makes_for_somebody_belongs_to_them() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(top.path(), Some(USER.uid), None).unwrap();
        let path = top.path().join("state/deep");
        let state = StateDir::open(&path, USER).unwrap();
        state.write("file", b"x").unwrap();
        for path in [path.parent().unwrap(), &path, &path.join("file")] {
            assert_eq!(fs::metadata(path).unwrap().uid(), 1001, "{}", path.display());
        }
    }

    #[test]
    fn root_does_not_wait_for_a_lock_of_a_users_for_ever() {
        let top = tempfile::tempdir().unwrap();
        let open = || OwnedFd::from(File::create(top.path().join("lock")).unwrap());
        wait_for_lock(&open(), Duration::ZERO).unwrap();
        let (held, wanted) = (open(), open());
        rustix::fs::flock(&held, FlockOperation::LockExclusive).unwrap();
        let error = wait_for_lock(&wanted, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("`lslocks` says which"), "{error}");
        drop(held);
        wait_for_lock(&wanted, Duration::ZERO).unwrap();
    }

    #[test]
    fn where_somebody_may_not_write_root_does_not_write_for_them() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let (top, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::chown(theirs.path(), Some(USER.uid), None).unwrap();
        symlink(top.path(), theirs.path().join("state")).unwrap();
        let error = StateDir::open(&theirs.path().join("state/sandboxctl"), USER).unwrap_err();
        assert!(error.to_string().contains("ermission denied"), "{error}");
        assert!(!top.path().join("sandboxctl").exists());
        assert!(rustix::process::geteuid().is_root());
        fs::write(top.path().join("still root's"), "").unwrap();
    }

    #[test]
    fn a_written_file_is_private_and_replaces_the_old_one() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(&top.path().join("s"), Identity::own()).unwrap();
        assert_eq!(state.read("f").unwrap(), None);
        state.write("f", b"one").unwrap();
        state.write("f", b"two").unwrap();
        assert_eq!(state.read("f").unwrap().unwrap(), b"two");
        assert_eq!(permissions(&top.path().join("s/f")), 0o600);
        assert_eq!(state.names().unwrap(), ["f"]);
        state.remove("f").unwrap();
        state.remove("f").unwrap();
    }

    #[test]
    fn what_is_too_long_to_be_read_is_not_written_and_an_error_where_it_lies() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(&top.path().join("s"), Identity::own()).unwrap();
        let longest = usize::try_from(MAX_LENGTH).unwrap();
        let mut content = vec![b'x'; longest];
        state.write("f", &content).unwrap();
        assert_eq!(state.read("f").unwrap().unwrap().len(), longest, "the control");
        content.push(b'x');
        for error in [state.write("f", &content).unwrap_err(), state.write_held("f", &content).unwrap_err()] {
            assert!(matches!(error, StateError::TooLong { length, .. } if length > MAX_LENGTH), "{error}");
        }
        assert_eq!(state.names().unwrap(), ["f"]);
        File::options().write(true).open(top.path().join("s/f")).unwrap().set_len(MAX_LENGTH + 1).unwrap();
        let error = state.read("f").unwrap_err();
        assert!(error.to_string().contains("it is longer than"), "{error}");
        assert!(state.open_held("f").unwrap().unwrap().read().is_err());
    }

    #[test]
    fn does_not_read_through_a_link() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(&top.path().join("s"), Identity::own()).unwrap();
        symlink("/etc/passwd", top.path().join("s/f")).unwrap();
        assert!(state.read("f").is_err());
    }

    #[test]
    fn the_writer_of_a_draft_is_known() {
        assert_eq!(draft_writer(&draft_name("run.json")), Some(std::process::id()));
        assert_eq!(draft_writer("run.json"), None);
    }
}
