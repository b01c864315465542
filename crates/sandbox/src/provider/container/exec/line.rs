//! The client's end of the line on which our program in a container says what became of a second command.
//!
//! What the engine's command ends with may be the engine's own, and what is on its streams the agent's: of both nobody can
//! tell who has said it. See [`confine::line`].

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use confine::control::{Control, Event};
use confine::line::Address;

use crate::acting::ActingAs;
use crate::host_uid::Identity;
use crate::record::{RecordError, RunId};

/// A socket at the meeting point of a sandbox, which goes with this.
pub(super) struct Line {
    listener: UnixListener,
    path: PathBuf,
    owner: Identity,
    address: Address,
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
        let line = Self { listener, path, owner, address: Address { socket: point.join(socket), word } };
        line.listener.set_nonblocking(true)?;
        // To connect is to write, and the agent may be another user. Whoever comes has to know the word.
        fs::set_permissions(&line.path, fs::Permissions::from_mode(0o666))?;
        Ok(line)
    }

    /// What our program is to be told.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// What was said until now. Never waits: who has ended has said all that there is.
    pub(super) fn heard(&self) -> Heard {
        while let Ok((stream, _)) = self.listener.accept() {
            if let Some(heard) = self.listen_to(stream) {
                return heard;
            }
        }
        Heard::Nothing
    }

    /// `None` where somebody else has come.
    fn listen_to(&self, stream: UnixStream) -> Option<Heard> {
        stream.set_nonblocking(true).ok()?;
        let mut control = Control::from(OwnedFd::from(stream));
        let word: String = control.receive().ok()??;
        if word != self.address.word {
            return None;
        }
        let mut heard = Heard::Nothing;
        while let Ok(Some(event)) = control.receive::<Event>() {
            match event {
                Event::Started(_) => heard = Heard::Started,
                last => return Some(Heard::Last(last)),
            }
        }
        Some(heard)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
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
        let line = Line::open(place.path(), Identity::own(), place.path()).unwrap();
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
    fn a_command_whose_end_is_not_told_has_none() {
        let place = tempfile::tempdir().unwrap();
        let line = Line::open(place.path(), Identity::own(), place.path()).unwrap();
        assert!(matches!(line.heard(), Heard::Nothing));
        // Whether the other side is still there or not.
        let _open = call(&line, &line.address.word, &[Event::Started(Report::default())]);
        assert!(matches!(line.heard(), Heard::Started));
        drop(call(&line, &line.address.word, &[Event::Started(Report::default())]));
        assert!(matches!(line.heard(), Heard::Started));
    }
}
