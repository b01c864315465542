//! What to do where git could not change its configuration, which is read-only inside. In a run that lasts, the session sees git try; a
//! single command of git's is over before that.

use std::ffi::OsString;
use std::path::Path;

use crate::exit_code::ExitCode;

/// Options of git that are followed by a value of their own (git(1)).
const WITH_VALUE: [&str; 6] = ["-C", "-c", "--exec-path", "--git-dir", "--namespace", "--work-tree"];

/// What git exits with where it cannot write its configuration: `git config`, and everything else.
const CANNOT_WRITE: [u8; 2] = [4, 128];

/// Says what to do, if a command is one of git's that changes the configuration, and has failed as such.
pub(super) fn refused(argv: &[OsString], code: ExitCode) -> Option<&'static str> {
    let has_failed = matches!(code, ExitCode::Command(code) if CANNOT_WRITE.contains(&code));
    (has_failed && changes_configuration(argv)).then_some(
        "git's configuration is read-only inside, because git obeys it on the host, too; if that is what failed, do it in a terminal on the \
         host",
    )
}

/// Returns whether a command is one of git's that writes into the configuration of a repository.
fn changes_configuration(argv: &[OsString]) -> bool {
    let mut words = argv.iter().filter_map(|word| word.to_str());
    if words.next().and_then(|program| Path::new(program).file_name()) != Some("git".as_ref()) {
        return false;
    }
    let command = loop {
        match words.next() {
            Some(option) if WITH_VALUE.contains(&option) => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            Some(command) => break command,
            None => return false,
        }
    };
    let has = |options: &[&str]| {
        words.clone().any(|word| options.contains(&word.split('=').next().unwrap_or(word)))
    };
    match command {
        "config" | "remote" | "submodule" => true,
        "branch" => {
            has(&["-m", "-M", "--move", "-u", "--set-upstream-to", "--unset-upstream", "--edit-description"])
        }
        "push" => has(&["-u", "--set-upstream"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_git_that_write_into_its_configuration_are_known() {
        let changes =
            |line: &str| changes_configuration(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in [
            "git config a.b c",
            "/usr/bin/git -C x -c y=z remote add o u",
            "git branch -m new",
            "git branch --set-upstream-to=origin/main",
            "git push -u origin main",
            "git --no-pager config x.y z",
        ] {
            assert!(changes(line), "{line}");
        }
        for line in [
            "git branch", "git push origin main", "git commit -m config", "hg config", "git", "git -C config",
        ] {
            assert!(!changes(line), "{line}");
        }
    }

    #[test]
    fn only_the_exit_codes_of_a_write_that_failed_are_explained() {
        let argv = ["git", "config", "a.b", "c"].map(OsString::from);
        assert!(refused(&argv, ExitCode::Command(4)).is_some());
        assert!(refused(&argv, ExitCode::Command(1)).is_none(), "a key that is not there");
        assert!(refused(&argv, ExitCode::Command(0)).is_none());
    }
}
