//! A hermetic place to call the real binary from: own home, own records, own workspace, as root or as a normal
//! user.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machine::{Caller, NORMAL};

/// A temporary directory that the caller owns.
pub(crate) struct Place {
    top: tempfile::TempDir,
    pub(crate) caller: Caller,
}

impl Place {
    /// Makes one.
    pub(crate) fn new(caller: Caller) -> Self {
        let top =
            tempfile::Builder::new().prefix("sandboxctl-test-").tempdir().expect("a temporary directory");
        let place = Self { top, caller };
        // The target directory may lie where a normal user has no way to.
        let built = Path::new(env!("CARGO_BIN_EXE_sandboxctl"));
        let program = place.path("sandboxctl");
        if fs::hard_link(built, &program).is_err() {
            // By another process: what this one has open for writing, a child of another test may hold open, and
            // then nobody can execute it (ETXTBSY).
            let copied = Command::new("cp").arg(built).arg(&program).status().expect("cp is everywhere");
            assert!(copied.success(), "a program to call");
        }
        let open_to_all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.top.path(), open_to_all).expect("the directory is ours");
        for directory in [place.home(), place.workspace()] {
            fs::create_dir(&directory).expect("a directory of the caller");
            place.give(&directory);
        }
        place
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
        let become_normal = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"];
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
        command
    }

    /// A command in a fresh sandbox of the caller.
    pub(crate) fn inside(&self, flags: &[impl AsRef<OsStr>], argv: &[impl AsRef<OsStr>]) -> Command {
        self.outside(&self.run(flags, argv))
    }

    /// The words of that command.
    pub(crate) fn run(&self, flags: &[impl AsRef<OsStr>], argv: &[impl AsRef<OsStr>]) -> Vec<OsString> {
        let start = [self.path("sandboxctl").into_os_string(), "run".into()].into_iter();
        let flags = flags.iter().map(|flag| flag.as_ref().to_owned());
        let argv = argv.iter().map(|word| word.as_ref().to_owned());
        start.chain(flags).chain(["--".into()]).chain(argv).collect()
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
