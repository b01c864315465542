//! The steps of a start, by which a failure is named.

use std::fmt;
use std::path::PathBuf;

use policy::text::escape;
use serde::{Deserialize, Serialize};

use super::wire_path;

/// What was being done when a start failed. Its text is for people; whoever decides anything looks at the variant.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Step {
    Descriptors,
    Keyring,
    IdMap,
    /// Waiting until the parent has written the id maps.
    Parent,
    /// Setting the user and group ids.
    Ids,
    /// Raising the ambient capabilities of PID 1.
    AmbientCapabilities,
    WriteInit,
    ExecuteInit,
    /// Creating the namespaces that PID 1 was not created in.
    Namespaces,
    /// Entering the mount namespace of a container.
    Setns,
    /// Recognising the mount namespace of a container.
    Container,
    /// Closing the nodes of devices that an image has brought.
    Devices,
    /// Making mounts private.
    Propagation,
    Hostname,
    Loopback,
    /// Mounting an empty rootfs.
    Rootfs,
    Mount(MountStep),
    PivotRoot,
    UnmountHost,
    ReadOnlyRootfs,
    Stdio,
    /// Opening the terminal, and handing it to the client.
    Terminal,
    /// Opening the listeners that the egress proxy serves.
    Listeners,
    /// Making the sockets that stand for sockets of the host.
    Sockets,
    /// Writing the certificate authorities that programs inside believe.
    OwnFiles,
    Rlimits,
    /// Giving up capabilities.
    Capabilities,
    /// Becoming the agent's user.
    Credentials,
    /// Putting the layers on the process of an exec.
    Confinement,
    /// Reporting what is enforced.
    Report,
    /// Blocking signals.
    Signals,
    /// Reading the command.
    Command,
    Fork,
    Session,
    ControllingTerminal,
    Cgroups,
    Workdir(#[serde(with = "wire_path")] PathBuf),
}

/// An operation of a mount plan.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum MountStep {
    /// Creating a directory, link or file.
    Create {
        /// Where, as the sandbox sees it.
        #[serde(with = "wire_path")]
        path: PathBuf,
    },
    /// Mounting a new file system.
    New {
        filesystem: FilesystemType,
        #[serde(with = "wire_path")]
        path: PathBuf,
    },
    /// Binding a path of the host.
    Bind {
        #[serde(with = "wire_path")]
        source: PathBuf,
        #[serde(with = "wire_path")]
        path: PathBuf,
    },
    /// Attaching a tree that the client has made.
    Attach {
        #[serde(with = "wire_path")]
        path: PathBuf,
    },
    /// Binding a path onto itself.
    Pin {
        #[serde(with = "wire_path")]
        path: PathBuf,
    },
    /// Covering a socket, or what is hidden.
    Mask {
        #[serde(with = "wire_path")]
        path: PathBuf,
    },
}

/// The type of a new file system.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum FilesystemType {
    /// tmpfs(5).
    Tmpfs,
    /// proc(5).
    Proc,
    /// devpts, pts(4).
    Devpts,
}

impl fmt::Display for FilesystemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tmpfs => "tmpfs",
            Self::Proc => "proc",
            Self::Devpts => "devpts",
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "arranging the descriptors",
            Self::Keyring => "leaving the session keyring of the caller",
            Self::IdMap => "mapping the user into a new user namespace",
            Self::Parent => "waiting for the launcher",
            Self::Ids | Self::Credentials => "becoming the agent's user",
            Self::AmbientCapabilities => "keeping the capabilities of the new namespace",
            Self::WriteInit => "writing the program of PID 1 to memory",
            Self::ExecuteInit => "executing PID 1",
            Self::Namespaces => "creating the namespaces",
            Self::Setns => "entering the mount namespace of the container",
            Self::Container => "recognising the mount namespace of the container",
            Self::Devices => "closing the device nodes of the image",
            Self::Propagation => "making mounts private",
            Self::Hostname => "setting the host name",
            Self::Loopback => "bringing the loopback interface up",
            Self::Rootfs => "mounting the root file system",
            Self::Mount(step) => return step.fmt(f),
            Self::PivotRoot => "changing the root",
            Self::UnmountHost => "unmounting the host's file systems",
            Self::ReadOnlyRootfs => "making the root file system read-only",
            Self::Stdio => "connecting the standard streams",
            Self::Terminal => "opening a terminal",
            Self::Listeners => "opening the listeners of the egress proxy",
            Self::Sockets => "making the sockets that stand for sockets of the host",
            Self::OwnFiles => "writing files of the sandbox",
            Self::Rlimits => "setting limits",
            Self::Capabilities => "giving up capabilities",
            Self::Confinement => "confining the command",
            Self::Report => "reporting",
            Self::Signals => "blocking signals",
            Self::Command => "reading the command",
            Self::Fork => "starting the agent",
            Self::Session => "starting a session",
            Self::ControllingTerminal => "taking the terminal",
            Self::Cgroups => "entering the control groups",
            Self::Workdir(path) => {
                return write!(f, "changing to the working directory {}", escape::path(path));
            }
        })
    }
}

impl fmt::Display for MountStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { path } => write!(f, "creating {}", escape::path(path)),
            Self::New { filesystem, path } => {
                write!(f, "mounting a fresh {filesystem} on {}", escape::path(path))
            }
            Self::Bind { source, path } => {
                write!(f, "mounting {} on {}", escape::path(source), escape::path(path))
            }
            Self::Attach { path } => write!(f, "mounting a tree of the host on {}", escape::path(path)),
            Self::Pin { path } => write!(f, "pinning {}", escape::path(path)),
            Self::Mask { path } => write!(f, "masking {}", escape::path(path)),
        }
    }
}
