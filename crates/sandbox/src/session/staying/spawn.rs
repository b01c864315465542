//! A command in a persistent sandbox, for programs: its streams are pipes of theirs, nothing of the process is changed for it, and any number of threads may
//! have one.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use confine::protocol::{Attachment, ControlSocket, EnvEntry, Event, ExecRequest, Request, Shortage, Usage};
use confine::report::Report;
use nix::sys::signal::Signal;
use policy::plan::{Network, Plan, Variable};
use policy::rules::limits::Bytes;
use rustix::pipe::PipeFlags;

use super::exec;
use super::recording::ExecRecording;
use crate::secrets::SecretValue;
use crate::session::egress;
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{End, Outcome, Output, oom_killed};
use crate::session::streams::{Owner, give};
use crate::state::sandboxes::StayingSandbox;

/// A command for a persistent sandbox. It has what the sandbox was made with; this says what is different.
pub struct Command {
    argv: Vec<OsString>,
    variables: Vec<Variable>,
    workdir: Option<PathBuf>,
    timeout: Option<Duration>,
    secrets: Vec<(String, SecretValue)>,
    output_bytes: Option<Bytes>,
}

impl Command {
    /// Makes the command that executes this program, which is looked up in the sandbox.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            argv: vec![program.into()],
            variables: Vec::new(),
            workdir: None,
            timeout: None,
            secrets: Vec::new(),
            output_bytes: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.argv.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.variables.push(Variable { name: name.into(), value: value.into() });
        self
    }

    /// Starts it in this directory of the sandbox.
    #[must_use]
    pub fn workdir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.workdir = Some(directory.into());
        self
    }

    /// Limits how long it may run. Then all that it has started gets SIGTERM, and two seconds later SIGKILL; the sandbox lives on.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives the value of a secret of the sandbox that is passed in this variable. Each has to be given.
    #[must_use]
    pub fn secret(mut self, variable: impl Into<String>, value: SecretValue) -> Self {
        self.secrets.push((variable.into(), value));
        self
    }

    /// Limits how much of each stream [`RunningCommand::wait_with_output`] keeps, in place of the sandbox's `limits.output_bytes`.
    #[must_use]
    pub fn output_bytes(mut self, most: u64) -> Self {
        self.output_bytes = Some(Bytes(most));
        self
    }

    /// Returns the plan of the sandbox, with what this one says.
    fn plan(&self, of_sandbox: &Plan) -> Plan {
        let mut plan = of_sandbox.clone();
        plan.agent.argv.clone_from(&self.argv);
        if let Some(workdir) = &self.workdir {
            plan.agent.workdir.clone_from(workdir);
        }
        plan.limits.timeout = self.timeout.or(plan.limits.timeout);
        for variable in &self.variables {
            plan.env.retain(|other| other.name != variable.name);
            plan.env.push(variable.clone());
        }
        plan
    }

    /// Takes the values of the plan's secrets.
    fn take_values(&mut self, plan: &Plan) -> Result<Vec<(String, SecretValue)>, StartError> {
        let given = std::mem::take(&mut self.secrets);
        match plan.secrets.iter().find(|secret| !given.iter().any(|(name, _)| *name == secret.env_var)) {
            None => Ok(given),
            Some(secret) => Err(StartError::refused(
                format!("a command without secret \"{}\"", secret.name),
                "the sandbox was made with it, and nobody keeps its value",
                format!("give the value with `Command::secret(\"{}\", …)`", secret.env_var),
            )),
        }
    }
}

/// A command that runs. Dropped, it ends with everything that it has started.
pub struct RunningCommand {
    /// What it reads, until this is dropped.
    pub stdin: Option<File>,
    pub stdout: Option<File>,
    pub stderr: Option<File>,
    /// The most that is kept of each stream.
    limit: Bytes,
    timeout: Option<Duration>,
    /// What the sandbox has enforced.
    report: Report,
    control: ControlSocket,
    /// Until its end is known.
    recording: Option<ExecRecording>,
    began: Instant,
    /// How it has ended, where it could not be executed.
    ended: Option<End>,
    shortages: Vec<Shortage>,
    timed_out: bool,
    usage: Option<Usage>,
}

impl StayingSandbox {
    /// Starts a command, with pipes as its standard streams.
    ///
    /// # Errors
    ///
    /// The sandbox is not running, PID 1 does not answer, a secret is missing, or something is hidden no more. That there is no such command is its end.
    pub fn spawn(&self, mut command: Command) -> Result<RunningCommand, StartError> {
        self.require_hiding("run a command")?;
        let limit = command.output_bytes.unwrap_or(self.record.plan.limits.output_bytes);
        let (request, plan) = self.exec_request(&mut command, Attachment::Attached)?;
        let timeout = request.timeout;
        let agent = self.agent();
        let agent = Owner { uid: agent.uid, gid: agent.gid };
        let opening = StartError::step("opening the standard streams");
        let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|errno| opening(errno.into()));
        let inside = |end: OwnedFd| give(end, agent).map_err(|errno| opening(errno.into()));
        let ((input, stdin), (stdout, output), (stderr, errors)) = (pipe()?, pipe()?, pipe()?);
        let inside = [inside(input)?, inside(output)?, inside(errors)?];

        let began = Instant::now();
        let mut control = exec::send(exec::connect(self)?, &request, &inside.each_ref().map(AsFd::as_fd))?;
        drop((request, inside));
        // A program has asked, and there is nobody to be warned where the journal cannot be written.
        let (recording, _) = ExecRecording::begin(self)?;
        let ended = exec::started(&mut control, &plan)?;
        let report = self.record.started.as_ref().map(|started| started.report.clone()).unwrap_or_default();
        let [stdin, stdout, stderr] = [stdin, stdout, stderr].map(|ours| Some(File::from(ours)));
        Ok(RunningCommand {
            stdin,
            stdout,
            stderr,
            limit,
            timeout,
            report,
            control,
            recording: Some(recording),
            began,
            ended,
            shortages: Vec::new(),
            timed_out: false,
            usage: None,
        })
    }

    /// Starts a command that goes on without this process, until it ends or the sandbox does. It has no input, and what it writes is gone; returns
    /// how it has ended where it could not be executed.
    ///
    /// # Errors
    ///
    /// Those of [`StayingSandbox::spawn`].
    pub fn detach(&self, mut command: Command) -> Result<Option<End>, StartError> {
        self.require_hiding("run a command")?;
        let (request, plan) = self.exec_request(&mut command, Attachment::Detached)?;
        let null = File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(StartError::step("opening the standard streams"))?;
        let mut control = exec::send(exec::connect(self)?, &request, &[null.as_fd(); 3])?;
        drop(request);
        let (recording, _) = ExecRecording::begin(self)?;
        let ended = exec::started(&mut control, &plan)?;
        match &ended {
            None => recording.leave(),
            Some(end) => drop(recording.end(end.exit_code())),
        }
        Ok(ended)
    }

    /// Runs a command to its end, without input, and returns what it has written.
    ///
    /// # Errors
    ///
    /// Those of [`StayingSandbox::spawn`], and that the sandbox has ended meanwhile.
    pub fn output(&self, command: Command) -> Result<Outcome, StartError> {
        self.spawn(command)?.wait_with_output()
    }

    /// Makes what PID 1 is told of a command, and returns it with the plan of the command.
    fn exec_request(
        &self,
        command: &mut Command,
        attachment: Attachment,
    ) -> Result<(ExecRequest, Plan), StartError> {
        let mut plan = command.plan(&self.record.plan);
        let values = command.take_values(&plan)?;
        // Its egress proxy has the credentials of routes.
        plan.routes.clear();
        let mut values = Some(values);
        let secrets = HeldSecrets::read(&plan, &mut || Ok(values.take().unwrap_or_default()))?;
        let command = exec::command(self, &plan, &secrets, self.proxy_variables()?, None)?;
        Ok((ExecRequest { command, timeout: plan.limits.timeout, attachment }, plan))
    }

    /// Returns what commands have in their environment because of the egress proxy of the sandbox.
    fn proxy_variables(&self) -> Result<Vec<EnvEntry>, StartError> {
        if !matches!(self.record.plan.network, Network::Allowlist { .. }) {
            return Ok(Vec::new());
        }
        let variables = egress::variables(self.state(), self.owner(), self.name(), &self.record.id);
        variables.map_err(|error| StartError::step("asking the egress proxy")(io::Error::other(error)))
    }
}

impl RunningCommand {
    /// Sends a signal to the process group of the command.
    ///
    /// # Errors
    ///
    /// The sandbox has ended.
    pub fn signal(&mut self, signal: Signal) -> Result<(), StartError> {
        self.send(&Request::Signal(signal as i32))
    }

    /// Ends the command and all that it has started.
    ///
    /// # Errors
    ///
    /// The sandbox has ended.
    pub fn kill(&mut self) -> Result<(), StartError> {
        self.send(&Request::Kill)
    }

    /// Waits for the end of the command. Whoever has taken none of its streams has to read them: it waits where nobody does.
    ///
    /// # Errors
    ///
    /// The sandbox has ended and with it the command.
    pub fn wait(mut self) -> Result<Outcome, StartError> {
        drop(self.stdin.take());
        loop {
            if let Some(end) = self.on_event()? {
                return Ok(self.outcome(end, None));
            }
        }
    }

    /// Closes its input, reads what it writes, and waits for its end.
    ///
    /// # Errors
    ///
    /// The sandbox has ended and with it the command.
    pub fn wait_with_output(mut self) -> Result<Outcome, StartError> {
        let (limit, mut output) = (self.limit, Output::default());
        let (end, _) = self.attend(&[], None, &mut |stream, piece| output.add(stream, piece, limit))?;
        Ok(self.outcome(end, Some(output)))
    }

    /// Returns the connection to whoever supervises it, which is readable when something is reported.
    pub(crate) fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Returns whether there is something to take that the connection does not show: it could not be executed.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Takes what is reported next; returns how the command has ended, if it has.
    pub(crate) fn on_event(&mut self) -> Result<Option<End>, StartError> {
        if let Some(end) = self.ended.take() {
            return Ok(Some(end));
        }
        match self.control.receive().map_err(StartError::step("reading events from PID 1"))? {
            Some(Event::Ended(ending)) => return Ok(Some(ending.into())),
            Some(Event::TimedOut) => self.timed_out = true,
            Some(Event::Used(usage)) => self.usage = Some(usage),
            Some(Event::Short(shortage)) => self.shortages.push(shortage),
            Some(_) => {}
            // Its supervisor was killed, or all of the sandbox, and the command with it: by PID 1 where the supervisor was kept from its work until
            // the time was over.
            None => {
                self.timed_out |= self.timeout.is_some_and(|timeout| self.began.elapsed() >= timeout);
                return Ok(Some(End::Signaled(Signal::SIGKILL as i32)));
            }
        }
        Ok(None)
    }

    /// Returns what there is to say of it when it has ended.
    pub(crate) fn outcome(&mut self, end: End, output: Option<Output>) -> Outcome {
        let end = self.timeout.filter(|_| self.timed_out).map_or(end, End::TimedOut);
        let _ = self.recording.take().map(|recording| recording.end(end.exit_code()));
        Outcome {
            output,
            usage: self.usage,
            oom_killed: oom_killed(&self.shortages, &self.report),
            ..Outcome::of(end, self.began.elapsed())
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), StartError> {
        match self.control.send(request, &[]) {
            // It has ended, of which whoever waits is notified.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            sent => sent.map_err(StartError::step("sending a request to PID 1")),
        }
    }
}
