//! Boundaries on the host: a path becomes a directory that may be shared, and stays that directory.
//!
//! Each path is resolved once, to a descriptor, and everything is decided on what that descriptor says: trust, whether
//! it may be shared, and what is mounted. While it is held, nobody can put another directory in its place without that
//! being seen: device and inode cannot be given to anything else.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use policy::plan::FileId;
use policy::rules::shared_dir::{Caller, PathKind, ShareCandidate, validate};
use policy::text::escape;
use rustix::fs::{CWD, FileType, Mode as Permissions, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::boundary::protect;
use crate::boundary::root::{Root, open_resolved};
use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::follow;
use crate::host::identity::Identity;

use super::error::{BoundaryError, failed};

/// Where a path leads, every link followed.
#[derive(Debug)]
pub enum Lead {
    /// To something that is there.
    Found(Found),
    /// To nothing yet, though only names are missing that could be made.
    Missing(Missing),
}

/// What a path led to. It is held open.
#[derive(Debug)]
pub struct Found {
    descriptor: OwnedFd,
    /// Its path without any link, as the kernel knows it.
    pub path: PathBuf,
    pub kind: PathKind,
    pub owner: Identity,
    pub file_id: FileId,
}

/// A path of which only the beginning exists.
#[derive(Debug)]
pub struct Missing {
    existing: Found,
    names: Vec<OsString>,
}

impl Lead {
    /// Follows a path as this user could. A link that leads nowhere is an error that says so, because what its target
    /// will be is for others to say.
    pub fn of(path: &Path, user: Identity) -> io::Result<Self> {
        let _acting = ActingAs::user(user)?;
        let mut names = Vec::new();
        for ancestor in path.ancestors() {
            match Found::at(ancestor) {
                Ok(existing) if names.is_empty() => return Ok(Self::Found(existing)),
                Ok(existing) => {
                    names.reverse();
                    return Ok(Self::Missing(Missing { existing, names }));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match ancestor.components().next_back() {
                        Some(Component::Normal(_)) if ancestor.symlink_metadata().is_ok() => {
                            return Err(io::Error::other(format!(
                                "`{}` is a link that leads nowhere",
                                escape::path(ancestor)
                            )));
                        }
                        Some(Component::Normal(name)) => names.push(name.to_owned()),
                        // `..` in what does not exist leads nobody knows where.
                        _ => break,
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Returns the same as [`Self::path`] of [`Self::of`], and holds nothing open. Most paths have no link, which one call tells.
    pub fn path_of(path: &Path, user: Identity) -> io::Result<PathBuf> {
        let acting = ActingAs::user(user)?;
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if path.is_absolute() && path.components().all(is_plain) {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            match rustix::fs::openat2(CWD, path, flags, Permissions::empty(), ResolveFlags::NO_SYMLINKS) {
                // Names are looked up one by one, and a link ends that with another error: none is before the one that is missing.
                Ok(_) | Err(Errno::NOENT) => return Ok(path.components().collect()),
                Err(_) => {}
            }
        }
        drop(acting);
        Self::of(path, user).map(|lead| lead.path())
    }

    /// Returns its path without any link; where it is missing, what it will be.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Found(found) => found.path.clone(),
            Self::Missing(missing) => missing.path(),
        }
    }
}

impl Found {
    /// Follows a path to something that is there.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::open(follow::open(CWD, path)?)?)
    }

    fn open(descriptor: OwnedFd) -> Result<Self, Errno> {
        let stat = rustix::fs::fstat(&descriptor)?;
        // What was removed in between has no name that could be compared with a rule.
        if stat.st_nlink == 0 {
            return Err(Errno::NOENT);
        }
        let path = beneath::path_of(&descriptor)?;
        Ok(Self {
            descriptor,
            path,
            kind: kind(&stat),
            owner: Identity { uid: stat.st_uid, gid: stat.st_gid },
            file_id: beneath::file_id(&stat),
        })
    }

    /// Returns whether git takes it for a repository by what lies right in it, as far as this user could see that.
    pub fn is_repository(&self, user: Identity) -> bool {
        let is_one = || protect::search::pointers::is_repository(self.descriptor.as_fd(), Path::new(""));
        // What cannot be examined might be one.
        self.kind == PathKind::Directory && ActingAs::user(user).map_or(true, |_acting| is_one())
    }

    /// Returns the repository of git's that it lies in without being the whole of it, where its files are the
    /// repository's own: hooks and configuration of a bare one. As far as this user could see that: what is said of it says what
    /// there is, and what is in its `HEAD`.
    pub fn enclosing_repository(&self, user: Identity) -> Option<PathBuf> {
        let Ok(_acting) = ActingAs::user(user) else { return self.path.parent().map(Path::to_owned) };
        self.path.ancestors().skip(1).find(|directory| is_repository(directory)).map(Path::to_owned)
    }

    /// Opens it again for reading, with the rights that this thread has.
    pub fn open_to_read(&self) -> io::Result<OwnedFd> {
        let again = format!("/proc/self/fd/{}", self.descriptor.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::open(again, flags, Permissions::empty())?)
    }
}

impl Missing {
    /// Returns what its path will be.
    pub fn path(&self) -> PathBuf {
        let mut path = self.existing.path.clone();
        path.extend(&self.names);
        path
    }

    /// Makes the directories beneath the one that was found, with mode 0755, as this user could: they are the owner. Root makes
    /// them as whoever owns that one, who could put a directory of root's in their place. No link is followed, and nothing is
    /// made where nothing may be shared.
    pub fn create(
        self,
        candidate: &ShareCandidate<'_>,
        caller: &Caller<'_>,
        owner: Identity,
    ) -> Result<Found, BoundaryError> {
        let resolved = self.path();
        validate(
            &ShareCandidate {
                resolved: &resolved,
                kind: PathKind::Directory,
                owner: caller.uid,
                ..*candidate
            },
            caller,
        )?;
        let failed_making = |source| failed("make", &resolved, source);
        let Self { existing: Found { descriptor: mut directory, mut path, .. }, names } = self;
        let around = directory.try_clone().and_then(|directory| Root::of(directory, owner));
        let owner = around.map_err(failed_making)?.user();
        let _acting = ActingAs::user(owner).map_err(failed_making)?;
        for name in names {
            path.push(&name);
            directory = make(&directory, &name, owner.uid)
                .map_err(|(action, errno)| failed(action, &path, errno.into()))?;
        }
        Found::open(directory).map_err(|errno| failed("open", &path, errno.into()))
    }
}

/// Makes one directory beneath another, as the user `owner`. That it is there already is fine.
fn make(parent: &OwnedFd, name: &OsStr, owner: u32) -> Result<OwnedFd, (&'static str, Errno)> {
    let made = match rustix::fs::mkdirat(parent, name, Permissions::from_raw_mode(0o755)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(("make", errno)),
    };
    let open = || -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let own = rustix::fs::openat(parent, name, flags, Permissions::empty())?;
        if made {
            // Whoever may write to the parent may have put another one there since.
            if rustix::fs::fstat(&own)?.st_uid != owner {
                return Err(Errno::PERM);
            }
            // The caller's umask has nothing to say about what everybody agreed to share.
            rustix::fs::fchmod(&own, Permissions::from_raw_mode(0o755))?;
        }
        Ok(own)
    };
    open().map_err(|errno| ("open", errno))
}

fn kind(stat: &Stat) -> PathKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => PathKind::Directory,
        FileType::RegularFile => PathKind::File,
        FileType::Socket => PathKind::Socket,
        FileType::Fifo => PathKind::Fifo,
        // Every link was followed, so it is none.
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Symlink | FileType::Unknown => {
            PathKind::Device
        }
    }
}

/// Returns whether git would take a directory for a repository by what lies right in it. The path had no link when it was found.
fn is_repository(directory: &Path) -> bool {
    open_resolved(directory)
        .is_ok_and(|directory| protect::search::pointers::is_repository(directory.as_fd(), Path::new("")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use policy::plan::{Boundary, BoundaryKind, BoundaryMode, Execution};

    use super::*;
    use crate::boundary::root::Root;

    const ROOT: Caller<'_> = Caller { uid: 0, homes: &[], other_homes: &[], allowed_root: None };

    fn own() -> Identity {
        Identity { uid: rustix::process::getuid().as_raw(), gid: rustix::process::getgid().as_raw() }
    }

    fn found(path: &Path) -> Found {
        match Lead::of(path, own()).unwrap() {
            Lead::Found(found) => found,
            Lead::Missing(missing) => panic!("{} is missing", missing.path().display()),
        }
    }

    fn create(path: &Path, owner: Identity) -> Result<Found, BoundaryError> {
        let candidate = ShareCandidate {
            given: path,
            resolved: path,
            kind: PathKind::Directory,
            owner: owner.uid,
            mode: BoundaryMode::ReadWrite,
        };
        match Lead::of(path, own()).map_err(|source| failed("resolve", path, source))? {
            Lead::Found(found) => Ok(found),
            Lead::Missing(missing) => missing.create(&candidate, &ROOT, owner),
        }
    }

    fn open(boundary: &Boundary) -> Result<Root, BoundaryError> {
        Root::open(boundary, own())
    }

    fn boundary(found: &Found) -> Boundary {
        Boundary {
            name: "workspace".into(),
            host: found.path.clone(),
            guest: "/workspace".into(),
            mode: BoundaryMode::ReadWrite,
            file_id: found.file_id,
            obeyed_as: None,
            worktrees: Vec::new(),
            tools: policy::plan::ToolRules::default(),
            hide: Vec::new(),
            execution: Execution::Allowed,
            kind: BoundaryKind::Directory,
        }
    }

    #[test]
    fn a_path_leads_to_the_same_place_whether_that_is_held_open_or_not() {
        let user = Identity { uid: rustix::process::geteuid().as_raw(), gid: 0 };
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("d/inner")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        symlink("d", top.join("link")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        for name in [
            "d/inner", "d/new/newer", "link/inner", "link/new", "dangling", "dangling/x", "d/../file",
            "file/x", "d//",
        ] {
            let path = top.join(name);
            let of = Lead::of(&path, user).map(|lead| lead.path()).map_err(|error| error.to_string());
            assert_eq!(Lead::path_of(&path, user).map_err(|error| error.to_string()), of, "{name}");
        }
        assert_eq!(Lead::path_of(&top.join("link/inner"), user).unwrap(), top.join("d/inner"));
    }

    #[test]
    fn every_link_is_followed_and_the_directory_identified() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("real")).unwrap();
        symlink("real", top.path().join("link")).unwrap();
        let found = found(&top.path().join("link"));
        let real = top.path().canonicalize().unwrap().join("real");
        assert_eq!((&found.path, found.kind, found.owner), (&real, PathKind::Directory, own()));
        assert_eq!(found.file_id.inode, fs::metadata(&real).unwrap().ino());
        assert!(open(&boundary(&found)).is_ok());
    }

    #[test]
    fn what_is_missing_leads_where_it_would_be_made() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        symlink("real", top.path().join("link")).unwrap();
        symlink("nowhere", top.path().join("dangling")).unwrap();
        let lead = |name: &str| Lead::of(&top.path().join(name), own()).map(|lead| lead.path());
        assert_eq!(lead("link").unwrap(), real);
        assert_eq!(lead("link/a/b").unwrap(), real.join("a/b"));
        for name in ["missing/../a", "dangling", "dangling/a"] {
            assert!(lead(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_is_distinguished_from_a_directory() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("file"), "").unwrap();
        assert_eq!(found(&top.path().join("file")).kind, PathKind::File);
        assert_eq!(found(Path::new("/dev/null")).kind, PathKind::Device);
    }

    #[test]
    fn nothing_is_made_where_nothing_may_be_shared() {
        for path in ["/etc/no-such-directory", "/usr/x/y"] {
            let error = create(Path::new(path), own()).unwrap_err();
            assert!(matches!(error, BoundaryError::Refused(_)), "{error}");
            assert!(!Path::new(path).exists());
        }
    }

    #[test]
    fn a_directory_that_was_exchanged_is_not_opened() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("d");
        fs::create_dir(&path).unwrap();
        let boundary = boundary(&found(&path));
        fs::rename(&path, top.path().join("old")).unwrap();
        assert!(matches!(open(&boundary), Err(BoundaryError::Missing(_))));
        symlink("old", &path).unwrap();
        assert!(matches!(open(&boundary), Err(BoundaryError::Exchanged(_))), "a link, even to the same one");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(open(&boundary), Err(BoundaryError::Exchanged(_))), "another directory");
    }

    #[test]
    fn a_file_that_was_exchanged_is_not_opened() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("f");
        fs::write(&path, "one").unwrap();
        let boundary = Boundary { kind: BoundaryKind::File, ..boundary(&found(&path)) };
        assert!(open(&boundary).is_ok(), "the control");
        fs::rename(&path, top.path().join("old")).unwrap();
        assert!(matches!(open(&boundary), Err(BoundaryError::Missing(_))));
        symlink("old", &path).unwrap();
        assert!(matches!(open(&boundary), Err(BoundaryError::Exchanged(_))), "a link, even to the same one");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "two").unwrap();
        assert!(matches!(open(&boundary), Err(BoundaryError::Exchanged(_))), "another file");
    }

    #[test]
    fn what_is_made_lies_in_the_directory_that_was_found_wherever_its_path_leads_by_then() {
        let top = tempfile::tempdir().unwrap();
        let [given, aside, outside] = ["d", "aside", "outside"].map(|name| top.path().join(name));
        fs::create_dir(&given).unwrap();
        fs::create_dir(&outside).unwrap();
        let Lead::Missing(missing) = Lead::of(&given.join("new"), own()).unwrap() else {
            panic!("it is there")
        };
        fs::rename(&given, &aside).unwrap();
        symlink("outside", &given).unwrap();
        let path = given.join("new");
        let candidate = ShareCandidate {
            given: &path,
            resolved: &path,
            kind: PathKind::Directory,
            owner: own().uid,
            mode: BoundaryMode::ReadWrite,
        };
        let found = missing.create(&candidate, &ROOT, own()).unwrap();
        assert_eq!(found.path, aside.canonicalize().unwrap().join("new"));
        assert!(!outside.join("new").exists());
    }

    #[test]
    fn directories_are_made_for_the_caller_and_not_through_links() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b");
        let caller = Identity { uid: 1001, gid: 1002 };
        let error = create(&path, caller).unwrap_err();
        assert!(matches!(error, BoundaryError::File { .. }), "where only root may write: {error}");
        assert!(!top.path().join("a").exists());
        std::os::unix::fs::chown(top.path(), Some(1001), Some(1002)).unwrap();
        create(&path, caller).unwrap();
        for made in [path.parent().unwrap(), &path] {
            let metadata = fs::metadata(made).unwrap();
            assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (1001, 1002, 0o755));
        }
        // Root's own would be exchanged for another one of root's.
        let of_root = top.path().join("by-root/x");
        create(&of_root, own()).unwrap();
        assert_eq!(fs::metadata(of_root).unwrap().uid(), 1001);
        symlink("nowhere", top.path().join("link")).unwrap();
        assert!(create(&top.path().join("link/x"), own()).is_err());
        assert!(!top.path().join("nowhere").exists());
        assert!(create(&top.path().join("no/../../x"), own()).is_err());
    }

    #[test]
    fn root_finds_for_somebody_only_what_they_could() {
        use std::os::unix::fs::PermissionsExt;

        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o777)).unwrap();
        let somebody = Identity { uid: 1001, gid: 1001 };
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let error = Lead::of(&inner, somebody).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o711)).unwrap();
        assert!(matches!(Lead::of(&inner, somebody), Ok(Lead::Found(_))));
    }

    #[test]
    fn the_inside_of_a_bare_repository_is_distinguished_from_the_whole() {
        let top = tempfile::tempdir().unwrap();
        let bare = top.path().canonicalize().unwrap().join("bare");
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir_all(bare.join(name)).unwrap();
        }
        assert_eq!(found(&bare.join("hooks")).enclosing_repository(own()), None, "no HEAD yet");
        fs::write(bare.join("HEAD"), "anything\n").unwrap();
        assert_eq!(found(&bare.join("hooks")).enclosing_repository(own()), None, "none that git reads");
        fs::remove_file(bare.join("HEAD")).unwrap();
        symlink("refs/heads/none", bare.join("HEAD")).unwrap();
        assert_eq!(found(&bare.join("hooks")).enclosing_repository(own()), Some(bare.clone()), "an old form");
        fs::remove_file(bare.join("HEAD")).unwrap();
        fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(found(&bare.join("hooks")).enclosing_repository(own()), Some(bare.clone()));
        assert_eq!(found(&bare).enclosing_repository(own()), None);
    }
}
