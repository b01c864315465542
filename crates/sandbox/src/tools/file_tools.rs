//! The tools of one sandbox: what they have open, and how a path becomes a descriptor.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use confine::protocol::{ControlSocket, FileEvent, FileRequest, Purpose};
use policy::query::{Act, Denial, PlanFault, Query, Resolved};
use policy::rules::path::PathAccess;
use policy::text::escape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::place::{Opened, Root};
use super::shown::Shown;
use crate::host::acting::ActingAs;
use crate::host::identity::Identity;
use crate::state::sandboxes::{SandboxError, StayingSandbox};

/// The largest file that tools touch where no boundary says otherwise.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// How often the idle time of a sandbox is restarted while its files are used, at most.
const TOUCH: Duration = Duration::from_secs(5);

/// Why a tool has not done what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A rule is against it, or what is there.
    #[error(transparent)]
    Denied(#[from] Denial),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Plan(#[from] PlanFault),
    /// The system refuses it, as it would refuse it to a command.
    #[error("cannot {access} `{path}`: {source}")]
    System { access: Act, path: String, source: io::Error },
    #[error("cannot write `{path}`: it was changed meanwhile, and nothing was written; read it again")]
    Changed { path: String },
    #[error("cannot act with the rights of the agent: {0}")]
    Acting(io::Error),
}

/// The file tools of one persistent sandbox. They may be used by any number of threads at once.
///
/// A sandbox that was ended and made again is another one: its tools have to be opened again.
#[derive(Debug)]
pub struct FileTools {
    sandbox: Arc<StayingSandbox>,
    query: Query,
    /// With whose rights they are used.
    agent: Identity,
    /// In the order of the query's boundaries; an error where the sandbox has nothing there.
    roots: Vec<Result<Root, Errno>>,
    /// PID 1 closes its end when the sandbox ends.
    life: UnixStream,
    touched: Mutex<Instant>,
}

impl FileTools {
    /// Opens the tools of a sandbox: one call to its PID 1, and no more as long as they are used.
    ///
    /// # Errors
    ///
    /// The sandbox is not running.
    pub fn open(sandbox: impl Into<Arc<StayingSandbox>>) -> Result<Self, ToolError> {
        let sandbox = sandbox.into();
        sandbox.require_hiding("have its files used")?;
        let query = Query::new(&sandbox.record.plan)?;
        let life = sandbox.open(Purpose::Wait, None)?;
        let roots = roots(&sandbox, &query).map_err(|source| sandbox.unreachable(source))?;
        let agent = sandbox.agent();
        let tools = Self { sandbox, query, agent, roots, life, touched: Mutex::new(Instant::now()) };
        if tools.has_ended() {
            // It has more clients that wait for its end than PID 1 keeps, or has just ended.
            return Err(tools.sandbox.unreachable(io::ErrorKind::ConnectionReset.into()).into());
        }
        Ok(tools)
    }

    /// Returns whether the sandbox has ended: PID 1 has closed its end of the connection that stays open while it lives.
    pub fn has_ended(&self) -> bool {
        let mut life = [PollFd::new(&self.life, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut life, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Returns what can be asked of the sandbox.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Begins a call: checks that the sandbox lives and hides what it hid, and takes the rights of the agent.
    pub(super) fn begin(&self) -> Result<ActingAs, ToolError> {
        if self.has_ended() {
            return Err(self.sandbox.ended().into());
        }
        self.sandbox.check_hidden()?;
        self.touch()?;
        ActingAs::user(self.agent).map_err(ToolError::Acting)
    }

    /// Restarts the idle time of the sandbox, where it has one.
    fn touch(&self) -> Result<(), SandboxError> {
        let Some(idle) = self.sandbox.record.stay.idle_timeout else { return Ok(()) };
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        if touched.elapsed() < TOUCH.min(idle / 4) {
            return Ok(());
        }
        *touched = Instant::now();
        self.sandbox.touch()
    }

    /// Returns the directory of a boundary.
    pub(super) fn root(&self, place: usize, access: PathAccess) -> Result<&Root, ToolError> {
        self.roots[place].as_ref().map_err(|errno| {
            let path = escape::path(self.query.places()[place].guest.as_path());
            match *errno {
                Errno::NOENT => Denial::NotFound { access: access.into(), path }.into(),
                errno => ToolError::System { access: access.into(), path, source: errno.into() },
            }
        })
    }

    /// Resolves a path, and checks that a rule allows what is to be done with it.
    pub(super) fn resolve(&self, path: &OsStr, access: PathAccess) -> Result<Resolved, Denial> {
        let resolved = self.query.resolve(path, access)?;
        self.query.check(&resolved, access)?;
        Ok(resolved)
    }

    /// Opens what is at a path, without a right to its content yet, and checks what it is really: links may have led elsewhere.
    pub(super) fn open_beneath(
        &self,
        path: &OsStr,
        access: PathAccess,
    ) -> Result<(Opened, Resolved), ToolError> {
        let asked = self.resolve(path, access)?;
        let root = self.root(asked.place, access)?;
        let opened = root.open(&asked.relative).map_err(|errno| self.refused(access, &asked, errno))?;
        let really = self.really(&asked, &opened.relative, access)?;
        Ok((opened, really))
    }

    /// Checks a path as the kernel has resolved it.
    pub(super) fn really(
        &self,
        asked: &Resolved,
        relative: &Path,
        access: PathAccess,
    ) -> Result<Resolved, Denial> {
        let really = self.query.within(asked.place, relative, access)?;
        self.query.check(&really, access)?;
        Ok(really)
    }

    /// Makes the error of a path that cannot be opened beneath its boundary.
    pub(super) fn refused(&self, access: PathAccess, asked: &Resolved, errno: Errno) -> ToolError {
        match errno {
            Errno::XDEV => {
                let path = escape::path(asked.guest.as_path());
                let boundary = escape::path(self.query.place(asked).guest.as_path());
                Denial::LeadsOut { access: access.into(), path, boundary }.into()
            }
            errno => self.failed(access, asked, errno),
        }
    }

    /// Makes the error of what the system refuses.
    pub(super) fn failed(&self, access: PathAccess, resolved: &Resolved, errno: Errno) -> ToolError {
        let path = escape::path(resolved.guest.as_path());
        let is_read_only = || self.roots[resolved.place].as_ref().is_ok_and(Root::is_read_only);
        match errno {
            Errno::NOENT => Denial::NotFound { access: access.into(), path }.into(),
            // The rules allow it, so it is one of the mounts that protect what lies in a boundary.
            Errno::ROFS if !is_read_only() => Denial::Protected { protected: path.clone(), path }.into(),
            errno => ToolError::System { access: access.into(), path, source: errno.into() },
        }
    }

    /// Returns a path as it is shown: from the working directory on, where it lies in that, so that it can be used again.
    pub(super) fn shown(&self, path: &Path) -> Shown {
        Shown::new(path, self.query.workdir())
    }
}

/// Has a process of the sandbox open the directory of every boundary.
fn roots(sandbox: &StayingSandbox, query: &Query) -> io::Result<Vec<Result<Root, Errno>>> {
    let places = query.places();
    let directories = places.iter().map(|place| Root::directory_of(place).to_owned()).collect();
    let stream = sandbox.open(Purpose::Files, None).map_err(io::Error::other)?;
    let mut control = ControlSocket::from(OwnedFd::from(stream));
    control.send(&FileRequest::Open { directories }, &[])?;
    let mut roots = Vec::new();
    for place in places {
        let event = control.receive()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let descriptor = control.take_descriptors().pop();
        roots.push(match (event, descriptor) {
            (FileEvent::Opened { errno: None }, Some(directory)) => Root::new(directory, place),
            (FileEvent::Opened { errno: Some(errno) }, _) => Err(Errno::from_raw_os_error(errno)),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        });
    }
    Ok(roots)
}
