//! A hermetic place to run the real binary in: own home, own state, nothing of the developer's environment.
#![expect(clippy::unwrap_used, reason = "a test whose environment cannot be made has failed")]

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::program;

/// A temporary directory with a home and a project, and the environment to run in.
pub(crate) struct TestEnv {
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// What a call answered.
#[must_use = "either snapshot the answer or assert its code"]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let env = Self { root, variables: Vec::new() };
        fs::create_dir_all(env.home()).unwrap();
        fs::create_dir_all(env.project()).unwrap();
        env
    }

    /// A project with this `sandbox.toml`.
    pub(crate) fn with_config(text: &str) -> Self {
        let env = Self::new();
        env.write("sandbox.toml", text);
        env
    }

    /// The same with one more variable in the environment.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a program of the caller's, a script. In the project none would be run.
    pub(crate) fn program(&self, name: &str, script: &str) {
        program::write(&self.root().join(name), script);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap()
    }

    /// Calls `sandboxctl` in the project.
    pub(crate) fn call(&self, args: &[&str]) -> Answer {
        self.call_in(&self.project(), args)
    }

    /// Calls `sandboxctl` in another directory.
    pub(crate) fn call_in(&self, directory: &Path, args: &[&str]) -> Answer {
        self.answer(&self.command(directory, args).output().unwrap())
    }

    /// Calls `sandboxctl` and gives it something to read.
    pub(crate) fn call_with_input(&self, args: &[&str], input: &[u8]) -> Answer {
        let mut child = self
            .command(&self.project(), args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whoever refuses without reading may be gone before all is written.
        match child.stdin.take().unwrap().write_all(input) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        self.answer(&child.wait_with_output().unwrap())
    }

    /// Calls `sandboxctl` on a terminal of its own, where somebody types `input`. Gives what is on the screen.
    pub(crate) fn call_on_terminal(&self, line: &str, input: &str) -> String {
        let command = format!("{} {line}", env!("CARGO_BIN_EXE_sandboxctl"));
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    /// A call with nothing of this process in its environment.
    pub(crate) fn command(&self, directory: &Path, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandboxctl"));
        command
            .arg0("sandboxctl")
            .args(args)
            .current_dir(directory)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("COLUMNS", "100")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn answer(&self, output: &Output) -> Answer {
        let root = self.root();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(root.to_str().unwrap(), "[TEMP]");
        Answer {
            code: output.status.code().unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Answer {
    /// What was printed on stdout, as the JSON it must be.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// The whole answer as snapshots show it.
impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "code: {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "--- {name}\n{text}")?;
            }
        }
        Ok(())
    }
}
