//! Hooks that pre-commit and prek have installed: which configurations they run.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::words;

/// The subcommand by which these hooks call the program.
const SUBCOMMAND: &[u8] = b"hook-impl";

/// Lists the configurations that a hook runs, relative to the work tree: those that `pre-commit install --config` was called with.
pub fn configurations_of_hook(hook: &[u8]) -> Vec<PathBuf> {
    if !hook.windows(SUBCOMMAND.len()).any(|part| part == SUBCOMMAND) {
        return Vec::new();
    }
    let mut words = words::split(hook).into_iter().skip_while(|word| word != SUBCOMMAND).skip(1);
    let mut paths = Vec::new();
    while let Some(word) = words.next() {
        let named = match word.as_slice() {
            b"--config" | b"-c" => words.next(),
            other => other.strip_prefix(b"--config=").map(<[u8]>::to_vec),
        };
        paths.extend(named.map(|path| PathBuf::from(OsString::from_vec(path))));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_what_the_program_is_called_with() {
        for (hook, paths) in [
            (
                "#!/usr/bin/env bash\nARGS=(hook-impl --config=ci/pc.yaml --hook-type=pre-commit)\nexec x \"${ARGS[@]}\"\n",
                &["ci/pc.yaml"][..],
            ),
            (
                "exec prek hook-impl --config 'my ci/pc.yaml' -c other.yaml -- \"$@\"",
                &["my ci/pc.yaml", "other.yaml"],
            ),
            ("sh -c tools/x; run --config=other.yaml", &[]),
            ("pre-commit hook-impl --config", &[]),
        ] {
            let wanted: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            assert_eq!(configurations_of_hook(hook.as_bytes()), wanted, "{hook}");
        }
    }
}
