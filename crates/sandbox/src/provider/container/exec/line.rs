//! The client's end of the line on which our program in a container says what became of a second command.
//!
//! What the engine's command ends with may be the engine's own, and what is on its streams the agent's: of both nobody can
//! tell who has said it. See [`confine::line`].

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use confine::control::{Control, Event};
use confine::line::Address;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::pipe::PipeFlags;

use crate::acting::ActingAs;
use crate::host_uid::Identity;
use crate::record::{RecordError, RunId};

/// The most callers who have said nothing yet that are waited for. The oldest go first: who knows the word says it at once.
const MOST_STRANGERS: usize = 256;

/// The most callers that are looked at between two pauses, so that somebody who never stops calling ends nothing.
const MOST_CALLS: usize = 8192;

/// A socket at the meeting point of a sandbox, which goes with this.
pub(super) struct Line {
    path: PathBuf,
    owner: Identity,
    address: Address,
    /// Takes callers beside the command: those whom nobody takes would keep our program waiting.
    operator: Option<JoinHandle<Option<UnixStream>>>,
    /// Whoever has this open still waits for a call.
    waiting: Option<OwnedFd>,
}

/// What was said.
#[derive(Debug)]
pub(super) enum Heard {
    /// Nothing: our program has not got as far.
    Nothing,
    /// The command was about to be executed, and of its end nothing was said.
    Started,
    /// This, which is the last that there is to say.
    Last(Event),
}

impl Line {
    /// Listens at a meeting point.
    ///
    /// `place` is where it is for the client, and `point` where it is in the container.
    pub(super) fn open(place: &Path, owner: Identity, point: &Path) -> io::Result<Self> {
        let _acting = ActingAs::user(owner)?;
        let by_chance = || RunId::generate().map_err(|error: RecordError| io::Error::other(error));
        let socket = format!("second-{}", by_chance()?.as_str());
        let word = [by_chance()?, by_chance()?].map(|half| half.as_str().to_owned()).concat();
        // By way of the descriptor: the path of a socket has room for 107 bytes (unix(7)).
        let directory = File::open(place)?;
        let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(&socket);
        let listener = UnixListener::bind(&short)?;
        let path = place.join(&socket);
        listener.set_nonblocking(true)?;
        // To connect is to write, and the agent may be another user. Whoever comes has to know the word.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        let greeting = greeting(&word)?;
        let (over, waiting) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let operator = std::thread::spawn(move || operate(&listener, &over, &greeting));
        let address = Address { socket: point.join(socket), word };
        Ok(Self { path, owner, address, operator: Some(operator), waiting: Some(waiting) })
    }

    /// What our program is to be told.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// What was said until now. Never waits: who has ended has said all that there is.
    pub(super) fn heard(&mut self) -> Heard {
        drop(self.waiting.take());
        let caller = self.operator.take().and_then(|operator| operator.join().ok().flatten());
        caller.and_then(listen_to).unwrap_or(Heard::Nothing)
    }
}

/// Takes whoever calls, until somebody knows the word or nobody waits any more.
fn operate(listener: &UnixListener, over: &OwnedFd, greeting: &[u8]) -> Option<UnixStream> {
    let mut strangers: VecDeque<UnixStream> = VecDeque::new();
    loop {
        let calls = [PollFd::new(over, PollFlags::IN), PollFd::new(listener, PollFlags::IN)].into_iter();
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

/// The word, as it is sent.
fn greeting(word: &str) -> io::Result<Vec<u8>> {
    let (mut sender, receiver) = Control::pair()?;
    sender.send(&word, &[])?;
    drop(sender);
    let mut sent = Vec::new();
    UnixStream::from(OwnedFd::from(receiver)).read_to_end(&mut sent)?;
    Ok(sent)
}

/// What the one who knows the word has said.
fn listen_to(stream: UnixStream) -> Option<Heard> {
    stream.set_nonblocking(true).ok()?;
    let mut control = Control::from(OwnedFd::from(stream));
    let _: String = control.receive().ok()??;
    let mut heard = Heard::Nothing;
    while let Ok(Some(event)) = control.receive::<Event>() {
        match event {
            Event::Started(_) => heard = Heard::Started,
            last => return Some(Heard::Last(last)),
        }
    }
    Some(heard)
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.waiting.take());
        // What stays goes with the meeting point.
        let Ok(_acting) = ActingAs::user(self.owner) else { return };
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use confine::control::Ending;
    use confine::report::Report;

    use super::*;

    fn call(line: &Line, word: &str, events: &[Event]) -> Control {
        let mut control = Control::from(OwnedFd::from(UnixStream::connect(&line.path).unwrap()));
        control.send(&word, &[]).unwrap();
        for event in events {
            control.send(event, &[]).unwrap();
        }
        control
    }

    #[test]
    fn who_does_not_know_the_word_is_not_believed() {
        let place = tempfile::tempdir().unwrap();
        let mut line = Line::open(place.path(), Identity::own(), place.path()).unwrap();
        let _liar = call(&line, "guessed", &[Event::Ended(Ending::Exited(0))]);
        let _silent = UnixStream::connect(&line.path).unwrap();
        let _ours = call(
            &line,
            &line.address.word,
            &[Event::Started(Report::default()), Event::Ended(Ending::Exited(3))],
        );
        match line.heard() {
            Heard::Last(Event::Ended(Ending::Exited(3))) => {}
            heard => panic!("{heard:?}"),
        }
        let path = line.path.clone();
        drop(line);
        assert!(!path.exists());
    }

    #[test]
    fn a_command_of_which_nothing_is_told_has_not_started() {
        let place = tempfile::tempdir().unwrap();
        let mut line = Line::open(place.path(), Identity::own(), place.path()).unwrap();
        assert!(matches!(line.heard(), Heard::Nothing));
    }

    #[test]
    fn whether_the_other_side_is_still_there_or_not() {
        let place = tempfile::tempdir().unwrap();
        let open = || Line::open(place.path(), Identity::own(), place.path()).unwrap();
        let mut line = open();
        let there = call(&line, &line.address.word, &[Event::Started(Report::default())]);
        assert!(matches!(line.heard(), Heard::Started));
        drop(there);
        let mut line = open();
        drop(call(&line, &line.address.word, &[Event::Started(Report::default())]));
        assert!(matches!(line.heard(), Heard::Started));
    }

    #[test]
    fn who_calls_without_end_keeps_nobody_waiting() {
        let place = tempfile::tempdir().unwrap();
        let mut line = Line::open(place.path(), Identity::own(), place.path()).unwrap();
        // More than may wait at a socket, and more than are waited for.
        let strangers: Vec<_> = (0..400).map(|_| UnixStream::connect(&line.path).unwrap()).collect();
        let ours = call(&line, &line.address.word, &[Event::Ended(Ending::Exited(7))]);
        assert!(matches!(line.heard(), Heard::Last(Event::Ended(Ending::Exited(7)))));
        drop((strangers, ours));
    }
}
