//! The client's end of an exec: a socket on which the entrypoint in a container receives the request, and reports the result.
//!
//! Whoever lives in the container may connect there too. See [`confine::protocol::ExecSpec`].

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use confine::protocol::{ControlSocket, Rendezvous};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::state::record::{RecordError, RunId};

/// The most connections that have sent nothing yet and are kept. The oldest are dropped first: the entrypoint sends its token at once.
const MAX_PENDING_CONNECTIONS: usize = 256;

/// The most connections that are accepted between two polls, so that a client that connects without end blocks nothing.
const MAX_ACCEPTS: usize = 8192;

/// A socket at the rendezvous point of a sandbox, which goes with this.
pub(super) struct ExecSocket {
    path: PathBuf,
    rendezvous: Rendezvous,
    listener: UnixListener,
    token_frame: Vec<u8>,
}

impl ExecSocket {
    /// Listens at a rendezvous point.
    ///
    /// `place` is where it is for the client, and `point` where it is in the container.
    pub(super) fn open(place: &Path, point: &Path) -> io::Result<Self> {
        let by_chance = || RunId::generate().map_err(|error: RecordError| io::Error::other(error));
        let socket = format!("exec-{}", by_chance()?.as_str());
        let token = [by_chance()?, by_chance()?].map(|half| half.as_str().to_owned()).concat();
        // By way of the descriptor: the path of a socket has room for 107 bytes (unix(7)).
        let directory = File::open(place)?;
        let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(&socket);
        let listener = UnixListener::bind(&short)?;
        let path = place.join(&socket);
        listener.set_nonblocking(true)?;
        // To connect is to write, and the agent may be another user. Whoever connects has to know the token.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        let token_frame = token_frame(&token)?;
        let rendezvous = Rendezvous { socket: point.join(socket), token };
        Ok(Self { path, rendezvous, listener, token_frame })
    }

    /// Returns where the entrypoint connects to.
    pub(super) fn rendezvous(&self) -> &Rendezvous {
        &self.rendezvous
    }

    /// Waits until the entrypoint has connected, or until it cannot any more, because `over` is ready.
    pub(super) fn accept_authenticated(&self, over: impl AsFd) -> io::Result<Option<ControlSocket>> {
        let Some(stream) = accept_with_token(&self.listener, over, &self.token_frame) else {
            return Ok(None);
        };
        let mut control = ControlSocket::from(OwnedFd::from(stream));
        let _: Option<String> = control.receive()?;
        Ok(Some(control))
    }
}

/// Accepts connections until one has sent the token or `over` is ready.
fn accept_with_token(listener: &UnixListener, over: impl AsFd, token_frame: &[u8]) -> Option<UnixStream> {
    let mut pending: VecDeque<UnixStream> = VecDeque::new();
    loop {
        let listening = [PollFd::new(&over, PollFlags::IN), PollFd::new(listener, PollFlags::IN)].into_iter();
        let mut ready: Vec<_> = listening
            .chain(pending.iter().map(|connection| PollFd::new(connection, PollFlags::IN)))
            .collect();
        rustix::io::retry_on_intr(|| poll(&mut ready, None)).ok()?;
        let is_over = !ready[0].revents().is_empty();
        drop(ready);
        for _ in 0..MAX_ACCEPTS {
            let Ok((connection, _)) = listener.accept() else { break };
            match peek(&connection, token_frame) {
                Peeked::Token => return Some(connection),
                Peeked::Nothing => pending.push_back(connection),
                Peeked::Other => {}
            }
            if pending.len() > MAX_PENDING_CONNECTIONS {
                pending.pop_front();
            }
        }
        let mut silent = VecDeque::new();
        for connection in pending {
            match peek(&connection, token_frame) {
                Peeked::Token => return Some(connection),
                Peeked::Nothing => silent.push_back(connection),
                Peeked::Other => {}
            }
        }
        pending = silent;
        if is_over {
            return None;
        }
    }
}

/// What a connection begins with.
enum Peeked {
    Token,
    Nothing,
    /// Something else, or it was closed.
    Other,
}

fn peek(connection: &UnixStream, token_frame: &[u8]) -> Peeked {
    let mut begun = vec![0; token_frame.len()];
    match recv(connection, &mut begun, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((length, _)) if begun[..length] == *token_frame => Peeked::Token,
        Err(Errno::AGAIN | Errno::INTR) => Peeked::Nothing,
        // It is sent as a whole.
        Ok(_) | Err(_) => Peeked::Other,
    }
}

/// Encodes the token as it is sent.
fn token_frame(token: &str) -> io::Result<Vec<u8>> {
    let (mut sender, receiver) = ControlSocket::pair()?;
    sender.send(&token, &[])?;
    drop(sender);
    let mut sent = Vec::new();
    UnixStream::from(OwnedFd::from(receiver)).read_to_end(&mut sent)?;
    Ok(sent)
}

impl Drop for ExecSocket {
    fn drop(&mut self) {
        // What stays goes with the rendezvous point.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use confine::protocol::{Ending, Event};
    use rustix::pipe::pipe;

    use super::*;

    fn call(socket: &ExecSocket, word: &str, said: i32) -> ControlSocket {
        let mut control = ControlSocket::from(OwnedFd::from(UnixStream::connect(&socket.path).unwrap()));
        control.send(&word, &[]).unwrap();
        control.send(&Event::Ended(Ending::Exited(said)), &[]).unwrap();
        control
    }

    fn said(control: Option<ControlSocket>) -> i32 {
        match control.unwrap().receive().unwrap() {
            Some(Event::Ended(Ending::Exited(code))) => code,
            other => panic!("{other:?}"),
        }
    }

    fn open() -> (tempfile::TempDir, ExecSocket) {
        let place = tempfile::tempdir().unwrap();
        let socket = ExecSocket::open(place.path(), place.path()).unwrap();
        (place, socket)
    }

    #[test]
    fn who_does_not_know_the_token_is_refused() {
        let (_place, socket) = open();
        let (over, _still) = pipe().unwrap();
        let _wrong_token = call(&socket, "guessed", 0);
        let _silent = UnixStream::connect(&socket.path).unwrap();
        let _ours = call(&socket, &socket.rendezvous.token, 3);
        assert_eq!(said(socket.accept_authenticated(&over).unwrap()), 3);
        let path = socket.path.clone();
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn the_wait_ends_when_the_entrypoint_cannot_connect_any_more() {
        let (_place, socket) = open();
        let (over, still) = pipe().unwrap();
        drop(still);
        let _wrong_token = call(&socket, "guessed", 0);
        assert!(socket.accept_authenticated(&over).unwrap().is_none());
    }

    #[test]
    fn who_connects_without_end_blocks_nothing() {
        let (_place, socket) = open();
        let (over, _still) = pipe().unwrap();
        std::thread::scope(|scope| {
            let found = scope.spawn(|| said(socket.accept_authenticated(&over).unwrap()));
            // More than may wait at a socket, and more than are waited for.
            let pending: Vec<_> = (0..400).map(|_| UnixStream::connect(&socket.path).unwrap()).collect();
            let ours = call(&socket, &socket.rendezvous.token, 7);
            assert_eq!(found.join().unwrap(), 7);
            drop((pending, ours));
        });
    }
}
