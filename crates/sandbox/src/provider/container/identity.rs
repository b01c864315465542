//! The identity of the agent in a container and on the host, by whose the engine is and who calls.
//!
//! | engine | caller | runs as | files belong to |
//! | --- | --- | --- | --- |
//! | rootful | a user | that user | the user |
//! | rootful | root by sudo | who called sudo | that user |
//! | rootful | root | an unallocated uid, with owners mapped | their owner |
//! | rootless Docker | its user | container 0, which is that user outside | the user |
//! | rootless Podman | its user | 1000, which is that user outside | the user |

use std::os::fd::OwnedFd;
use std::path::Path;

use confine::protocol::{AGENT_ID, UserNamespace};
use confine::report::{Finding, Status};
use policy::plan::{Container, Layer};

use crate::engine::Engine;
use crate::engine::kind::{EngineKind, Rights};
use crate::host::identity;
use crate::session::agent::{self, Agent};
use crate::session::error::StartError;

/// The agent of one container.
pub(crate) struct ContainerUser {
    /// On the host.
    pub(crate) agent: Agent,
    /// User and group inside.
    pub(crate) inside: (u32, u32),
    /// What is requested of the engine for user namespaces.
    pub(crate) namespace: Namespace,
    pub(crate) mounter: Mounter,
}

/// What mounts the shared directories, and what lies over them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mounter {
    /// The engine, which is given paths. Where it is not root's, all that it makes its caller could make, too.
    Engine,
    /// The engine, which is given descriptors of this process.
    EngineByDescriptor,
    /// This process, which is root: it maps owners, which no engine does, and follows no link on the way to a mount point, which
    /// every engine does.
    Client,
}

/// The user namespace of a container.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Namespace {
    /// None: the users are the host's.
    Host,
    /// The one that the engine itself lives in.
    Engine,
    /// One of its own, in which the caller is [`AGENT_ID`].
    Own,
}

impl Namespace {
    /// Returns whether the user namespace is shared.
    pub(super) fn kind(self) -> UserNamespace {
        match self {
            Self::Host | Self::Engine => UserNamespace::Shared,
            Self::Own => UserNamespace::Private,
        }
    }
}

/// Chooses the agent by the table above; what is not in it is refused.
pub(crate) fn choose(
    engine: &Engine,
    container: &Container,
    caller: identity::Identity,
    locks: &Path,
) -> Result<ContainerUser, StartError> {
    let process = rustix::process::geteuid().as_raw();
    let mounter = if process == 0 {
        Mounter::Client
    } else if engine.rights() == Rights::Rootful
        && container.host_path_prefix.is_none()
        && engine.shares_processes()
    {
        Mounter::EngineByDescriptor
    } else {
        Mounter::Engine
    };
    match (engine.kind(), engine.rights()) {
        (_, Rights::Rootful) => {
            let agent = agent::choose(caller, locks)?;
            if agent.gid == 0 {
                return Err(StartError::refused(
                    format!("{} as user {} of group 0", engine.kind(), agent.uid),
                    "files of group 0 are open to an agent that has that group, on the host too",
                    "call sandboxctl with another primary group (newgrp), or use --provider native",
                ));
            }
            Ok(ContainerUser { inside: (agent.uid, agent.gid), agent, namespace: Namespace::Host, mounter })
        }
        (kind, Rights::Rootless(owner)) if owner != process => Err(StartError::refused(
            format!("the {kind} engine of user {owner}, called by user {process}"),
            "what its containers write belongs to its user, and not to the one who calls",
            format!("call sandboxctl as user {owner}, or an engine of your own"),
        )),
        (EngineKind::Docker, Rights::Rootless(_)) => {
            let agent = agent::choose(caller, locks)?;
            Ok(ContainerUser { agent, inside: (0, 0), namespace: Namespace::Engine, mounter })
        }
        (EngineKind::Podman, Rights::Rootless(_)) => Ok(ContainerUser {
            agent: agent::choose(caller, locks)?,
            inside: (AGENT_ID, AGENT_ID),
            namespace: Namespace::Own,
            mounter,
        }),
    }
}

impl ContainerUser {
    /// Becomes the user of a sandbox that was made ahead, whose id is locked through this.
    pub(super) fn take(&mut self, uid: u32, lock: OwnedFd) {
        self.agent = Agent::shared(uid, lock);
        self.inside = (uid, uid);
    }

    /// Reports the layer. Which user of the host PID 1 is, is known from its socket.
    pub(crate) fn report(&self) -> Finding {
        let uid = self.agent.uid;
        let (status, reason) = match self.namespace {
            Namespace::Host if self.agent.is_unallocated => (
                Status::Partly,
                format!(
                    "no user namespace: agent is uid {uid} on the host, which is unallocated, without any capability"
                ),
            ),
            Namespace::Host => (
                Status::Partly,
                format!(
                    "no user namespace: agent is uid {uid} on the host, as the caller is, without any capability"
                ),
            ),
            Namespace::Engine => (
                Status::Enforced,
                format!(
                    "agent is uid {uid} on the host; in the engine's own user namespace it is 0, without any capability"
                ),
            ),
            Namespace::Own => {
                (Status::Enforced, format!("agent is uid {uid} on the host, in a user namespace of its own"))
            }
        };
        Finding { layer: Layer::User, status, reason }
    }

    /// Returns passwd(5) of the container.
    pub(crate) fn passwd(&self, home: &str) -> String {
        let (uid, gid) = self.inside;
        // Where the agent is 0, it has both names. The first that is found is the one that is shown.
        let root = if uid == 0 { home } else { "/root" };
        format!(
            "agent:x:{uid}:{gid}::{home}:/bin/sh\nroot:x:0:0:root:{root}:/bin/sh\n\
             nobody:x:65534:65534::/nonexistent:/sbin/nologin\n"
        )
    }

    /// Returns group(5) of the container.
    pub(crate) fn group(&self) -> String {
        let gid = self.inside.1;
        let root = if gid == 0 { "" } else { "root:x:0:\n" };
        format!("{root}agent:x:{gid}:\nnogroup:x:65534:\n")
    }
}
