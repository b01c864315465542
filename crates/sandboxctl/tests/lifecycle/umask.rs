//! The caller's umask: what is made inside is as private as what the caller makes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::machine::{callers, runners};
use crate::place::Place;

#[test]
fn files_are_made_with_the_callers_umask() {
    for caller in callers("umask") {
        for runner in runners(caller, "umask") {
            let place = Place::on(caller, runner);
            for (umask, file, directory) in
                [("0077", 0o600, 0o700), ("0002", 0o664, 0o775), ("0022", 0o644, 0o755)]
            {
                let name = format!("made-{umask}");
                let run = place.run(&["-q"], &["sh", "-c", "umask; : > \"$1\"; mkdir \"$1.d\"", "sh", &name]);
                let start = ["sh", "-c", "umask \"$0\"; exec \"$@\"", umask].map(Into::into);
                let output =
                    place.outside(&start.into_iter().chain(run).collect::<Vec<_>>()).output().unwrap();
                let whose = format!(
                    "{umask} in {runner:?} by {caller:?}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), umask, "{whose}");
                let mode = |name: &str| {
                    fs::metadata(place.workspace().join(name)).unwrap().permissions().mode() & 0o7777
                };
                assert_eq!((mode(&name), mode(&format!("{name}.d"))), (file, directory), "{whose}");
            }
        }
    }
}
