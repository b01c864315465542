//! Sockets inside that stand for sockets of the host: PID 1 listens, and the client outside serves them.
//!
//! They are made when this process is confined as the agent is: no path leads out of the sandbox then, and landlock takes them for the agent's own.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};

/// How many connections wait to be accepted. The kernel takes its own limit where that is lower (`somaxconn`).
const BACKLOG: i32 = 128;

/// Makes a socket that listens at each of these paths, and the directories above it that are not there.
pub(super) fn listen_at(paths: &[impl AsRef<Path>]) -> io::Result<Vec<OwnedFd>> {
    paths.iter().map(|path| listen_at_one(path.as_ref())).collect()
}

fn listen_at_one(path: &Path) -> io::Result<OwnedFd> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}
