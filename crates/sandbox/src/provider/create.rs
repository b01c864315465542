//! Making a persistent sandbox, for programs that have a plan and want no more than that.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use confine::protocol::Attachment;
use policy::plan::{BoundaryKind, Plan};

use crate::engine::surroundings::Surroundings;
use crate::host::identity::Identity;
use crate::host::programs::Programs;
use crate::provider::launch::{EndedSandboxes, Launch, Launched, StayLaunch};
use crate::session::error::StartError;
use crate::session::outcome::Notice;
use crate::session::streams::Stdio;
use crate::state::journal::Recorded;
use crate::state::sandboxes::{FirstCommand, SandboxError, Sandboxes, StayPlan, StayingSandbox};
use crate::state::writable::Writable;

/// Where running sandboxes of root lock their host user ids.
const LOCKS: &str = "/run/sandboxctl";

/// A user of this library: whose sandboxes are made, and what leads to container engines.
#[derive(Clone, Debug)]
pub struct Caller {
    identity: Identity,
    state: PathBuf,
    home: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl Caller {
    /// Makes the user of this process one.
    ///
    /// `state` is a directory for records, which nobody else may write to and no sandbox sees; sandboxes are found by whoever has the same one, and those of
    /// `sandboxctl` are in `$XDG_STATE_HOME/sandboxctl`. `home` is the home directory, for settings of Docker. `environment` is what programs of engines are started with; without `PATH`
    /// there are only native sandboxes.
    pub fn new(
        state: impl Into<PathBuf>,
        home: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        Self {
            identity: Identity::own(),
            state: state.into(),
            home: home.into(),
            environment: environment.into_iter().collect(),
        }
    }

    /// Finds a sandbox by its name or id.
    ///
    /// # Errors
    ///
    /// There is none, or the state directory cannot be used.
    pub fn find(&self, name: &str) -> Result<StayingSandbox, SandboxError> {
        Sandboxes::open(&self.state, self.identity)?.find(name)
    }

    /// Makes a sandbox that waits for commands, and lives until it is stopped, or until the plan's `lifecycle` ends it. What should be known of it goes to
    /// `notice`.
    ///
    /// # Errors
    ///
    /// The name of the plan is taken, a required layer cannot be enforced, or the plan wants what only a process beside the sandbox could serve: an allow-list of hosts, sockets, children, a
    /// persistent home directory.
    pub fn create(&self, plan: &Plan, notice: &mut dyn FnMut(Notice)) -> Result<StayingSandbox, StartError> {
        if plan.boundaries.iter().any(|boundary| boundary.kind == BoundaryKind::Home) {
            return Err(StartError::refused(
                "a persistent home directory",
                "whoever makes the sandbox has to hold its lock",
                "`sandboxctl create`, or a plan without one",
            ));
        }
        let sandboxes = Sandboxes::open(&self.state, self.identity).map_err(SandboxError::State)?;
        let engines = self.engines(plan);
        let launched = super::run(Launch {
            plan,
            // Commands get them, and there is none yet.
            secrets: &mut || Ok(Vec::new()),
            streams: Stdio::Null,
            passed: Vec::new(),
            early: None,
            caller: self.identity,
            state: &self.state,
            own: &self.state,
            locks: Path::new(LOCKS),
            egress: None,
            relay: None,
            children: None,
            renew: None,
            engines: &engines,
            parent: None,
            stay: Some(StayLaunch {
                plan: StayPlan {
                    command: FirstCommand::None,
                    attachment: Attachment::Detached,
                    idle_timeout: plan.lifecycle.idle_timeout,
                    max_duration: plan.lifecycle.max_duration,
                    log_bytes: 0,
                },
                sandboxes: &sandboxes,
                replaces: None,
                most: None,
                held: &[],
            }),
            notice,
        })?;
        match launched {
            Launched::Stays(record, _) => Ok(sandboxes.find(record.id.as_str())?),
            Launched::Ended(outcome) => Err(StartError::step("making the sandbox")(std::io::Error::other(
                format!("it has ended: {:?}", outcome.end),
            ))),
        }
    }

    /// Ends a sandbox, and removes all that is left of it: everything inside gets SIGTERM, and SIGKILL where it has not ended within `grace`. What its commands have made that
    /// would run on this host is quarantined, and reported to `notice`.
    ///
    /// # Errors
    ///
    /// PID 1 does not end, or the state directory cannot be used.
    pub fn remove(
        &self,
        sandbox: &StayingSandbox,
        grace: Duration,
        notice: &mut dyn FnMut(Notice),
    ) -> Result<(), StartError> {
        let sandboxes = Sandboxes::open(&self.state, self.identity).map_err(SandboxError::State)?;
        let warn = |recorded: &Recorded, notice: &mut dyn FnMut(Notice)| {
            if let Some(warning) = recorded.warning() {
                notice(Notice::Warning(warning));
            }
        };
        let engines = self.engines(&sandbox.record.plan);
        let ended =
            EndedSandboxes { caller: self.identity, state: &self.state, own: &self.state, engines: &engines };
        if sandbox.lives()? {
            warn(&super::end(&ended, sandbox, grace)?, notice);
        }
        super::clear_up(&ended, notice)?;
        warn(&sandboxes.remove(sandbox)?, notice);
        Ok(())
    }

    fn engines(&self, plan: &Plan) -> Surroundings {
        let variable = |name: &str| self.environment.get(OsStr::new(name)).cloned();
        let shared = plan.boundaries.iter().map(|boundary| boundary.host.clone());
        let writable = Writable::new(shared.collect(), self.state.clone(), self.identity);
        Surroundings {
            programs: Programs::new(&self.environment, writable, self.identity),
            directory: ".".into(),
            docker_host: variable("DOCKER_HOST"),
            docker_context: variable("DOCKER_CONTEXT"),
            docker_config: variable("DOCKER_CONFIG").map_or_else(|| self.home.join(".docker"), PathBuf::from),
            podman_connection: variable("CONTAINER_HOST").or_else(|| variable("CONTAINER_CONNECTION")),
            uid: self.identity.uid,
            reader: self.identity,
        }
    }
}
