//! The egress proxy of one sandbox: a process of its own on the host, which serves the listeners that PID 1 opens inside.
//!
//! It ends with its sandbox: the socket that PID 1 answers it on is its lifeline. When it ends before, its listeners are closed, and
//! nothing leaves the sandbox any more.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use confine::protocol::{
    AUTHORITIES, ControlSocket, EgressCounts, EgressEnd, EgressEvent, EgressRule, EgressSpec, EnvEntry,
    Interception, ListenerSource, RouteSpec,
};
use policy::plan::{Network, Plan};
use policy::rules::network::HostRule;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use self::live::LiveSocket;
use self::logs::{LOCK, LOGS, log_names};
use super::agent::Agent;
use super::error::StartError;
use super::outcome::Notice;
use crate::host::child::{Group, Running};
use crate::host::deadline::Deadline;
use crate::host::programs::DIRECTORY;
use crate::host::terminal::Signals;
use crate::session::environment::entry;
use crate::state::directory::StateDir;
use crate::state::record::{RecordError, RunId};

mod follow;
mod live;
mod logs;
pub(crate) mod renewal;

pub use self::follow::follow;
pub use self::live::{LiveError, Living, News, Questions, variables};
pub use self::logs::log;
pub use self::renewal::SecretRenewer;

/// How long it may take to end once its sandbox has.
const GRACE: Duration = Duration::from_secs(2);

/// How long it may take to make its authority.
const AUTHORITY: Duration = Duration::from_secs(10);

/// The program that is an egress proxy: it finds its [`EgressSpec`] on standard input, a socket.
#[derive(Clone, Copy)]
pub struct EgressProgram<'a> {
    pub path: &'a str,
    pub arguments: &'a [&'a str],
    /// Its whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// Takes the questions of the sandbox, where there is somebody who answers them.
    pub answers: Option<&'a dyn Fn(Living, Questions)>,
}

/// Returns the authorities that programs of this host believe, in PEM; nothing where they lie elsewhere.
fn authorities() -> Vec<u8> {
    AUTHORITIES.iter().find_map(|path| fs::read(path).ok()).unwrap_or_default()
}

fn rules(rules: &[HostRule]) -> Vec<EgressRule> {
    rules.iter().cloned().map(EgressRule::from).collect()
}

/// Returns what the agent has in its environment because of the proxy.
fn environment(plan: &Plan, routes: &[RouteSpec]) -> Vec<EnvEntry> {
    let proxy =
        plan.env.iter().filter(|variable| policy::rules::network::egress::is_variable(&variable.name));
    let addresses = plan.routes.iter().flat_map(|route| &route.variables);
    let plain = proxy.chain(addresses).map(|one| entry(OsStr::new(&one.name), one.value.as_bytes()));
    let tokens = plan.routes.iter().zip(routes).filter_map(|(route, spec)| {
        let (secret, credential) = (route.credential.as_ref()?, spec.credential.as_ref()?);
        Some(entry(OsStr::new(&secret.env_var), &credential.token))
    });
    plain.chain(tokens).collect()
}

/// An egress proxy that was started. It ends with this at the latest, unless it is left.
pub(crate) struct EgressProxy {
    running: Running,
    control: ControlSocket,
    /// What PID 1 gets.
    port: Option<OwnedFd>,
    /// Where it asks for credentials anew.
    renewals: Option<OwnedFd>,
    /// What it has reported last of all.
    end: Option<EgressEnd>,
    /// The certificate of its authority, where it ends TLS itself.
    authority: Option<Vec<u8>>,
    /// Why it cannot serve.
    failure: Option<String>,
    /// That it has ended, where nobody has been notified yet.
    warning: Option<String>,
    /// The hosts that were not reached, of which nobody has been notified yet.
    unreached: Vec<String>,
    is_gone: bool,
    live: LiveSocket,
}

impl EgressProxy {
    /// Starts one, where the plan has an allow-list of hosts.
    pub(crate) fn start(
        plan: &Plan,
        program: Option<EgressProgram<'_>>,
        agent: &Agent,
        routes: Vec<RouteSpec>,
        state: &StateDir,
        run: &RunId,
    ) -> Result<Option<Self>, StartError> {
        let Network::Allowlist { allow, deny, intercept } = &plan.network else { return Ok(None) };
        let program = program.ok_or_else(|| {
            StartError::refused(
                "network = \"allowlist\"",
                "the caller of this library has named no program that is the egress proxy",
                "name one in `Launch::egress`",
            )
        })?;
        let open = |logs: StateDir| {
            // Nobody takes a log for an old one that was opened, before its sandbox is seen to live.
            let _lock = logs.lock(LOCK)?;
            live::sweep(&logs)?;
            // What cannot be removed today stays.
            let _ = logs::sweep(&logs);
            let [first, second] = log_names(&plan.name);
            let log = [logs.open_or_make(&first)?, logs.open_or_make(&second)?];
            LiveSocket::listen(logs, &plan.name, run).map(|live| (log, live))
        };
        let opened = state.within(LOGS).map_err(RecordError::from).and_then(open);
        let (log, (live, requests)) = opened.map_err(|error| {
            StartError::step("opening the log of the egress proxy")(io::Error::other(error))
        })?;
        let start = || {
            let (mut control, theirs) = ControlSocket::pair()?;
            let (source, port) = ListenerSource::pair()?;
            let (renewals, renewals_of_proxy) = ControlSocket::pair()?;
            let mut command = Command::new(program.path);
            // A group of its own: Ctrl-C is for the command.
            command.args(program.arguments).env_clear().envs(program.environment.iter().cloned());
            command.current_dir(DIRECTORY).process_group(0);
            command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
            // What the caller has left open beside the standard streams is not the proxy's.
            confine::close_from_on_exec(3)?;
            let running = Running::spawn(&mut command, Group::Own)?;
            // It reads hostile bytes, and does not do so as root.
            let user = rustix::process::geteuid().is_root().then_some((agent.uid, agent.gid));
            let owner = state.owner().uid;
            let variables = environment(plan, &routes);
            let (name, allow, deny) = (plan.name.clone(), rules(allow), rules(deny));
            let intercept = intercept.clone();
            let bytes = plan.limits.network_bytes.map(|limit| limit.0);
            let spec = EgressSpec { name, allow, deny, intercept, bytes, routes, variables, owner, user };
            let descriptors =
                [source.as_fd(), log[0].as_fd(), log[1].as_fd(), requests.as_fd(), renewals_of_proxy.as_fd()];
            // The proxy finds it when it starts to listen, so nothing is asked for before that.
            if let Some(answers) = program.answers {
                // A thread that this starts gets no signal: each is for whoever reads it.
                let _blocked = Signals::block()?;
                answers(live.living(), live.living().answer_questions().map_err(io::Error::other)?);
            }
            control.send(&spec, &descriptors)?;
            Ok(Self {
                running,
                control,
                port: Some(port.into()),
                renewals: Some(renewals.into()),
                end: None,
                authority: None,
                failure: None,
                warning: None,
                unreached: Vec::new(),
                is_gone: false,
                live,
            })
        };
        start().map(Some).map_err(StartError::step("starting the egress proxy"))
    }

    /// Takes the socket that PID 1 answers on.
    pub(crate) fn take_port(&mut self) -> Option<OwnedFd> {
        self.port.take()
    }

    /// Takes the socket on which it asks for credentials anew.
    pub(crate) fn take_renewals(&mut self) -> Option<OwnedFd> {
        self.renewals.take()
    }

    /// Waits for the authority that programs inside have to believe, where the plan has hosts to which TLS is intercepted.
    pub(crate) fn interception(&mut self, plan: &Plan) -> Result<Option<Interception>, StartError> {
        let hosts: Vec<_> = plan.network.intercepted().iter().map(ToString::to_string).collect();
        if hosts.is_empty() {
            return Ok(None);
        }
        let until = Deadline::after(AUTHORITY);
        while self.authority.is_none() && self.failure.is_none() && !self.is_gone {
            let mut ready = [PollFd::new(&self.control, PollFlags::IN)];
            match poll(&mut ready, until.left().as_ref()) {
                Err(Errno::INTR) => {}
                Ok(1..) => self.on_ready(),
                Ok(0) | Err(_) => break,
            }
        }
        let authority = self.authority.take().ok_or_else(|| {
            let reason = self.failure.clone().unwrap_or_else(|| "it names no authority".to_owned());
            StartError::step("starting the egress proxy")(io::Error::other(reason))
        })?;
        Ok(Some(Interception { hosts, authority, otherwise: authorities() }))
    }

    /// Returns what it reports on, as long as it lives.
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_gone).then(|| self.control.as_fd())
    }

    /// Returns why it cannot serve, if it has said so.
    pub(crate) fn failure(&mut self) -> Option<String> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while !self.is_gone && poll(&mut [PollFd::new(&self.control, PollFlags::IN)], Some(&now)) == Ok(1) {
            self.on_ready();
        }
        self.failure.clone()
    }

    /// Reads what it reports.
    pub(crate) fn on_ready(&mut self) {
        match self.control.receive::<EgressEvent>() {
            Ok(Some(EgressEvent::Failed(reason))) => self.failure = Some(reason),
            Ok(Some(EgressEvent::Authority(certificate))) => self.authority = Some(certificate),
            Ok(Some(EgressEvent::Unreached { target, why })) => {
                self.unreached.push(format!("{target} is allowed, and was not reached: {why}"));
            }
            Ok(Some(EgressEvent::Ended(end))) => self.end = Some(end),
            Ok(None) | Err(_) => {
                self.is_gone = true;
                let why = self.failure.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                self.warning = self
                    .end
                    .is_none()
                    .then(|| format!("the egress proxy has ended{why}: nothing leaves the sandbox any more"));
            }
        }
    }

    /// Takes what a person should know while the sandbox lives.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    /// Takes what was not reached.
    pub(crate) fn take_unreached(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unreached)
    }

    /// Leaves it to its persistent sandbox: it ends with PID 1. Credentials keep the values that they have.
    pub(crate) fn leave(self) {
        self.running.leave();
        self.live.leave();
    }

    /// Waits for its end, once that of PID 1 has closed its lifeline, and returns how much has passed; `None` where it does not
    /// say, which is worth a warning.
    pub(crate) fn finish(mut self, notice: &mut dyn FnMut(Notice)) -> Option<EgressCounts> {
        let was_gone = self.is_gone;
        let until = Deadline::after(GRACE);
        while self.end.is_none() && !self.is_gone {
            let mut ready = [PollFd::new(&self.control, PollFlags::IN)];
            match poll(&mut ready, until.left().as_ref()) {
                Err(Errno::INTR) => {}
                Ok(1..) => self.on_ready(),
                Ok(0) | Err(_) => break,
            }
        }
        for unreached in self.take_unreached() {
            notice(Notice::Warning(unreached));
        }
        if self.end.is_none() && !was_gone && self.failure.is_none() {
            notice(Notice::Warning(
                "the egress proxy has not said what has passed, and its log lacks what was open at the end"
                    .into(),
            ));
        }
        let end = self.end?;
        if let Some(hint) = refused(&end) {
            notice(Notice::Warning(hint));
        }
        Some(end.counts)
    }
}

/// Says which hosts were refused, and how each is allowed next time: many clients show no more than a status.
fn refused(EgressEnd { refused, more, .. }: &EgressEnd) -> Option<String> {
    let (first, quoted) = (refused.first()?, refused.iter().map(|host| format!("\"{host}\"")));
    let hosts = quoted.collect::<Vec<_>>().join(", ");
    let rest = if *more == 0 { String::new() } else { format!(", and {more} more") };
    Some(format!(
        "no rule allows what was asked for: {hosts}{rest}; if it should be reached, add it to `allow` in `[network]`, or `--allow-host {first}`"
    ))
}
