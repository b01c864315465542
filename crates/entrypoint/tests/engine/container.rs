//! One container: how it is started, what it says, how it ends.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::ended::Ended;
use crate::engine::Engine;
use crate::image::Image;

/// A script that only stays, and does not stay for ever.
pub(crate) const SLEEPING: &str = "echo started; exec sleep 300";

/// How a container is to be started.
pub(crate) struct Start {
    engine: Engine,
    image: Image,
    flags: Vec<String>,
    entrypoint: Entrypoint,
    /// Seccomp filters, for as long as the engine may read them.
    filters: Vec<NamedTempFile>,
}

/// What the engine starts in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Entrypoint {
    /// Ours, as the image says.
    Ours,
    /// Ours, in an emulator.
    Emulated,
    /// The command itself: the control, which shows what there is to be seen without ours.
    None,
}

impl Start {
    /// In Debian, with Docker.
    pub(crate) fn new() -> Self {
        Self::with(Engine::Docker, Image::Debian)
    }

    pub(crate) fn with(engine: Engine, image: Image) -> Self {
        Self { engine, image, flags: Vec::new(), entrypoint: Entrypoint::Ours, filters: Vec::new() }
    }

    /// Adds flags of `docker run`. They are split at spaces.
    pub(crate) fn flags(mut self, flags: &str) -> Self {
        self.flags.extend(flags.split_whitespace().map(str::to_owned));
        self
    }

    /// Sets a variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.flags.extend(["--env".to_owned(), format!("{name}={value}")]);
        self
    }

    /// Lets the engine refuse a system call, where its first argument is this number or whatever it is.
    pub(crate) fn without_a_call(mut self, name: &str, argument: Option<u32>, errno: Errno) -> Self {
        let args =
            argument.map(|value| format!(r#"{{ "index": 0, "value": {value}, "op": "SCMP_CMP_EQ" }}"#));
        let filter = format!(
            r#"{{ "defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{{
                "names": ["{name}"], "action": "SCMP_ACT_ERRNO", "errnoRet": {}, "args": [{}]
            }}] }}"#,
            errno.raw_os_error(),
            args.unwrap_or_default()
        );
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(filter.as_bytes()).unwrap();
        self.flags.extend(["--security-opt".to_owned(), format!("seccomp={}", file.path().display())]);
        self.filters.push(file);
        self
    }

    /// Lets an emulator of this machine's own processor execute the entrypoint, and nothing that is executed next.
    pub(crate) fn emulated(mut self, emulator: &Path) -> Self {
        self.flags.extend(["--volume".to_owned(), format!("{}:/emulator:ro", emulator.display())]);
        self.entrypoint = Entrypoint::Emulated;
        self
    }

    /// Leaves the entrypoint out.
    pub(crate) fn without_the_entrypoint(mut self) -> Self {
        self.entrypoint = Entrypoint::None;
        self
    }

    /// Runs a script to its end.
    pub(crate) fn sh(self, script: &str) -> Ended {
        self.run(&["sh", "-c", script])
    }

    /// Runs a command to its end.
    pub(crate) fn run(self, argv: &[&str]) -> Ended {
        Ended::from(self.command(&["--rm"], argv).stdin(Stdio::null()).output().unwrap())
    }

    /// Starts a script and waits until it says `started`, which has to be its first line.
    pub(crate) fn started(self, script: &str) -> Container {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("entrypoint-test-{}-{count}", std::process::id());
        let mut client = self
            .command(&["--rm", "--name", &name], &["sh", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 8];
        let is_up = client.stdout.as_mut().unwrap().read_exact(&mut line).is_ok() && &line == b"started\n";
        assert!(is_up, "it did not start: {:?}", Ended::from(client.wait_with_output().unwrap()));
        Container { engine: self.engine, name, client: Some(client) }
    }

    /// Runs a script on a terminal, types something into that once it shows `ready`, and reads the rest.
    pub(crate) fn on_a_terminal(self, script: &str, typed: &[u8]) -> Ended {
        let command = self.command(&["--rm", "--interactive", "--tty"], &["sh", "-c", script]);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let quoted: Vec<_> =
            words.map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"))).collect();
        let mut client = Command::new("script")
            .args(["--quiet", "--return", "--command", &quoted.join(" "), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut shown = Vec::new();
        let mut byte = [0];
        let screen = client.stdout.as_mut().unwrap();
        while !shown.ends_with(b"ready\r\n") && screen.read(&mut byte).unwrap() == 1 {
            shown.push(byte[0]);
        }
        // The other end stays open until it is over: `script` would pass its end on as Ctrl-D.
        let mut keyboard = client.stdin.take().unwrap();
        keyboard.write_all(typed).unwrap();
        let ended = Ended::from(client.wait_with_output().unwrap());
        let out = String::from_utf8_lossy(&shown).into_owned() + &ended.out;
        Ended { out: out.replace("\r\n", "\n"), ..ended }
    }

    fn command(&self, flags: &[&str], argv: &[&str]) -> Command {
        let mut command = self.engine.command();
        // No test needs a network, and without one a start is faster.
        command.args(["run", "--network", "none"]).args(flags).args(&self.flags);
        let image = self.image.of(self.engine);
        match self.entrypoint {
            Entrypoint::Ours => command.arg(image).args(argv),
            Entrypoint::Emulated => {
                command.args(["--entrypoint", "/emulator", &image, "/usr/local/bin/entrypoint"]).args(argv)
            }
            Entrypoint::None => command.args(["--entrypoint", argv[0], &image]).args(&argv[1..]),
        };
        command
    }
}

/// A container that runs.
pub(crate) struct Container {
    engine: Engine,
    name: String,
    /// Until it was waited for.
    client: Option<Child>,
}

impl Container {
    /// Runs a command in it through the engine, with flags of `docker exec`.
    pub(crate) fn exec(&self, flags: &str, argv: &[&str]) -> Ended {
        let mut exec = self.engine.command();
        exec.arg("exec").args(flags.split_whitespace()).arg(&self.name).args(argv);
        Ended::from(exec.stdin(Stdio::null()).output().unwrap())
    }

    /// Calls another command of the engine on it, such as `kill`.
    pub(crate) fn call(&self, arguments: &[&str]) {
        let output = self.engine.command().args(arguments).arg(&self.name).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn wait(mut self) -> Ended {
        Ended::from(self.client.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Some(mut client) = self.client.take() {
            // One that has ended is gone already.
            let _ = self.engine.command().args(["rm", "--force", &self.name]).output();
            let _ = client.wait();
        }
    }
}
