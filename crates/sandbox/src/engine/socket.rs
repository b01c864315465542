//! The socket of a Docker engine: where it is, who serves it, and the few questions that must not take long.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::errno::Errno;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, UnixAddr, getsockopt};
use policy::text::escape;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::error::{EngineError, SettingsError};
use super::kind::{DEFAULT_SOCKET, EngineKind};
use super::surroundings::Surroundings;
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::host::small_file;

/// How long an engine may take to answer. It answers from memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read.
const MAX_LENGTH: usize = 8 << 20;

/// Where an engine is.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Endpoint {
    Local(PathBuf),
    /// Elsewhere, by this address.
    Remote(String),
}

impl Endpoint {
    /// Finds the endpoint by the rules of Docker's own command line: `DOCKER_HOST`, then `DOCKER_CONTEXT`, then the
    /// context in its settings, then the default.
    pub(super) fn of_docker(surroundings: &Surroundings) -> Result<Self, EngineError> {
        if let Some(host) = surroundings.docker_host.as_deref().filter(|host| !host.is_empty()) {
            return Self::parse(Path::new("DOCKER_HOST"), host);
        }
        let named = surroundings.docker_context.as_deref().filter(|context| !context.is_empty());
        let context = match named {
            Some(context) => context.to_string_lossy().into_owned(),
            None => current_context(&surroundings.docker_config, surroundings.reader)?,
        };
        if context.is_empty() || context == "default" {
            return Ok(Self::Local(DEFAULT_SOCKET.into()));
        }
        of_context(&surroundings.docker_config, &context, surroundings.reader)
    }

    fn parse(place: &Path, address: &OsStr) -> Result<Self, EngineError> {
        if let Some(path) = address.as_bytes().strip_prefix(b"unix://") {
            return Ok(Self::Local(PathBuf::from(OsStr::from_bytes(path))));
        }
        let address = address.to_string_lossy().into_owned();
        if address.contains("://") {
            Ok(Self::Remote(address))
        } else {
            let source = SettingsError::Address(address);
            Err(EngineError::Settings { path: place.to_owned(), source })
        }
    }
}

/// Reads the context that `docker context use` has chosen.
fn current_context(config: &Path, reader: Identity) -> Result<String, EngineError> {
    #[derive(Deserialize)]
    struct CliConfig {
        #[serde(default, rename = "currentContext")]
        current_context: String,
    }
    let path = config.join("config.json");
    match small_file::read(&path, reader) {
        Ok(text) => Ok(parse::<CliConfig>(&path, &text)?.current_context),
        Err(_) => Ok(String::new()),
    }
}

/// Reads the endpoint of a context: `contexts/meta/<sha256 of its name>/meta.json`.
fn of_context(config: &Path, context: &str, reader: Identity) -> Result<Endpoint, EngineError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Meta {
        endpoints: Endpoints,
    }
    #[derive(Deserialize)]
    struct Endpoints {
        docker: Docker,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Docker {
        host: String,
    }
    let name = Sha256::digest(context).iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
    let path = config.join("contexts/meta").join(name).join("meta.json");
    let text = small_file::read(&path, reader).map_err(|source| EngineError::Settings {
        path: path.clone(),
        source: SettingsError::Context { context: context.to_owned(), source },
    })?;
    Endpoint::parse(&path, OsStr::new(&parse::<Meta>(&path, &text)?.endpoints.docker.host))
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(text).map_err(|error| {
        let source = SettingsError::Form { line: error.line(), column: error.column() };
        EngineError::Settings { path: path.to_owned(), source }
    })
}

/// The socket of an engine on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Socket(PathBuf);

/// What lies at a path of a container.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    Link,
    /// A named pipe, a socket, a device.
    Other,
}

impl EntryKind {
    /// Decodes a mode as Go writes it (`io/fs.FileMode`).
    fn of(mode: u32) -> Self {
        const DIRECTORY: u32 = 1 << 31;
        const LINK: u32 = 1 << 27;
        const OTHER: u32 = 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21 | 1 << 19;
        match mode {
            mode if mode & LINK != 0 => Self::Link,
            mode if mode & DIRECTORY != 0 => Self::Directory,
            mode if mode & OTHER != 0 => Self::Other,
            _ => Self::File,
        }
    }
}

/// An answer.
struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Socket {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the address as `DOCKER_HOST` has it.
    pub(super) fn address(&self) -> String {
        format!("unix://{}", self.0.to_string_lossy())
    }

    /// Checks that an engine answers, and returns the user that it runs as.
    pub(super) fn ping(&self) -> Result<u32, EngineError> {
        let stream = self.connect()?;
        let peer = getsockopt(&stream, PeerCredentials).map_err(|errno| self.failed(errno.into()))?;
        match request(stream, "GET", "/_ping").map_err(|error| self.failed(error))? {
            Response { status: 200, .. } => Ok(peer.uid()),
            Response { status, .. } => {
                let message = format!("it answers {status} on {}", escape::path(&self.0));
                Err(refused(message))
            }
        }
    }

    /// Returns whether whoever listens is in the PID namespace of this process. In a namespace above it has no number
    /// here, and in one below it has more than one (`pid_namespaces(7)`, `proc_pid_status(5)`).
    pub(super) fn shares_processes(&self) -> io::Result<bool> {
        let peer = getsockopt(&self.connect().map_err(io::Error::other)?, PeerCredentials)?.pid();
        let alone = |pid: &str| {
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
            Ok::<_, io::Error>(numbers.trim().parse::<u32>().ok())
        };
        // This process too: what is mounted on /proc may show the processes of another namespace.
        Ok(peer != 0 && alone("self")? == Some(std::process::id()) && alone(&peer.to_string())?.is_some())
    }

    /// Sends a GET request; `None` where there is no such thing.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, EngineError> {
        match request(self.connect()?, "GET", path).map_err(|error| self.failed(error))? {
            Response { status: 404, .. } => Ok(None),
            Response { status: 200, body, .. } => serde_json::from_slice(&body).map(Some).map_err(|source| {
                EngineError::Answer { kind: EngineKind::Docker, what: "its answer".into(), source }
            }),
            Response { status, body, .. } => {
                Err(refused(format!("it answers {status}: {}", String::from_utf8_lossy(&body).trim())))
            }
        }
    }

    /// Returns the kind of file at a path of a container's own file system, without following a link there; `None` where
    /// there is nothing.
    pub(crate) fn kind_in(&self, container: &str, path: &Path) -> Result<Option<EntryKind>, EngineError> {
        #[derive(Deserialize)]
        struct Stat {
            mode: u32,
        }
        let bytes = path.as_os_str().as_bytes().iter();
        let escaped = bytes.fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
        let question = format!("/containers/{container}/archive?path={escaped}");
        match request(self.connect()?, "HEAD", &question).map_err(|error| self.failed(error))? {
            Response { status: 404, .. } => Ok(None),
            Response { status: 200, head, .. } => {
                let of_stat = |line: &str| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("X-Docker-Container-Path-Stat")
                        .then(|| STANDARD.decode(value.trim()).ok())?
                };
                let stat = head
                    .lines()
                    .find_map(of_stat)
                    .and_then(|text| serde_json::from_slice::<Stat>(&text).ok());
                let stat =
                    stat.ok_or_else(|| refused(format!("it does not say what {} is", escape::path(path))))?;
                Ok(Some(EntryKind::of(stat.mode)))
            }
            Response { status, .. } => {
                Err(refused(format!("it answers {status} for {}", escape::path(path))))
            }
        }
    }

    /// Connects, and waits no longer than an engine may take, neither now nor at each step later.
    fn connect(&self) -> Result<UnixStream, EngineError> {
        let connect = || -> io::Result<UnixStream> {
            let flags = SockFlag::SOCK_CLOEXEC;
            let socket = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
            let stream = UnixStream::from(socket);
            // Before it connects: whoever has stopped taking connections keeps others waiting (unix(7)).
            stream.set_write_timeout(Some(PATIENCE))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let address = UnixAddr::new(&self.0)?;
            // A socket with a time limit sees that this process was stopped and continued (signal(7)).
            while let Err(errno) = socket::connect(stream.as_raw_fd(), &address) {
                if errno != Errno::EINTR {
                    return Err(errno.into());
                }
            }
            Ok(stream)
        };
        connect().map_err(|error| self.failed(error))
    }

    /// Makes sure that an engine which does not run as root is a rootless one: what passes on somebody else's, such as a
    /// virtual machine's, is served by the user too.
    pub(super) fn require_rootless(&self) -> Result<(), EngineError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Info {
            #[serde(default)]
            security_options: Option<Vec<String>>,
        }
        let info: Option<Info> = self.get("/info")?;
        let options = info.and_then(|info| info.security_options).unwrap_or_default();
        let is_rootless = |option: &String| option.split(',').any(|part| part == "name=rootless");
        if options.iter().any(is_rootless) {
            Ok(())
        } else {
            Err(EngineError::PassedOn { socket: self.0.clone() })
        }
    }

    fn failed(&self, source: io::Error) -> EngineError {
        let (kind, socket) = (EngineKind::Docker, self.0.clone());
        match source.kind() {
            io::ErrorKind::PermissionDenied => EngineError::Permission { kind, socket, source },
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                EngineError::Timeout { kind, waited: PATIENCE }
            }
            _ => EngineError::Stopped { kind, socket, source },
        }
    }
}

/// Makes an error of a refusal.
fn refused(message: String) -> EngineError {
    EngineError::refused(EngineKind::Docker, message)
}

/// Sends one request in HTTP/1.0, whose answer ends with the connection.
fn request(mut stream: UnixStream, method: &str, path: &str) -> io::Result<Response> {
    // An end of the line would begin another request.
    if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a name with a space or a control character",
        ));
    }
    // At once: not everything that listens reads on.
    stream.write_all(format!("{method} {path} HTTP/1.0\r\nHost: docker\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = [0; 16 << 10];
    let until = Deadline::after(PATIENCE);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => answer.extend(&buffer[..length]),
            // As when it connects.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if until.is_over() || answer.len() > MAX_LENGTH {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "no HTTP");
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(malformed)?;
    let status = std::str::from_utf8(&answer[..end])
        .ok()
        .and_then(|head| head.split(' ').nth(1)?.parse().ok())
        .ok_or_else(malformed)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    Ok(Response { status, head, body: answer.split_off(end + 4) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::programs::Programs;

    fn surroundings(config: &Path) -> Surroundings {
        Surroundings {
            programs: Programs::default(),
            directory: "/".into(),
            docker_host: None,
            docker_context: None,
            docker_config: config.to_owned(),
            podman_connection: None,
            uid: 1001,
            reader: Identity::own(),
        }
    }

    #[test]
    fn what_lies_in_a_container_is_read_from_its_mode() {
        // As Docker 26 writes a directory, a named pipe, a link and a file.
        let kinds = [2_147_484_141, 33_554_852, 134_218_239, 420].map(EntryKind::of);
        assert_eq!(kinds, [EntryKind::Directory, EntryKind::Other, EntryKind::Link, EntryKind::File]);
    }

    #[test]
    fn an_engine_is_looked_for_where_docker_looks() {
        let top = tempfile::tempdir().unwrap();
        let found = |host: Option<&str>, context: Option<&str>| {
            let docker_host = host.map(Into::into);
            let docker_context = context.map(Into::into);
            Endpoint::of_docker(&Surroundings { docker_host, docker_context, ..surroundings(top.path()) })
        };
        let local = |path: &str| Endpoint::Local(path.into());
        assert_eq!(found(None, None).unwrap(), local(DEFAULT_SOCKET));
        assert_eq!(
            found(Some("unix:///run/user/1/d.sock"), Some("other")).unwrap(),
            local("/run/user/1/d.sock")
        );
        assert_eq!(
            found(Some("tcp://1.2.3.4:2375"), None).unwrap(),
            Endpoint::Remote("tcp://1.2.3.4:2375".into())
        );
        assert!(matches!(found(None, Some("other")), Err(EngineError::Settings { .. })));
        assert!(matches!(found(Some("garbage"), None), Err(EngineError::Settings { .. })));

        // What `docker context create other --docker host=ssh://me@there` writes.
        let meta =
            top.path().join("contexts/meta/d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa");
        std::fs::create_dir_all(&meta).unwrap();
        let text = r#"{"Name":"other","Metadata":{},"Endpoints":{"docker":{"Host":"ssh://me@there","SkipTLSVerify":false}}}"#;
        std::fs::write(meta.join("meta.json"), text).unwrap();
        std::fs::write(top.path().join("config.json"), r#"{"currentContext":"other"}"#).unwrap();
        assert_eq!(found(None, None).unwrap(), Endpoint::Remote("ssh://me@there".into()));
        assert_eq!(found(None, Some("default")).unwrap(), local(DEFAULT_SOCKET));
        std::fs::write(top.path().join("config.json"), "{").unwrap();
        assert!(matches!(found(None, None), Err(EngineError::Settings { .. })));
        std::fs::write(top.path().join("config.json"), "\"what nobody should see\"").unwrap();
        let error = found(None, None).unwrap_err().to_string();
        assert!(error.contains("line 1") && !error.contains("nobody"), "{error}");
    }
}
