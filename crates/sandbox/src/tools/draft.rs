//! Drafts: temporary files that come into place complete and with their permissions, or not at all.
//!
//! A draft has no name while it is written (`O_TMPFILE`), so a writer that is killed leaves nothing. A new file then gets its own name, which
//! must be free. To replace one, the draft gets a name beside it and the two are exchanged, so that what was replaced can be compared with
//! what was read: where that differs, they are exchanged again. The name of a draft says which process has made it, and the next writer in
//! the directory removes what dead ones have left.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use policy::query::FileKind;
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, RenameFlags, Stat, fchmod, flock, linkat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::place::Opened;
use crate::state::client::Client;

/// How many names are tried.
const TRIES: u32 = 16;

/// How many names of a directory are looked at for drafts of dead processes.
const MAX_NAMES: usize = 4096;

/// How long a writer waits for others in the directory. An agent can keep them waiting, so after it they go on: what an exchange brings out
/// shows what somebody else has written.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is to be written, and where.
pub(super) struct Draft<'d> {
    pub(super) directory: BorrowedFd<'d>,
    pub(super) name: &'d OsStr,
    pub(super) content: &'d [u8],
    pub(super) replaces: Option<Replaced<'d>>,
}

/// The file that a draft replaces.
pub(super) struct Replaced<'d> {
    pub(super) file: &'d Opened,
    /// What was read of it, where the new content was made from that.
    pub(super) content: Option<&'d [u8]>,
}

/// Whether a draft is in its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Put {
    Placed,
    /// Somebody else has changed what is there.
    Changed,
}

/// A temporary file.
struct Temporary<'d> {
    directory: BorrowedFd<'d>,
    file: File,
    /// What has to be removed.
    name: Option<OsString>,
}

impl Draft<'_> {
    /// Writes the draft, and puts it into its place.
    pub(super) fn put(&self) -> io::Result<Put> {
        let listing =
            openat(self.directory, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        // Who may not read the directory may still write in it.
        let _locked = listing.ok().inspect(|listing| {
            lock(listing);
            remove_dead(listing);
        });
        if !self.is_unchanged()? {
            return Ok(Put::Changed);
        }
        let mut temporary = Temporary::new(self.directory, self.mode())?;
        temporary.file.write_all(self.content)?;
        match &self.replaces {
            None => self.add(&mut temporary),
            Some(replaced) => {
                // Without its set-id bits: what is new is somebody else's content.
                fchmod(&temporary.file, Mode::from_raw_mode(replaced.file.stat.st_mode & 0o777))?;
                self.exchange(&mut temporary, replaced)
            }
        }
    }

    /// Returns the permissions of the draft while it is written: none for anybody else, where the file that it replaces may have none.
    fn mode(&self) -> Mode {
        match &self.replaces {
            Some(replaced) => Mode::from_raw_mode(replaced.file.stat.st_mode & 0o700 | 0o200),
            // What the caller's umask leaves of it.
            None => Mode::from_raw_mode(0o666),
        }
    }

    /// Returns whether what is at the name is what was there.
    fn is_unchanged(&self) -> Result<bool, Errno> {
        let now = match statat(self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) => Some(now),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno),
        };
        let version = |stat: &Stat| {
            (stat.st_dev, stat.st_ino, stat.st_ctime, stat.st_ctime_nsec, content_version(stat))
        };
        Ok(now.as_ref().map(version) == self.replaces.as_ref().map(|replaced| version(&replaced.file.stat)))
    }

    /// Gives a new file its name, which nothing else must have.
    fn add(&self, temporary: &mut Temporary<'_>) -> io::Result<Put> {
        let added = match &temporary.name {
            None => temporary.link(self.name),
            Some(draft) => {
                renameat_with(self.directory, draft, self.directory, self.name, RenameFlags::NOREPLACE)
            }
        };
        match added {
            Ok(()) => {
                temporary.name = None;
                Ok(Put::Placed)
            }
            Err(Errno::EXIST) => Ok(Put::Changed),
            // This file system has no such call.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => self.rename(temporary),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Exchanges the draft and the file that it replaces.
    fn exchange(&self, temporary: &mut Temporary<'_>, replaced: &Replaced<'_>) -> io::Result<Put> {
        let draft = temporary.named()?.to_owned();
        let (directory, name) = (self.directory, self.name);
        let exchange = || renameat_with(directory, &draft, directory, name, RenameFlags::EXCHANGE);
        match exchange() {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Put::Changed),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return self.rename(temporary),
            Err(errno) => return Err(errno.into()),
        }
        let is_same = self.is_what_was_read(&draft, replaced);
        if matches!(is_same, Ok(true)) {
            return Ok(Put::Placed);
        }
        // What has come out is somebody else's, and stays if it cannot go back.
        temporary.name = None;
        exchange()?;
        // Now the draft comes out, unless somebody has replaced that, too: then theirs is the newest.
        let came_out = statat(self.directory, &draft, AtFlags::SYMLINK_NOFOLLOW)?;
        let own = rustix::fs::fstat(&temporary.file)?;
        if (came_out.st_dev, came_out.st_ino) != (own.st_dev, own.st_ino) {
            exchange()?;
        }
        temporary.name = Some(draft);
        is_same.map(|_| Put::Changed)
    }

    /// Returns whether a file that has come out of an exchange has the content that was read.
    fn is_what_was_read(&self, draft: &OsStr, replaced: &Replaced<'_>) -> io::Result<bool> {
        let came_out = match Opened::at(self.directory, draft) {
            Ok(came_out) => came_out,
            // Somebody has removed it, and the draft is in its place.
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        };
        // An exchange changes when the inode was changed, and copying it up in an overlay its number.
        if came_out.kind() != FileKind::File
            || content_version(&came_out.stat) != content_version(&replaced.file.stat)
        {
            return Ok(false);
        }
        // Whoever has written the same number of bytes within one tick of the clock has left no other trace.
        let Some(content) = replaced.content else { return Ok(true) };
        let mut there = Vec::with_capacity(content.len() + 1);
        came_out.reader()?.take(content.len() as u64 + 1).read_to_end(&mut there)?;
        Ok(there == content)
    }

    /// Renames the draft over what is there, if that is what was there, where a file system has no better way.
    fn rename(&self, temporary: &mut Temporary<'_>) -> io::Result<Put> {
        let draft = temporary.named()?.to_owned();
        if !self.is_unchanged()? {
            return Ok(Put::Changed);
        }
        renameat(self.directory, &draft, self.directory, self.name)?;
        temporary.name = None;
        Ok(Put::Placed)
    }
}

/// Returns what of a file changes with its content.
fn content_version(stat: &Stat) -> impl PartialEq + use<> {
    (stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_mode)
}

impl<'d> Temporary<'d> {
    /// Makes one: without a name, where the file system can.
    fn new(directory: BorrowedFd<'d>, mode: Mode) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        match openat(directory, c".", flags, mode) {
            Ok(file) => Ok(Self { directory, file: file.into(), name: None }),
            Err(Errno::NOTSUP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                Self::with_name(directory, mode)
            }
            Err(errno) => Err(errno),
        }
    }

    fn with_name(directory: BorrowedFd<'d>, mode: Mode) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (file, name) = with_free_name(|name| openat(directory, name, flags, mode))?;
        Ok(Self { directory, file: file.into(), name: Some(name) })
    }

    /// Returns its name, which it gets if it has none.
    fn named(&mut self) -> Result<&OsStr, Errno> {
        let name = match self.name.take() {
            Some(name) => name,
            None => with_free_name(|name| self.link(name))?.1,
        };
        Ok(self.name.insert(name))
    }

    /// Gives it a name. A link to what `/proc` shows needs no capability, as one to the descriptor does.
    fn link(&self, name: &OsStr) -> Result<(), Errno> {
        let itself = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, itself, self.directory, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

/// Does something with names for drafts until one is free.
fn with_free_name<T>(mut with: impl FnMut(&OsStr) -> Result<T, Errno>) -> Result<(T, OsString), Errno> {
    for _ in 0..TRIES {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name = OsString::from(name(u64::from_ne_bytes(random))?);
        match with(&name) {
            Err(Errno::EXIST) => {}
            done => return done.map(|done| (done, name)),
        }
    }
    Err(Errno::EXIST)
}

/// Returns the name of a draft of this process.
fn name(random: u64) -> Result<String, Errno> {
    static THIS: OnceLock<Option<String>> = OnceLock::new();
    // Not every file system takes a colon.
    let this = THIS.get_or_init(|| Some(Client::this().ok()?.to_string().replace(':', "-")));
    let this = this.as_ref().ok_or(Errno::SRCH)?;
    Ok(format!(".{this}-{random:016x}.draft"))
}

/// Returns the process that has made a draft, by its name; nothing where this is no name of a draft.
fn writer(name: &CStr) -> Option<Client> {
    let name = name.to_str().ok()?.strip_prefix('.')?.strip_suffix(".draft")?;
    let (client, random) = name.rsplit_once('-')?;
    let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    client.replace('-', ":").parse().ok().filter(|_| is_random)
}

/// Waits until no other tool writes in a directory.
fn lock(listing: &OwnedFd) {
    let until = Instant::now() + PATIENCE;
    while flock(listing, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        && Instant::now() < until
    {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Removes drafts of dead processes from a directory.
fn remove_dead(listing: &OwnedFd) {
    let Ok(entries) = Dir::read_from(listing) else { return };
    for entry in entries.take(MAX_NAMES).map_while(Result::ok) {
        if writer(entry.file_name()).is_some_and(|writer| writer.is_dead()) {
            let _ = unlinkat(listing.as_fd(), entry.file_name(), AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    fn put(directory: &Path, name: &str, content: &[u8], read: Option<(&Opened, &[u8])>) -> Put {
        let opened = File::open(directory).unwrap();
        let replaces = read.map(|(file, content)| Replaced { file, content: Some(content) });
        let draft = Draft { directory: opened.as_fd(), name: OsStr::new(name), content, replaces };
        draft.put().unwrap()
    }

    fn held(directory: &Path, name: &str) -> Opened {
        Opened::at(File::open(directory).unwrap(), OsStr::new(name)).unwrap()
    }

    fn names(directory: &Path) -> BTreeSet<String> {
        let names = std::fs::read_dir(directory).unwrap();
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_new_file_is_seen_under_its_own_name_and_whole() {
        let directory = tempfile::tempdir().unwrap();
        let content = vec![b'x'; 4 << 20];
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 0..20 {
                    assert_eq!(put(directory.path(), &number.to_string(), &content, None), Put::Placed);
                }
            });
            while !writer.is_finished() {
                for name in names(directory.path()) {
                    assert!(name.parse::<u32>().is_ok(), "{name}");
                    assert_eq!(directory.path().join(name).metadata().unwrap().len(), content.len() as u64);
                }
            }
        });
        assert_eq!(names(directory.path()).len(), 20);
        assert_eq!(put(directory.path(), "0", b"y", None), Put::Changed, "it is there already");
    }

    /// Covers file systems that have no files without a name, and those that exchange none.
    #[test]
    fn a_draft_with_a_name_comes_into_place_and_leaves_none() {
        let directory = tempfile::tempdir().unwrap();
        let opened = File::open(directory.path()).unwrap();
        let mut temporary = Temporary::with_name(opened.as_fd(), Mode::RWXU).unwrap();
        temporary.file.write_all(b"new").unwrap();
        let name = OsStr::new("file");
        let draft = Draft { directory: opened.as_fd(), name, content: b"new", replaces: None };
        assert_eq!(draft.add(&mut temporary).unwrap(), Put::Placed);
        drop(temporary);
        assert_eq!(names(directory.path()), BTreeSet::from(["file".to_owned()]));
        let put = |file: &Opened, how: fn(&Draft<'_>, &mut Temporary<'_>) -> io::Result<Put>| {
            let replaces = Some(Replaced { file, content: Some(b"new") });
            let mut temporary = Temporary::with_name(opened.as_fd(), Mode::RWXU).unwrap();
            temporary.file.write_all(b"new").unwrap();
            how(&Draft { directory: opened.as_fd(), name, content: b"new", replaces }, &mut temporary)
                .unwrap()
        };
        let exchange = |draft: &Draft<'_>, temporary: &mut Temporary<'_>| {
            draft.exchange(temporary, draft.replaces.as_ref().unwrap())
        };
        let rename = |draft: &Draft<'_>, temporary: &mut Temporary<'_>| draft.rename(temporary);
        assert_eq!(put(&held(directory.path(), "file"), exchange), Put::Placed);
        let file = held(directory.path(), "file");
        assert_eq!(put(&file, rename), Put::Placed);
        assert_eq!(put(&file, rename), Put::Changed, "it is another one by now");
        assert_eq!(names(directory.path()), BTreeSet::from(["file".to_owned()]));
    }

    #[test]
    fn what_somebody_else_has_written_since_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "first").unwrap();
        let file = held(directory.path(), "file");
        assert_eq!(put(directory.path(), "file", b"mine", Some((&file, b"first"))), Put::Placed);
        assert_eq!(put(directory.path(), "file", b"again", Some((&file, b"first"))), Put::Changed);
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        // What was read is not what is there, though nothing else shows it.
        let file = held(directory.path(), "file");
        assert_eq!(put(directory.path(), "file", b"again", Some((&file, b"MINE"))), Put::Changed);
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        assert_eq!(names(directory.path()), BTreeSet::from(["file".to_owned()]));
    }

    #[test]
    fn of_many_that_count_at_once_none_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("count");
        std::fs::write(&path, "0000").unwrap();
        let count = || {
            loop {
                let file = held(directory.path(), "count");
                let mut text = String::new();
                file.reader().unwrap().read_to_string(&mut text).unwrap();
                let next = format!("{:04}", text.parse::<u32>().unwrap() + 1);
                if put(directory.path(), "count", next.as_bytes(), Some((&file, text.as_bytes())))
                    == Put::Placed
                {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..25).for_each(|_| count()));
            }
        });
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0200");
        assert_eq!(names(directory.path()).len(), 1);
    }

    #[test]
    fn drafts_of_dead_processes_are_removed_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let this = Client::this().unwrap();
        let name =
            |client: Client| format!(".{}-0123456789abcdef.draft", client.to_string().replace(':', "-"));
        let elsewhere = Client { pid_namespace: this.pid_namespace + 1, pid: u32::MAX, ..this };
        let kept = [
            name(this),
            name(elsewhere),
            ".0123456789abcdef.draft".to_owned(),
            name(this).replace("0123456789abcdef", "0123"),
        ];
        let dead = [
            name(Client { start_time: this.start_time + 1, ..this }),
            name(Client { pid: 4_194_305, ..this }),
        ];
        for name in kept.iter().chain(&dead) {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        put(directory.path(), "new", b"x", None);
        let mut expected = BTreeSet::from(kept);
        expected.insert("new".to_owned());
        assert_eq!(names(directory.path()), expected);
    }

    #[test]
    fn a_file_keeps_its_permissions_but_no_set_id_bits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for mode in [0o4755, 0o600, 0o644, 0o200] {
            std::fs::write(&path, "old").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let file = held(directory.path(), "file");
            let opened = File::open(directory.path()).unwrap();
            let replaces = Some(Replaced { file: &file, content: None });
            let draft =
                Draft { directory: opened.as_fd(), name: OsStr::new("file"), content: b"new", replaces };
            assert_eq!(draft.put().unwrap(), Put::Placed);
            let now = path.metadata().unwrap().permissions().mode();
            assert_eq!(now & 0o7777, mode & 0o777, "{mode:o}");
            std::fs::remove_file(&path).unwrap();
        }
    }
}
