//! The engines that containers are started with.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// An engine and who calls it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Engine {
    /// Docker, by its default socket or whatever the environment says.
    Docker,
    /// A Docker of a normal user, at `SANDBOX_TEST_ROOTLESS`.
    RootlessDocker,
    /// Podman, called by root.
    Podman,
    /// Podman, called by the user with uid 1001 where the tests run as root, else by whoever runs them.
    RootlessPodman,
}

impl Engine {
    /// Whether this machine is declared to have it. If not, says so, once.
    #[track_caller]
    pub(crate) fn is_declared(self) -> bool {
        let missing = match self {
            Self::Docker => missing("docker"),
            // Podman gets its images from Docker, which builds them.
            Self::Podman if !is_root() => Some("the tests do not run as root".to_owned()),
            Self::Podman | Self::RootlessPodman => missing("podman").or_else(|| missing("docker")),
            Self::RootlessDocker => missing("docker").or_else(|| {
                std::env::var_os(ROOTLESS).is_none().then(|| format!("{ROOTLESS} does not name its socket"))
            }),
        };
        if let Some(why) = &missing {
            static SAID: Mutex<Vec<Engine>> = Mutex::new(Vec::new());
            let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
            if !said.contains(&self) {
                println!("not run: the entrypoint in containers of {self:?}, because {why}");
                said.push(self);
            }
        }
        missing.is_none()
    }

    /// Its command, to be completed by a subcommand.
    pub(crate) fn command(self) -> Command {
        let words: &[&str] = match self {
            Self::Docker => &["docker"],
            Self::RootlessDocker => {
                let mut docker = Command::new("docker");
                docker.arg("--host").arg(std::env::var_os(ROOTLESS).unwrap());
                return docker;
            }
            Self::RootlessPodman if is_root() => &AS_NORMAL_USER,
            Self::Podman | Self::RootlessPodman => &["podman"],
        };
        let mut command = Command::new(words[0]);
        // An ordinary user could not even enter where the tests run.
        command.args(&words[1..]).current_dir("/");
        command
    }
}

/// What executes this machine's own programs in place of its processor, if that is declared as `emulation`. If not, says
/// so.
#[track_caller]
pub(crate) fn emulator() -> Option<PathBuf> {
    if let Some(why) = missing("docker").or_else(|| missing("emulation")) {
        println!("not run: the entrypoint in an emulator, because {why}");
        return None;
    }
    let name = format!("qemu-{}-static", std::env::consts::ARCH);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(&name)).find(|file| file.is_file());
    assert!(
        found.is_some(),
        "emulation is declared in {FEATURES}, and there is no {name}; Debian has it in qemu-user-static"
    );
    found
}

const FEATURES: &str = "SANDBOX_TEST_FEATURES";
const ROOTLESS: &str = "SANDBOX_TEST_ROOTLESS";
const AS_NORMAL_USER: [&str; 8] =
    ["setpriv", "--reuid", "1001", "--regid", "1001", "--init-groups", "--reset-env", "podman"];

#[test]
fn what_is_declared_answers() {
    for (feature, engine) in [("docker", Engine::Docker), ("podman", Engine::RootlessPodman)] {
        if missing(feature).is_none() {
            let version =
                engine.command().arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            assert!(
                version.is_ok_and(|status| status.success()),
                "{feature} is declared in {FEATURES}, and does not answer"
            );
        }
    }
}

fn missing(feature: &str) -> Option<String> {
    let declared = std::env::var(FEATURES).unwrap_or_default();
    let is_there = declared.split(',').any(|one| one.trim() == feature);
    (!is_there).then(|| format!("{feature} is not declared in {FEATURES}"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
