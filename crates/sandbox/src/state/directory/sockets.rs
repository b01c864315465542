//! Sockets in a directory of records: listening on one, and connecting to one as the user whose directory it is.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::{StateDir, StateError, draft_name};
use crate::host::acting;

impl StateDir {
    /// Listens on a new socket. Whoever finds its name can connect to it already.
    pub(crate) fn listen(&self, name: &str) -> Result<UnixListener, StateError> {
        let _acting = self.acting(name)?;
        // The path of the draft is bound, and has to be short as well.
        let draft = draft_name("socket");
        let listen = || {
            let listener = UnixListener::bind(self.short_path(&draft))?;
            rustix::fs::renameat(&self.directory, &draft, &self.directory, name)?;
            Ok(listener)
        };
        listen().map_err(|source| {
            let _ = rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty());
            self.failed("listen on", name, source)
        })
    }

    /// Connects to a socket, and speaks there, as its owner: whoever listens sees root neither as who has connected nor as who
    /// sends. `None` where nobody listens on it any more. It is this directory's own socket: a link to another one is not followed.
    pub(crate) fn speak<T: Send>(
        &self,
        name: &str,
        speak: impl FnOnce(UnixStream) -> T + Send,
    ) -> Result<Option<T>, StateError> {
        let connect = || {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let socket = rustix::fs::openat(&self.directory, name, flags, Mode::empty())?;
            if FileType::from_raw_mode(rustix::fs::fstat(&socket)?.st_mode) != FileType::Socket {
                // Nobody listens on what is no socket.
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            UnixStream::connect(format!("/proc/self/fd/{}", socket.as_raw_fd())).map(speak)
        };
        match acting::as_peer(self.owner, connect) {
            Ok(value) => Ok(Some(value)),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) =>
            {
                Ok(None)
            }
            Err(error) => Err(self.failed("connect to", name, error)),
        }
    }

    /// Returns whether somebody listens on a socket.
    pub(crate) fn is_listening(&self, name: &str) -> Result<bool, StateError> {
        Ok(self.speak(name, drop)?.is_some())
    }

    /// Returns a path by way of the descriptor: that of a socket has room for 107 bytes (unix(7)).
    fn short_path(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd").join(self.directory.as_raw_fd().to_string()).join(name)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::host::identity::Identity;

    #[test]
    fn does_not_speak_to_what_a_link_leads_to() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(&top.path().join("s"), Identity::own()).unwrap();
        let _own = state.listen("own").unwrap();
        let _other = UnixListener::bind(top.path().join("other")).unwrap();
        symlink(top.path().join("other"), top.path().join("s/control")).unwrap();
        assert!(UnixStream::connect(top.path().join("s/control")).is_ok(), "the control");
        assert_eq!(state.speak("control", drop).unwrap(), None);
        assert_eq!(state.speak("own", drop).unwrap(), Some(()));
    }
}
