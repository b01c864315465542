//! A throw-away root file system with users of its own, and the real program as PID 1 in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::ended::Ended;

/// What a container engine does, in a few lines: mounts of its own, `/proc` of a PID namespace, and a new root; on
/// request with a user namespace in between in which `setgroups` is denied (its first process is not PID 1).
const ENGINE: &str = r#"
    set -e
    root=$1; shift
    mount --bind "$root" "$root"
    for name in usr $ALSO_BOUND; do mount --bind "/$name" "$root/$name"; done
    mount -t proc proc "$root/proc"
    for name in null zero full random urandom tty; do mount --bind "/dev/$name" "$root/dev/$name"; done
    if [ -n "$READ_ONLY" ]; then mount -o remount,bind,ro "$root"; fi
    if [ -z "$DENY_SETGROUPS" ]; then exec chroot "$root" "$@"; fi
    mkfifo "$root/tmp/up" "$root/tmp/go"
    unshare --user sh -c 'echo up > "$0/tmp/up"; read -r go < "$0/tmp/go"; exec chroot "$0" "$@"' "$root" "$@" &
    read -r up < "$root/tmp/up"
    echo deny > /proc/$!/setgroups
    echo 0 0 65536 > /proc/$!/gid_map
    echo 0 0 65536 > /proc/$!/uid_map
    echo go > "$root/tmp/go"
    rm "$root/tmp/up" "$root/tmp/go"
    wait $!
"#;

/// A root file system.
pub(crate) struct Image(TempDir);

/// How one process in it is to be started.
pub(crate) struct Start<'a> {
    image: &'a Image,
    environment: Vec<OsString>,
    through: Vec<String>,
    read_only: bool,
    denying_setgroups: bool,
    on_a_terminal: bool,
}

impl Image {
    /// A small distribution with root, agent (who is in three more groups) and the programs of the host.
    pub(crate) fn new() -> Self {
        let image = Self(TempDir::new().unwrap());
        for directory in ["dev", "etc", "home/agent", "proc", "root", "tmp", "usr", "workspace"] {
            fs::create_dir_all(image.path(directory)).unwrap();
        }
        fs::set_permissions(image.0.path(), PermissionsExt::from_mode(0o755)).unwrap();
        fs::set_permissions(image.path("root"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::set_permissions(image.path("tmp"), PermissionsExt::from_mode(0o1777)).unwrap();
        for directory in merged() {
            match fs::read_link(Path::new("/").join(directory)) {
                Ok(target) => symlink(target, image.path(directory)).unwrap(),
                Err(_) => fs::create_dir(image.path(directory)).unwrap(),
            }
        }
        for device in ["null", "zero", "full", "random", "urandom", "tty"] {
            image.write(&format!("dev/{device}"), "");
        }
        symlink("/proc/self/fd/2", image.path("dev/stderr")).unwrap();
        image.write(
            "etc/passwd",
            "root:x:0:0:root:/root:/bin/bash\nagent:x:1000:1000::/home/agent:/bin/bash\ntoor:x:0:0::/root:/bin/sh\n",
        );
        image.write(
            "etc/group",
            "root:x:0:\nagent:x:1000:\nvideo:x:44:agent\naudio:x:29:other,agent\nwheel:x:10:\n",
        );
        image.copy(env!("CARGO_BIN_EXE_entrypoint"), "entrypoint");
        image
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Copies a program into the image: by another process, because what this one has open for writing, a child of
    /// another test may hold open, and then nobody can execute it (ETXTBSY).
    pub(crate) fn copy(&self, program: &str, path: &str) {
        assert!(Command::new("cp").arg(program).arg(self.path(path)).status().unwrap().success());
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
        fs::set_permissions(self.path(path), PermissionsExt::from_mode(0o644)).unwrap();
    }

    /// Writes a file that everybody may execute.
    ///
    /// By another process: what this one has open for writing, a child of another test may hold open until it executes its
    /// own program, and until then nobody can execute it (ETXTBSY).
    pub(crate) fn program(&self, path: &str, text: &str) {
        let mut write = Command::new("sh");
        write.args(["-c", r#"printf %s "$1" >"$0" && chmod 755 "$0""#]).arg(self.path(path)).arg(text);
        assert!(write.status().unwrap().success(), "{path} was not written");
    }

    pub(crate) fn start(&self) -> Start<'_> {
        let path = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        Start {
            image: self,
            environment: vec![path.into(), "HOME=/root".into()],
            through: Vec::new(),
            read_only: false,
            denying_setgroups: false,
            on_a_terminal: false,
        }
    }
}

impl Start<'_> {
    /// Sets a variable, as `docker run --env` does.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let mut entry = OsString::from(format!("{name}="));
        entry.push(value);
        self.environment.push(entry);
        self
    }

    /// Lets another program, such as `setpriv`, start it. Words are split at spaces; `%` is a space within a word.
    pub(crate) fn through(mut self, through: &str) -> Self {
        self.through = through.split(' ').map(|word| word.replace('%', " ")).collect();
        self
    }

    pub(crate) fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    pub(crate) fn denying_setgroups(mut self) -> Self {
        self.denying_setgroups = true;
        self
    }

    pub(crate) fn on_a_terminal(mut self) -> Self {
        self.on_a_terminal = true;
        self
    }

    /// Runs a script as the agent.
    pub(crate) fn sh(self, script: &str) -> Ended {
        self.run(&["sh", "-c", script])
    }

    /// Runs the entrypoint with these arguments to its end.
    pub(crate) fn run(self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).stdin(Stdio::null()).output().unwrap();
        Ended::from(output)
    }

    /// Starts a script as the agent and waits for its first line.
    pub(crate) fn started(self, script: &str) -> Started {
        let script = format!("echo started; {script}");
        let mut unshare = self
            .command(&["sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 8];
        unshare.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"started\n");
        Started { unshare }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut words: Vec<OsString> =
            ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", ENGINE, "sh"]
                .map(OsString::from)
                .into();
        words.push(self.image.0.path().into());
        words.extend(["/usr/bin/env", "-i"].map(OsString::from));
        words.extend(self.environment.iter().cloned());
        words.extend(self.through.iter().map(OsString::from));
        words.push("/entrypoint".into());
        words.extend(arguments.iter().map(OsString::from));
        let mut command = if self.on_a_terminal {
            let quoted: Vec<_> = words.iter().map(|word| quoted(word.to_str().unwrap())).collect();
            let mut script = Command::new("script");
            script.args(["--quiet", "--return", "--command", &quoted.join(" "), "/dev/null"]);
            script
        } else {
            let mut unshare = Command::new(&words[0]);
            unshare.args(&words[1..]);
            unshare
        };
        let bound: Vec<_> = merged().filter(|name| !Path::new("/").join(name).is_symlink()).collect();
        command.env("ALSO_BOUND", bound.join(" "));
        if self.read_only {
            command.env("READ_ONLY", "1");
        }
        if self.denying_setgroups {
            command.env("DENY_SETGROUPS", "1");
        }
        command
    }
}

/// A container that runs.
pub(crate) struct Started {
    unshare: Child,
}

impl Started {
    /// PID 1, as the host counts it.
    pub(crate) fn pid_1(&self) -> i32 {
        let pid = self.unshare.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// A file of PID 1 in `/proc`, read as root of the host.
    pub(crate) fn of_pid_1(&self, file: &str) -> Vec<u8> {
        fs::read(format!("/proc/{}/{file}", self.pid_1())).unwrap()
    }

    /// Sends PID 1 a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid_1()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn wait(self) -> Ended {
        Ended::from(self.unshare.wait_with_output().unwrap())
    }
}

/// Directories beside `/usr` that are links into it, or not.
fn merged() -> impl Iterator<Item = &'static str> {
    ["bin", "sbin", "lib", "lib32", "lib64"].into_iter().filter(|name| Path::new("/").join(name).exists())
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
