//! Files that are read, shown to somebody and replaced once they agree: by the directory in which they were found, whatever their path
//! leads to by then.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::host::beneath;
use crate::host::follow;
use crate::host::make;
use crate::host::small_file;

/// A file to be replaced, which may not be there yet.
#[derive(Debug)]
pub struct ReplacedFile {
    /// The innermost directory that is there, and those in it that are to be made.
    directory: OwnedFd,
    missing: Vec<OsString>,
    name: OsString,
    path: PathBuf,
    there: Option<There>,
}

/// What is there.
#[derive(Debug)]
struct There {
    file: OwnedFd,
    stat: Stat,
}

impl ReplacedFile {
    /// Finds a file, with the rights that this thread has. Links are followed as far as `follow` goes; one that leads nowhere is an error
    /// that says so, because what its target will be is for others to say.
    pub fn find(path: &Path) -> io::Result<Self> {
        match follow::open(CWD, path) {
            Ok(file) => Self::found(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::missing(path, error),
            Err(error) => Err(error),
        }
    }

    fn found(file: OwnedFd) -> io::Result<Self> {
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("no regular file"));
        }
        small_file::refuse_of_kernel(&file)?;
        let path = beneath::path_of(&file)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        // No link is on this way, unless somebody has put one there since.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let there = Some(There { file, stat });
        let found = Self { directory, missing: Vec::new(), name: name.to_owned(), path, there };
        found.check_unchanged(&found.directory)?;
        Ok(found)
    }

    fn missing(path: &Path, error: io::Error) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
        let (directory, missing) = make::existing(parent)?;
        let missing: Vec<_> = missing.into_iter().map(OsStr::to_owned).collect();
        let mut path = beneath::path_of(&directory)?;
        path.extend(missing.iter().map(OsString::as_os_str).chain([name]));
        let first = missing.first().map_or(name, OsString::as_os_str);
        if rustix::fs::statat(&directory, first, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(io::Error::other("it is, or its directory is, a link that leads nowhere"));
        }
        Ok(Self { directory, missing, name: name.to_owned(), path, there: None })
    }

    /// Returns where it is, without any link.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it for reading, if it is there.
    pub fn open(&self) -> io::Result<Option<File>> {
        let there = self.there.as_ref();
        Ok(there.map(|there| small_file::open_for_reading(&there.file)).transpose()?.map(File::from))
    }

    /// Replaces it as a whole, unless it was changed since it was found: whoever reads it sees the old content or the new one. It keeps
    /// its owner, its group and its permissions.
    pub fn replace(&self, content: &[u8]) -> io::Result<()> {
        let directory = self.directory.try_clone()?;
        let names = self.missing.iter().map(OsString::as_os_str);
        let directory = make::within(directory, names, Mode::RWXU | Mode::RWXG | Mode::RWXO)?;
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let draft = OsString::from(format!(".sandboxctl-{:016x}", u64::from_ne_bytes(random)));
        // A new one has the mode that the umask leaves; one that is there may be closed to others.
        let mode = Mode::from_raw_mode(if self.there.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&directory, &draft, flags, mode)?;
        let placed = self.write(file.into(), content).and_then(|()| self.place(&directory, &draft));
        if placed.is_err() {
            let _ = rustix::fs::unlinkat(&directory, &draft, AtFlags::empty());
        }
        placed
    }

    fn write(&self, mut draft: File, content: &[u8]) -> io::Result<()> {
        draft.write_all(content)?;
        if let Some(There { stat, .. }) = &self.there {
            let ours = draft.metadata()?;
            if (ours.uid(), ours.gid()) != (stat.st_uid, stat.st_gid) {
                fchown(&draft, Some(stat.st_uid), Some(stat.st_gid)).map_err(|error| {
                    io::Error::new(error.kind(), format!("its owner or group cannot be kept: {error}"))
                })?;
            }
            draft.set_permissions(Permissions::from_mode(stat.st_mode & 0o777))?;
        }
        draft.sync_all()
    }

    fn place(&self, directory: &OwnedFd, draft: &OsStr) -> io::Result<()> {
        // Nor is it written where nobody was told of. Where it leads is settled all the same: the directory stays what it was.
        if self.path.parent() != Some(&*beneath::path_of(directory)?) {
            return Err(changed());
        }
        self.check_unchanged(directory)?;
        let name = self.name.as_os_str();
        if self.there.is_some() {
            return Ok(rustix::fs::renameat(directory, draft, directory, name)?);
        }
        match rustix::fs::renameat_with(directory, draft, directory, name, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => Err(changed()),
            // This file system has no such call.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                Ok(rustix::fs::renameat(directory, draft, directory, name)?)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Checks that what is at the name is what was found.
    fn check_unchanged(&self, directory: impl AsFd) -> io::Result<()> {
        let now = match rustix::fs::statat(directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) => Some(now),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno.into()),
        };
        let version = |stat: &Stat| {
            (stat.st_dev, stat.st_ino, stat.st_ctime, stat.st_ctime_nsec, stat.st_mtime_nsec, stat.st_size)
        };
        if now.as_ref().map(version) == self.there.as_ref().map(|there| version(&there.stat)) {
            Ok(())
        } else {
            Err(changed())
        }
    }
}

fn changed() -> io::Error {
    io::Error::other("somebody has changed or exchanged it since it was read; look at it, and try again")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    /// Returns a directory without links on the way, with a directory `there` that has a file, and one `elsewhere` with another.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap();
        for name in ["there", "elsewhere"] {
            fs::create_dir(path.join(name)).unwrap();
            fs::write(path.join(name).join("file"), name).unwrap();
        }
        (top, path)
    }

    fn content(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_directory_that_is_exchanged_for_a_link_does_not_lead_elsewhere() {
        let (_top, top) = place();
        let found = ReplacedFile::find(&top.join("there/file")).unwrap();
        fs::rename(top.join("there"), top.join("moved")).unwrap();
        symlink("elsewhere", top.join("there")).unwrap();
        assert_eq!(content(&top.join("there/file")), "elsewhere", "the control: its path leads there");
        assert!(found.replace(b"new").is_err());
        for (name, unchanged) in [("elsewhere", "elsewhere"), ("moved", "there")] {
            assert_eq!(content(&top.join(name).join("file")), unchanged);
        }
        // The control: it is where it was again.
        fs::remove_file(top.join("there")).unwrap();
        fs::rename(top.join("moved"), top.join("there")).unwrap();
        found.replace(b"new").unwrap();
        assert_eq!(content(&top.join("there/file")), "new");
    }

    #[test]
    fn what_was_changed_since_is_not_replaced() {
        for (change, is_there) in [
            ("echo changed > file", true),
            ("rm file; echo other > file", true),
            ("rm file; ln -s ../elsewhere/file file", true),
            ("chmod 600 file", true),
            ("true", true),
            ("mkdir new; echo theirs > new/file", false),
            ("ln -s ../elsewhere new", false),
            ("mkdir new", false),
            ("true", false),
        ] {
            let (_top, top) = place();
            let found = ReplacedFile::find(&top.join(if is_there { "there/file" } else { "there/new/file" }))
                .unwrap();
            let done = std::process::Command::new("sh")
                .args(["-ec", change])
                .current_dir(top.join("there"))
                .status();
            assert!(done.unwrap().success(), "{change}");
            // The control: nothing of it has changed.
            let may = ["true", "mkdir new"].contains(&change);
            assert_eq!(found.replace(b"new").is_ok(), may, "{change}");
            assert_eq!(content(found.path()) == "new", may, "{change}");
            assert_eq!(content(&top.join("elsewhere/file")), "elsewhere", "{change}");
            let hidden = |name: &OsStr| name.to_string_lossy().starts_with('.');
            let left = fs::read_dir(found.path().parent().unwrap()).unwrap();
            assert!(left.into_iter().all(|entry| !hidden(&entry.unwrap().file_name())), "{change}: a draft");
        }
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_named_and_keeps_its_mode() {
        let (_top, top) = place();
        let (link, file) = (top.join("link"), top.join("there/file"));
        symlink("there/file", &link).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
        let found = ReplacedFile::find(&link).unwrap();
        assert_eq!(found.path(), file);
        let mut said = String::new();
        found.open().unwrap().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "there");
        found.replace(b"new").unwrap();
        assert_eq!(content(&file), "new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o664);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn what_leads_nowhere_or_to_no_file_is_refused() {
        let (_top, top) = place();
        for (name, target) in
            [("a", "b"), ("b", "a"), ("none", "new"), ("tree", "there"), ("kernel", "/proc/version")]
        {
            symlink(target, top.join(name)).unwrap();
        }
        for name in ["a", "none", "none/file", "tree", "kernel"] {
            assert!(ReplacedFile::find(&top.join(name)).is_err(), "{name}");
        }
        assert!(ReplacedFile::find(&top.join("tree/file")).is_ok(), "the control");
    }

    #[test]
    fn root_follows_no_link_of_another_user_and_gives_nothing_away() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let (_top, top) = place();
        symlink("elsewhere", top.join("link")).unwrap();
        assert!(ReplacedFile::find(&top.join("link/file")).is_ok(), "the control: a link of root's");
        lchown(top.join("link"), Some(1001), Some(1001)).unwrap();
        assert!(ReplacedFile::find(&top.join("link/file")).is_err());

        // A file of the user's keeps its owner; that of root's beside it does not become the user's.
        lchown(top.join("there/file"), Some(1001), Some(1001)).unwrap();
        let found = ReplacedFile::find(&top.join("there/file")).unwrap();
        found.replace(b"new").unwrap();
        assert_eq!(fs::metadata(top.join("there/file")).unwrap().uid(), 1001);
        let found = ReplacedFile::find(&top.join("there/file")).unwrap();
        fs::rename(top.join("there"), top.join("moved")).unwrap();
        symlink("elsewhere", top.join("there")).unwrap();
        assert!(found.replace(b"newer").is_err());
        assert_eq!(fs::metadata(top.join("elsewhere/file")).unwrap().uid(), 0);
    }
}
