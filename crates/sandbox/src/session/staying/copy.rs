//! Copying files into persistent sandboxes, out of them, and from one to another.
//!
//! Inside, a process of the sandbox reads and writes, with no right that a command lacks. On the host nothing goes through a link: an
//! agent may have put it there.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use confine::protocol::{ControlSocket, FileEvent, FileRequest, Links, Purpose};
use confine::tree::{self, Copied, Destination, DirectoryId, DraftName, Kind, Source, TreeError, Unpacking};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat2, statat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::host::acting::ActingAs;
use crate::host::identity::Identity;
use crate::host::small_file::refuse_of_kernel;
use crate::session::environment::umask;
use crate::session::staying::exec::is_closed;
use crate::state::client::Client;
use crate::state::record::RecordError;
use crate::state::runs::Runs;
use crate::state::runs::copies::{CopyRecord, KeptCopy};
use crate::state::sandboxes::{SandboxError, StayingSandbox};

/// Writing to a pipe that nobody reads.
const EPIPE: i32 = Errno::PIPE.raw_os_error();

/// Where something is copied from, or to.
pub enum CopyPlace<'a> {
    Sandbox(&'a StayingSandbox, &'a Path),
    Host(&'a Path),
}

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Something on the host cannot be read or written.
    #[error(transparent)]
    Host(#[from] TreeError),
    /// Something inside cannot be read or written.
    #[error("{sandbox}:{}: {message}", policy::text::escape::path(path))]
    Inside { sandbox: String, path: PathBuf, errno: Option<i32>, message: String },
    #[error("neither of the two is in a sandbox")]
    NoSandbox,
    /// The caller's stream cannot be read or written.
    #[error("{0}")]
    Stream(io::Error),
    #[error("cannot act with the rights of the caller: {0}")]
    Acting(io::Error),
    #[error("cannot record the copy: {0}")]
    Record(#[from] RecordError),
}

/// Copies a file, a link, or a directory with all that is in it, for the owner of these records, and returns what was copied. What a copy to
/// the host leaves if this process is killed is removed by the next command that clears up.
///
/// # Errors
///
/// A sandbox is not running, or something cannot be read or written; then what was not there before is not there now.
pub fn copy(
    from: &CopyPlace<'_>,
    to: &CopyPlace<'_>,
    links: Links,
    runs: &Runs,
) -> Result<Copied, CopyError> {
    let caller = runs.owner();
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| CopyError::Stream(errno.into()))?;
    match (from, to) {
        (CopyPlace::Host(_), CopyPlace::Host(_)) => Err(CopyError::NoSandbox),
        (CopyPlace::Sandbox(sandbox, path), CopyPlace::Host(to)) => {
            let (mut packing, source) = Files::pack(sandbox, path, links, theirs)?;
            let _acting = ActingAs::user(caller).map_err(CopyError::Acting)?;
            // An agent says which permissions each file has, and with those of others it would let them in.
            let umask = umask().map_err(CopyError::Stream)?;
            let to = tree::destination(to, &source, open)?.masked(umask);
            let (kept, mut unpacking) = begin(to, runs)?;
            let read = unpacking.read(File::from(ours));
            // What has failed inside has cut off the stream.
            let error = match (read, packing.done()) {
                (Ok(()), Ok(packed)) => match unpacking.commit() {
                    Ok(copied) => return Ok(Copied { skipped: packed.skipped, ..copied }),
                    Err(error) => error.into(),
                },
                // Nobody has read what was written there any more.
                (Err(error), Ok(_) | Err(CopyError::Inside { errno: Some(EPIPE), .. })) => error.into(),
                (_, Err(error)) => error,
            };
            if let (Err(_), Some(kept)) = (unpacking.abandon(), kept) {
                kept.leave();
            }
            Err(error)
        }
        (CopyPlace::Host(from), CopyPlace::Sandbox(sandbox, path)) => {
            let acting = ActingAs::user(caller).map_err(CopyError::Acting)?;
            let found = find(from, links)?;
            let mut unpacking = Files::unpack(sandbox, path, Some(found.source.clone()), ours)?;
            let root = if found.source.base.is_empty() { "root".into() } else { found.source.base };
            let packed =
                tree::pack(found.directory.as_fd(), &found.name, Path::new(&root), File::from(theirs));
            drop(acting);
            let skipped = match packed {
                Ok(packed) => packed.skipped,
                // Whoever reads has gone, and says why.
                Err(error) if error.source.kind() == io::ErrorKind::BrokenPipe => 0,
                Err(error) => return Err(error.into()),
            };
            Ok(Copied { skipped, ..unpacking.commit()? })
        }
        (CopyPlace::Sandbox(sandbox, path), CopyPlace::Sandbox(other, to)) => {
            let (mut packing, source) = Files::pack(sandbox, path, links, theirs)?;
            let mut unpacking = Files::unpack(other, to, Some(source), ours)?;
            let packed = packing.done();
            match (packed, unpacking.unpacked()) {
                (Ok(packed), Ok(())) => Ok(Copied { skipped: packed.skipped, ..unpacking.commit_now()? }),
                // By EPIPE the other one has failed: nobody has read what was written there any more.
                (Ok(_) | Err(CopyError::Inside { errno: Some(EPIPE), .. }), Err(error)) | (Err(error), _) => {
                    Err(error)
                }
            }
        }
    }
}

/// Begins to unpack on the host, and records what is left there if this process is killed. A directory whose path is longer than paths may
/// be could not be found again, and is not recorded.
fn begin(to: Destination, runs: &Runs) -> Result<(Option<KeptCopy<'_>>, Unpacking), CopyError> {
    let failed = |errno: Errno| TreeError::at(".")(errno);
    let draft = DraftName::generate().map_err(failed)?;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", to.directory().as_raw_fd()));
    let mut kept = match path {
        Ok(path) => Some(runs.keep_copy(CopyRecord {
            client: Client::this().map_err(RecordError::from)?,
            draft: draft.clone(),
            path,
            directory: DirectoryId::of(to.directory()).map_err(failed)?,
            made: None,
        })?),
        Err(error) if error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) => None,
        Err(error) => return Err(TreeError::at(".")(error).into()),
    };
    let unpacking = Unpacking::begin(to, draft)?;
    if let (Some(kept), Some(made)) = (&mut kept, unpacking.made()) {
        let made = DirectoryId::of(made).map_err(failed)?;
        kept.note_made(made).map_err(RecordError::from)?;
    }
    Ok((kept, unpacking))
}

/// Writes what is at a path of a sandbox as a stream of tar.
///
/// # Errors
///
/// The sandbox is not running, or something cannot be read or written.
pub fn pack_to(
    sandbox: &StayingSandbox,
    path: &Path,
    links: Links,
    stream: &mut impl Write,
    caller: Identity,
) -> Result<Copied, CopyError> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| CopyError::Stream(errno.into()))?;
    let (mut packing, _) = Files::pack(sandbox, path, links, theirs)?;
    // Some files in `/proc` ask for the rights of whoever writes or reads, and not of whoever has opened them.
    let acting = ActingAs::user(caller).map_err(CopyError::Acting)?;
    let copied = io::copy(&mut File::from(ours), stream).and_then(|_| stream.flush());
    drop(acting);
    // What is inside has nobody left to write to where the stream has failed.
    match (copied, packing.done()) {
        (Err(error), Ok(_) | Err(CopyError::Inside { errno: Some(EPIPE), .. })) => {
            Err(CopyError::Stream(error))
        }
        (_, packed) => packed,
    }
}

/// Reads a stream of tar, and makes what it has in a directory of a sandbox.
///
/// # Errors
///
/// The sandbox is not running, the stream is damaged, or something cannot be made.
pub fn unpack_from(
    sandbox: &StayingSandbox,
    path: &Path,
    stream: &mut impl Read,
    caller: Identity,
) -> Result<Copied, CopyError> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| CopyError::Stream(errno.into()))?;
    let mut unpacking = Files::unpack(sandbox, path, None, ours)?;
    let acting = ActingAs::user(caller).map_err(CopyError::Acting)?;
    let copied = io::copy(stream, &mut File::from(theirs));
    drop(acting);
    match copied {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(CopyError::Stream(error)),
    }
    unpacking.commit()
}

/// A connection to the process inside.
struct Files<'a> {
    sandbox: &'a StayingSandbox,
    control: ControlSocket,
}

impl<'a> Files<'a> {
    /// Asks for what is at a path, and waits until it is known what that is.
    fn pack(
        sandbox: &'a StayingSandbox,
        path: &Path,
        links: Links,
        pipe: OwnedFd,
    ) -> Result<(Self, Source), CopyError> {
        let path = inside(path);
        let request = FileRequest::Pack { path: path.clone(), links };
        let mut files = Self::begin(sandbox, &request, pipe)?;
        match files.receive()? {
            FileEvent::Found(source) => Ok((files, asked(&path, source.kind))),
            other => Err(files.unexpected(other)),
        }
    }

    /// Has a stream unpacked at a path.
    fn unpack(
        sandbox: &'a StayingSandbox,
        path: &Path,
        source: Option<Source>,
        pipe: OwnedFd,
    ) -> Result<Self, CopyError> {
        Self::begin(sandbox, &FileRequest::Unpack { path: inside(path), source }, pipe)
    }

    fn begin(sandbox: &'a StayingSandbox, request: &FileRequest, pipe: OwnedFd) -> Result<Self, CopyError> {
        sandbox.require_hiding("have files copied")?;
        let mut control = ControlSocket::from(OwnedFd::from(sandbox.open(Purpose::Files, None)?));
        match control.send(request, &[pipe.as_fd()]) {
            // It has gone already, and says why, if anything does.
            Err(error) if is_closed(&error) => {}
            sent => sent.map_err(|source| sandbox.unreachable(source))?,
        }
        // Whoever reads the other end sees that the process inside has closed this one.
        drop(pipe);
        Ok(Self { sandbox, control })
    }

    fn receive(&mut self) -> Result<FileEvent, CopyError> {
        let received = self.control.receive();
        let event = received.and_then(|event| event.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        event.map_err(|source| self.sandbox.unreachable(source).into())
    }

    /// Waits until all was written to the stream.
    fn done(&mut self) -> Result<Copied, CopyError> {
        match self.receive()? {
            FileEvent::Done(copied) => Ok(copied),
            other => Err(self.unexpected(other)),
        }
    }

    /// Waits until all of the stream was read.
    fn unpacked(&mut self) -> Result<(), CopyError> {
        match self.receive()? {
            FileEvent::Unpacked => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    /// Waits for that, and has it put into its place.
    fn commit(&mut self) -> Result<Copied, CopyError> {
        self.unpacked()?;
        self.commit_now()
    }

    fn commit_now(&mut self) -> Result<Copied, CopyError> {
        self.control.send(&FileRequest::Commit, &[]).map_err(|source| self.sandbox.unreachable(source))?;
        self.done()
    }

    fn unexpected(&self, event: FileEvent) -> CopyError {
        match event {
            FileEvent::Failed { path, errno, message } => {
                CopyError::Inside { sandbox: self.sandbox.name().to_owned(), path, errno, message }
            }
            FileEvent::Unserved { errno } => {
                let source = io::Error::from_raw_os_error(errno.unwrap_or(Errno::AGAIN.raw_os_error()));
                SandboxError::Full(source).into()
            }
            FileEvent::Found(_) | FileEvent::Unpacked | FileEvent::Opened { .. } | FileEvent::Done(_) => {
                self.sandbox.unreachable(io::ErrorKind::InvalidData.into()).into()
            }
        }
    }
}

/// Describes what is copied from a path. Its name is the one that was asked for, wherever a link leads: an agent must not choose what a
/// file is called on the host.
fn asked(path: &Path, kind: Kind) -> Source {
    let is_contents = path.as_os_str().as_encoded_bytes().ends_with(b"/.");
    Source { kind, base: path.file_name().unwrap_or_default().to_owned(), is_contents }
}

/// Returns a path in a sandbox: as `docker cp` has it, one that is not absolute begins at the root.
fn inside(path: &Path) -> PathBuf {
    // Joining would lose a `/.` at the end.
    let mut whole = OsString::from(if path.is_absolute() { "" } else { "/" });
    whole.push(path);
    whole.into()
}

/// Something on the host that is copied.
struct HostSource {
    directory: OwnedFd,
    name: OsString,
    source: Source,
}

/// Finds what is at a path of the host.
fn find(path: &Path, links: Links) -> Result<HostSource, TreeError> {
    let resolved = match links {
        Links::Copied => path.to_owned(),
        Links::Followed => path.canonicalize().map_err(TreeError::at(path))?,
    };
    let (above, name): (&Path, OsString) = match (resolved.parent(), resolved.file_name()) {
        (Some(above), Some(name)) if above == Path::new("") => (Path::new("."), name.to_owned()),
        (Some(above), Some(name)) => (above, name.to_owned()),
        _ => (&resolved, ".".into()),
    };
    let directory = open(above).map_err(|errno| led_away(path, errno))?;
    // What is in it has no size by which it could be packed, and opening it may act.
    refuse_of_kernel(&directory).map_err(TreeError::at(path))?;
    let stat = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(TreeError::at(path))?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => return Err(TreeError::at(path)(io::Error::other("it is neither a file nor a directory"))),
    };
    Ok(HostSource { directory, name, source: asked(path, kind) })
}

/// Opens a directory of the host through no link.
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

fn led_away(path: &Path, errno: Errno) -> TreeError {
    match errno {
        Errno::LOOP => TreeError::at(path)(io::Error::other(
            "it leads through a link, and copies follow none; name where the link leads, or `--follow-link`",
        )),
        errno => TreeError::at(path)(errno),
    }
}
