//! PID 1 of a sandbox that serves other clients than the one that has made it: it lives without that one and ends itself, or it ends with it.
//!
//! It reads one byte of each connection and nothing else, so that no client can hold it up: for each command it forks a
//! supervisor, which does the rest (`exec.rs`). All its children are supervisors. One that does not end its command in time is
//! killed, with the command.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};
use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitOptions, getpid, set_parent_process_death_signal, waitid,
};

use super::deadlines::{self, Deadlines};
use super::descriptors::{Descriptors, StayDescriptors};
use super::exec::{self, ExecSupervision, timespec};
use super::files;
use super::listeners::ProxyListeners;
use super::logs::LogPump;
use super::scope::Scope;
use super::shortage;
use crate::cgroup::KillCounter;
use crate::process::reap;
use crate::process::start::{self, Neighbours, NotStarted, exit_code};
use crate::process::stdio;
use crate::protocol::{
    Attachment, CommandSpec, ControlSocket, EndCause, Ending, Event, FileEvent, Purpose, Request, SandboxEnd,
    Stay, StayNote, StayStatus, Step,
};
use crate::sys::{self, Machine};

/// How many connections may wait to say what they are for.
const MAX_PENDING: usize = 64;

/// How many may wait for the end.
const MAX_WAITING: usize = 256;

/// How long a connection may take to say what it is for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many children are collected before anything else gets its turn.
const BATCH: u32 = 64;

/// What a client forwards that asks for the end of its command.
const ENDING_SIGNALS: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The exit code of a command that could not be started, for another reason than its program.
const NOT_STARTED: u8 = 125;

/// Which of two processes this one is, after a fork.
enum Forked {
    /// The one that has forked.
    Init,
    /// The new one, and who has forked it.
    Supervisor(Pid),
}

/// The command that a sandbox runs from its start.
pub(super) struct InitialCommand {
    pub(super) command: CommandSpec,
    /// Its terminal, where PID 1 has opened that.
    pub(super) terminal: Option<OwnedFd>,
}

/// A PID 1 that stays.
pub(super) struct Staying {
    stay: Stay,
    began: Instant,
    listener: Option<OwnedFd>,
    note: File,
    kills: KillCounter,
    /// Never read: what is locked through them is locked for as long as this process lives.
    held: Vec<OwnedFd>,
    logs: Vec<LogPump>,
    cgroups: Vec<OwnedFd>,
    neighbours: Neighbours,
    listeners: ProxyListeners,
    scope: Scope,
    signals: SignalFd,
    /// The supervisors.
    children: Vec<i32>,
    deadlines: Deadlines,
    /// What the supervisor of the first command reports.
    first: Option<ControlSocket>,
    /// How the first command has ended.
    first_ending: Option<Ending>,
    /// The client that has made it, where it ends with that.
    client: Option<ControlSocket>,
    /// Since when there is no command.
    idle_since: Option<Instant>,
    pending: Vec<Pending>,
    waiting: Vec<OwnedFd>,
    /// Why it ends as soon as no command is left.
    ending: Option<EndCause>,
    /// Whether everything inside is stopped.
    is_paused: bool,
}

/// A connection that has not said what it is for.
struct Pending {
    stream: OwnedFd,
    since: Instant,
}

impl Staying {
    /// Starts the first command, if there is one.
    pub(super) fn begin(
        descriptors: StayDescriptors,
        first: Option<InitialCommand>,
        given: Descriptors,
        neighbours: Neighbours,
        listeners: ProxyListeners,
        scope: Scope,
        client: &ControlSocket,
    ) -> Result<Self, NotStarted> {
        let failed = |step| move |error: io::Error| NotStarted::Failed(start::failed(step)(error));
        let StayDescriptors { stay, listener, note, kills, held, logs } = descriptors;
        let Descriptors { cgroups, passed } = given;
        let mask = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM]);
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(|errno| failed(Step::Signals)(errno.into()))?;
        let mut staying = Self {
            stay,
            began: Instant::now(),
            listener: Some(listener),
            note,
            kills,
            held,
            logs,
            cgroups,
            neighbours,
            listeners,
            scope,
            signals,
            children: Vec::new(),
            deadlines: Deadlines::default(),
            first: None,
            first_ending: None,
            client: None,
            idle_since: Some(Instant::now()),
            pending: Vec::new(),
            waiting: Vec::new(),
            ending: None,
            is_paused: false,
        };
        if staying.stay.attachment == Attachment::Attached && first.is_some() {
            // Before the command can say that it runs: whoever has seen it looks for its sandbox.
            staying.note(StayNote::Stays).map_err(failed(Step::Fork))?;
        }
        if let Some(InitialCommand { command, terminal }) = first {
            let (ours, theirs) = ControlSocket::pair().map_err(failed(Step::Fork))?;
            if let Forked::Supervisor(of) = staying.fork_supervisor().map_err(failed(Step::Fork))? {
                drop(ours);
                staying
                    .supervise(of, None, |given| exec::run_first(theirs, command, terminal, passed, &given));
            }
            staying.first = Some(ours);
        }
        // Its supervisor has copies.
        stdio::replace_by_null().map_err(|errno| failed(Step::Stdio)(errno.into()))?;
        if staying.first.is_some() {
            match staying.first_event(client) {
                Ok(Some(Event::Started { .. })) => {}
                Ok(Some(Event::Failed(failure))) => {
                    staying.note_not_started(NOT_STARTED);
                    return Err(NotStarted::Failed(failure));
                }
                Ok(Some(Event::Unexecutable { command, errno })) => {
                    staying.note_not_started(exit_code(errno));
                    return Err(NotStarted::Unexecutable { command, errno });
                }
                _ => return Err(failed(Step::Command)(Errno::PIPE.into())),
            }
        }
        Ok(staying)
    }

    /// Waits for what the supervisor of the first command reports first. The command may run by then, and stop its supervisor: so
    /// children are looked after, and nobody is waited for whose client is gone.
    fn first_event(&mut self, client: &ControlSocket) -> io::Result<Option<Event>> {
        // A client that waits for its command waits for its beginning, too, however long a slow file system takes.
        let until = match self.stay.attachment {
            Attachment::Attached => None,
            Attachment::Detached => Some(Instant::now() + PATIENCE),
        };
        loop {
            let Some(first) = &mut self.first else { return Ok(None) };
            let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
            // What the client asks for meanwhile waits; that it is gone is seen in any case.
            let watched = [
                (first.as_fd(), PollFlags::IN),
                (client.as_fd(), PollFlags::empty()),
                (self.signals.as_fd(), PollFlags::IN),
            ];
            let mut fds = watched.map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags));
            match poll(&mut fds, left.as_ref()) {
                Ok(0) => return Err(Errno::TIMEDOUT.into()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let [is_reported, is_left, is_signalled] = fds.map(|fd| !fd.revents().is_empty());
            if is_reported {
                return first.receive();
            }
            // It sends nothing before it was notified that the command has begun, so it is gone.
            if is_left {
                return Err(Errno::PIPE.into());
            }
            if is_signalled {
                let _ = self.signals.read_signal();
                self.reap();
            }
        }
    }

    /// Serves clients until the sandbox ends. The returned code is the exit status of this process.
    pub(super) fn serve(mut self, mut control: ControlSocket) -> io::Result<u8> {
        if self.stay.attachment == Attachment::Attached && self.runs_first() {
            self.client = Some(control);
        } else {
            // Until the client has noted that there is such a sandbox, this process ends with it: nobody would find it. From then on
            // it does not, and says so where others look: who is killed in between leaves a sandbox that runs or none.
            control.send(&Event::Ready, &[])?;
            let Some(Request::Leave) = control.receive()? else { return Ok(125) };
            // That signal follows a thread of the client, which may end before the client does.
            set_parent_process_death_signal(None)?;
            self.note(StayNote::Stays)?;
            control.send(&Event::Stays, &[])?;
            // An attached one ends when the connection closes, which it does with the client, however that ends.
            self.client = (self.stay.attachment == Attachment::Attached).then_some(control);
        }

        let cause = loop {
            self.wait()?;
            self.keep_deadlines();
            self.reap();
            if let Some(cause) = self.due_end() {
                break cause;
            }
        };

        // Everything inside ends, and only then this process, of whose end the kernel notifies whoever waits.
        self.scope.end();
        for log in &mut self.logs {
            log.drain();
        }
        self.note_end(cause);
        if let Some(mut client) = self.client.take() {
            for shortage in shortage::detect() {
                let _ = client.send(&Event::Short(shortage), &[]);
            }
            let ending = match cause {
                EndCause::Command(ending) => Some(ending),
                EndCause::Stopped | EndCause::Idle | EndCause::Aged => self.first_ending,
            };
            // A client that is gone needs no answer.
            let _ = client.send(&Event::Ended(ending.unwrap_or(Ending::Signaled(libc::SIGKILL))), &[]);
        }
        Ok(match cause {
            EndCause::Command(ending) => ending.exit_code(),
            EndCause::Stopped | EndCause::Idle | EndCause::Aged => 0,
        })
    }

    /// Returns whether there is a command from the start, or was.
    fn runs_first(&self) -> bool {
        self.first.is_some() || self.first_ending.is_some()
    }

    /// Notes that the sandbox has ended with a command that was never executed. One that waits for its client has noted nothing.
    fn note_not_started(&self, code: u8) {
        if self.stay.attachment == Attachment::Attached {
            self.note_end(EndCause::Command(Ending::Exited(code.into())));
        }
    }

    /// Notes how the sandbox has ended.
    fn note_end(&self, cause: EndCause) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let at = u64::try_from(at).unwrap_or(u64::MAX);
        // On a full disk nobody learns more than that it has ended.
        let _ = self.note(StayNote::Ended(SandboxEnd { cause, at }));
    }

    /// Writes about this process where others look.
    fn note(&self, note: StayNote) -> io::Result<()> {
        let bytes = postcard::to_allocvec(&note).map_err(io::Error::other)?;
        self.note.write_all_at(&bytes, 0)
    }

    /// Waits for whatever happens next, and serves what does.
    fn wait(&mut self) -> io::Result<()> {
        let until = self.next_time();
        let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let listener = self.listener.as_ref().filter(|_| self.pending.len() < MAX_PENDING);
        let at_listener = listener.map(|listener| push(&mut fds, listener.as_fd(), PollFlags::IN));
        let at_proxy = self.listeners.as_fd().map(|proxy| push(&mut fds, proxy, PollFlags::IN));
        let at_first = self.first.as_ref().map(|first| push(&mut fds, first.as_fd(), PollFlags::IN));
        let at_client = self.client.as_ref().map(|client| push(&mut fds, client.as_fd(), PollFlags::IN));
        let at_logs = fds.len();
        fds.extend(
            self.logs
                .iter()
                .filter_map(LogPump::pipe)
                .map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)),
        );
        let at_pending = fds.len();
        fds.extend(self.pending.iter().map(|one| PollFd::new(&one.stream, PollFlags::IN)));
        let at_waiting = fds.len();
        fds.extend(self.waiting.iter().map(|one| PollFd::new(one, PollFlags::empty())));
        let at_deadlines = fds.len();
        fds.extend(self.deadlines.pipes().map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);

        if ready[0] {
            self.on_signal();
        }
        let is_ready = |at: Option<usize>| at.is_some_and(|at| ready[at]);
        if is_ready(at_proxy) {
            self.listeners.on_ready();
        }
        if is_ready(at_first) {
            self.on_first();
        }
        if is_ready(at_client) {
            self.on_client();
        }
        let mut of_logs = ready[at_logs..at_pending].iter();
        for log in self.logs.iter_mut().filter(|log| log.pipe().is_some()) {
            if of_logs.next() == Some(&true) {
                log.on_ready();
            }
        }
        self.deadlines.on_ready(&ready[at_deadlines..]);
        let mut gone = ready[at_waiting..at_deadlines].iter();
        self.waiting.retain(|_| gone.next() != Some(&true));
        let mut ready_pending = ready[at_pending..at_waiting].iter();
        let (said, pending): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pending).into_iter().partition(|_| ready_pending.next() == Some(&true));
        let ready = said.len();
        self.pending = pending;
        // Those that are served next stay in the list as well: a process that is forked for one of them drops the list.
        self.pending.extend(said.into_iter().rev());
        for _ in 0..ready {
            let Some(Pending { stream, .. }) = self.pending.pop() else { break };
            self.on_purpose(stream);
        }
        if is_ready(at_listener) {
            self.accept();
        }
        Ok(())
    }

    /// Returns when there is something to do, if nothing happens before.
    fn next_time(&self) -> Option<Instant> {
        // What is paused is not idle.
        let idle = self.idle_since.filter(|_| !self.is_paused).zip(self.stay.idle_timeout);
        let idle = idle.and_then(|(since, timeout)| since.checked_add(timeout));
        let age = self.stay.max_duration.and_then(|age| self.began.checked_add(age));
        let pending = self.pending.iter().map(|one| one.since + PATIENCE).min();
        // Nor is a command ended that is paused.
        let deadlines = self.deadlines.next().filter(|_| !self.is_paused);
        [idle, age, pending, deadlines].into_iter().flatten().min()
    }

    /// Returns why the sandbox ends now, if it does.
    fn due_end(&mut self) -> Option<EndCause> {
        let now = Instant::now();
        self.pending.retain(|one| one.since + PATIENCE > now);
        if self.stay.max_duration.is_some_and(|age| age <= now.saturating_duration_since(self.began)) {
            return Some(EndCause::Aged);
        }
        let is_over = |since: Instant| {
            self.stay.idle_timeout.is_some_and(|timeout| timeout <= now.saturating_duration_since(since))
        };
        if !self.is_paused && self.idle_since.is_some_and(is_over) {
            return Some(EndCause::Idle);
        }
        // What was requested to end has the time to; a sandbox ends with its first command at once.
        let is_done = self.children.is_empty() && self.first.is_none();
        self.ending.filter(|cause| matches!(cause, EndCause::Command(_)) || is_done)
    }

    /// Accepts a connection of the owner's. The agent cannot name the socket; one that comes from inside all the same is closed.
    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        let Ok(stream) = accept_with(listener, SocketFlags::CLOEXEC) else { return };
        // A process of another PID namespace has no number in this one. Its user is the agent's own, or one that this user
        // namespace does not know: who may reach the socket is decided by the directory that it is in.
        let is_outside = || getsockopt(&stream, PeerCredentials).is_ok_and(|peer| peer.pid() == 0);
        if self.scope == Scope::Descendants || is_outside() {
            self.pending.push(Pending { stream, since: Instant::now() });
        }
    }

    /// Does what a connection is for.
    fn on_purpose(&mut self, stream: OwnedFd) {
        let mut byte = [0];
        let read = recv(&stream, &mut byte[..], RecvFlags::DONTWAIT).map(|(count, _)| count);
        let purpose = if read == Ok(1) { Purpose::of(byte[0]) } else { None };
        match purpose {
            None => {}
            Some(Purpose::Exec | Purpose::Files) if self.ending.is_some() || self.is_paused => {}
            Some(Purpose::Usage) => {
                let _ = ControlSocket::from(stream).send(&reap::usage(), &[]);
            }
            // Closing it says that it is done.
            Some(Purpose::Pause) => self.pause(),
            Some(Purpose::Unpause) => self.unpause(),
            Some(Purpose::Exec) => match self.fork_exec_supervisor() {
                Ok((Forked::Init, _)) => {}
                Ok((Forked::Supervisor(of), deadline)) => {
                    self.supervise(of, Some(deadline), |given| exec::run_for_client(stream, given))
                }
                Err(error) => {
                    let _ = ControlSocket::from(stream)
                        .send(&Event::Failed(start::failed(Step::Fork)(error)), &[]);
                }
            },
            Some(Purpose::Files) => match self.fork_supervisor() {
                Ok(Forked::Init) => {}
                Ok(Forked::Supervisor(of)) => {
                    self.supervise(of, None, |given| files::run_for_client(stream, &given))
                }
                Err(error) => {
                    let errno = error.raw_os_error();
                    let _ = ControlSocket::from(stream).send(&FileEvent::Unserved { errno }, &[]);
                }
            },
            Some(Purpose::Status) => {
                let status = StayStatus {
                    commands: u32::try_from(self.children.len()).unwrap_or(u32::MAX),
                    idle: self.idle_since.map(|since| since.elapsed()),
                    age: self.began.elapsed(),
                };
                let _ = ControlSocket::from(stream).send(&status, &[]);
            }
            Some(Purpose::Touch) => {
                self.idle_since = self.idle_since.map(|_| Instant::now());
                // Closing it says that it is done.
            }
            Some(Purpose::Wait) => self.keep_waiting(stream),
            Some(Purpose::Terminate) => {
                self.ending = self.ending.or(Some(EndCause::Stopped));
                self.terminate();
                self.keep_waiting(stream);
            }
            Some(Purpose::Kill) => {
                self.ending = Some(EndCause::Stopped);
                self.keep_waiting(stream);
                for child in std::mem::take(&mut self.children) {
                    kill(child, rustix::process::Signal::KILL);
                }
            }
        }
    }

    /// Stops every process inside, with those that supervise them.
    fn pause(&mut self) {
        // Noted first: who is stopped and not said to be would be taken for one that hangs.
        if self.ending.is_none() && self.note(StayNote::Paused).is_ok() {
            self.is_paused = true;
            self.scope.signal(Signal::SIGSTOP);
        }
    }

    /// Lets everything go on.
    fn unpause(&mut self) {
        self.is_paused = false;
        self.deadlines.postpone();
        self.scope.signal(Signal::SIGCONT);
        self.idle_since = self.idle_since.map(|_| Instant::now());
        let _ = self.note(StayNote::Stays);
    }

    /// Signals everything inside to end.
    fn terminate(&mut self) {
        if self.is_paused {
            self.unpause();
        }
        self.scope.signal(Signal::SIGTERM);
    }

    /// Keeps a connection open until the sandbox ends.
    fn keep_waiting(&mut self, stream: OwnedFd) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push(stream);
        }
    }

    /// Forks a process that is to supervise a command.
    fn fork_supervisor(&mut self) -> io::Result<Forked> {
        let own = getpid();
        Ok(match sys::fork_single_threaded(Machine::Real)? {
            Some(pid) => {
                self.children.push(pid);
                self.idle_since = None;
                Forked::Init
            }
            None => Forked::Supervisor(own),
        })
    }

    /// Forks a process that is to supervise a command that may have a deadline. Returns the pipe for that.
    fn fork_exec_supervisor(&mut self) -> io::Result<(Forked, OwnedFd)> {
        let (reader, writer) = deadlines::pipe()?;
        let forked = self.fork_supervisor()?;
        if let (Forked::Init, Some(supervisor)) = (&forked, self.children.last()) {
            self.deadlines.add(*supervisor, reader);
        }
        Ok((forked, writer))
    }

    /// Kills supervisors that have not ended their commands in time: what is left of these ends with them.
    fn keep_deadlines(&mut self) {
        let late = if self.is_paused { Vec::new() } else { self.deadlines.take_late() };
        for supervisor in late {
            kill(supervisor, rustix::process::Signal::KILL);
        }
    }

    /// Supervises a command, as a child of `parent`, to its end and to that of this process.
    fn supervise(
        &mut self,
        parent: Pid,
        deadline: Option<OwnedFd>,
        run: impl FnOnce(ExecSupervision<'_>) -> u8,
    ) -> ! {
        // Connections of other clients end when this sandbox does, and not when this process does.
        self.pending.clear();
        self.waiting.clear();
        self.listener = None;
        self.logs.clear();
        self.first = None;
        self.client = None;
        self.deadlines.clear();
        if self.scope == Scope::Descendants {
            // No kernel ends this process with its parent, and the sandbox is what its parent is.
            self.held.clear();
            // It sees that its parent is gone when it looks at its children.
            let _ = set_parent_process_death_signal(Some(rustix::process::Signal::CHILD));
        }
        let supervised = ExecSupervision {
            cgroups: &self.cgroups,
            neighbours: self.neighbours,
            kills: &self.kills,
            parent,
            deadline,
        };
        sys::exit_now(i32::from(run(supervised)))
    }

    fn on_signal(&mut self) {
        let Ok(Some(signal)) = self.signals.read_signal() else { return };
        // Whoever is outside has no number in a namespace: the engine that stops its container. What the agent sends is nothing, also where it
        // says itself who sends it (rt_sigqueueinfo(2)): of another process, the kernel lets nobody say that it was kill(2).
        let is_outside =
            self.scope == Scope::Descendants || (signal.ssi_pid == 0 && signal.ssi_code == libc::SI_USER);
        if signal.ssi_signo == libc::SIGTERM as u32 && is_outside {
            self.ending = self.ending.or(Some(EndCause::Stopped));
            self.terminate();
        }
    }

    /// Reads what the supervisor of the first command reports.
    fn on_first(&mut self) {
        let Some(first) = &mut self.first else { return };
        let ending = match first.receive::<Event>() {
            Ok(Some(Event::Ended(ending))) => ending,
            Ok(Some(_)) => return,
            // It was killed, and the command with it.
            Ok(None) | Err(_) => Ending::Signaled(libc::SIGKILL),
        };
        self.first = None;
        self.first_ending = Some(ending);
        // Whoever has asked for the end has ended it.
        self.ending = self.ending.or(Some(EndCause::Command(ending)));
    }

    /// Does what the client asks for with which the sandbox ends.
    fn on_client(&mut self) {
        let Some(client) = &mut self.client else { return };
        match client.receive() {
            Ok(Some(Request::Signal(signal))) => {
                // Who asks for the end of what is stopped gets it.
                if self.is_paused && ENDING_SIGNALS.contains(&signal) {
                    self.unpause();
                }
                if let Some(first) = &mut self.first {
                    // One that has just ended gets no signal.
                    let _ = first.send(&Request::Signal(signal), &[]);
                }
            }
            Ok(Some(Request::TerminalReady)) => {}
            // It asks for the end, makes no sense, or is gone.
            Ok(Some(_) | None) | Err(_) => {
                self.ending = Some(EndCause::Command(Ending::Signaled(libc::SIGKILL)));
            }
        }
    }

    /// Collects a batch of supervisors that have ended, and resumes those that were stopped.
    fn reap(&mut self) {
        let mut killed = false;
        for _ in 0..BATCH {
            let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) else { break };
            let pid = pid.as_raw_nonzero().get();
            // A supervisor that has left nothing says so. What one has left may have left something, too.
            killed |= status.exit_status() != Some(0) || !self.children.contains(&pid);
            self.children.retain(|child| *child != pid);
            self.deadlines.remove(pid);
        }
        let resumed = self.children.iter().filter(|_| !self.is_paused);
        for child in resumed.filter_map(|child| Pid::from_raw(*child)) {
            let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
            if let Ok(Some(_)) = waitid(WaitId::Pid(child), options) {
                kill(child.as_raw_nonzero().get(), rustix::process::Signal::CONT);
            }
        }
        if killed {
            // All children are supervisors, but for what one leaves that was killed.
            let _ = reap::kill_descendants_except(&self.children);
        }
        let is_idle = self.children.is_empty();
        self.idle_since = if is_idle { self.idle_since.or_else(|| Some(Instant::now())) } else { None };
    }
}

/// Watches one more descriptor, and returns at which place.
fn push<'a>(fds: &mut Vec<PollFd<'a>>, fd: BorrowedFd<'a>, flags: PollFlags) -> usize {
    fds.push(PollFd::from_borrowed_fd(fd, flags));
    fds.len() - 1
}

fn kill(pid: i32, signal: rustix::process::Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It is a child that was not collected, so its number is nobody else's.
        let _ = rustix::process::kill_process(pid, signal);
    }
}
