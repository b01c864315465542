//! What can go wrong with an engine, distinguished by what is to be done about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::plan::names_a_registry;
use policy::text::escape;

use super::error_patterns::{self, FailureCause, Match};
use super::kind::{DEFAULT_SOCKET, EngineKind};

/// The causes that engines themselves name.
const OF_ENGINES: [FailureCause; 10] = [
    FailureCause::DiskFull,
    FailureCause::Unseen,
    FailureCause::Limit,
    FailureCause::NameInUse,
    FailureCause::Runtime,
    FailureCause::NoImage,
    FailureCause::NoContainer,
    FailureCause::BeingRemoved,
    FailureCause::Forbidden,
    FailureCause::Unreachable,
];

/// Why an engine did not do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("there is no `{kind}` command in PATH{left_out}")]
    NotInstalled {
        kind: EngineKind,
        /// Where it was not looked for, in words; empty where that is nowhere.
        left_out: String,
    },
    #[error("no {kind} engine answers on {}: {source}", escape::path(socket))]
    Stopped { kind: EngineKind, socket: PathBuf, source: io::Error },
    #[error("the socket of {kind}, {}, is not for this user: {source}", escape::path(socket))]
    Permission { kind: EngineKind, socket: PathBuf, source: io::Error },
    #[error("the engine at {address} is on another machine, where no directory of this one can be shared")]
    Remote { address: String },
    #[error(
        "podman is configured to use the remote service at {address}, with which no directory of this machine can be shared"
    )]
    Connection { address: String },
    #[error(
        "the engine at {} is passed on from elsewhere, such as a virtual machine: whoever serves it is neither root nor a rootless engine",
        escape::path(socket)
    )]
    PassedOn { socket: PathBuf },
    /// Root was called by somebody who could have another socket answer.
    #[error(
        "root uses no engine under sudo whose socket others can exchange: {} can be changed by others than root, and {} is reached through it",
        escape::path(place),
        escape::path(socket)
    )]
    Exchangeable {
        /// The socket, as it was named.
        socket: PathBuf,
        /// What others can change.
        place: PathBuf,
    },
    #[error("{kind} does not see {path}, which is there for sandboxctl")]
    Unseen {
        kind: EngineKind,
        /// The path, as the engine received it.
        path: String,
    },
    #[error("{kind} cannot set this limit: {message}")]
    Limit { kind: EngineKind, message: String },
    /// The image is there, but not for this platform.
    #[error("{kind} has no image {image} for {platform}{}", because(.unfetched.as_deref()))]
    NoPlatform {
        kind: EngineKind,
        image: String,
        platform: String,
        /// Why none could be fetched, where that was tried.
        unfetched: Option<String>,
    },
    #[error("cannot determine which engine Docker's settings mean: {}: {source}", escape::path(path))]
    Settings { path: PathBuf, source: SettingsError },
    #[error("{kind} has not answered within {waited:?}")]
    Timeout { kind: EngineKind, waited: Duration },
    #[error("{kind} has no image {image}")]
    NoImage { kind: EngineKind, image: String },
    #[error("the image {image} cannot be fetched: {reason}")]
    Pull { image: String, reason: String },
    /// The image is for another processor, and nothing here emulates that.
    #[error("the image {image} is for {has}, and this machine runs {runs}")]
    Architecture { image: String, has: String, runs: String },
    #[error("a container named \"{name}\" is there already")]
    NameInUse { name: String },
    #[error("{kind} has no space left: {message}")]
    DiskFull { kind: EngineKind, message: String },
    #[error("{kind} cannot use this runtime: {message}")]
    Runtime { kind: EngineKind, message: String },
    #[error("{kind}: {what} cannot be read: {source}")]
    Answer { kind: EngineKind, what: String, source: serde_json::Error },
    /// It refused, in words of its own.
    #[error("{kind}: {message}")]
    Refused { kind: EngineKind, cause: Option<FailureCause>, message: String },
    #[error("cannot run `{kind}`: {source}")]
    Call { kind: EngineKind, source: io::Error },
}

/// What is wrong with Docker's settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("it lies in {}, which the sandbox may write to", escape::path(.0))]
    Writable(PathBuf),
    #[error("\"{0}\" is no address; expected such as unix:///var/run/docker.sock")]
    Address(String),
    #[error("context \"{context}\" cannot be read: {source}")]
    Context { context: String, source: io::Error },
    /// A file does not have its form. What the parser says may have what stands there in it.
    #[error("line {line}, column {column}: this is not what Docker writes")]
    Form { line: usize, column: usize },
}

/// Explains why an image could not be pulled, for the end of a sentence.
fn because(unfetched: Option<&str>) -> String {
    unfetched.map_or_else(String::new, |reason| format!(", and none could be fetched: {reason}"))
}

impl EngineError {
    /// Returns what to do about it, where that is known.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NotInstalled { kind, .. } => {
                format!("install {kind}, or run without an engine: --provider native")
            }
            Self::Stopped { kind: EngineKind::Docker, socket, .. } if socket == Path::new(DEFAULT_SOCKET) => {
                "start it: sudo systemctl start docker; where another engine is to be used, set DOCKER_HOST or choose a \
                 context (docker context use)"
                    .to_owned()
            }
            Self::Stopped { kind: EngineKind::Docker, .. } => {
                "check DOCKER_HOST, DOCKER_CONTEXT and `docker context ls`, and start that engine".to_owned()
            }
            Self::Stopped { kind: EngineKind::Podman, .. } => "see `podman info`".to_owned(),
            Self::Permission { .. } => "join its group: sudo usermod -aG docker $USER, then log in again; members of that group are \
                 root-equivalent, so think of a rootless engine, of podman, or of --provider native"
                .to_owned(),
            Self::Remote { .. } => "use an engine of this machine: unset DOCKER_HOST, or docker context use default".to_owned(),
            Self::Settings { .. } => "fix that file, or set DOCKER_HOST".to_owned(),
            Self::Timeout { kind, .. } => format!("check whether `{kind} ps` answers; restart the engine where it does not"),
            Self::NoImage { kind, image } => {
                let fetch = if names_a_registry(image) {
                    "; `--pull missing` fetches it"
                } else {
                    ", or name the registry it comes from, such as registry.example.org/team/image:tag, and it is fetched"
                };
                let build = match kind {
                    EngineKind::Docker => "`sandboxctl build` builds it".to_owned(),
                    EngineKind::Podman => format!(
                        "`sandboxctl build` builds it in Docker, and `docker save {image} | podman load` brings it here"
                    ),
                };
                let pull = if names_a_registry(image) {
                    String::new()
                } else {
                    format!("; `{kind} pull {image}` fetches one of somebody else's")
                };
                format!("{build}{fetch}{pull}")
            }
            Self::NoPlatform { image, platform, .. } => {
                format!("`sandboxctl build --platform {platform}` builds one; `--pull always` fetches {image} where its registry has one")
            }
            Self::Connection { .. } => "unset CONTAINER_HOST and CONTAINER_CONNECTION".to_owned(),
            Self::Exchangeable { .. } => "call sandboxctl without sudo, as the user whose engine that is; or use root's: unset DOCKER_HOST, or \
                 docker context use default"
                .to_owned(),
            Self::PassedOn { .. } => "use Docker or Podman of this machine itself, rootless or not, or --provider native".to_owned(),
            Self::Unseen { .. } => "where sandboxctl runs in a container, --host-path-prefix says what stands before its paths for the \
                 engine (SANDBOXCTL_HOST_DIR); the state directory has to be a shared one too; where the engine has a mount namespace of \
                 its own, as in a snap, --host-path-prefix / gives it paths"
                .to_owned(),
            Self::Limit { .. } => format!(
                "ask for no more than this machine has; for a rootless engine, systemd has to hand the controllers to the user: {}",
                crate::host::cgroups::DELEGATE
            ),
            Self::Pull { .. } => "check the name, the tag, and that you are logged in to the registry".to_owned(),
            Self::Architecture { .. } => "build or fetch the image for this machine (--platform), or install an emulator: \
                 sudo apt-get install qemu-user-static binfmt-support"
                .to_owned(),
            Self::NameInUse { .. } => "choose another --name".to_owned(),
            Self::DiskFull { kind, .. } => format!("make room: {kind} system df shows what takes it, {kind} image prune frees some"),
            Self::Runtime { kind, .. } => format!("`{kind} info` lists the runtimes it knows"),
            Self::Answer { .. } | Self::Refused { .. } | Self::Call { .. } => return None,
        })
    }

    /// Classifies what an engine has printed on its standard error. What is not known stays what was printed.
    pub(crate) fn from_stderr(kind: EngineKind, stderr: &str) -> Self {
        let message = error_patterns::message(stderr);
        let Some(Match { cause, value, .. }) = error_patterns::find(stderr, &OF_ENGINES) else {
            return Self::refused(kind, message);
        };
        match cause {
            FailureCause::DiskFull => Self::DiskFull { kind, message },
            FailureCause::Unseen => Self::Unseen { kind, path: value.trim_end_matches('.').to_owned() },
            FailureCause::Limit => Self::Limit { kind, message },
            FailureCause::NameInUse => Self::NameInUse { name: value.trim_start_matches('/').to_owned() },
            FailureCause::Runtime => Self::Runtime { kind, message },
            cause => Self::Refused { kind, cause: Some(cause), message },
        }
    }

    /// Makes a refusal whose cause is not known.
    pub(crate) fn refused(kind: EngineKind, message: String) -> Self {
        Self::Refused { kind, cause: None, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engines_say_is_distinguished() {
        let docker = |text| EngineError::from_stderr(EngineKind::Docker, text);
        let in_use = "docker: Error response from daemon: Conflict. The container name \"/box\" is already in use by container \
                      \"5f\". You have to remove (or rename) that container to be able to reuse that name.\nSee 'docker run --help'.\n";
        assert!(matches!(docker(in_use), EngineError::NameInUse { name } if name == "box"));
        let podman = "Error: creating container storage: the container name \"box\" is already in use by 77. You have to remove that \
                      container to be able to reuse that name: that name is already in use";
        assert!(
            matches!(EngineError::from_stderr(EngineKind::Podman, podman), EngineError::NameInUse { name } if name == "box")
        );
        let runtime = "docker: Error response from daemon: unknown or invalid runtime name: nope.\nSee 'docker run --help'.";
        assert!(matches!(docker(runtime), EngineError::Runtime { .. }));
        let runtime = "Error: default OCI runtime \"nope\" not found: invalid argument";
        assert!(matches!(EngineError::from_stderr(EngineKind::Podman, runtime), EngineError::Runtime { .. }));
        let unseen = "docker: Error response from daemon: invalid mount config for type \"bind\": bind source path does not exist: /srv/ci/x.\nSee 'docker run --help'.";
        assert!(matches!(docker(unseen), EngineError::Unseen { path, .. } if path == "/srv/ci/x"));
        let unseen = "docker: Error response from daemon: failed to populate volume: error while mounting volume \
                      '/var/lib/docker/volumes/0/_data': failed to mount local volume: mount \
                      /proc/7/fd/3:/var/lib/docker/volumes/0/_data, flags: 0x5000: invalid argument";
        assert!(matches!(docker(unseen), EngineError::Unseen { path, .. } if path == "/proc/7/fd/3"));
        let unseen = "Error: statfs /srv/ci/x: no such file or directory";
        assert!(
            matches!(EngineError::from_stderr(EngineKind::Podman, unseen), EngineError::Unseen { path, .. } if path == "/srv/ci/x")
        );
        let cpus = "docker: Error response from daemon: range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available.";
        assert!(matches!(docker(cpus), EngineError::Limit { .. }));
        let full = "docker: Error response from daemon: mkdir /var/lib/docker/x: no space left on device.";
        assert!(matches!(docker(full), EngineError::DiskFull { .. }));
        assert_eq!(docker("docker: something else.\n").to_string(), "docker: something else");
        let logged =
            "time=\"2026-11-22T09:25:15Z\" level=error msg=\"While applying layer\"\nError: something else\n";
        assert_eq!(
            EngineError::from_stderr(EngineKind::Podman, logged).to_string(),
            "podman: something else"
        );
        assert_eq!(docker("").to_string(), "docker: it failed without an error message");
    }
}
