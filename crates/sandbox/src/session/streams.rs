//! The streams of the agent: the standard ones, and what else the caller passes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use policy::plan::{FileId, Plan};
use policy::rules::limits::Bytes;
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use confine::process::terminal::{self, Pty};
use confine::protocol::{Grant, LandlockAccess, Passed};

use crate::host::beneath::file_id;
use crate::host::capture::Capture;
use crate::host::identity::Identity;
use crate::host::pipe::{Direction, Outer, Pipes};
use crate::host::terminal::{Ends, Relay, StreamKind, check_stream};
use crate::session::error::StartError;
use crate::session::passed::PassedDescriptor;

/// Where the standard streams of the agent lead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stdio {
    /// The caller's own, byte-exact: a terminal is relayed through a pty and a pipe through a pipe, everything else is handed
    /// over.
    Inherit,
    /// Output is captured, bounded by the plan's `output_bytes`; input is empty.
    Capture,
    /// Output goes into pipes that somebody else reads; input is empty. For a command that outlives this process.
    Logged,
    /// There is no input, and what is written is dropped.
    Null,
}

/// The agent's user and group on the host.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Where the agent's streams lead, on our side and on its.
pub(crate) struct Streams {
    /// The three standard streams, and then what else is passed.
    inside: Vec<Inside>,
    /// The numbers of what else is passed.
    passed: Vec<u32>,
    /// Which of the caller's pipes are relayed, and at which place of `inside`.
    relayed: Vec<(PipeId, usize)>,
    caller: Identity,
    /// Which of the three are the agent's own terminal.
    pub(crate) terminal: [bool; 3],
    /// Standard output and error, where they are captured.
    pub(crate) captures: Option<[Capture; 2]>,
    /// What standard output and error are read from, where they are logged.
    pub(crate) logged: Vec<OwnedFd>,
    /// What leads from and to the caller's pipes.
    pub(crate) pipes: Pipes<'static>,
}

/// A terminal of a command's own that was opened out here. It ends with this, and not whenever nobody happens to have it open.
pub(crate) struct OwnTerminal {
    pair: Pty,
    numbers: Vec<u8>,
    /// The number of the stream that is made the terminal of the command's session.
    pub(crate) first: u8,
}

impl OwnTerminal {
    /// Lists what landlock lets the command do with it.
    pub(crate) fn grants(&self) -> impl Iterator<Item = Grant> {
        let path = |number: &u8| Path::new("/proc/self/fd").join(number.to_string());
        self.numbers.iter().map(move |number| Grant { path: path(number), access: LandlockAccess::Terminal })
    }
}

/// Which pipe it is, and which way it leads.
type PipeId = (FileId, Direction);

enum Inside {
    Ours(u8),
    Made(OwnedFd),
}

impl AsFd for Inside {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ours(number) => standard(*number),
            Self::Made(fd) => fd.as_fd(),
        }
    }
}

impl Streams {
    /// Opens them. A stream that would hand over more than a stream is refused.
    pub(crate) fn open(
        wanted: Stdio,
        limit: Bytes,
        agent: Owner,
        caller: Identity,
    ) -> Result<Self, StartError> {
        let failed =
            |source| StartError::Step { step: "opening the standard streams".into(), source, remedy: None };
        match wanted {
            Stdio::Capture => {
                let (stdout, out) = Capture::open(limit).map_err(failed)?;
                let (stderr, err) = Capture::open(limit).map_err(failed)?;
                let inside =
                    vec![Inside::Made(null().map_err(failed)?), Inside::Made(out), Inside::Made(err)];
                Ok(Self { captures: Some([stdout, stderr]), ..Self::leading_to(inside, caller) })
            }
            Stdio::Null => {
                let null = || Ok::<_, StartError>(Inside::Made(null().map_err(failed)?));
                Ok(Self::leading_to(vec![null()?, null()?, null()?], caller))
            }
            Stdio::Logged => {
                let pipe = || -> io::Result<(OwnedFd, Inside)> {
                    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                    Ok((reader, Inside::Made(give(writer, agent)?)))
                };
                let ((stdout, out), (stderr, err)) = (pipe().map_err(failed)?, pipe().map_err(failed)?);
                let inside = vec![Inside::Made(null().map_err(failed)?), out, err];
                Ok(Self { logged: vec![stdout, stderr], ..Self::leading_to(inside, caller) })
            }
            Stdio::Inherit => {
                let mut streams = Self::leading_to(Vec::new(), caller);
                for (at, name) in (0..).zip(["input", "output", "error"]) {
                    let kind = check_stream(standard(at)).map_err(|error| StartError::Refused {
                        asked: format!("standard {name}"),
                        reason: error.to_string(),
                        remedy: "a pipe, a socket, a file, a terminal or /dev/null would be allowed".into(),
                    })?;
                    streams.terminal[usize::from(at)] = kind == StreamKind::Terminal;
                    let stream = match kind {
                        // The caller's terminal is never handed over: a pty of the agent's own comes in this place.
                        StreamKind::Terminal => Inside::Made(null().map_err(failed)?),
                        StreamKind::Pipe if is_nameless(standard(at)) => {
                            let pipe = pipe(standard(at), at == 0).map_err(|errno| failed(errno.into()))?;
                            streams.relay_pipe(Outer::Borrowed(standard(at)), pipe, agent).map_err(failed)?
                        }
                        _ => Inside::Ours(at),
                    };
                    streams.inside.push(stream);
                }
                Ok(streams)
            }
        }
    }

    /// Makes them of the agent's ends alone.
    fn leading_to(inside: Vec<Inside>, caller: Identity) -> Self {
        Self {
            inside,
            passed: Vec::new(),
            relayed: Vec::new(),
            caller,
            terminal: [false; 3],
            captures: None,
            logged: Vec::new(),
            pipes: Pipes::default(),
        }
    }

    /// Adds what else the plan passes: by the numbers of the plan, as what the caller has at these numbers.
    pub(crate) fn pass(
        &mut self,
        plan: &Plan,
        descriptors: Vec<PassedDescriptor>,
        agent: Owner,
    ) -> Result<(), StartError> {
        let mut descriptors: Vec<_> = descriptors.into_iter().map(PassedDescriptor::into_parts).collect();
        for number in &plan.agent.pass_fd {
            let step = |source| StartError::Step {
                step: format!("passing descriptor {number}"),
                source,
                remedy: None,
            };
            let at = descriptors.iter().position(|(other, _)| other == number);
            let (_, fd) = descriptors.swap_remove(at.ok_or_else(|| step(Errno::BADF.into()))?);
            let stream = if matches!(check_stream(&fd), Ok(StreamKind::Pipe)) && is_nameless(fd.as_fd()) {
                let pipe = pipe(fd.as_fd(), false).map_err(|errno| step(errno.into()))?;
                self.relay_pipe(Outer::Owned(fd), pipe, agent).map_err(step)?
            } else {
                Inside::Made(fd)
            };
            self.inside.push(stream);
            self.passed.push(*number);
        }
        Ok(())
    }

    /// Makes a pipe of the agent's own in the place of one of the caller's. What is written to two numbers of one pipe keeps
    /// its order, and what is read from two is read once: so they are one inside, too.
    fn relay_pipe(&mut self, outer: Outer<'static>, pipe: PipeId, agent: Owner) -> io::Result<Inside> {
        let same = self.relayed.iter().find(|(other, _)| *other == pipe);
        let made = match same {
            Some((_, at)) => self.inside[*at].as_fd().try_clone_to_owned()?,
            None => give(self.pipes.relay(outer, pipe.1)?, agent)?,
        };
        self.relayed.push((pipe, self.inside.len()));
        Ok(Inside::Made(made))
    }

    /// Returns the streams that PID 1 starts with.
    pub(crate) fn inside(&self) -> [BorrowedFd<'_>; 3] {
        [0, 1, 2].map(|at| self.inside[at].as_fd())
    }

    /// Counts the sockets that are handed over: each keeps the network of whoever made it, see [`check_stream`].
    pub(crate) fn sockets(&self) -> usize {
        let all = self.inside.iter().map(AsFd::as_fd);
        all.filter(|stream| matches!(check_stream(stream), Ok(StreamKind::Socket))).count()
    }

    /// Returns what is passed besides.
    pub(crate) fn passed(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.inside.iter().skip(3).map(AsFd::as_fd)
    }

    /// Lists what is passed besides, in the same order, as PID 1 has to know it.
    pub(crate) fn passed_as(&self) -> Vec<Passed> {
        let all = self.passed.iter().zip(self.passed());
        all.map(|(number, fd)| Passed { number: *number, access: access(fd).to_vec() }).collect()
    }

    /// Lists what landlock lets the agent open again: programs know their streams as `/dev/stdin`, `/dev/stdout` and
    /// `/dev/stderr` too.
    pub(crate) fn grants(&self) -> impl Iterator<Item = Grant> {
        let grants = |(number, stream): (usize, BorrowedFd<'_>)| {
            let path = Path::new("/proc/self/fd").join(number.to_string());
            access(stream).iter().map(move |access| Grant { path: path.clone(), access: *access })
        };
        self.inside().into_iter().enumerate().flat_map(grants)
    }

    /// Returns the caller's terminals among them, if there are any.
    pub(crate) fn ends(&self) -> Option<Ends<'static>> {
        let output = [1, 2, 0].into_iter().find(|at| self.terminal[usize::from(*at)]).map(standard)?;
        let input = self.terminal[0].then(|| standard(0));
        Some(Ends { input, output, caller: self.caller })
    }

    /// Puts a terminal in the place of the caller's that is opened out here. What is in a sandbox is one user, who has a name
    /// for every terminal of the sandbox and none for this: whoever was not handed it cannot open it.
    pub(crate) fn open_terminal(&mut self, agent: Owner) -> Result<Option<OwnTerminal>, StartError> {
        let numbers: Vec<u8> =
            (0..).zip(self.terminal).filter_map(|(at, is_terminal)| is_terminal.then_some(at)).collect();
        let (Some(size), Some(first)) = (self.size(), numbers.first().copied()) else { return Ok(None) };
        let failed = |source| StartError::Step { step: "opening a terminal".into(), source, remedy: None };
        let mut pair = terminal::open(size).map_err(|errno| failed(errno.into()))?;
        pair.slave = give(pair.slave, agent).map_err(|errno| failed(errno.into()))?;
        for number in &numbers {
            self.inside[usize::from(*number)] = Inside::Made(pair.slave.try_clone().map_err(failed)?);
        }
        Ok(Some(OwnTerminal { pair, numbers, first }))
    }

    /// Returns the rows and columns of the caller's terminal.
    pub(crate) fn size(&self) -> Option<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(self.ends()?.output).ok()?;
        Some((size.ws_row, size.ws_col))
    }

    /// Shows a terminal that was opened out here on that of the caller.
    pub(crate) fn relay(&self, terminal: Option<&OwnTerminal>) -> Result<Option<Relay>, StartError> {
        let (Some(terminal), Some(ends)) = (terminal, self.ends()) else { return Ok(None) };
        let relay = terminal.pair.master.try_clone().and_then(|master| Relay::new(master, ends));
        relay.map(Some).map_err(|source| StartError::Step {
            step: "relaying the terminal".into(),
            source,
            remedy: None,
        })
    }

    /// Closes our copies of the agent's ends, so that the end of its output is seen.
    pub(crate) fn close_inside(&mut self) {
        self.inside.clear();
    }
}

/// Returns what landlock allows with a stream by its name: what the stream itself can do and no more. Whoever holds one that
/// can be written can also cut the file off and write anywhere in it, see ftruncate(2) and `F_SETFL` in fcntl(2).
fn access(stream: BorrowedFd<'_>) -> &'static [LandlockAccess] {
    let flags = rustix::fs::fcntl_getfl(stream).unwrap_or(OFlags::PATH);
    match (check_stream(stream), flags & OFlags::RWMODE) {
        (Ok(StreamKind::File | StreamKind::Pipe), _) if flags.contains(OFlags::PATH) => &[],
        (Ok(StreamKind::File | StreamKind::Pipe), OFlags::RDONLY) => &[LandlockAccess::Read],
        (Ok(StreamKind::File | StreamKind::Pipe), OFlags::WRONLY) => &[LandlockAccess::Write],
        (Ok(StreamKind::File | StreamKind::Pipe), _) => &[LandlockAccess::Read, LandlockAccess::Write],
        _ => &[],
    }
}

fn standard(number: u8) -> BorrowedFd<'static> {
    match number {
        0 => rustix::stdio::stdin(),
        1 => rustix::stdio::stdout(),
        _ => rustix::stdio::stderr(),
    }
}

/// Returns whether a pipe has no name in any directory, so that nobody else can open it by one.
pub(crate) fn is_nameless(pipe: BorrowedFd<'_>) -> bool {
    const PIPEFS_MAGIC: u32 = 0x5049_5045;
    !rustix::fs::fstatfs(pipe).is_ok_and(|system| u32::try_from(system.f_type) != Ok(PIPEFS_MAGIC))
}

/// Returns which pipe a stream is, and which way it leads.
fn pipe(stream: BorrowedFd<'_>, is_input: bool) -> Result<PipeId, Errno> {
    let direction = match (rustix::fs::fcntl_getfl(stream)? & OFlags::RWMODE, is_input) {
        (OFlags::WRONLY, _) => Direction::FromAgent,
        (OFlags::RDONLY, _) | (_, true) => Direction::ToAgent,
        _ => Direction::FromAgent,
    };
    Ok((file_id(&rustix::fs::fstat(stream)?), direction))
}

/// Makes the agent the owner of what was made for it: programs open their streams again, as `/dev/stdout`.
pub(crate) fn give(made: OwnedFd, agent: Owner) -> Result<OwnedFd, Errno> {
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(agent.uid), Gid::from_raw(agent.gid));
        rustix::fs::fchown(&made, Some(uid), Some(gid))?;
    }
    Ok(made)
}

fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}
