//! The start: what a client asks PID 1 to run, and how it is to be confined.

use std::path::PathBuf;

use policy::plan::{BoundaryMode, FileId, Layer};
use policy::rules::limits::Limits;
use policy::rules::network;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::kernel_file::FileSystem;
use crate::landlock::Access;
use crate::rlimit::Substitutes;
use crate::view::View;

/// A variable of the agent as `NAME=value`: it may hold a secret, and is cleared when it is dropped.
pub type Variable = Zeroizing<Vec<u8>>;

/// The first message to PID 1. Every string is bytes: neither arguments nor values need be UTF-8.
#[derive(Debug, Deserialize, Serialize)]
pub struct Start {
    /// Who makes the inside.
    pub inside: Inside,
    /// The command with its arguments; never empty.
    pub argv: Vec<Vec<u8>>,
    /// The environment of the agent, secrets included.
    pub env: Vec<Variable>,
    /// Where the agent starts.
    pub workdir: PathBuf,
    /// The permissions that files the agent makes do not get, unless it says otherwise: the caller's (umask(2)).
    pub umask: u32,
    /// The terminal the agent gets, if the client has one.
    pub terminal: Option<Terminal>,
    /// What landlock allows; all else is refused.
    pub grants: Vec<Grant>,
    /// How the world outside looks, so that it can be seen from inside that this is another one.
    pub outside: Outside,
    /// Layers without which nothing is executed.
    pub required: Vec<Layer>,
}

/// Who makes the inside of the sandbox: its root, with everything there is to see.
#[derive(Debug, Deserialize, Serialize)]
pub enum Inside {
    /// PID 1, of fresh namespaces. Its standard streams are the agent's.
    Own {
        /// What there is to see besides what was prepared ([`Request::Prepare`](crate::control::Request::Prepare)).
        view: View,
        /// Limits that no cgroup enforces.
        substitutes: Substitutes,
    },
    /// A container engine, before it started PID 1. The agent's standard streams are the first three descriptors
    /// that come with this message.
    Engine {
        /// What the engine was asked to enforce.
        limits: Limits,
        /// Who else is in its user namespace.
        users: Users,
        /// Where it was asked to mount something fresh, of a size that is bounded.
        fresh: Vec<PathBuf>,
        /// Where else it may have mounted something, besides [`Outside::mounts`]. It may follow links that others put in
        /// its way, so nothing may be mounted elsewhere.
        places: Vec<PathBuf>,
    },
}

/// Who else is in the user namespace of a container: what the kernel counts per user, it counts there.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Users {
    /// The host, or the engine with all its containers.
    Shared,
    /// Nobody.
    Alone,
}

/// The terminal of the agent.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub enum Terminal {
    /// One of the sandbox's own, which PID 1 opens.
    Inside {
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
    pub path: PathBuf,
    /// What may be done beneath it.
    pub access: Access,
}

/// The world outside, as the client sees it.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Outside {
    /// The inode number of each namespace of the client that the sandbox must not share, by its name in
    /// `/proc/self/ns`.
    pub namespaces: Vec<(String, u64)>,
    /// The user of the agent on the host.
    pub uid: u32,
    /// How much of the network was asked for.
    pub network: network::NetworkMode,
    /// What must be mounted where.
    pub mounts: Vec<Mounted>,
}

/// Something that must be mounted, or lead to it.
#[derive(Debug, Deserialize, Serialize)]
pub struct Mounted {
    /// Where, as the sandbox sees it.
    pub path: PathBuf,
    /// What must be there.
    pub what: What,
    /// What may be done with it.
    pub mode: BoundaryMode,
}

/// What must be at a path.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub enum What {
    /// This very file or directory, which was validated, mounted there.
    File(FileId),
    /// Something else, mounted there to cover a socket.
    Cover {
        /// The very directory that the socket was found in: a path may lead elsewhere by now.
        directory: FileId,
    },
}

impl Outside {
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

    /// The inode number of one namespace of this process.
    pub fn namespace(name: &str) -> std::io::Result<u64> {
        let found = FileSystem::Namespaces.find(format!("/proc/self/ns/{name}"))?;
        Ok(rustix::fs::fstat(found)?.st_ino)
    }
}
