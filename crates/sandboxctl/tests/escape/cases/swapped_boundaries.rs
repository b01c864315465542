//! A directory that an untrusted `sandbox.toml` shares, which an agent in another sandbox swaps for a link out of the
//! project, over and over, while it is looked at, validated and mounted.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};

use crate::machine::callers;
use crate::place::Place;
use crate::program;

const SWAP: &str = r#"
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
first, second = (name.encode() for name in sys.argv[1:])
print("ready", flush=True)
while libc.renameat2(-100, first, -100, second, 2) == 0:
    pass
"#;

/// How often it is tried. Where trust, validation and mount follow the path apart, every fourth try succeeds.
const TRIES: usize = 40;

const CONFIG: &str = r#"
[shared_dirs]
d = { host = "./d", guest = "/d" }
"#;

struct Swapper(Child);

impl Swapper {
    fn start(place: &Place, first: &str, second: &str) -> Self {
        let mut child =
            place.command(&["python3", "-c", SWAP, first, second]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self(child)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_shared_directory_that_is_swapped_for_a_link_brings_nothing_in_from_outside() {
    for caller in callers("swapped boundaries") {
        let place = Place::new(caller);
        place.write("workspace/sandbox.toml", CONFIG);
        place.write("workspace/d/marker", "inside");
        place.write("home/outside/marker", "outside");
        let [directory, link] = ["d", "link"].map(|name| place.workspace().join(name));
        symlink("../home/outside", &link).unwrap();
        let seen = |flags: &[&str]| {
            let output = place.inside(flags, &["cat", "/d/marker"]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert_eq!(seen(&[]), "inside", "by {caller:?}: it is shared while nobody swaps it");

        let swapper = Swapper::start(&place, directory.to_str().unwrap(), link.to_str().unwrap());
        let without: Vec<_> = (0..TRIES).map(|_| seen(&[])).collect();
        assert!(!without.contains(&"outside".to_owned()), "by {caller:?}: {without:?}");
        // The control: whoever trusts the file gets what is there, and that is not always the directory.
        let with: Vec<_> = (0..TRIES).map(|_| seen(&["--trust"])).collect();
        assert!(with.contains(&"outside".to_owned()), "the control, by {caller:?}: {with:?}");
        drop(swapper);
    }
}

/// The same where the directory has yet to be made: it is made beneath what was looked at.
#[test]
fn a_directory_that_is_made_is_made_in_the_project() {
    for caller in callers("swapped boundaries") {
        let place = Place::new(caller);
        place.write("workspace/sandbox.toml", &CONFIG.replace("./d", "./d/new"));
        place.write("workspace/d/marker", "inside");
        place.write("home/outside/marker", "outside");
        let [directory, link] = ["d", "link"].map(|name| place.workspace().join(name));
        symlink("../home/outside", &link).unwrap();
        let made = place.home().join("outside/new");
        let swapper = Swapper::start(&place, directory.to_str().unwrap(), link.to_str().unwrap());
        let count = |flags: &[&str]| {
            let mut outside = 0;
            for _ in 0..TRIES {
                place.inside(&[&["--create-dirs"], flags].concat(), &["true"]).output().unwrap();
                outside += usize::from(fs::remove_dir(&made).is_ok());
                // Wherever it was made, the next one has to make it again.
                for place in [directory.join("new"), link.join("new")] {
                    let _ = fs::remove_dir(place);
                }
            }
            outside
        };
        assert_eq!(count(&[]), 0, "by {caller:?}");
        assert_ne!(count(&["--trust"]), 0, "the control, by {caller:?}");
        drop(swapper);
    }
}

/// The working directory itself, which whoever owns a directory above it exchanges after it was determined: while an engine is
/// asked whether it answers.
#[test]
fn a_working_directory_that_is_exchanged_for_a_link_brings_nothing_in_from_outside() {
    for caller in callers("exchanged working directories") {
        // The control stands elsewhere, and names the directory: what a path leads to is shared.
        for (stands, flags, seen) in [
            ("workspace", [""; 0].as_slice(), ""),
            ("elsewhere", &["-v", "WORKSPACE:/workspace:ro"], "outside"),
        ] {
            let place = Place::new(caller);
            place.write("home/outside/marker", "outside");
            place.write("elsewhere/keep", "");
            place.write("home/.config/sandboxctl/sandbox.toml", "[image]\nname = \"x\"\n");
            for engine in ["bin/docker", "bin/podman"] {
                program::write(&place.path(engine), "#!/bin/sh\nexit 1\n");
            }
            let socket = place.path("bin/d.sock");
            let listener = UnixListener::bind(&socket).unwrap();
            fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
            let (workspace, moved) = (place.workspace(), place.path("moved"));
            let directory = workspace.clone();
            let exchanged = std::thread::spawn(move || {
                let engine = listener.accept().unwrap();
                fs::rename(&directory, moved).unwrap();
                symlink("home/outside", &directory).unwrap();
                drop(engine);
            });
            let named = |flag: &&str| flag.replace("WORKSPACE", &workspace.display().to_string());
            let flags: Vec<_> = flags.iter().map(named).collect();
            let mut command = place.inside(&flags, &["cat", "/workspace/marker"]);
            let path = format!("{}:/usr/sbin:/usr/bin:/bin", place.path("bin").display());
            command.env("PATH", path).env("DOCKER_HOST", format!("unix://{}", socket.display()));
            let output = command.current_dir(place.path(stands)).output().unwrap();
            exchanged.join().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(String::from_utf8_lossy(&output.stdout), seen, "by {caller:?} in {stands}: {said}");
            assert_eq!(said.contains("moved or exchanged"), stands == "workspace", "by {caller:?}: {said}");
        }
    }
}
