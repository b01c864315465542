//! Programs of a test in the place of those of the system, for one command alone.

use std::path::Path;
use std::process::{Command, Stdio};

/// Returns a command that finds these directories of the tests in the place of `/usr/local/sbin` and `/usr/local/bin`, and nobody else does: where
/// root looks under sudo, nobody says by a variable.
pub(crate) fn in_system_path(command: &Command, directories: &[&Path]) -> Command {
    let places = ["/usr/local/sbin", "/usr/local/bin"];
    let mounts = directories.iter().zip(places);
    let mounts: Vec<_> = mounts
        .map(|(directory, place)| format!("mount --bind '{}' {place}\n", directory.display()))
        .collect();
    let mounts = mounts.concat();
    let script = format!(
        "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n{mounts}PATH=$GIVEN_PATH\nunset GIVEN_PATH\nexec \"$@\""
    );
    let mut moved = Command::new("/usr/bin/unshare");
    moved.args(["--mount", "--propagation", "private", "/bin/sh", "-ec", &script, "sh"]);
    moved.arg(command.get_program()).args(command.get_args());
    moved.env_clear().stdin(Stdio::null());
    moved.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    moved.env("GIVEN_PATH", path.unwrap_or_default());
    if let Some(directory) = command.get_current_dir() {
        moved.current_dir(directory);
    }
    moved
}
