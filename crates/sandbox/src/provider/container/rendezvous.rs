//! The rendezvous of a container's client with PID 1: a directory of the client's that the container sees read-only.
//!
//! It holds the program of PID 1, so that the image cannot bring another one, and a socket. PID 1 connects once;
//! then the socket is gone, and nobody inside can connect any more.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use confine::file_id::file_id;
use confine::mount::setns::DistinctMount;
use confine::protocol::{ControlSocket, ExpectedMount, MountedFile, RENDEZVOUS_SOCKET};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use policy::plan::{self, Network};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::host::identity::Identity;
use crate::host::init_program;
use crate::state::directory::StateDir;
use crate::state::record::RunId;

/// The directory with all rendezvous points, in the one of this process's own user: who can write to it chooses what runs as
/// PID 1.
const ALL: &str = "rendezvous";

/// How long the command of an engine may be at work for a client that is dead.
const MAX_CALL_TIME: Duration = Duration::from_secs(120);

/// What the name of a lock ends with.
const LOCK: &str = "lock";

/// What the name of a place in a container begins with.
const POINT: &str = "sandboxctl-";

/// The program, as it is called there.
pub(crate) const PROGRAM: &str = "entrypoint";

/// A directory there that stays empty, to cover others with.
pub(crate) const EMPTY: &str = "empty";

/// A rendezvous directory, finished or not. It goes with this.
pub(crate) struct RendezvousDir(PathBuf);

/// Where PID 1 is waited for in such a directory.
pub(crate) struct RendezvousListener {
    socket: PathBuf,
    listener: UnixListener,
    lock: File,
}

/// Who has connected.
pub(super) struct InitConnection {
    pub(super) control: ControlSocket,
    /// PID 1's user on the host.
    pub(crate) uid: u32,
    /// All its groups on the host.
    pub(crate) groups: Vec<u32>,
    /// PID 1's number on the host when it connected; 0 where it has none that is known here. It may have ended since, and
    /// another process may have the number.
    pub(crate) pid: i32,
}

impl RendezvousDir {
    /// Makes one, with these files besides the program, and waits in it for PID 1.
    pub(crate) fn prepare(
        own: &Path,
        run: &RunId,
        files: &[(&str, String)],
    ) -> io::Result<(Self, RendezvousListener)> {
        // Only this process's user may pass here; whoever lives in the container sees the inner directory alone.
        StateDir::open(&own.join(ALL), Identity::own()).map_err(io::Error::other)?;
        let place = Self(path_of(own, run));
        let Self(path) = &place;
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(lock_of(path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        DirBuilder::new().mode(0o755).create(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        // Executed, and not read: a process is not dumpable from its first moment that executes a file which it may not read
        // (ptrace(2), "PTRACE_MODE"), and then nobody looks into it by `/proc/PID/root` but root. PID 1 makes itself so, too late.
        write(&path.join(PROGRAM), init_program::bytes(), 0o111)?;
        DirBuilder::new().mode(0o555).create(path.join(EMPTY))?;
        for (name, content) in files {
            write(&path.join(name), content.as_bytes(), 0o444)?;
        }
        // By way of the descriptor: the path of a socket has room for 107 bytes (unix(7)).
        let directory = open(path)?;
        let short =
            Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(RENDEZVOUS_SOCKET);
        let listener = UnixListener::bind(&short)?;
        listener.set_nonblocking(true)?;
        // To connect is to write. Who may pass the outer directory is all that counts.
        fs::set_permissions(&short, fs::Permissions::from_mode(0o666))?;
        let socket = path.join(RENDEZVOUS_SOCKET);
        Ok((place, RendezvousListener { socket, listener, lock }))
    }

    /// Takes over the one that another client has left to a container.
    pub(super) fn left(own: &Path, run: &RunId) -> Self {
        Self(path_of(own, run))
    }

    /// Returns the directory that the container sees.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Lists which of its files are mounted where in the container.
    pub(super) fn mounts(&self, run: &RunId, network: &Network) -> io::Result<Vec<ExpectedMount>> {
        let files =
            files_of_etc(network).iter().map(|file| (self.path().join(file), Path::new("/etc").join(file)));
        let all = files.chain([(self.path().to_owned(), point(run))]);
        let mounted = |(ours, path): (PathBuf, PathBuf)| {
            let file = MountedFile::Validated(file_id(open(&ours)?)?);
            let (mode, execution) = (plan::BoundaryMode::ReadOnly, plan::Execution::Allowed);
            Ok(ExpectedMount { path, file, mode, execution })
        };
        all.map(mounted).collect()
    }

    /// Returns the mount by which a container is recognised. Its name is random, and the directory lies where only this
    /// process's user may pass: nobody else can have it mounted.
    pub(super) fn distinct_mount(&self, run: &RunId) -> io::Result<DistinctMount> {
        Ok(DistinctMount { path: point(run), file: file_id(open(self.path())?)? })
    }

    /// Leaves the directory to a persistent container, which has it mounted. The next command after its end removes it.
    pub(super) fn leave(self) {
        std::mem::forget(self);
    }
}

impl RendezvousListener {
    /// Duplicates the lock. While any duplicate is open, others see that the directory is still needed.
    pub(crate) fn lock(&self) -> io::Result<File> {
        self.lock.try_clone()
    }

    /// Accepts the connection of PID 1, and refuses every later one. `None` where none has arrived.
    pub(crate) fn accept(&self) -> io::Result<Option<InitConnection>> {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        fs::remove_file(&self.socket)?;
        let peer = getsockopt(&stream, PeerCredentials)?;
        let control = ControlSocket::from(OwnedFd::from(stream));
        let mut groups = control.peer_groups()?;
        groups.push(peer.gid());
        Ok(Some(InitConnection { control, uid: peer.uid(), groups, pid: peer.pid() }))
    }
}

impl AsFd for RendezvousListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for RendezvousDir {
    fn drop(&mut self) {
        // What stays is found by the next command.
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(lock_of(&self.0));
    }
}

/// Lists the files of `/etc` that are ours.
pub(crate) fn files_of_etc(network: &Network) -> &'static [&'static str] {
    match network {
        Network::Allowlist { .. } => &["passwd", "group", "resolv.conf"],
        Network::None | Network::Open => &["passwd", "group"],
    }
}

/// Returns whether anybody still needs the rendezvous directory of a run.
pub(crate) fn is_held(own: &Path, run: &RunId) -> bool {
    let held = |file: File| {
        // A command that has hung will not do anything any more.
        let since = file.metadata().and_then(|metadata| metadata.modified()).map(|made| made.elapsed());
        let is_fresh = !matches!(since, Ok(Ok(since)) if since > MAX_CALL_TIME);
        is_fresh && flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    };
    // Not what waits for somebody at the other end.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(lock_of(&path_of(own, run)), flags, Mode::empty()).is_ok_and(|file| held(file.into()))
}

/// Removes what a client that was killed has left.
pub(crate) fn forget(own: &Path, run: &RunId) -> io::Result<()> {
    let missing_is_fine = |removed: io::Result<()>| match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let place = path_of(own, run);
    missing_is_fine(fs::remove_dir_all(&place))?;
    missing_is_fine(fs::remove_file(lock_of(&place)))
}

/// Returns where the container sees it: by a name that no image can have known, directly beneath the root. What the
/// engine mounts there the kernel finds there, whatever links the image has.
pub(crate) fn point(run: &RunId) -> PathBuf {
    Path::new("/").join(format!("{POINT}{}", run.as_str()))
}

/// Parses a mount point into the run whose rendezvous directory is mounted there, if one is.
pub(crate) fn run_at(point: &Path) -> Option<RunId> {
    let name = point.strip_prefix("/").ok()?.to_str()?;
    RunId::try_from(name.strip_prefix(POINT)?.to_owned()).ok()
}

/// Returns the directory of a run.
pub(crate) fn path_of(own: &Path, run: &RunId) -> PathBuf {
    own.join(ALL).join(run.as_str())
}

fn lock_of(place: &Path) -> PathBuf {
    place.with_extension(LOCK)
}

fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content)?;
    // Whatever the umask is: another user than the caller may have to read it.
    file.set_permissions(fs::Permissions::from_mode(mode))
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_has_left_is_found_and_removed() {
        let own = tempfile::tempdir().unwrap();
        let run = RunId::generate().unwrap();
        let place = path_of(own.path(), &run);
        fs::create_dir_all(place.join("deep")).unwrap();
        let lock = File::create(lock_of(&place)).unwrap();
        assert!(!is_held(own.path(), &run));
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(is_held(own.path(), &run));
        forget(own.path(), &run).unwrap();
        assert!(!place.exists() && !lock_of(&place).exists());
        forget(own.path(), &run).unwrap();
    }

    #[test]
    fn nobody_but_root_looks_into_what_executes_the_program() {
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::process::CommandExt;
        use std::process::Command;

        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let own = tempfile::tempdir().unwrap();
        let run = RunId::generate().unwrap();
        let (rendezvous, _listener) = RendezvousDir::prepare(own.path(), &run, &[]).unwrap();
        let mode = fs::metadata(rendezvous.path().join(PROGRAM)).unwrap().mode() & 0o777;
        // PID 1 closes itself as soon as it runs. So something that does not is executed with the same mode, and with the control's.
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for (mode, owner) in [(mode, 0), (0o555, 1001)] {
            let program = top.path().join(format!("{mode:o}"));
            fs::copy("/bin/sleep", &program).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
            let mut sleeping = Command::new(&program).arg("600").uid(1001).gid(1001).spawn().unwrap();
            // Root's where it is not dumpable, see proc(5).
            let seen = fs::metadata(format!("/proc/{}/fd", sleeping.id())).unwrap().uid();
            sleeping.kill().unwrap();
            sleeping.wait().unwrap();
            assert_eq!(seen, owner, "{mode:o}");
        }
    }
}
