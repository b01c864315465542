//! Boundaries on the host: a path becomes a directory that may be shared, and stays that directory.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use policy::plan::{Boundary, FileId, Mode};
use policy::workspace::{Caller, Candidate, Kind, Refusal, validate};
use rustix::fs::{CWD, FileType, Gid, Mode as Permissions, OFlags, Uid};
use rustix::io::Errno;

use crate::beneath;
use crate::host_uid::Identity;

/// Why a directory is not shared.
#[derive(Debug, thiserror::Error)]
pub enum BoundaryError {
    /// It does not exist.
    #[error("directory `{}` does not exist; make it, or run again with --create-dirs", .0.display())]
    Missing(PathBuf),
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something cannot be looked at, opened or made.
    #[error("{action} `{}`: {source}", .path.display())]
    File {
        /// What was being done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not the directory that was validated.
    #[error("`{}` was exchanged after it was validated; run again when nothing else changes it", .0.display())]
    Exchanged(PathBuf),
}

/// A directory as it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Its name in the configuration.
    pub name: &'a str,
    /// The host path: absolute, and with its links.
    pub host: &'a Path,
    /// Where the sandbox will see it.
    pub guest: &'a Path,
    /// What may be done there.
    pub mode: Mode,
}

/// A directory that may be shared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resolved {
    /// What the plan says about it.
    pub boundary: Boundary,
    /// Whose it is.
    pub owner: Identity,
}

/// Resolves every link of a path, looks at what is there, and asks the policy whether it may be shared.
pub fn resolve(ask: &Ask<'_>, caller: &Caller<'_>) -> Result<Resolved, BoundaryError> {
    let host = match ask.host.canonicalize() {
        Ok(host) => host,
        // A missing directory in a place that is refused anyway: creating it would not help.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let future = existing_part(ask.host)?;
            check(ask, &future.path(), Kind::Directory, caller.uid, caller)?;
            return Err(BoundaryError::Missing(ask.host.into()));
        }
        Err(source) => return Err(failed("resolve", ask.host, source)),
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::openat(CWD, &host, flags, Permissions::empty())
        .and_then(rustix::fs::fstat)
        .map_err(|errno| failed("look at", &host, errno.into()))?;
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => Kind::Directory,
        FileType::RegularFile => Kind::File,
        FileType::Socket => Kind::Socket,
        FileType::Fifo => Kind::Fifo,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        // It was none a moment ago.
        FileType::Symlink | FileType::Unknown => return Err(BoundaryError::Exchanged(host)),
    };
    check(ask, &host, kind, found.st_uid, caller)?;
    Ok(Resolved {
        boundary: Boundary {
            name: ask.name.into(),
            host,
            guest: ask.guest.into(),
            mode: ask.mode,
            file_id: beneath::file_id(&found),
        },
        owner: Identity { uid: found.st_uid, gid: found.st_gid },
    })
}

/// Makes the missing directories of a path, with mode 0755 and owned by the caller, also where root acts for
/// them. No link is followed below what exists already, and nothing is made where nothing may be shared.
pub fn create(ask: &Ask<'_>, caller: &Caller<'_>, owner: Identity) -> Result<(), BoundaryError> {
    let future = existing_part(ask.host)?;
    check(ask, &future.path(), Kind::Directory, caller.uid, caller)?;
    let mut path = future.existing;
    let mut directory = open_resolved(&path)?;
    for name in future.missing {
        path.push(&name);
        let made = match rustix::fs::mkdirat(&directory, &name, Permissions::from_raw_mode(0o755)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(failed("make", &path, errno.into())),
        };
        let open = || -> Result<OwnedFd, Errno> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let own = rustix::fs::openat(&directory, &name, flags, Permissions::empty())?;
            if made {
                // The caller's umask has nothing to say about what everybody agreed to share.
                rustix::fs::fchmod(&own, Permissions::from_raw_mode(0o755))?;
                if rustix::process::geteuid().as_raw() != owner.uid {
                    rustix::fs::fchown(&own, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
                }
            }
            Ok(own)
        };
        directory = open().map_err(|errno| failed("open", &path, errno.into()))?;
    }
    Ok(())
}

/// Opens the directory of a boundary for mounting: without following a link, and only if it is still the one
/// that was validated.
pub fn open(boundary: &Boundary) -> Result<OwnedFd, BoundaryError> {
    let directory = open_resolved(&boundary.host)?;
    let found =
        rustix::fs::fstat(&directory).map_err(|errno| failed("look at", &boundary.host, errno.into()))?;
    let FileId { device, inode } = boundary.file_id;
    if (found.st_dev, found.st_ino) == (device, inode) {
        Ok(directory)
    } else {
        Err(BoundaryError::Exchanged(boundary.host.clone()))
    }
}

/// A path of which only the beginning exists.
struct Future {
    /// What exists, with every link resolved.
    existing: PathBuf,
    missing: Vec<std::ffi::OsString>,
}

impl Future {
    fn path(&self) -> PathBuf {
        let mut path = self.existing.clone();
        path.extend(&self.missing);
        path
    }
}

fn existing_part(path: &Path) -> Result<Future, BoundaryError> {
    let mut missing = Vec::new();
    for ancestor in path.ancestors() {
        match ancestor.canonicalize() {
            Ok(existing) => {
                missing.reverse();
                return Ok(Future { existing, missing });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match ancestor.components().next_back() {
                    Some(Component::Normal(name)) => missing.push(name.to_owned()),
                    // `..` in what does not exist leads nobody knows where.
                    _ => return Err(BoundaryError::Missing(path.into())),
                }
            }
            Err(source) => return Err(failed("resolve", ancestor, source)),
        }
    }
    Err(BoundaryError::Missing(path.into()))
}

fn check(
    ask: &Ask<'_>,
    resolved: &Path,
    kind: Kind,
    owner: u32,
    caller: &Caller<'_>,
) -> Result<(), BoundaryError> {
    Ok(validate(&Candidate { given: ask.host, resolved, kind, owner, mode: ask.mode }, caller)?)
}

/// Opens a directory whose path has no links; one that has any now was exchanged.
fn open_resolved(path: &Path) -> Result<OwnedFd, BoundaryError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || {
        let root = rustix::fs::openat(CWD, "/", flags, Permissions::empty())?;
        beneath::directory(root, path.strip_prefix("/").unwrap_or(path))
    };
    match open() {
        Ok(directory) => Ok(directory),
        Err(Errno::NOENT) => Err(BoundaryError::Missing(path.into())),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(BoundaryError::Exchanged(path.into())),
        Err(errno) => Err(failed("open", path, errno.into())),
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> BoundaryError {
    BoundaryError::File { action, path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    const ROOT: Caller<'_> = Caller { uid: 0, homes: &[], allowed_root: None };

    fn ask(host: &Path) -> Ask<'_> {
        Ask { name: "workspace", host, guest: Path::new("/workspace"), mode: Mode::ReadWrite }
    }

    fn own() -> Identity {
        Identity { uid: rustix::process::getuid().as_raw(), gid: rustix::process::getgid().as_raw() }
    }

    #[test]
    fn every_link_is_resolved_and_the_directory_identified() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("real")).unwrap();
        symlink("real", top.path().join("link")).unwrap();
        let found = resolve(&ask(&top.path().join("link")), &ROOT).unwrap();
        let real = top.path().canonicalize().unwrap().join("real");
        assert_eq!(found.boundary.host, real);
        assert_eq!(found.boundary.file_id.inode, fs::metadata(&real).unwrap().ino());
        assert_eq!(found.owner, own());
        assert!(open(&found.boundary).is_ok());
    }

    #[test]
    fn a_missing_directory_is_named_with_the_way_to_make_it() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("no/such");
        let error = resolve(&ask(&path), &ROOT).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()) && error.contains("--create-dirs"), "{error}");
    }

    #[test]
    fn a_missing_directory_where_nothing_may_be_shared_is_refused_for_that() {
        for path in ["/etc/no-such-directory", "/usr/x/y"] {
            let error = resolve(&ask(Path::new(path)), &ROOT).unwrap_err();
            assert!(matches!(error, BoundaryError::Refused(_)), "{error}");
            assert!(create(&ask(Path::new(path)), &ROOT, own()).is_err());
            assert!(!Path::new(path).exists());
        }
    }

    #[test]
    fn what_is_no_directory_or_leads_to_the_system_is_refused() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("file"), "").unwrap();
        symlink("/etc", top.path().join("etc")).unwrap();
        for name in ["file", "etc"] {
            let error = resolve(&ask(&top.path().join(name)), &ROOT).unwrap_err();
            assert!(matches!(error, BoundaryError::Refused(_)), "{error}");
        }
    }

    #[test]
    fn a_directory_that_was_exchanged_is_not_opened() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("d");
        fs::create_dir(&path).unwrap();
        let found = resolve(&ask(&path), &ROOT).unwrap().boundary;
        fs::rename(&path, top.path().join("old")).unwrap();
        assert!(matches!(open(&found), Err(BoundaryError::Missing(_))));
        symlink("old", &path).unwrap();
        assert!(matches!(open(&found), Err(BoundaryError::Exchanged(_))), "a link, even to the same one");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(open(&found), Err(BoundaryError::Exchanged(_))), "another directory");
    }

    #[test]
    fn directories_are_made_for_the_caller_and_not_through_links() {
        if !crate::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b");
        create(&ask(&path), &ROOT, Identity { uid: 1001, gid: 1002 }).unwrap();
        for made in [path.parent().unwrap(), &path] {
            let metadata = fs::metadata(made).unwrap();
            assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (1001, 1002, 0o755));
        }
        symlink("nowhere", top.path().join("link")).unwrap();
        assert!(create(&ask(&top.path().join("link/x")), &ROOT, own()).is_err());
        assert!(!top.path().join("nowhere").exists());
        assert!(create(&ask(&top.path().join("no/../../x")), &ROOT, own()).is_err());
    }

    #[test]
    fn making_what_exists_changes_nothing() {
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o700)).unwrap();
        create(&ask(top.path()), &ROOT, Identity { uid: 1001, gid: 1001 }).unwrap();
        let metadata = fs::metadata(top.path()).unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (own().uid, 0o700));
    }
}
