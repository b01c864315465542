//! Executing a command by name, as a shell would find it, and saying precisely why it cannot be.

use std::ffi::{CStr, CString};

use nix::sys::signal::SigSet;
use rustix::io::Errno;

use crate::sys;

/// Where a command is looked for when the environment names no `PATH`.
const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Replaces this process by a command that finds things as programs expect them: nothing open but the three streams,
/// every signal at its default and none blocked (Rust ignores SIGPIPE). Returns only the reason why it could not.
pub fn hand_over(argv: &[Vec<u8>], env: &[Vec<u8>]) -> Errno {
    if let Err(errno) = sys::close_from_on_exec(3) {
        return errno;
    }
    for signal in 1..=64 {
        sys::default_signal(signal);
    }
    match SigSet::all().thread_unblock() {
        Ok(()) => execute(argv, env),
        Err(errno) => Errno::from_raw_os_error(errno as i32),
    }
}

/// Replaces this process by a command; returns only the reason why it could not.
///
/// A name without a slash is looked up in the `PATH` of its own environment, by whoever runs it: a directory
/// that only root may search must not make a difference. `ENOENT` means that there is no such command, anything
/// else that it is there and cannot be executed (execve(2)).
pub fn execute(argv: &[Vec<u8>], env: &[Vec<u8>]) -> Errno {
    let (Ok(arguments), Ok(environment)) = (c_strings(argv), c_strings(env)) else { return Errno::INVAL };
    let Some(name) = argv.first().filter(|name| !name.is_empty()) else { return Errno::NOENT };
    let mut seen = Errno::NOENT;
    for candidate in candidates(name, path_of(env)) {
        let errno = try_execute(&candidate, &arguments, &environment);
        // The first file that is there decides; one that may not even be looked at is remembered.
        match errno {
            Errno::NOENT if !exists(&candidate) => {}
            Errno::NOTDIR => {}
            Errno::ACCESS => seen = Errno::ACCESS,
            // The file is there, so it is its interpreter that is not.
            Errno::NOENT => return Errno::NOEXEC,
            other => return other,
        }
    }
    seen
}

fn try_execute(path: &CStr, arguments: &[CString], environment: &[CString]) -> Errno {
    match nix::unistd::execve(path, arguments, environment) {
        Err(errno) => Errno::from_raw_os_error(errno as i32),
        Ok(never) => match never {},
    }
}

fn exists(path: &CStr) -> bool {
    rustix::fs::stat(path).is_ok()
}

/// The files that a name may mean, in the order of the search.
fn candidates<'a>(name: &'a [u8], path: &'a [u8]) -> impl Iterator<Item = CString> + 'a {
    let direct = name.contains(&b'/');
    let directories = if direct { &b""[..] } else { path };
    directories.split(|byte| *byte == b':').filter_map(move |directory| {
        let file = match (direct, directory) {
            (true, _) => name.to_vec(),
            (false, b"") => [b"./", name].concat(),
            (false, directory) => [directory, b"/", name].concat(),
        };
        CString::new(file).ok()
    })
}

fn path_of(env: &[Vec<u8>]) -> &[u8] {
    env.iter().find_map(|entry| entry.strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH)
}

fn c_strings(all: &[Vec<u8>]) -> Result<Vec<CString>, std::ffi::NulError> {
    all.iter().map(|bytes| CString::new(bytes.as_slice())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, path: &str) -> Vec<String> {
        candidates(name.as_bytes(), path.as_bytes()).map(|found| found.into_string().unwrap()).collect()
    }

    #[test]
    fn a_name_without_a_slash_is_looked_up_in_order() {
        assert_eq!(found("cc", "/opt/bin:/usr/bin"), ["/opt/bin/cc", "/usr/bin/cc"]);
    }

    #[test]
    fn a_name_with_a_slash_is_itself() {
        assert_eq!(found("./cc", "/opt/bin:/usr/bin"), ["./cc"]);
    }

    #[test]
    fn an_empty_entry_is_the_working_directory() {
        assert_eq!(found("cc", ":/usr/bin"), ["./cc", "/usr/bin/cc"]);
    }

    #[test]
    fn reasons_are_told_apart() {
        let path = |name: &str| execute(&[name.into()], &[b"PATH=/nonexistent:/usr/bin".to_vec()]);
        assert_eq!(path("no-such-command-here"), Errno::NOENT);
        assert_eq!(path("/etc/passwd"), Errno::ACCESS);
        assert_eq!(path("/etc"), Errno::ACCESS);
        assert_eq!(path(""), Errno::NOENT);
        let script = std::env::temp_dir().join(format!("no-interpreter-{}", std::process::id()));
        // By another process: what this one has open for writing, a child of another test may hold open, and then
        // it cannot be executed (ETXTBSY).
        let make = r#"echo '#!/nonexistent/interpreter' >"$0"; chmod 755 "$0""#;
        let made = std::process::Command::new("sh").arg("-c").arg(make).arg(&script).status().unwrap();
        assert!(made.success());
        assert_eq!(path(script.to_str().unwrap()), Errno::NOEXEC);
        std::fs::remove_file(script).unwrap();
    }
}
