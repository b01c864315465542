//! The init spec: what PID 1 of a sandbox is to run, and how it is confined.

use std::path::PathBuf;
use std::time::Duration;

use policy::plan::{BoundaryMode, Execution, FileId, Layer};
use policy::rules::git::GitIdentity;
use policy::rules::limits::{Bytes, Limits};
use policy::rules::network;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::attachment::Attachment;
use super::mount_plan::MountPlan;
use super::wire_path;

use crate::report::{Finding, Status};

/// A variable of the agent as `NAME=value`: it may hold a secret, and is cleared when it is dropped.
pub type EnvEntry = Zeroizing<Vec<u8>>;

/// What PID 1 is to run. Every string is bytes: neither arguments nor values need be UTF-8.
#[derive(Debug, Deserialize, Serialize)]
pub struct InitSpec {
    pub rootfs: Rootfs,
    /// The first command; `None` where the sandbox waits for its first one.
    pub command: Option<CommandSpec>,
    /// How it lives without its client; `None` where it ends with its client, and with its first command.
    pub stay: Option<Stay>,
    /// Where the agent finds sockets that stand for sockets of the host.
    #[serde(serialize_with = "wire_path::serialize_all", deserialize_with = "wire_path::deserialize_all")]
    pub sockets: Vec<PathBuf>,
    /// What landlock allows; all else is refused.
    pub grants: Vec<Grant>,
    /// TLS that the egress proxy ends itself, if it does.
    pub interception: Option<Interception>,
    pub git: Option<GitIdentity>,
    pub expected: Expectations,
    /// Layers without which nothing is executed.
    pub required: Vec<Layer>,
}

/// How PID 1 lives without its client.
///
/// Its descriptors come first in the message, in this order: the socket that it listens on, the file that it writes its
/// [`StayNote`](super::StayNote) into, with [`Stay::kills`] the file of the control group that counts them, [`Stay::held`] others, and where [`Stay::logs`] is set, of standard output and then of standard error the
/// pipe that the first command writes to and the file of its log.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Stay {
    /// Whether it ends with the client that has made it.
    pub attachment: Attachment,
    /// How long it waits for another command before it ends; `None` waits for ever.
    pub idle_timeout: Option<Duration>,
    /// How old it gets; `None` is any age.
    pub max_duration: Option<Duration>,
    pub kills: KillSource,
    /// How many descriptors it only keeps open: files that are locked for as long as it lives.
    pub held: u8,
    /// The bytes that each log of the first command holds, if it has any.
    pub logs: Option<u64>,
}

/// What counts the processes of a sandbox that the kernel kills for lack of memory.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum KillSource {
    /// A control group that is not seen inside: its file comes as a descriptor.
    Descriptor,
    /// The control group that is seen inside, if there is one.
    Inside,
    Uncounted,
}

/// What the supervisor of a sandbox without isolation is to run. Descriptors: those of [`Stay`], then three streams.
#[derive(Debug, Deserialize, Serialize)]
pub struct HostSpec {
    pub stay: Stay,
    /// The first command; `None` where the sandbox waits for its first one.
    pub command: Option<CommandSpec>,
}

/// A command that is to run inside.
#[derive(Debug, Deserialize, Serialize)]
pub struct CommandSpec {
    /// The command with its arguments; never empty.
    pub argv: Vec<Vec<u8>>,
    /// Its whole environment, secrets included.
    pub env: Vec<EnvEntry>,
    #[serde(with = "wire_path")]
    pub workdir: PathBuf,
    /// The permissions that files it makes do not get, unless it says otherwise: the caller's (umask(2)).
    pub umask: u32,
    pub process_limits: ProcessLimits,
    /// The terminal it gets, if the client has one.
    pub terminal: Option<Terminal>,
    /// What it gets besides its streams: the first descriptors that come with this message but for those of [`Stay`], in this
    /// order.
    pub passed: Vec<Passed>,
}

/// TLS that the egress proxy ends itself: programs inside have to believe its authority.
#[derive(Debug, Deserialize, Serialize)]
pub struct Interception {
    /// Patterns of the hosts, for the report.
    pub hosts: Vec<String>,
    /// The certificate of the authority in PEM.
    pub authority: Vec<u8>,
    /// Authorities of the host in PEM, for a rootfs that has none.
    pub otherwise: Vec<u8>,
}

/// Who makes the rootfs.
#[derive(Debug, Deserialize, Serialize)]
pub enum Rootfs {
    /// PID 1, in fresh namespaces. Its standard streams are the agent's.
    Own {
        /// What is mounted besides what was prepared ([`Request::Prepare`](super::Request::Prepare)).
        mounts: MountPlan,
        rlimit_fallback: RlimitFallback,
    },
    /// A container engine, before it started PID 1. The agent's standard streams are the three descriptors
    /// that come with this message after [`CommandSpec::passed`].
    Engine {
        /// What the engine was asked to enforce.
        limits: Limits,
        user_namespace: UserNamespace,
        /// Where it was asked to mount a tmpfs of bounded size.
        #[serde(
            serialize_with = "wire_path::serialize_all",
            deserialize_with = "wire_path::deserialize_all"
        )]
        tmpfs: Vec<PathBuf>,
        /// Where else it may have mounted something, besides [`Expectations::mounts`]. It may follow links that others put
        /// in its way, so nothing may be mounted elsewhere.
        #[serde(
            serialize_with = "wire_path::serialize_all",
            deserialize_with = "wire_path::deserialize_all"
        )]
        other_mounts: Vec<PathBuf>,
    },
}

/// Who shares the user namespace of a container: what the kernel counts per user, it counts there.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum UserNamespace {
    /// The host, or the engine with all its containers.
    Shared,
    /// Nobody.
    Private,
}

/// A descriptor of the agent's besides its streams.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Passed {
    /// Its number: 3 or more, and no other's.
    pub number: u32,
    /// What landlock allows with the file behind it, by the name of the descriptor.
    pub access: Vec<LandlockAccess>,
}

/// The terminal of the agent.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub enum Terminal {
    /// One of the sandbox's own, which PID 1 opens.
    New {
        /// Which of standard input, output and error it is.
        streams: [bool; 3],
        /// Rows and columns.
        size: (u16, u16),
    },
    /// This one of its streams, which was opened outside.
    Stream(u8),
}

/// One hierarchy that landlock lets the agent use.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub struct Grant {
    /// The path, as the sandbox sees it.
    #[serde(with = "wire_path")]
    pub path: PathBuf,
    pub access: LandlockAccess,
}

/// What landlock allows with a file, or beneath a directory.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum LandlockAccess {
    /// Read files, list directories, execute.
    ReadExecute,
    /// Everything but device nodes, `ioctl` on devices, and sockets that others listen on.
    ReadWrite,
    /// Read a file.
    Read,
    /// Write and truncate a file.
    Write,
    /// Read, write and `ioctl`: for `/dev/pts`, `/dev/ptmx` and `/dev/tty`, on which nothing works without
    /// it.
    Terminal,
}

/// Limits that no cgroup enforces, and that rlimits enforce for each process or user.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RlimitFallback {
    /// Private, writable memory of each process (`RLIMIT_DATA`).
    pub memory: Option<Bytes>,
    /// Processes and threads of the user in this user namespace (`RLIMIT_NPROC`, so counted since Linux
    /// 5.14).
    pub pids: Option<u32>,
}

impl RlimitFallback {
    /// Returns what of `limits` the findings of the cgroup layers do not cover.
    pub fn for_missing(limits: &Limits, findings: &[Finding]) -> Self {
        let missing =
            |layer| !findings.iter().any(|finding| finding.layer == layer && finding.status != Status::Not);
        Self {
            memory: limits.memory.filter(|_| missing(Layer::Memory)),
            pids: limits.pids.filter(|_| missing(Layer::Pids)),
        }
    }
}

/// Limits of each process that a command starts, as the kernel has them (getrlimit(2)).
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ProcessLimits {
    /// Processor time, in seconds (`RLIMIT_CPU`).
    pub cpu_seconds: Option<u64>,
    /// The size of a file that is written (`RLIMIT_FSIZE`).
    pub file_size: Option<Bytes>,
}

impl ProcessLimits {
    /// Returns those that these limits name.
    pub fn of(limits: &Limits) -> Self {
        Self { cpu_seconds: limits.cpu_time.map(|time| time.as_secs()), file_size: limits.file_size }
    }
}

/// What PID 1 must see, as the client knows it, who sees the host.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Expectations {
    /// The inode number of each namespace of the client that the sandbox must not share, by its name in
    /// `/proc/self/ns`.
    pub foreign_namespaces: Vec<(String, u64)>,
    /// The user of the agent on the host.
    pub uid: u32,
    /// The same user inside.
    pub uid_inside: u32,
    pub network: network::NetworkMode,
    pub mounts: Vec<ExpectedMount>,
}

impl Expectations {
    /// The names in `/proc/self/ns` that a sandbox must not share, with their layers.
    pub const NAMESPACES: [(&'static str, Layer); 7] = [
        ("user", Layer::User),
        ("mnt", Layer::Mount),
        ("pid", Layer::Pid),
        ("net", Layer::Net),
        ("ipc", Layer::Ipc),
        ("uts", Layer::Uts),
        ("cgroup", Layer::Cgroup),
    ];
}

/// Something that must be mounted, or lead to it.
#[derive(Debug, Deserialize, Serialize)]
pub struct ExpectedMount {
    /// Where, as the sandbox sees it.
    #[serde(with = "wire_path")]
    pub path: PathBuf,
    pub file: MountedFile,
    pub mode: BoundaryMode,
    pub execution: Execution,
}

/// What must be at a mount point.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub enum MountedFile {
    /// This very file or directory, which was validated.
    Validated(FileId),
    /// Something that masks a socket.
    Mask {
        /// The very directory that the socket was found in: a path may lead elsewhere by now.
        directory: FileId,
    },
    /// Something that covers a hidden path.
    Hidden {
        /// The very directory that it was found in.
        directory: FileId,
        /// What is hidden, and must not be there.
        file: FileId,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_that_enforces_needs_no_fallback() {
        let limits = Limits { memory: Some(Bytes(1 << 30)), pids: Some(64), ..Limits::default() };
        let line = |layer, status| Finding { layer, status, reason: String::new() };
        let findings = [line(Layer::Memory, Status::Not), line(Layer::Pids, Status::Enforced)];
        assert_eq!(
            RlimitFallback::for_missing(&limits, &findings),
            RlimitFallback { memory: Some(Bytes(1 << 30)), pids: None }
        );
        assert_eq!(
            RlimitFallback::for_missing(&Limits { pids: None, ..Limits::default() }, &[]),
            RlimitFallback::default()
        );
    }
}
