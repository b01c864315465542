//! The client's end of an exec: a socket on which the entrypoint in a container receives the request, and reports the result.
//!
//! Whoever lives in the container may call there too. See [`confine::protocol::ExecSpec`].

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

/// The most callers who have said nothing yet that are waited for. The oldest go first: who knows the word says it at once.
const MOST_STRANGERS: usize = 256;

/// The most callers that are looked at between two pauses, so that somebody who never stops calling ends nothing.
const MOST_CALLS: usize = 8192;

/// A socket at the rendezvous point of a sandbox, which goes with this.
pub(super) struct ExecSocket {
    path: PathBuf,
    rendezvous: Rendezvous,
    listener: UnixListener,
    greeting: Vec<u8>,
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
        // To connect is to write, and the agent may be another user. Whoever comes has to know the word.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        let greeting = greeting(&token)?;
        let rendezvous = Rendezvous { socket: point.join(socket), token };
        Ok(Self { path, rendezvous, listener, greeting })
    }

    /// Returns where the entrypoint connects to.
    pub(super) fn rendezvous(&self) -> &Rendezvous {
        &self.rendezvous
    }

    /// Waits until our program has called, or until it cannot any more, because `over` is ready.
    pub(super) fn called(&self, over: impl AsFd) -> io::Result<Option<ControlSocket>> {
        let Some(stream) = operate(&self.listener, over, &self.greeting) else { return Ok(None) };
        let mut control = ControlSocket::from(OwnedFd::from(stream));
        let _: Option<String> = control.receive()?;
        Ok(Some(control))
    }
}

/// Accepts connections until one has sent the token or `over` is ready.
fn operate(listener: &UnixListener, over: impl AsFd, greeting: &[u8]) -> Option<UnixStream> {
    let mut strangers: VecDeque<UnixStream> = VecDeque::new();
    loop {
        let calls = [PollFd::new(&over, PollFlags::IN), PollFd::new(listener, PollFlags::IN)].into_iter();
        let mut ready: Vec<_> =
            calls.chain(strangers.iter().map(|stranger| PollFd::new(stranger, PollFlags::IN))).collect();
        rustix::io::retry_on_intr(|| poll(&mut ready, None)).ok()?;
        let is_over = !ready[0].revents().is_empty();
        drop(ready);
        for _ in 0..MOST_CALLS {
            let Ok((caller, _)) = listener.accept() else { break };
            match has_said(&caller, greeting) {
                Said::Greeting => return Some(caller),
                Said::Nothing => strangers.push_back(caller),
                Said::Else => {}
            }
            if strangers.len() > MOST_STRANGERS {
                strangers.pop_front();
            }
        }
        let mut silent = VecDeque::new();
        for stranger in strangers {
            match has_said(&stranger, greeting) {
                Said::Greeting => return Some(stranger),
                Said::Nothing => silent.push_back(stranger),
                Said::Else => {}
            }
        }
        strangers = silent;
        if is_over {
            return None;
        }
    }
}

/// What a caller has begun with.
enum Said {
    Greeting,
    Nothing,
    /// Something else, or it has hung up.
    Else,
}

fn has_said(caller: &UnixStream, greeting: &[u8]) -> Said {
    let mut begun = vec![0; greeting.len()];
    match recv(caller, &mut begun, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((length, _)) if begun[..length] == *greeting => Said::Greeting,
        Err(Errno::AGAIN | Errno::INTR) => Said::Nothing,
        // It is sent as a whole.
        Ok(_) | Err(_) => Said::Else,
    }
}

/// Encodes the token as it is sent.
fn greeting(token: &str) -> io::Result<Vec<u8>> {
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

    fn call(line: &ExecSocket, word: &str, said: i32) -> ControlSocket {
        let mut control = ControlSocket::from(OwnedFd::from(UnixStream::connect(&line.path).unwrap()));
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
        let line = ExecSocket::open(place.path(), place.path()).unwrap();
        (place, line)
    }

    #[test]
    fn who_does_not_know_the_word_is_not_believed() {
        let (_place, line) = open();
        let (over, _still) = pipe().unwrap();
        let _liar = call(&line, "guessed", 0);
        let _silent = UnixStream::connect(&line.path).unwrap();
        let _ours = call(&line, &line.rendezvous.token, 3);
        assert_eq!(said(line.called(&over).unwrap()), 3);
        let path = line.path.clone();
        drop(line);
        assert!(!path.exists());
    }

    #[test]
    fn nobody_is_waited_for_who_cannot_call_any_more() {
        let (_place, line) = open();
        let (over, still) = pipe().unwrap();
        drop(still);
        let _liar = call(&line, "guessed", 0);
        assert!(line.called(&over).unwrap().is_none());
    }

    #[test]
    fn who_calls_without_end_keeps_nobody_waiting() {
        let (_place, line) = open();
        let (over, _still) = pipe().unwrap();
        std::thread::scope(|scope| {
            let found = scope.spawn(|| said(line.called(&over).unwrap()));
            // More than may wait at a socket, and more than are waited for.
            let strangers: Vec<_> = (0..400).map(|_| UnixStream::connect(&line.path).unwrap()).collect();
            let ours = call(&line, &line.rendezvous.token, 7);
            assert_eq!(found.join().unwrap(), 7);
            drop((strangers, ours));
        });
    }
}
