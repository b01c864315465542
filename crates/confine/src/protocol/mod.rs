//! The protocol between a client on the host and the processes inside a sandbox: the mount plan, the init spec, requests, events
//! and the socket that they travel on. Data only: everything else in this crate stands on it.

use std::ffi::CStr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

mod attachment;
mod egress;
mod egress_request;
mod ending;
mod files;
mod init_spec;
mod mount_plan;
mod socket;
mod stay;
mod step;
mod warm;
mod wire_path;

pub use self::attachment::Attachment;
pub use self::egress::{
    EgressCounts, EgressEnd, EgressEvent, EgressSpec, ListenerPort, ListenerSource, Listeners, RenewedValue,
    RouteCredential, RouteSpec,
};
pub use self::egress_request::{
    EgressAnswer, EgressQuestion, EgressRequest, EgressRule, EgressRules, MAX_HOSTS, RefusedHost,
    RuleInForce, UnreachedHost,
};
pub use self::ending::Ending;
pub use self::files::{FileEvent, FileRequest, Links};
pub use self::init_spec::{
    CommandSpec, EnvEntry, Expectations, ExpectedMount, Grant, HostSpec, InitSpec, Interception, KillSource,
    LandlockAccess, MountedFile, Passed, ProcessLimits, RlimitFallback, Rootfs, Stay, Terminal,
    UserNamespace,
};
pub(crate) use self::mount_plan::{BindOrigin, Entry, Lookup, Mount, MountKind, NewFilesystem, Operation};
pub use self::mount_plan::{BindSource, Cover, MountAccess, MountPlan};
pub use self::socket::ControlSocket;
pub use self::stay::{EndCause, ExecRequest, Purpose, SandboxEnd, SandboxUsage, StayNote, StayStatus, Usage};
pub use self::step::{FilesystemType, MountStep, Step};
pub use self::warm::Warm;
use crate::report::{Finding, Report};

/// The user and group of the agent, as the sandbox sees them, where they are not a normal user's own.
pub const AGENT_ID: u32 = 1000;

/// The number of the control socket of a PID 1 that was executed with it.
pub(crate) const CONTROL_FD: i32 = 3;

/// The argument of PID 1 that was executed with a control socket, as descriptor 3.
pub const CONTROL_ARGUMENT: &CStr = c"--control";

/// The argument of PID 1 of a container; the directory in which its client listens follows.
pub const RENDEZVOUS_ARGUMENT: &str = "--rendezvous";

/// The name of the client's socket in that directory.
pub const RENDEZVOUS_SOCKET: &str = "control";

/// The argument of the supervisor of a sandbox without isolation. Its standard input is the control socket.
pub const HOST_ARGUMENT: &str = "--host";

/// The argument of a process that enters the mount namespace of a container. Its standard input is the control socket.
pub const SETNS_ARGUMENT: &str = "--setns";

/// Where systems have the authorities that their programs believe, as one file in PEM: Debian and Alpine, Fedora, `SUSE`, others.
pub const AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What a client asks for.
#[derive(Debug, Deserialize, Serialize)]
pub enum Request {
    /// The first one to PID 1 of namespaces of its own: what can be mounted before it is known what to run.
    Prepare {
        /// The part of the rootfs that is the same whatever is run.
        mounts: MountPlan,
        /// The name of the host, as the sandbox sees it.
        hostname: String,
    },
    /// What else can be mounted before that is known.
    Mount(MountPlan),
    /// Nothing more is mounted by a path of the host: what follows comes as trees.
    LeaveHost,
    /// To wait for another client, which then says what follows. Descriptors: see [`Warm`].
    Wait(Warm),
    /// What to run, and how it is confined. Descriptors: the trees of its mount plan, then cgroup v1 `tasks` files to enter. With
    /// an allow-list of hosts the last one is the socket to the egress proxy, see [`ListenerSource`].
    Start(Box<InitSpec>),
    /// The agent's terminal has the modes and the size of the client's.
    TerminalReady,
    /// Sends a signal to the agent's process group.
    Signal(i32),
    /// The client has noted that the sandbox is there, and leaves it.
    Leave,
    /// Ends everything inside, now.
    Kill,
}

/// What a process inside reports to its client.
#[derive(Debug, Deserialize, Serialize)]
pub enum Event {
    /// The command was not started.
    Failed(Failure),
    /// The agent's terminal exists. Descriptor: its master side.
    Terminal,
    /// Somebody listens at every path of [`InitSpec::sockets`]. Descriptors: the sockets that listen, in the same order.
    Sockets,
    /// Everything is enforced as the report says, and the agent is about to be executed.
    Started {
        report: Report,
        /// The inode number of each namespace that the sandbox is in, by its name in `/proc/self/ns`.
        namespaces: Vec<(String, u64)>,
    },
    Unexecutable {
        command: String,
        /// `ENOENT`, `EACCES`, …
        errno: i32,
    },
    /// The command was short of something, as only the inside can see.
    Short(Shortage),
    /// The sandbox is ready to stay, or to wait for another client, and PID 1 waits for [`Request::Leave`]. To that other client: it has
    /// the sandbox. To the client of an exec: its request has arrived.
    Ready,
    /// PID 1 does not end with its client any more.
    Stays,
    /// An exec has reached its deadline, and all that it has started is being ended.
    TimedOut,
    /// What an exec has used.
    Used(Usage),
    /// The agent has ended, and in a sandbox so has everything else inside.
    Ended(Ending),
}

/// What a command was short of.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Shortage {
    /// The kernel has killed a process because the limit of memory was reached, in the control group of an engine.
    Memory,
    /// The tmpfs at this path has no room left for what was to be written.
    Tmpfs(#[serde(with = "wire_path")] PathBuf),
    /// A program wanted to send something to where no route leads, or where nobody answers for names.
    Network,
}

/// Why no command was started.
#[derive(Debug, Deserialize, Serialize)]
pub enum Failure {
    /// A required layer does not hold.
    Layer(Finding),
    Step {
        step: Step,
        /// The error's number, where the system said one.
        errno: Option<i32>,
        /// The error in words, where the number is not all there is to say.
        message: String,
    },
}
