//! The Rust toolchain that builds these tests, for callers who have no way into the home directory that it lies in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::Place;

/// Where it lies.
pub(crate) fn sysroot() -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc is there");
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).to_owned()
}

/// Lets a command have a toolchain in the home directory of the caller, first in its `PATH`. The mount ends with its namespace.
pub(crate) fn lend(place: &Place, toolchain: &Path, command: &Command) -> Command {
    let home = place.write("home/toolchain/.here", "").with_file_name("");
    let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";
    let words = ["unshare", "--mount", "sh", "-c", script, "sh"].map(OsString::from).into_iter();
    let words = words.chain([toolchain.into(), home.clone().into()]);
    let words =
        words.chain([command.get_program()].into_iter().chain(command.get_args()).map(OsString::from));
    let mut lent = place.command(&words.collect::<Vec<_>>());
    lent.env("PATH", format!("{}/bin:/usr/bin:/bin", home.display().to_string().trim_end_matches('/')));
    lent
}
