//! Unix sockets of the host that the agent may connect to: which, and where the sandbox has them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::children::CHILDREN_SOCKET;
use super::git::CONFIGURATION;
use super::path::{GuestPath, PathError};
use crate::text::escape;

/// The longest path of a socket: `sun_path` of unix(7), without its final NUL.
const MAX_LENGTH: usize = 107;

/// Where a sandbox has directories of its own, in memory, in every provider.
const PLACES: [&str; 2] = ["/run", "/tmp"];

/// Which socket of the host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SocketSource {
    Path(PathBuf),
    /// The one whose path the caller has in this variable.
    Variable(String),
}

impl fmt::Display for SocketSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => escape::path(path).fmt(f),
            Self::Variable(name) => write!(f, "env:{name}"),
        }
    }
}

/// Where the sandbox has a socket: beneath `/run` or `/tmp`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct GuestSocket(GuestPath);

/// Why a sandbox cannot have a socket at a path.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GuestSocketError {
    /// It is no path inside.
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("{path:?} is not beneath /run or /tmp, where a sandbox has sockets")]
    Elsewhere { path: PathBuf },
    #[error("{path:?} lies in a directory that the sandbox has for itself")]
    Ours { path: PathBuf },
    /// The kernel takes no longer path.
    #[error("{path:?} has more than {MAX_LENGTH} bytes, the longest path of a socket")]
    TooLong { path: PathBuf },
}

impl GuestSocket {
    /// Checks a path.
    pub fn new(path: &Path) -> Result<Self, GuestSocketError> {
        let guest = GuestPath::new(path)?;
        let path = guest.as_path();
        if !PLACES.iter().any(|place| path.starts_with(place) && path != Path::new(place)) {
            return Err(GuestSocketError::Elsewhere { path: path.to_owned() });
        }
        let ours = [CONFIGURATION, CHILDREN_SOCKET].into_iter().filter_map(|file| Path::new(file).parent());
        if ours.into_iter().any(|ours| path.starts_with(ours)) {
            return Err(GuestSocketError::Ours { path: path.to_owned() });
        }
        if path.as_os_str().len() > MAX_LENGTH {
            return Err(GuestSocketError::TooLong { path: path.to_owned() });
        }
        Ok(Self(guest))
    }

    /// Returns where a socket is inside unless somebody says so: at the path that it has on the host, where a sandbox can have
    /// that, because programs look for it there; else in `/run`, under its name.
    pub fn of(host: &Path, name: &str) -> Result<Self, GuestSocketError> {
        Self::new(host).or_else(|_| Self::new(&Path::new("/run").join(format!("{name}.sock"))))
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        self.0.as_path()
    }
}

impl FromStr for GuestSocket {
    type Err = GuestSocketError;

    fn from_str(text: &str) -> Result<Self, GuestSocketError> {
        Self::new(Path::new(text))
    }
}

impl fmt::Display for GuestSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Sockets of services that start programs on the host for whoever connects, by how their paths end.
const CONTROL: &[(&str, &str)] = &[
    ("docker.sock", "a container engine"),
    ("podman.sock", "a container engine"),
    ("containerd.sock", "a container engine"),
    ("buildkitd.sock", "a container engine"),
    ("crio.sock", "a container engine"),
    ("libvirt-sock", "virtual machines"),
    ("systemd/private", "systemd"),
    ("system_bus_socket", "the services of this machine"),
    ("bus", "the services of your session"),
];

/// Returns what a socket of the host is known to control; whoever can connect to it can run programs outside of the sandbox.
pub fn controls(host: &Path) -> Option<&'static str> {
    CONTROL.iter().find(|(end, _)| host.ends_with(end)).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Result<String, String> {
        text.parse::<GuestSocket>().map(|place| place.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_sandbox_has_sockets_in_directories_of_its_own() {
        assert_eq!(place("/run/a/./b.sock").unwrap(), "/run/a/b.sock");
        assert_eq!(place("/tmp/x").unwrap(), "/tmp/x");
        for wrong in
            ["/run", "/tmp/", "/var/run/x", "/workspace/x", "/runx/y", "/etc/x", "run/x", "/run/../x"]
        {
            assert!(place(wrong).is_err(), "{wrong}");
        }
        assert!(place("/run/sandboxctl/x").unwrap_err().contains("for itself"));
        assert!(place(&format!("/run/{}", "x".repeat(103))).unwrap_err().contains("107 bytes"));
        assert!(place(&format!("/run/{}", "x".repeat(102))).is_ok());
    }

    #[test]
    fn a_socket_keeps_its_path_where_it_can() {
        let of = |host: &str| GuestSocket::of(Path::new(host), "db").unwrap().to_string();
        assert_eq!(of("/run/postgresql/.s.PGSQL.5432"), "/run/postgresql/.s.PGSQL.5432");
        assert_eq!(of("/tmp/ssh-Ab/agent.7"), "/tmp/ssh-Ab/agent.7");
        assert_eq!(of("/home/me/.gnupg/S.gpg-agent"), "/run/db.sock");
        assert_eq!(of("/run/sandboxctl/x"), "/run/db.sock");
    }

    #[test]
    fn services_that_start_programs_are_known() {
        assert_eq!(controls(Path::new("/run/docker.sock")), Some("a container engine"));
        assert_eq!(controls(Path::new("/run/user/1000/podman/podman.sock")), Some("a container engine"));
        assert_eq!(controls(Path::new("/run/user/1000/bus")), Some("the services of your session"));
        assert_eq!(controls(Path::new("/run/postgresql/.s.PGSQL.5432")), None);
        assert_eq!(controls(Path::new("/run/columbus")), None);
    }
}
