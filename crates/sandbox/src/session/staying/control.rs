//! Asking PID 1 of a persistent sandbox: how it is, and to end.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use confine::protocol::{Attachment, ControlSocket, Purpose, SandboxEnd, SandboxUsage, StayStatus};

use crate::host::deadline::Deadline;
use crate::state::event::EventKind;
use crate::state::journal::Recorded;
use crate::state::sandboxes::{BE_UNPAUSED, OpenNote, Phase, SandboxError, StayingSandbox};

/// How long PID 1 may take to answer. It has nothing to do that takes long.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the kernel may take to let go of what PID 1 had, once that has closed its connections.
const RELEASE: Duration = Duration::from_secs(5);

/// How long to wait between two looks at that.
const PAUSE: Duration = Duration::from_millis(1);

impl StayingSandbox {
    /// Asks how it is.
    ///
    /// # Errors
    ///
    /// It is not running, or does not answer within ten seconds.
    pub fn status(&self) -> Result<StayStatus, SandboxError> {
        self.require(Phase::can_exec, "be asked how it is")?;
        let stream = self.open(Purpose::Status, Some(PATIENCE))?;
        let status = ControlSocket::from(OwnedFd::from(stream)).receive();
        let status = status.and_then(|status| status.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        status.map_err(|source| self.unreachable(source))
    }

    /// Restarts its idle time.
    ///
    /// # Errors
    ///
    /// It is not running, or does not answer within ten seconds.
    pub fn touch(&self) -> Result<(), SandboxError> {
        self.require(Phase::can_exec, "be touched")?;
        self.request(Purpose::Touch)
    }

    /// Asks what it uses.
    ///
    /// # Errors
    ///
    /// It is not alive, or ends meanwhile, or does not answer within ten seconds.
    pub fn usage(&self) -> Result<SandboxUsage, SandboxError> {
        let action = "be asked what it uses";
        self.require(Phase::can_stop, action)?;
        match self.ask_usage() {
            Err(SandboxError::Unreachable { .. }) if self.ends_now()? => {
                Err(self.has_ended_and_cannot(action))
            }
            usage => usage,
        }
    }

    fn ask_usage(&self) -> Result<SandboxUsage, SandboxError> {
        let stream = self.open(Purpose::Usage, Some(PATIENCE))?;
        let usage = ControlSocket::from(OwnedFd::from(stream)).receive();
        let usage = usage.and_then(|usage| usage.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        usage.map_err(|source| self.unreachable(source))
    }

    /// Stops every process in it.
    ///
    /// # Errors
    ///
    /// It is not running, or does not answer within ten seconds.
    pub fn pause(&self) -> Result<Recorded, SandboxError> {
        self.require(Phase::can_exec, "be paused")?;
        self.request(Purpose::Pause)?;
        Ok(self.record_event(EventKind::Pause))
    }

    /// Lets its processes go on.
    ///
    /// # Errors
    ///
    /// It is not paused, or does not answer within ten seconds.
    pub fn unpause(&self) -> Result<Recorded, SandboxError> {
        self.require(Phase::can_unpause, BE_UNPAUSED)?;
        self.request(Purpose::Unpause)?;
        Ok(self.record_event(EventKind::Unpause))
    }

    /// Requests something without parameters, and waits until it is done: then the connection is closed.
    fn request(&self, purpose: Purpose) -> Result<(), SandboxError> {
        let mut stream = self.open(purpose, Some(PATIENCE))?;
        // PID 1 sends nothing, and closes the connection when it is done. Whatever else listens there may send for ever.
        match stream.read_exact(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Ok(()) => Err(self.unreachable(io::ErrorKind::InvalidData.into())),
            Err(source) => Err(self.unreachable(source)),
        }
    }

    /// Waits until it has ended, and returns how; `None` where nobody could note that.
    pub fn wait(&self) -> Result<Option<SandboxEnd>, SandboxError> {
        // Opened first: the client of one that ends with it removes the file, and what was opened can still be read.
        let Some(note) = self.open_note()? else { return self.recorded_end() };
        // PID 1 lets so many wait, and closes the connections of others at once.
        while !self.has_ended(&note)? && !self.wait_for(Purpose::Wait, None, &note)? {}
        Ok(note.end())
    }

    /// Ends it: everything inside gets SIGTERM, and SIGKILL where it has not ended within `grace`.
    ///
    /// # Errors
    ///
    /// It is not running, or PID 1 does not do it.
    pub fn stop(&self, grace: Duration) -> Result<Recorded, SandboxError> {
        self.require(Phase::can_stop, "be stopped")?;
        // Before its end, which this process may not see.
        let recorded = self.record_event(EventKind::Stop);
        let Some(note) = self.open_note()? else { return Ok(recorded) };
        if !grace.is_zero() && self.wait_for(Purpose::Terminate, Some(grace), &note)? {
            return Ok(recorded);
        }
        if self.wait_for(Purpose::Kill, Some(PATIENCE), &note)? {
            Ok(recorded)
        } else {
            Err(self.unreachable(io::ErrorKind::TimedOut.into()))
        }
    }

    /// Waits a moment until nothing of it runs any more, which somebody else has seen to; returns whether that is so.
    pub(crate) fn ends_now(&self) -> Result<bool, SandboxError> {
        let note = self.open_note()?;
        note.map_or(Ok(true), |note| self.ends_soon(&note))
    }

    fn ends_soon(&self, note: &OpenNote) -> Result<bool, SandboxError> {
        let until = Deadline::after(RELEASE);
        while !self.has_ended(note)? {
            if until.is_over() {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }

    /// Opens a connection for a purpose, and waits until it is closed because the sandbox has ended; returns whether it has.
    fn wait_for(
        &self,
        purpose: Purpose,
        limit: Option<Duration>,
        note: &OpenNote,
    ) -> Result<bool, SandboxError> {
        match self.open(purpose, limit) {
            Ok(mut stream) => match stream.read(&mut [0]) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(false);
                }
                Err(error) => return Err(self.unreachable(error)),
            },
            // It is about to end, or has.
            Err(SandboxError::Unreachable { .. }) => {}
            Err(error) => return Err(error),
        }
        // Its descriptors close one after the other.
        self.ends_soon(note)
    }

    /// Returns whether nothing of it runs any more.
    fn has_ended(&self, note: &OpenNote) -> Result<bool, SandboxError> {
        Ok(match self.record.stay.attachment {
            Attachment::Detached => !self.lives()?,
            // Its client holds the name until it has removed the rest, however long that takes. PID 1 that was killed has noted nothing, and
            // nobody listens for it any more.
            Attachment::Attached => note.end().is_some() || !self.lives()? || !self.is_served()?,
        })
    }

    /// Returns whether somebody serves it.
    fn is_served(&self) -> Result<bool, SandboxError> {
        match self.connect() {
            Ok(_) => Ok(true),
            Err(SandboxError::Unreachable { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a connection for a purpose.
    pub(crate) fn open(&self, purpose: Purpose, limit: Option<Duration>) -> Result<UnixStream, SandboxError> {
        let mut stream = self.connect()?;
        let mut send = || {
            stream.set_read_timeout(limit)?;
            stream.write_all(&[purpose.byte()])
        };
        send().map_err(|source| self.unreachable(source))?;
        Ok(stream)
    }

    /// Requires a state in which something can be done.
    pub(crate) fn require(&self, can: fn(Phase) -> bool, action: &'static str) -> Result<(), SandboxError> {
        if can(self.phase) {
            Ok(())
        } else {
            Err(SandboxError::Phase { name: self.name().to_owned(), phase: self.phase, action })
        }
    }

    /// Makes the error of one that has ended since it was found.
    pub(crate) fn ended(&self) -> SandboxError {
        self.has_ended_and_cannot("have its files used")
    }

    fn has_ended_and_cannot(&self, action: &'static str) -> SandboxError {
        let phase = match self.record.stay.attachment {
            Attachment::Attached => Phase::Ending,
            Attachment::Detached => Phase::Stopped,
        };
        SandboxError::Phase { name: self.name().to_owned(), phase, action }
    }

    pub(crate) fn unreachable(&self, source: io::Error) -> SandboxError {
        SandboxError::Unreachable { name: self.name().to_owned(), source }
    }
}
