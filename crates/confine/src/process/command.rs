//! Executing a command by name, as a shell would find it, and saying precisely why it cannot be.

use std::ffi::{CStr, CString};

use nix::sys::signal::SigSet;
use rustix::io::Errno;
use zeroize::Zeroizing;

use crate::protocol::EnvEntry;
use crate::sys;

/// Where a command is looked for when the environment names no `PATH`.
const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command with its environment, as execve(2) takes them.
///
/// It is made before the process that executes it: what that one allocates in memory that it borrows, nobody clears.
#[derive(Debug)]
pub struct Command {
    argv: Vec<CString>,
    env: Vec<Zeroizing<CString>>,
}

impl Command {
    /// Takes the command with its arguments, and its whole environment. `EINVAL` where a NUL is in any of it.
    pub fn new(argv: &[Vec<u8>], env: &[EnvEntry]) -> Result<Self, Errno> {
        let c_string = |bytes: &[u8]| CString::new(bytes).map_err(|_| Errno::INVAL);
        let argv = argv.iter().map(|argument| c_string(argument)).collect::<Result<_, _>>()?;
        let env =
            env.iter().map(|variable| c_string(variable).map(Zeroizing::new)).collect::<Result<_, _>>()?;
        Ok(Self { argv, env })
    }

    /// Executes the command with a clean descriptor table: nothing is open but the three streams, every signal is at its
    /// default and none is blocked (Rust ignores SIGPIPE). Returns only the reason why it could not.
    pub fn exec(&self) -> Errno {
        match sys::close_from_on_exec(3) {
            Ok(()) => self.exec_here(),
            Err(errno) => errno,
        }
    }

    /// Executes the command with the descriptors that there are; signals are as for [`Command::exec`]. Returns only the
    /// reason why it could not.
    pub(crate) fn exec_here(&self) -> Errno {
        for signal in 1..=64 {
            sys::default_signal(signal);
        }
        match SigSet::all().thread_unblock() {
            Ok(()) => self.search_and_execute(),
            Err(errno) => Errno::from_raw_os_error(errno as i32),
        }
    }

    /// Executes the command; returns only the reason why it could not.
    ///
    /// A name without a slash is looked up in the `PATH` of its own environment, by whoever runs it: a directory
    /// that only root may search must not make a difference. `ENOENT` means that there is no such command, anything
    /// else that it is there and cannot be executed (execve(2)).
    fn search_and_execute(&self) -> Errno {
        let Some(name) = self.argv.first().filter(|name| !name.is_empty()) else { return Errno::NOENT };
        let mut seen = Errno::NOENT;
        for candidate in candidates(name.to_bytes(), self.path()) {
            let errno = self.try_execute(&candidate);
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

    fn try_execute(&self, path: &CStr) -> Errno {
        match nix::unistd::execve(path, &self.argv, &self.env) {
            Err(errno) => Errno::from_raw_os_error(errno as i32),
            Ok(never) => match never {},
        }
    }

    fn path(&self) -> &[u8] {
        self.env.iter().find_map(|entry| entry.to_bytes().strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH)
    }
}

fn exists(path: &CStr) -> bool {
    rustix::fs::stat(path).is_ok()
}

/// Lists the files that a name may mean, in the order of the search.
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
    fn reasons_are_distinguished() {
        let path = |name: &str| {
            let env = [b"PATH=/nonexistent:/usr/bin".to_vec().into()];
            Command::new(&[name.into()], &env).unwrap().search_and_execute()
        };
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
