//! A project whose image is built: in a home of its own, from the base images of the machine.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::machine::{Feature, is_there};

/// The certificates that the machine's package servers may need.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// What buildx takes a path in would end at a comma.
const DIRECTORY: &str = "a project, with a comma";

pub(crate) struct Project {
    top: tempfile::TempDir,
    image: String,
}

impl Project {
    /// One that builds the image `name` by what stands in its `[image]` besides.
    pub(crate) fn new(name: &str, settings: &str) -> Self {
        let project = Self { top: tempfile::tempdir().unwrap(), image: name.to_owned() };
        fs::create_dir(project.path()).unwrap();
        let certificates = project.top.path().join("these, and no others.pem");
        fs::copy(CERTIFICATES, &certificates).unwrap();
        project.write(
            "sandbox.toml",
            &format!(
                "version = 1\n[image]\nname = {name:?}\nca_certificates = {:?}\n\
                 build_args = {{ RUST = {:?} }}\n{settings}",
                certificates.to_str().unwrap(),
                variable("RUST")
            ),
        );
        project
    }

    /// One with a Dockerfile of its own, that starts from Debian.
    pub(crate) fn with_dockerfile(name: &str, rest: &str) -> Self {
        let project = Self::new(name, "dockerfile = \"Dockerfile\"\n");
        project.write("Dockerfile", &format!("FROM {}\n{rest}", variable("DEBIAN")));
        project
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.top.path().join(DIRECTORY)
    }

    /// `sandboxctl build`, by the project's owner.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        self.untrusted(&[&["build", "--trust"], flags].concat())
    }

    /// `sandboxctl`, by somebody who has trusted nothing yet.
    pub(crate) fn untrusted(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandboxctl"));
        command
            .args(words)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.top.path())
            .env("TMPDIR", self.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::null());
        command
    }

    /// Docker's command line, with the settings of this project's owner.
    pub(crate) fn docker(&self, words: &[&str]) -> Output {
        let mut command = Command::new("docker");
        command.args(words).env("HOME", self.top.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// `sandboxctl build` on a terminal; gives back what is on the screen at last, line by line.
    #[track_caller]
    pub(crate) fn on_terminal(&self, flags: &[&str]) -> Vec<String> {
        let command = self.command(flags);
        let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
        let words: Vec<String> = words.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
        let output = Command::new("script")
            .args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"])
            .current_dir(self.path())
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let screen = String::from_utf8(output.stdout).unwrap();
        screen.split("\r\n").map(str::to_owned).collect()
    }

    /// Builds, and gives back what is said of it.
    #[track_caller]
    pub(crate) fn build(&self, flags: &[&str]) -> Value {
        let output = self.command(&[&["--format", "json"], flags].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let answer = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// What is said of a build that fails.
    #[track_caller]
    pub(crate) fn refused(&self, flags: &[&str]) -> Value {
        let output = self.command(&[&["--format", "json"], flags].concat()).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["error"].is_object(), "{answer}");
        answer["error"].clone()
    }
}

/// Every test has an image of its own.
impl Drop for Project {
    fn drop(&mut self) {
        let _ = docker(&["image", "rm", "--force", &self.image]);
    }
}

/// Whether steps for both processors can run. If they cannot, says so.
pub(crate) fn can_build_for_both(test: &str) -> bool {
    is_there(Feature::Docker, test) && is_there(Feature::Emulation, test)
}

/// What `tests/engine env` says of the machine.
pub(crate) fn variable(name: &str) -> String {
    let name = format!("SANDBOX_TEST_{name}");
    std::env::var(&name).unwrap_or_else(|_| panic!("{name} is not set; `tests/engine env` prints it"))
}

/// A name in the registry of the tests.
pub(crate) fn in_registry(name: &str) -> String {
    format!("{}/image-test/{name}", variable("REGISTRY"))
}

pub(crate) fn docker(words: &[&str]) -> Output {
    Command::new("docker").args(words).stdin(Stdio::null()).output().unwrap()
}

/// The output of a command of Docker's that ends well.
#[track_caller]
pub(crate) fn ask(words: &[&str]) -> String {
    let output = docker(words);
    assert!(output.status.success(), "docker {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
