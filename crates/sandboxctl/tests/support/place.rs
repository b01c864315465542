//! A hermetic place to call the real binary from: own home, own records, own workspace, as root or as a normal
//! user.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::machine::{Caller, NORMAL, Runner, image, podman};

/// The variable that has every command of a fresh sandbox run as an exec in a persistent one, instead.
const STAYS: &str = "SANDBOX_TEST_STAYS";

/// Makes a persistent sandbox with some flags, runs a command in it, and removes it.
const EXEC: &str = r#"
program=$1; shift
flags=(); while [ "$1" != -- ]; do flags+=("$1"); shift; done; shift
name=exec-$$-$RANDOM
"$program" create --name "$name" "${flags[@]}" >/dev/null || exit
"$program" exec "$name" -- "$@"; code=$?
"$program" rm --force "$name" >/dev/null
exit $code
"#;

/// A temporary directory that the caller owns.
pub(crate) struct Place {
    top: tempfile::TempDir,
    pub(crate) caller: Caller,
    runner: Runner,
}

impl Place {
    /// Makes one whose sandboxes are native.
    pub(crate) fn new(caller: Caller) -> Self {
        Self::on(caller, Runner::Native)
    }

    /// Makes one.
    pub(crate) fn on(caller: Caller, runner: Runner) -> Self {
        let top =
            tempfile::Builder::new().prefix("sandboxctl-test-").tempdir().expect("a temporary directory");
        let place = Self { top, caller, runner };
        // The target directory may lie where a normal user has no way to.
        let built = Path::new(env!("CARGO_BIN_EXE_sandboxctl"));
        let program = place.path("sandboxctl");
        if fs::hard_link(built, &program).is_err() {
            fs::hard_link(copied(built), &program).expect("a program to call");
        }
        let open_to_all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.top.path(), open_to_all).expect("the directory is ours");
        for directory in [place.home(), place.workspace()] {
            fs::create_dir(&directory).expect("a directory of the caller");
            place.give(&directory);
        }
        if runner != Runner::Native {
            place.configure("");
        }
        place
    }

    /// Writes the caller's own configuration, with the image of the containers.
    pub(crate) fn configure(&self, settings: &str) -> PathBuf {
        let image = match self.runner {
            Runner::Native | Runner::Local => String::new(),
            Runner::Docker | Runner::RootlessDocker | Runner::Podman => {
                format!("[image]\nname = {:?}\n", image())
            }
        };
        self.write("home/.config/sandboxctl/sandbox.toml", &format!("{image}{settings}"))
    }

    /// A path in the place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().expect("the place exists").join(name)
    }

    /// The home directory of the caller.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The working directory of every call, which is `/workspace` inside.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    /// Writes a file of the caller, and the directories that lead to it.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        let missing: Vec<_> = path.ancestors().skip(1).take_while(|parent| !parent.exists()).collect();
        for directory in missing.iter().rev() {
            fs::create_dir(directory).expect("a directory of the caller");
            self.give(directory);
        }
        fs::write(&path, content).expect("a file of the caller");
        self.give(&path);
        path
    }

    /// A command of the caller on the host itself.
    pub(crate) fn outside(&self, argv: &[impl AsRef<OsStr>]) -> Command {
        let id = NORMAL.to_string();
        let docker = fs::metadata("/var/run/docker.sock").map_or(0, |socket| socket.gid()).to_string();
        let groups = match self.runner {
            // Whoever may use the engine is in its group.
            Runner::Docker => ["--groups", docker.as_str()],
            Runner::Native | Runner::RootlessDocker | Runner::Podman | Runner::Local => {
                ["--clear-groups", "--"]
            }
        };
        let become_normal = [&["setpriv", "--reuid", &id, "--regid", &id], &groups[..]].concat();
        let start = if self.is_played() { &become_normal[..] } else { &[] };
        let words = start.iter().map(OsStr::new).chain(argv.iter().map(AsRef::as_ref));
        self.command(&words.collect::<Vec<_>>())
    }

    /// A command of whoever runs the tests.
    pub(crate) fn command(&self, argv: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&argv[0]);
        command
            .args(&argv[1..])
            .current_dir(self.workspace())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        match self.runner {
            Runner::RootlessDocker => {
                command.env("DOCKER_HOST", std::env::var("SANDBOX_TEST_ROOTLESS").unwrap_or_default());
            }
            // Its images lie in the user's home.
            Runner::Podman if self.is_played() => {
                let (home, runtime) = podman();
                command.env("XDG_DATA_HOME", home).env("XDG_RUNTIME_DIR", runtime);
            }
            Runner::Native | Runner::Docker | Runner::Podman | Runner::Local => {}
        }
        command
    }

    /// A command in a fresh sandbox of the caller.
    pub(crate) fn inside(&self, flags: &[impl AsRef<OsStr>], argv: &[impl AsRef<OsStr>]) -> Command {
        self.outside(&self.run(flags, argv))
    }

    /// The words of that command.
    pub(crate) fn run(&self, flags: &[impl AsRef<OsStr>], argv: &[impl AsRef<OsStr>]) -> Vec<OsString> {
        self.words("run", flags, argv)
    }

    /// The words of a command of ours that starts another one.
    pub(crate) fn words(
        &self,
        command: &str,
        flags: &[impl AsRef<OsStr>],
        argv: &[impl AsRef<OsStr>],
    ) -> Vec<OsString> {
        if command == "run" && std::env::var_os(STAYS).is_some() {
            return self.exec(flags, argv);
        }
        let start = [self.path("sandboxctl").into_os_string(), command.into()].into_iter();
        let start = start.chain(self.provider().iter().map(OsString::from));
        let flags = flags.iter().map(|flag| flag.as_ref().to_owned());
        let argv = argv.iter().map(|word| word.as_ref().to_owned());
        start.chain(flags).chain(["--".into()]).chain(argv).collect()
    }

    /// The words of a command that runs the same as an exec in a persistent sandbox.
    fn exec(&self, flags: &[impl AsRef<OsStr>], argv: &[impl AsRef<OsStr>]) -> Vec<OsString> {
        let start = ["bash", "-c", EXEC, "bash"].map(OsString::from).into_iter();
        let start = start.chain([self.path("sandboxctl").into_os_string()]);
        let start = start.chain(self.provider().iter().map(OsString::from));
        let flags = flags.iter().map(|flag| flag.as_ref().to_owned());
        let argv = argv.iter().map(|word| word.as_ref().to_owned());
        start.chain(flags).chain(["--".into()]).chain(argv).collect()
    }

    /// The flags that say who runs a sandbox.
    pub(crate) fn provider(&self) -> &'static [&'static str] {
        match self.runner {
            Runner::Native => &[],
            Runner::Docker | Runner::RootlessDocker => &["--provider", "docker"],
            Runner::Podman => &["--provider", "podman"],
            Runner::Local => &["--provider", "local"],
        }
    }

    /// Makes a file or directory the caller's.
    pub(crate) fn give(&self, path: &Path) {
        if self.is_played() {
            chown(path, Some(NORMAL), Some(NORMAL)).expect("root gives files away");
        }
    }

    /// Whether root plays a normal user.
    fn is_played(&self) -> bool {
        self.caller == Caller::Normal && rustix::process::geteuid().is_root()
    }
}

/// Returns a copy of a program among temporary directories, where these lie on another file system. All tests share it.
fn copied(built: &Path) -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| copy(built))
}

fn copy(built: &Path) -> PathBuf {
    let stat = fs::metadata(built).expect("a program that was built");
    // Others may test what they have built elsewhere.
    let prefix = format!("sandboxctl-built{}-", built.display().to_string().replace('/', "-"));
    let name = format!("{prefix}{}-{}-{}", stat.ino(), stat.mtime(), stat.mtime_nsec());
    let copy = std::env::temp_dir().join(&name);
    if copy.exists() {
        return copy;
    }
    let is_old = |entry: &fs::DirEntry| {
        entry.file_name() != *name && entry.file_name().to_string_lossy().starts_with(&prefix)
    };
    let temporary = fs::read_dir(std::env::temp_dir()).expect("a directory of temporary ones");
    // Those of earlier builds.
    for old in temporary.flatten().filter(is_old) {
        let _ = fs::remove_file(old.path());
    }
    let draft = std::env::temp_dir().join(format!("draft-{}-{name}", std::process::id()));
    // By another process: what this one has open for writing, a child of another test may hold open, and then nobody can execute
    // it (ETXTBSY).
    let copying = Command::new("cp").arg(built).arg(&draft).status().expect("cp is everywhere");
    assert!(copying.success(), "a copy of the program");
    fs::rename(&draft, &copy).expect("a copy of the program");
    copy
}
