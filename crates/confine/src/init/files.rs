//! The process that reads and writes files of a persistent sandbox for a client: a child of PID 1, with no right that a command
//! lacks, so that links lead it nowhere that they do not lead a command.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use super::exec::{ExecSupervision, REQUEST};
use crate::cgroup;
use crate::protocol::{ControlSocket, FileEvent, FileRequest, Links};
use crate::tree::{Copied, Destination, DraftName, Kind, Source, TreeError, Unpacking, destination, pack};

/// Does what a client requests. The returned code is that of this process.
pub(super) fn run_for_client(session: OwnedFd, supervised: &ExecSupervision<'_>) -> u8 {
    let mut session = ControlSocket::from(session);
    let event = match serve(&mut session, supervised) {
        Ok(Some(copied)) => FileEvent::Done(copied),
        // A client that is gone.
        Ok(None) => return 0,
        Err(TreeError { path, source }) => {
            FileEvent::Failed { path, errno: source.raw_os_error(), message: source.to_string() }
        }
    };
    let _ = session.send(&event, &[]);
    0
}

/// Receives one request, and does it.
fn serve(session: &mut ControlSocket, supervised: &ExecSupervision<'_>) -> Result<Option<Copied>, TreeError> {
    // What it makes counts as what a command makes.
    cgroup::enter(supervised.cgroups).map_err(TreeError::at("/"))?;
    rustix::process::umask(Mode::empty());
    set_socket_timeout(session.as_fd(), Timeout::Recv, Some(REQUEST)).map_err(TreeError::at("/"))?;
    let Some(request) = session.receive::<FileRequest>().map_err(TreeError::at("/"))? else {
        return Ok(None);
    };
    set_socket_timeout(session.as_fd(), Timeout::Recv, None).map_err(TreeError::at("/"))?;
    let pipe = session.take_descriptors().pop().map(File::from);
    match (request, pipe) {
        (FileRequest::Pack { path, links }, Some(pipe)) => {
            let place = find(&path, links)?;
            session.send(&FileEvent::Found(place.source.clone()), &[]).map_err(TreeError::at(&path))?;
            let root = if place.source.base.is_empty() { OsStr::new("root") } else { &place.source.base };
            pack(place.directory.as_fd(), &place.name, Path::new(root), pipe).map(Some)
        }
        (FileRequest::Unpack { path, source }, Some(pipe)) => {
            let to = match source {
                Some(source) => destination(&path, &source, open)?,
                None => Destination::within(open(&path).map_err(TreeError::at(&path))?),
            };
            let draft = DraftName::generate().map_err(TreeError::at(&path))?;
            let mut unpacking = Unpacking::begin(to, draft)?;
            unpacking.read(pipe)?;
            session.send(&FileEvent::Unpacked, &[]).map_err(TreeError::at(&path))?;
            match session.receive().map_err(TreeError::at(&path))? {
                Some(FileRequest::Commit) => unpacking.commit().map(Some),
                // The stream may have been cut off where an entry ends.
                Some(_) | None => Ok(None),
            }
        }
        (FileRequest::Open { directories }, _) => {
            for path in directories {
                let opened = open_through_no_link(&path);
                let errno = opened.as_ref().err().map(|errno| errno.raw_os_error());
                let descriptor: Vec<_> = opened.iter().map(AsFd::as_fd).collect();
                session.send(&FileEvent::Opened { errno }, &descriptor).map_err(TreeError::at(&path))?;
            }
            Ok(None)
        }
        (FileRequest::Commit, _) | (_, None) => Err(TreeError::at("/")(Errno::INVAL)),
    }
}

/// What is packed, and where it is.
struct Packed {
    directory: OwnedFd,
    name: std::ffi::OsString,
    source: Source,
}

/// Finds what is at a path.
fn find(path: &Path, links: Links) -> Result<Packed, TreeError> {
    let is_contents = path.as_os_str().as_encoded_bytes().ends_with(b"/.");
    let resolved = match links {
        Links::Copied => path.to_owned(),
        Links::Followed => path.canonicalize().map_err(TreeError::at(path))?,
    };
    let (above, name): (PathBuf, _) = match (resolved.parent(), resolved.file_name()) {
        (Some(above), Some(name)) => (above.to_owned(), name.to_owned()),
        _ => (resolved.clone(), ".".into()),
    };
    let directory = open(&above).map_err(TreeError::at(path))?;
    let stat = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(TreeError::at(path))?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => return Err(TreeError::at(path)(io::Error::other("it is neither a file nor a directory"))),
    };
    // The name that was asked for, and not that of what a link leads to.
    let base = path.file_name().unwrap_or_default().to_owned();
    Ok(Packed { directory, name, source: Source { kind, base, is_contents } })
}

/// Opens a directory for looking up what is beneath it. The seccomp filter refuses `openat2`, so each component is opened by itself.
fn open_through_no_link(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(CWD, c"/", flags, Mode::empty())?;
    path.iter().skip(1).try_fold(root, |at, name| openat(&at, name, flags, Mode::empty()))
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}
